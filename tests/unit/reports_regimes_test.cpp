// Regimes against the counters, and the sweeps across their boundaries.
#include "reports/regimes.hpp"
#include "reports/report_figures.hpp"

#include <fmt/format.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

using namespace convcast;

namespace {

Case judged(const std::string &strategy, Regime measured, Regime said) {
    Case item;
    item.shape = "n1c1h28w28k64r3s3";
    item.strategy = strategy;
    item.status = Status::ok;
    Measurement cold;
    cold.time_s = Seconds(1e-6);
    cold.regime = measured;
    cold.counters = {{"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", 3.0},
                     {"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", 1.0},
                     {"smsp__average_warps_issue_stalled_selected_per_issue_active.ratio", 1.0},
                     {"smsp__inst_executed.sum", 1000.0}};
    item.measurements = {cold};
    item.prediction.emplace();
    item.prediction->regimes.emplace();
    item.prediction->regimes->tier2 = said;
    return item;
}

/// 40 compute: 30 said so; 10 exposed: 5 said so, else bulk.
convcast::Run known() {
    convcast::Run run;
    const auto add = [&](int n, Regime measured, Regime said) {
        for (int i = 0; i < n; ++i)
            run.cases.push_back(judged(i % 2 ? "a:x=1" : "b:x=1", measured, said));
    };
    add(30, Regime::compute_hidden, Regime::compute_hidden);
    add(10, Regime::compute_hidden, Regime::exposed);
    add(6, Regime::exposed, Regime::exposed);
    add(4, Regime::exposed, Regime::bulk_hidden);
    return run;
}

TEST(Regimes, AgreementOfKnownNumbers) {
    const RegimeTables tables = regimes_of(known());
    // Strategies have 25 cases each: too few for a row. The others' opinions are absent.
    ASSERT_EQ(tables.opinions.size(), 1u);
    const RegimeStatistics &r = tables.opinions.front();
    EXPECT_EQ(r.opinion, "forecast");
    EXPECT_EQ(r.group, "all");
    EXPECT_EQ(r.n, 50);
    EXPECT_EQ(r.agree, 36);
    // A constant guess does better than this opinion, and the row says so.
    EXPECT_EQ(r.commonest, Regime::compute_hidden);
    EXPECT_EQ(r.commonest_n, 40);
    EXPECT_EQ(worth_of(r), "kappa 0.386; always saying compute_hidden agrees on 40");
    EXPECT_EQ(over_all(tables, "forecast"), &r);
    EXPECT_EQ(over_all(tables, "paper"), nullptr);
    EXPECT_NEAR(*r.balanced, (30.0 / 40.0 + 6.0 / 10.0) / 2.0, 1e-12);
    const double chance = 40.0 / 50.0 * 30.0 / 50.0 + 10.0 / 50.0 * 16.0 / 50.0;
    EXPECT_NEAR(*r.kappa, (36.0 / 50.0 - chance) / (1.0 - chance), 1e-12);
    ASSERT_EQ(r.counts.size(), 9u);
    std::int64_t sum = 0;
    for (const RegimeCount &count : r.counts) {
        sum += count.n;
        if (count.measured == Regime::exposed && count.forecast == Regime::bulk_hidden) {
            EXPECT_EQ(count.n, 4);
        }
    }
    EXPECT_EQ(sum, 50);
}

TEST(Regimes, AStrategyWithEnoughCasesHasARow) {
    convcast::Run run = known();
    const convcast::Run again = known();
    run.cases.insert(run.cases.end(), again.cases.begin(), again.cases.end());
    std::vector<std::string> groups;
    for (const RegimeStatistics &r : regimes_of(run).opinions)
        groups.push_back(r.group);
    EXPECT_EQ(groups, (std::vector<std::string>{"all", "b", "a"}));
}

TEST(Regimes, ChanceThatLeavesNothingHasNoKappa) {
    convcast::Run run;
    run.cases = {judged("a", Regime::exposed, Regime::exposed)};
    const RegimeTables tables = regimes_of(run);
    EXPECT_FALSE(tables.opinions.front().kappa);
    EXPECT_EQ(*tables.opinions.front().balanced, 1.0);
}

TEST(Regimes, StallsAreSharesOfWhatWaits) {
    const RegimeTables tables = regimes_of(known());
    ASSERT_EQ(tables.stalls.size(), 4u); // two reasons of two regimes; "selected" is no stall
    EXPECT_EQ(tables.stalls[0].measured, Regime::compute_hidden);
    EXPECT_EQ(tables.stalls[0].reason, "long_scoreboard");
    EXPECT_NEAR(tables.stalls[0].share, 0.75, 1e-12);
    EXPECT_EQ(tables.stalls[0].n, 40);
    EXPECT_EQ(tables.stalls[3].reason, "barrier");
}

TEST(Regimes, WhatWasNotCountedIsNotJudged) {
    convcast::Run run = known();
    for (Case &item : run.cases)
        item.measurements.front().regime.reset();
    EXPECT_TRUE(regimes_of(run).opinions.empty());
}

TEST(Sweep, TheBoundariesAreWhereTheRuleSaysSo) {
    StudySweep sweep{"q", "pieces", "Q", {"n1c1h28w28k64r3s3"}, {"map_split:pieces=1", "map_split:pieces=4"}};
    ReportStatistics statistics;
    const auto add = [&](const std::string &name, double n_fma, double v_s) {
        CaseRow row;
        row.id = std::ssize(statistics.cases);
        row.shape = sweep.shapes.front();
        row.name = name;
        row.group = "map_split";
        row.status = Status::ok;
        row.cold_s = Seconds(1e-6);
        row.measured = Regime::exposed;
        row.predicted_s = Seconds(2e-6);
        row.round_over_n_fma = n_fma;
        row.round_over_v_s = v_s;
        statistics.cases.push_back(row);
    };
    add("map_split:pieces=4", 0.5, 0.5); // the order in the run does not matter
    add("map_split:pieces=1", 2.0, 0.7);
    add("map_split:pieces=2", 9.0, 9.0); // not of the sweep
    const Figure figure = boundary_sweep(statistics, sweep);
    ASSERT_EQ(figure.references.size(), 1u) << "N_FMA is crossed, V_s is not";
    EXPECT_NEAR(figure.references[0].value, 2.0, 1e-12); // halfway between 1 and 4, logarithmically
    EXPECT_TRUE(figure.references[0].label.starts_with("N_FMA")) << figure.references[0].label;
    ASSERT_EQ(figure.series.size(), 2u);
    EXPECT_EQ(figure.series[0].name, "measured, exposed");
    ASSERT_EQ(figure.series[0].points.size(), 2u);
    EXPECT_EQ(figure.series[0].points[0].x, 1.0);
    EXPECT_NEAR(figure.series[0].points[0].y, 1e6 / (26.0 * 26.0 * 64.0 * 9.0), 1e-9);
    EXPECT_NEAR(figure.series[1].points[1].y, 2.0 * figure.series[0].points[1].y, 1e-9);
}

/// A run's rows of one division on a grid of maps and filters, each measured; the larger of two at one point
/// is slower and must not be drawn.
ReportStatistics grid_of_maps() {
    ReportStatistics statistics;
    statistics.paper = PaperBounds{66'048, 86'016, 28};
    for (const int size : {28, 56, 112})
        for (const int filters : {32, 64}) {
            CaseRow row;
            row.id = static_cast<std::int64_t>(statistics.cases.size());
            row.shape = fmt::format("n1c1h{0}w{0}k{1}r3s3", size, filters);
            row.group = "map_split";
            row.name = "map_split:pieces=1";
            row.paper = row.physical = Regime::compute_hidden;
            row.tier2 = size < 100 ? Regime::exposed : Regime::compute_hidden;
            row.measured = Regime::bulk_hidden;
            row.cold_s = Seconds(5e-6);
            statistics.cases.push_back(row);
            row.id += 1;
            row.cold_s = Seconds(6e-6), row.measured = Regime::exposed;
            statistics.cases.push_back(row);
        }
    return statistics;
}

TEST(RegimeMap, HasTheOpinionsAndTheLinesOfTheRule) {
    const std::vector<Figure> maps = regime_maps(grid_of_maps());
    ASSERT_EQ(maps.size(), 1u);
    const Figure &map = maps.front();
    EXPECT_EQ(map.id, "regime_map_map_split_3x3");
    ASSERT_EQ(map.panels.size(), 4u);
    EXPECT_EQ(map.panels[2].title, "forecast");
    ASSERT_EQ(map.panels[2].series.size(), 2u);
    EXPECT_EQ(map.panels[2].series[0].name, "compute bound");
    EXPECT_EQ(map.panels[2].series[0].points.size(), 2u);
    EXPECT_EQ(map.panels[2].series[1].points.size(), 4u);
    ASSERT_EQ(map.panels[3].series.size(), 1u) << "of two settings the faster counts";
    EXPECT_EQ(map.panels[3].series[0].name, "memory bound");
    EXPECT_EQ(map.panels[3].series[0].points.size(), 6u);
}

/// By hand, 28 SMs of a GTX 1080 Ti and filters of 3 x 3: a map of 56 gives each SM 2 rows, so that N_FMA
/// needs 66,048 / (9 * 2 * 56) = 65.5, hence 66 filters.
TEST(RegimeMap, TheLinesAreThePapersByHand) {
    const std::vector<Figure> maps = regime_maps(grid_of_maps());
    ASSERT_EQ(maps.size(), 1u);
    ASSERT_FALSE(maps.front().series.empty());
    const Series &line = maps.front().series.front();
    EXPECT_EQ(line.name, "N_FMA in one piece");
    const auto at =
        std::find_if(line.points.begin(), line.points.end(), [](const Point &p) { return p.x == 56.0; });
    ASSERT_NE(at, line.points.end());
    EXPECT_EQ(at->y, 66.0);
}

TEST(RegimeMap, NeedsTheRulesAndEnoughPoints) {
    ReportStatistics statistics = grid_of_maps();
    statistics.paper.reset();
    EXPECT_TRUE(regime_maps(statistics).empty());
    statistics = grid_of_maps();
    statistics.cases.resize(4);
    EXPECT_TRUE(regime_maps(statistics).empty());
}

TEST(Regimes, ThePlaneShowsBothRulesNumbersAndTheCounters) {
    ReportStatistics statistics;
    EXPECT_FALSE(regime_plane(statistics));
    CaseRow row;
    row.group = "map_split";
    row.measured = Regime::bulk_hidden;
    row.round_over_n_fma = 0.5, row.round_over_v_s = 3.0;
    row.over_latency = {0.25, 2.0};
    CaseRow no_counters = row, no_round = row;
    no_counters.measured.reset();
    no_round.measured = Regime::exposed, no_round.round_over_v_s.reset();
    statistics.cases = {row, no_counters, no_round};
    const std::optional<Figure> figure = regime_plane(statistics);
    ASSERT_TRUE(figure);
    ASSERT_EQ(figure->panels.size(), 2u);
    ASSERT_EQ(figure->panels[0].series.size(), 1u); // of the paper's round: one case has it and counters
    EXPECT_DOUBLE_EQ(figure->panels[0].series[0].points.at(0).x, 3.0);
    EXPECT_DOUBLE_EQ(figure->panels[0].series[0].points.at(0).y, 0.5);
    ASSERT_EQ(figure->panels[1].series.size(), 2u);
    EXPECT_DOUBLE_EQ(figure->panels[1].series[0].points.at(0).x, 2.0);
    EXPECT_DOUBLE_EQ(figure->panels[1].series[0].points.at(0).y, 0.25);
    EXPECT_EQ(figure->references.size(), 2u);
}

} // namespace
