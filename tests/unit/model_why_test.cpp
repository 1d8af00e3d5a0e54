// Margins between ranks, numbers supposed for a profile, and work on all cores.
#include "model/base/errors.hpp"
#include "model/base/parallel.hpp"
#include "model/choose/why.hpp"
#include "model/machine/assume.hpp"
#include "model/predict.hpp"
#include "model/time/formula.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace convcast;
using testing::HasSubstr;

namespace {

Term timed(std::vector<Term> leaves) {
    return formula::evaluated(formula::sum("time", std::move(leaves)));
}

Term microseconds(const char *name, double value) {
    return formula::leaf(name, Seconds(value * 1e-6), "");
}

TEST(Why, NamesTheTermThatDecidesAndWhatSpeaksAgainstIt) {
    const Term best = timed({microseconds("FMA", 10), microseconds("L2 reads", 4)});
    const Term item =
        timed({microseconds("FMA", 30), microseconds("L2 reads", 1), microseconds("barrier", 4)});
    const Margin margin = margin_of(item, 7, best, "quick");
    EXPECT_EQ(margin.best, "quick");
    EXPECT_EQ(margin.rank, 7);
    EXPECT_DOUBLE_EQ(margin.factor, 35.0 / 14.0);
    EXPECT_EQ(margin.decides, "FMA");
    double total = 0.0;
    for (const TermDifference &term : margin.terms)
        total += term.here_s.value - term.there_s.value;
    EXPECT_NEAR(total, 21e-6, 1e-15);
    EXPECT_EQ(why_text(margin, "slow"), "2.50x faster than slow (rank 7): FMA 10 us against 30 us");
}

TEST(Why, ACaseRankedBehindAFasterOneIsDecidedByWhatItSaves) {
    const Term best = timed({microseconds("FMA", 20), microseconds("writes", 2)});
    const Term item = timed({microseconds("FMA", 5), microseconds("writes", 5)});
    const Margin margin = margin_of(item, 2, best, "ours");
    EXPECT_EQ(margin.decides, "FMA");
    EXPECT_EQ(why_text(margin, "apart"),
              "2.20x slower than apart (rank 2): FMA 20 us against 5 us; but writes 2.000 us against 5 us");
}

TEST(Why, EqualCasesHaveNoReason) {
    const Term same = timed({microseconds("FMA", 20)});
    EXPECT_THAT(why_text(margin_of(same, 2, same, "same"), "same"), HasSubstr("no term differs"));
}

TEST(Assume, GivesATimeToAPublishedProfileAndRefusesTheRest) {
    GpuProfile k40m = find_profile("k40m");
    k40m.launch_floor.reset(), k40m.launch_gap.reset();
    const ConvShape shape = ConvShape::parse("n1c64h64w64k64r3s3");
    const Strategy setting = parse_strategy("block_register");
    EXPECT_FALSE(predict(setting, shape, k40m, knowledge_for(k40m)).prediction->time_s);
    EXPECT_THAT(assume(k40m, "launch_floor=5e-6"), HasSubstr("launch_floor 5.000 us: assumed"));
    EXPECT_EQ(k40m.launch_floor->source, Source::assumed);
    EXPECT_GT(predict(setting, shape, k40m, knowledge_for(k40m)).prediction->time_s->value, 5e-6);

    EXPECT_THROW(assume(k40m, "launch_floor=4e-6"), UsageError) << "it has one now";
    EXPECT_THROW(assume(k40m, "launch_gap"), UsageError) << "no number";
    EXPECT_THROW(assume(k40m, "launch_gap=-1"), UsageError);
    EXPECT_THROW(assume(k40m, "launch_gap=nan"), UsageError);
    EXPECT_THROW(assume(k40m, "launch_gap=1e-6us"), UsageError);
    EXPECT_THROW(assume(k40m, ""), UsageError);
    try {
        assume(k40m, "launch_gab=1e-6");
        ADD_FAILURE() << "a name that there is not";
    } catch (const UsageError &error) {
        EXPECT_THAT(error.what(), HasSubstr("launch_gap"));
    }
}

TEST(Parallel, DoesEveryPieceOnceAndThrowsTheFirstFailure) {
    std::vector<int> done(1000, 0);
    in_parallel(done.size(), [&](std::size_t i) { ++done[i]; });
    EXPECT_THAT(done, testing::Each(1));
    in_parallel(0, [&](std::size_t) { ADD_FAILURE() << "there is nothing to do"; });
    try {
        in_parallel(100, [&](std::size_t i) {
            ++done[i];
            if (i % 10 == 3)
                throw std::runtime_error(std::to_string(i));
        });
        ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error &error) {
        EXPECT_STREQ(error.what(), "3");
    }
    EXPECT_EQ(std::count(done.begin(), done.end(), 2), 100) << "a failure ends none of the others";
}

} // namespace
