// Schedules of networks: their text, what is wrong with one, their forecast on streams, and when launches
// ran.
#include "model/base/errors.hpp"
#include "model/machine/knowledge.hpp"
#include "model/network/forecast.hpp"
#include "model/network/launch_times.hpp"
#include "model/network/rung_forecast.hpp"
#include "model/network/schedule_text.hpp"
#include "tests/unit/recorded_networks.hpp"

#include <gmock/gmock.h>

#include <cstddef>
#include <string>
#include <vector>

using namespace convcast;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Two convolutions of the image, their sum, and a dense layer.
Network forked() {
    return read_network(R"({"schema": "convcast/network/1", "id": "forked", "title": "t", "citation": "c",
"input": [16, 14, 14], "operators": [
{"name": "left", "kind": "convolution", "outputs": 32, "window": [3, 3], "pad": [1, 1], "output": [32, 14, 14]},
{"name": "bias", "kind": "bias", "output": [32, 14, 14]},
{"name": "right", "kind": "convolution", "from": ["input"], "outputs": 32, "window": [1, 1], "output": [32, 14, 14]},
{"name": "sum", "kind": "add", "from": ["bias", "right"], "output": [32, 14, 14]},
{"name": "relu", "kind": "relu", "output": [32, 14, 14]},
{"name": "dense", "kind": "dense", "outputs": 10, "output": [10, 1, 1]}]})",
                        "forked.json");
}

const char *const on_two_streams = R"(network forked   # comments end a line
batch 1

launch right stream=1 strategy=implicit_gemm
launch left+bias+sum+relu layout=images strategy=implicit_gemm
launch dense
)";

PlannedNetwork planned_by(const std::string &text) {
    NetworkQuestion question = only_time();
    question.schedule = parse_schedule(text, "mine.schedule");
    question.batch = question.schedule->schedule.batch;
    return planned_on_h200(forked(), question);
}

std::string refusal(const std::string &text) {
    try {
        (void)planned_by(text);
    } catch (const InputError &error) {
        return error.what();
    }
    return "accepted";
}

TEST(Schedule, IsReadAsItIsPrinted) {
    const Schedule schedule = read_schedule(on_two_streams, "mine.schedule");
    EXPECT_EQ(schedule.network, "forked");
    ASSERT_EQ(schedule.lines.size(), 3U);
    EXPECT_EQ(schedule.lines[0].stream, 1);
    EXPECT_THAT(schedule.lines[1].operators, ElementsAre("left", "bias", "sum", "relu"));
    EXPECT_EQ(to_text(*schedule.lines[1].strategy), to_text(parse_strategy("implicit_gemm")));
    EXPECT_FALSE(schedule.lines[2].strategy);
    EXPECT_EQ(to_text(read_schedule(to_text(schedule), "again")), to_text(schedule));
}

TEST(Schedule, OfAForecastGivesThatForecastAgain) {
    for (const std::string name : {"alexnet", "resnet18"})
        for (const int batch : {1, 8}) {
            NetworkQuestion question = only_time(batch);
            const PlannedNetwork chosen = planned_on_h200(find_network(name), question);
            const std::string text = to_text(schedule_of(chosen));
            question.schedule = parse_schedule(text, "mine.schedule");
            const PlannedNetwork given = planned_on_h200(find_network(name), question);
            EXPECT_EQ(to_text(schedule_of(given)), text);
            EXPECT_EQ(given.time(), chosen.time()) << name << batch;
            EXPECT_EQ(given.forecast.first().chosen_s, chosen.time());
        }
}

TEST(Schedule, WhatIsWrongIsSaidAtOnceByLine) {
    const std::string said = refusal("network forked\nbatch 1\n"
                                     "launch left+bias+relu strategy=implicit_gem\n"
                                     "launch rigth strategy=implicit_gemm:tile_kk=3\n"
                                     "launch sum layout=columns streem=2\n"
                                     "lunch relu\n");
    EXPECT_THAT(said,
                AllOf(HasSubstr("mine.schedule:3: strategy: unknown strategy 'implicit_gem'; did you mean"),
                      HasSubstr("mine.schedule:3: cannot be one launch: relu does not read bias"),
                      HasSubstr("mine.schedule:4: no operator 'rigth' in forked; did you mean 'right'?"),
                      HasSubstr("mine.schedule:4: strategy: strategy 'implicit_gemm:tile_kk=3'"),
                      HasSubstr("mine.schedule:5: expected layout=..., stream=..., strategy=..., found "
                                "'streem=2'; did you mean 'stream'?"),
                      HasSubstr("mine.schedule:6: expected a line that begins with")));
    EXPECT_THAT(said,
                HasSubstr("no line computes right, dense of forked; expected every operator in one line, "
                          "for example: launch right"));
}

