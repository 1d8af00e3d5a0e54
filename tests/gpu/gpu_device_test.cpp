// What of gpu/ needs a GPU, each against something known: lengths, counts, bytes.
#include "gpu/activity.hpp"
#include "gpu/counters.hpp"
#include "gpu/device.hpp"
#include "gpu/green_context.hpp"
#include "gpu/kernel.hpp"
#include "gpu/kernels.hpp"
#include "gpu/memory.hpp"
#include "gpu/metrics.hpp"
#include "gpu/stopwatch.hpp"
#include "tests/gpu/require_gpu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace convcast {
namespace {

using testing::HasSubstr;

const char *const test_source = R"(
__constant__ float factors[4];

extern "C" __global__ void scale(float *data, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] *= factors[i % 4];
}

// 4 chains of 256 FMAs a thread; the store is never reached but keeps them alive.
extern "C" __global__ void ffma(float *never, float b, float c) {
    float a0 = threadIdx.x, a1 = a0 + 1.0f, a2 = a0 + 2.0f, a3 = a0 + 3.0f;
#pragma unroll 64
    for (int i = 0; i < 256; ++i) {
        a0 = fmaf(a0, b, c); a1 = fmaf(a1, b, c); a2 = fmaf(a2, b, c); a3 = fmaf(a3, b, c);
    }
    if (a0 == -1.0f && a1 == -1.0f && a2 == -1.0f && a3 == -1.0f) *never = a0;
}

extern "C" __global__ void read_all(const float4 *data, int count, float *never) {
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const float4 v = __ldcg(data + i);
        sum += v.x + v.y + v.z + v.w;
    }
    if (sum == -1.0f) *never = sum;
}

extern "C" __global__ void fill(float *data, int count) {
    for (int i = threadIdx.x; i < count; i += blockDim.x) data[i] = 1.0f;
}

// Long enough that all CTAs find an SM of their own where there is one.
extern "C" __global__ void where(unsigned *sm_of_cta) {
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    const long long start = clock64();
    while (clock64() - start < 100000) {}
    if (threadIdx.x == 0) sm_of_cta[blockIdx.x] = sm;
}

extern "C" __global__ void write_to_null(int *pointer) { *pointer = 1; }

extern "C" __global__ void big_shared(float *out) {
    extern __shared__ float tile[];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
)";

CompileRequest test_request(int compute_capability) {
    return {.name = "gpu_device_test.cu",
            .source = test_source,
            .name_expressions = {"&factors"},
            .compute_capability = compute_capability};
}

class GpuTest : public testing::Test {
  protected:
    void SetUp() override {
        CONVCAST_NEED_GPU();
        device_ = Device(0).facts();
        compiler_.emplace();
        module_.emplace(compiler_->compile(test_request(device_.compute_capability())));
    }

    Kernel kernel(const char *name) const { return module_->kernel(name); }

    /// 4 * 256 FMAs of each of 256 threads a CTA.
    void launch_ffma(unsigned ctas) const {
        float *const never = nullptr;
        kernel("ffma").launch_with(dim3(ctas), dim3(256), 0, nullptr, never, 1.0001f, 0.5f);
    }

    DeviceFacts device_;
    std::optional<Compiler> compiler_;
    std::optional<Module> module_;
};

TEST_F(GpuTest, FactsAreSane) {
    EXPECT_FALSE(device_.name.empty());
    EXPECT_EQ(device_.uuid.size(), 40u);
    EXPECT_GE(device_.compute_capability(), 70);
    EXPECT_GT(device_.sm_count, 0);
    EXPECT_GT(device_.max_clock, Frequency(200e6));
    EXPECT_GT(device_.memory_clock, Frequency(200e6));
    EXPECT_GE(device_.l2_bytes, std::size_t{1} << 20);
    EXPECT_GE(device_.shared_per_sm_bytes, device_.shared_per_block_bytes);
    EXPECT_EQ(device_.registers_per_sm, 65536);
    EXPECT_GE(device_.max_ctas_per_sm, 16);
    EXPECT_GE(device_.memory_bytes, device_.memory_free_bytes);
    EXPECT_GT(device_.memory_free_bytes, 0u);
    EXPECT_GE(device_.driver_version, device_.runtime_version / 1000 * 1000);
}

