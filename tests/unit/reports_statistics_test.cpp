#include "reports/statistics.hpp"

#include "model/shape/training_part.hpp"
#include "tests/unit/sample_report.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

using sample::studies;

/// A shape of the test part, whose times nothing was fitted to.
std::string test_shape() {
    std::string shape;
    for (int k = 4; shape.empty() || in_training_part(shape); ++k)
        shape = "n1c1h9w9k" + std::to_string(k) + "r3s3";
    return shape;
}

Case timed(const std::string &shape, const std::string &name, double cold,
           std::optional<double> predicted = {}) {
    Case c;
    c.shape = shape;
    (name.starts_with("cu") || name == "im2col_cublas" ? c.baseline : c.strategy) = name;
    c.status = Status::ok;
    Measurement m;
    m.time_s = Seconds(cold);
    c.measurements.push_back(m);
    if (predicted) {
        c.prediction.emplace();
        c.prediction->time_s = Seconds(*predicted);
    }
    return c;
}

ReportStatistics summary_of(std::vector<Case> cases) {
    convcast::Run run;
    run.cases = std::move(cases);
    return summarize(run, {});
}

const ErrorStatistics &errors(const ReportStatistics &statistics, const std::string &group) {
    for (const ErrorStatistics &e : statistics.errors)
        if (e.group == group)
            return e;
    throw std::runtime_error("no group " + group);
}

TEST(Percentile, IsTheNearestRank) {
    const std::vector<double> ten = {10, 9, 8, 7, 6, 5, 4, 3, 2, 1};
    EXPECT_EQ(percentile(ten, 0.9), 9.0);
    EXPECT_EQ(percentile(ten, 0.91), 10.0);
    EXPECT_EQ(percentile(ten, 0.05), 1.0);
    EXPECT_EQ(percentile({7.0}, 0.5), 7.0);
}

TEST(Summarize, ErrorsOfKnownNumbers) {
    const ReportStatistics statistics =
        summary_of({timed("a", "x:k=1", 1.0, 2.0), timed("b", "x:k=1", 2.0, 1.0),
                    timed("c", "x:k=1", 1.0, 1.05), timed("d", "x:k=1", 1.0)});
    const ErrorStatistics &x = errors(statistics, "x");
    EXPECT_EQ(x.n, 3);
    EXPECT_EQ(x.no_forecast, 1);
    EXPECT_NEAR(*x.bias, std::cbrt(1.05), 1e-12);
    EXPECT_NEAR(*x.median, 0.5, 1e-12);
    EXPECT_NEAR(*x.mean, (1.0 + 0.5 + 0.05) / 3.0, 1e-12);
    EXPECT_NEAR(*x.p90, 1.0, 1e-12);
    EXPECT_NEAR(*x.symmetric, (1.0 + 1.0 + 0.05) / 3.0, 1e-12) << "half and twice the time are as wrong";
    EXPECT_NEAR(*x.max, 1.0, 1e-12);
    EXPECT_EQ(x.worst_case, 0);
    EXPECT_NEAR(*x.within_10_percent, 1.0 / 3.0, 1e-12);
    EXPECT_EQ(errors(statistics, "all").n, 3);
}

/// A forecast of 2 s and 10 flop/s, a tenth of the peak, is 10 FMAs. Measured they take 4 s, and 5 bytes of
/// L2, 2 of DRAM.
TEST(Summarize, RatesOfForecastAndMeasurement) {
    convcast::Run run;
    run.cases = {timed("a", "x", 4.0, 2.0), timed("b", "x", 4.0, 2.0)};
    run.cases[0].prediction->rates = Rates{{}, {}, 10.0, 0.1};
    run.cases[0].measurements[0].work.emplace();
    run.cases[0].measurements[0].work->l2_read_bytes = 4.0;
    run.cases[0].measurements[0].work->l2_write_bytes = 1.0;
    run.cases[0].measurements[0].work->dram_read_bytes = 2.0;
    const ReportStatistics statistics = summarize(run, {});
    const CaseRow &row = statistics.cases[0];
    EXPECT_EQ(row.rates->flop_per_s, 10.0);
    ASSERT_TRUE(row.measured_rates);
    EXPECT_DOUBLE_EQ(*row.measured_rates->flop_per_s, 5.0);
    EXPECT_DOUBLE_EQ(*row.measured_rates->peak_share, 0.05);
    EXPECT_DOUBLE_EQ(*row.measured_rates->fmas_per_l2_byte, 2.0);
    EXPECT_DOUBLE_EQ(*row.measured_rates->fmas_per_dram_byte, 5.0);
    EXPECT_FALSE(statistics.cases[1].measured_rates) << "a forecast without rates";
}

