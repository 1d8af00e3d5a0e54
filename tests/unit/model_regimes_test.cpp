// Regimes of forecasts, models of others, fits that leave a strategy out, and GPUs with fewer SMs.
#include "model/base/errors.hpp"
#include "model/choose/setting.hpp"
#include "model/fit/adapted.hpp"
#include "model/fit/fit.hpp"
#include "model/machine/knowledge.hpp"
#include "model/record/study.hpp"
#include "model/regime/regimes.hpp"
#include "model/time/call.hpp"
#include "model/time/other_models.hpp"

#include <fmt/format.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace convcast;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

/// One launch of 15 CTAs, two an SM, on the 10 SMs of the toy: one wave with five SMs' CTAs in pairs.
Plan toy_plan(std::int64_t ctas) {
    Partition part;
    part.threads = 64;
    part.ctas_per_sm = 2;
    part.ctas = ctas;
    part.steps = 10;
    part.step.instructions = 80;
    part.step.load_bytes = 2560;
    part.work.l2_read_bytes = 1000;
    part.work.dram_read_bytes = 1000;
    Plan plan;
    plan.launches = {part};
    return plan;
}

const GpuProfile &toy() {
    static const GpuProfile profile = [] {
        GpuProfile its = find_profile("toy");
        its.launch_floor->value = Seconds(1e-6);
        return its;
    }();
    return profile;
}

TEST(Utilisation, IsThatOfTheCounters) {
    Work work;
    work.fmas = 256e3;
    work.instructions = 20000;
    work.dram_read_bytes = 100e9 * 4e-6;  // 4 us of 100 GB/s
    work.dram_write_bytes = 100e9 * 3e-6; // and 3 us
    work.l2_read_bytes = 200e9 * 2e-6;
    work.l2_write_bytes = 200e9 * 1e-6;
    // 10 us besides the floor of 1 us; 5 of 10 SMs have work: 5 SMs * 4 schedulers * 10,000 clocks at 1 GHz.
    const Utilisation half = utilisation_of(toy_plan(5), work, Seconds(11e-6), toy());
    EXPECT_NEAR(half.fma, 256e3 / (5 * 64 * 10e3), 1e-12); // 64 cores
    EXPECT_NEAR(half.issue, 20000.0 / 200e3, 1e-12);
    EXPECT_NEAR(half.dram, 7.0 / 11.0, 1e-12);
    EXPECT_NEAR(half.l2, 3.0 / 11.0, 1e-12);
    // A full wave and one of five SMs: three quarters.
    EXPECT_NEAR(utilisation_of(toy_plan(25), work, Seconds(11e-6), toy()).issue, 20000.0 / 300e3, 1e-12);
    // Not below a tenth of the time: a forecast at the launch floor has a share all the same.
    EXPECT_TRUE(std::isfinite(utilisation_of(toy_plan(20), work, Seconds(1e-6), toy()).issue));
}

/// 15 CTAs on 10 SMs, two an SM: five SMs have two, five have one.
TEST(Utilisation, AnSmWithACtaLessEndsSooner) {
    Work work;
    work.instructions = 300e3;
    // 20,000 a CTA: an SM with two of them issues in every slot of its 4 schedulers for 10,000 clocks, and
    // one with a single CTA has ended after half of these.
    EXPECT_NEAR(utilisation_of(toy_plan(15), work, Seconds(11e-6), toy()).issue,
                300e3 / (4 * 10e3 * (5 + 5 * 0.5)), 1e-12);
    // In a tenth of the slots: a tenth of a half of the time sooner.
    work.instructions = 30e3;
    EXPECT_NEAR(utilisation_of(toy_plan(15), work, Seconds(11e-6), toy()).issue,
                30e3 / (4 * 10e3 * (5 + 5 * 0.95)), 1e-12);
}

