// The convolutions on a GPU: right on awkward shapes, counted as predicted, and a run that can stop and go
// on.
#include "executor/baselines/cublas.hpp"
#include "executor/baselines/names.hpp"
#include "executor/run_case.hpp"
#include "executor/verify/inputs.hpp"
#include "gpu/metrics.hpp"
#include "tests/gpu/host_reference.hpp"
#include "tests/gpu/predicted.hpp"
#include "tests/gpu/require_gpu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

using ExecutorDevice = OnGpu;
using CublasDevice = OnGpu;

using testing::HasSubstr;

RunOptions verify_only() {
    RunOptions options;
    options.seed = 20240601;
    options.l2 = {};
    options.count = false;
    options.compile_threads = all_threads();
    options.say = [](const std::string &what) { std::cout << what << "\n"; };
    return options;
}

/// Everything that a test on the device needs.
struct Lab {
    explicit Lab(RunOptions options = verify_only())
        : executor(compiler, device, h200(), std::move(options)) {}

    /// Runs the cases as one run, so that their kernels are compiled in parallel first.
    void run(std::vector<Case> &cases) {
        Run run;
        run.cases = std::move(cases);
        EXPECT_EQ(executor.run_all(run, [](const Run &, std::size_t) {}), RunEnd::finished);
        cases = std::move(run.cases);
    }
    void run(Case &item) {
        std::vector<Case> cases = {std::move(item)};
        run(cases);
        item = std::move(cases.front());
    }

    Device device{0};
    Compiler compiler;
    Executor executor;
};

const char *status_name(Status status) {
    return boost::describe::enum_to_string(status, "?");
}

void expect_ok(const Case &item) {
    EXPECT_EQ(item.status, Status::ok)
        << item.shape << " " << item.strategy.value_or(item.baseline.value_or("?")) << ": "
        << status_name(item.status) << ": " << item.reason.value_or("");
}

void run_and_expect_ok(std::vector<Case> cases) {
    Lab().run(cases);
    for (const Case &item : cases)
        expect_ok(item);
}

/// Those of the cases that are feasible, of which there are more than `more_than`.
void run_feasible_and_expect_ok(std::vector<Case> cases, std::size_t more_than) {
    std::erase_if(cases, [](const Case &item) { return item.status != Status::ok; });
    std::cout << cases.size() << " cases\n";
    EXPECT_GT(cases.size(), more_than);
    run_and_expect_ok(std::move(cases));
}

/// A strategy on shapes of every geometry, with each of the knobs: right wherever it is feasible.
void expect_every_geometry(const std::string &strategy, const std::vector<std::string> &shapes,
                           const std::vector<std::string> &knobs) {
    std::vector<Case> cases;
    for (const std::string &shape : shapes)
        for (const std::string &its : knobs) {
            cases.push_back(predicted(strategy + its, shape));
            EXPECT_THAT(cases.back().status, testing::AnyOf(Status::ok, Status::infeasible))
                << shape << its << ": " << cases.back().reason.value_or("");
        }
    run_feasible_and_expect_ok(std::move(cases), 90);
}

/// Random numbers: others each time, unless CONVCAST_FUZZ_SEED says which.
class Fuzz {
  public:
    Fuzz() {
        const char *given = std::getenv("CONVCAST_FUZZ_SEED");
        const std::uint64_t seed = given ? std::stoull(given) : std::random_device{}();
        std::cout << "CONVCAST_FUZZ_SEED=" << seed << "\n";
        random_.seed(seed);
    }

    template <class Low, class High> std::common_type_t<Low, High> between(Low low, High high) {
        using Number = std::common_type_t<Low, High>;
        return static_cast<Number>(
            low + static_cast<Number>(random_() % static_cast<std::uint64_t>(high - low + 1)));
    }
    template <class T> const T &one_of(const std::vector<T> &all) { return all[random_() % all.size()]; }

  private:
    std::mt19937_64 random_;
};

/// Runs `wanted` feasible cases that `draw` draws, and expects each to be right.
void run_random_and_expect_ok(std::size_t wanted, int most_tries, const std::function<Case()> &draw) {
    std::vector<Case> cases;
    for (int tries = 0; cases.size() < wanted && tries < most_tries; ++tries)
        if (Case item = draw(); item.status == Status::ok)
            cases.push_back(std::move(item));
    EXPECT_EQ(cases.size(), wanted);
    run_and_expect_ok(std::move(cases));
}

// ---- the reference ----

class ReferenceKernel : public testing::Test {
  protected:
    void SetUp() override {
        CONVCAST_NEED_GPU();
        const Device device(0);
        Compiler compiler;
        kernels_.emplace(compiler, device.facts().compute_capability());
    }

    DeviceReference compute(const ConvShape &shape, const Inputs &inputs) const {
        return kernels_->compute(shape, DeviceBuffer<float>(std::span<const float>(inputs.input)),
                                 DeviceBuffer<float>(std::span<const float>(inputs.filters)));
    }

    std::optional<ReferenceKernels> kernels_;
};

TEST_F(ReferenceKernel, EqualsTheCpu) {
    for (const char *text :
         {"n1c1h7w7k1r3s3", "n2c3h13w31k5r5s5", "n2c4h9w8k6r3s2_str2x3_pad1x2_dil2x1_g2", "n1c8h5w5k8r1s1_g8",
          "n1c1h3w3k2r5s5_pad2x2", "n1c64h20w20k64r3s3", "n1c64h120w120k64r3s3"}) {
        const ConvShape shape = ConvShape::parse(text);
        for (const auto make : {integer_inputs, real_inputs}) {
            const Inputs inputs = make(shape, 3);
            EXPECT_NO_THROW(check_reference(shape, inputs.input, inputs.filters, compute(shape, inputs), 4))
                << text;
        }
    }
}

