// Who wins where: the form of the figure, its marks, and where the regime turns.
#include "reports/choice_figure.hpp"

#include "model/base/errors.hpp"
#include "tests/unit/drawing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

using namespace convcast;
using ::testing::HasSubstr;

namespace {

ChoiceAnswer answer(const std::string &shape, std::vector<BestOf> fastest, const std::string &gpu = "g") {
    ChoiceAnswer out;
    out.shape = ConvShape::parse(shape);
    out.gpu = gpu;
    out.longest_tie = Seconds(1.2 * fastest.front().time.value);
    out.fastest = std::move(fastest);
    return out;
}

BestOf of(const std::string &setting, double us, Regime regime = Regime::exposed) {
    return {setting.substr(0, setting.find(':')), 0, Seconds(us * 1e-6), setting, regime};
}

/// Maps of 8, 16 and 40: b wins from 16 on, and the regime turns after it; far is always too slow to draw.
std::vector<ChoiceAnswer> along(const std::string &gpu = "g") {
    return {answer("n1c4h8w8k4r3s3", {of("a:x=1", 10.0), of("b", 15.0), of("far", 90.0)}, gpu),
            answer("n1c4h16w16k4r3s3", {of("b", 20.0), of("a:x=2", 25.0), of("far", 90.0)}, gpu),
            answer("n1c4h40w40k4r3s3",
                   {of("b", 40.0, Regime::compute_hidden), of("a:x=2", 100.0, Regime::compute_hidden)}, gpu)};
}

TEST(WhoWins, OneSizeGivesALineForEachStrategy) {
    const ChoiceFigure drawn = who_wins(along());
    const Figure &figure = drawn.figure;
    EXPECT_EQ(figure.x.label, "h = w: height of the map, width of the map");
    EXPECT_EQ(figure.x.scale, Scale::linear);
    ASSERT_EQ(figure.series.size(), 2u); // far is not drawn, and the caption says so
    EXPECT_THAT(figure.caption, HasSubstr("Not drawn: 1 strategies"));
    const Series &b = figure.series[0], &a = figure.series[1]; // b wins twice
    EXPECT_EQ(b.name, "b");
    ASSERT_EQ(a.points.size(), 3u);
    EXPECT_DOUBLE_EQ(a.points[0].y, 1.0);
    EXPECT_DOUBLE_EQ(a.points[1].y, 1.25);
    EXPECT_DOUBLE_EQ(a.points[2].y, 2.5);
    EXPECT_DOUBLE_EQ(b.points[0].y, 1.5);
    ASSERT_EQ(figure.bands.size(), 1u);
    EXPECT_DOUBLE_EQ(figure.bands[0].high, 1.2);
    ASSERT_EQ(figure.references.size(), 1u);
    EXPECT_DOUBLE_EQ(figure.references[0].value, 28.0); // between 16 and 40
    EXPECT_EQ(figure.references[0].label, "turns compute bound");
    const CaseColumns &its = drawn.cases.at(static_cast<std::size_t>(a.points[1].id.value()));
    EXPECT_EQ(its.shape, "n1c4h16w16k4r3s3");
    EXPECT_EQ(its.strategy, "a");
    EXPECT_EQ(its.knobs, "x=2");
    EXPECT_EQ(its.regime, "exposed");
    expect_no_overlap(figure);
}

TEST(WhoWins, SeveralGpusAreSmallMultiples) {
    std::vector<ChoiceAnswer> answers = along("g, 4 SMs");
    for (const ChoiceAnswer &other : along("g, 8 SMs"))
        answers.push_back(other);
    const Figure figure = who_wins(answers).figure;
    ASSERT_EQ(figure.panels.size(), 2u);
    EXPECT_EQ(figure.panels[1].title, "g, 8 SMs");
    ASSERT_EQ(figure.panels[1].series.size(), 3u); // two strategies and the line where the regime turns
    EXPECT_EQ(figure.panels[1].series[2].drawn, Drawn::curve);
    EXPECT_DOUBLE_EQ(figure.panels[1].series[2].points.at(0).x, 28.0);
    expect_no_overlap(figure);
}

TEST(WhoWins, TwoSizesGiveAMapOfTheWinners) {
    const Figure figure = who_wins(std::vector{
                                       answer("n1c4h8w8k16r3s3", {of("a", 10.0), of("b", 11.0)}),
                                       answer("n1c4h8w8k32r3s3", {of("b", 10.0), of("a", 11.0)}),
                                       answer("n1c4h16w16k16r3s3", {of("a", 10.0, Regime::compute_hidden)}),
                                       answer("n1c4h16w16k32r3s3", {of("b", 10.0, Regime::bulk_hidden)}),
                                   })
                              .figure;
    EXPECT_EQ(figure.x.label, "h = w: height of the map, width of the map");
    EXPECT_EQ(figure.y.label, "k: filters");
    EXPECT_EQ(figure.y.scale, Scale::binary);
    ASSERT_EQ(figure.series.size(), 4u);
    EXPECT_EQ(figure.series[0].name, "a, compute bound");
    EXPECT_FALSE(figure.series[0].hollow);
    EXPECT_EQ(figure.series[1].name, "a, exposed");
    EXPECT_TRUE(figure.series[1].hollow);
    EXPECT_EQ(figure.series[0].style, figure.series[1].style);
    EXPECT_EQ(figure.series[2].name, "b, memory bound");
    expect_no_overlap(figure);
}

TEST(WhoWins, SizesThatGrowByAFactorAreEqualStepsApart) {
    std::vector<ChoiceAnswer> answers;
    for (const char *shape : {"n1c4h7w7k4r3s3", "n1c4h14w14k4r3s3", "n1c4h28w28k4r3s3"})
        answers.push_back(answer(shape, {of("a", 1.0)}));
    EXPECT_EQ(who_wins(answers).figure.x.scale, Scale::logarithmic);
}

TEST(WhoWins, AnythingElseIsARowEach) {
    const std::vector<ChoiceAnswer> answers = {answer("n1c4h8w8k4r3s3", {of("a", 10.0)}, "old"),
                                               answer("n1c4h8w8k4r3s3", {of("b", 5.0), of("a", 6.0)}, "new")};
    const Figure figure = who_wins(answers).figure;
    EXPECT_EQ(figure.y.scale, Scale::category);
    EXPECT_EQ(figure.y.categories,
              (std::vector<std::string>{"old: 10.0 µs, exposed", "new: 5.00 µs, exposed"}));
    EXPECT_EQ(figure.point_count(), 3u);
    expect_no_overlap(figure);
    EXPECT_THROW(who_wins(std::vector<ChoiceAnswer>(61, answers[0])), UsageError);
}

TEST(WhoWins, WithoutIntervalsNothingIsCalledATie) {
    std::vector<ChoiceAnswer> answers = along();
    answers[1].longest_tie = std::nullopt;
    EXPECT_TRUE(who_wins(answers).figure.bands.empty());
}

} // namespace