/// The two halves of a share run on one SM, except for those of the first eight shares.
TEST(Utilisation, HalvesOfAShareRunOnOneSm) {
    GpuProfile wide = toy();
    wide.limits.sm_count = 40;
    Plan plan = toy_plan(40);
    plan.launches[0].parts = 20;
    plan.launches[0].grid = {40, 1, 1};
    plan.launches[0].idle_ctas = 4; // 18 shares work: ten SMs with both halves, 16 with one, 14 with none
    Work work;
    work.instructions = 36 * 20000.0; // two CTAs issue in every slot of an SM for 10,000 clocks
    EXPECT_NEAR(utilisation_of(plan, work, Seconds(11e-6), wide).issue,
                720e3 / (4 * (10 * 10e3 + 16 * 5e3 + 14 * 1250.0)), 1e-12);
    plan.launches[0].idle_ctas = 28; // six shares: twelve SMs
    work.instructions = 12 * 20000.0;
    EXPECT_NEAR(utilisation_of(plan, work, Seconds(11e-6), wide).issue,
                240e3 / (4 * (12 * 10e3 + 28 * 1250.0)), 1e-12);
    // Of two images of 20 CTAs each, of which four work, each has its own first shares: eight SMs.
    plan.launches[0].parts = 10;
    plan.launches[0].grid = {20, 2, 1};
    plan.launches[0].idle_ctas = 32;
    work.instructions = 8 * 20000.0;
    EXPECT_NEAR(utilisation_of(plan, work, Seconds(11e-6), wide).issue,
                160e3 / (4 * (8 * 10e3 + 32 * 1250.0)), 1e-12);
    // A number of parts alone makes no halves: kernels that stream divide channels or rows.
    plan.launches[0].grid = {40, 1, 1};
    plan.launches[0].idle_ctas = 0;
    work.instructions = 40 * 20000.0;
    EXPECT_NEAR(utilisation_of(plan, work, Seconds(11e-6), wide).issue, 800e3 / (4 * 40 * 10e3), 1e-12);
}

/// CTAs that find nothing to do keep the SMs that have no others active while they start and end.
TEST(Utilisation, CtasWithoutWorkAreShort) {
    Work work;
    work.fmas = 256e3;
    work.instructions = 32000;
    // Beside the 5 CTAs with work 400 without, on 5 SMs with 10 slots: 40 in each, one after another.
    Plan plan = toy_plan(405);
    plan.launches[0].idle_ctas = 400;
    plan.launches[0].idle_instructions = 30.0;
    const double clocks = 5 * 10e3 + 5 * (600.0 + 40.0 * 650.0);
    const Utilisation beside = utilisation_of(plan, work, Seconds(11e-6), toy());
    EXPECT_NEAR(beside.issue, 32000.0 / (4 * clocks), 1e-12);
    EXPECT_NEAR(beside.fma, 256e3 / (64 * clocks), 1e-12);
}

TEST(MwpCwp, IsThePapersArithmetic) {
    // Worked by hand from the paper's equations. A warp: 10 * 80 / 2 instructions over 4 schedulers: 100
    // clocks; 10 * 2560 / 2 / 128 = 100 loads of 100 clocks: 10,000. An SM's share of L2 is 20 B/clk: 6.4
    // clocks apart, so 15.6 could overlap; a warp of DRAM reads moves 1.28 B/clk, ten SMs of the 100 B/clk
    // have room for 7.8125. N = 4 is the least: MWP = CWP = 4, (22): 10,000 + 100 + 100 / 100 * 3 = 10,103
    // clocks of a full wave; ten barriers of two CTAs cost 6.4 * 3 each (26): 384.
    EXPECT_NEAR(mwp_cwp_time(toy_plan(20), toy())->value, 1e-6 + (10103.0 + 384.0) * 1e-9, 1e-12);
    // Twice the CTAs take the waves twice.
    EXPECT_NEAR(mwp_cwp_time(toy_plan(40), toy())->value, 1e-6 + 2.0 * (10103.0 + 384.0) * 1e-9, 1e-12);
    // 10 loads a warp, 1,000 clocks, and 500 of arithmetic: CWP 3 is below MWP 4, (24).
    Plan busy = toy_plan(20);
    busy.launches[0].step.instructions = 400;
    busy.launches[0].step.load_bytes = 256;
    EXPECT_NEAR(mwp_cwp_time(busy, toy())->value, 1e-6 + (100.0 + 500.0 * 4.0 + 384.0) * 1e-9, 1e-12);
    // More arithmetic than memory is (23) in print, however little that says of 100,000 clocks a warp.
    busy.launches[0].step.instructions = 80000;
    EXPECT_NEAR(mwp_cwp_time(busy, toy())->value, 1e-6 + (1000.0 + 10000.0 * 3.0 + 384.0) * 1e-9, 1e-12);
    GpuProfile without = toy();
    without.dram_latency.reset();
    EXPECT_FALSE(mwp_cwp_time(busy, without));
}

