#include "model/time/formula.hpp"

#include <gtest/gtest.h>

#include <utility>

using namespace convcast;
using namespace convcast::formula;

namespace {

Term example() {
    Term step = max_of("step", {leaf("FMA", Seconds(3.0), ""), leaf("reads", Seconds(4.0), "")});
    Term fill = pnorm("fill", 2.0, {leaf("latency", Seconds(3.0), ""), leaf("reads", Seconds(4.0), "")});
    Term wave = pipeline("wave", 10.0, std::move(fill), std::move(step), leaf("FMA", Seconds(3.0), ""));
    return sum("time", {leaf("launch", Seconds(1.0), ""),
                        schedule("CTAs", 2.0, std::move(wave), leaf("tail", Seconds(0.5), ""))});
}

TEST(Term, EveryKindByHand) {
    Term t = example();
    // fill (9 + 16)^(1/2) = 5; wave 5 + 9 * 4 + 3 = 44; 1 + 2 * 44 + 0.5
    EXPECT_DOUBLE_EQ(evaluate(t).value, 89.5);
    EXPECT_DOUBLE_EQ(t.children[1].children[0].value_s.value, 44.0);
}

TEST(Term, AQueueOfTwoResourcesByHand) {
    // Each serves a job for 0.5, nothing elsewhere: alone 1; the second finds half a job at either, 2 * 0.75.
    Term t = queue(
        "queue", 2.0,
        {leaf("cores", Seconds(1.0), ""), leaf("memory", Seconds(1.0), ""), leaf("alone", Seconds(1.0), "")});
    EXPECT_DOUBLE_EQ(evaluate(t).value, 1.5);
}

TEST(Term, AScaledTermByHand) {
    Term t =
        scaled("time", 1.5, sum("time", {leaf("launch", Seconds(1.0), ""), leaf("FMA", Seconds(3.0), "")}));
    EXPECT_DOUBLE_EQ(evaluate(t).value, 6.0);
    EXPECT_DOUBLE_EQ(waterfall(t).at(1).added_s.value, 4.5);
}

TEST(Term, WaterfallAddsUpAndIsNeverNegative) {
    Term t = example();
    const double time = evaluate(t).value;
    double total = 0.0;
    for (const Bar &bar : waterfall(t)) {
        EXPECT_GE(bar.added_s.value, 0.0) << bar.name;
        total += bar.added_s.value;
    }
    EXPECT_NEAR(total, time, 1e-12 * time);
    EXPECT_EQ(waterfall(t).size(), 5u);
    EXPECT_EQ(limiter(t), "reads"); // 2 * (2 + 36) of the 89.5
}

} // namespace
