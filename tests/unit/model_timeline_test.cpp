// Timelines: the type, its document, its numbers, and that a forecast holds what every timeline holds.
#include "model/base/errors.hpp"
#include "model/machine/profile.hpp"
#include "model/predict.hpp"
#include "model/time/simulation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace convcast {
namespace {

using testing::HasSubstr;

CtaSpan span_of(std::int64_t launch, std::int64_t cta, std::int64_t sm, double start_us, double end_us) {
    return {launch, cta, sm, Seconds(start_us * 1e-6), Seconds(end_us * 1e-6)};
}

/// Two SMs: 0 holds two CTAs at once and then one, 1 holds one and waits.
const std::vector<CtaSpan> hand_made = {span_of(0, 0, 0, 0.0, 4.0), span_of(0, 1, 1, 0.0, 5.0),
                                        span_of(0, 2, 0, 1.0, 4.0), span_of(0, 3, 0, 4.0, 10.0)};

TEST(Timeline, Numbers) {
    const TimelineSummary summary = summary_of(hand_made);
    EXPECT_EQ(summary.ctas, 4);
    EXPECT_EQ(summary.sms, 2);
    EXPECT_EQ(summary.most_at_once, 2) << "a CTA that starts as two end takes their place";
    EXPECT_DOUBLE_EQ(summary.makespan_s.value, 10e-6);
    EXPECT_DOUBLE_EQ(summary.mean_cta_s.value, 4.5e-6);
    EXPECT_DOUBLE_EQ(summary.cta_p95_s.value, 6e-6);
    EXPECT_DOUBLE_EQ(summary.cta_p05_s.value, 3e-6);
    EXPECT_DOUBLE_EQ(summary.tail_share, 0.25) << "SM 1 waits half of the makespan, SM 0 not at all";
    EXPECT_EQ(summary_of({}).ctas, 0);
}

TEST(Timeline, ColumnsHoldEveryCtaOnce) {
    const std::vector<std::string> kernels = {"some_kernel"};
    std::vector<CtaSpan> shuffled = {hand_made[2], hand_made[0], hand_made[3], hand_made[1]};
    const Timeline timeline = timeline_of("hand", kernels, shuffled);
    const std::vector<CtaSpan> again = spans_of(timeline);
    ASSERT_EQ(again.size(), hand_made.size());
    for (std::size_t i = 0; i < again.size(); ++i) {
        EXPECT_EQ(again[i].cta, hand_made[i].cta);
        EXPECT_EQ(again[i].sm, hand_made[i].sm);
        EXPECT_NEAR(again[i].end_s.value, hand_made[i].end_s.value, 1e-12);
    }
    shuffled[0].cta = 1;
    EXPECT_THROW(timeline_of("hand", kernels, shuffled), std::invalid_argument);
}

/// What holds however a forecast comes about: all CTAs once, none ends before it starts, no SM holds more of
/// a launch than the plan says, the first starts at 0, and all of it is within the forecast time.
TEST(Timeline, AForecastsCtasFitTheirPlan) {
    const GpuProfile profile = find_profile("h200");
    for (const std::string &name : strategy_names())
        for (const char *text : {"n1c1h512w512k64r3s3", "n1c16h40w42k100r3s3", "n4c128h56w56k128r3s3"}) {
            const Case item =
                predict(parse_strategy(name), ConvShape::parse(text), profile, knowledge_for(profile));
            if (item.status != Status::ok)
                continue;
            SCOPED_TRACE(*item.strategy + " " + text);
            const Plan &plan = *item.prediction->plan;
            const std::optional<Timeline> timeline =
                forecast_timeline(plan, ConvShape::parse(text), profile,
                                  knowledge_for(profile).calibration.value_or(Calibration{}));
            ASSERT_TRUE(timeline);
            EXPECT_TRUE(problems_of(*timeline).empty()) << problems_of(*timeline).front();
            const std::vector<CallLaunch> launches = launches_of(plan);
            ASSERT_EQ(timeline->launches.size(), launches.size());
            std::vector<Partition> parts = plan.prepare;
            parts.insert(parts.end(), plan.launches.begin(), plan.launches.end());
            const std::vector<CtaSpan> spans = spans_of(*timeline);
            for (std::size_t i = 0; i < launches.size(); ++i) {
                EXPECT_EQ(std::ssize(timeline->launches[i].sm), launches[i].ctas) << launches[i].kernel;
                std::vector<CtaSpan> its;
                std::copy_if(spans.begin(), spans.end(), std::back_inserter(its), [&](const CtaSpan &span) {
                    return span.launch == static_cast<std::int64_t>(i);
                });
                EXPECT_LE(summary_of(its).most_at_once, parts[i].ctas_per_sm) << launches[i].kernel;
                EXPECT_LT(*std::max_element(timeline->launches[i].sm.begin(), timeline->launches[i].sm.end()),
                          profile.limits.sm_count);
            }
            const TimelineSummary summary = summary_of(spans);
            EXPECT_EQ(summary.start_s.value, 0.0);
            // The closed form's waves are the same CTAs in step; where they are not, or the last ones find
            // less company, the two differ.
            EXPECT_LT(summary.makespan_s.value, 1.4 * item.prediction->time_s->value);
            EXPECT_GT(summary.makespan_s.value, 0.3 * item.prediction->time_s->value);
        }
}

TEST(Timeline, AProfileWithoutNumbersHasNone) {
    GpuProfile profile = find_profile("gtx1080ti");
    profile.launch_floor.reset();
    const ConvShape shape = ConvShape::parse("n1c1h512w512k64r3s3");
    const Case item = predict(parse_strategy("row_register"), shape, find_profile("h200"),
                              knowledge_for(find_profile("h200")));
    ASSERT_TRUE(item.prediction && item.prediction->plan);
    ASSERT_FALSE(missing_for_forecast(profile).empty());
    EXPECT_FALSE(forecast_timeline(*item.prediction->plan, shape, profile, {}));
}

Run run_with(const Timeline &timeline) {
    Run run;
    Case item = predict(parse_strategy("row_register"), ConvShape::parse("n1c1h512w512k64r3s3"),
                        find_profile("h200"), knowledge_for(find_profile("h200")));
    item.prediction->timeline = timeline;
    run.cases = {item};
    return run;
}

TEST(Timeline, TravelsInARunDocument) {
    Timeline timeline = timeline_of("hand", std::vector<std::string>{"some_kernel"}, hand_made);
    timeline.call_s = Seconds(11e-6);
    timeline.step_ns = 32;
    const std::string text = write_run(run_with(timeline));
    EXPECT_THAT(text, HasSubstr("\"start_ns\": [0, 0, 1000, 4000]")) << "columns, not an object a CTA";
    const Timeline again = *read_run(text, "run.json").cases.at(0).prediction->timeline;
    EXPECT_EQ(again.launches.at(0).end_ns, timeline.launches.at(0).end_ns);
    EXPECT_EQ(again.step_ns, 32);
    EXPECT_THAT(write_run(convcast::Run{}), testing::Not(HasSubstr("timeline")));
}

std::string error_of(const Timeline &timeline) {
    try {
        read_run(write_run(run_with(timeline)), "run.json");
    } catch (const InputError &error) {
        return error.what();
    }
    return "";
}

TEST(Timeline, NonsenseIsRefusedByPlace) {
    const Timeline good = timeline_of("hand", std::vector<std::string>{"some_kernel"}, hand_made);
    EXPECT_EQ(error_of(good), "");
    Timeline timeline = good;
    timeline.launches[0].end_ns.pop_back();
    EXPECT_THAT(
        error_of(timeline),
        HasSubstr("/cases/0/prediction/timeline: launches/0: expected as many start_ns and end_ns as sm"));
    timeline = good;
    timeline.launches[0].sm[2] = -1;
    EXPECT_THAT(error_of(timeline), HasSubstr("/timeline/launches/0/sm/2: expected an integer from 0"));
    timeline = good;
    timeline.launches[0].end_ns[3] = 3999;
    EXPECT_THAT(error_of(timeline), HasSubstr("CTA 3: expected 0 <= start_ns <= end_ns"));
    timeline.launches[0].end_ns[3] = std::int64_t{1} << 60;
    EXPECT_THAT(error_of(timeline), HasSubstr("/timeline/launches/0/end_ns/3: expected an integer from 0"));
    timeline.launches[0].end_ns[3] = std::int64_t{1} << 50;
    EXPECT_THAT(error_of(timeline), HasSubstr("CTA 3"));
    timeline = good;
    timeline.launches[0].sm.assign(most_timeline_ctas + 1, 0);
    timeline.launches[0].start_ns = timeline.launches[0].end_ns = timeline.launches[0].sm;
    EXPECT_THAT(error_of(timeline), HasSubstr("more than 200000 CTAs"));
}

} // namespace
} // namespace convcast
