// What the papers' pages make of recorded kernels and copies: of two GPUs, and counted occupancies. What no
// recording of our GPU has is another GPU's, which the page names.
#include "model/network/scaling.hpp"
#include "reports/figure_layout.hpp"
#include "reports/papers/answer.hpp"
#include "reports/papers/context.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace convcast;
using testing::Contains;
using testing::HasSubstr;

namespace {

KernelTime time_of(const std::string &kernel, std::optional<int> device, double begins_us, double ends_us,
                   std::optional<std::int64_t> bytes = std::nullopt) {
    return {kernel,
            1,
            Seconds((ends_us - begins_us) * 1e-6),
            Seconds(begins_us * 1e-6),
            Seconds(ends_us * 1e-6),
            device,
            bytes};
}

NetworkRun run_on(const std::string &gpu, const std::string &network) {
    NetworkRun run;
    run.network = network;
    run.conditions["gpu"] = gpu;
    return run;
}

/// A step that two GPUs divide by rows, and the implementation that they divide by images.
NetworkRun two_gpus() {
    const Network mnist = find_network("mnist");
    NetworkRun run = run_on("NVIDIA Other", "mnist");
    run.devices = {0, 1};
    NetworkCase rows = case_of(mnist, DeviceSplit::rows, 2, 2048);
    rows.status = Status::ok;
    rows.measured.emplace().time_s = Seconds(40e-6);
    rows.kernels = {time_of("rows_forward", 0, 0.0, 50.0), time_of("copy to GPU 1", 0, 51.0, 53.0, 4096),
                    time_of("rows_forward", 1, 2.0, 52.0)};
    NetworkCase divided = *divided_case(find_ladder(mnist), 2);
    divided.status = Status::ok;
    divided.measured.emplace().stream_s = Seconds(700e-6);
    divided.kernels = {
        time_of("copy from the host", 0, 0.0, 20.0, 200704), time_of("oriented_clear", 0, 5.0, 30.0),
        time_of("oriented_convolve", 0, 30.0, 500.0),        time_of("oriented_relu", 0, 500.0, 550.0),
        time_of("copy from the host", 1, 1.0, 22.0, 200704), time_of("oriented_clear", 1, 6.0, 31.0),
        time_of("oriented_convolve", 1, 40.0, 600.0),        time_of("oriented_outputs", 1, 650.0, 700.0)};
    run.cases = {rows, divided};
    return run;
}

NetworkRun one_image() {
    NetworkRun run = run_on("NVIDIA Other", "fashion_mnist");
    NetworkCase rung;
    rung.id = "dense2_shared";
    rung.status = Status::ok;
    rung.measured.emplace().time_s = Seconds(10e-6);
    rung.kernels = {time_of("conv1_shared", std::nullopt, 0.0, 2.0)};
    rung.kernels.front().occupancy = 0.375;
    run.cases = {rung};
    return run;
}

ItemAnswer answer_of(const std::string &paper, const std::string &item, const NetworkRun &run) {
    Recordings recordings({});
    recordings.add(recording_of(run, "given"));
    const Reproduction all =
        reproduce(find_paper(paper), PaperContext(find_paper(paper), find_profile("h200"), recordings));
    const auto found = std::ranges::find(all.paper.items, item, &PaperItem::id);
    return all.answers[static_cast<std::size_t>(found - all.paper.items.begin())];
}

TEST(RecordedKernels, OfTwoGpusAreDrawnInTimeWithTheGpuThatHasThem) {
    const ItemAnswer answer = answer_of("cibil", "figure_4_7", two_gpus());
    ASSERT_EQ(answer.figures.size(), 1U);
    EXPECT_EQ(answer.figures.front().point_count(), 3U);
    EXPECT_THAT(answer.figures.front().caption, HasSubstr("two Other"));
    EXPECT_THAT(answer.tables.front().rows.front(), Contains("rows_forward"));
    const ClaimAnswer &claim = answer.findings.front();
    EXPECT_EQ(claim.verdict, ClaimVerdict::holds);
    EXPECT_EQ(claim.found, "their forward parts overlap by 48.0 of 50.0 µs with 2,048 images (two Other)");
}

/// Clocks of two GPUs are some microseconds apart, so less than that says nothing.
TEST(RecordedKernels, AnOverlapThatTheClocksMayExplainDecidesNothing) {
    NetworkRun run = two_gpus();
    run.cases.front().kernels = {time_of("rows_forward", 0, 0.0, 10.0),
                                 time_of("rows_forward", 1, 8.0, 18.0)};
    const ClaimAnswer claim = answer_of("cibil", "figure_4_7", run).findings.front();
    EXPECT_EQ(claim.verdict, ClaimVerdict::open);
    EXPECT_THAT(claim.sentence, HasSubstr("perhaps that far apart"));
}

/// From the first start to the last end over both.
TEST(RecordedKernels, ALayerLastsOverBothGpus) {
    const ItemAnswer answer = answer_of("cibil", "table_3", two_gpus());
    const auto table = std::ranges::find(answer.tables, "table_3_layers", &PaperTable::id);
    ASSERT_NE(table, answer.tables.end());
    EXPECT_EQ(table->head.back(), "two Other, measured");
    const auto cell = [&](const std::string &layer) {
        const auto row = std::ranges::find_if(table->rows, [&](const auto &its) { return its[0] == layer; });
        return row->back();
    };
    EXPECT_EQ(cell("memory copies"), "0.0220");
    EXPECT_EQ(cell("convolution"), "0.5950"); // what clears the maps is part of it
    EXPECT_EQ(cell("ReLU"), "0.0500");
    EXPECT_EQ(cell("fully connected"), "0.0500");
    EXPECT_EQ(cell("total"), "0.7000");
    EXPECT_THAT(table->note, HasSubstr("Images are divided here, 1,024 for each GPU"));
    const ItemAnswer bars = answer_of("cibil", "figure_5_2", two_gpus());
    const std::vector<Series> &all = bars.figures.front().series;
    const auto series = std::ranges::find(all, "measured, two Other", &Series::name);
    ASSERT_NE(series, all.end());
    ASSERT_EQ(series->points.size(), 1U);
    EXPECT_THAT(series->points.front().label, HasSubstr("two GPUs, measured on two Other: 0.595 ms"));
    EXPECT_EQ(std::ranges::find(all, "measured, H200", &Series::name), all.end());
}

/// A time of two GPUs is compared with one of the same GPU.
TEST(RecordedKernels, TheSpeedUpOfTwoGpusIsOverOneOfThem) {
    NetworkRun ladder = run_on("NVIDIA Other", "mnist");
    NetworkCase naive;
    naive.id = "naive";
    naive.batch = 2048;
    naive.status = Status::ok;
    naive.measured.emplace().stream_s = Seconds(350e-6);
    naive.measured->time_s = Seconds(340e-6);
    naive.kernels = {time_of("copy from the host", 0, 0.0, 20.0, 6422528)};
    ladder.cases = {naive};
    Recordings recordings({});
    recordings.add(recording_of(two_gpus(), "steps"));
    recordings.add(recording_of(ladder, "ladder"));
    const Reproduction all =
        reproduce(find_paper("cibil"), PaperContext(find_paper("cibil"), find_profile("h200"), recordings));
    const auto item = std::ranges::find(all.paper.items, "figure_5_7", &PaperItem::id);
    const Figure &bars =
        all.answers[static_cast<std::size_t>(item - all.paper.items.begin())].figures.front();
    const auto series = std::ranges::find(bars.series, "measured, two Other", &Series::name);
    ASSERT_NE(series, bars.series.end());
    EXPECT_DOUBLE_EQ(series->points.front().x, 0.5);
    EXPECT_THAT(bars.caption, HasSubstr("over the naive version on one Other"));
}

TEST(RecordedKernels, AThreadForEachStreamIsComparedWithOneThread) {
    NetworkRun run = run_on("NVIDIA H200", "mnist");
    NetworkCase rung;
    rung.id = "data_oriented";
    rung.batch = 2048;
    rung.status = Status::ok;
    NetworkTimes &times = rung.measured.emplace();
    times.time_s = Seconds(500e-6), times.stream_s = Seconds(900e-6);
    times.one_thread_s = Seconds(1000e-6), times.threads_s = Seconds(800e-6);
    run.cases = {rung};
    const ClaimAnswer claim = answer_of("cibil", "future_threads", run).findings.back();
    EXPECT_EQ(claim.claim, "saved by a thread for each stream");
    EXPECT_EQ(claim.found, "a thread for each takes 0.80× the time of one thread (H200)");
    EXPECT_EQ(answer_of("cibil", "future_threads", two_gpus()).findings.back().verdict, ClaimVerdict::open);
}

TEST(RecordedKernels, OccupanciesThatWereCountedStandBesideThoseComputed) {
    const ItemAnswer answer = answer_of("vadlamudi", "section_5", one_image());
    EXPECT_EQ(answer.tables.front().head.back(), "counted, Other");
    EXPECT_EQ(answer.tables.front().rows.front().back(), "37.5 %");
    EXPECT_THAT(answer.figures.front().caption, HasSubstr("Counted on the Other"));
}

} // namespace