TEST(Schedule, WhatThereIsNoKernelForIsRefused) {
    const std::string head = "network forked\nbatch 1\n", right = "launch right\n", dense = "launch dense\n";
    const auto says = [&](const std::string &lines, const std::string &what) {
        EXPECT_THAT(refusal(head + lines), HasSubstr(what)) << lines;
    };
    says(right + "launch left+bias+sum+relu strategy=naive_global\n" + dense,
         "mine.schedule:4: cannot be one launch: kernels of this strategy do not end with bias, add or relu");
    says(right + "launch left+bias+sum+relu strategy=row_register\n" + dense,
         "row_register does not do n1c16");
    says("launch left+bias+sum+relu strategy=implicit_gemm\n" + right + dense,
         "mine.schedule:3: cannot be one launch: the other input of sum is not there yet");
    says(right + "launch left+bias+sum+relu layout=columns\n" + dense,
         "left (convolution) is computed image by image: expected layout=images");
    says("turn input layout=columns\n" + right + "launch left+bias+sum+relu strategy=implicit_gemm\n" +
             "launch dense layout=columns\n",
         "mine.schedule:6: the layouts do not chain: dense reads relu in columns, found it in images; "
         "expected "
         "before this line: turn relu layout=columns");
    says(right + "launch left+bias+sum+relu strategy=implicit_gemm\nturn relu layout=columns\n" +
             "launch dense layout=columns strategy=naive_global\n",
         "the network's output lies in columns; expected at the end: turn dense layout=images");
    says(right + right + "launch left+bias+sum+relu strategy=implicit_gemm\n" + dense,
         "right is computed twice, the first time in line 3");
    says(right + "launch left+bias+sum+relu strategy=implicit_gemm\nlaunch dense strategy=winograd\n",
         "dense (dense) has one kernel: expected no strategy=");
    EXPECT_THAT(
        refusal("network resnet18\nbatch 1\nlaunch left\n"),
        HasSubstr("mine.schedule:1: the schedule is of the network 'resnet18', expected: network forked"));
    EXPECT_THAT(refusal("network forked\nlaunch left\n"), HasSubstr("for example: batch 1"));
    EXPECT_EQ(refusal(head + right + "launch left+bias+sum+relu strategy=implicit_gemm\n" + dense),
              "accepted");
}

TEST(Schedule, OneSlipInALayoutIsOneProblem) {
    std::string text = on_two_streams;
    text.replace(text.find("batch 1"), 7, "batch 9");
    const std::string said = refusal(text);
    EXPECT_THAT(said, HasSubstr("mine.schedule:6: dense is a dense layer, and of 8 images or more"));
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
}

TEST(Schedule, RungsAreTakenInItsOrder) {
    const Ladder ladder = find_ladder(find_network("fashion_mnist"));
    const std::string head = "network fashion_mnist\nbatch 1\n";
    const auto rungs = [&](const std::string &lines) {
        std::vector<std::string> ids;
        for (const Rung &rung : rungs_of(parse_schedule(head + lines, "r"), ladder).rungs)
            ids.push_back(rung.id);
        return ids;
    };
    EXPECT_THAT(rungs("rung one_kernel\nrung global # first\n"), ElementsAre("one_kernel", "global"));
    EXPECT_THAT([&] { (void)rungs("rung one_kernl\nrung global\nrung global\n"); },
                testing::ThrowsMessage<InputError>(AllOf(
                    HasSubstr("r:3: the ladder of fashion_mnist has no implementation"),
                    HasSubstr("did you mean 'one_kernel'"), HasSubstr("r:5: rung global is there twice"))));
    EXPECT_THAT(refusal("network forked\nbatch 1\nrung global\n"),
                HasSubstr("mine.schedule:3: expected launches, found implementations of a ladder"));
}

TEST(Schedule, OnSeveralStreamsLaunchesWaitForWhatTheyReadAndShareNoMemory) {
    const PlannedNetwork plan = planned_by(on_two_streams);
    EXPECT_EQ(streams_of(plan.schedule), 2);
    EXPECT_THAT(waits_of(plan.schedule), ElementsAre(ElementsAre(), ElementsAre(0U), ElementsAre()));
    const Arena arena = arena_of(plan.network, plan.schedule, 1);
    std::int64_t all = 0;
    for (const TensorPlace &place : arena.places)
        all += place.bytes;
    EXPECT_EQ(arena.bytes, all);
}

