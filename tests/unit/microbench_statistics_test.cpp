// Order statistics, their intervals, plateaus and fits, on numbers whose truth is known.
#include "microbench/fits.hpp"
#include "microbench/statistics.hpp"
#include "planted_gpu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

using planted::around;
using planted::normal;
using testing::HasSubstr;

TEST(Statistics, MedianIsASample) {
    EXPECT_EQ(spread_of({4.0, 1.0, 3.0, 2.0}).p50, 2.0);
    EXPECT_EQ(spread_of({4.0, 1.0, 3.0, 2.0}).p05, 1.0);
    EXPECT_EQ(spread_of({4.0, 1.0, 3.0, 2.0}).p95, 4.0);
    EXPECT_EQ(spread_of({7.0}).p50, 7.0);
    EXPECT_EQ(median_of({4.0, 1.0, 3.0, 2.0}), 2.0);
    EXPECT_EQ(median_of({7.0}), 7.0);
}

TEST(Statistics, OnePopulationWithAnOutlierIsOne) {
    std::vector<double> values = around(300.0);
    EXPECT_FALSE(two_populations(values));
    values.push_back(900.0);
    EXPECT_FALSE(two_populations(values));
    EXPECT_FALSE(two_populations({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
    EXPECT_FALSE(two_populations(std::vector<double>(10, 5.0)));
    EXPECT_EQ(two_populations({1, 1, 1, 2, 2, 2}), std::pair(1.0, 2.0));
    EXPECT_FALSE(two_populations({}));
}

TEST(Statistics, RandomNumbersAreTheSameEverywhere) {
    SplitMix64 random(0); // the published first numbers of SplitMix64 from 0
    EXPECT_EQ(random(), 0xe220a8397b1dcdafu);
    EXPECT_EQ(random(), 0x6e789e6aa1b965f4u);
    EXPECT_EQ(random(), 0x06c45d188009454fu);
    for (int i = 0; i < 1000; ++i) {
        const double u = random.uniform();
        EXPECT_TRUE(u >= 0.0 && u < 1.0);
    }
}

std::vector<double> normals(SplitMix64 &random, std::size_t n) {
    std::vector<double> values(n);
    for (double &value : values)
        value = 100.0 + normal(random);
    return values;
}

TEST(Statistics, IntervalIsWhatResamplingGives) {
    for (const std::size_t n : {1u, 2u, 5u, 10u, 15u, 50u}) {
        SplitMix64 random(n);
        std::vector<double> values = normals(random, n);
        std::vector<double> medians;
        for (int i = 0; i < 40000; ++i) {
            std::vector<double> drawn(n);
            for (double &value : drawn)
                value = values[static_cast<std::size_t>(random() % n)];
            medians.push_back(median_of(drawn));
        }
        const Interval interval = median_interval(values);
        const auto part = [&](const auto &is) {
            return static_cast<double>(std::count_if(medians.begin(), medians.end(), is)) / 40000.0;
        };
        constexpr double noise = 0.004; // of 40000 draws, several standard deviations
        EXPECT_GE(part([&](double median) { return median <= interval.low; }), 0.025 - noise) << n;
        EXPECT_LE(part([&](double median) { return median < interval.low; }), 0.025 + noise) << n;
        EXPECT_GE(part([&](double median) { return median <= interval.high; }), 0.975 - noise) << n;
        EXPECT_LE(part([&](double median) { return median < interval.high; }), 0.975 + noise) << n;
    }
}

TEST(Statistics, IntervalHoldsTheMedianAndIsTheSameEachTime) {
    SplitMix64 random(3);
    for (std::size_t n = 1; n <= 40; ++n) {
        std::vector<double> values = normals(random, n);
        const Interval interval = median_interval(values);
        EXPECT_LE(interval.low, median_of(values));
        EXPECT_GE(interval.high, median_of(values));
        std::reverse(values.begin(), values.end());
        EXPECT_EQ(median_interval(values).low, interval.low) << "the order of samples does not matter";
    }
    const Interval huge = median_interval(std::vector<double>(300000, 2.0));
    EXPECT_EQ(huge.low, 2.0);
    EXPECT_EQ(huge.high, 2.0);
}

TEST(Statistics, IntervalCoversTheTruth95TimesInAHundred) {
    SplitMix64 random(4);
    constexpr int trials = 4000;
    for (const std::size_t n : {15u, 51u}) {
        int held = 0;
        double width = 0.0;
        for (int i = 0; i < trials; ++i) {
            const Interval interval = median_interval(normals(random, n));
            held += interval.low <= 100.0 && interval.high >= 100.0;
            width += (interval.high - interval.low) / trials;
        }
        EXPECT_GE(held, 0.93 * trials) << n;
        EXPECT_LE(held, 0.98 * trials) << n;
        EXPECT_NEAR(width, 2.0 * 1.96 * 1.2533 / std::sqrt(static_cast<double>(n)), 0.25 * width) << n;
    }
}

TEST(Statistics, BootstrapOfOnePointIsTheMediansInterval) {
    SplitMix64 random(5);
    const std::vector<double> values = normals(random, 25);
    const auto median = [](const std::vector<double> &medians) { return std::optional(medians[0]); };
    const std::optional<Interval> drawn = bootstrap_interval({values}, median);
    ASSERT_TRUE(drawn);
    EXPECT_EQ(drawn->low, median_interval(values).low);
    EXPECT_EQ(drawn->high, median_interval(values).high);
    EXPECT_EQ(bootstrap_interval({values}, median)->low, drawn->low);
    EXPECT_FALSE(bootstrap_interval({values, {}}, median));
}

TEST(Statistics, BootstrapOfARatioCoversTheTruth) {
    SplitMix64 random(6);
    constexpr int trials = 300;
    int held = 0;
    for (int i = 0; i < trials; ++i) {
        const std::optional<Interval> interval = bootstrap_interval(
            {normals(random, 15), normals(random, 15)},
            [](const std::vector<double> &medians) { return std::optional(medians[0] / medians[1]); });
        held += interval->low <= 1.0 && interval->high >= 1.0;
    }
    EXPECT_GE(held, 0.91 * trials);
    EXPECT_LE(held, 0.995 * trials);
}

TEST(Statistics, AnAnswerThatOftenFailsHasNoInterval) {
    SplitMix64 random(7);
    const std::vector<double> values = normals(random, 15);
    const double low = spread_of(values).p05, middle = median_of(values);
    const auto above = [](double least) {
        return [least](const std::vector<double> &medians) {
            return medians[0] > least ? std::optional(medians[0]) : std::nullopt;
        };
    };
    EXPECT_TRUE(bootstrap_interval({values}, above(low)));
    EXPECT_FALSE(bootstrap_interval({values}, above(middle)));
}

TEST(Statistics, Plateaus) {
    const std::vector<double> y = {10, 10.1, 9.9, 30, 10, 10.2, 20, 40, 60, 61, 60, 62, 80, 100, 101, 99};
    const std::vector<Plateau> found = plateaus_of(y, 0.08, 3);
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0].first, 0u);
    EXPECT_EQ(found[0].last, 2u) << "two points after an outlier are no run of three";
    EXPECT_EQ(found[0].level, 10.0);
    EXPECT_EQ(found[1].first, 8u);
    EXPECT_EQ(found[1].last, 11u);
    EXPECT_EQ(found[2].level, 100.0);
    EXPECT_EQ(knee_after(y, found[0], found[1].level, 0.15), 5u) << "past the outlier";
    EXPECT_EQ(knee_after(y, found[0], found[1].level, 0.25), 6u);
    EXPECT_EQ(knee_after(y, found[1], found[2].level, 0.5), 12u);
    EXPECT_TRUE(plateaus_of({1, 2, 4, 8, 16}, 0.08, 2).empty());
    EXPECT_TRUE(plateaus_of({}, 0.08, 2).empty());
    const std::vector<Plateau> parted = plateaus_of({5, 5, 5, 9, 5, 5, 5}, 0.08, 3);
    ASSERT_EQ(parted.size(), 1u) << "an outlier does not part a plateau";
    EXPECT_EQ(parted[0].last, 6u);
}

TEST(Statistics, SixDigitsAndPowersOfTwo) {
    EXPECT_EQ(six_digits(1.23456749), 1.23457);
    EXPECT_EQ(six_digits(4640669316028.2), 4640670000000.0);
    EXPECT_EQ(six_digits(32.0), 32.0);
    EXPECT_EQ(power_of_two_near(36.0, 0.15), 32.0);
    EXPECT_EQ(power_of_two_near(60.0, 0.15), 64.0);
    EXPECT_FALSE(power_of_two_near(48.0, 0.15));
    EXPECT_FALSE(power_of_two_near(0.0, 0.15));
    EXPECT_FALSE(power_of_two_near(std::nan(""), 0.15));
    EXPECT_TRUE(power_of_two_near(64.0, 0.0));
    EXPECT_FALSE(power_of_two_near(64.1, 0.0));
}

// ---- fits ----

FlightCurve curve(double latency_s, double bandwidth, double p, double noise, std::uint64_t seed) {
    SplitMix64 random(seed);
    FlightCurve made;
    for (double over_little = 0.07; over_little < 10.0; over_little *= 1.42) { // 15 points
        const double bytes = over_little * latency_s * bandwidth;
        made.bytes_in_flight.push_back(bytes);
        made.bandwidth.push_back(planted::bandwidth_in_flight(bytes, latency_s, bandwidth, p) *
                                 (1.0 + noise * normal(random)));
    }
    return made;
}

TEST(Fits, ThreeNumbersOfACurveAreRecovered) {
    for (const double p : {1.0, 1.9, 3.0, 6.0})
        for (const double latency : {50e-9, 400e-9, 2e-6})
            for (const double bandwidth : {2e10, 4e12}) {
                const auto outcome = fit_flight(curve(latency, bandwidth, p, 0.0, 1));
                ASSERT_TRUE(std::holds_alternative<FlightFit>(outcome)) << std::get<std::string>(outcome);
                const FlightFit &fit = std::get<FlightFit>(outcome);
                EXPECT_NEAR(fit.latency_s, latency, 2e-5 * latency);
                EXPECT_NEAR(fit.bandwidth, bandwidth, 2e-5 * bandwidth);
                EXPECT_NEAR(fit.exponent, p, 2e-5 * p);
                EXPECT_LT(fit.worst_error, 2e-5);
                EXPECT_NEAR(fit.paper_bytes, latency * bandwidth, 1e-4 * latency * bandwidth);
                for (const auto &[part, bytes] :
                     {std::pair{0.90, fit.bytes_for_90}, {0.95, fit.bytes_for_95}})
                    EXPECT_NEAR(bytes / time_in_flight(bytes, fit.latency_s, fit.bandwidth, fit.exponent),
                                part * fit.bandwidth, 1e-5 * bandwidth);
            }
}

TEST(Fits, NoiseOfThreePercentStaysNoise) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        const auto outcome = fit_flight(curve(400e-9, 4.7e12, 2.2, 0.03, seed));
        ASSERT_TRUE(std::holds_alternative<FlightFit>(outcome)) << std::get<std::string>(outcome);
        const FlightFit &fit = std::get<FlightFit>(outcome);
        EXPECT_NEAR(fit.latency_s, 400e-9, 0.08 * 400e-9) << seed;
        EXPECT_NEAR(fit.bandwidth, 4.7e12, 0.08 * 4.7e12) << seed;
        EXPECT_NEAR(fit.exponent, 2.2, 0.9) << seed;
        EXPECT_LT(fit.worst_error, 0.12) << seed;
    }
}

