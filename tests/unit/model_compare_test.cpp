#include "model/base/readable.hpp"
#include "model/machine/compare.hpp"

#include <gtest/gtest.h>

#include <vector>

using namespace convcast;

namespace {

NamedProfile with_clock(double hz, double relative_width = 0.0) {
    GpuProfile profile;
    profile.sm_clock = {Frequency(hz), Source::measured, "sm_clock"};
    if (relative_width > 0.0)
        profile.sm_clock->interval = Interval{hz * (1.0 - relative_width), hz * (1.0 + relative_width)};
    return {"f", profile};
}

ComparedRow clock_of(const std::vector<NamedProfile> &profiles) {
    const ComparedFiles comparison = compare_profiles(profiles, {});
    EXPECT_EQ(comparison.rows.size(), 1u);
    return comparison.rows.at(0);
}

TEST(Compare, TwoAreHeldAgainstTheFirst) {
    const ComparedRow clock = clock_of({with_clock(1e9, 0.01), with_clock(1.1e9, 0.01)});
    EXPECT_DOUBLE_EQ(*clock.reference, 1e9);
    EXPECT_NEAR(*clock.ratio, 1.1, 1e-12);
    EXPECT_EQ(clock.verdict, ComparedVerdict::differs);
    EXPECT_EQ(clock.farthest, 1);
}

TEST(Compare, AnEvenNumberIsHeldAgainstTheMeanOfTheTwoInTheMiddle) {
    const ComparedRow clock = clock_of(
        {with_clock(1e9, 0.001), with_clock(2e9, 0.001), with_clock(3e9, 0.001), with_clock(9e9, 0.001)});
    EXPECT_DOUBLE_EQ(*clock.reference, 2.5e9);
    EXPECT_EQ(clock.farthest, 3);
    EXPECT_EQ(clock.verdict, ComparedVerdict::differs);
}

TEST(Compare, AWideIntervalSaysWhy) {
    EXPECT_EQ(clock_of({with_clock(1e9, 0.001), with_clock(1e9, 0.001), with_clock(1.2e9, 0.21)}).verdict,
              ComparedVerdict::unsure);
    EXPECT_EQ(clock_of({with_clock(1e9), with_clock(1e9, 0.001), with_clock(1.2e9, 0.01)}).verdict,
              ComparedVerdict::differs)
        << "the interval of the one in the middle counts, not that of every file";
}

TEST(Compare, AFactorIsNoNoiseWithoutIntervalsThatSaySo) {
    // An interval that does not hold its value is of another one, and says nothing.
    NamedProfile edited = with_clock(2e9, 0.001);
    edited.profile.sm_clock->interval = Interval{0.999e9, 1.001e9};
    EXPECT_EQ(clock_of({with_clock(1e9, 0.001), edited}).verdict, ComparedVerdict::unsure);
    edited.profile.sm_clock->interval = Interval{2.1e9, 0.9e9};
    EXPECT_EQ(clock_of({with_clock(1e9, 0.001), edited}).verdict, ComparedVerdict::unsure);
    // Two and two that agree: their middle lies between, and no interval reaches it.
    EXPECT_EQ(clock_of({with_clock(1e9, 0.001), with_clock(1e9, 0.001), with_clock(2e9, 0.001),
                        with_clock(2e9, 0.001)})
                  .verdict,
              ComparedVerdict::differs);
}

TEST(Compare, WithoutAnIntervalOnlyWhatIsNearIsTheSame) {
    EXPECT_EQ(clock_of({with_clock(1e9), with_clock(1.004e9)}).verdict, ComparedVerdict::same);
    EXPECT_EQ(clock_of({with_clock(1e9), with_clock(1.006e9)}).verdict, ComparedVerdict::unsure);
    EXPECT_EQ(clock_of({with_clock(1e9, 0.2), with_clock(1e9, 0.2)}).verdict, ComparedVerdict::same)
        << "one measurement, however wide its interval is";
}

TEST(Compare, OnlyWhatIsOffByMoreThanTheToleranceFails) {
    const ComparedRow near = clock_of({with_clock(1e9, 0.001), with_clock(1.0299e9, 0.001)}),
                      far = clock_of({with_clock(1e9, 0.001), with_clock(1.04e9, 0.001)});
    EXPECT_EQ(near.verdict, ComparedVerdict::differs) << "its interval is not all within 3 %";
    EXPECT_FALSE(near.failed);
    EXPECT_EQ(far.verdict, ComparedVerdict::differs);
    EXPECT_TRUE(far.failed);
}

TEST(Compare, TheFirstFilesNumbersMustBeInTheOthers) {
    const NamedProfile bare{"bare", GpuProfile{}};
    EXPECT_TRUE(clock_of({with_clock(1e9), bare}).failed);
    EXPECT_FALSE(clock_of({bare, with_clock(1e9)}).failed);
    const ComparedRow clock = clock_of({with_clock(1e9, 0.001), bare, with_clock(2e9, 0.001)});
    EXPECT_EQ(clock.verdict, ComparedVerdict::differs) << "the two that have it";
    EXPECT_TRUE(clock.failed);
}

TEST(Compare, FlightCurvesAtTheirCommonPoints) {
    NamedProfile a = with_clock(1e9), b = a;
    a.profile.dram_read_curve = FlightCurve{{1.0, 2.0, 4.0}, {10.0, 20.0, 30.0}, {}};
    b.profile.dram_read_curve = FlightCurve{{2.0, 4.0, 8.0}, {25.0, 33.0, 40.0}, {}};
    const ComparedFiles comparison = compare_profiles(std::vector{a, b}, {});
    ASSERT_EQ(comparison.curves.size(), 1u);
    EXPECT_EQ(comparison.curves[0].common_points, 2);
    EXPECT_DOUBLE_EQ(*comparison.curves[0].largest_ratio, 1.25);
    EXPECT_DOUBLE_EQ(*comparison.curves[0].at_x, 2.0);
}

TEST(Readable, PrefixesAndDigits) {
    EXPECT_EQ(readable(4.64066e12, "B/s"), "4.641 TB/s");
    EXPECT_EQ(readable(999.0, "B/s"), "999 B/s");
    EXPECT_EQ(readable(233472.0, "B"), "228 KiB");
    EXPECT_EQ(readable(512.0, "B"), "512 B");
    EXPECT_EQ(readable(1.9798e9, "Hz"), "1.980 GHz");
    EXPECT_EQ(readable(8.207e9, "FLOP"), "8.207 GFLOP");
    EXPECT_EQ(readable(2.56e-6, "s"), "2.560 us");
    EXPECT_EQ(readable(3.0, "s"), "3 s");
    EXPECT_EQ(readable(4.2e-10, "s"), "420 ps");
    EXPECT_EQ(readable(686.636, "clk"), "686.6 clk");
    EXPECT_EQ(readable(32.0, "1"), "32");
    EXPECT_EQ(readable(0.0, "s"), "0 s");
    EXPECT_EQ(short_number(12345.6), "12346");
    EXPECT_EQ(short_number(0.02), "0.02");
    EXPECT_EQ(short_number(0.48412), "0.4841");
}

} // namespace