TEST_F(ReferenceKernel, AWrongReferenceIsFound) {
    const ConvShape shape = ConvShape::parse("n1c3h9w9k4r3s3"),
                    flipped = ConvShape::parse("n1c3h9w9k4r3s3_dil2x1_pad1x0");
    const Inputs inputs = real_inputs(shape, 3);
    const DeviceReference wrong = compute(flipped, inputs);
    ASSERT_EQ(flipped.output_elements(), shape.output_elements());
    EXPECT_THROW(check_reference(shape, inputs.input, inputs.filters, wrong, 4), GpuError);
}

TEST_F(ReferenceKernel, ComparesAsTheCpuDoes) {
    const ConvShape shape = ConvShape::parse("n2c3h40w41k5r3s3");
    const Inputs inputs = real_inputs(shape, 3);
    const std::vector<ReferenceElement> expected = reference(shape, inputs.input, inputs.filters);
    const DeviceReference on_device{std::span<const ReferenceElement>(expected)};
    std::vector<float> output;
    for (const ReferenceElement &element : expected)
        output.push_back(static_cast<float>(element.value));
    const auto expect_same = [&] {
        for (const double bound : {0.0, rounding_bound(shape)}) {
            const Comparison host = compare(output, expected, bound);
            const DeviceBuffer<float> copy{std::span<const float>(output)};
            const Comparison device_sum =
                kernels_->compare(shape, copy.data(), Layout::channels_first, on_device, bound);
            EXPECT_DOUBLE_EQ(device_sum.max_error_ratio, host.max_error_ratio);
            EXPECT_EQ(device_sum.not_a_number, host.not_a_number);
            EXPECT_EQ(device_sum.out_of_bound, host.out_of_bound);
            EXPECT_EQ(device_sum.first_bad, host.first_bad);
            EXPECT_NEAR(device_sum.squared_error, host.squared_error, 1e-9 * host.squared_error);
            EXPECT_NEAR(device_sum.squared_reference, host.squared_reference, 1e-9 * host.squared_reference);
        }
    };
    expect_same();
    output[9000] += 1.0F;
    expect_same();
    output[777] = output[14000] = std::numeric_limits<float>::quiet_NaN();
    expect_same();
}

// ---- the kernels ----

TEST_F(ExecutorDevice, AwkwardShapesPassBothGates) {
    std::vector<Case> cases;
    for (const std::string filter : {"r1s1", "r3s3", "r5s5"})
        for (const std::string map : {"n1c1h7w7k1", "n2c1h13w31k33", "n1c1h28w28k512", "n1c1h30w29k7",
                                      "n3c1h17w64k130", "n1c1h150w300k20", "n2c3h7w7k1", "n1c3h13w31k33",
                                      "n2c5h9w30k100", "n1c64h14w14k64", "n2c64h7w7k65", "n1c16h40w28k40"})
            for (const std::string &name : strategy_names()) {
                // The defaults and a spread of settings over all knobs.
                const std::vector<Strategy> settings = candidates(name);
                const std::size_t step = std::max<std::size_t>(1, settings.size() / 5);
                for (std::size_t i = 0; i < settings.size(); i += step)
                    cases.push_back(predicted(settings[i], map + filter));
            }
    run_feasible_and_expect_ok(std::move(cases), 200);
}

/// More than L2 holds, of a map that comes in chunks, whose planes start in the middle of a sector.
TEST_F(ExecutorDevice, StreamedOutputsAreWhole) {
    run_and_expect_ok(
        {predicted("patch_register:rows=1,vector=4,threads=128,tile_k=3", "n2c1h1300w1300k11r3s3"),
         predicted("patch_register:rows=3,vector=4,threads=256,tile_k=1", "n2c1h1300w1300k11r3s3")});
}

