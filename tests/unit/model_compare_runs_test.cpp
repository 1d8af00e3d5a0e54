// Two runs side by side, with intervals worked out by hand.
#include "model/record/compare_runs.hpp"
#include "tests/unit/recorded_cases.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace convcast {
namespace {

constexpr const char *shape = "n1c64h56w56k64r3s3";

/// In microseconds.
Case measured(const std::string &strategy, double median, std::vector<double> samples) {
    for (double &sample : samples)
        sample *= 1e-6;
    return measured_case(shape, strategy, median * 1e-6, samples);
}

/// What computes the rows that only this file has; of both, -1: that have a ratio.
std::vector<std::string> only_in(const ComparedFiles &found, int file) {
    std::vector<std::string> names;
    for (const ComparedRow &row : found.rows)
        if (file < 0 ? row.ratio.has_value() : row.only == file)
            names.push_back(row.values.at(file < 0 ? 1U : static_cast<std::size_t>(file)).by.value_or(""));
    return names;
}

TEST(CompareRuns, TheIntervalOfAMedianIsOfOrderStatistics) {
    // A binomial B(n, 1/2) has P(B < 1) = 1/32 for five samples and 1/64 for six.
    EXPECT_FALSE(median_value(3.0, {1, 2, 3, 4, 5}).low);
    const ComparedValue six = median_value(3.5, {6, 1, 3, 4, 2, 5});
    EXPECT_DOUBLE_EQ(*six.low, 1.0);
    EXPECT_DOUBLE_EQ(*six.high, 6.0);
    // Of eleven, P(B < 2) = 12/2048 and P(B < 3) = 67/2048: one sample on each side is left out.
    const ComparedValue eleven = median_value(6.0, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    EXPECT_DOUBLE_EQ(*eleven.low, 2.0);
    EXPECT_DOUBLE_EQ(*eleven.high, 10.0);
    std::vector<double> many;
    for (int i = 1; i <= 10000; ++i)
        many.push_back(i);
    // 5000 - 1.96 * 50 samples are outside.
    EXPECT_DOUBLE_EQ(*median_value(5000.0, many).low, 4902.0);
}

TEST(CompareRuns, TheIntervalOfARatioHasBothErrors) {
    const convcast::Run before = run_of({measured("a", 10, {9, 9, 10, 10, 11, 11})}),
                        after = run_of({measured("a", 20, {16, 19, 20, 20, 21, 22})});
    const ComparedRow found = compare_runs(before, "b", after, "a", {}).rows.at(0);
    EXPECT_EQ(found.verdict, ComparedVerdict::slower);
    EXPECT_DOUBLE_EQ(*found.ratio, 2.0);
    EXPECT_NEAR(*found.ratio_low, 2.0 * std::exp(-std::hypot(std::log(11.0 / 10.0), std::log(20.0 / 16.0))),
                1e-12);
    EXPECT_NEAR(*found.ratio_high, 2.0 * std::exp(std::hypot(std::log(10.0 / 9.0), std::log(22.0 / 20.0))),
                1e-12);
}

TEST(CompareRuns, EachVerdict) {
    const std::vector<double> tight = {10, 10, 10, 10, 10, 10};
    Case broken = measured("broken", 10, tight), mended = broken;
    broken.status = Status::wrong_result;
    mended.strategy = "mended";
    const convcast::Run before =
        run_of({measured("same", 10, tight), measured("slower", 10, tight), measured("faster", 10, tight),
                measured("unsure", 10, tight), measured("few", 10, {10, 10}), measured("broken", 10, tight),
                [&] {
                    Case item = measured("mended", 10, tight);
                    item.status = Status::failed;
                    return item;
                }(),
                measured("gone", 10, tight)});
    const convcast::Run after =
        run_of({measured("same", 10.1, {10.1, 10.1, 10.1, 10.1, 10.1, 10.1}),
                measured("slower", 10.5, {10.5, 10.5, 10.5, 10.5, 10.5, 10.5}),
                measured("faster", 9, {9, 9, 9, 9, 9, 9}), measured("unsure", 10.5, {9, 10, 10, 11, 11, 12}),
                measured("few", 20, {20, 20}), broken, mended, measured("new", 10, tight)});
    CompareRunsOptions options;
    options.fail_over = 0.06;
    ComparedFiles found = compare_runs(before, "b", after, "a", options);
    const auto verdict = [&](const std::string &strategy) {
        for (const ComparedRow &item : found.rows)
            if (item.values.at(1).by == strategy)
                return item.verdict;
        return ComparedVerdict::lacking;
    };
    EXPECT_EQ(verdict("same"), ComparedVerdict::same);
    EXPECT_EQ(verdict("slower"), ComparedVerdict::slower);
    EXPECT_EQ(verdict("faster"), ComparedVerdict::faster);
    EXPECT_EQ(verdict("unsure"), ComparedVerdict::unsure);
    EXPECT_EQ(verdict("few"), ComparedVerdict::unsure);
    EXPECT_EQ(verdict("broken"), ComparedVerdict::broken);
    EXPECT_EQ(verdict("mended"), ComparedVerdict::mended);
    EXPECT_EQ(only_in(found, 0), std::vector<std::string>{"gone"});
    EXPECT_EQ(only_in(found, 1), std::vector<std::string>{"new"});
    EXPECT_FALSE(found.passed) << "a broken case fails";

    convcast::Run slower_only = run_of({after.cases[1]});
    EXPECT_TRUE(compare_runs(before, "b", slower_only, "a", options).passed) << "5 % is not over 6 %";
    options.fail_over = 0.04;
    EXPECT_FALSE(compare_runs(before, "b", slower_only, "a", options).passed);
    options.fail_over = std::nullopt;
    EXPECT_TRUE(compare_runs(before, "b", after, "a", options).passed) << "nothing was asked";
}

TEST(CompareRuns, FailsOnlyWhereAKernelIsSurelySlower) {
    const std::vector<double> tight = {10, 10, 10, 10, 10, 10};
    const convcast::Run before = run_of({measured("a", 10, tight)});
    CompareRunsOptions options;
    options.fail_over = 0.05;
    // 8 % slower in the median, but it may be 4 %.
    const convcast::Run wide = run_of({measured("a", 10.8, {10.4, 10.8, 10.8, 10.8, 10.8, 11.2})});
    EXPECT_EQ(compare_runs(before, "b", wide, "a", options).rows.at(0).verdict, ComparedVerdict::slower);
    EXPECT_TRUE(compare_runs(before, "b", wide, "a", options).passed);
    const std::vector<double> slow = {12, 12, 12, 12, 12, 12};
    EXPECT_FALSE(compare_runs(before, "b", run_of({measured("a", 12, slow)}), "a", options).passed);

    const auto as_baseline = [](Case item) {
        item.strategy.reset();
        item.baseline = "cudnn:gemm";
        return item;
    };
    const ComparedFiles library = compare_runs(run_of({as_baseline(measured("a", 10, tight))}), "b",
                                               run_of({as_baseline(measured("a", 12, slow))}), "a", options);
    EXPECT_EQ(library.rows.at(0).verdict, ComparedVerdict::slower);
    EXPECT_TRUE(library.passed) << "a library is not what was changed";

    Case host = measured("a", 12, slow);
    host.measurements.front().host_time_samples = 2;
    const ComparedFiles inside = compare_runs(before, "b", run_of({host}), "a", options);
    EXPECT_EQ(inside.rows.at(0).verdict, ComparedVerdict::unsure);
    EXPECT_THAT(inside.rows.at(0).reason.value_or(""), testing::HasSubstr("2 of the samples"));
    EXPECT_TRUE(inside.passed);
}

TEST(CompareRuns, NothingComparedHasNotPassed) {
    const std::vector<double> tight = {10, 10, 10, 10, 10, 10};
    CompareRunsOptions options;
    EXPECT_TRUE(compare_runs(run_of({}), "b", run_of({}), "a", options).passed) << "nothing was asked";
    options.fail_over = 0.05;
    EXPECT_FALSE(compare_runs(run_of({}), "b", run_of({}), "a", options).passed);
    const convcast::Run one = run_of({measured("a", 10, tight)});
    EXPECT_FALSE(compare_runs(one, "b", run_of({measured("c", 10, tight)}), "a", options).passed);
    Case untimed = one.cases.front();
    untimed.measurements.clear();
    const ComparedFiles found = compare_runs(one, "b", run_of({untimed}), "a", options);
    EXPECT_EQ(found.why, "no case has a time in both");
    EXPECT_FALSE(found.passed);
}

TEST(CompareRuns, TheFastestSettingOfEachStrategyOrShape) {
    const auto at = [](const std::string &strategy, double us) {
        return measured(strategy, us, {us, us, us, us, us, us});
    };
    const convcast::Run before = run_of({at("a:x=1", 12), at("a:x=2", 10), at("b:y=1", 9),
                                         at("implicit_gemm_3xtf32:z=1", 1)}),
                        after = run_of({at("a:x=3", 11), at("a:x=1", 13), at("b:y=2", 8),
                                        at("implicit_gemm_3xtf32:z=2", 2)});
    CompareRunsOptions options;
    EXPECT_EQ(only_in(compare_runs(before, "b", after, "a", options), -1), std::vector<std::string>{"a:x=1"});
    options.by = CompareBy::strategy;
    const ComparedFiles strategies = compare_runs(before, "b", after, "a", options);
    ASSERT_EQ(strategies.rows.size(), 3U);
    EXPECT_EQ(only_in(strategies, -1).size(), 3U);
    for (const ComparedRow &item : strategies.rows)
        if (item.values.at(1).by == "a:x=3") {
            EXPECT_EQ(item.values.at(0).by, "a:x=2");
            EXPECT_DOUBLE_EQ(*item.ratio, 1.1);
        }
    options.by = CompareBy::shape;
    const ComparedFiles shapes = compare_runs(before, "b", after, "a", options);
    ASSERT_EQ(shapes.rows.size(), 1U) << "tensor cores are left out";
    EXPECT_EQ(shapes.rows[0].values.at(1).by, "b:y=2");
    EXPECT_DOUBLE_EQ(*shapes.rows[0].ratio, 8.0 / 9.0);
}

TEST(CompareRuns, ForecastsWhereNothingWasMeasured) {
    Case one = case_of(shape, "a");
    one.prediction.emplace().time_s = Seconds(1e-5);
    Case other = one;
    other.prediction->time_s = Seconds(1.2e-5);
    const ComparedFiles found = compare_runs(run_of({one}), "b", run_of({other}), "a", {});
    EXPECT_EQ(found.values, "forecast");
    EXPECT_EQ(found.rows.at(0).verdict, ComparedVerdict::slower);
}

TEST(CompareRuns, WhatDiffersIsNamedWithTheGpuFirst) {
    convcast::Run before = run_of({}), after = run_of({});
    before.conditions = {{"gpu", "NVIDIA H200"}, {"driver_cuda", "13.0"}, {"date", "a"}};
    after.conditions = {{"gpu", "NVIDIA H100"}, {"driver_cuda", "13.0"}, {"date", "b"}};
    before.producer.version = "1";
    after.producer.version = "2";
    const ComparedFiles found = compare_runs(before, "b", after, "a", {});
    ASSERT_EQ(found.differences.size(), 2U);
    EXPECT_EQ(found.differences[0].name, "gpu");
    EXPECT_EQ(found.differences[1].name, "convcast version");
}

} // namespace
} // namespace convcast