TEST(Summarize, SpeedupTakesTheFastestOfBothSides) {
    const ReportStatistics statistics =
        summary_of({timed("a", "x:k=1", 2.0, 1.0), timed("a", "x:k=2", 1.0, 1.5),
                    timed("a", "cudnn:winograd", 0.5), timed("a", "cudnn:gemm", 3.0),
                    timed("b", "x:k=1", 1.0), timed("b", "cudnn:fft", 4.0), timed("a", "cublas:sgemm", 0.1)});
    ASSERT_EQ(statistics.shapes.size(), 2u);
    const ShapeRow &a = statistics.shapes[0];
    EXPECT_EQ(a.ours, 1);
    EXPECT_EQ(a.cudnn, 2);
    EXPECT_EQ(a.cudnn_direct, 3);
    EXPECT_DOUBLE_EQ(*a.speedup, 0.5);
    EXPECT_DOUBLE_EQ(*a.speedup_direct, 3.0);
    EXPECT_EQ(a.picked, 0);
    EXPECT_DOUBLE_EQ(*a.regret, 2.0);
    EXPECT_FALSE(statistics.shapes[1].cudnn_direct);
    ASSERT_EQ(statistics.speedups.size(), 4u);
    EXPECT_EQ(statistics.speedups[0].n, 2);
    EXPECT_EQ(statistics.speedups[0].wins, 1);
    EXPECT_NEAR(*statistics.speedups[0].geomean, std::sqrt(2.0), 1e-12);
    EXPECT_EQ(statistics.speedups[3].without, 1);
}

TEST(Summarize, EveryKindOfCudnnHasItsBest) {
    convcast::Run run;
    run.cases = {timed("a", "x", 1.0),
                 timed("a", "cudnn:gemm", 6.0),
                 timed("a", "cudnn:winograd", 5.0),
                 timed("a", "cudnn:graph", 2.0),
                 timed("a", "cudnn:graph_deterministic", 3.0),
                 timed("a", "cudnn:graph_direct", 4.0),
                 timed("a", "cudnn:tf32", 0.5),
                 timed("a", "im2col_cublas", 0.25),
                 timed("a", "cudnn:graph_nhwc", 0.125)};
    run.cases[3].detail = "engine 7";
    const ReportStatistics statistics = summarize(run, {});
    const ShapeRow &a = statistics.shapes.at(0);
    EXPECT_EQ(a.cudnn, 3);
    EXPECT_EQ(a.cudnn_deterministic, 4);
    EXPECT_EQ(a.cudnn_direct, 5);
    EXPECT_EQ(a.cudnn_tf32, 6);
    EXPECT_DOUBLE_EQ(*a.speedup, 2.0);
    EXPECT_DOUBLE_EQ(*a.speedup_deterministic, 3.0);
    EXPECT_DOUBLE_EQ(*a.speedup_direct, 4.0);
    EXPECT_EQ(a.cudnn_any_layout, 8) << "the plan on NHWC, which NCHW alone does not have";
    EXPECT_DOUBLE_EQ(*a.speedup_any_layout, 0.125);
    EXPECT_DOUBLE_EQ(*statistics.cases[3].speedup, 1.0);
    EXPECT_FALSE(statistics.cases[6].speedup) << "other arithmetic is not compared";
    EXPECT_EQ(statistics.cases[3].detail, "engine 7");
}

TEST(Summarize, OursOnTensorCoresAreAColumnOfTheirOwn) {
    const ReportStatistics statistics =
        summary_of({timed("a", "implicit_gemm:tile_k=64", 1.0, 1.0),
                    timed("a", "implicit_gemm_3xtf32:tile_k=64", 0.5, 0.25),
                    timed("a", "implicit_gemm_3xtf32:tile_k=128", 0.25, 0.5), timed("a", "cudnn:graph", 2.0),
                    timed("b", "implicit_gemm_3xtf32:tile_k=64", 1.0)});
    const ShapeRow &a = statistics.shapes.at(0);
    EXPECT_EQ(a.ours, 0);
    EXPECT_EQ(a.ours_tensor_cores, 2);
    EXPECT_DOUBLE_EQ(*a.speedup, 2.0);
    EXPECT_DOUBLE_EQ(*a.speedup_tensor_cores, 4.0);
    EXPECT_FALSE(a.regret) << "one setting by FFMAs";
    EXPECT_FALSE(statistics.cases[2].speedup) << "other arithmetic is not compared with cuDNN's FP32";
    EXPECT_FALSE(statistics.shapes.at(1).ours);
    EXPECT_FALSE(statistics.shapes.at(1).speedup_tensor_cores);
    ASSERT_EQ(statistics.speedups.size(), 5U);
    EXPECT_EQ(statistics.speedups[4].ours, "ours on tensor cores");
    EXPECT_EQ(statistics.speedups[4].against, "ours without tensor cores");
    EXPECT_EQ(statistics.speedups[4].n, 1);
    EXPECT_EQ(statistics.speedups[4].without, 1);
    EXPECT_DOUBLE_EQ(*statistics.speedups[4].geomean, 4.0);
}