TEST_F(GpuTest, AGreenContextHasTheSmsItSays) {
    const auto sms_used = [&] { // everything made in the context that is current
        const Module module(compiler_->compile(test_request(device_.compute_capability())));
        const int ctas = 8 * device_.sm_count;
        DeviceBuffer<unsigned> sm_of_cta(static_cast<std::size_t>(ctas));
        const Stream stream(Stream::Kind::ordered);
        module.kernel("where").launch_with(dim3(static_cast<unsigned>(ctas)), dim3(256), 0, stream.handle(),
                                           sm_of_cta.data());
        stream.wait();
        const std::vector<unsigned> seen = sm_of_cta.to_host();
        return static_cast<int>(std::set<unsigned>(seen.begin(), seen.end()).size());
    };
    EXPECT_EQ(sms_used(), device_.sm_count);
    for (const int divisor : {2, 4}) {
        const int sms = green_sm_count(0, device_.sm_count / divisor);
        EXPECT_GE(sms, device_.sm_count / divisor);
        EXPECT_LT(sms, device_.sm_count);
        const GreenContext some(0, sms);
        EXPECT_EQ(some.sm_count(), sms);
        EXPECT_EQ(sms_used(), sms);
    }
    EXPECT_EQ(sms_used(), device_.sm_count) << "the context before is current again";
    EXPECT_THROW(green_sm_count(0, device_.sm_count + 1), GpuError);
    EXPECT_THROW(GreenContext(0, 0), GpuError);
}

TEST_F(GpuTest, NoSuchDevice) {
    EXPECT_THROW(Device(1000), GpuError);
}

