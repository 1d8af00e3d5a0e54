// Networks node by node: which launches are of one row, and what they add up to.
#include "model/machine/profile.hpp"
#include "model/network/compare_networks.hpp"
#include "model/network/forecast.hpp"
#include "model/network/network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

NetworkLaunch launch_like(std::vector<std::string> operators, double us,
                          LaunchKind kind = LaunchKind::elementwise, const std::string &shape = "") {
    NetworkLaunch out;
    out.kind = kind;
    out.operators = std::move(operators);
    out.time_s = Seconds(us * 1e-6);
    if (!shape.empty())
        out.shape = shape;
    return out;
}

NetworkRun network_run_of(std::vector<NetworkLaunch> launches) {
    NetworkRun run;
    run.network = "net";
    NetworkCase &item = run.cases.emplace_back();
    Seconds time;
    for (const NetworkLaunch &one : launches)
        time += one.time_s;
    item.forecast.emplace().time_s = time;
    item.launches = std::move(launches);
    return run;
}

std::vector<std::string> row_names(const ComparedFiles &found) {
    std::vector<std::string> names;
    for (const ComparedRow &row : found.rows)
        names.push_back(row.name);
    return names;
}

TEST(CompareNetworks, LaunchesOfTheSameOperatorsAreOneRowHoweverTheyAreFused) {
    const NetworkRun fused = network_run_of(
                         {launch_like({"conv1", "bias1", "relu1"}, 10), launch_like({"pool1"}, 2)}),
                     apart = network_run_of({launch_like({"conv1", "bias1"}, 8), launch_like({"relu1"}, 3),
                                             launch_like({"pool1"}, 2)});
    const ComparedFiles found = compare_networks(fused, "f", apart, "a", 0.03);
    ASSERT_EQ(found.rows.size(), 2U);
    EXPECT_NEAR(*found.rows[0].ratio, 1.1, 1e-12);
    EXPECT_EQ(found.rows[0].verdict, ComparedVerdict::slower);
    EXPECT_EQ(found.rows[1].verdict, ComparedVerdict::same);
    EXPECT_NEAR(*found.total->ratio, 13.0 / 12.0, 1e-12);
    const ComparedFiles back = compare_networks(apart, "a", fused, "f", 0.03);
    ASSERT_EQ(back.rows.size(), 2U);
    EXPECT_EQ(back.rows[0].verdict, ComparedVerdict::faster);
}

TEST(CompareNetworks, WithoutNamesByKindAndShapeInOrder) {
    const LaunchKind conv = LaunchKind::convolution;
    const std::string small = "n1c8h8w8k8r3s3", large = "n1c8h16w16k8r3s3";
    const NetworkRun before = network_run_of({launch_like({"a1"}, 1, conv, large),
                                              launch_like({"a2"}, 2, conv, small),
                                              launch_like({"a3"}, 3, conv, small)}),
                     after = network_run_of({launch_like({"b1"}, 2, conv, large),
                                             launch_like({"b2"}, 5, conv, "n1c1h8w8k8r1s1"),
                                             launch_like({"b3"}, 2, conv, small)});
    const ComparedFiles found = compare_networks(before, "b", after, "a", 0.03);
    EXPECT_THAT(row_names(found), testing::ElementsAre("a1 -> b1", "b2", "a2 -> b3", "a3"));
    EXPECT_EQ(found.rows[1].only, 1);
    EXPECT_EQ(found.rows[3].only, 0);
    EXPECT_EQ(found.rows[3].verdict, ComparedVerdict::lacking);
    EXPECT_FALSE(found.rows[3].ratio);
    EXPECT_EQ(found.rows[2].verdict, ComparedVerdict::same);
}

TEST(CompareNetworks, MeasuredWhereBothRanAndForecastElse) {
    const auto ran = [](double us) {
        NetworkRun run = network_run_of({launch_like({"a"}, 10)});
        const TimeSpread time = {Seconds(us * 1e-6), Seconds(us * 0.99e-6), Seconds(us * 1.01e-6), 100};
        run.first().launches[0].measured.emplace().time_s = time;
        run.first().traced.emplace().graph_s = time;
        return run;
    };
    const ComparedFiles both = compare_networks(ran(10), "b", ran(12), "a", 0.03);
    EXPECT_EQ(both.values, "measured");
    EXPECT_EQ(both.rows[0].verdict, ComparedVerdict::slower);
    EXPECT_NEAR(*both.total->ratio, 1.2, 1e-9);
    EXPECT_LT(*both.rows[0].ratio_low, 1.2);
    const ComparedFiles one =
        compare_networks(ran(10), "b", network_run_of({launch_like({"a"}, 10)}), "a", 0.03);
    EXPECT_EQ(one.values, "forecast");
    EXPECT_EQ(one.rows[0].verdict, ComparedVerdict::same);
}

TEST(CompareNetworks, CasesThatAreNotOfASchedule) {
    const auto ladder = [](const std::vector<std::pair<std::string, double>> &times, bool ran) {
        NetworkRun run;
        run.network = "net";
        for (const auto &[id, us] : times) {
            NetworkCase &item = run.cases.emplace_back();
            item.id = id;
            item.forecast.emplace().time_s = Seconds(us * 1e-6);
            if (!ran)
                continue;
            NetworkTimes &measured = item.measured.emplace();
            measured.time_s = Seconds(us * 2e-6);
            measured.low_s = Seconds(us * 1.98e-6), measured.high_s = Seconds(us * 2.02e-6);
            measured.samples = 100;
        }
        return run;
    };
    const ComparedFiles found = compare_networks(ladder({{"naive", 10}, {"batch", 4}}, true), "b",
                                                 ladder({{"batch", 5}, {"constant", 3}}, true), "a", 0.03);
    EXPECT_THAT(row_names(found), testing::ElementsAre("naive", "batch", "constant"));
    EXPECT_EQ(found.values, "measured");
    EXPECT_EQ(found.rows[0].only, 0);
    EXPECT_EQ(found.rows[2].only, 1);
    EXPECT_NEAR(*found.rows[1].values[0].value, 8e-6, 1e-12);
    EXPECT_EQ(found.rows[1].verdict, ComparedVerdict::slower);
    EXPECT_FALSE(found.total);
    const ComparedFiles forecast =
        compare_networks(ladder({{"batch", 4}}, true), "b", ladder({{"batch", 4}}, false), "a", 0.03);
    EXPECT_EQ(forecast.values, "forecast");
    EXPECT_EQ(forecast.rows[0].verdict, ComparedVerdict::same);
}

TEST(CompareNetworks, TheRowsOfAForecastAddUpToItsTotal) {
    NetworkQuestion question;
    question.what_if = false;
    const Network network = find_network("resnet18");
    const NetworkRun h200 = plan_network(network, find_profile("h200"), {}, question).forecast,
                     old = plan_network(network, find_profile("gtx1080ti"), {}, question).forecast;
    const ComparedFiles found = compare_networks(h200, "h200", old, "gtx1080ti", 0.03);
    for (std::size_t side = 0; side < 2; ++side) {
        double sum = 0.0;
        for (const ComparedRow &row : found.rows)
            sum += row.values[side].value.value_or(0.0);
        EXPECT_NEAR(sum, *found.total->values[side].value, 1e-9 * sum);
    }
    for (const ComparedRow &row : found.rows)
        EXPECT_FALSE(row.only) << row.name << ": one network on two GPUs has the same nodes";
}

} // namespace
} // namespace convcast
