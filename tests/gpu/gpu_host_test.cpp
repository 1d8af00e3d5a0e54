// What of gpu/ works without a GPU: the compiler, its cache, metric names, and saying what is missing.
#include "gpu/check.hpp"
#include "gpu/compile.hpp"
#include "gpu/counters.hpp"
#include "gpu/device.hpp"
#include "gpu/kernels.hpp"
#include "gpu/library.hpp"
#include "gpu/metrics.hpp"
#include "gpu/stopwatch.hpp"
#include "model/base/files.hpp"
#include "tests/gpu/require_library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace convcast {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

CompileRequest for_hopper(const std::string &name, const std::string &source) {
    return {.name = name, .source = source, .compute_capability = 90};
}

CompileRequest scale_request() {
    CompileRequest request = for_hopper("scale.cu", R"(
__constant__ float factors[100];
template <int N> __global__ void scale(float *data) {
    __shared__ float tile[N];
    tile[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = tile[N - 1 - threadIdx.x] * factors[threadIdx.x % 100];
}
)");
    request.name_expressions = {"scale<64>", "scale<128>", "&factors"};
    return request;
}

TEST(PtxasLog, EveryKernelWithItsFacts) {
    const std::vector<KernelFacts> facts = parse_ptxas_log(
        R"(ptxas warning : For profile sm_90 adjusting per thread register count of 16 to lower bound of 24
ptxas info    : Overriding maximum register limit 256 for '_Z1kILi8EEvPf' with  24 of maxrregcount option
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z1kILi8EEvPf' for 'sm_90'
ptxas info    : Function properties for _Z1kILi8EEvPf
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers, 256 bytes smem
ptxas info    : Compile time = 7.728 ms
ptxas info    : Compiling entry function '_Z1kILi64EEvPf' for 'sm_90'
ptxas info    : Function properties for _Z1kILi64EEvPf
ptxas         .     912 bytes stack frame, 704 bytes spill stores, 776 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 912 bytes cumulative stack size, 512 bytes smem
ptxas info    : Function properties for _Z6helperv
ptxas         .     16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
)");
    ASSERT_EQ(facts.size(), 2u);
    EXPECT_EQ(facts[0],
              (KernelFacts{.lowered_name = "_Z1kILi8EEvPf", .registers = 24, .static_shared_bytes = 256}));
    EXPECT_EQ(facts[1], (KernelFacts{.lowered_name = "_Z1kILi64EEvPf",
                                     .registers = 32,
                                     .static_shared_bytes = 512,
                                     .stack_bytes = 912,
                                     .spill_store_bytes = 704,
                                     .spill_load_bytes = 776}));
}

TEST(PtxasLog, OlderFormatWithConstantBanks) {
    const std::vector<KernelFacts> facts = parse_ptxas_log(
        "ptxas info    : 0 bytes gmem, 400 bytes cmem[3]\n"
        "ptxas info    : Compiling entry function 'f' for 'sm_80'\n"
        "ptxas info    : Function properties for f\n"
        "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
        "ptxas info    : Used 255 registers, 49152 bytes smem, 360 bytes cmem[0], 16 bytes cmem[2]");
    ASSERT_EQ(facts.size(), 1u);
    EXPECT_EQ(facts[0], (KernelFacts{.lowered_name = "f",
                                     .registers = 255,
                                     .static_shared_bytes = 49152,
                                     .stack_bytes = 8,
                                     .spill_store_bytes = 4,
                                     .spill_load_bytes = 12}));
}

TEST(PtxasLog, NonsenseHasNoKernels) {
    EXPECT_THAT(parse_ptxas_log(""), IsEmpty());
    EXPECT_THAT(parse_ptxas_log("ptxas info    : Used 3 registers\n\n bytes stack frame\n"), IsEmpty());
    EXPECT_EQ(constant_bytes_of("no ELF"), 0);
    EXPECT_EQ(constant_bytes_of(std::string(200, '\xff')), 0);
}

/// A compiler without a cache.
class CompilerTest : public testing::Test {
  protected:
    void SetUp() override {
        CONVCAST_SKIP_IF(why_no_compiler());
        compiler_.emplace(std::filesystem::path());
    }
    CompiledModule compile(const CompileRequest &request) { return compiler_->compile(request); }

    std::optional<Compiler> compiler_;
};

TEST_F(CompilerTest, NamesFactsAndConstants) {
    const CompiledModule module = compile(scale_request());
    EXPECT_TRUE(module.cubin.starts_with("\x7f"
                                         "ELF"));
    EXPECT_EQ(module.lowered_names.at("scale<64>"), "_Z5scaleILi64EEvPf");
    EXPECT_EQ(module.lowered_names.at("&factors"), "factors");
    ASSERT_EQ(module.kernels.size(), 2u);
    EXPECT_EQ(module.facts("scale<64>").static_shared_bytes, 256);
    EXPECT_EQ(module.facts("_Z5scaleILi128EEvPf").static_shared_bytes, 512);
    EXPECT_GT(module.facts("scale<64>").registers, 4);
    EXPECT_EQ(module.facts("scale<64>").constant_bytes, 400);
    EXPECT_THROW(module.facts("scale<32>"), GpuError);
}

TEST_F(CompilerTest, RegisterCapSpills) {
    CompileRequest request = for_hopper("greedy.cu", R"(extern "C" __global__ void greedy(float *data) {
    float held[100];
#pragma unroll
    for (int i = 0; i < 100; ++i) held[i] = data[i * blockDim.x + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 100; ++i) data[i * blockDim.x + threadIdx.x] = held[i] + held[99 - i];
})");
    const int free_registers = compile(request).facts("greedy").registers;
    EXPECT_GT(free_registers, 100);
    request.max_registers = 40;
    const KernelFacts capped = compile(request).facts("greedy");
    EXPECT_LE(capped.registers, 40);
    EXPECT_GT(capped.spill_store_bytes, 0);
    EXPECT_GT(capped.spill_load_bytes, 0);
}

