#include "reports/network_page.hpp"

#include "model/network/scaling_forecast.hpp"
#include "reports/network_figures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace convcast {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string page_of(const NetworkRun &run) {
    return report_on(run).html();
}

NetworkRun ladder() {
    NetworkRun run;
    run.network = "toy";
    run.conditions["gpu"] = "toy GPU";
    NetworkCase &rung = run.cases.emplace_back();
    rung.id = "one_kernel_that_has_a_name";
    rung.title = "everything in one kernel";
    rung.measured.emplace().time_s = Seconds(10e-6);
    rung.published_s = Seconds(120e-6);
    rung.forecast.emplace().time_s = Seconds(11e-6);
    KernelForecast launch;
    launch.kernel = "conv_all";
    launch.operators = {"conv1"};
    launch.time_s = Seconds(9e-6);
    rung.kernels_forecast = {launch};
    return run;
}

TEST(LadderFigures, AForecastWithoutATimeHasItsLaunches) {
    NetworkRun run = ladder();
    run.first().forecast->time_s.reset();
    const Figure figure = ladder_figures(run).at(1);
    EXPECT_EQ(figure.point_count(), 1u) << "the launch, and no bar of launching it";
}

TEST(NetworkPages, ALadderSaysWhatMattersFirst) {
    const std::string page = page_of(ladder());
    EXPECT_THAT(page, HasSubstr("<strong>10.0\u00a0µs</strong><span>the fastest implementation, "
                                "one_<wbr>kernel_<wbr>that_<wbr>has_<wbr>a_<wbr>name</span>"));
    EXPECT_THAT(page, HasSubstr("<strong>12.0×</strong><span>faster here than published"));
    EXPECT_THAT(page, HasSubstr("<strong>+10.0\u00a0%</strong><span>the largest miss"));
    EXPECT_THAT(page, HasSubstr("<a href=\"#cases\">cases</a>"));
    EXPECT_THAT(page, HasSubstr("<wbr>name<small class=\"what\">everything in one kernel</small>"))
        << "what a rung does stands below its name";
}

TEST(NetworkPages, ALadderHasItsKernelsWhereTheRunKeptThem) {
    NetworkRun run = ladder();
    EXPECT_THAT(page_of(run), Not(HasSubstr("id=\"kernels\"")));
    for (KernelForecast &launch : run.first().kernels_forecast)
        launch.record_s = launch.time_s;
    run.first().kernels = {{"conv_all", 3, Seconds(10e-6), Seconds(0.0), Seconds(31e-6)},
                           {"of_no_forecast", 1, Seconds(2e-6), Seconds(0.0), Seconds(2e-6)}};
    const std::string page = page_of(run);
    EXPECT_THAT(page, HasSubstr("<a href=\"#kernels\">kernels</a>"));
    EXPECT_THAT(page, HasSubstr("<td>conv_all</td><td>3</td><td>10.0</td><td>9.00</td><td>0.900</td>"));
    EXPECT_THAT(page, HasSubstr("<td>of_no_forecast</td><td>1</td><td>2.00</td><td>–</td><td>–</td>"));
    run.first().kernels.push_back(
        {"copy to GPU 1", 1, Seconds(2e-6), Seconds(0.0), Seconds(2e-6), 0, 4096}); // which few have
    run.first().kernels.front().occupancy = 0.5;
    const std::string with_copy = page_of(run);
    EXPECT_THAT(with_copy, HasSubstr("<td>copy to GPU 1</td><td>0</td>"));
    EXPECT_THAT(with_copy, HasSubstr("<td>0.900</td><td>50"));
}