TEST_F(GpuTest, LaunchesAndConstants) {
    std::size_t bytes = 0;
    void *const factors = module_->global("factors", bytes);
    ASSERT_EQ(bytes, 16u);
    const std::vector<float> values = {1, 2, 3, 4};
    check(cudaMemcpy(factors, values.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");

    std::vector<float> host(1000);
    std::iota(host.begin(), host.end(), 0.0f);
    DeviceBuffer<float> data{std::span<const float>(host)};
    float *const pointer = data.data();
    kernel("scale").launch_with(dim3(4), dim3(256), 0, nullptr, pointer, 1000);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    const std::vector<float> result = data.to_host();
    for (std::size_t i = 0; i < host.size(); ++i)
        EXPECT_EQ(result[i], host[i] * values[i % 4]) << i;
}

TEST_F(GpuTest, AttributesAgreeWithTheLog) {
    const CompiledModule compiled = compiler_->compile(test_request(device_.compute_capability()));
    for (const KernelFacts &facts : compiled.kernels) {
        const Kernel k = kernel(facts.lowered_name.c_str());
        EXPECT_EQ(k.registers(), facts.registers) << facts.lowered_name;
        EXPECT_EQ(k.static_shared_bytes(), static_cast<std::size_t>(facts.static_shared_bytes));
    }
}

TEST_F(GpuTest, LargeSharedMemoryAndOccupancy) {
    const Kernel k = kernel("big_shared");
    const std::size_t shared = device_.shared_per_block_bytes;
    k.allow_shared(shared);
    EXPECT_EQ(k.ctas_per_sm(256, shared), 1);
    EXPECT_EQ(k.ctas_per_sm(256, 0), device_.max_threads_per_sm / 256);
    DeviceBuffer<float> out(256);
    float *const pointer = out.data();
    k.launch_with(dim3(1), dim3(256), shared, nullptr, pointer);
    EXPECT_EQ(out.to_host()[0], 255.0f);
    EXPECT_THROW(k.allow_shared(shared + 1), GpuError);
    EXPECT_THROW(k.launch_with(dim3(1), dim3(2048), 0, nullptr, pointer), GpuError);
    EXPECT_EQ(out.to_host()[255], 0.0f); // the failed launch left no error behind
}

TEST_F(GpuTest, OutOfMemorySaysHowMuch) {
    try {
        DeviceBuffer<float> buffer(std::size_t{1} << 48);
        FAIL() << "a petabyte was allocated";
    } catch (const GpuError &error) {
        EXPECT_THAT(error.what(), HasSubstr("1073741824 MiB asked for"));
        EXPECT_THAT(error.what(), HasSubstr("free"));
    }
    EXPECT_NO_THROW(DeviceBuffer<float>(16));
}

TEST_F(GpuTest, GuardsSeeOneElementTooMany) {
    constexpr int count = 1001;
    GuardedBuffer<float> buffer(count);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 256, 0u);
    EXPECT_TRUE(std::isnan(buffer.to_host()[count - 1]));
    float *const pointer = buffer.data();
    kernel("fill").launch_with(dim3(1), dim3(128), 0, nullptr, pointer, count);
    EXPECT_TRUE(buffer.guards_intact());
    EXPECT_EQ(buffer.to_host()[count - 1], 1.0f);
    kernel("fill").launch_with(dim3(1), dim3(128), 0, nullptr, pointer, count + 1);
    EXPECT_FALSE(buffer.guards_intact());
    buffer.poison();
    EXPECT_TRUE(buffer.guards_intact());
    float *const before = pointer - 1;
    kernel("fill").launch_with(dim3(1), dim3(128), 0, nullptr, before, 1);
    EXPECT_FALSE(buffer.guards_intact());
}

TEST_F(GpuTest, TraceSeesEveryKernelOnce) {
    CONVCAST_SKIP_IF(ActivityTrace::why_not_available());
    DeviceBuffer<float> data(1024);
    data.fill_bytes(0);
    float *const pointer = data.data();
    ActivityTrace trace;
    trace.start();
    for (int i = 0; i < 3; ++i)
        kernel("fill").launch_with(dim3(2), dim3(64), 0, nullptr, pointer, 1024);
    data.fill_bytes(1);
    const std::vector<ActivityRecord> records = trace.stop();
    ASSERT_EQ(records.size(), 4u);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(records[i].kind, ActivityKind::kernel);
        EXPECT_EQ(records[i].name, "fill");
        EXPECT_EQ(records[i].grid, (std::array{2, 1, 1}));
        EXPECT_EQ(records[i].block, (std::array{64, 1, 1}));
        EXPECT_GT(records[i].registers, 0);
        EXPECT_LT(records[i].start_ns, records[i].end_ns);
        EXPECT_LE(records[i].end_ns, records[i + 1].start_ns);
    }
    EXPECT_EQ(records[3].kind, ActivityKind::memset);
    EXPECT_EQ(records[3].bytes, 4096u);
}

class StopWatchTest : public GpuTest {
  protected:
    void SetUp() override {
        GpuTest::SetUp();
        if (IsSkipped() || HasFatalFailure())
            return;
        watch_.emplace(*compiler_, device_);
        own_.emplace(compiler_->compile(gpu_kernels_request(device_.compute_capability())));
    }

    SampleSeries sleep(unsigned long long nanoseconds, int kernels = 1) {
        const Kernel k = own_->kernel("convcast_sleep");
        return watch_->measure(
            [&](cudaStream_t stream) {
                for (int i = 0; i < kernels; ++i)
                    k.launch_with(dim3(1), dim3(1), 0, stream, nanoseconds);
            },
            {.min_samples = 20, .max_samples = 100});
    }

    std::optional<StopWatch> watch_;
    std::optional<Module> own_;
};