/// A paper's gains are of its own kernel, so that kernel's speed-up stands by itself; of two it is the one
/// that the paper's rule takes for the shape.
TEST(Summarize, ThePapersOwnKernelStandsApart) {
    Study study;
    study.id = "paper";
    study.shapes = {"a", "b"};
    study.paper_kernels = {"filter_split", "map_split"};
    convcast::Run run;
    run.cases = {timed("a", "patch_register", 1.0),
                 timed("a", "filter_split:pieces=1", 8.0, 1.0),
                 timed("a", "map_split:pieces=1", 2.0, 1.0),
                 timed("a", "map_split:pieces=2", 4.0, 1.0),
                 timed("a", "cudnn:gemm", 6.0),
                 timed("b", "patch_register", 1.0),
                 timed("b", "filter_split:pieces=1", 3.0, 1.0),
                 timed("b", "cudnn:gemm", 2.0)};
    for (Case &c : run.cases)
        if (c.prediction)
            c.prediction->rules.emplace().method = c.shape == "a" ? 2 : 1;
    const ReportStatistics statistics = summarize(run, std::span(&study, 1));
    EXPECT_EQ(statistics.shapes.at(0).papers, 2);
    EXPECT_DOUBLE_EQ(*statistics.shapes.at(0).speedup_papers, 3.0);
    EXPECT_EQ(statistics.shapes.at(1).papers, 6);
    const SpeedupStatistics &papers = statistics.speedups.back();
    EXPECT_EQ(papers.ours, "filter_split/map_split, as run");
    EXPECT_EQ(papers.against, "cudnn");
    EXPECT_EQ(papers.n, 2);
    EXPECT_EQ(papers.wins, 1);
    EXPECT_NEAR(*papers.geomean, std::sqrt(2.0), 1e-12);
    EXPECT_DOUBLE_EQ(*statistics.speedups.front().geomean, std::sqrt(12.0)) << "ours is the fastest of all";
    study.paper_kernels = {"map_split"};
    EXPECT_EQ(summarize(run, std::span(&study, 1)).speedups.back().n, 1) << "alone it needs no rule";
}

/// Two settings that a model forecasts alike: it does not pick the one that turned out faster.
TEST(Accuracy, WhatWasMeasuredHasNoSayInAChoice) {
    const std::string shape = test_shape();
    convcast::Run run;
    run.cases = {timed(shape, "x:k=2", 1.0, 1.0), timed(shape, "x:k=1", 3.0, 1.0)};
    for (Case &c : run.cases)
        c.prediction->times.roofline_s = Seconds(1.0);
    const Accuracy accuracy = accuracy_of(run);
    ASSERT_EQ(accuracy.rankings.size(), 1u);
    EXPECT_DOUBLE_EQ(accuracy.rankings[0].mean_regret, 2.0);
    EXPECT_DOUBLE_EQ(accuracy.rankings[0].max_regret, 2.0);
    EXPECT_EQ(accuracy.rankings[0].hits, 0);
    EXPECT_EQ(accuracy.of_forecast(), nullptr) << "a roofline is not the run's forecast";
    ASSERT_EQ(accuracy.times.size(), 1u);
    EXPECT_DOUBLE_EQ(accuracy.times[0].mean, (0.0 + 2.0 / 3.0) / 2.0);
    EXPECT_DOUBLE_EQ(accuracy.times[0].symmetric, (0.0 + 2.0) / 2.0);
}

/// Forecasts that know less of a kernel are rows of their own, where a call was judged.
TEST(Accuracy, JudgedCallsAreRows) {
    const std::string shape = test_shape();
    convcast::Run run;
    run.cases = {timed(shape, "x:k=1", 1.0, 1.0), timed(shape, "y:k=1", 1.0, 1.0)};
    MeasuredCall call;
    call.index = 1;
    JudgedCall judged;
    judged.call = &call;
    judged.without_counters = 2.0;
    judged.new_kernel = 0.5;
    const Accuracy accuracy = accuracy_of(run, std::span(&judged, 1));
    ASSERT_EQ(accuracy.times.size(), 2u);
    EXPECT_EQ(accuracy.times[0].model, "without counters");
    EXPECT_EQ(accuracy.times[0].n, 1);
    EXPECT_DOUBLE_EQ(accuracy.times[0].bias, 2.0);
    EXPECT_EQ(accuracy.times[1].model, "new kernel");
    EXPECT_DOUBLE_EQ(accuracy.times[1].mean, 0.5);
    EXPECT_DOUBLE_EQ(accuracy.times[1].symmetric, 1.0);
}