/// Small enough for a race checker, which follows every access to shared memory.
TEST_F(ExecutorDevice, EveryKernelOnSmallShapes) {
    std::vector<Case> cases = predicted(std::vector<Asked>{
        {"filter_split:pieces=1", "n1c1h9w13k3r3s3"},
        {"filter_split:pieces=3", "n1c1h9w12k3r3s3"},
        {"map_split:pieces=1", "n1c1h9w13k9r5s5"},
        {"map_split:pieces=3", "n1c1h9w12k9r1s1"},
        {"filter_split:pieces=1,buffers=1", "n1c1h9w13k3r3s3"},
        {"filter_split:pieces=2,buffers=1", "n2c1h30w12k3r5s5"},
        {"filter_split:pieces=3,buffers=1", "n1c1h50w75k135r3s3"},
        {"filter_split:pieces=9,buffers=1", "n1c1h9w12k3r1s1"},
        {"filter_split:map_shares=4", "n1c1h14w28k70r3s3"},
        {"map_split:pieces=1,buffers=1", "n1c1h9w13k9r5s5"},
        {"map_split:pieces=3,buffers=1", "n1c1h9w12k19r1s1"},
        {"map_split:pieces=2,buffers=1", "n2c1h140w21k64r3s3"},
        {"patch_register:rows=4,vector=1,threads=32,tile_k=2", "n1c1h9w13k5r3s3"},
        {"patch_register:rows=1,vector=4,threads=32,tile_k=3", "n2c1h10w12k5r3s3"},
        {"patch_register:rows=2,vector=4,threads=64,tile_k=4", "n1c1h13w12k6r5s5"},
        {"patch_register:rows=1,vector=4,threads=32,tile_k=2", "n3c1h8w12k5r3s3"},
        {"patch_register:rows=2,vector=4,threads=32,tile_k=1", "n3c1h12w14k5r3s5"},
        {"patch_register:rows=1,vector=4,threads=32,tile_k=4", "n1c1h10w11k5r3s3"},
        {"patch_register:rows=2,vector=1,threads=32,tile_k=1", "n1c1h7w9k3r3s3"},
        {"row_register:tile_h=2,unit=1,units=1,tile_k=3", "n1c1h7w13k5r3s3"},
        {"row_register:tile_w=64,unit=2,units=1", "n1c1h5w40k2r5s5"},
        {"stride_fixed_block:segment_bytes=32,tile_w=32,tile_k=16,stages=2", "n1c3h7w7k9r3s3"},
        {"stride_fixed_block:segment_bytes=64,tile_w=64,tile_k=32,stages=3", "n1c4h8w8k33r3s3"},
        {"stride_fixed_block:segment_bytes=32,tile_w=32,tile_k=16,stages=4", "n2c8h8w8k16r1s1"},
        {"stride_fixed_block:segment_bytes=1,tile_w=32,tile_k=16", "n1c4h8w7k9r3s3"},
        {"row_register:tile_w=128,unit=4,units=1,tile_h=2", "n1c1h5w42k3r3s3"},
        {"row_register:tile_w=64,unit=2,units=1,tile_h=2", "n1c1h5w42k3r3s3_f16"},
        {"row_register:tile_w=128,unit=4,units=1,tile_h=2", "n1c1h5w42k3r3s3_i8"},
        {"block_register:unit=2", "n1c5h8w20k17r2s2_f16"},
        {"block_register:unit=4", "n1c4h8w11k9r5s5_i8"},
        {"block_register:tile_w=8,tile_h=4,tile_k=32,pixels_per_thread=4,filters_per_thread=4",
         "n2c3h9w11k9r3s3"},
        {"block_register:tile_w=16,tile_h=2,tile_k=16,pixels_per_thread=8,filters_per_thread=2,channels="
         "2,unit=2",
         "n1c5h8w20k17r2s2"},
        {"block_register:unit=1", "n1c4h8w12k9r5s5"},
        {"filter_stream:rows=2,channels=2,stages=3", "n2c5h9w10k140r3s3"},
        {"filter_stream:tile_h=2,rows=2,channels=1,stages=2", "n1c3h9w12k5r3s3"},
        {"map_stream:tile_k=16,pieces=2,stages=3", "n2c5h9w10k20r3s3"},
        {"channel_split:tile_h=3,tile_k=8,stages=2", "n2c5h9w10k18r3s3"},
        {"naive_global:threads=64", "n2c4h9w8k6r3s2_str2x3_pad1x2_dil2x1_g2"},
        {"naive_shared:tile_w=8,tile_h=4,map=1", "n1c3h9w10k5r3s3_str2x2_pad1x1"},
        {"naive_shared:tile_w=8,tile_h=4,map=2", "n2c3h9w10k5r3s3_str1x2_pad2x1"},
        {"winograd:tile=2,tile_k=32,tile_pixels=32,slice_channels=4,stages=2", "n1c5h9w8k9r3s3_pad1x1"},
        {"winograd:tile=4,tile_k=64,tile_pixels=16,slice_channels=8,stages=3", "n2c9h11w10k7r3s3"},
        {"winograd:tile=6,tile_k=32,tile_pixels=64,chunks=2,stages=2", "n3c4h30w30k35r3s3_pad0x2"},
        {"winograd:tile=2,tile_k=64,tile_pixels=64,stages=2", "n1c6h9w10k9r5s5_pad2x1"},
        {"winograd:tile=4,tile_k=32,tile_pixels=32,stages=2", "n1c6h9w10k9r5s5"},
        {"implicit_gemm:tile_k=32,tile_pixels=32,split=1,warp_split=1,filters=1", "n1c3h7w7k9r3s3"},
        {"implicit_gemm:tile_k=32,tile_pixels=32,split=2,warp_split=2,filters=1", "n2c8h8w7k33r3s3_pad1x1"},
        {"implicit_gemm:tile_k=32,tile_pixels=64,split=4,filters=2", "n1c64h8w8k20r1s1"},
        {"implicit_gemm:tile_k=64,tile_pixels=64,thread_k=8,thread_pixels=8,split=1,filters=2",
         "n2c6h9w8k10r3s2_str2x1_pad1x2_dil1x2_g2"},
        {"implicit_gemm:staging=2,tile_k=32,tile_pixels=32,thread_k=4,thread_pixels=4,split=1,warp_"
         "split=1",
         "n1c3h7w7k9r3s3"},
        {"implicit_gemm:staging=2,tile_k=32,tile_pixels=32,split=2,warp_split=2", "n2c8h8w7k33r3s3_pad1x1"},
        {"implicit_gemm:staging=2,tile_k=64,tile_pixels=64,thread_k=8,thread_pixels=8,split=1",
         "n2c6h9w8k10r3s2_str2x1_pad1x2_dil1x2_g2"},
        {"implicit_gemm:staging=2,tile_k=32,tile_pixels=64,split=4,slice_channels=8", "n1c64h8w8k20r1s1"},
        {"implicit_gemm_3xtf32:tile_k=32,tile_pixels=64,depth=2,stages=2,split=1", "n1c3h7w7k9r3s3"},
        {"implicit_gemm_3xtf32:tile_k=32,tile_pixels=64,depth=2,stages=3,split=4", "n2c16h8w7k33r3s3_pad1x1"},
        {"implicit_gemm_3xtf32:tile_k=64,tile_pixels=128,depth=4,stages=2,split=2", "n1c64h8w8k20r1s1"}});
    ASSERT_FALSE(HasFailure());
    run_and_expect_ok(std::move(cases));
}

