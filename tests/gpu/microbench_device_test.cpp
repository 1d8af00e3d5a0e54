// All probes on a real GPU: each gives samples, and none a number that the hardware cannot reach.
#include "microbench/analysis.hpp"
#include "microbench/measure.hpp"
#include "microbench/statistics.hpp"
#include "model/base/errors.hpp"
#include "tests/gpu/require_gpu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

using Measure = OnGpu;

using testing::Each;
using testing::IsEmpty;
using testing::Not;

/// Ten, but for probes with many configurations and for what is counted, not timed.
std::size_t fewest_values(const std::string &probe) {
    if (probe == "shared_capacity")
        return 1;
    return probe == "l2_latency" || probe == "latency_by_footprint" ? 5 : 10;
}

using convcast::median_of; // of values; below, of configurations

/// Of the configurations whose knobs have these values: the median of their medians.
double median_of(const RawSamples &raw, const std::string &probe,
                 const std::map<std::string, double> &knobs = {}) {
    std::vector<double> medians;
    for (const ProbeSamples &samples : raw.samples)
        if (samples.probe == probe && std::all_of(knobs.begin(), knobs.end(), [&](const auto &knob) {
                return samples.knobs.at(knob.first) == knob.second;
            }))
            medians.push_back(median_of(samples.values));
    if (medians.empty()) {
        ADD_FAILURE() << probe << " has no such configuration";
        return 0.0;
    }
    return median_of(std::move(medians));
}

/// The median of the configuration whose `knob` is nearest to `value`.
double median_near(const RawSamples &raw, const std::string &probe, const std::string &knob, double value) {
    double nearest = 0.0;
    for (const ProbeSamples &samples : raw.samples)
        if (samples.probe == probe && std::abs(samples.knobs.at(knob) - value) < std::abs(nearest - value))
            nearest = samples.knobs.at(knob);
    return median_of(raw, probe, {{knob, nearest}});
}

RawSamples measured(const std::vector<std::string> &only) {
    Compiler compiler;
    const Device device(0);
    MeasureOptions options;
    options.only = only;
    const RawSamples raw = measure(compiler, device, options);
    for (const auto &[probe, why] : raw.failed)
        ADD_FAILURE() << probe << ": " << why;
    return raw;
}

TEST_F(Measure, LatencyGrowsWithDistance) {
    const RawSamples raw = measured({"shared_latency", "l1_latency", "l2_latency", "latency_by_footprint",
                                     "dram_latency", "tlb_latency", "constant_latency", "atomic_latency"});
    const double shared = median_of(raw, "shared_latency"), l1 = median_of(raw, "l1_latency"),
                 l2 = median_of(raw, "l2_latency"), dram = median_of(raw, "dram_latency");
    const auto l2_bytes = static_cast<double>(raw.limits.l2_bytes);
    const double far = median_near(raw, "latency_by_footprint", "footprint_bytes", 0.75 * l2_bytes);
    EXPECT_GT(shared, 15.0);
    EXPECT_LT(shared, l1);
    EXPECT_LT(2.0 * l1, l2);
    EXPECT_LE(0.9 * l2, far);
    EXPECT_LT(far, dram);
    EXPECT_LT(1.3 * l2, dram);
    EXPECT_NEAR(median_near(raw, "latency_by_footprint", "footprint_bytes", 16384), l1, 0.1 * l1);
    EXPECT_NEAR(median_near(raw, "latency_by_footprint", "footprint_bytes", 4 * l2_bytes), dram, 0.3 * dram);
    EXPECT_GE(median_near(raw, "tlb_latency", "region_bytes", 1e12), 0.95 * dram);
    EXPECT_GT(median_of(raw, "atomic_latency"), 0.7 * l2);
    EXPECT_LT(median_near(raw, "constant_latency", "footprint_bytes", 1024), l2);
    EXPECT_LT(median_near(raw, "constant_latency", "footprint_bytes", 1024),
              median_near(raw, "constant_latency", "footprint_bytes", 65536));
}

TEST_F(Measure, WaitingForMoreTakesLonger) {
    const RawSamples raw = measured(
        {"barrier_latency", "atomic_rate", "grid_sync", "launch_period", "launch_by_grid", "launch_floor"});
    double before = 0.0;
    for (const double warps : {1.0, 4.0, 8.0, 16.0, 32.0}) {
        const double barrier = median_of(raw, "barrier_latency", {{"warps", warps}, {"ctas_per_sm", 1.0}});
        EXPECT_GT(barrier, before) << warps;
        before = barrier;
    }
    EXPECT_GT(median_of(raw, "atomic_rate", {{"addresses", 1.0}}),
              median_of(raw, "atomic_rate", {{"addresses", 1024.0}}));
    const double sync = median_of(raw, "grid_sync", {{"ctas_per_sm", 1.0}});
    EXPECT_GT(sync, 2e-7);
    EXPECT_LT(sync, 1e-5);
    EXPECT_LE(median_of(raw, "launch_period", {{"graph", 1.0}}),
              1.1 * median_of(raw, "launch_period", {{"graph", 0.0}}));
    EXPECT_GT(median_of(raw, "launch_by_grid", {{"ctas", 64.0 * raw.limits.sm_count}}),
              median_of(raw, "launch_by_grid", {{"ctas", 1.0}}));
}