TEST_F(CompilerTest, ErrorCarriesTheLog) {
    EXPECT_THAT(why_not([&] { compile(for_hopper("broken.cu", "__global__ void f() { undeclared = 1; }")); }),
                Optional(AllOf(HasSubstr("broken.cu"), HasSubstr("sm_90"), HasSubstr("undeclared"))));
}

TEST_F(CompilerTest, StopsWhatTakesTooLong) {
    Compiler compiler{std::filesystem::path(), std::chrono::seconds(0)};
    if (compiler.nvrtc_version().starts_with("12."))
        GTEST_SKIP() << "NVRTC before 12.9 cannot be stopped";
    const CompileRequest request =
        for_hopper("endless.cu", "extern \"C\" __global__ void f(float *a) { a[0] = 1; }");
    EXPECT_EQ(why_not([&] { compiler.compile(request); }),
              "compiling endless.cu for sm_90 was stopped after 0 s; loops that are unrolled very often keep "
              "NVRTC busy: write #pragma unroll 1 before them, or a small number");
}

TEST_F(CompilerTest, CompileAllKeepsOrderAndGoesOnAfterAFailure) {
    std::vector<CompileRequest> requests(3, scale_request());
    requests[1].source = "nonsense";
    std::vector<std::size_t> progress;
    const auto outcomes = compiler_->compile_all(requests, 2, [&](std::size_t done, std::size_t total) {
        EXPECT_EQ(total, 3u);
        progress.push_back(done);
    });
    ASSERT_EQ(outcomes.size(), 3u);
    EXPECT_TRUE(std::holds_alternative<CompiledModule>(outcomes[0]));
    EXPECT_THAT(std::get<std::string>(outcomes[1]), HasSubstr("scale.cu"));
    EXPECT_TRUE(std::holds_alternative<CompiledModule>(outcomes[2]));
    EXPECT_EQ(progress, (std::vector<std::size_t>{1, 2, 3}));
}

TEST_F(CompilerTest, StopWatchKernelsCompile) {
    for (const int architecture : {80, 90}) {
        const CompiledModule module = compile(gpu_kernels_request(architecture));
        for (const char *kernel :
             {"convcast_flush", "convcast_gate", "convcast_clock_probe", "convcast_sleep"}) {
            EXPECT_EQ(module.facts(kernel).spill_store_bytes, 0) << kernel;
            EXPECT_EQ(module.facts(kernel).stack_bytes, 0) << kernel;
        }
    }
}

TEST(CompilerCache, HitGivesTheSameModule) {
    CONVCAST_SKIP_IF(why_no_compiler());
    const TemporaryFolder folder;
    const CompileRequest request = scale_request();
    const CompiledModule first = Compiler(folder.path()).compile(request);
    Compiler compiler(folder.path());
    const std::filesystem::path file = compiler.cache_file(request);
    ASSERT_TRUE(std::filesystem::exists(file));
    const auto written = std::filesystem::last_write_time(file);
    const CompiledModule second = compiler.compile(request);
    EXPECT_EQ(std::filesystem::last_write_time(file), written); // read, not made again
    EXPECT_EQ(first.cubin, second.cubin);
    EXPECT_EQ(first.log, second.log); // holds compile times: equal only if it is the same compilation
    EXPECT_EQ(first.lowered_names, second.lowered_names);
    EXPECT_EQ(first.kernels, second.kernels);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}),
              1); // no temporary is left
}