TEST(Summarize, TheFastestPlanOfAllMayBeOfAnyKind) {
    const ShapeRow a =
        summary_of({timed("a", "x", 1.0), timed("a", "cudnn:graph", 2.0), timed("a", "cudnn:tf32", 0.5)})
            .shapes.at(0);
    EXPECT_EQ(a.cudnn, 1);
    EXPECT_FALSE(a.cudnn_deterministic);
    EXPECT_FALSE(a.cudnn_direct);
}

TEST(Summarize, TheFastestPlanOfAllIsWhatItsNotesSay) {
    struct {
        const char *detail;
        bool deterministic, direct;
    } const plans[] = {{"engine 7, knobs 2=12; notes none; workspace 0 bytes", true, true},
                       {"engine 7; notes WINOGRAD, WINOGRAD_TILE_4x4; workspace 0 bytes", true, false},
                       {"engine 7; notes FFT; workspace 0 bytes", true, false},
                       {"engine 7; notes NONDETERMINISTIC", false, true},
                       {"engine 7", false, false}};
    for (const auto &plan : plans) {
        convcast::Run run;
        run.cases = {timed("a", "x", 1.0), timed("a", "cudnn:graph", 2.0)};
        run.cases[1].detail = plan.detail;
        const ShapeRow a = summarize(run, {}).shapes.at(0);
        EXPECT_EQ(a.cudnn_deterministic.has_value(), plan.deterministic) << plan.detail;
        EXPECT_EQ(a.cudnn_direct.has_value(), plan.direct) << plan.detail;
    }
}

TEST(Summarize, ANetworkIsTheSumOfItsLayers) {
    Study network;
    network.id = "net";
    network.shapes = {"a", "b"};
    network.counts = {3, 2};
    convcast::Run run;
    run.cases = {timed("a", "x", 1.0), timed("a", "cudnn:gemm", 2.0), timed("b", "x", 10.0),
                 timed("b", "cudnn:graph", 20.0)};
    const ReportStatistics whole = summarize(run, std::span(&network, 1));
    ASSERT_EQ(whole.networks.size(), 1u);
    const NetworkStatistics &n = whole.networks[0];
    EXPECT_EQ(n.layers, 5);
    EXPECT_EQ(n.shapes, 2);
    EXPECT_EQ(n.without, 0);
    EXPECT_DOUBLE_EQ(n.ours_s->value, 3 * 1.0 + 2 * 10.0);
    EXPECT_DOUBLE_EQ(n.cudnn_s->value, 3 * 2.0 + 2 * 20.0);
    EXPECT_DOUBLE_EQ(*n.speedup, 2.0);
    EXPECT_FALSE(n.cudnn_direct_s) << "a layer without such a time";
    run.cases.erase(run.cases.begin() + 2);
    const NetworkStatistics part = summarize(run, std::span(&network, 1)).networks.at(0);
    EXPECT_EQ(part.without, 1);
    EXPECT_FALSE(part.ours_s);
    EXPECT_FALSE(part.speedup);
    EXPECT_TRUE(summarize(run, studies()).networks.empty());
}

TEST(Summarize, AShapeThatAStudyListsTwiceIsOne) {
    Study study;
    study.id = "twice";
    study.shapes = {"a", "a", "b"};
    convcast::Run run;
    run.cases = {timed("a", "x", 1.0), timed("a", "y", 2.0), timed("b", "x", 10.0)};
    for (Case &item : run.cases)
        item.study = "twice";
    const ReportStatistics statistics = summarize(run, std::span(&study, 1));
    ASSERT_EQ(statistics.shapes.size(), 2u);
    for (const ShapeRow &shape : statistics.shapes)
        EXPECT_TRUE(shape.ours) << shape.shape;
}

TEST(Summarize, AWrongResultHasNoTime) {
    convcast::Run run;
    run.cases = {timed("a", "x", 1.0, 1.0), timed("a", "cudnn:gemm", 2.0)};
    run.cases[0].status = Status::wrong_result;
    run.cases[0].reason = "off";
    const ReportStatistics statistics = summarize(run, {});
    EXPECT_FALSE(statistics.cases[0].cold_s);
    EXPECT_EQ(errors(statistics, "all").n, 0);
    EXPECT_FALSE(errors(statistics, "all").median);
    EXPECT_FALSE(statistics.shapes[0].speedup);
}