/// Halves and 8-bit integers, on rows that are whole words and rows that are not.
TEST_F(ExecutorDevice, ShortElements) {
    std::vector<Case> cases;
    for (const std::string type : {"_f16", "_i8"})
        for (const std::string filter : {"r1s1", "r3s3", "r2s4"})
            for (const std::string map : {"n1c1h7w7k1", "n2c1h13w31k33", "n1c1h30w29k7", "n3c1h17w64k130",
                                          "n1c1h40w300k20", "n2c3h7w7k1", "n1c3h13w31k33", "n2c5h9w30k100",
                                          "n1c64h14w14k64", "n2c64h7w7k65", "n1c16h40w28k40"})
                for (const char *name : {"row_register", "block_register"}) {
                    std::vector<Strategy> settings;
                    for (const char *unit : {"1", "2", "4"})
                        settings.push_back(parse_strategy(std::string(name) + ":unit=" + unit));
                    const std::vector<Strategy> others = candidates(name);
                    for (std::size_t i = 0; i < others.size();
                         i += std::max<std::size_t>(1, others.size() / 2))
                        settings.push_back(others[i]);
                    for (const Strategy &strategy : settings)
                        cases.push_back(predicted(strategy, map + filter + type));
                }
    run_feasible_and_expect_ok(std::move(cases), 200);
}

/// Beside naive_global, what only implicit_gemm does: stride, padding, dilation, groups, filters beyond a
/// word of taps, every way of splitting and both ways of reading filters.
TEST_F(ExecutorDevice, EveryGeometry) {
    expect_every_geometry(
        "implicit_gemm",
        {"n2c5h13w17k19r3s3_pad1x1", "n3c7h12w11k20r3s2_str2x2_pad1x2",
         "n2c8h15w14k12r3s3_str1x2_pad2x1_dil2x1_g2", "n1c16h9w9k33r1s1", "n2c3h30w31k20r7s7_str2x2_pad3x3",
         "n2c4h20w20k8r11s11_pad5x5", "n1c16h16w16k16r1s1_g4", "n2c6h8w8k10r1s1_pad1x1",
         "n1c20h20w20k70r5s5_pad2x2", "n3c16h7w7k40r2s3", "n2c12h9w9k12r3s3_pad1x1_g12",
         "n1c64h14w14k64r1s1_str2x2", "n1c32h28w28k100r3s3_pad1x1", "n1c2h40w41k3r9s10"},
        {"", ":filters=2", ":split=1,warp_split=1,filters=1", ":split=2,warp_split=2,filters=2,stages=4",
         ":split=4,warp_split=1",
         ":tile_k=32,tile_pixels=32,thread_k=4,thread_pixels=4,split=2,warp_split=1,stages=2",
         ":tile_k=64,tile_pixels=128,thread_k=8,thread_pixels=8,split=1",
         ":tile_k=32,tile_pixels=256,split=1",
         ":tile_k=128,tile_pixels=128,thread_k=16,thread_pixels=8,split=1,filters=2", ":staging=2",
         ":staging=2,split=1,warp_split=1", ":staging=2,split=2,warp_split=2", ":staging=2,columns=1",
         ":staging=2,columns=2,slice_channels=4",
         ":staging=2,tile_k=32,tile_pixels=32,thread_k=4,thread_pixels=4,warp_split=4",
         ":staging=2,tile_k=32,tile_pixels=256,split=1",
         ":staging=2,tile_k=64,tile_pixels=128,thread_k=8,thread_pixels=8",
         ":staging=2,tile_k=128,tile_pixels=48,thread_k=16,thread_pixels=4"});
}

/// Winograd's tiles, padding beyond the filter, every number of points, and chunks that end anywhere in the
/// batch.
TEST_F(ExecutorDevice, WinogradOnRandomShapes) {
    Fuzz fuzz;
    run_random_and_expect_ok(120, 2000, [&] {
        ConvShape shape;
        shape.n = fuzz.between(1, 3), shape.c = fuzz.between(2, 40), shape.k = fuzz.between(1, 150);
        shape.r = shape.s = fuzz.between(0, 1) == 0 ? 3 : 5;
        shape.pad_h = fuzz.between(0, 1) == 0 ? 0 : fuzz.between(0, 6),
        shape.pad_w = fuzz.between(0, 1) == 0 ? 0 : fuzz.between(0, 6);
        const bool tiny = fuzz.between(0, 3) == 0;
        shape.h = std::max<std::int64_t>(1, shape.r - 2 * shape.pad_h) + fuzz.between(0, tiny ? 3 : 40);
        shape.w = std::max<std::int64_t>(1, shape.s - 2 * shape.pad_w) + fuzz.between(0, tiny ? 3 : 60);
        Strategy strategy = parse_strategy("winograd");
        knob_of(strategy, "tile") = 2 * fuzz.between(1, 3);
        knob_of(strategy, "slice_channels") = 4 << fuzz.between(0, 2);
        knob_of(strategy, "stages") = fuzz.between(2, 4);
        knob_of(strategy, "chunks") = fuzz.between(1, 4);
        const int products[][4] = {{0, 0, 0, 0},    {128, 128, 8, 8}, {64, 64, 8, 8},  {64, 16, 8, 4},
                                   {32, 256, 8, 8}, {32, 32, 4, 4},   {64, 128, 8, 8}, {32, 64, 8, 4}};
        const auto &product = products[fuzz.between(0, 7)];
        int i = 0;
        for (const char *knob : {"tile_k", "tile_pixels", "thread_k", "thread_pixels"})
            knob_of(strategy, knob) = product[i++];
        return predicted(strategy, shape.id());
    });
}

