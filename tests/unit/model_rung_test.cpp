// Work of a ladder's launches, and the forecasts of its rungs.
#include "model/base/described.hpp"
#include "model/base/files.hpp"
#include "model/network/rung_forecast.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

using testing::HasSubstr;

/// The toy has a clock of 1 GHz, 128 bytes of shared memory a clock, an L2 50 clocks away and barriers of 10.
GpuProfile toy() {
    return find_profile("toy");
}

double clocks(Seconds time) {
    return time.value * 1e9;
}

struct OfRung {
    Network network;
    Ladder ladder;
    Rung rung;
};

OfRung rung_of(const std::string &network, const std::string &id) {
    OfRung out{find_network(network), {}, {}};
    out.ladder = find_ladder(out.network);
    out.rung = *std::find_if(out.ladder.rungs.begin(), out.ladder.rungs.end(),
                             [&](const Rung &rung) { return rung.id == id; });
    return out;
}

LaunchWork work_of_kernel(const std::string &id, const std::string &kernel, const Gpu &gpu) {
    const OfRung of = rung_of("fashion_mnist", id);
    for (const LadderLaunch &launch : of.rung.launches)
        if (launch.kernel == kernel)
            return *work_of(launch, of.rung, of.network, 1, gpu);
    return {};
}

// ---- counts ----

TEST(RungWork, LanesReadDifferentConstants) {
    const GpuProfile h200 = find_profile("h200");
    const LaunchWork image = work_of_kernel("constant", "conv1_constant", Gpu(h200));
    ASSERT_EQ(image.phases.size(), 1U);
    EXPECT_EQ(image.ctas, 32);
    EXPECT_EQ(image.threads, 1024);
    EXPECT_EQ(image.phases[0].warps, 24.0); // 24 rows of 32 threads, of which 24 compute
    EXPECT_EQ(image.phases[0].constants,
              25.0 * 24.0 + 25.0); // a pixel for each lane, one filter value for all
    EXPECT_EQ(image.phases[0].passes, 0.0);
    const LaunchWork shared = work_of_kernel("image_shared", "conv1_pool1_shared", Gpu(h200));
    ASSERT_EQ(shared.phases.size(), 3U); // copy, convolution, pooling
    EXPECT_EQ(shared.phases[1].constants, 0.0);
    EXPECT_EQ(shared.phases[1].passes, 25.0 + 25.0);
}

TEST(RungWork, RowsOfAMapShareBanks) {
    const GpuProfile h200 = find_profile("h200");
    const LaunchWork work = work_of_kernel("both_fused", "conv2_pool2", Gpu(h200));
    ASSERT_EQ(work.phases.size(), 4U);      // two copies, convolution, pooling
    EXPECT_EQ(work.phases[0].rounds, 4.0);  // 13 values a thread: three times four, then one
    EXPECT_EQ(work.phases[1].rounds, 18.0); // 72 pixels a thread
    EXPECT_EQ(work.phases[2].rounds, 32.0);
    EXPECT_EQ(work.phases[2].passes, 25.0 * 2.0 + 25.0); // four rows 12 words apart: two passes
}

TEST(RungWork, AThreadAnOutputReadsFarApart) {
    const GpuProfile h200 = find_profile("h200");
    const LaunchWork work = work_of_kernel("global", "dense1_global", Gpu(h200));
    ASSERT_EQ(work.phases.size(), 1U);
    EXPECT_EQ(work.phases[0].warps, 2.0);
    EXPECT_EQ(work.phases[0].rounds, 1024.0 / 16.0);
    EXPECT_EQ(work.phases[0].l2_waits, 2.0);               // 32 loads, 16 of which are under way
    EXPECT_EQ(work.phases[0].passes, 16.0 * (32.0 + 1.0)); // weights 4096 bytes apart, one input for all
}