TEST(Profile, FewerSmsChangeNothingElse) {
    const GpuProfile whole = find_profile("h200"), half = with_sms(whole, 64);
    EXPECT_EQ(half.limits.sm_count, 64);
    EXPECT_NE(profile_hash(half), profile_hash(whole));
    EXPECT_EQ(write_profile(with_sms(whole, whole.limits.sm_count)), write_profile(whole));
    EXPECT_THAT([&] { with_sms(whole, 133); }, ThrowsMessage<UsageError>(HasSubstr("132")));
    EXPECT_THROW(with_sms(whole, 0), UsageError);
}

/// Calls whose times are exactly what a calibration says, of two strategies that need different numbers.
std::vector<MeasuredCall> planted_calls(const GpuProfile &profile) {
    std::vector<MeasuredCall> calls;
    for (const char *strategy : {"stride_fixed_block", "block_register"})
        for (const int size : {14, 20, 28, 40, 56}) {
            const ConvShape shape = ConvShape::parse(fmt::format("n1c8h{0}w{0}k32r3s3", size));
            auto planned = plan(parse_strategy(strategy), shape, profile);
            Calibration truth;
            truth.fitted.steps_overlap = 2.5;
            truth.fitted.first_wave_miss = strategy[0] == 's' ? 0.5 : 1.25;
            MeasuredCall call;
            call.plan = call.uncounted = std::get<PlannedStrategy>(planned).feasible.plan;
            call.shape = shape;
            call.strategy = strategy;
            call.training = size != 20;
            call.index = calls.size();
            call.time_s = forecast_term(call.plan, shape, profile, truth)->value_s;
            calls.push_back(std::move(call));
        }
    return calls;
}

TEST(Fit, LeavingAStrategyOutIsFittingWithoutItsCalls) {
    const GpuProfile profile = find_profile("h200");
    const std::vector<MeasuredCall> calls = planted_calls(profile);
    const std::vector<LeftOut> rows = leave_one_out(calls, profile, {}).strategies;
    ASSERT_EQ(rows.size(), 3u);
    for (std::size_t i = 0; i < 2; ++i) {
        std::vector<MeasuredCall> others;
        for (const MeasuredCall &call : calls)
            if (call.strategy != rows[i].strategy)
                others.push_back(call);
        Calibration alone = fit_calibration(others, profile);
        EXPECT_EQ(alone.resampled.size(), 10u);
        alone.resampled.clear(); // of a strategy left out nothing is drawn again
        EXPECT_EQ(write_calibration(rows[i].calibration), write_calibration(alone)) << rows[i].strategy;
        EXPECT_EQ(rows[i].training, 4);
        EXPECT_EQ(rows[i].test, 1);
        // A mean of distances may be least at the numbers of one of them.
        EXPECT_GE(rows[i].left_out, rows[i].fitted) << rows[i].strategy;
    }
    EXPECT_GT(rows[0].left_out_bias, 1.0) << "fitted to longer waits";
    EXPECT_LT(rows[1].left_out_bias, 1.0) << "fitted to shorter ones";
    EXPECT_EQ(rows[2].strategy, "all");
    EXPECT_EQ(rows[2].test, 2);
    EXPECT_NEAR(rows[2].left_out, (rows[0].left_out + rows[1].left_out) / 2.0, 1e-12);
    EXPECT_GT(rows[2].left_out, 1.5 * rows[2].fitted);
}