/// Both ways of reading pixels (channels in eights or not, and 16 bytes at once), every tile, steps that the
/// values do not fill, and sums of as many products as the largest layers have.
TEST_F(ExecutorDevice, TensorCoresInEveryGeometry) {
    expect_every_geometry(
        "implicit_gemm_3xtf32",
        {"n2c5h13w17k19r3s3_pad1x1", "n3c7h12w11k20r3s2_str2x2_pad1x2",
         "n2c16h15w14k12r3s3_str1x2_pad2x1_dil2x1_g2", "n1c16h9w9k33r1s1", "n2c3h30w31k20r7s7_str2x2_pad3x3",
         "n1c32h16w16k16r1s1_g4", "n2c64h16w16k130r1s1", "n3c16h7w7k40r2s3", "n2c12h9w9k12r3s3_pad1x1_g12",
         "n1c64h14w14k64r1s1_str2x2", "n1c32h28w28k100r3s3_pad1x1", "n1c2h40w41k3r9s10",
         "n1c8h40w40k16r13s13", "n1c512h8w8k64r7s7_pad3x3"},
        {"", ":tile_k=32,tile_pixels=64,split=2", ":tile_k=64,tile_pixels=64,depth=2,split=1",
         ":tile_k=128,tile_pixels=64,split=4,stages=2", ":tile_k=64,tile_pixels=128,depth=8,stages=2,split=1",
         ":tile_k=128,tile_pixels=128,split=1", ":tile_k=128,tile_pixels=192,split=2",
         ":tile_k=32,tile_pixels=256,split=8", ":tile_k=64,tile_pixels=256,split=1"});
}

TEST_F(ExecutorDevice, FilterSetsBeyondConstantMemory) {
    Lab lab;
    Case item =
        predicted("row_register", "n1c1h20w20k2000r3s3"); // 18,000 values in launches of 16,384 at most
    ASSERT_EQ(item.status, Status::ok) << item.reason.value_or("");
    ASSERT_GT(item.prediction->plan->launches.size(), 1U);
    lab.run(item);
    expect_ok(item);
}

TEST_F(ExecutorDevice, RandomShapesAndKnobs) {
    Fuzz fuzz;
    const std::vector<std::string> names = strategy_names();
    run_random_and_expect_ok(300, 5000, [&] {
        const std::string &name = fuzz.one_of(names);
        ConvShape shape;
        shape.n = fuzz.between(1, 3);
        const bool one = name == "filter_split" || name == "map_split" || name == "row_register";
        const bool any_geometry =
            name == "implicit_gemm" || name == "naive_global" || name == "implicit_gemm_3xtf32";
        shape.c = one ? 1 : fuzz.between(2, 70);
        shape.r = shape.s = fuzz.between(1, 7);
        shape.h = shape.r + fuzz.between(0, 60);
        shape.w = shape.s + fuzz.between(0, 150);
        shape.k = fuzz.between(1, 200);
        if (any_geometry) {
            shape.s = fuzz.between(1, 7), shape.w += shape.s;
            shape.pad_h = fuzz.between(0, shape.r), shape.pad_w = fuzz.between(0, shape.s);
            shape.stride_h = fuzz.between(1, 3), shape.stride_w = fuzz.between(1, 3);
            shape.groups = fuzz.between(1, 3);
            shape.c = (shape.c + shape.groups - 1) / shape.groups * shape.groups;
            shape.k = (shape.k + shape.groups - 1) / shape.groups * shape.groups;
            shape.h += shape.r, shape.w += shape.s; // room for a dilation of 2
            shape.dilation_h = fuzz.between(1, 2), shape.dilation_w = fuzz.between(1, 2);
        } else if (name == "naive_shared") {
            shape.pad_h = fuzz.between(0, shape.r), shape.pad_w = fuzz.between(0, shape.s);
            shape.stride_h = fuzz.between(1, 2), shape.stride_w = fuzz.between(1, 2);
        }
        if (name == "row_register" || name == "block_register")
            shape.dtype = static_cast<DataType>(fuzz.between(0, 2));
        Strategy strategy = fuzz.one_of(candidates(name));
        if (name == "implicit_gemm")
            knob_of(strategy, "staging") = fuzz.between(0, 2);
        return predicted(strategy, shape.id());
    });
}

/// Of floats NaNs are left, of integers a number that no sum reaches.
TEST_F(ExecutorDevice, ALaunchThatLeavesOutputsIsWrong) {
    Lab lab;
    for (const std::string type : {"", "_i8"}) {
        Case item = predicted("row_register", "n1c1h20w20k16r3s3" + type);
        ASSERT_EQ(item.status, Status::ok);
        item.prediction->plan->launches[0].filter_count = 15;
        lab.run(item);
        EXPECT_EQ(item.status, Status::wrong_result);
        EXPECT_THAT(item.reason.value_or(""),
                    HasSubstr("324 of 5184 outputs are not written (NaN), the first at n=0 k=15"));
        EXPECT_TRUE(item.measurements.empty());
    }
}

