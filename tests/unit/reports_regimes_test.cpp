// Regimes against the counters, and the sweeps across their boundaries.
#include "reports/regime_figures.hpp"
#include "reports/regimes.hpp"

#include <gtest/gtest.h>

#include <cmath>
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
    EXPECT_EQ(r.opinion, "tier2");
    EXPECT_EQ(r.group, "all");
    EXPECT_EQ(r.n, 50);
    EXPECT_EQ(r.agree, 36);
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

} // namespace