/// A network of two convolutions, traced in 12 µs and replayed in 9.
NetworkRun whole() {
    NetworkRun run;
    run.network = "toy";
    run.profile_id = "h200";
    run.conditions["gpu"] = "toy GPU";
    NetworkCase &item = run.cases.emplace_back();
    item.forecast.emplace().time_s = Seconds(9.5e-6);
    item.light_s = Seconds(3e-6);
    item.convolutions_s = Seconds(9.5e-6), item.dense_s = item.others_s = Seconds(0.0);
    item.nodes = 2;
    for (const char *name : {"conv1", "conv2"}) {
        NetworkLaunch &launch = item.launches.emplace_back();
        launch.kind = LaunchKind::convolution;
        launch.operators = {name};
        launch.candidates = {
            {std::string(name) == "conv1" ? "winograd:tile=4" : "implicit_gemm:tile_k=32", Seconds(4.75e-6)}};
        launch.time_s = Seconds(4.75e-6);
        launch.share = 0.5;
        launch.measured = LaunchMeasurement{{Seconds(6e-6), Seconds(6e-6), Seconds(6e-6), 5}, 0.5, {}, {}};
    }
    item.status = Status::ok;
    item.traced = TracedTimes{{Seconds(12e-6), Seconds(12e-6), Seconds(12e-6), 5}, {}, {}};
    NetworkTimes &measured = item.measured.emplace();
    measured.time_s = Seconds(9e-6), measured.low_s = Seconds(8.9e-6), measured.high_s = Seconds(9.1e-6);
    measured.samples = 5;
    return run;
}

TEST(NetworkPages, ARunComparesLikeWithLike) {
    const std::string page = page_of(whole());
    EXPECT_THAT(page, HasSubstr("<h1>toy, batch 1, on toy GPU</h1>"));
    EXPECT_THAT(page, HasSubstr("<strong>9.00\u00a0µs</strong><span>measured, one call"));
    EXPECT_THAT(page, HasSubstr("<td>4.50</td><td>4.75</td><td>1.056</td>"))
        << "6 µs of a traced call of 12 are 4.5 of the 9 that nothing traces";
    EXPECT_THAT(page, HasSubstr("the call take 12.0\u00a0µs"));
    EXPECT_THAT(page, HasSubstr("multiplied by 0.750"));
    const Figure figure = network_timeline_figure(whole());
    double end = 0.0;
    std::vector<std::string> names;
    for (const Series &series : figure.series) {
        names.push_back(series.name);
        for (const Point &point : series.points)
            if (point.y == 1.0)
                end = std::max(end, point.x);
    }
    EXPECT_NEAR(end, 9.0, 1e-9) << "the measured row ends where the headline says";
    EXPECT_EQ(names, (std::vector<std::string>{"convolution by winograd", "convolution by implicit_gemm",
                                               "forecast within 10 %"}));
    EXPECT_EQ(figure.y.categories, (std::vector<std::string>{"forecast", "measured", "forecast / measured"}));
    EXPECT_THAT(figure.series.front().points.front().label, HasSubstr("forecast / measured 1.06"));
    EXPECT_THAT(figure.title, HasSubstr("toy GPU"));
}

TEST(NetworkPages, ATimelineTellsKindsAndErrorsApart) {
    NetworkRun run = whole();
    NetworkCase &item = run.first();
    using enum LaunchKind;
    for (const LaunchKind kind : {pooling, gather, elementwise, layer_norm, softmax, dense, to_rows}) {
        NetworkLaunch launch = item.launches.front();
        launch.kind = kind;
        launch.candidates.clear();
        if (kind == gather)
            launch.measured->time_s.median_s = Seconds(1e-6); // of a forecast of 4.75
        item.launches.push_back(launch);
    }
    std::vector<std::string> names;
    for (const Series &series : network_timeline_figure(run).series)
        names.push_back(series.name);
    EXPECT_THAT(names,
                testing::IsSupersetOf({"pooling", "gather", "number by number", "layer norm", "softmax",
                                       "dense layer", "turned for a dense layer", "more than 25 % off"}));
    EXPECT_THAT(names, Not(testing::Contains("other")));
}