TEST_F(Measure, SharedMemoryIsAsLargeAsTheDriverSays) {
    const RawSamples raw = measured({"shared_capacity"});
    EXPECT_EQ(median_of(raw, "shared_capacity", {{"kind", 1.0}}), raw.limits.shared_bytes_per_cta);
    EXPECT_EQ(median_of(raw, "shared_capacity", {{"kind", 2.0}}), raw.limits.shared_bytes_per_sm);
}

TEST_F(Measure, CopiesOfBothWaysAreFasterThanOfOne) {
    const RawSamples raw = measured({"host_copy", "peer_copy", "peer_all_pairs"});
    const double up = median_of(raw, "host_copy", {{"direction", 1.0}}),
                 down = median_of(raw, "host_copy", {{"direction", 2.0}}),
                 both = median_of(raw, "host_copy", {{"direction", 3.0}});
    EXPECT_GT(std::min(up, down), 1e9);
    EXPECT_GT(both, 0.9 * std::max(up, down));
    EXPECT_LT(both, 1.1 * (up + down));
    if (raw.skipped.contains("peer_copy"))
        return;
    for (const ProbeSamples &samples : raw.samples)
        if (samples.probe == "peer_copy" && samples.knobs.at("kind") == 3.0) {
            EXPECT_GT(median_of(samples.values), 2e-7); // farther than any L2
            EXPECT_LT(median_of(samples.values), 2e-5);
        }
    const double one_way = median_of(raw, "peer_copy", {{"kind", 1.0}});
    EXPECT_GE(median_of(raw, "peer_copy", {{"kind", 2.0}}), 0.9 * one_way);
    EXPECT_GE(median_of(raw, "peer_all_pairs"), 0.9 * one_way);
}

TEST_F(Measure, SmallCopiesTakeLongerForEachByte) {
    const RawSamples raw = measured({"host_copy_sizes"});
    for (const double direction : {1.0, 2.0}) {
        const auto of = [&](double bytes) {
            return median_of(raw, "host_copy_sizes", {{"direction", direction}, {"bytes", bytes}});
        };
        EXPECT_LT(of(1024.0), 1e-4);
        EXPECT_GT(of(67108864.0), of(1048576.0));
        EXPECT_GT(of(4096.0) / 4096.0, 1.5 * of(67108864.0) / 67108864.0) << direction;
    }
}

TEST_F(Measure, EveryProbeGivesPlausibleSamples) {
    Compiler compiler;
    const Device device(0);
    std::size_t kept = 0;
    std::vector<std::string> announced;
    MeasureOptions options;
    auto before = std::chrono::steady_clock::now();
    options.progress = [&](const Probe &probe, std::size_t, std::size_t total) {
        EXPECT_EQ(total, probes().size());
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
    EXPECT_EQ(kept, probes().size());
    EXPECT_EQ(announced.size(), probes().size());
    for (const auto &[probe, why] : raw.failed)
        ADD_FAILURE() << probe << ": " << why;
    for (const ProbeSamples &samples : raw.samples) {
        const bool by_counters = samples.knobs.contains("level") && samples.knobs.at("level") > 0.0;
        EXPECT_GE(samples.values.size(), by_counters ? 3u : fewest_values(samples.probe))
            << samples.probe; // counters repeat
        EXPECT_EQ(samples.values.size(), samples.sm_clock_hz.size()) << samples.probe;
        EXPECT_THAT(samples.values, Each(testing::Gt(0.0))) << samples.probe;
        EXPECT_THAT(samples.sm_clock_hz, Each(testing::AllOf(testing::Gt(2e8), testing::Lt(3.5e9))))
            << samples.probe;
    }

    const GpuProfile profile = analyze(raw, "here");
    for (const auto &[field, why] : profile.missing) // only what this machine has nothing for
        EXPECT_TRUE(
            field == "dram_tlb_latency" ||
            std::any_of(raw.skipped.begin(), raw.skipped.end(),
                        [&](const auto &skipped) { return why.find(skipped.second) != std::string::npos; }))
            << field << ": " << why;
    for (const ProfileCheck &check : profile.checks)
        EXPECT_TRUE(check.passed) << check.name << ": " << check.text;
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

TEST_F(Measure, OnlyWhatIsAskedFor) {
    Compiler compiler;
    const Device device(0);
    MeasureOptions options;
    options.only = {"barrier_latency"};
    const RawSamples raw = measure(compiler, device, options);
    EXPECT_THAT(raw.samples, Not(IsEmpty()));
    EXPECT_THAT(raw.samples, Each(testing::Field(&ProbeSamples::probe, "barrier_latency")));
    EXPECT_EQ(analyze(raw, "here").missing.at("sm_clock"), "probe sm_clock was not run");

    options.only = {"barrier"};
    EXPECT_THROW(measure(compiler, device, options), UsageError);
}

} // namespace
} // namespace convcast
