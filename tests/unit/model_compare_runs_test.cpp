// Two runs side by side, with intervals worked out by hand.
#include "model/record/compare_runs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace convcast {
namespace {

constexpr const char *shape = "n1c64h56w56k64r3s3";

std::vector<Seconds> times(const std::vector<double> &microseconds) {
    std::vector<Seconds> out;
    for (const double us : microseconds)
        out.emplace_back(us * 1e-6);
    return out;
}

Case measured(const std::string &strategy, double median, const std::vector<double> &samples) {
    Case item;
    item.shape = shape;
    item.strategy = strategy;
    item.status = Status::ok;
    Measurement m;
    m.time_s = Seconds(median * 1e-6);
    m.samples_s = times(samples);
    item.measurements.push_back(m);
    return item;
}

convcast::Run run_of(std::vector<Case> cases) {
    convcast::Run run;
    run.profile_id = "h200";
    run.cases = std::move(cases);
    return run;
}

TEST(CompareRuns, TheIntervalOfAMedianIsOfOrderStatistics) {
    // A binomial B(n, 1/2) has P(B < 1) = 1/32 for five samples and 1/64 for six.
    EXPECT_FALSE(median_time(Seconds(3e-6), times({1, 2, 3, 4, 5})).low_s);
    const MedianTime six = median_time(Seconds(3.5e-6), times({6, 1, 3, 4, 2, 5}));
    EXPECT_DOUBLE_EQ(six.low_s->value, 1e-6);
    EXPECT_DOUBLE_EQ(six.high_s->value, 6e-6);
    // Of eleven, P(B < 2) = 12/2048 and P(B < 3) = 67/2048: one sample on each side is left out.
    const MedianTime eleven = median_time(Seconds(6e-6), times({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
    EXPECT_DOUBLE_EQ(eleven.low_s->value, 2e-6);
    EXPECT_DOUBLE_EQ(eleven.high_s->value, 10e-6);
    std::vector<Seconds> many;
    for (int i = 1; i <= 10000; ++i)
        many.emplace_back(i * 1e-9);
    // 5000 - 1.96 * 50 samples are outside.
    EXPECT_DOUBLE_EQ(median_time(Seconds(5e-6), many).low_s->value, 4902e-9);
}

TEST(CompareRuns, TheIntervalOfARatioHasBothErrors) {
    const convcast::Run before = run_of({measured("a", 10, {9, 9, 10, 10, 11, 11})}),
                        after = run_of({measured("a", 20, {16, 19, 20, 20, 21, 22})});
    const ComparedCase found = compare_runs(before, "b", after, "a", {}).cases.at(0);
    EXPECT_EQ(found.verdict, CaseVerdict::slower);
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
    RunComparison found = compare_runs(before, "b", after, "a", options);
    const auto verdict = [&](const std::string &strategy) {
        for (const ComparedCase &item : found.cases)
            if (item.strategy == strategy)
                return item.verdict;
        return CaseVerdict::untimed;
    };
    EXPECT_EQ(verdict("same"), CaseVerdict::same);
    EXPECT_EQ(verdict("slower"), CaseVerdict::slower);
    EXPECT_EQ(verdict("faster"), CaseVerdict::faster);
    EXPECT_EQ(verdict("unsure"), CaseVerdict::unsure);
    EXPECT_EQ(verdict("few"), CaseVerdict::unsure);
    EXPECT_EQ(verdict("broken"), CaseVerdict::broken);
    EXPECT_EQ(verdict("mended"), CaseVerdict::mended);
    EXPECT_EQ(found.only_before, std::vector<std::string>{std::string(shape) + "  gone"});
    EXPECT_EQ(found.only_after, std::vector<std::string>{std::string(shape) + "  new"});
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
    EXPECT_EQ(compare_runs(before, "b", wide, "a", options).cases.at(0).verdict, CaseVerdict::slower);
    EXPECT_TRUE(compare_runs(before, "b", wide, "a", options).passed);
    const std::vector<double> slow = {12, 12, 12, 12, 12, 12};
    EXPECT_FALSE(compare_runs(before, "b", run_of({measured("a", 12, slow)}), "a", options).passed);

    const auto as_baseline = [](Case item) {
        item.strategy.reset();
        item.baseline = "cudnn:gemm";
        return item;
    };
    const RunComparison library = compare_runs(run_of({as_baseline(measured("a", 10, tight))}), "b",
                                               run_of({as_baseline(measured("a", 12, slow))}), "a", options);
    EXPECT_EQ(library.cases.at(0).verdict, CaseVerdict::slower);
    EXPECT_TRUE(library.passed) << "a library is not what was changed";

    Case host = measured("a", 12, slow);
    host.measurements.front().host_time_samples = 2;
    const RunComparison inside = compare_runs(before, "b", run_of({host}), "a", options);
    EXPECT_EQ(inside.cases.at(0).verdict, CaseVerdict::unsure);
    EXPECT_THAT(inside.cases.at(0).reason.value_or(""), testing::HasSubstr("2 of the samples"));
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
    const RunComparison found = compare_runs(one, "b", run_of({untimed}), "a", options);
    EXPECT_EQ(found.timed, 0);
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
    EXPECT_EQ(compare_runs(before, "b", after, "a", options).cases.size(), 1U);
    options.by = CompareBy::strategy;
    const RunComparison strategies = compare_runs(before, "b", after, "a", options);
    ASSERT_EQ(strategies.cases.size(), 3U);
    EXPECT_EQ(strategies.timed, 3);
    EXPECT_TRUE(strategies.only_before.empty() && strategies.only_after.empty());
    for (const ComparedCase &item : strategies.cases)
        if (item.strategy == "a:x=3") {
            EXPECT_EQ(item.strategy_before, "a:x=2");
            EXPECT_DOUBLE_EQ(*item.ratio, 1.1);
        }
    options.by = CompareBy::shape;
    const RunComparison shapes = compare_runs(before, "b", after, "a", options);
    ASSERT_EQ(shapes.cases.size(), 1U) << "tensor cores are left out";
    EXPECT_EQ(shapes.cases[0].strategy, "b:y=2");
    EXPECT_DOUBLE_EQ(*shapes.cases[0].ratio, 8.0 / 9.0);
}

TEST(CompareRuns, ForecastsWhereNothingWasMeasured) {
    Case one;
    one.shape = shape;
    one.strategy = "a";
    one.status = Status::ok;
    one.prediction.emplace().time_s = Seconds(1e-5);
    Case other = one;
    other.prediction->time_s = Seconds(1.2e-5);
    const RunComparison found = compare_runs(run_of({one}), "b", run_of({other}), "a", {});
    EXPECT_EQ(found.times, "forecast");
    EXPECT_EQ(found.cases.at(0).verdict, CaseVerdict::slower);
}

TEST(CompareRuns, WhatDiffersIsNamedWithTheGpuFirst) {
    convcast::Run before = run_of({}), after = run_of({});
    before.conditions = {{"gpu", "NVIDIA H200"}, {"driver_cuda", "13.0"}, {"date", "a"}};
    after.conditions = {{"gpu", "NVIDIA H100"}, {"driver_cuda", "13.0"}, {"date", "b"}};
    before.producer.version = "1";
    after.producer.version = "2";
    const RunComparison found = compare_runs(before, "b", after, "a", {});
    ASSERT_EQ(found.differences.size(), 2U);
    EXPECT_EQ(found.differences[0].what, "gpu");
    EXPECT_EQ(found.differences[1].what, "convcast version");
}

} // namespace
} // namespace convcast