TEST(NetworkPages, ANodeThatIsNotKnownIsMarkedAndCounted) {
    NetworkRun run = whole();
    run.first().measured.reset(), run.first().traced.reset();
    run.first().status = Status::not_run;
    for (NetworkLaunch &launch : run.first().launches)
        launch.measured.reset();
    EXPECT_EQ(unknown_words(run), "");
    NetworkLaunch &launch = run.first().launches[1];
    launch.kind = LaunchKind::unknown, launch.node = "MatMul";
    launch.shape.reset(), launch.candidates.clear();
    EXPECT_EQ(unknown_words(run),
              "1 node is not known (MatMul) and forecast by the bytes it moves alone: 50.0 % of the time");
    const std::string page = page_of(run);
    EXPECT_THAT(page, HasSubstr("not known: MatMul"));
    EXPECT_THAT(page, HasSubstr("1 node is not known (MatMul)"));
    run.first().reason = "it does not fit: 12 GiB";
    EXPECT_THAT(page_of(run), HasSubstr("But it does not fit: 12 GiB."));
}

TEST(NetworkPages, ARunWithoutBothTimesIsAsRecorded) {
    NetworkRun run = whole();
    run.first().measured.reset();
    const std::string page = page_of(run);
    EXPECT_THAT(page, HasSubstr("<td>6.00</td><td>4.75</td><td>0.792</td>"));
    EXPECT_THAT(page, Not(HasSubstr("multiplied by")));
}

TEST(NetworkPages, AForecastIsTheSamePageWithoutMeasurements) {
    NetworkRun run = whole();
    run.first().measured.reset();
    run.first().traced.reset();
    run.first().status = Status::not_run;
    for (NetworkLaunch &launch : run.first().launches)
        launch.measured.reset();
    run.first().launches[0].light_s = Seconds(1.9e-6);
    run.first().what_if = {{"twice the SMs", Seconds(5e-6)}};
    const std::string page = page_of(run);
    EXPECT_THAT(page, HasSubstr("<h1>toy, batch 1: forecast for toy GPU</h1>"));
    EXPECT_THAT(page,
                HasSubstr("9.50 µs in one CUDA graph of 2 nodes, 3.17 times the bound; convolutions 100.0"));
    EXPECT_THAT(page, HasSubstr("winograd</span></td><td>4.75</td><td>50.0"));
    EXPECT_THAT(page, HasSubstr("2.50×")) << "over its bound";
    EXPECT_THAT(page, HasSubstr("twice the SMs"));
    EXPECT_THAT(page, Not(HasSubstr("forecast / measured")));
    EXPECT_THAT(network_timeline_figure(run).title, HasSubstr("as forecast for toy GPU"));
}

TEST(NetworkPages, ARunStandsBesideAnotherProgram) {
    const std::string page = report_on(whole(), {OtherTime{"PyTorch 2.11", Seconds(36e-6)}}).html();
    EXPECT_THAT(page, HasSubstr("<strong>4.00×</strong><span>as fast as PyTorch 2.11</span>"));
    EXPECT_THAT(page, HasSubstr("PyTorch 2.11 takes 36.0\u00a0µs, 4.00× as long."));
}

NetworkCase step(DeviceSplit split, int devices, double forecast, double measured) {
    NetworkCase c;
    c.split = split;
    c.devices = devices;
    c.batch = 2048;
    c.status = Status::ok;
    c.forecast.emplace().time_s = Seconds(forecast);
    c.forecast->speed_up = 30e-6 / forecast, c.forecast->efficiency = 0.5;
    c.measured.emplace().time_s = Seconds(measured);
    c.measured->speed_up = 30e-6 / measured, c.measured->efficiency = 0.4;
    if (split == DeviceSplit::one)
        c.forecast->speed_up.reset(), c.measured->speed_up.reset();
    return c;
}

