// All probes on a real GPU: each gives samples, and none a number that the hardware cannot reach.
#include "microbench/analysis.hpp"
#include "microbench/measure.hpp"
#include "model/errors.hpp"
#include "tests/gpu/require_gpu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>

namespace convcast {
namespace {

using testing::Each;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST(Measure, EveryProbeGivesPlausibleSamples) {
    CONVCAST_NEED_GPU();
    Compiler compiler;
    const Device device(0);
    std::size_t kept = 0;
    std::vector<std::string> announced;
    MeasureOptions options;
    auto before = std::chrono::steady_clock::now();
    options.progress = [&](const ProbeInfo &probe, std::size_t, std::size_t total) {
        EXPECT_EQ(total, probes.size());
        announced.emplace_back(probe.name);
    };
    options.keep = [&](const RawSamples &so_far) {
        ++kept;
        EXPECT_EQ(write_samples(read_samples(write_samples(so_far), "so far")), write_samples(so_far));
        const auto now = std::chrono::steady_clock::now();
        std::cout << announced.back() << ": " << std::chrono::duration<double>(now - before).count()
                  << " s\n";
        before = now;
    };
    const RawSamples raw = measure(compiler, device, options);
    EXPECT_EQ(kept, probes.size());
    EXPECT_EQ(announced.size(), probes.size());
    for (const auto &[probe, why] : raw.failed)
        ADD_FAILURE() << probe << ": " << why;
    for (const ProbeSamples &samples : raw.samples) {
        EXPECT_GE(samples.values.size(), 10u) << samples.probe;
        EXPECT_EQ(samples.values.size(), samples.sm_clock_hz.size()) << samples.probe;
        EXPECT_THAT(samples.values, Each(testing::Gt(0.0))) << samples.probe;
        EXPECT_THAT(samples.sm_clock_hz, Each(testing::AllOf(testing::Gt(2e8), testing::Lt(3.5e9))))
            << samples.probe;
    }

    const GpuProfile profile = analyze(raw, "here");
    EXPECT_THAT(profile.missing, IsEmpty());
    EXPECT_THAT(profile.notes, Each(Not(StartsWith("check failed"))));
    std::cout << write_profile(profile);

    const double pin_rate = 2.0 * raw.memory_clock_hz * raw.memory_bus_bits / 8.0;
    if (pin_rate > 0.0) {
        EXPECT_LE(profile.dram_read_bandwidth->value.value, pin_rate);
        EXPECT_GE(profile.dram_read_bandwidth->value.value, 0.5 * pin_rate);
        EXPECT_LE(profile.dram_write_bandwidth->value.value, pin_rate);
        EXPECT_GE(profile.dram_write_bandwidth->value.value, 0.5 * pin_rate);
    }
    EXPECT_LE(profile.ffma_rate->value.value, 1.02 * raw.limits.cores_per_sm);
    EXPECT_GE(profile.ffma_rate->value.value, 0.6 * raw.limits.cores_per_sm);
    EXPECT_GE(profile.shared_bandwidth->value.value, 100.0);
    EXPECT_GE(profile.dram_latency->value.value, 1.5 * profile.l2_latency->value.value);
    EXPECT_LT(profile.launch_floor->value.value, 1e-5);
}

TEST(Measure, OnlyWhatIsAskedFor) {
    CONVCAST_NEED_GPU();
    Compiler compiler;
    const Device device(0);
    MeasureOptions options;
    options.only = {"barrier_latency"};
    const RawSamples raw = measure(compiler, device, options);
    ASSERT_EQ(raw.samples.size(), 1u);
    EXPECT_EQ(raw.samples[0].probe, "barrier_latency");
    EXPECT_EQ(analyze(raw, "here").missing.at("sm_clock"), "probe sm_clock was not run");

    options.only = {"barrier"};
    EXPECT_THROW(measure(compiler, device, options), UsageError);
}

} // namespace
} // namespace convcast
