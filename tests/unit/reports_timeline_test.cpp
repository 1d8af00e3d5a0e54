// Timelines as figures and numbers: every CTA drawn where it ran, few bars however many there are.
#include "reports/report_figures.hpp"
#include "reports/write_report.hpp"
#include "tests/unit/well_formed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace convcast {
namespace {

using testing::HasSubstr;
using testing::Not;

/// `ctas` of 1 us each on `sms` SMs, `at_once` side by side, launch after launch.
Timeline even(std::int64_t launches, std::int64_t ctas, std::int64_t sms, std::int64_t at_once) {
    std::vector<CtaSpan> spans;
    std::vector<std::string> kernels;
    for (std::int64_t launch = 0; launch < launches; ++launch) {
        kernels.push_back(launch % 2 == 0 ? "first_kernel" : "second<kernel>");
        for (std::int64_t cta = 0; cta < ctas; ++cta) {
            const auto round =
                static_cast<double>(launch * ((ctas - 1) / (sms * at_once) + 1) + cta / (sms * at_once));
            spans.push_back({launch, cta, cta % sms, Seconds(round * 1e-6), Seconds((round + 1.0) * 1e-6)});
        }
    }
    return timeline_of("rule", kernels, spans);
}

Run run_of(const Timeline &forecast, const Timeline &measured) {
    Run run;
    Case item;
    item.shape = "n1c64h56w56k64r3s3";
    item.strategy = "row_register:tile_w=64";
    item.status = Status::ok;
    item.prediction.emplace().timeline = forecast;
    Measurement m;
    m.time_s = Seconds(9e-6);
    m.timeline = measured;
    m.timeline->call_s = Seconds(10e-6);
    m.timeline->step_ns = 32;
    item.measurements = {m};
    run.cases = {item};
    return run;
}

std::size_t points(const Figure &figure) {
    return figure.point_count();
}

TEST(TimelineFigures, BothOnTheSameAxes) {
    const std::vector<Figure> figures = timeline_figures(run_of(even(2, 40, 10, 2), even(2, 60, 12, 1)));
    ASSERT_EQ(figures.size(), 2U);
    EXPECT_EQ(figures[0].id, "timeline_0_forecast");
    EXPECT_EQ(figures[1].id, "timeline_0_measured");
    for (const Figure &figure : figures) {
        EXPECT_EQ(figure.x.high, 10.0) << "the measured one's five rounds of two launches";
        EXPECT_EQ(figure.y.high, 12.0) << "SMs";
        ASSERT_EQ(figure.series.size(), 4U) << "two launches in two shades";
        EXPECT_EQ(figure.series[1].name, "2: second<kernel>");
        EXPECT_TRUE(figure.series[3].pale && figure.series[3].unlisted);
        EXPECT_EQ(figure.series[3].name, "2: second<kernel>") << "the CSV names it too";
        EXPECT_EQ(xml_problem(to_svg(figure, SvgUse::in_page)), "");
        EXPECT_EQ(figure.series[0].thickness, figures[0].series[0].thickness);
    }
    EXPECT_EQ(points(figures[0]), 80U);
    EXPECT_EQ(points(figures[1]), 120U);
    // The second CTA of SM 3 lies beside its first, in the room of SM 3.
    const auto point = [&](const std::string &label, bool pale) {
        for (const Point &its : figures[0].series[pale ? 2 : 0].points)
            if (its.label == label)
                return its;
        ADD_FAILURE() << label << " is not there" << (pale ? " in the pale shade" : "");
        return Point{};
    };
    const Point first = point("CTA 3", true), second = point("CTA 13", false);
    EXPECT_EQ(*second.from, 0.0);
    EXPECT_GT(first.y, 3.0);
    EXPECT_NEAR(second.y - first.y, figures[0].series[0].thickness, 1e-12);
    EXPECT_LT(second.y, 4.0);
}

TEST(TimelineFigures, ManyCtasStaySmall) {
    const std::vector<Figure> figures =
        timeline_figures(run_of(even(1, 100'000, 132, 8), even(1, 100'000, 132, 8)));
    for (const Figure &figure : figures) {
        EXPECT_GT(points(figure), 500U);
        EXPECT_LE(points(figure), 3000U);
        EXPECT_LT(to_svg(figure, SvgUse::in_page).size(), 150'000U);
        EXPECT_THAT(figure.caption, HasSubstr("100000 CTAs"));
        EXPECT_THAT(figure.caption, HasSubstr("One SM in 8 is drawn."));
        EXPECT_THAT(figure.caption, HasSubstr("CTAs one after another."));
    }
}

TEST(TimelineFigures, ManyLaunchesAreTheirKernels) {
    const Figure figure = timeline_figures(run_of(even(40, 12, 12, 1), even(1, 12, 12, 1))).front();
    ASSERT_EQ(figure.series.size(), 4U);
    EXPECT_EQ(figure.series[0].name, "first_kernel");
    EXPECT_EQ(points(figure), 480U);
}

TEST(TimelineFigures, NumbersOfEachLaunchAndOfTheCall) {
    const std::vector<TimelineRow> rows = timeline_rows(run_of(even(2, 40, 10, 2), even(2, 60, 12, 1)));
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].launch, "1: first_kernel");
    EXPECT_EQ(rows[2].launch, "the call");
    EXPECT_EQ(rows[0].forecast->most_at_once, 2);
    EXPECT_EQ(rows[0].measured->ctas, 60);
    EXPECT_NEAR(rows[2].forecast->makespan_s.value, 4e-6, 1e-15);
    EXPECT_NEAR(rows[2].measured->makespan_s.value, 10e-6, 1e-15);
}

TEST(TimelineFigures, ThePageHasThemWhereACaseHas) {
    convcast::Run run = run_of(even(2, 40, 10, 2), even(2, 60, 12, 1));
    std::string page = report_on(run, {}, summarize(run, {})).html();
    EXPECT_THAT(page, HasSubstr("<section id=\"timelines\">"));
    EXPECT_THAT(page, HasSubstr("second&lt;kernel&gt;"));
    EXPECT_THAT(page, HasSubstr("The stamped call took 10.0\u00a0µs, the timed ones 9.00\u00a0µs in the "
                                "median; the timer advances "
                                "by 32 ns."));
    EXPECT_THAT(page, HasSubstr("<td>forecast / measured</td>"));
    EXPECT_THAT(page, HasSubstr("<td>0.400</td>")) << "the call's makespan, 4 of 10 us";
    run.cases[0].prediction->timeline.reset();
    run.cases[0].measurements[0].timeline.reset();
    page = report_on(run, {}, summarize(run, {})).html();
    EXPECT_THAT(page, Not(HasSubstr("timelines")));
}

TEST(TimelineFigures, AsManyCasesAsAPageBears) {
    convcast::Run run = run_of(even(1, 4, 2, 1), even(1, 4, 2, 1));
    run.cases.resize(most_drawn_timelines + 3, run.cases[0]);
    EXPECT_EQ(timeline_figures(run).size(), 2 * most_drawn_timelines);
    EXPECT_THAT(report_on(run, {}, summarize(run, {})).html(), HasSubstr("The first 12 are drawn."));
}

} // namespace
} // namespace convcast