TEST(NetworkPages, ScalingHasATableAndItsSpeedUps) {
    NetworkRun scaling;
    scaling.network = "mnist";
    scaling.devices = {0, 1};
    scaling.cases = {step(DeviceSplit::one, 1, 32.4e-6, 30e-6), step(DeviceSplit::batch, 2, 20e-6, 25e-6)};
    EXPECT_EQ(judgement_of(scaling), "1 of 2 forecasts are within 10 % of the measured time, the median is "
                                     "off by 8.0 %; batch over 2 GPUs, "
                                     "2048 images is the worst, \u221220.0\u00a0%.");
    const Figure figure = report_on(scaling).figures.at(0);
    EXPECT_EQ(figure.panels.at(0).title, "2048 images");
    EXPECT_EQ(figure.panels.at(0).series.size(), 2u) << "forecast and measured";
    const std::string page = page_of(scaling);
    EXPECT_THAT(page,
                HasSubstr("<td>2</td><td>2048</td><td>25.0</td><td>20.0</td><td>0.800</td><td>1.20×</td>"));
    EXPECT_THAT(page, HasSubstr("id=\"f-speed_up\""));
}

TEST(NetworkPages, TextOfACardIsNoMarkup) {
    ScalingQuestion question{{0, 1}, {DeviceSplit::batch_nccl}, {65536}};
    question.hosts = 4;
    const NetworkRun run = forecast_scaling(find_network("mnist"), find_profile("h200"), question);
    const std::string page = page_of(run);
    EXPECT_THAT(page, Not(HasSubstr("&lt;wbr")));
    EXPECT_THAT(page, HasSubstr("of each of 4 hosts"));
}

TEST(NetworkPages, SharesThatTakeTurnsOnOneGpuAreNotCompared) {
    NetworkRun scaling;
    scaling.network = "mnist";
    scaling.devices = {0, 0};
    scaling.conditions["several_shares_a_gpu"] = "yes";
    scaling.cases = {step(DeviceSplit::one, 1, 32.4e-6, 30e-6), step(DeviceSplit::batch, 2, 20e-6, 50e-6)};
    EXPECT_THAT(
        judgement_of(scaling),
        HasSubstr("1 of 1 forecasts are within 10 % of the measured time, the median is off by 8.0 %"));
    EXPECT_EQ(report_on(scaling).figures.at(0).panels.at(0).series.size(), 1u);
    EXPECT_THAT(page_of(scaling),
                HasSubstr("<td>2</td><td>2048</td><td>50.0</td><td>20.0</td><td>–</td><td>1.50×</td>"));
}

TEST(NetworkPages, ATrainingSaysHowGoodAndHowFast) {
    NetworkRun run;
    run.network = "mnist";
    NetworkCase &trained = run.cases.emplace_back();
    trained.accuracy = 0.9798;
    trained.measured.emplace().time_s = Seconds(20e-6);
    Training &its = trained.training.emplace();
    its.tested_on = "test images";
    its.images = 60000;
    its.epochs = 3;
    its.steps = 100;
    its.descent.batch = 128;
    its.time_s = Seconds(2.0);
    its.test_images = 10000;
    its.checked = 1000;
    const std::string page = page_of(run);
    EXPECT_THAT(page, HasSubstr("<h1>Training of mnist</h1>"));
    EXPECT_THAT(page, HasSubstr("<strong>97.98\u00a0%</strong><span>classified right</span>"));
    EXPECT_THAT(page, HasSubstr("<strong>20.0\u00a0µs</strong><span>a step</span>"));
    its.steps = 0;
    trained.measured.reset();
    NetworkCase rung;
    rung.id = "naive", rung.accuracy = 0.9798, rung.disagreements = 2;
    run.cases.push_back(rung);
    EXPECT_THAT(page_of(run), HasSubstr("<th scope=\"row\">naive</th><td>97.98</td><td>2</td>"));
}

} // namespace
} // namespace convcast