TEST(RungWork, AKernelThatNobodyCountedHasNone) {
    OfRung of = rung_of("fashion_mnist", "dense_tree");
    of.rung.launches[1].kernel = "conv2_new";
    const GpuProfile h200 = find_profile("h200");
    EXPECT_FALSE(work_of(of.rung.launches[1], of.rung, of.network, 1, Gpu(h200)));
    const RungForecast forecast = forecast_rung(of.rung, of.network, 1, h200);
    EXPECT_THAT(*forecast.why_not, HasSubstr("the work of the kernel conv2_new has not been counted"));
    EXPECT_FALSE(forecast.graph_s);
    EXPECT_TRUE(forecast.launches.empty());
}

// ---- times ----

TEST(EquationN5, AQueueOfWarpsByHand) {
    LaunchPhase phase;
    phase.rounds = 3.0, phase.passes = 20.0, phase.l2_waits = 1.0, phase.barriers = 1.0;
    // One warp: 50 clocks for L2, 20 passes, 10 for the barrier.
    EXPECT_NEAR(clocks(phase_time(phase, 1.0, toy())), 3.0 * (50.0 + 20.0 + 10.0), 1e-6);
    // Two: D = 20, E = 50, T1 = 70, Q1 = 20/70, T2 = 50 + 20 (1 + 2/7).
    phase.warps = 2.0;
    EXPECT_NEAR(clocks(phase_time(phase, 1.0, toy())), 3.0 * (50.0 + 20.0 * (1.0 + 2.0 / 7.0) + 10.0), 1e-6);
    EXPECT_NEAR(clocks(phase_time(phase, 2.0, toy())), clocks([&] {
                    LaunchPhase four = phase;
                    four.warps = 4.0;
                    return phase_time(four, 1.0, toy());
                }()),
                1e-6); // warps of two CTAs are warps
    // Constants are served one after another.
    LaunchPhase constants;
    constants.warps = 8.0, constants.constants = 24.0;
    EXPECT_NEAR(clocks(phase_time(constants, 1.0, toy())), 8.0 * 24.0 * constant_address_clocks, 1e-6);
}

TEST(EquationN6, CodeStoresAndFurtherWaves) {
    LadderLaunch launch;
    launch.kernel = "k";
    LaunchWork work;
    work.ctas = 1, work.threads = 32, work.registers = 32, work.code = 100.0;
    const RungLaunchForecast small = launch_forecast(launch, work, toy());
    EXPECT_NEAR(clocks(small.time_s), 100.0 * code_clocks + 50.0, 1e-6); // and the last store
    EXPECT_EQ(small.ctas_per_sm, 1);
    LaunchPhase phase;
    phase.passes = 1000.0;
    work.phases = {phase};
    const GpuProfile gpu = toy();
    const double slots = small.waves > 0.0 ? 1.0 / small.waves : 0.0;
    work.ctas = static_cast<std::int64_t>(slots) * 3;
    const RungLaunchForecast large = launch_forecast(launch, work, gpu);
    EXPECT_NEAR(large.waves, 3.0, 1e-9);
    const double resident = slots / gpu.limits.sm_count;
    EXPECT_GE(clocks(large.time_s), 3.0 * resident * 1000.0); // shared memory is never idle
    work.read_bytes = 1e12;
    EXPECT_GE(launch_forecast(launch, work, gpu).time_s.value, 1e12 / gpu.dram_read_bandwidth->value.value);
}

TEST(EquationN7, LaunchesOfAGraphAndOfAStream) {
    const GpuProfile h200 = find_profile("h200");
    const OfRung of = rung_of("fashion_mnist", "both_fused");
    const RungForecast forecast = forecast_rung(of.rung, of.network, 1, h200);
    ASSERT_EQ(forecast.launches.size(), 4U);
    double bodies = 0.0;
    for (const RungLaunchForecast &launch : forecast.launches)
        bodies += launch.time_s.value;
    const double floor = h200.launch_floor->value.value; // of five nodes: the image is copied first
    EXPECT_NEAR(forecast.graph_s->value,
                floor + 4.0 * (h200.graph_launch_period->value.value + dependent_gap_s) + bodies, 1e-12);
    EXPECT_NEAR(forecast.stream_s->value, floor + 4.0 * (floor + h200.launch_gap->value.value) + bodies,
                1e-12);
    GpuProfile without = h200;
    without.graph_launch_period.reset();
    EXPECT_FALSE(forecast_rung(of.rung, of.network, 1, without).graph_s);
    without.launch_floor.reset();
    EXPECT_THAT(*forecast_rung(of.rung, of.network, 1, without).why_not, HasSubstr("launch_floor"));
}