TEST_F(ExecutorDevice, AKernelThatCannotBeLaunchedIsAFailedCase) {
    Lab lab;
    Case item = predicted("row_register", "n1c1h20w20k16r3s3");
    ASSERT_EQ(item.status, Status::ok);
    Case wrong = item;
    wrong.prediction->plan->launches[0].threads = 4096;
    lab.run(wrong);
    EXPECT_EQ(wrong.status, Status::failed);
    lab.run(item); // the device is as good as before
    expect_ok(item);
}

// ---- baselines ----

/// Absent if the program has what the case needs.
std::optional<std::string> why_not_built(const Case &item) {
    return item.status == Status::unsupported && item.reason->find("built without") != std::string::npos
               ? item.reason
               : std::nullopt;
}

TEST_F(ExecutorDevice, CudnnPasses) {
    Lab lab;
    for (const std::string shape :
         {"n1c1h28w28k64r3s3", "n2c3h13w31k33r5s5", "n1c64h14w14k64r3s3", "n1c64h56w56k64r1s1",
          "n2c8h20w21k16r3s3_str2x2_pad1x1", "n1c8h20w20k8r3s3_pad2x2_dil2x2_g2"}) {
        int ok = 0;
        for (const std::string &baseline : baselines_named("cudnn")) {
            Case item = predict_baseline(baseline, ConvShape::parse(shape), h200());
            lab.run(item);
            CONVCAST_SKIP_IF(why_not_built(item));
            if (item.status == Status::unsupported)
                std::cout << shape << " " << baseline << ": " << *item.reason << "\n";
            else
                expect_ok(item);
            ok += item.status == Status::ok;
        }
        EXPECT_GE(ok, 1) << shape;
    }
}

/// Others' halves, and FP32 in NHWC: right, each only where it is meant to be.
TEST_F(ExecutorDevice, HalvesAndChannelsLastPass) {
    Lab lab;
    for (const std::string shape :
         {"n1c64h14w14k64r3s3", "n2c8h20w21k16r3s3_str2x2_pad1x1", "n2c16h9w11k8r1s1_g2"}) {
        for (const auto &[baseline, type, status] :
             {std::tuple{"cudnn:graph_nhwc", "", Status::ok},
              std::tuple{"cudnn:graph_nhwc", "_f16", Status::unsupported},
              std::tuple{"cudnn:half", "_f16", Status::ok}, std::tuple{"cudnn:half", "", Status::unsupported},
              std::tuple{"cudnn:half", "_i8", Status::unsupported},
              std::tuple{"im2col_cublas", "_f16", Status::unsupported},
              std::tuple{"cudnn:implicit_gemm", "_f16", Status::unsupported}}) {
            Case item = predict_baseline(baseline, ConvShape::parse(shape + type), h200());
            lab.run(item);
            CONVCAST_SKIP_IF(why_not_built(item));
            EXPECT_EQ(item.status, status)
                << shape << type << " " << baseline << ": " << item.reason.value_or("");
            if (status == Status::ok)
                std::cout << shape << " " << baseline << ": " << item.detail.value_or("") << "\n";
        }
    }
}

std::optional<std::string> why_no_cublas() {
    return why_not([] { (void)open_cublas()->version(); });
}

TEST_F(CublasDevice, MultipliesRowMajorMatrices) {
    CONVCAST_SKIP_IF(why_no_cublas());
    const Device device(0);
    const std::shared_ptr<const Cublas> cublas = open_cublas();
    Sgemm size;
    size.m = 3, size.n = 5, size.k = 4, size.batch = 2;
    size.b_distance = size.k * size.n, size.c_distance = size.m * size.n; // the same a twice
    std::vector<float> a(12), b(40), expected(30, 0.0F);
    for (std::size_t i = 0; i < a.size(); ++i)
        a[i] = static_cast<float>(i % 7) - 3.0F;
    for (std::size_t i = 0; i < b.size(); ++i)
        b[i] = static_cast<float>(i % 5) - 2.0F;
    for (std::size_t batch = 0; batch < 2; ++batch)
        for (std::size_t m = 0; m < 3; ++m)
            for (std::size_t n = 0; n < 5; ++n)
                for (std::size_t k = 0; k < 4; ++k)
                    expected[batch * 15 + m * 5 + n] += a[m * 4 + k] * b[batch * 20 + k * 5 + n];
    const DeviceBuffer<float> device_a{std::span<const float>(a)}, device_b{std::span<const float>(b)};
    GuardedBuffer<float> c(expected.size());
    cublas->sgemm(size, device_a.data(), device_b.data(), c.data(), nullptr);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    EXPECT_EQ(c.to_host(), expected);
    EXPECT_TRUE(c.guards_intact());
}

TEST_F(ExecutorDevice, Im2colCublasPassesOnEveryKindOfShape) {
    CONVCAST_SKIP_IF(why_no_cublas());
    Lab lab;
    for (const char *shape :
         {"n1c1h28w28k64r3s3", "n2c3h13w31k33r5s5", "n3c64h14w14k64r1s1", "n1c64h56w56k64r3s3",
          "n2c8h20w21k16r3s2_str2x3_pad1x2_dil2x1", "n3c8h20w20k12r3s3_pad2x2_dil2x2_g2", "n2c8h9w9k8r1s1_g4",
          "n2c6h9w9k6r3s3_pad1x1_g6", "n4c16h12w10k8r1s1_str2x2", "n1c1h3w3k2r5s5_pad2x2"}) {
        Case item = predict_baseline("im2col_cublas", ConvShape::parse(shape), h200());
        lab.run(item);
        expect_ok(item);
        EXPECT_THAT(item.detail.value_or(""), HasSubstr("workspace"));
        Case product = predict_baseline("cublas", ConvShape::parse(shape), h200());
        lab.run(product);
        if (item.detail->find("its own columns") != std::string::npos)
            expect_ok(product);
        else
            EXPECT_EQ(product.status, Status::unsupported) << shape;
    }
}