std::string why_no_fit(const FlightCurve &points) {
    const auto outcome = fit_flight(points);
    return std::holds_alternative<std::string>(outcome) ? std::get<std::string>(outcome) : "fitted";
}

TEST(Fits, WhatDoesNotDetermineTheCurveIsNotFitted) {
    EXPECT_THAT(why_no_fit({{1e5, 1e6, 1e7}, {1e11, 1e12, 4e12}, {}}), HasSubstr("3 points"));
    EXPECT_THAT(why_no_fit(curve(400e-9, 4e12, 40.0, 0.0, 1)), HasSubstr("no exponent between 0.5 and 20"));
    FlightCurve half = curve(400e-9, 4e12, 2.0, 0.0, 1);
    half.bytes_in_flight.resize(7); // all latency, no bandwidth
    half.bandwidth.resize(7);
    EXPECT_THAT(why_no_fit(half), HasSubstr("do not reach"));
    FlightCurve wild = curve(400e-9, 4e12, 2.0, 0.0, 1);
    for (std::size_t i = 0; i < wild.bandwidth.size(); i += 2)
        wild.bandwidth[i] *= 3.0;
    EXPECT_NE(why_no_fit(wild), "fitted");
    for (const double odd : {1e-300, 1e300}) { // nothing overflows into a fit
        FlightCurve hostile = curve(400e-9, 4e12, 2.0, 0.0, 1);
        hostile.bandwidth[3] = odd;
        EXPECT_NE(why_no_fit(hostile), "fitted");
    }
}