// ---- against what was recorded ----

LadderRun recorded(const std::string &name) {
    const std::string file =
        std::string(CONVCAST_SOURCE_DIR) + "/data/recorded/h200/ladders/" + name + ".json";
    LadderRun run = described::read_document<LadderRun>(read_file(file), file, "convcast/ladder_run/1");
    const Network network = find_network(run.network);
    add_forecasts(run, find_ladder(network), network, find_profile("h200"));
    return run;
}

constexpr std::array<const char *, 4> recordings = {"fashion_mnist_b1", "fashion_mnist_b1024",
                                                    "fashion_mnist_b10000", "mnist_b2048"};

TEST(RungForecasts, AreWithinTenPercentOfTheRecordings) {
    // What docs/networks.md names as missed.
    const std::map<std::pair<std::string, std::int64_t>, double> missed = {{{"one_kernel", 1024}, 0.2},
                                                                           {{"one_kernel", 10000}, 0.2}};
    std::size_t judged = 0;
    for (const char *name : recordings) {
        const LadderRun run = recorded(name);
        for (const RungResult &rung : run.rungs) {
            if (!rung.graph_warm_s) {
                EXPECT_FALSE(rung.predicted->graph_s) << rung.id;
                continue;
            }
            if (!rung.predicted->graph_s) { // docs/networks.md names these too
                EXPECT_THAT(*rung.predicted->why_not, HasSubstr("has not been counted")) << rung.id;
                continue;
            }
            ++judged;
            const auto found = missed.find({rung.id, run.batch});
            const double limit = found == missed.end() ? 0.1 : found->second;
            EXPECT_NEAR(*rung.predicted->graph_s / *rung.graph_warm_s, 1.0, limit)
                << rung.id << ", batch " << run.batch;
            EXPECT_NEAR(*rung.predicted->stream_s / *rung.stream_warm_s, 1.0, limit)
                << rung.id << " in a stream, batch " << run.batch;
        }
    }
    EXPECT_GE(judged, 29U);
}

TEST(RungForecasts, AreInTheOrderOfTheRecordings) {
    constexpr double same = 0.015; // two runs of a rung differ by that
    for (const char *name : recordings) {
        const LadderRun run = recorded(name);
        for (const RungResult &a : run.rungs)
            for (const RungResult &b : run.rungs)
                if (a.graph_warm_s && b.graph_warm_s && a.predicted->graph_s && b.predicted->graph_s &&
                    *a.graph_warm_s / *b.graph_warm_s < 1.0 - same) {
                    EXPECT_LT(*a.predicted->graph_s, *b.predicted->graph_s)
                        << a.id << ", " << b.id << ", batch " << run.batch;
                }
    }
}

TEST(RungForecasts, OfAnotherGpuAreOfWhatItHas) {
    const Network network = find_network("fashion_mnist");
    const LadderRun run = forecast_ladder(find_ladder(network), network, 1, find_profile("k80"));
    EXPECT_EQ(*run.profile_id, "k80");
    for (const RungResult &rung : run.rungs) {
        if (rung.id == "constant_all")
            EXPECT_THAT(*rung.reason, HasSubstr("needs 211136 bytes of constant memory"));
        else if (rung.id == "one_kernel")
            EXPECT_THAT(*rung.reason, HasSubstr("needs compute capability 9.0"));
        else if (rung.id == "batch")
            EXPECT_THAT(*rung.reason, HasSubstr("pairs_batch does not fit an SM"));
        else if (rung.id == "step")
            EXPECT_THAT(rung.predicted->why_not.value_or(""), HasSubstr("not been counted"));
        else
            EXPECT_TRUE(rung.predicted->stream_s && !rung.predicted->graph_s) << rung.id;
    }
}

} // namespace
} // namespace convcast