TEST(Summarize, WorkComparesOnlyWhatBothSidesHave) {
    convcast::Run run;
    run.cases = {timed("a", "x", 1.0, 1.0), timed("b", "x", 1.0, 1.0), timed("c", "x", 1.0, 1.0)};
    for (Case &c : run.cases) {
        c.prediction->work.emplace().l2_read_bytes = 100.0;
        c.measurements[0].work.emplace();
    }
    run.cases[0].measurements[0].work->l2_read_bytes = 50.0;
    run.cases[1].measurements[0].work->l2_read_bytes = 0.0;
    const ReportStatistics statistics = summarize(run, {});
    ASSERT_EQ(statistics.work_errors.size(), 1u);
    EXPECT_EQ(statistics.work_errors[0].n, 1);
    EXPECT_EQ(statistics.work_errors[0].zero, 1);
    EXPECT_DOUBLE_EQ(*statistics.work_errors[0].ratio_geomean, 2.0);
    EXPECT_EQ(statistics.work_errors[0].worst_case, 0);
}

/// A forecast without repeats has one number, which both counters are held against.
TEST(Summarize, WavefrontsAreComparedByCounterAndByAddress) {
    convcast::Run run;
    const std::string shape = test_shape();
    run.cases = {timed(shape, "x", 1.0, 1.0), timed(shape, "y", 1.0, 1.0)};
    for (Case &c : run.cases) {
        c.prediction->work.emplace().shared_wavefronts = 110.0;
        c.measurements[0].work.emplace().shared_wavefronts = 110.0;
        c.measurements[0].work->shared_wavefronts_by_address = 100.0;
    }
    run.cases[1].prediction->work->shared_wavefronts_by_address = 100.0;
    const ReportStatistics statistics = summarize(run, {});
    ASSERT_EQ(statistics.accuracy.work.size(), 2U);
    EXPECT_EQ(statistics.accuracy.work[0].quantity, "shared wavefronts");
    EXPECT_EQ(statistics.accuracy.work[0].within_1_percent, 1.0);
    EXPECT_EQ(statistics.accuracy.work[1].quantity, "shared wavefronts, by addresses");
    EXPECT_EQ(statistics.accuracy.work[1].n, 2);
    EXPECT_NEAR(statistics.accuracy.work[1].mean, 0.05, 1e-12);
    EXPECT_EQ(statistics.accuracy.work[1].within_1_percent, 0.5);
    std::map<std::string, double> ratio_of_x;
    for (const WorkStatistics &w : statistics.work_errors)
        if (w.group == "x")
            ratio_of_x[w.quantity] = *w.ratio_geomean;
    EXPECT_NEAR(ratio_of_x.at("shared_wavefronts_by_address"), 1.1, 1e-12);
}

TEST(Summarize, DropsNoCase) {
    const convcast::Run run = sample::run(studies());
    const ReportStatistics statistics = summarize(run, studies());
    EXPECT_EQ(statistics.cases.size(), run.cases.size());
    const auto total =
        std::accumulate(statistics.statuses.begin(), statistics.statuses.end(), std::int64_t{0},
                        [](std::int64_t n, const StatusCount &s) { return n + s.n; });
    EXPECT_EQ(total, std::ssize(run.cases));
    std::int64_t measured = 0;
    for (const CaseRow &row : statistics.cases)
        measured += !row.baseline && row.cold_s ? 1 : 0;
    EXPECT_EQ(errors(statistics, "all").n + errors(statistics, "all").no_forecast, measured);
    EXPECT_EQ(statistics.shapes.size(), 51u);
}

TEST(Summarize, AWaterfallAddsUpToTheForecast) {
    for (const CaseRow &row : summarize(sample::run(studies()), studies()).cases) {
        if (row.waterfall.empty())
            continue;
        double sum = 0.0;
        for (const WaterfallBar &bar : row.waterfall)
            sum += bar.added_s.value;
        EXPECT_NEAR(sum, row.predicted_s->value, 1e-12);
    }
}

TEST(Summarize, AnEmptyRunHasEmptyStatistics) {
    const ReportStatistics statistics = summarize(convcast::Run{}, {});
    EXPECT_EQ(errors(statistics, "all").n, 0);
    EXPECT_TRUE(statistics.shapes.empty());
    EXPECT_TRUE(statistics.speedups.empty());
}

} // namespace
} // namespace convcast
