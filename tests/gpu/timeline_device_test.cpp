// Measured timelines: every CTA once, no SM over-full, all of it within the call.
#include "executor/run_case.hpp"
#include "executor/timeline/timeline.hpp"
#include "tests/gpu/predicted.hpp"
#include "tests/gpu/require_gpu.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <variant>
#include <vector>

namespace convcast {
namespace {

using TimelineDevice = OnGpu;

std::vector<CtaSpan> launch_of(const std::vector<CtaSpan> &spans, std::size_t launch) {
    std::vector<CtaSpan> its;
    std::copy_if(spans.begin(), spans.end(), std::back_inserter(its),
                 [&](const CtaSpan &span) { return span.launch == static_cast<std::int64_t>(launch); });
    return its;
}

TEST_F(TimelineDevice, EveryCtaRunsOnceWhereThereIsRoom) {
    const Device device(0);
    Compiler compiler;
    // One launch and several, early ones, clusters, constant memory, tensor cores.
    const std::vector<Case> cases =
        predicted(std::vector<Asked>{{"implicit_gemm", "n1c128h56w56k128r3s3"},
                                     {"winograd", "n1c128h56w56k128r3s3"},
                                     {"implicit_gemm_3xtf32", "n1c128h56w56k128r3s3"},
                                     {"stride_fixed_block", "n1c128h56w56k128r3s3"},
                                     {"naive_shared", "n1c16h224w224k32r3s3"},
                                     {"filter_split", "n1c1h512w512k64r3s3"},
                                     {"row_register", "n1c1h512w512k64r3s3"}});
    ASSERT_FALSE(HasFailure());
    const auto timelines = record_timelines(compiler, device, tasks_of(cases),
                                            {.seed = 7, .compile_threads = all_threads(), .progress = {}});
    ASSERT_EQ(timelines.size(), cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
        SCOPED_TRACE(*cases[i].strategy + " " + cases[i].shape);
        const auto *timeline = std::get_if<Timeline>(&timelines[i]);
        ASSERT_TRUE(timeline) << std::get<std::string>(timelines[i]);
        EXPECT_TRUE(problems_of(*timeline).empty());
        const Plan &plan = *cases[i].prediction->plan;
        std::vector<Partition> parts = plan.prepare;
        parts.insert(parts.end(), plan.launches.begin(), plan.launches.end());
        ASSERT_EQ(timeline->launches.size(), parts.size());
        const std::vector<CtaSpan> spans = spans_of(*timeline);
        for (std::size_t launch = 0; launch < parts.size(); ++launch) {
            const Partition &part = parts[launch];
            const std::vector<CtaSpan> its = launch_of(spans, launch);
            EXPECT_EQ(std::ssize(its), part.grid[0] * part.grid[1] * part.grid[2]) << part.kernel;
            const TimelineSummary summary = summary_of(its);
            EXPECT_LE(summary.most_at_once, part.ctas_per_sm) << part.kernel;
            EXPECT_LE(summary.sms, device.facts().sm_count);
            EXPECT_GT(summary.mean_cta_s.value, 0.0) << part.kernel;
        }
        // The call's records begin before its first CTA and end after its last. Both clocks are the chip's
        // timer, each read with its step; CUPTI's times come a little early or late by as much.
        const TimelineSummary whole = summary_of(spans);
        ASSERT_TRUE(timeline->call_s && timeline->step_ns);
        const double step = 1e-9 * static_cast<double>(*timeline->step_ns);
        EXPECT_GT(*timeline->step_ns, 0);
        EXPECT_LE(*timeline->step_ns, 1024);
        EXPECT_LE(whole.makespan_s.value, timeline->call_s->value + 2.0 * step);
        constexpr double around_a_call =
            10e-6; // a copy to constant memory and a launch come before the first CTA
        EXPECT_GE(whole.makespan_s.value, timeline->call_s->value - around_a_call);
        std::cout << *cases[i].strategy << " " << cases[i].shape << ": call " << timeline->call_s->value * 1e6
                  << " us, makespan " << whole.makespan_s.value * 1e6 << " us, step " << *timeline->step_ns
                  << " ns, " << whole.ctas << " CTAs, tail " << whole.tail_share << "\n";
    }
}

/// A call that leaves out some of its output must not pass for a timeline.
TEST_F(TimelineDevice, AWrongResultHasNoTimeline) {
    const Device device(0);
    Compiler compiler;
    const ConvShape shape = ConvShape::parse("n1c64h28w28k64r3s3");
    const Case item = predicted("naive_global", shape.id());
    ASSERT_EQ(item.status, Status::ok);
    Plan plan = *item.prediction->plan;
    plan.launches.back().grid[0] -= 1;
    const std::vector<PlanTask> tasks = {{&plan, shape}};
    const auto timelines = record_timelines(compiler, device, tasks, {});
    ASSERT_TRUE(std::holds_alternative<std::string>(timelines.at(0)));
    EXPECT_NE(std::get<std::string>(timelines[0]).find("with stamps the result is wrong"), std::string::npos)
        << std::get<std::string>(timelines[0]);
}

} // namespace
} // namespace convcast
