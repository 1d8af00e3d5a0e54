// The time of a call, its bound, its interval and its regimes, by hand: one suite for each equation of
// docs/equations.md. The toy GPU has 10 SMs at 1 GHz, 100 B/ns from DRAM after 100 ns and 200 B/ns from L2
// after 50; a launch takes 1,000 ns, and so does the gap to the next.
#include "model/regime/regimes.hpp"
#include "model/time/call.hpp"
#include "model/time/other_models.hpp"
#include "tests/unit/round_machine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace convcast {
namespace {

using sample::idle_launch;
using sample::ns;

const ConvShape small_shape = ConvShape::parse("n1c1h10w10k10r1s1");

const GpuProfile &toy() {
    static const GpuProfile profile = find_profile("toy");
    return profile;
}
Plan plan_of(Partition part) {
    Plan plan;
    plan.launches = {std::move(part)};
    return plan;
}
/// A launch that waits 100 ns for each of 101 loads and 50 for its last store: 10,150.
Partition waiting_launch() {
    Partition part = idle_launch();
    part.drain.line_waits = 100.0;
    return part;
}
double time_of(const Plan &plan) {
    return forecast_time(plan, small_shape, toy(), {})->value / ns;
}

TEST(EquationF1, LaunchesAndGaps) {
    Plan plan = plan_of(idle_launch());
    EXPECT_NEAR(time_of(plan), 1000.0 + 150.0, 1e-9); // 100 until data could be there, 50 for the last store
    plan.launches.push_back(idle_launch());
    EXPECT_NEAR(time_of(plan), 1000.0 + 150.0 + 1000.0 + 150.0, 1e-9);
}

TEST(EquationF1, ALaunchStartsAsTheSmallestCopyDoes) {
    GpuProfile copies = toy();
    copies.smallest_copy_time = Param<Seconds>{Seconds(1500.0 * ns), Source::measured, "test"};
    // Less two latencies of L2, 50 each.
    EXPECT_NEAR(forecast_time(plan_of(idle_launch()), small_shape, copies, {})->value / ns, 1400.0 + 150.0,
                1e-9);
}

TEST(EquationF35, WhatL2HasIsNotWaitedForFromDram) {
    const auto time = [](const Plan &plan, HeldByL2 held) {
        return forecast_call_time(plan, small_shape, toy(), std::nullopt, held)->value / ns;
    };
    const Plan plan = plan_of(waiting_launch());
    EXPECT_NEAR(time(plan, {}), 1000.0 + 10150.0, 1e-8);
    EXPECT_NEAR(time(plan, {1.0, 1.0}), 1000.0 + 101 * 50.0 + 50.0, 1e-8);
    EXPECT_NEAR(time(plan, {1.0, 0.0}), 1000.0 + 10150.0, 1e-8);           // filters come from DRAM
    EXPECT_NEAR(time(plan, {1.0, 0.5}), 1000.0 + 101 * 75.0 + 50.0, 1e-8); // half of them
    Partition coded = idle_launch();
    coded.cold_clocks = 300.0;
    const double code = time(plan_of(coded), {}) - time(plan_of(idle_launch()), {});
    EXPECT_NEAR(time(plan_of(coded), {1.0, 1.0}) - time(plan_of(idle_launch()), {1.0, 1.0}), code / 2.0,
                1e-8);
    // What L2 cannot keep until other tensors take its place goes to DRAM, also if it could have been kept
    // alone.
    Partition storing = idle_launch();
    storing.filter_count = 10;
    storing.work.l2_write_bytes = 4000.0, storing.work.dram_write_bytes = 400.0;
    Machine machine = machine_of(Gpu(toy()), DataType::f32, {});
    EXPECT_EQ(launch_terms::traffic_of(storing, small_shape, machine).dram_write_share, 0.1);
    machine.output_to_dram = 0.25;
    EXPECT_EQ(launch_terms::traffic_of(storing, small_shape, machine).dram_write_share, 0.25);
    EXPECT_EQ(held_for_repeats(plan, small_shape, Gpu(toy())).input, 1.0); // 1,200 bytes
    EXPECT_EQ(held_for_repeats(plan, ConvShape::parse("n100c64h56w56k64r3s3"), Gpu(toy())).input, 0.0);
}

TEST(EquationF20, TheLongerOfBoth) {
    Plan plan = plan_of(waiting_launch());
    Partition second = idle_launch();
    second.early = second.beside = true;
    plan.launches.push_back(second);
    EXPECT_NEAR(time_of(plan), 1000.0 + 10150.0, 1e-8); // max(10,150, 1,000 + 150)
    std::swap(plan.launches[0], plan.launches[1]);
    plan.launches[0].early.reset(), plan.launches[0].beside.reset();
    plan.launches[1].early = plan.launches[1].beside = true;
    EXPECT_NEAR(time_of(plan), 1000.0 + 11150.0, 1e-8); // max(150, 1,000 + 10,150)
}

TEST(EquationS1, CompulsoryWork) {
    // 30 * 40 pixels and 50 filter values are 5,000 B: 50 ns of DRAM; (100^2 + 50^2)^(1/2) = 111.8. Outputs:
    // 1,200 * 50 * 4 B / 100 B/ns = 2,400, and both together 2,450. FMAs: 60,000 / 10 / 64 = 93.75.
    const ConvShape shape = ConvShape::parse("n1c1h30w40k50r1s1");
    EXPECT_NEAR(speed_of_light(shape, toy())->value_s.value / ns, 1000.0 + 2450.0, 1e-8);
    GpuProfile writes = toy();
    writes.dram_write_bandwidth->value = Bandwidth(1e15);
    EXPECT_NEAR(speed_of_light(shape, writes)->value_s.value / ns, 1000.0 + std::hypot(100.0, 50.0), 1e-8);
    EXPECT_NEAR(speed_of_light(shape, writes, 640e3)->value_s.value / ns, 1000.0 + 1000.0,
                1e-8); // FMAs of its own
    // Filters of one tap with a stride of two leave out every second row: 15 of 30, 2,400 + 200 B; outputs 15
    // * 20 * 50.
    GpuProfile reads = toy();
    reads.dram_write_bandwidth->value = Bandwidth(1e15);
    reads.dram_read_bandwidth->value = Bandwidth(1e9);
    EXPECT_NEAR(speed_of_light(ConvShape::parse("n1c1h30w40k50r1s1_str2x2"), reads)->value_s.value / ns,
                1000.0 + std::hypot(100.0, 2600.0), 1e-6);
    // An L2 that takes in all at once keeps 1,000,000 B of 2,400,000; the others go to DRAM at 100 B/ns.
    GpuProfile keeps = toy();
    keeps.l2_write_bandwidth = Param<Bandwidth>{Bandwidth(1e15), Source::assumed, "test"};
    EXPECT_NEAR(speed_of_light(ConvShape::parse("n10c1h30w40k50r1s1"), keeps)->value_s.value / ns,
                1000.0 + 14000.0, 1e-6);
}

TEST(EquationI1, OneSourceByHand) {
    const Plan plan = plan_of(waiting_launch()); // 1,000 + 10,150 = 11,150
    Calibration calibration;
    calibration.ratio_p05 = 0.8, calibration.ratio_p95 = 1.25;
    const auto fitted = forecast_call(plan, small_shape, toy(), calibration);
    EXPECT_NEAR(fitted->low_s.value / ns, 0.8 * 11150.0, 1e-8);
    EXPECT_NEAR(fitted->high_s.value / ns, 1.25 * 11150.0, 1e-8);
    // Samples of the launch floor reach 15 % higher, and never lower: 11,300. The logarithms add as squares.
    GpuProfile profile = toy();
    profile.launch_floor->spread = Spread{1e-6, 1e-6, 1.15e-6, 15};
    const auto wider = forecast_call(plan, small_shape, profile, calibration);
    EXPECT_NEAR(wider->low_s.value / ns, 0.8 * 11150.0, 1e-8);
    EXPECT_NEAR(wider->high_s.value / ns,
                11150.0 * std::exp(std::hypot(std::log(1.25), std::log(11300.0 / 11150.0))), 1e-8);
    // Samples below zero say nothing of a time.
    profile.launch_floor->spread = Spread{-1e-3, 1e-6, 1.15e-6, 15};
    const auto absurd = forecast_call(plan, small_shape, profile, calibration);
    EXPECT_NEAR(absurd->high_s.value / ns, 1.25 * 11150.0, 1e-8);
}

TEST(EquationF34, AScaleOfTheWholeTime) {
    const Plan plan = plan_of(waiting_launch()); // 11,150
    Calibration calibration;
    calibration.scale = 1.2;
    const auto forecast = forecast_call(plan, small_shape, toy(), calibration);
    EXPECT_NEAR(forecast->term.value_s.value / ns, 1.2 * 11150.0, 1e-8);
    EXPECT_NEAR(forecast->unfitted_s.value / ns, 11150.0, 1e-8);
    EXPECT_EQ(forecast_call_time(plan, small_shape, toy(), calibration)->value, forecast->term.value_s.value);
    calibration.scale = 1e-3; // no forecast is below the speed of light
    EXPECT_DOUBLE_EQ(forecast_call(plan, small_shape, toy(), calibration)->term.value_s.value,
                     forecast->bound_s.value);
}

TEST(EquationI4, EndsArePowersOfTheSpread) {
    const Plan plan = plan_of(waiting_launch());
    Calibration calibration;
    calibration.ratio_p05 = 0.8, calibration.ratio_p95 = 1.25;
    calibration.spread.emplace();
    FittedNumbers other; // refits do not widen it: the percentiles are of calls that the fit had not seen
    other.cold_share = 1.0;
    calibration.resampled = {other};
    GpuProfile profile = toy();
    const auto low_and_high = [&] {
        const auto forecast = forecast_call(plan, small_shape, profile, calibration);
        return std::pair(forecast->low_s.value / ns, forecast->high_s.value / ns);
    };
    EXPECT_NEAR(low_and_high().first, 0.8 * 11150.0, 1e-8);
    EXPECT_NEAR(low_and_high().second, 1.25 * 11150.0, 1e-8);
    calibration.spread->log_pixels = 0.5; // 100 output pixels, filters of 1 x 1: exp(0.5 ln 100 - ln 5) = 2
    calibration.spread->one_by_one = -std::log(5.0);
    EXPECT_NEAR(low_and_high().first, 0.64 * 11150.0, 1e-8);
    EXPECT_NEAR(low_and_high().second, 1.5625 * 11150.0, 1e-8);
    calibration.spread->constant = 100.0; // at most 4; below, the speed of light bounds it
    EXPECT_NEAR(low_and_high().second, std::pow(1.25, 4.0) * 11150.0, 1e-8);
    profile.launch_floor->spread = Spread{1e-6, 1e-6, 1.15e-6, 15}; // samples do: 11,300
    EXPECT_NEAR(low_and_high().second,
                11150.0 * std::exp(std::hypot(4.0 * std::log(1.25), std::log(11300.0 / 11150.0))), 1e-8);
}

TEST(EquationI4, AKernelHasAShareOfItsOwn) {
    const Plan plan = plan_of(waiting_launch());
    Calibration calibration;
    calibration.ratio_p05 = 0.8, calibration.ratio_p95 = 1.25;
    calibration.spread.emplace();
    calibration.spread->kernels["another"] = 1.0;
    EXPECT_NEAR(forecast_call(plan, small_shape, toy(), calibration)->high_s.value / ns, 1.25 * 11150.0,
                1e-8);
    calibration.spread->kernels[plan.launches.front().kernel] = std::log(2.0);
    EXPECT_NEAR(forecast_call(plan, small_shape, toy(), calibration)->high_s.value / ns, 1.5625 * 11150.0,
                1e-8);
}

TEST(EquationI2, EveryNodeASum) {
    Partition part = idle_launch();
    part.step.load_bytes = 6000.0; // of 10 CTAs: 300 ns of L2, half of them from DRAM: 300
    part.work.l2_read_bytes = 60e3, part.work.dram_read_bytes = 30e3;
    const auto forecast = forecast_call(plan_of(part), small_shape, toy(), std::nullopt);
    EXPECT_NEAR(forecast->term.value_s.value / ns, 1000.0 + 100.0 + 300.0 + 50.0, 1e-8); // max(300, 300)
    EXPECT_NEAR(forecast->high_s.value / ns, 1000.0 + 100.0 + 600.0 + 50.0, 1e-8);
    EXPECT_EQ(forecast->low_s.value, forecast->bound_s.value);
}

TEST(EquationR4, OneLatencyOfWork) {
    Partition part = idle_launch(); // an FMA takes 1/64 clk of an SM: 6,400 fill a latency of 100
    part.step.fmas = 6400.0;
    EXPECT_EQ(physical_regime(over_latency(plan_of(part), small_shape, toy())), Regime::compute_hidden);
    part.step.fmas = 6399.0;
    EXPECT_EQ(physical_regime(over_latency(plan_of(part), small_shape, toy())), Regime::exposed);
    part.stages = 3;              // two steps under way, 10 CTAs: 100 B/ns * 100 ns = 10,000 B fill it
    part.step.load_bytes = 500.0; // 10 * 2 * 500
    EXPECT_EQ(physical_regime(over_latency(plan_of(part), small_shape, toy())), Regime::bulk_hidden);
    EXPECT_DOUBLE_EQ(over_latency(plan_of(part), small_shape, toy()).bytes, 1.0);
    part.stages = 2;
    EXPECT_EQ(physical_regime(over_latency(plan_of(part), small_shape, toy())), Regime::exposed);
}

TEST(EquationR5, Thresholds) {
    EXPECT_EQ(measured_regime(0.60, 0.0, 1.0, 1.0), Regime::compute_hidden);
    EXPECT_EQ(measured_regime(0.0, 0.60, 0.0, 0.0), Regime::compute_hidden);
    EXPECT_EQ(measured_regime(0.59, 0.59, 0.70, 0.0), Regime::bulk_hidden);
    EXPECT_EQ(measured_regime(0.59, 0.0, 0.0, 0.70), Regime::bulk_hidden);
    EXPECT_EQ(measured_regime(0.59, 0.59, 0.69, 0.69), Regime::exposed);
}

TEST(EquationB1, WholeWaves) {
    Partition part = idle_launch();
    part.ctas_per_sm = 2, part.waves = 3, part.steps = 10;
    part.step.fmas = 640.0, part.step.load_bytes = 1000.0;
    // FMAs: 2 * 6,400 / 128 = 100 a wave; bytes: 20 CTAs * 10,000 / 4,000 = 50. 2,000 + 3 * 100.
    EXPECT_NEAR(wave_roofline_time(plan_of(part), sample::round_machine()).value / ns, 2300.0, 1e-9);
    part.step.load_bytes = 4000.0; // 200 a wave
    EXPECT_NEAR(wave_roofline_time(plan_of(part), sample::round_machine()).value / ns, 2600.0, 1e-9);
}

} // namespace
} // namespace convcast