TEST_F(StopWatchTest, KnownSleepsAreMeasured) {
    // An empty sleep takes what starting and ending a kernel takes; the rest is the sleep.
    const SampleSeries empty = sleep(0);
    for (const double expected_us : {50.0, 500.0}) {
        const SampleSeries series = sleep(static_cast<unsigned long long>(1e3 * expected_us));
        const double tolerance_us = 0.02 * expected_us + 1.0;
        EXPECT_NEAR(1e6 * (series.median_time() - empty.median_time()).value, expected_us, tolerance_us);
        for (const Sample &sample : series.samples) {
            EXPECT_FALSE(sample.launch_gaps);
            // Events also see the way to and from the kernel.
            EXPECT_NEAR(1e6 * sample.event_time.value, 1e6 * sample.time.value, tolerance_us + 8.0);
        }
        EXPECT_THAT(series.stop_reason, testing::AnyOf("precision", "count", "time"));
        EXPECT_GE(series.samples.size(), 20u);
        if (!watch_->why_events()) {
            EXPECT_EQ(series.method, "activity");
            ASSERT_EQ(series.activities.size(), 1u);
            EXPECT_EQ(series.activities[0].name, "convcast_sleep");
        }
    }
}

TEST_F(StopWatchTest, KernelsOfOneCallAreQueuedAhead) {
    // 20 sleeps of 10 us: the gaps in between must be those of the device, not of the host.
    const SampleSeries series = sleep(10'000, 20);
    EXPECT_GT(series.median_time(), Seconds(200e-6));
    EXPECT_LT(series.median_time(), Seconds(320e-6));
    for (const Sample &sample : series.samples)
        EXPECT_FALSE(sample.launch_gaps);
}

TEST_F(StopWatchTest, CallsThatWaitForTheStreamAreMarkedNotHung) {
    const Kernel k = own_->kernel("convcast_sleep");
    const SampleSeries series = watch_->measure(
        [&](cudaStream_t stream) {
            k.launch_with(dim3(1), dim3(1), 0, stream, 1000ull);
            check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        },
        {.min_samples = 3, .max_samples = 3});
    ASSERT_EQ(series.samples.size(), 3u);
    for (const Sample &sample : series.samples)
        EXPECT_TRUE(sample.launch_gaps);
}

TEST_F(StopWatchTest, AFailingCallDoesNotHang) {
    EXPECT_THROW(watch_->measure([](cudaStream_t) { throw GpuError("planned"); }, {}), GpuError);
    EXPECT_NO_THROW(sleep(1000));
}

TEST_F(StopWatchTest, ClockIsPlausible) {
    for (const Sample &sample : sleep(50'000).samples) {
        EXPECT_GT(sample.sm_clock, Frequency(200e6));
        EXPECT_LT(sample.sm_clock, Frequency(3500e6));
        EXPECT_LT(sample.sm_clock, device_.max_clock * 1.02);
    }
}

TEST_F(StopWatchTest, TimeLimitHolds) {
    const Kernel k = own_->kernel("convcast_sleep");
    const SampleSeries series = watch_->measure(
        [&](cudaStream_t stream) { k.launch_with(dim3(1), dim3(1), 0, stream, 20'000'000ull); },
        {.max_samples = 1'000'000,
         .target_error = -1.0, // out of reach: samples may be equal to the nanosecond
         .max_time = Seconds(0.2)});
    EXPECT_EQ(series.stop_reason, "time");
    EXPECT_LE(series.samples.size(), 15u);
}

TEST_F(StopWatchTest, ColdIsColdAndWarmIsWarm) {
    CONVCAST_SKIP_IF(why_no_counters());
    constexpr int bytes = 16 << 20;
    if (device_.l2_bytes < 2 * bytes)
        GTEST_SKIP() << "16 MiB do not stay in this L2";
    DeviceBuffer<float> data(bytes / sizeof(float));
    data.fill_bytes(0);
    const Kernel k = kernel("read_all");
    const void *const pointer = data.data();
    float *const never = nullptr;
    const auto read = [&] {
        k.launch_with(dim3(static_cast<unsigned>(4 * device_.sm_count)), dim3(256), 0, watch_->stream(),
                      pointer, bytes / 16, never);
    };
    CounterSession session({metrics::dram_bytes_read});
    const double cold = session.collect([&] { watch_->flush_l2(); }, read).at(metrics::dram_bytes_read);
    EXPECT_GT(cold, 0.9 * bytes);
    EXPECT_LT(cold, 1.3 * bytes);
    const double warm = session.collect(read, read).at(metrics::dram_bytes_read);
    EXPECT_LT(warm, 0.3 * bytes);

    const auto time = [&](L2State l2) {
        return watch_->measure([&](cudaStream_t) { read(); }, {.l2 = l2}).median_time();
    };
    EXPECT_LT(time(L2State::warm), time(L2State::cold) * 0.95);
}

TEST_F(GpuTest, FmasAreCountedExactly) {
    CONVCAST_SKIP_IF(why_no_counters());
    const auto ctas = static_cast<unsigned>(device_.sm_count);
    const auto work = [&] { launch_ffma(ctas); };
    CounterSession session(metric_names(metrics::instrumented, hardware_metric_names()));
    EXPECT_GE(session.passes(), 1);
    for (int repeat = 0; repeat < 2; ++repeat) { // a session serves many collections
        const std::map<std::string, double> counted = session.collect({}, work);
        EXPECT_EQ(counted.size(), metric_names(metrics::instrumented, hardware_metric_names()).size());
        EXPECT_EQ(counted.at(metrics::thread_ffma), 256.0 * ctas * 4 * 256);
        EXPECT_GE(counted.at(metrics::instructions_fma_pipe), 8.0 * ctas * 4 * 256);
        EXPECT_GE(counted.at(metrics::instructions), counted.at(metrics::instructions_fma_pipe));
        EXPECT_EQ(counted.at(metrics::instructions_tensor_pipe),
                  counted.at(metrics::instructions_tensor_hfma2));
        EXPECT_EQ(counted.at(metrics::instructions_local_load), 0.0);
        for (const auto &[name, value] : counted)
            EXPECT_TRUE(std::isfinite(value)) << name;
    }
}

TEST_F(GpuTest, PiecesOfWorkAreCountedApart) {
    CONVCAST_SKIP_IF(why_no_counters());
    std::vector<CounterSession::Work> works;
    for (const unsigned ctas : {3u, 1u, 2u})
        works.emplace_back([this, ctas] { launch_ffma(ctas); });
    const std::vector<std::string> names = {metrics::thread_ffma, metrics::instructions_local_load};
    CounterSession session(names);
    int ahead = 0;
    const std::vector<CounterSession::Values> counted = session.collect_each([&] { ++ahead; }, works);
    ASSERT_EQ(counted.size(), works.size());
    for (const std::size_t i : {0, 1, 2})
        EXPECT_EQ(counted[i].at(names[0]), (i == 0 ? 3.0 : static_cast<double>(i)) * 256.0 * 4 * 256) << i;
    EXPECT_EQ(ahead, 3 * session.passes());
    EXPECT_TRUE(session.collect_each({}, {}).empty());
}

TEST_F(GpuTest, LostDeviceIsReportedAsSuch) {
    // In a process of its own: the error ends the context for good.
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    EXPECT_EXIT(
        {
            int *const nowhere = nullptr;
            kernel("write_to_null").launch_with(dim3(1), dim3(1), 0, nullptr, nowhere);
            try {
                check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
            } catch (const DeviceLost &error) {
                std::fputs(error.what(), stderr);
                std::_Exit(7);
            }
            std::_Exit(1);
        },
        testing::ExitedWithCode(7), "cudaDeviceSynchronize failed: cudaErrorIllegalAddress");
}

} // namespace
} // namespace convcast
