#include "model/machine/facts.hpp"
#include "model/predict.hpp"
#include "model/time/simulation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

using namespace convcast;

namespace {

Plan plan_for(const std::string &strategy, const char *shape, const GpuProfile &profile) {
    auto planned = plan(parse_strategy(strategy), ConvShape::parse(shape), profile);
    EXPECT_TRUE(std::holds_alternative<PlannedStrategy>(planned)) << strategy << " " << shape;
    return std::get<PlannedStrategy>(planned).feasible.plan;
}

constexpr const char *shapes[] = {"n1c1h512w512k64r3s3", "n1c16h40w42k100r3s3", "n4c128h56w56k128r3s3",
                                  "n49c1h40w40k51r7s7"};

template <class Visit> void for_plans(const GpuProfile &profile, const Visit &visit) {
    int visited = 0;
    for (const std::string &name : strategy_names())
        for (const char *text : shapes) {
            const ConvShape shape = ConvShape::parse(text);
            auto planned = plan(parse_strategy(name), shape, profile);
            if (!std::holds_alternative<PlannedStrategy>(planned))
                continue;
            SCOPED_TRACE(name + " " + text);
            visit(std::get<PlannedStrategy>(planned).feasible.plan, shape);
            ++visited;
        }
    EXPECT_GT(visited, 25);
}

TEST(Simulation, EveryCtaRunsOnceAndNoSmHoldsMoreThanFit) {
    const GpuProfile profile = find_profile("h200");
    for_plans(profile, [&](const Plan &plan, const ConvShape &shape) {
        const auto simulation = simulate(plan, shape, profile, {});
        ASSERT_TRUE(simulation);
        std::vector<Partition> parts = plan.prepare;
        parts.insert(parts.end(), plan.launches.begin(), plan.launches.end());
        for (std::size_t launch = 0; launch < parts.size(); ++launch) {
            std::vector<int> seen(static_cast<std::size_t>(parts[launch].ctas));
            std::vector<CtaSpan> its;
            for (const CtaSpan &span : simulation->spans)
                if (span.launch == static_cast<std::int64_t>(launch)) {
                    ++seen.at(static_cast<std::size_t>(span.cta));
                    its.push_back(span);
                    EXPECT_LT(span.start_s, span.end_s);
                    EXPECT_LE(span.end_s.value, simulation->time_s.value * (1.0 + 1e-12));
                }
            EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), parts[launch].ctas);
            // Those without work are gone before they would take a place.
            if (parts[launch].idle_ctas == 0) {
                EXPECT_LE(summary_of(its).most_at_once, parts[launch].ctas_per_sm);
            }
        }
    });
}

TEST(Simulation, InStepItIsTheClosedForm) {
    const GpuProfile profile = find_profile("h200");
    int in_step = 0;
    for_plans(profile, [&](const Plan &plan, const ConvShape &shape) {
        std::vector<Partition> parts = plan.prepare;
        parts.insert(parts.end(), plan.launches.begin(), plan.launches.end());
        const std::vector<CtaStay> stays = call_times(plan, shape, profile, {})->stays;
        for (std::size_t i = 0; i < parts.size(); ++i) // a CTA on each SM at most
            if (parts[i].ctas > stays[i].sms || parts[i].idle_ctas > 0)
                return;
        ++in_step;
        const double closed = forecast_time(plan, shape, profile, {})->value;
        EXPECT_NEAR(simulate(plan, shape, profile, {})->time_s.value, closed, 1e-9 * closed);
    });
    EXPECT_GT(in_step, 3);
}

TEST(Simulation, TheMiddleWavesMayBeLeftOut) {
    const GpuProfile profile = find_profile("h200");
    const ConvShape shape = ConvShape::parse("n8c16h224w224k64r3s3");
    const Plan plan = plan_for("naive_global:threads=256", "n8c16h224w224k64r3s3", profile);
    ASSERT_GT(plan.launches[0].waves, 100);
    const double whole = simulate(plan, shape, profile, {})->time_s.value;
    const auto short_cut = simulate(plan, shape, profile, {}, false);
    EXPECT_TRUE(short_cut->spans.empty());
    EXPECT_NEAR(short_cut->time_s.value, whole, 0.01 * whole);
}

/// The paper's two CTAs of an SM's share are a half of the grid apart: those with work meet on their SM.
TEST(Simulation, HalvesOfAShareMeet) {
    const GpuProfile profile = find_profile("h200");
    const ConvShape shape = ConvShape::parse("n1c1h512w512k64r3s3");
    const Plan plan = plan_for("filter_split:pieces=11", "n1c1h512w512k64r3s3", profile);
    ASSERT_EQ(plan.launches[0].idle_ctas, 136);
    const auto simulation = simulate(plan, shape, profile, {});
    const Seconds longest = std::max_element(simulation->spans.begin(), simulation->spans.end(),
                                             [](const CtaSpan &a, const CtaSpan &b) {
                                                 return a.end_s - a.start_s < b.end_s - b.start_s;
                                             })
                                ->end_s;
    std::map<std::int64_t, int> busy;
    for (const CtaSpan &span : simulation->spans)
        if ((span.end_s - span.start_s).value > 0.5 * longest.value)
            ++busy[span.sm];
    EXPECT_EQ(busy.size(), 64u);
    for (const auto &[sm, ctas] : busy)
        EXPECT_EQ(ctas, 2) << sm;
}

TEST(Simulation, MoreBandwidthIsNeverSlower) {
    const GpuProfile profile = find_profile("h200");
    GpuProfile faster = profile;
    faster.dram_read_bandwidth->value = profile.dram_read_bandwidth->value * 2.0;
    faster.l2_read_bandwidth->value = profile.l2_read_bandwidth->value * 2.0;
    for_plans(profile, [&](const Plan &plan, const ConvShape &shape) {
        EXPECT_LE(simulate(plan, shape, faster, {})->time_s.value,
                  simulate(plan, shape, profile, {})->time_s.value * (1.0 + 1e-12));
    });
}

TEST(Simulation, AProfileWithoutNumbersHasNone) {
    const GpuProfile h200 = find_profile("h200");
    const Plan plan = plan_for("naive_global:threads=256", shapes[1], h200);
    GpuProfile lacking = h200;
    lacking.launch_floor.reset();
    EXPECT_FALSE(simulate(plan, ConvShape::parse(shapes[1]), lacking, {}));
}

} // namespace