TEST(CompilerCache, EveryPartOfARequestCounts) {
    CONVCAST_SKIP_IF(why_no_compiler());
    Compiler compiler{"cache"};
    const CompileRequest request = scale_request();
    std::vector<CompileRequest> variants(6, request);
    variants[0].source += " ";
    variants[1].options.emplace_back("-DX");
    variants[2].compute_capability = 80;
    variants[3].max_registers = 64;
    variants[4].name_expressions.pop_back();
    variants[5].name = "other.cu";
    for (const CompileRequest &variant : variants)
        EXPECT_NE(compiler.cache_file(variant), compiler.cache_file(request));
    EXPECT_EQ(compiler.cache_file(request), compiler.cache_file(scale_request()));
}

TEST(CompilerCache, DamagedFilesAreMadeAgain) {
    CONVCAST_SKIP_IF(why_no_compiler());
    const TemporaryFolder folder;
    const CompileRequest request = scale_request();
    Compiler compiler(folder.path());
    const CompiledModule good = compiler.compile(request);
    const std::filesystem::path file = compiler.cache_file(request);
    const auto size = std::filesystem::file_size(file);
    for (const std::uintmax_t cut : {std::uintmax_t{0}, std::uintmax_t{5}, size / 2, size - 20}) {
        std::filesystem::resize_file(file, cut);
        EXPECT_EQ(compiler.compile(request).kernels, good.kernels);
        // The log in it tells how long compiling took, with one digit more or less.
        EXPECT_NEAR(static_cast<double>(std::filesystem::file_size(file)), static_cast<double>(size), 8.0);
    }
    {
        std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
        stream.seekp(static_cast<std::streamoff>(size / 2));
        stream.put('\x5a').put('\xa5').put('\x5a');
    }
    EXPECT_EQ(compiler.compile(request).kernels, good.kernels);
    EXPECT_THAT(compiler.take_warning(), IsEmpty());
}

/// What stands in the cache is run: only a file of ours that holds this very request is taken.
TEST(CompilerCache, TakesNothingThatIsNotItsOwn) {
    CONVCAST_SKIP_IF(why_no_compiler());
    const TemporaryFolder folder;
    const CompileRequest request = scale_request();
    CompileRequest other = request;
    other.options.emplace_back("-DOTHER");
    other.name_expressions.pop_back();
    Compiler compiler(folder.path());
    const CompiledModule good = compiler.compile(request);
    const std::filesystem::path file = compiler.cache_file(request);
    // A whole entry under another request's name.
    compiler.compile(other);
    std::filesystem::copy_file(compiler.cache_file(other), file,
                               std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(compiler.compile(request).kernels, good.kernels);
    // One that others can write to is made again, for us alone.
    const auto mode = [&] { return std::filesystem::status(file).permissions(); };
    std::filesystem::permissions(file, std::filesystem::perms::all);
    EXPECT_EQ(compiler.compile(request).kernels, good.kernels);
    EXPECT_EQ(mode(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    // A link is not followed, a pipe not waited for.
    const std::filesystem::path elsewhere = std::filesystem::path(folder.path()) / "elsewhere";
    std::filesystem::rename(file, elsewhere);
    std::filesystem::create_symlink(elsewhere, file);
    EXPECT_EQ(compiler.compile(request).kernels, good.kernels);
    EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(file)));
    std::filesystem::remove(file);
    ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
    EXPECT_EQ(compiler.compile(request).kernels, good.kernels);
    EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(file)));
    EXPECT_THAT(compiler.take_warning(), IsEmpty());
}

TEST(CompilerCache, UnwritableFolderWarnsOnce) {
    CONVCAST_SKIP_IF(why_no_compiler());
    const TemporaryFolder folder;
    const std::filesystem::path file = std::filesystem::path(folder.path()) / "a_file";
    std::ofstream(file) << "not a folder";
    Compiler compiler(file / "below");
    EXPECT_EQ(compiler.compile(scale_request()).kernels.size(), 2u);
    EXPECT_THAT(compiler.take_warning(), AllOf(HasSubstr("not cached"), HasSubstr("a_file")));
    EXPECT_EQ(compiler.compile(scale_request()).kernels.size(), 2u);
    EXPECT_THAT(compiler.take_warning(), IsEmpty());
}

/// An environment variable while it lives.
class Variable {
  public:
    Variable(const char *name, const char *value) : name_(name) {
        if (const char *before = std::getenv(name))
            before_ = before;
        set(value);
    }
    Variable(const Variable &) = delete;
    Variable &operator=(const Variable &) = delete;
    ~Variable() { set(before_ ? before_->c_str() : nullptr); }

  private:
    void set(const char *value) const { value ? setenv(name_, value, 1) : unsetenv(name_); }

    const char *name_;
    std::optional<std::string> before_;
};