// ---- times and counters ----

RunOptions quick_measure() {
    RunOptions options = verify_only();
    options.l2 = {L2State::cold, L2State::warm};
    options.count = true;
    options.min_samples = 5;
    options.max_samples = 10;
    options.max_time = Seconds(0.1);
    return options;
}

/// The plans that are picked: timed, in the arithmetic that they claim, and said.
TEST_F(ExecutorDevice, PickedPlansAreTimedAndNamed) {
    Lab lab(quick_measure());
    const ConvShape shape = ConvShape::parse("n1c64h56w56k64r3s3");
    std::map<std::string, Case> cases;
    for (const char *name : {"cudnn:graph", "cudnn:graph_deterministic", "cudnn:graph_direct", "cudnn:tf32",
                             "cudnn:implicit_precomp_gemm", "im2col_cublas"}) {
        Case item = predict_baseline(name, shape, h200());
        lab.run(item);
        if (item.status == Status::unsupported)
            GTEST_SKIP() << *item.reason;
        expect_ok(item);
        ASSERT_EQ(item.measurements.size(), 2U) << name;
        std::cout << name << ": " << item.measurements[0].time_s.value * 1e6 << " us; "
                  << item.detail.value_or("") << "\n";
        if (item.measurements[0].counters) {
            const std::map<std::string, double> &counters = *item.measurements[0].counters;
            const bool tensor_cores = counters.at(metrics::instructions_tensor_pipe) >
                                      counters.at(metrics::instructions_tensor_hfma2);
            EXPECT_EQ(tensor_cores, std::string(name) == "cudnn:tf32") << name;
        }
        cases.emplace(name, std::move(item));
    }
    EXPECT_THAT(*cases.at("cudnn:graph").detail, HasSubstr("engine "));
    EXPECT_GT(*cases.at("cudnn:tf32").measurements[0].relative_l2_error, 1e-5);
    EXPECT_LT(*cases.at("cudnn:graph").measurements[0].relative_l2_error, 1e-5);
    // A quick look may err, but not by much.
    EXPECT_LT(cases.at("cudnn:graph").measurements[0].time_s.value,
              1.3 * cases.at("cudnn:implicit_precomp_gemm").measurements[0].time_s.value);
    if (const Case &same = cases.at("cudnn:graph_direct");
        same.detail->find("the same plan as") != std::string::npos) {
        EXPECT_EQ(same.measurements[0].time_s, cases.at("cudnn:graph").measurements[0].time_s);
    }
}

void expect_counted_as_predicted(
    const std::vector<std::pair<std::string, std::string>> &strategies_and_shapes) {
    Lab lab(quick_measure());
    for (const auto &[strategy, shape] : strategies_and_shapes) {
        Case item = predicted(strategy, shape);
        ASSERT_EQ(item.status, Status::ok);
        lab.run(item);
        expect_ok(item);
        const Measurement *cold = item.measured(L2State::cold);
        ASSERT_TRUE(cold && cold->work) << strategy;
        EXPECT_EQ(*cold->work->fmas, *item.prediction->work->fmas) << strategy << " " << shape;
        EXPECT_EQ(cold->counters->at(metrics::instructions_tensor_pipe),
                  cold->counters->at(metrics::instructions_tensor_hfma2));
        EXPECT_EQ(cold->counters->at(metrics::instructions_local_load), 0.0) << strategy << " spills";
        EXPECT_TRUE(cold->regime);
    }
}

TEST_F(ExecutorDevice, CountedFmasEqualPredictedFmas) {
    CONVCAST_SKIP_IF(why_no_counters());
    expect_counted_as_predicted(
        {{"filter_split", "n1c1h56w56k256r3s3"},
         {"map_split", "n1c1h112w112k128r5s5"},
         {"row_register", "n1c1h224w224k64r3s3"},
         {"row_register", "n2c1h13w31k33r5s5"},
         {"stride_fixed_block", "n1c64h56w56k64r3s3"},
         {"stride_fixed_block", "n2c5h9w30k100r1s1"},
         {"stride_fixed_block:segment_bytes=1", "n1c64h56w56k64r3s3"},
         {"row_register:tile_w=256,unit=4", "n1c1h224w224k64r3s3"},
         {"block_register", "n1c64h56w56k64r3s3"},
         {"block_register", "n2c5h13w31k33r5s5"},
         {"row_register", "n1c1h224w224k64r3s3_f16"},
         {"block_register", "n2c5h13w31k33r5s5_f16"},
         {"filter_stream", "n1c64h56w56k64r3s3"},
         {"map_stream", "n1c64h56w56k64r3s3"},
         {"channel_split", "n1c64h28w28k64r3s3"},
         {"naive_global", "n1c16h28w28k32r3s3_pad1x1_str2x2"},
         {"naive_shared", "n1c32h12w12k64r5s5"},
         {"naive_shared:map=2", "n1c16h28w28k32r3s3_pad1x1"},
         {"implicit_gemm", "n1c64h56w56k64r3s3_pad1x1"},
         {"implicit_gemm:split=2,warp_split=2,filters=2", "n2c30h9w30k100r3s3_str2x2"},
         {"implicit_gemm:split=1,warp_split=1", "n1c3h40w40k64r7s7_pad3x3"}});
}