TEST(Fits, KneeExponentWithKnownEnds) {
    for (const double p : {1.0, 1.9, 6.0}) {
        const auto found = fit_knee_exponent(curve(3e-7, 4e12, p, 0.0, 1), Seconds(3e-7), Bandwidth(4e12));
        ASSERT_TRUE(found);
        EXPECT_NEAR(*found, p, 1e-5 * p);
    }
    EXPECT_FALSE(fit_knee_exponent(curve(3e-7, 4e12, 25.0, 0.0, 1), Seconds(3e-7), Bandwidth(4e12)));
    EXPECT_FALSE(fit_knee_exponent({{1, 2, 3}, {1, 2, 3}, {}}, Seconds(3e-7), Bandwidth(4e12)));
}

TEST(Fits, Lines) {
    const std::optional<Line> line = fit_line({1, 2, 3, 5}, {5, 7, 9, 13});
    ASSERT_TRUE(line);
    EXPECT_DOUBLE_EQ(line->slope, 2.0);
    EXPECT_DOUBLE_EQ(line->intercept, 3.0);
    EXPECT_DOUBLE_EQ(line->r_squared, 1.0);
    EXPECT_LT(fit_line({1, 2, 3, 4}, {1, 9, 2, 8})->r_squared, 0.5);
    EXPECT_FALSE(fit_line({0.1, 0.1, 0.1}, {1, 2, 3}));
    EXPECT_FALSE(fit_line({}, {}));
}

TEST(Fits, ConflictDegrees) {
    EXPECT_EQ(conflict_degree(1, 4, 32), 1);
    EXPECT_EQ(conflict_degree(2, 4, 32), 2);
    EXPECT_EQ(conflict_degree(3, 4, 32), 1);
    EXPECT_EQ(conflict_degree(32, 4, 32), 32);
    EXPECT_EQ(conflict_degree(2, 8, 32), 1);
    EXPECT_EQ(conflict_degree(4, 8, 32), 2);
    EXPECT_EQ(conflict_degree(64, 8, 32), 32);
}

} // namespace
} // namespace convcast