TEST(CompilerCache, FolderFollowsTheEnvironment) {
    const auto with = [](const char *own, const char *xdg, const char *home) {
        const Variable first("CONVCAST_CACHE", own), second("XDG_CACHE_HOME", xdg), third("HOME", home);
        return default_cache_folder();
    };
    EXPECT_EQ(with("/a", "/b", "/c"), "/a");
    EXPECT_EQ(with(nullptr, "/b", "/c"), "/b/convcast");
    EXPECT_EQ(with(nullptr, "relative", "/c"), "/c/.cache/convcast"); // XDG: relative paths are to be ignored
    EXPECT_EQ(with(nullptr, nullptr, nullptr), "");
}

TEST(Counters, EveryMetricExistsOnGh100) {
    CONVCAST_SKIP_IF(why_no_cupti());
    EXPECT_THAT(unknown_metrics("GH100", metric_names(metrics::instrumented, hardware_metric_names())),
                IsEmpty());
}

TEST(Counters, UnknownMetricsAreNamed) {
    CONVCAST_SKIP_IF(why_no_cupti());
    EXPECT_EQ(unknown_metrics("GH100", {metrics::instructions, "sm__no_such_thing.sum"}),
              std::vector<std::string>{"sm__no_such_thing.sum"});
    EXPECT_THAT(why_not([] { passes_for("GH100", {"sm__no_such_thing.sum"}); }),
                Optional(HasSubstr("sm__no_such_thing.sum")));
    EXPECT_THAT(why_not([] { passes_for("gh100", {metrics::instructions}); }), Optional(HasSubstr("gh100")));
}

TEST(Counters, PassesAreFew) {
    CONVCAST_SKIP_IF(why_no_cupti());
    const int hardware = passes_for("GH100", hardware_metric_names());
    const int all = passes_for("GH100", metric_names(metrics::instrumented, hardware_metric_names()));
    EXPECT_GE(hardware, 1);
    EXPECT_LE(hardware, 8);
    EXPECT_GT(all, hardware); // instrumented metrics never share a pass
    EXPECT_LE(all, 12);
}

TEST(DeviceTest, WhyNotIsASentence) {
    const std::optional<std::string> why = why_no_device();
    if (!why)
        GTEST_SKIP() << "there is a GPU";
    EXPECT_THAT(*why, testing::AnyOf(HasSubstr("driver"), HasSubstr("GPU")));
    EXPECT_THROW(Device(0), GpuError);
}

TEST(DeviceTest, VersionText) {
    EXPECT_EQ(cuda_version_text(13000), "13.0");
    EXPECT_EQ(cuda_version_text(12080), "12.8");
}

TEST(Check, SaysCallPlaceNameAndText) {
    EXPECT_NO_THROW(check(cudaSuccess, "cudaFree"));
    EXPECT_THAT(
        why_not([] { check(cudaErrorInvalidValue, "cudaMemcpy"); }),
        Optional(AllOf(HasSubstr("cudaMemcpy"), HasSubstr("cudaErrorInvalidValue"),
                       HasSubstr("invalid argument"), HasSubstr("gpu_host_test.cpp"), HasSubstr("device"))));
}

TEST(Check, StickyErrorsLoseTheDevice) {
    EXPECT_THROW(check(cudaErrorIllegalAddress, "kernel"), DeviceLost);
    EXPECT_TRUE(is_sticky(cudaErrorLaunchFailure));
    EXPECT_FALSE(is_sticky(cudaErrorInvalidValue));
    EXPECT_FALSE(is_sticky(cudaErrorMemoryAllocation));
}

TEST(SharedLibraryTest, MissingLibrarySaysAllAboutIt) {
    const auto open = [] { SharedLibrary({{"libnone.so.9", "libnone.so"}, "do it", "package none"}); };
    EXPECT_THAT(why_not(open),
                Optional(AllOf(HasSubstr("libnone.so.9 or libnone.so"), HasSubstr("do it"),
                               HasSubstr("package none"), HasSubstr("/usr/local/cuda/lib64"))));
    const SharedLibrary libm({{"libm.so.6"}, "test", "libc6"});
    EXPECT_DOUBLE_EQ(libm.symbol<double(double)>("cos")(0.0), 1.0);
    EXPECT_THROW(libm.symbol<void()>("no_such_function"), GpuError);
}

TEST(Precision, ErrorOfTheMedian) {
    EXPECT_TRUE(std::isinf(relative_error_of_median({1.0, 1.0})));
    EXPECT_EQ(relative_error_of_median({2.0, 2.0, 2.0}), 0.0);
    // Quartiles 2 and 4 around 3: sigma = 2 / 1.349.
    EXPECT_NEAR(relative_error_of_median({5.0, 1.0, 3.0, 2.0, 4.0}), 1.2533 * 2 / 1.349 / std::sqrt(5.0) / 3,
                1e-12);
    // One outlier does not count.
    EXPECT_EQ(relative_error_of_median({1.0, 1.0, 1.0, 1.0, 1.0, 100.0}), 0.0);
}

} // namespace
} // namespace convcast