TEST(EquationN9, LaunchesOfTwoStreamsRunAtOnceAndShareTheSms) {
    std::string apart = on_two_streams; // bias, sum and ReLU behind both
    apart.replace(apart.find("launch left"), std::string::npos,
                  "launch left+bias strategy=implicit_gemm\nlaunch sum+relu\nlaunch dense\n");
    // Settings that tie with none: else a time is the mean of those that tie, by which early starts decide
    // (N8).
    const std::string taken = "strategy=implicit_gemm",
                      slow = ":tile_k=128,tile_pixels=128,thread_k=8,thread_pixels=4";
    for (std::size_t at = apart.find(taken); at != std::string::npos;
         at = apart.find(taken, at + taken.size()))
        apart.insert(at + taken.size(), slow);
    const NetworkCase two = planned_by(apart).forecast.first();
    std::string alone = apart;
    alone.replace(alone.find("stream=1"), 8, "stream=0");
    const NetworkCase one = planned_by(alone).forecast.first();
    const auto time = [&](std::size_t i) { return two.launches[i].time_s.value; };
    // Both convolutions are of few CTAs: they take no longer together than the longer one.
    EXPECT_EQ(two.launches[0].begins_s->value, 0.0);
    EXPECT_EQ(two.launches[1].begins_s->value, 0.0);
    EXPECT_NEAR(two.launches[2].begins_s->value, std::max(time(0), time(1)), 1e-15);
    EXPECT_NEAR(two.forecast_s()->value, std::max(time(0), time(1)) + time(2) + time(3), 1e-15);
    const auto gaps = [](const NetworkCase &of) {
        return dependent_gap_s * static_cast<double>(*of.nodes); // on several streams none starts early
    };
    const double beside = std::min(time(0), time(1)); // has such a gap itself
    // On one stream each launch behind the first starts early, which saves this much of its start (N2).
    const auto saved = [](const NetworkCase &of) {
        return static_cast<double>(of.launches.size() - 1) *
               (h200().graph_launch_period->value - h200().early_launch_period->value).value;
    };
    EXPECT_NEAR(one.forecast_s()->value + saved(one) + gaps(two) - two.forecast_s()->value, beside, 1e-15);
    // Of so many images that each fills the GPU they take as long as one after another.
    const auto many = [](std::string text) {
        text.replace(text.find("batch 1"), 7, "batch 4096");
        text.replace(text.find("launch dense"), std::string::npos,
                     "turn relu layout=columns\nlaunch dense layout=columns strategy=implicit_gemm\n"
                     "turn dense layout=images\n");
        return planned_by(text).forecast.first();
    };
    const NetworkCase apart_many = many(apart);
    const NetworkCase alone_many = many(alone);
    EXPECT_NEAR((apart_many.forecast_s()->value - gaps(apart_many)) /
                    (alone_many.forecast_s()->value + saved(alone_many)),
                1.0, 1e-4);
}

TEST(WholeRun, RecordsOfNodesAreTimesOfLaunches) {
    const PlannedNetwork plan = planned_by(on_two_streams);
    ASSERT_EQ(plan.forecast.first().nodes, 3);
    // right on stream 1 from 100 to 400 ns, left behind it though it is on another stream, then dense early.
    const TracedNode first{"", {100, 400}};
    const std::vector<LaunchMeasurement> times =
        launch_times(plan, {{first, {"", {410, 900}}, {"", {880, 1300}}}});
    ASSERT_EQ(times.size(), 3U);
    EXPECT_NEAR(times[1].begins_s->value, 310e-9, 1e-15);
    EXPECT_NEAR(times[1].ends_s->value, 800e-9, 1e-15);
    const auto time = [&](std::size_t i) { return times[i].time_s.median_s.value; };
    EXPECT_NEAR(time(1), 500e-9, 1e-15); // from the end of right
    EXPECT_NEAR(time(2), 400e-9, 1e-15); // from the end of left, not from its own early start
    EXPECT_NEAR(times[1].share, 500.0 / 1200.0, 1e-9);
    EXPECT_TRUE(launch_times(plan, {{first, {"", {410, 900}}}}).empty());
}

} // namespace