TEST_F(ExecutorDevice, WinogradsFmasAreCountedAsPredicted) {
    CONVCAST_SKIP_IF(why_no_counters());
    expect_counted_as_predicted({{"winograd:tile=2", "n2c30h9w30k100r3s3_pad1x1"},
                                 {"winograd:tile=4", "n1c64h56w56k64r3s3_pad1x1"},
                                 {"winograd:tile=4", "n1c12h30w33k20r3s3"},
                                 {"winograd:tile=6,chunks=3", "n2c20h31w40k33r3s3"},
                                 {"winograd:tile=2", "n1c16h13w31k40r5s5_pad2x2"},
                                 {"winograd:tile=4", "n1c32h28w28k64r5s5"}});
}

TEST_F(ExecutorDevice, TensorCoresOfOurOwnAreNoFailure) {
    CONVCAST_SKIP_IF(why_no_counters());
    Lab lab(quick_measure());
    Case item = predicted("implicit_gemm_3xtf32", "n1c64h56w56k64r3s3_pad1x1");
    lab.run(item);
    expect_ok(item);
    const Measurement *cold = item.measured(L2State::cold);
    ASSERT_TRUE(cold && cold->work);
    EXPECT_EQ(*cold->work->fmas, 0.0);
    EXPECT_GT(cold->counters->at(metrics::instructions_tensor_pipe),
              cold->counters->at(metrics::instructions_tensor_hfma2));
    EXPECT_EQ(cold->counters->at(metrics::instructions_local_load), 0.0);
    EXPECT_LE(*cold->relative_l2_error, 1e-5);
}

TEST_F(ExecutorDevice, MeasuresColdAndWarmWithAndWithoutTheFilterCopy) {
    Lab lab(quick_measure());
    for (const char *strategy : {"row_register", "filter_split"}) {
        Case item = predicted(strategy, "n1c1h224w224k64r3s3");
        lab.run(item);
        expect_ok(item);
        ASSERT_EQ(item.measurements.size(), 2U);
        for (const Measurement &m : item.measurements) {
            EXPECT_GT(m.time_s.value, 1e-6);
            EXPECT_LT(m.time_s.value, 1e-2);
            EXPECT_GE(m.samples_s.size(), 5U);
            EXPECT_LT(*m.relative_l2_error, 1e-6);
            if (m.method != "activity")
                continue;
            ASSERT_TRUE(m.prepared_time_s);
            if (std::string(strategy) == "row_register") {
                EXPECT_EQ(m.kernels, 2);
                EXPECT_LT(*m.prepared_time_s, m.time_s);
                EXPECT_GT(m.prepared_time_s->value, 0.0);
            } else {
                EXPECT_EQ(m.kernels, 1);
                EXPECT_EQ(*m.prepared_time_s, m.time_s);
            }
        }
    }
}

TEST_F(ExecutorDevice, MeasuresWithAndWithoutPreparedFilters) {
    Lab lab(quick_measure());
    Case item = predicted("implicit_gemm:filters=2", "n1c256h28w28k256r3s3");
    lab.run(item);
    expect_ok(item);
    ASSERT_EQ(item.measurements.size(), 2U);
    for (const Measurement &m : item.measurements) {
        if (m.method != "activity")
            continue;
        EXPECT_EQ(m.kernels, 2);
        ASSERT_TRUE(m.prepared_time_s);
        EXPECT_LT(*m.prepared_time_s, m.time_s);
    }
}

TEST_F(ExecutorDevice, AnOperandOutsideTheWorkspaceIsAFailedCase) {
    Lab lab;
    Case item = predicted("implicit_gemm:filters=2", "n1c8h9w9k8r3s3");
    ASSERT_EQ(item.status, Status::ok);
    item.prediction->plan->workspace_bytes = 0;
    lab.run(item);
    EXPECT_EQ(item.status, Status::failed);
    EXPECT_THAT(item.reason.value_or(""), HasSubstr("the workspace at byte 0 of 0"));
}

// ---- runs ----

TEST_F(ExecutorDevice, ARunStopsAndGoesOn) {
    std::atomic<bool> interrupt = true;
    RunOptions options = quick_measure();
    options.count = false;
    options.interrupt = &interrupt;
    Lab lab(options);
    convcast::Run run; // gtest has one of its own
    run.cases = {predicted("filter_split", "n1c1h28w28k64r3s3"),
                 predicted("row_register", "n1c1h28w28k64r3s3"),
                 predicted("stride_fixed_block", "n1c1h28w28k64r3s3")};
    ASSERT_EQ(run.cases[2].status, Status::unsupported);

    std::size_t settled = 99;
    const auto keep = [&](const convcast::Run &, std::size_t count) { settled = count; };
    EXPECT_EQ(lab.executor.run_all(run, keep), RunEnd::interrupted);
    EXPECT_EQ(settled, 1U); // the unsupported one
    EXPECT_EQ(run.cases[0].status, Status::not_run);
    EXPECT_EQ(run.cases[0].reason, "interrupted");

    interrupt = false;
    EXPECT_EQ(lab.executor.run_all(run, keep), RunEnd::finished);
    EXPECT_EQ(settled, 3U);
    expect_ok(run.cases[0]);
    expect_ok(run.cases[1]);
    EXPECT_EQ(run.cases[2].status, Status::unsupported);

    const std::vector<Seconds> samples = run.cases[0].measurements.at(0).samples_s;
    EXPECT_EQ(lab.executor.run_all(run, keep), RunEnd::finished);
    EXPECT_EQ(run.cases[0].measurements.at(0).samples_s, samples) << "measured again";
}

} // namespace
} // namespace convcast