/// Calls that take 1.2 times as long as forecast, give or take: the scale is found, and so is the error that
/// remains.
TEST(Fit, AScaleAndAnIntervalOfFewLayers) {
    const GpuProfile profile = find_profile("h200");
    const Calibration base = *knowledge_for(profile).calibration;
    std::vector<MeasuredCall> calls;
    for (int layer = 0; layer < 12; ++layer)
        for (const char *strategy : {"implicit_gemm", "naive_global"}) {
            MeasuredCall &call = calls.emplace_back();
            call.shape = ConvShape::parse("n1c64h" + std::to_string(14 + 4 * layer) + "w28k64r3s3");
            auto planned = plan(parse_strategy(strategy), call.shape, profile);
            call.plan = call.uncounted = std::get<PlannedStrategy>(planned).feasible.plan;
            const double off = layer % 3 == 0 ? 1.0 : layer % 3 == 1 ? 1.05 : 0.95;
            call.time_s = 1.2 * off * *forecast_time(call.plan, call.shape, profile, base);
        }
    const Calibration fit = adapted(base, calls, profile);
    EXPECT_NEAR(*fit.scale, 1.2, 1e-9);
    EXPECT_EQ(fit.borrowed, "NVIDIA H200");
    EXPECT_EQ(fit.cases, 24);
    EXPECT_NEAR(fit.test->fitted, (1.0 - 1.0 / 1.05 + 1.0 / 0.95 - 1.0) / 3.0, 0.02);
    EXPECT_GT(fit.test->assumed, fit.test->fitted);
    for (const MeasuredCall &call : calls) {
        const auto forecast = forecast_call(call.plan, call.shape, profile, fit);
        EXPECT_GE(call.time_s.value, forecast->low_s.value * 0.97);
        EXPECT_LE(call.time_s.value, forecast->high_s.value * 1.03);
    }
    EXPECT_EQ(write_calibration(read_calibration(write_calibration(fit), "c.json")), write_calibration(fit));
    calls.resize(least_adapted_calls - 1);
    EXPECT_THAT([&] { adapted(base, calls, profile); }, ThrowsMessage<UsageError>(HasSubstr("--minutes")));
}

/// Facts that double the loads of one strategy, in the plan that its calls were timed by: who does not know
/// them is too fast on this strategy alone.
TEST(Fit, ANewKernelHasNoFactsOfItsOwn) {
    const GpuProfile profile = find_profile("h200");
    std::vector<MeasuredCall> calls = planted_calls(profile);
    for (MeasuredCall &call : calls)
        if (call.strategy == "block_register") {
            for (Partition &part : call.plan.launches)
                part.step.load_bytes *= 2.0, part.step.instructions *= 2.0;
            call.time_s = forecast_term(call.plan, call.shape, profile, {})->value_s;
        }
    const LeaveOneOut judged = leave_one_out(calls, profile, {});
    ASSERT_EQ(judged.calls.size(), 2u);
    for (const JudgedCall &its : judged.calls) {
        ASSERT_FALSE(its.call->training);
        EXPECT_EQ(its.call->index, its.call->strategy == "block_register" ? 6u : 1u);
        if (its.call->strategy == "block_register") {
            EXPECT_NEAR(its.probes_and_counters, 1.0, 1e-12) << "timed as forecast";
            EXPECT_LT(its.without_counters, 0.9);
            EXPECT_LT(its.new_kernel, 0.95 * its.left_out);
        } else {
            EXPECT_EQ(its.without_counters, its.probes_and_counters) << "without facts either way";
            EXPECT_EQ(its.new_kernel, its.left_out);
        }
    }
    const LeftOut &all = judged.strategies.back();
    EXPECT_NEAR(all.new_kernel, (judged.strategies[0].new_kernel + judged.strategies[1].new_kernel) / 2.0,
                1e-12);
    EXPECT_GT(all.without_counters, all.probes_and_counters);
}

TEST(Fit, SaysWhatIsMissing) {
    const GpuProfile profile = find_profile("h200");
    std::vector<MeasuredCall> calls = planted_calls(profile);
    for (MeasuredCall &call : calls)
        call.strategy = "one";
    EXPECT_THAT([&] { leave_one_out(calls, profile, {}); },
                ThrowsMessage<UsageError>(HasSubstr("two strategies")));
    for (MeasuredCall &call : calls)
        call.training = false;
    EXPECT_THAT([&] { fit_calibration(calls, profile); },
                ThrowsMessage<UsageError>(HasSubstr("training part")));
}

