// Training split over several GPUs: who has what, what it costs by the profile, and what is refused.
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/machine/assume.hpp"
#include "model/machine/machine.hpp"
#include "model/network/rung_forecast.hpp"
#include "model/network/scaling_forecast.hpp"
#include "tests/unit/recorded_networks.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace convcast;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

namespace {

TEST(EquationSc1, TwoHalvesAreThoseOfTheThesis) {
    const std::vector<RowShare> halves = row_shares(find_network("mnist"), 2);
    // (14): (28 - 5 + 1) / 2 + 5 - 1 = 16, (15): 16 - 5 + 1 = 12
    EXPECT_EQ(halves[0].first_row, 0);
    EXPECT_EQ(halves[0].last_row, 16);
    EXPECT_EQ(halves[1].first_row, 12);
    EXPECT_EQ(halves[1].last_row, 28);
}

TEST(EquationSc1, AnyNumberOfGpusHasEachWindowOnce) {
    const Network mnist = find_network("mnist");
    for (int devices = 1; devices <= 6; ++devices) {
        std::int64_t next = 0;
        for (const RowShare &share : row_shares(mnist, devices)) {
            EXPECT_EQ(share.first_window, next);
            EXPECT_EQ(share.last_row - share.first_row, 4 * share.windows() + 4); // four of the halo
            next = share.last_window;
        }
        EXPECT_EQ(next, 6);
    }
    const std::vector<RowShare> four = row_shares(mnist, 4); // 6 rows do not divide
    EXPECT_EQ(four[0].windows(), 2);
    EXPECT_EQ(four[1].windows(), 2);
    EXPECT_EQ(four[2].windows(), 1);
    EXPECT_EQ(four[3].windows(), 1);
    EXPECT_THAT([&] { row_shares(mnist, 7); },
                ThrowsMessage<UsageError>(
                    AllOf(HasSubstr("6 rows"), HasSubstr("7 GPUs"), HasSubstr("split the batch"))));
    EXPECT_THAT([] { row_shares(find_network("resnet18"), 2); },
                ThrowsMessage<UsageError>(HasSubstr("by rows")));
}

TEST(Scaling, ImagesAreSharedAsEvenlyAsTheyGo) {
    using Share = ImageShare;
    EXPECT_THAT(batch_shares(2048, 2), ElementsAre(Share{0, 1024}, Share{1024, 1024}));
    EXPECT_THAT(batch_shares(11, 4), ElementsAre(Share{0, 3}, Share{3, 3}, Share{6, 3}, Share{9, 2}));
    EXPECT_THAT([] { batch_shares(3, 4); }, ThrowsMessage<UsageError>(HasSubstr("at least one each")));
}

TEST(Scaling, DevicesAndSplitsAreReadOrRefused) {
    EXPECT_THAT(parse_devices("run", "0,1,2,3"), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(parse_devices("run", "0-3"), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(parse_devices("run", "0,0"), ElementsAre(0, 0));
    EXPECT_THAT(parse_devices("run", "2,4-5"), ElementsAre(2, 4, 5));
    for (const char *wrong : {"", "a", "0,", ",1", "3-1", "-1", "0--1", "1024", "0 1", "0-", "0-99999999999"})
        EXPECT_THAT(
            [&] { parse_devices("run", wrong); },
            ThrowsMessage<UsageError>(AllOf(HasSubstr("0,1,2,3 or 0-3"), HasSubstr("run: --devices"))))
            << wrong;
    for (const char *many : {"0-8", "0,0,0,0,0,0,0,0,0", "0-1023"})
        EXPECT_THAT([&] { parse_devices("run", many); },
                    ThrowsMessage<UsageError>(HasSubstr("at most 8 GPUs")))
            << many;
    EXPECT_EQ(parse_split("run", "batch_nccl"), DeviceSplit::batch_nccl);
    EXPECT_THAT([] { parse_split("run", "row"); },
                ThrowsMessage<UsageError>(HasSubstr("did you mean 'rows'")));
    EXPECT_THAT([] { parse_split("run", "one"); }, ThrowsMessage<UsageError>(HasSubstr("unknown split")));
}

TEST(Scaling, CasesAreStrongAndWeakOnPowersOfTwoAndAll) {
    const Network mnist = find_network("mnist");
    std::vector<std::string> told;
    for (const NetworkCase &item : scaling_cases(mnist, {{0, 1, 2}, {DeviceSplit::batch}, {64}}))
        told.push_back(to_text(*item.split) + " " + std::to_string(item.devices) + " " +
                       std::to_string(item.batch));
    EXPECT_THAT(told, ElementsAre("one 1 64", "one 1 128", "one 1 192", "batch 2 64", "batch 2 128",
                                  "batch 3 64", "batch 3 192"));
    const std::vector<NetworkCase> eight =
        scaling_cases(mnist, {{0, 0, 0, 0, 0, 0, 0, 0}, {DeviceSplit::rows}, {64}, false});
    EXPECT_EQ(eight.back().status, Status::infeasible);
    EXPECT_THAT(*eight.back().reason, HasSubstr("fewer than 8 GPUs"));
    EXPECT_THAT(eight[1].shares, ElementsAre(3, 3));
}

NetworkCase timed(DeviceSplit split, int devices, std::int64_t batch, double step_us,
                  double communication_us) {
    NetworkCase item;
    item.split = split, item.devices = devices, item.batch = batch;
    NetworkTimes &times = item.measured.emplace();
    times.time_s = Seconds(step_us * 1e-6);
    times.computation_s = Seconds((step_us - communication_us) * 1e-6);
    times.communication_s = Seconds(communication_us * 1e-6);
    return item;
}

/// Of the thesis' own kernels each GPU has a share of the 2,048 images; what one GPU's forecast of so many is
/// stands beside it.
TEST(Scaling, AnImplementationIsDividedByImages) {
    const Network mnist = find_network("mnist");
    const Ladder ladder = find_ladder(mnist);
    const std::optional<NetworkCase> two = divided_case(ladder, 2);
    ASSERT_TRUE(two);
    EXPECT_EQ(two->id, "data_oriented");
    EXPECT_EQ(two->name(), "data_oriented over 2 GPUs");
    EXPECT_THAT(two->shares, testing::ElementsAre(1024, 1024));
    EXPECT_THAT(divided_case(ladder, 3)->shares, testing::ElementsAre(683, 683, 682));
    EXPECT_FALSE(divided_case(find_ladder(find_network("fashion_mnist")), 2));

    const GpuProfile h200 = find_profile("h200");
    NetworkRun run;
    run.network = "mnist";
    run.devices = {0, 1};
    run.cases = {case_of(mnist, DeviceSplit::one, 1, 2048), *two};
    run = forecast_anew(std::move(run), mnist, h200);
    const RungForecast half = forecast_rung(ladder, *rung_named(ladder, "data_oriented"), mnist, 1024, h200);
    EXPECT_EQ(run.cases[1].forecast->stream_s, half.stream_s);
    EXPECT_FALSE(run.cases[1].forecast->speed_up); // it is no step of training
}

TEST(EquationSc4, SpeedUpAndEfficiencyByHand) {
    std::vector<NetworkCase> cases = {timed(DeviceSplit::one, 1, 100, 50, 0),
                                      timed(DeviceSplit::one, 1, 200, 90, 0),
                                      timed(DeviceSplit::batch, 2, 200, 60, 15)};
    add_rates(cases);
    EXPECT_FALSE(cases[0].measured->speed_up);
    EXPECT_NEAR(*cases[2].measured->speed_up, 1.5, 1e-12);
    EXPECT_NEAR(*cases[2].measured->efficiency, 0.75, 1e-12);
    EXPECT_NEAR(*cases[2].measured->weak_efficiency, 50.0 / 60.0, 1e-12);
    EXPECT_NEAR(*cases[2].measured->computation_over_communication, 3.0, 1e-12);
    EXPECT_FALSE(cases[2].forecast);
}

TEST(Scaling, PointsBeginWithOneGpu) {
    NetworkRun scaling;
    scaling.cases = {timed(DeviceSplit::one, 1, 100, 50, 0), timed(DeviceSplit::one, 1, 200, 90, 0),
                     timed(DeviceSplit::batch, 2, 100, 40, 10), timed(DeviceSplit::batch, 2, 200, 60, 15)};
    for (NetworkCase &item : scaling.cases)
        item.forecast = item.measured;
    add_rates(scaling.cases);
    const std::vector<ScalingPoint> points = scaling_points(scaling, DeviceSplit::batch, 100);
    ASSERT_EQ(points.size(), 2u);
    EXPECT_EQ(points[0].gpus, 1);
    EXPECT_NEAR(points[0].strong_s.value, 50e-6, 1e-12);
    EXPECT_EQ(points[0].strong_efficiency, 1.0);
    EXPECT_EQ(points[1].gpus, 2);
    EXPECT_NEAR(points[1].strong_s.value, 40e-6, 1e-12);
    EXPECT_NEAR(points[1].strong_efficiency, 50.0 / 40.0 / 2.0, 1e-12);
    EXPECT_NEAR(points[1].weak_efficiency, 50.0 / 60.0, 1e-12);
    EXPECT_TRUE(scaling_points(scaling, DeviceSplit::batch, 50).empty());
}

/// Of steps of so many images: on one GPU, then on all of these by each split.
std::vector<NetworkCase> forecast_mnist(const GpuProfile &profile, std::vector<int> devices,
                                        std::vector<DeviceSplit> splits, std::int64_t batch) {
    return forecast_scaling(find_network("mnist"), profile,
                            {std::move(devices), std::move(splits), {batch}, false, false})
        .cases;
}

TEST(EquationSc2, AStepOfOneGpuIsThatOfTheLadder) {
    const Network mnist = find_network("mnist");
    const Ladder ladder = find_ladder(mnist);
    const NetworkTimes times = *forecast_mnist(h200(), {0}, {}, 4096).front().forecast;
    const auto rung = [&](const char *id) {
        return *forecast_rung(ladder, *rung_named(ladder, id), mnist, 4096, h200()).time_s;
    };
    EXPECT_EQ(times.forward_s->value, rung("forward").value);
    EXPECT_EQ(times.time_s->value, rung("step").value);
    EXPECT_EQ(times.communication_s->value, 0.0);
}

GpuProfile with_link(GpuProfile profile, double bandwidth, double latency) {
    profile.peers = {PeerLink{0, 1, true, Bandwidth(bandwidth), std::nullopt, Seconds(latency)}};
    return profile;
}

TEST(EquationSc3, AnExchangeIsAMeetingAndItsBytes) {
    GpuProfile toy = with_link(find_profile("toy"), 10e9, 1e-6);
    toy.curves["peer_meets"].series = {{"", {2.0}, {50e-6}, {50e-6}, {50e-6}}};
    toy.graph_launch_period =
        Param<Seconds>{toy.launch_floor->value + Seconds(1e-6), Source::assumed, "test"};
    EXPECT_NEAR(forecast_mnist(toy, {0, 1}, {DeviceSplit::batch}, 64)[1].forecast->communication_s->value,
                50e-6 - toy.launch_floor->value.value - 1e-6 + 9304 / 10e9, 1e-15);
}

TEST(EquationSc3, NcclPassesBytesAroundInARing) {
    GpuProfile toy = with_link(find_profile("toy"), 10e9, 1e-6);
    toy.curves["peer_meets"].series = {{"", {2.0, 4.0}, {50e-6, 60e-6}, {50e-6, 60e-6}, {50e-6, 60e-6}}};
    const std::vector<NetworkCase> cases =
        forecast_mnist(toy, {0, 1, 2, 3}, {DeviceSplit::batch, DeviceSplit::batch_nccl}, 64);
    EXPECT_NEAR((*cases[1].forecast->communication_s - *cases[2].forecast->communication_s).value,
                (3.0 - 1.5) * 9304 / 10e9, 1e-15);
}

TEST(EquationSc5, HostsSumInATreeWhoseTimesAreARange) {
    ScalingQuestion question{{0, 1}, {DeviceSplit::batch_nccl}, {64}, false};
    question.hosts = 4;
    question.host_link = HostLink{Bandwidth(10e9), Bandwidth(40e9), Seconds(2e-6), Seconds(8e-6), "test"};
    const NetworkRun run = forecast_scaling(find_network("mnist"), h200(), question);
    ASSERT_EQ(run.cases.size(), 4U); // one GPU; a host; two hosts; four
    EXPECT_FALSE(run.cases[1].hosts);
    EXPECT_EQ(run.cases[2].name(), "batch_nccl over 4 GPUs of 2 hosts, 64 images");
    const NetworkCase &four = run.cases[3];
    EXPECT_EQ(four.devices, 8);
    EXPECT_EQ(four.shares, std::vector<std::int64_t>(8, 8));
    const NetworkTimes &times = *four.forecast, &one_host = *run.cases[1].forecast;
    const double low = 4 * 2e-6 + 1.5 * 9304 / 40e9, high = 4 * 8e-6 + 1.5 * 9304 / 10e9;
    const double middle = std::sqrt(low * high);
    EXPECT_NEAR(times.communication_s->value - one_host.communication_s->value, middle, 1e-12);
    EXPECT_NEAR(times.low_s->value, times.time_s->value - middle + low, 1e-12);
    EXPECT_NEAR(times.high_s->value, times.time_s->value - middle + high, 1e-12);
    EXPECT_THAT(run.assumptions,
                testing::Contains(testing::HasSubstr("between hosts 10 to 40 GB/s one way")));
}

TEST(Scaling, WhatLiesBetweenHostsIsReadAsRanges) {
    const HostLink all = parse_host_link("predict", "25e9..50e9,3e-6..10e-6"),
                   one = parse_host_link("predict", "25e9");
    EXPECT_EQ(all.least_bytes_per_s.value, 25e9);
    EXPECT_EQ(all.most_bytes_per_s.value, 50e9);
    EXPECT_EQ(all.least_latency_s.value, 3e-6);
    EXPECT_EQ(all.most_latency_s.value, 10e-6);
    EXPECT_EQ(one.most_bytes_per_s.value, 25e9);
    EXPECT_EQ(one.least_latency_s.value, usual_host_link().least_latency_s.value);
    for (const char *text :
         {"", "fast", "0", "-1", "2..1", "1..", "..1", "1e9,", "1e9,0", "1e9,2", "nan", "1e19"})
        EXPECT_THAT([&] { (void)parse_host_link("predict", text); },
                    testing::ThrowsMessage<UsageError>(testing::HasSubstr("Example: --host-link 25e9..50e9")))
            << text;
}

TEST(EquationSc3, WithoutAMeasuredMeetingItIsTwoLatencies) {
    const auto communication = [](std::size_t split, double bandwidth, double latency) {
        return forecast_mnist(with_link(find_profile("toy"), bandwidth, latency), {0, 1},
                              {DeviceSplit::batch, DeviceSplit::parameters}, 64)[1 + split]
            .forecast->communication_s->value;
    };
    // 2,326 floats to one other GPU
    EXPECT_NEAR(communication(0, 10e9, 1e-6) - communication(0, 20e9, 1e-6), 9304 / 20e9, 1e-15);
    EXPECT_NEAR(communication(0, 10e9, 2e-6) - communication(0, 10e9, 1e-6), 2e-6, 1e-15);
    // 64 x 10 sums, later 156 numbers of the convolution
    EXPECT_NEAR(communication(1, 10e9, 1e-6) - communication(1, 20e9, 1e-6), (2560 + 624) / 20e9, 1e-15);
    EXPECT_NEAR(communication(1, 10e9, 2e-6) - communication(1, 10e9, 1e-6), 4e-6, 1e-15);
}

TEST(Scaling, TwoH200sAreForecastWithinTenPercent) {
    const NetworkRun recorded =
        forecast_anew(recorded_network("scaling/two_gpus"), find_network("mnist"), h200());
    std::size_t judged = 0;
    for (const NetworkCase &item : recorded.cases) {
        ASSERT_TRUE(item.measured) << item.batch;
        ++judged;
        EXPECT_NEAR(*item.forecast_s() / *item.measured_s(), 1.0, 0.1)
            << boost::describe::enum_to_string(*item.split, "?") << " of " << item.batch << " images";
    }
    EXPECT_GE(judged, 45U);
}

TEST(Scaling, ADocumentIsForecastAnewAndKeepsWhatWasMeasured) {
    const Network network = find_network("mnist");
    const ScalingQuestion question{{0, 1}, {DeviceSplit::batch}, {2048, 65536}};
    const NetworkRun today = forecast_scaling(network, h200(), question);
    NetworkRun old = today;
    old.profile_hash = "of another day";
    old.advice.clear();
    for (NetworkCase &item : old.cases) {
        item.measured = item.forecast;
        item.forecast->time_s = *item.forecast->time_s * 2.0;
    }
    const NetworkRun again = forecast_anew(old, network, h200());
    EXPECT_EQ(again.profile_hash, today.profile_hash);
    EXPECT_EQ(again.advice.size(), today.advice.size());
    ASSERT_EQ(again.cases.size(), today.cases.size());
    for (std::size_t i = 0; i < today.cases.size(); ++i) {
        EXPECT_EQ(again.cases[i].forecast->time_s->value, today.cases[i].forecast->time_s->value);
        EXPECT_EQ(again.cases[i].measured->time_s->value, today.cases[i].forecast->time_s->value);
    }
}

TEST(Scaling, MoreGpusThanHaveMetAreSaid) {
    const Network network = find_network("mnist");
    const auto assumed = [&](std::vector<int> devices) {
        return forecast_scaling(network, h200(), {std::move(devices), {DeviceSplit::batch}, {2048}})
            .assumptions;
    };
    EXPECT_THAT(assumed({0, 1}), IsEmpty());
    EXPECT_THAT(assumed({0, 1, 2, 3}), Contains(HasSubstr("more than 2 GPUs meet as fast as 2 do")));
}

TEST(Scaling, TheMatrixOfCopiesSaysWhereItIsFrom) {
    std::vector<std::string> assumptions;
    const PeerNumbers two = peer_numbers(h200(), {0, 1}, assumptions);
    EXPECT_EQ(two.source, Source::measured);
    EXPECT_NEAR(two.bandwidth_bytes_per_s.value, 385.2e9, 0.1e9); // half of both ways at once
    EXPECT_NEAR(two.latency_s.value, 848.6e-9, 0.1e-9);
    EXPECT_THAT(assumptions, IsEmpty());
    peer_numbers(h200(), {0, 1, 2, 3}, assumptions);
    EXPECT_THAT(assumptions, ElementsAre(HasSubstr("no link between some of these GPUs")));

    GpuProfile alone = h200();
    alone.peers.clear();
    assumptions.clear();
    EXPECT_EQ(peer_numbers(alone, {0, 1}, assumptions).source, Source::published);
    EXPECT_THAT(assumptions,
                ElementsAre(AllOf(HasSubstr("not measured"), HasSubstr("450 GB/s"), HasSubstr("NVLink 4"))));
    EXPECT_THAT(
        [&] {
            peer_numbers(find_profile("toy"), {0, 1}, assumptions);
        },
        ThrowsMessage<UsageError>(AllOf(HasSubstr("convcast measure"), HasSubstr("\"peers\""))));
}

TEST(Scaling, AStatedLinkNamesItsSource) {
    GpuProfile toy = with_link(find_profile("toy"), 12e9, 1e-6);
    toy.peers[0].source = Source::published;
    EXPECT_THAT([&] { read_profile(write_profile(toy), "p.json"); },
                ThrowsMessage<InputError>(AllOf(HasSubstr("/peers/0/source"), HasSubstr("data sheet"))));
    toy.peers[0].by = "chapter 4.3";
    const GpuProfile read = read_profile(write_profile(toy), "p.json");
    EXPECT_EQ(*read.peers[0].source, Source::published);
    std::vector<std::string> assumptions;
    EXPECT_EQ(peer_numbers(read, {0, 1}, assumptions).by, "chapter 4.3");
    EXPECT_THAT(assumptions,
                ElementsAre(AllOf(HasSubstr("12 GB/s"), HasSubstr("published"), HasSubstr("chapter 4.3"))));
}

/// I3 of steps: what is assumed of the link is at its ends in the ends of a step's range.
TEST(Scaling, AnAssumedLinkHasARange) {
    GpuProfile toy = with_link(find_profile("toy"), 12e9, 2e-6);
    for (PeerLink &link : toy.peers) {
        link.source = Source::assumed, link.by = "a test";
        link.range = PeerRange{Bandwidth(6e9), Bandwidth(24e9), Seconds(1e-6), Seconds(4e-6)};
    }
    EXPECT_EQ(write_profile(read_profile(write_profile(toy), "p.json")), write_profile(toy));
    const auto steps = [](const GpuProfile &profile) {
        return forecast_mnist(profile, {0, 1}, {DeviceSplit::batch}, 64);
    };
    const auto step = [&](double bandwidth, double latency) {
        GpuProfile other = toy;
        for (PeerLink &link : other.peers) {
            link.bandwidth_bytes_per_s = Bandwidth(bandwidth), link.both_ways_bytes_per_s.reset();
            link.latency_s = Seconds(latency), link.range.reset();
        }
        return *steps(other)[1].forecast->time_s;
    };
    const NetworkTimes its = *steps(toy)[1].forecast;
    if (ranged_numbers(toy).empty()) {
        EXPECT_EQ(*its.low_s, step(24e9, 1e-6));
        EXPECT_EQ(*its.high_s, step(6e9, 4e-6));
    }
    EXPECT_LT(*its.low_s, *its.time_s);
    EXPECT_GT(*its.high_s, *its.time_s);
    std::vector<std::string> assumptions;
    (void)peer_numbers(toy, {0, 1}, assumptions);
    EXPECT_THAT(assumptions, ElementsAre(HasSubstr("12 GB/s one way (6 to 24; a latency of 1 to 4 us)")));
    toy.peers[0].range->least_bytes_per_s = Bandwidth(13e9);
    EXPECT_THAT([&] { read_profile(write_profile(toy), "p.json"); },
                ThrowsMessage<InputError>(
                    AllOf(HasSubstr("/peers/0/range"), HasSubstr("the bandwidth of the link"))));
}

/// The GPUs of the papers that had two.
TEST(Scaling, TwoOldGpusAreForecastWithTheirRange) {
    for (const char *gpu : {"k80", "gt750m"})
        for (const NetworkCase &item :
             forecast_mnist(find_profile(gpu), {0, 1}, {DeviceSplit::batch}, 2048)) {
            ASSERT_TRUE(item.forecast) << gpu;
            EXPECT_LT(*item.forecast->low_s, *item.forecast->time_s) << gpu;
            EXPECT_GT(*item.forecast->high_s, *item.forecast->time_s) << gpu;
        }
    // The kernels of a step do not fit; those of the thesis do. Splits that have no others say why not.
    const NetworkRun two = forecast_scaling(find_network("mnist"), find_profile("k80"),
                                            {{0, 1}, {DeviceSplit::rows, DeviceSplit::batch}, {2048}});
    EXPECT_THAT(two.assumptions, testing::Contains(AllOf(HasSubstr("data_oriented_step"),
                                                         HasSubstr("mnist_step does not fit an SM"))));
    for (const NetworkCase &item : two.cases) {
        EXPECT_EQ(item.forecast.has_value(), item.split != DeviceSplit::rows);
        EXPECT_EQ(item.status == Status::infeasible, item.split == DeviceSplit::rows);
        EXPECT_EQ(item.reason.has_value(), item.split == DeviceSplit::rows);
    }
}

TEST(Scaling, ForecastsAreSensible) {
    const Network mnist = find_network("mnist");
    const std::vector<DeviceSplit> splits = {DeviceSplit::rows, DeviceSplit::parameters, DeviceSplit::batch};
    const NetworkRun scaling = forecast_scaling(mnist, h200(), {{0, 1, 2, 3}, splits, {2048, 65536}});
    for (const NetworkCase &item : scaling.cases) {
        ASSERT_TRUE(item.forecast) << item.reason.value_or("");
        EXPECT_GT(item.forecast->backward_s->value, 0.0);
        EXPECT_GT(item.forecast->forward_s->value, 0.0);
        if (item.split == DeviceSplit::one)
            continue;
        EXPECT_LT(*item.forecast->efficiency, 1.1);
        EXPECT_GT(*item.forecast->computation_over_communication, 0.0);
    }
    EXPECT_EQ(scaling.advice.size(), 6U);
    for (const ScalingAdvice &advice : scaling.advice)
        if (advice.split == DeviceSplit::batch) {
            EXPECT_TRUE(advice.pays_from);
            EXPECT_GE(advice.efficient_from.value_or(most_split_batch), *advice.pays_from);
        }
    EXPECT_EQ(described::read_document<NetworkRun>(to_text(described::write(scaling)), "s").cases.size(),
              scaling.cases.size());
    EXPECT_THAT(
        [] {
            forecast_scaling(find_network("vgg16"), h200(), {{0, 1}, {}, {8}});
        },
        ThrowsMessage<UsageError>(HasSubstr("no kernels split the network 'vgg16'")));
}

} // namespace