TEST(Studies, APapersKernelsAreStrategies) {
    EXPECT_EQ(find_study("chang_single").paper_kernels,
              (std::vector<std::string>{"filter_split", "map_split"}));
    EXPECT_TRUE(find_study("vgg16_b1").paper_kernels.empty());
    const auto with = [](const std::string &kernels) {
        return "{\"schema\":\"convcast/study/1\",\"id\":\"s\",\"title\":\"t\",\"citation\":\"c\",\"shapes\":["
               "\"n1c1h28w28k64r3s3\"],\"paper_kernels\":[" +
               kernels + "]}";
    };
    EXPECT_EQ(read_study(with("\"row_register\""), "s.json").paper_kernels.size(), 1u);
    EXPECT_THAT([&] { read_study(with("\"row_registers\""), "s.json"); },
                ThrowsMessage<InputError>(AllOf(HasSubstr("/paper_kernels/0"), HasSubstr("row_register"))));
    EXPECT_THAT([&] { read_study(with("\"row_register\",\"map_split\",\"winograd\""), "s.json"); },
                ThrowsMessage<InputError>(HasSubstr("/paper_kernels")));
}

TEST(Studies, SettingsAreStrategiesWithKnobs) {
    EXPECT_THAT(find_study("chang_multi").settings,
                testing::Contains("stride_fixed_block:segment_bytes=64,tile_w=128,tile_k=64"));
    EXPECT_TRUE(find_study("vgg16_b1").settings.empty());
    const auto with = [](const std::string &setting, const std::string &shape = "\"n1c1h28w28k64r3s3\"") {
        return "{\"schema\":\"convcast/study/1\",\"id\":\"s\",\"title\":\"t\",\"citation\":\"c\","
               "\"shapes\":[" +
               shape + "],\"settings\":[" + setting + "]}";
    };
    EXPECT_EQ(read_study(with("\"map_split:pieces=2\""), "s.json").settings.size(), 1u);
    const auto refused = [&](const std::string &text, const char *what) {
        EXPECT_THAT([&] { read_study(text, "s.json"); },
                    ThrowsMessage<InputError>(AllOf(HasSubstr("s.json:1: /settings"), HasSubstr(what))))
            << text;
    };
    refused(with("\"map_splt:pieces=2\""), "/0");
    refused(with("\"map_split:pices=2\""), "pieces");
    refused(with("\"map_split:pieces=2\",\"map_split\""), "/1: expected a strategy with a knob");
    refused(with("\"cudnn\""), "/0");
    refused(with("\"map_split:pieces=2\"", ""), "expected shapes");
}

TEST(Studies, SweepsAreChecked) {
    const Study study = find_study("boundaries");
    EXPECT_GE(study.sweeps.size(), 5u);
    const auto with = [](const std::string &sweep) {
        return "{\"schema\":\"convcast/study/"
               "1\",\"id\":\"s\",\"title\":\"t\",\"citation\":\"c\",\"shapes\":[],"
               "\"sweeps\":[" +
               sweep + "]}";
    };
    const auto sweep = [](const std::string &id, const std::string &swept, const std::string &shape,
                          const std::string &strategy) {
        return "{\"id\":\"" + id + "\",\"swept\":\"" + swept + "\",\"title\":\"t\",\"shapes\":[\"" + shape +
               "\"],\"strategies\":[\"" + strategy + "\"]}";
    };
    const std::string shape = "n1c1h28w28k64r3s3";
    EXPECT_EQ(read_study(with(sweep("q", "pieces", shape, "map_split:pieces=2")), "s.json").sweeps.size(),
              1u);
    const auto refused = [&](const std::string &text, const char *what) {
        EXPECT_THAT([&] { read_study(with(text), "s.json"); }, ThrowsMessage<InputError>(HasSubstr(what)))
            << text;
    };
    refused(sweep("q", "pices", shape, "map_split:pieces=2"), "/sweeps/0/swept");
    refused(sweep("q", "pieces", "n1c1", "map_split:pieces=2"), "/sweeps/0/shapes/0");
    refused(sweep("q", "pieces", shape, "map_splt"), "/sweeps/0/strategies/0");
    refused(sweep("../q", "pieces", shape, "map_split"), "/sweeps/0/id");
    refused("", "at least one shape");
}

} // namespace
