// Networks: what files say, what studies count of them, and their forecast.
#include "model/base/errors.hpp"
#include "model/choice.hpp"
#include "model/choose/ranking.hpp"
#include "model/machine/assume.hpp"
#include "model/machine/each_number.hpp"
#include "model/machine/knowledge.hpp"
#include "model/network/forecast.hpp"
#include "model/network/forecaster.hpp"
#include "model/network/l2_content.hpp"
#include "model/network/launch_times.hpp"
#include "model/network/network.hpp"
#include "model/network/schedule.hpp"
#include "model/record/study.hpp"
#include "model/work/tensors.hpp"
#include "tests/unit/recorded_networks.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

using namespace convcast;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

namespace {

/// A network of one line an operator, the first of them in line 8.
Network network_of(const std::string &operators, const std::string &input = "[1, 6, 6]") {
    return read_network("{\n\"schema\": \"convcast/network/1\",\n\"id\": \"mine\",\n\"title\": \"t\",\n"
                        "\"citation\": \"c\",\n\"input\": " +
                            input + ",\n\"operators\": [\n" + operators + "\n]}\n",
                        "mine.json");
}

const char *const conv =
    R"({"name": "conv1", "kind": "convolution", "outputs": 2, "window": [3, 3], "output": [2, 4, 4]})";

TEST(Network, CountsOfTheStudiesFollowFromTheNetworks) {
    for (const std::string name : {"alexnet", "vgg16", "resnet18", "resnet50"})
        for (const int batch : {1, 32}) {
            const Study study = find_study(name + "_b" + std::to_string(batch));
            std::map<std::string, std::int64_t> listed, counted;
            for (std::size_t i = 0; i < study.shapes.size(); ++i)
                listed[study.shapes[i]] = study.counts[i];
            const Network network = find_network(name);
            for (std::size_t i = 0; i < network.operators.size(); ++i)
                if (network.operators[i].kind == OperatorKind::convolution)
                    ++counted[as_convolution(network.operators[i], network.input_shapes(i).front(), batch)
                                  ->id()];
            EXPECT_EQ(counted, listed) << study.id;
        }
}

TEST(Network, WorkIsThatOfThePapers) {
    const Network network = find_network("fashion_mnist");
    const NetworkQuestion question = only_time();
    const Knowledge knowledge;
    NetworkForecaster forecaster(network, h200(), knowledge, question);
    std::map<std::string, double> fmas, bytes; // of an image; bytes of what L2 has
    for (std::size_t i = 0; i < network.operators.size(); ++i) {
        const Operator &op = network.operators[i];
        fmas[op.name] = fmas_of(op, network.input_shapes(i).front(), 1);
        ScheduledLaunch launch = launch_of(network, i, 1, false);
        launch.reads = {{network.sources(i).front(), false}};
        bytes[op.name] = *forecaster.launch(launch, {{1.0}, 1.0}).bytes;
    }
    EXPECT_EQ(fmas["conv1"], 460800.0);
    EXPECT_EQ(fmas["conv2"], 3276800.0);
    EXPECT_EQ(fmas["dense1"] + fmas["dense2"], 66176.0);
    EXPECT_EQ(fmas["pool1"], 0.0);
    EXPECT_EQ(bytes["conv1"], 4.0 * (28 * 28 + 32 * 25 + 32 * 24 * 24));
    EXPECT_EQ(bytes["bias2"], 4.0 * (64 * 8 * 8 + 64 + 64 * 8 * 8));
    const Network mnist = find_network("mnist");
    EXPECT_EQ(mnist.operators[3].output, (ImageShape{6, 6, 6}));
    EXPECT_EQ(mnist.operators.back().kind, OperatorKind::half_squared_error);
    EXPECT_EQ(without_losses(mnist).operators.back().name, "logistic1");
    EXPECT_EQ(network.operators.back().kind, OperatorKind::cross_entropy);
    EXPECT_EQ(without_losses(network).operators.back().name, "bias_dense2");
}

TEST(Network, DenseIsAConvolutionOfOnePixel) {
    const Network network = find_network("fashion_mnist");
    EXPECT_EQ(as_convolution(network.operators[8], network.input_shapes(8).front(), 3)->id(),
              "n3c1024h1w1k64r1s1");
    EXPECT_EQ(as_convolution(network.operators[1], network.input_shapes(1).front(), 3), std::nullopt);
}

TEST(Network, ShapesThatDoNotChainAreRefusedByLineAndPlace) {
    EXPECT_NO_THROW(network_of(conv));
    const std::string pool =
        R"(, {"name": "pool1", "kind": "max_pooling", "window": [2, 2], "output": [2, 3, 2]})";
    EXPECT_THAT([&] { network_of(conv + std::string("\n") + pool); },
                ThrowsMessage<InputError>(
                    AllOf(HasSubstr("mine.json:9: /operators/1/output"), HasSubstr("do not chain"),
                          HasSubstr("2 x 2 x 2 of 2 x 4 x 4 from conv1"), HasSubstr("found 2 x 3 x 2"),
                          HasSubstr("expected \"output\": [2, 2, 2]"))));
}

TEST(Network, WhatAFileHasWrongIsSaid) {
    const auto says = [](const std::string &operators, const std::string &place, const std::string &what) {
        EXPECT_THAT(
            [&] { network_of(operators); },
            ThrowsMessage<InputError>(AllOf(HasSubstr("mine.json:8: /operators/" + place), HasSubstr(what))))
            << operators;
    };
    says(R"({"name": "a", "kind": "convolutoin", "output": [1, 1, 1]})", "0/kind",
         "did you mean 'convolution'?");
    says(R"({"name": "a", "kind": "convolution", "outputs": 2, "output": [2, 4, 4]})", "0",
         "convolution needs \"window\", for example \"window\": [3, 3]");
    says(R"({"name": "a", "kind": "convolution", "window": [3, 3], "output": [2, 4, 4]})", "0",
         "needs \"outputs\"");
    says(R"({"name": "a", "kind": "relu", "stride": [2, 2], "output": [1, 6, 6]})", "0/stride",
         "relu has no \"stride\"; leave it out");
    says(R"({"name": "a", "kind": "max_pooling", "window": [7, 7], "output": [1, 1, 1]})", "0/window",
         "7 x 7 does not fit its input of 1 x 6 x 6");
    says(R"({"name": "a", "kind": "max_pooling", "window": [0, 2], "output": [1, 1, 1]})", "0/window",
         "expected 1 or more");
    says(R"({"name": "a", "kind": "max_pooling", "window": [2, 2], "pad": [2, 2], "output": [1, 5, 5]})",
         "0/pad", "less than the window");
    says(R"({"name": "a", "kind": "add", "output": [1, 6, 6]})", "0/from", "add takes two inputs");
    says(R"({"name": "a", "kind": "relu", "from": ["b"], "output": [1, 6, 6]})", "0/from/0",
         "the name of an operator before this one");
    says(R"({"name": "input", "kind": "relu", "output": [1, 6, 6]})", "0/name", "other than \"input\"");
    says(R"({"name": "a", "kind": "relu", "output": [0, 6, 6]})", "0/output", "1 or more");
    says(R"({"name": "a", "kind": "relu", "output": [100000, 1000000, 1]})", "0/output",
         "at most 2^31 numbers");
    says(R"({"name": "a", "kind": "convolution", "outputs": 2, "window": [3, 3]})", "0",
         "here \"output\": [2, 4, 4]");
    EXPECT_THAT(
        [] {
            network_of(R"({"name": "a", "kind": "convolutoin", "outputs": 2, "window": [3, 3], )"
                       R"("output": [2, 4, 4]})");
        },
        ThrowsMessage<InputError>(AllOf(HasSubstr("did you mean 'convolution'?"), Not(HasSubstr("relu has")),
                                        Not(HasSubstr("do not chain")))));
    says(conv + std::string(", ") + conv, "1/name", "the name of two operators");
    EXPECT_THAT([] { network_of(""); }, ThrowsMessage<InputError>(HasSubstr("at least one operator")));
    EXPECT_THAT([] { find_network("resnet5"); },
                ThrowsMessage<UsageError>(
                    AllOf(HasSubstr("did you mean 'resnet50'?"), HasSubstr("--network mine.json"))));
}

/// "0+1 2": operators of each launch; a launch that only turns a tensor is "turn".
std::string launches_text(const std::vector<ScheduledLaunch> &schedule) {
    std::string text;
    for (const ScheduledLaunch &launch : schedule) {
        text += text.empty() ? "" : " ";
        if (launch.operators.empty())
            text += "turn";
        for (std::size_t i = 0; i < launch.operators.size(); ++i)
            text += (i == 0 ? "" : "+") + std::to_string(launch.operators[i]);
    }
    return text;
}

bool ends_all(const ConvShape &) {
    return true;
}
bool ends_none(const ConvShape &) {
    return false;
}

/// Of a network by the launches of its own schedule.
NetworkCase forecast_network(const Network &network, const GpuProfile &profile, const Knowledge &knowledge,
                             const NetworkQuestion &question) {
    return plan_network(network, profile, knowledge, question).forecast.first();
}

TEST(EquationN1, ConvolutionsThatCanEndLaunchesDoSo) {
    const Network network = find_network("resnet18");
    std::vector<std::string> names;
    const auto ended = schedule_of(network, 1, ends_all);
    for (const std::size_t i : ended[3].operators)
        names.push_back(network.operators[i].name);
    EXPECT_THAT(names, ElementsAre("conv2_1b", "bias2_1b", "add2_1", "relu2_1"));
    EXPECT_EQ(network.operators[ended[3].reads.at(1).of].name, "pool1");
    EXPECT_EQ(ended.size(), 23U); // 20 convolutions, two poolings, a dense layer
    names.clear();
    const auto apart = schedule_of(network, 1, ends_none);
    EXPECT_THAT(apart[5].operators, ElementsAre(7)); // conv2_1b
    for (const std::size_t i : apart[6].operators)
        names.push_back(network.operators[i].name);
    EXPECT_THAT(names, ElementsAre("bias2_1b", "add2_1", "relu2_1"));
}

TEST(EquationN1, AFasterStrategyThatCannotEndIsTakenOnlyWhereTheNetworkIsFasterWithIt) {
    const Network mnist = find_network("mnist");
    const Knowledge knowledge = knowledge_for(h200());
    NetworkQuestion question;
    question.batch = 10000;
    const NetworkCase chosen = forecast_network(mnist, h200(), knowledge, question);
    question.strategies = {"implicit_gemm", "winograd"}; // both can end launches
    const NetworkCase ending = forecast_network(mnist, h200(), knowledge, question);
    EXPECT_LE(chosen.forecast_s()->value, ending.forecast_s()->value * (1.0 + 1e-9));
    EXPECT_EQ(
        chosen.launches.front().operators,
        (std::vector<std::string>{"conv1", "bias1", "relu1"})); // 143 us for a bias and a ReLU are too many
}

TEST(EquationN1, AResultThatTwoReadIsALaunchOfItsOwn) {
    const Network network = network_of(R"({"name": "a", "kind": "bias", "output": [1, 6, 6]},
                   {"name": "b", "kind": "relu", "output": [1, 6, 6]},
                   {"name": "c", "kind": "add", "from": ["a", "b"], "output": [1, 6, 6]})");
    EXPECT_EQ(launches_text(schedule_of(network, 1, ends_all)), "0 1+2");
}

TEST(EquationN1, WhatAConvolutionCannotEndIsALaunchBehindIt) {
    const Network network = network_of(
        R"({"name": "a", "kind": "convolution", "outputs": 2, "window": [1, 1], "output": [2, 6, 6]},
                   {"name": "b", "kind": "bias", "output": [2, 6, 6]},
                   {"name": "c", "kind": "logistic", "output": [2, 6, 6]},
                   {"name": "d", "kind": "bias", "output": [2, 6, 6]},
                   {"name": "e", "kind": "scale", "output": [2, 6, 6]})");
    // Bias before functions; behind the convolution any order does.
    EXPECT_EQ(launches_text(schedule_of(network, 1, ends_all)), "0+1+2 3+4");
}

TEST(EquationN1, DenseLayersOfManyImagesLieInColumns) {
    const Network network = network_of(R"({"name": "a", "kind": "dense", "outputs": 5, "output": [5, 1, 1]},
                   {"name": "b", "kind": "relu", "output": [5, 1, 1]},
                   {"name": "c", "kind": "dense", "outputs": 3, "output": [3, 1, 1]},
                   {"name": "d", "kind": "logistic", "output": [3, 1, 1]},
                   {"name": "e", "kind": "softmax", "output": [3, 1, 1]})",
                                       "[4, 1, 1]");
    const auto few = schedule_of(network, least_columns - 1, ends_all);
    EXPECT_EQ(launches_text(few), "0+1 2+3 4");
    EXPECT_EQ(few[0].kind, LaunchKind::dense);
    const auto many = schedule_of(network, least_columns, ends_all);
    EXPECT_EQ(launches_text(many), "turn 0+1 2+3 turn 4");
    EXPECT_EQ(many[1].kind, LaunchKind::columns);
    EXPECT_EQ(many[1].shape->id(), "n1c4h1w8k5r1s1"); // an image with a column for each
    EXPECT_TRUE(many[2].writes.columns);
    EXPECT_FALSE(many[4].writes.columns);
}

TEST(EquationN1, TheImagesOfADenseFirstLayerAreTurnedToo) {
    const Network network =
        network_of(R"({"name": "a", "kind": "dense", "outputs": 5, "output": [5, 1, 1]})", "[100, 1, 1]");
    const auto schedule = schedule_of(network, 50, ends_all);
    ASSERT_EQ(schedule.front().kind, LaunchKind::to_columns);
    EXPECT_EQ(schedule.front().writes.of, Network::input_index);
    // Tiles of 32 numbers and 32 images.
    const LaunchGrid grid = grid_of(network, schedule.front(), 50);
    EXPECT_EQ(grid.x, 4);
    EXPECT_EQ(grid.y, 2);
    const Arena arena = arena_of(network, schedule, 50);
    EXPECT_EQ(arena.places.front().bytes, 20224); // 50 images of 400 bytes, in whole lines of 256
}

TEST(NetworkSchedule, OutputsBesideTheLastAreTurnedBeforeIt) {
    const Network network = read_network(
        R"({"schema": "convcast/network/1", "id": "mine", "title": "t", "citation": "c", "input": [8, 1, 1], "outputs": ["a"],
            "operators": [{"name": "a", "kind": "dense", "outputs": 20, "output": [20, 1, 1]},
                          {"name": "b", "kind": "dense", "from": ["input"], "outputs": 5, "output": [5, 1, 1]},
                          {"name": "c", "kind": "softmax", "output": [5, 1, 1]}]})",
        "mine.json");
    const auto schedule = schedule_of(network, least_columns, ends_all);
    EXPECT_EQ(launches_text(schedule), "turn 0 1 turn turn 2");
    EXPECT_EQ(schedule.back().writes, (Tensor{2, false}));
    EXPECT_EQ(schedule[4].writes, (Tensor{0, false}));
    const Arena arena = arena_of(network, schedule, least_columns);
    EXPECT_EQ(arena.places.back().bytes, 256); // 8 images of 5 numbers, in whole lines
}

TEST(NetworkSchedule, ATensorsMemoryIsReusedWhenItWasReadLast) {
    const Network network =
        network_of(R"({"name": "a", "kind": "max_pooling", "window": [1, 1], "output": [1, 16, 16]},
                   {"name": "b", "kind": "max_pooling", "window": [1, 1], "output": [1, 16, 16]},
                   {"name": "c", "kind": "max_pooling", "window": [1, 1], "output": [1, 16, 16]},
                   {"name": "d", "kind": "softmax", "output": [1, 16, 16]},
                   {"name": "e", "kind": "add", "from": ["d", "a"], "output": [1, 16, 16]})",
                   "[1, 16, 16]");
    const Arena arena = arena_of(network, schedule_of(network, 1, ends_all), 1);
    std::vector<std::int64_t> offsets;
    for (const TensorPlace &place : arena.places)
        offsets.push_back(place.offset_bytes);
    // a stays until the end; d goes where b was, and the sum where c was.
    EXPECT_THAT(offsets, ElementsAre(0, 1024, 2048, 1024, 2048));
    EXPECT_EQ(arena.bytes, 3072);
}

std::vector<LaunchKind> kinds_of(const std::vector<ScheduledLaunch> &schedule) {
    std::vector<LaunchKind> kinds;
    for (const ScheduledLaunch &launch : schedule)
        kinds.push_back(launch.kind);
    return kinds;
}

/// Two concats one in another, a slice and a reshape of the outer one.
const Network network_of_parts =
    network_of(R"({"name": "a", "kind": "max_pooling", "window": [1, 1], "output": [2, 8, 8]},
               {"name": "b", "kind": "average_pooling", "window": [1, 1], "from": ["a"], "output": [2, 8, 8]},
               {"name": "c", "kind": "max_pooling", "window": [1, 1], "from": ["b"], "output": [2, 8, 8]},
               {"name": "inner", "kind": "concat", "from": ["b", "c"], "output": [4, 8, 8]},
               {"name": "outer", "kind": "concat", "from": ["a", "inner"], "output": [6, 8, 8]},
               {"name": "d", "kind": "max_pooling", "window": [1, 1], "output": [6, 8, 8]},
               {"name": "e", "kind": "slice", "from": ["outer"], "begin": [3, 0, 0], "output": [2, 8, 8]},
               {"name": "f", "kind": "reshape", "from": ["d"], "output": [384, 1, 1]},
               {"name": "g", "kind": "max_pooling", "window": [1, 1], "from": ["e"], "output": [2, 8, 8]},
               {"name": "h", "kind": "dense", "outputs": 5, "from": ["f"], "output": [5, 1, 1]},
               {"name": "i", "kind": "softmax", "output": [5, 1, 1]})",
               "[2, 8, 8]");

TEST(NetworkSchedule, WhatFollowsInMemoryTakesNoLaunch) {
    const LaunchKind pooling = LaunchKind::pooling, placed = LaunchKind::placed;
    const auto schedule = schedule_of(network_of_parts, 1, ends_all);
    EXPECT_THAT(kinds_of(schedule), ElementsAre(pooling, pooling, pooling, placed, placed, pooling, placed,
                                                placed, pooling, LaunchKind::dense, LaunchKind::softmax));
    std::map<std::string, std::int64_t> offsets;
    const Arena arena = arena_of(network_of_parts, schedule, 1);
    for (const TensorPlace &place : arena.places)
        offsets[network_of_parts.operators[place.tensor.of].name] = place.offset_bytes;
    // A channel takes 256 bytes. The outer concat lies where a does, from a's launch until the last read of a
    // part.
    const std::map<std::string, std::int64_t> expected = {
        {"a", 0},   {"outer", 0}, {"inner", 512}, {"b", 512},  {"c", 1024},
        {"e", 768}, {"d", 1536},  {"f", 1536},    {"g", 3072}, {"h", 0}}; // at h every part was read
    for (const auto &[name, offset] : expected)
        EXPECT_EQ(offsets[name], offset) << name;
}

TEST(NetworkSchedule, PartsOfSeveralImagesAreCopied) {
    const LaunchKind pooling = LaunchKind::pooling, gather = LaunchKind::gather;
    EXPECT_THAT(kinds_of(schedule_of(network_of_parts, 2, ends_all)),
                ElementsAre(pooling, pooling, pooling, gather, gather, pooling, gather, LaunchKind::placed,
                            pooling, LaunchKind::dense, LaunchKind::softmax)); // a reshape moves nothing
}

TEST(NetworkSchedule, WhatMayNotLieInAnotherIsCopied) {
    const auto kind_of_last_but_one = [](const std::string &operators, const std::string &input) {
        const Network network = network_of(operators, input);
        const auto schedule = schedule_of(network, 1, ends_all);
        return schedule[schedule.size() - 2].kind;
    };
    const std::string a = R"({"name": "a", "kind": "max_pooling", "window": [1, 1], "output": )",
                      last = R"(, {"name": "z", "kind": "softmax", "output": )";
    // the images, which stay as they are
    EXPECT_EQ(
        kind_of_last_but_one(
            a + R"([1, 4, 4]}, {"name": "b", "kind": "concat", "from": ["input", "a"], "output": [2, 4, 4]})" +
                last + "[2, 4, 4]}",
            "[1, 4, 4]"),
        LaunchKind::gather);
    // one tensor twice
    EXPECT_EQ(
        kind_of_last_but_one(
            a + R"([1, 4, 4]}, {"name": "b", "kind": "concat", "from": ["a", "a"], "output": [2, 4, 4]})" +
                last + "[2, 4, 4]}",
            "[1, 4, 4]"),
        LaunchKind::gather);
    // a part that begins at number 9, while kernels read four at once
    EXPECT_EQ(
        kind_of_last_but_one(
            a + R"([2, 3, 3]}, {"name": "b", "kind": "slice", "begin": [1, 0, 0], "output": [1, 3, 3]})" +
                last + "[1, 3, 3]}",
            "[2, 3, 3]"),
        LaunchKind::gather);
    // rows of a map
    EXPECT_EQ(
        kind_of_last_but_one(
            a + R"([2, 4, 4]}, {"name": "b", "kind": "slice", "begin": [0, 1, 0], "output": [2, 2, 4]})" +
                last + "[2, 2, 4]}",
            "[2, 4, 4]"),
        LaunchKind::gather);
}

TEST(LaunchTimes, ALaunchWithoutANodeTakesNoTime) {
    const PlannedNetwork plan = planned_on_h200(network_of_parts, only_time());
    const auto &launches = plan.forecast.first().launches;
    EXPECT_EQ(launches[3].nodes, 0);
    EXPECT_EQ(launches[3].time_s, Seconds(0.0));
    EXPECT_EQ(plan.forecast.first().nodes, 7);
    TracedCall nodes;
    for (std::uint64_t i = 0; i < 7; ++i)
        nodes.push_back({"a kernel", {1000 * i, 1000 * i + 600}});
    const auto times = launch_times(plan, {nodes});
    ASSERT_EQ(times.size(), launches.size());
    EXPECT_NEAR(times[2].time_s.median_s.value, 1e-6, 1e-12); // from the end of the launch before
    EXPECT_EQ(times[3].time_s.median_s, Seconds(0.0));
    EXPECT_EQ(times[3].begins_s, times[2].ends_s);
    EXPECT_NEAR(times[5].time_s.median_s.value, 1e-6, 1e-12);
}

TEST(WholeRun, AGpuTooSmallAndAnOperatorWithoutAKernelAreSaid) {
    const Network network =
        network_of(R"({"name": "a", "kind": "dense", "outputs": 250, "output": [250, 1, 1]},
                   {"name": "b", "kind": "cross_entropy", "output": [1, 1, 1]})",
                   "[999, 1, 1]");
    const PlannedNetwork plan = plan_network(network, h200(), {}, only_time());
    // 999 pixels, 250 x 999 weights, the loss; tensors of 250 and 1 floats in pieces of 256 bytes.
    EXPECT_EQ(memory_of(plan).all_bytes(), 4 * (999 + 249750 + 1) + 1024 + 256);
    EXPECT_EQ(why_too_large(plan, "toy", 2e6, 10e6), std::nullopt);
    EXPECT_THAT(why_too_large(plan, "toy", 1e6, 10e6).value_or(""),
                HasSubstr("mine with batch 1 needs 0.001 GB on the GPU, toy has 0.001 GB free"));
    EXPECT_THAT(why_not_whole(network).value_or(""),
                HasSubstr("no kernel computes b (cross_entropy) of mine"));
    EXPECT_EQ(why_not_whole(find_network("resnet50")), std::nullopt);
}

TEST(WholeRun, SpreadIsInterpolated) {
    const TimeSpread spread = time_spread({4.0, 1.0, 3.0, 2.0, 5.0});
    EXPECT_DOUBLE_EQ(spread.median_s.value, 3.0);
    EXPECT_DOUBLE_EQ(spread.p05_s.value, 1.2);
    EXPECT_DOUBLE_EQ(spread.p95_s.value, 4.8);
    EXPECT_EQ(spread.samples, 5);
}

TEST(Network, TimesOfNodesAndGapsAddUpToTheTotal) {
    NetworkQuestion question;
    question.batch = 4;
    const PlannedNetwork plan = plan_network(find_network("resnet18"), h200(), {}, question);
    const NetworkCase &run = plan.forecast.first();
    double time = 0.0, flops = 0.0;
    std::int64_t numbers = 0;
    for (const NetworkLaunch &launch : run.launches) {
        time += launch.time_s.value;
        flops += *launch.flops;
        numbers += *launch.parameters;
        ASSERT_TRUE(launch.light_s);
        EXPECT_GT(*launch.bytes, 0.0) << launch.name();
        if (launch.helps) {
            EXPECT_LT(launch.helps->time_s, launch.time_s) << launch.name();
        }
    }
    EXPECT_NEAR(time, plan.time().value, 1e-9 * time);
    EXPECT_LT(run.gaps_s->value, time);
    EXPECT_NEAR(flops, *run.flops, 1e-9 * flops);
    EXPECT_GT(flops, 2.0 * *run.fmas) << "two for each multiply-add, and the others";
    EXPECT_LT(flops, 2.02 * *run.fmas);
    EXPECT_EQ(4 * numbers, run.memory->parameters_bytes);
    EXPECT_EQ(run.memory->all_bytes(), memory_of(plan).all_bytes());
    EXPECT_EQ(run.memory->activations_bytes, arena_of(plan.network, plan.schedule, 4).bytes);
}

TEST(Network, OperationsByHand) {
    const Network network = network_of(std::string(conv) +
                                       R"(,
{"name": "relu1", "kind": "relu", "output": [2, 4, 4]},
{"name": "pool1", "kind": "max_pooling", "window": [2, 2], "output": [2, 2, 2]},
{"name": "fc", "kind": "dense", "outputs": 3, "output": [3, 1, 1]},
{"name": "view", "kind": "reshape", "output": [1, 1, 3]})");
    // 9 products for each of 32 outputs; a comparison each; 4 pixels for each of 8; 8 products for each of 3.
    const std::vector<double> expected = {2 * 9 * 32, 32, 4 * 8, 2 * 8 * 3, 0};
    for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(operations_of(network.operators[i], network.input_shapes(i).front(), 5), 5 * expected[i])
            << network.operators[i].name;
}

// The toy GPU: 100 clocks of 1 GHz to DRAM, 50 to L2; 100 GB/s of DRAM, 200 of L2 reads.
TEST(EquationN3, BytesByHand) {
    GpuProfile toy = find_profile("toy");
    toy.knee_exponent->value = Plain(1.0); // latency and transfer add
    const double floor = toy.launch_floor->value.value;
    const Network network =
        network_of(R"({"name": "a", "kind": "relu", "output": [100, 10, 10]})", "[100, 10, 10]");
    // 40,000 bytes in and out, which L2 of 1,000,000 has. Reads take 50 + 200 ns, writes at 100 GB/s 400 ns.
    // Before, code and arguments come from L2: 3 * 50 ns.
    EXPECT_NEAR(forecast_network(network, toy, {}, only_time()).forecast_s()->value, floor + 150e-9 + 400e-9,
                1e-15);
    // 800,000 each way: DRAM, its latency, and one bus for both
    EXPECT_NEAR(forecast_network(network, toy, {}, only_time(20)).forecast_s()->value,
                floor + 250e-9 + 1600000 / 100e9, 1e-12);
    // 20 * 10,000 numbers are 196 CTAs of 256 threads with 4 each.
    toy.cta_launch_time = Param<Seconds>{Seconds(1e-9), Source::assumed, "test"};
    EXPECT_NEAR(forecast_network(network, toy, {}, only_time(20)).forecast_s()->value,
                floor + 196e-9 + 250e-9 + 1600000 / 100e9, 1e-12);
    // Both at once, as latency and transfer are: the norm of M1.
    toy.knee_exponent->value = Plain(2.0);
    toy.cta_launch_time.reset();
    const double moved =
        forecast_network(network, toy, {}, only_time(20)).forecast_s()->value - floor - 150e-9;
    toy.cta_launch_time = Param<Seconds>{Seconds(100e-9), Source::assumed, "test"}; // 19.6 us beside 16 us
    EXPECT_NEAR(forecast_network(network, toy, {}, only_time(20)).forecast_s()->value,
                floor + 150e-9 + std::hypot(19.6e-6, moved), 1e-12);
}

TEST(EquationN12, CodeIsThereIfTheSameKernelRanJustBefore) {
    const GpuProfile toy = find_profile("toy");
    const auto new_code = [&](const char *between) {
        const auto layer = [](const char *name) {
            return R"({"name": ")" + std::string(name) +
                   R"(", "kind": "convolution", "outputs": 8, "window": [3, 3], "pad": [1, 1], "groups": 8,
                      "output": [8, 14, 14]})";
        };
        const Network network = network_of(layer("a") + ", " + between + layer("b"), "[8, 14, 14]");
        const std::vector<ScheduledLaunch> schedule =
            schedule_of(network, 1, [](const ConvShape &) { return true; });
        return held_by_shape(schedule, held_for_launches(network, schedule, 1, Gpu(toy)))
            .at("n1c8h14w14k8r3s3_pad1x1_g8")
            .new_code;
    };
    EXPECT_EQ(new_code(""), 0.5); // of two launches the second finds it
    EXPECT_EQ(new_code(R"({"name": "m", "kind": "max_pooling", "window": [1, 1], "output": [8, 14, 14]}, )"),
              1.0);
}

TEST(EquationN3, FiltersThatAreReadBeforeWaitingAreThere) {
    // A depthwise layer whose weights L2 has, or has not: a dense layer behind it reads up to 100 MB, which
    // push out what the call before left. Its pixels are there: the launch before it wrote them.
    const GpuProfile h200 = find_profile("h200");
    const auto time_of = [&](const std::string &strategy, int outputs) {
        NetworkQuestion question = only_time();
        question.strategies = {strategy};
        const std::string dense = std::to_string(outputs);
        const Network network = network_of(R"({"name": "r", "kind": "relu", "output": [64, 14, 14]},
                          {"name": "d", "kind": "convolution", "outputs": 64, "window": [3, 3],
                           "pad": [1, 1], "groups": 64, "output": [64, 14, 14]},
                          {"name": "b", "kind": "bias", "output": [64, 14, 14]},
                          {"name": "l", "kind": "dense", "outputs": )" +
                                               dense + R"(, "output": [)" + dense + ", 1, 1]}",
                                           "[64, 14, 14]");
        // Of the first candidate: the launch has the mean of those that tie with it (N8).
        return forecast_network(network, h200, knowledge_for(h200), question)
            .launches.at(1)
            .candidates.front()
            .time_s.value;
    };
    // A few nanoseconds remain: the larger weights leave a little less of the layer's output in L2.
    EXPECT_NEAR(time_of("depthwise_register", 2000), time_of("depthwise_register", 10), 3e-9);
    EXPECT_GT(time_of("depthwise", 2000), time_of("depthwise", 10) + 50e-9);
}

TEST(EquationN3, FunctionsOfAnEndTakeTheirInstructions) {
    const GpuProfile toy = find_profile("toy");
    const auto time_of = [&](const std::string &function) {
        const Network network = network_of(
            R"({"name": "a", "kind": "convolution", "outputs": 64, "window": [3, 3], "output": [64, 30, 30]},
                       {"name": "f", "kind": ")" +
                function + R"(", "output": [64, 30, 30]})",
            "[16, 32, 32]");
        const NetworkCase forecast = forecast_network(network, toy, {}, only_time(8));
        EXPECT_EQ(forecast.launches.size(), 1u);
        return forecast.launches.at(0).time_s.value;
    };
    // Two results of special function units, 16 a clock and SM; one instruction of 128 lanes a clock; 32 of
    // them.
    const double numbers = 8.0 * 64 * 30 * 30,
                 clocks =
                     numbers / (toy.limits.sm_count * toy.sm_clock->value.value); // at one a clock and SM
    EXPECT_NEAR(time_of("silu") - time_of("relu"), clocks * (8.0 - 1.0) / 128.0, 1e-12);
    EXPECT_NEAR(time_of("gelu") - time_of("relu"), clocks * (32.0 - 1.0) / 128.0, 1e-12);
}

TEST(EquationN4, EveryParameterOnceOrEveryProduct) {
    GpuProfile toy = find_profile("toy");
    toy.knee_exponent->value = Plain(1.0);
    const double floor = toy.launch_floor->value.value;
    const Network network = network_of(
        R"({"name": "a", "kind": "dense", "outputs": 1000, "output": [1000, 1, 1]})", "[1000, 1, 1]");
    // 1,000,000 weights and 1,000 pixels of 4 bytes.
    EXPECT_NEAR(forecast_network(network, toy, {}, only_time()).light_s->value,
                floor + 100e-9 + 4004000 / 100e9, 1e-12);
    // 1e9 products at 10 SMs * 64 an ns
    EXPECT_NEAR(forecast_network(network, toy, {}, only_time(1000)).light_s->value, floor + 1e9 / 640e9,
                1e-9);
}

TEST(WhatIf, SettingsFarBehindAreNotMissed) {
    // A GPU with a number twice as large chooses among the settings that are close on the GPU as it is, and
    // takes as long as when it chooses among all.
    const Knowledge knowledge = knowledge_for(h200());
    const Network network = find_network("resnet18");
    NetworkQuestion question;
    NetworkForecaster unchanged(network, h200(), knowledge, question);
    const std::vector<ConvShape> shapes = {ConvShape::parse("n1c64h56w56k64r3s3_pad1x1"),
                                           ConvShape::parse("n1c256h14w14k256r3s3_pad1x1"),
                                           ConvShape::parse("n1c64h56w56k128r1s1_str2x2")};
    unchanged.rank_ahead(shapes);
    for (const char *name : {"dram_read_bandwidth", "l2_read_bandwidth", "l2_write_bandwidth"}) {
        GpuProfile changed = h200();
        for_each_param(changed, [&](const char *its, auto &number) {
            if (number && std::string(its) == name)
                number->value = number->value * 2.0;
        });
        NetworkForecaster some(network, changed, knowledge, question, &unchanged),
            all(network, changed, knowledge, question);
        for (const ConvShape &shape : shapes) {
            // Of each combination of knobs the tile that is best on the GPU as it is is asked again. Another
            // tile may have become the best by a little.
            const NetworkForecaster::Ways &its = some.ways_of(shape), &best = all.ways_of(shape);
            EXPECT_GE(its.best_s, best.best_s) << name << " " << shape.id();
            EXPECT_LE(its.best_s / best.best_s, 1.02) << name << " " << shape.id();
            EXPECT_NEAR(its.time_s / best.time_s, 1.0, 0.02) << name << " " << shape.id();
            if (its.best_s == best.best_s) {
                EXPECT_EQ(its.ends, best.ends) << name << " " << shape.id();
            }
        }
    }
}

TEST(EquationN8, ATieTakesTheMeanOfItsForecasts) {
    GpuProfile late = h200();
    late.early_launch_period.reset(); // the first launch has nothing to start beside (N2)
    NetworkQuestion question = only_time();
    question.top = 1000;
    const Network network = network_of(
        R"({"name": "a", "kind": "convolution", "outputs": 64, "window": [3, 3], "output": [64, 26, 26]})",
        "[32, 28, 28]");
    const NetworkLaunch launch =
        forecast_network(network, late, knowledge_for(late), question).launches.at(0);
    double best = 1.0, total = 0.0, ties = 0.0;
    for (const NetworkCandidate &candidate : launch.candidates)
        best = std::min(best, candidate.time_s.value);
    for (const NetworkCandidate &candidate : launch.candidates)
        if (candidate.time_s.value <= 1.15 * best)
            total += candidate.time_s.value, ties += 1.0;
    EXPECT_GT(ties, 1.0);
    EXPECT_NEAR(launch.time_s.value, total / ties, 1e-15);
    EXPECT_LE(launch.candidates.front().time_s.value, 1.15 * best);
}

TEST(EquationN8, LongOnesTieLess) {
    EXPECT_EQ(tie_of(Seconds(1e-6)), 1.15);
    EXPECT_EQ(tie_of(Seconds(25e-6)), 1.15);
    EXPECT_NEAR(tie_of(Seconds(75e-6)), 1.05, 1e-12);
}

TEST(EquationN8, TheFirstChoiceHasTheMeanBesideIt) {
    const ConvShape shape = ConvShape::parse("n1c64h28w28k64r3s3");
    const GpuProfile profile = h200();
    Extent all;
    all.top = 1000;
    const Choice choice = choice_of(shape, profile, knowledge_for(profile), {}, all);
    std::vector<Seconds> times;
    for (const Case &ranked : choice.ranked)
        times.push_back(*ranked.prediction->time_s);
    ASSERT_GT(times.size(), 2U);
    EXPECT_EQ(choice.ranked.front().prediction->tied_s, mean_of_ties(times));
    EXPECT_GT(choice.ranked.front().prediction->tied_s, times.front());
    EXPECT_FALSE(choice.ranked[1].prediction->tied_s);
}

TEST(EquationI3, ANetworkOnAnOldGpuHasTheRangeOfWhatIsAssumed) {
    const Network network = without_losses(find_network("fashion_mnist"));
    const GpuProfile k80 = find_profile("k80");
    const NetworkCase old = forecast_network(network, k80, knowledge_for(k80), only_time());
    ASSERT_TRUE(old.forecast->low_s && old.forecast->high_s);
    EXPECT_LT(*old.forecast->low_s, *old.forecast_s());
    EXPECT_GT(*old.forecast->high_s, *old.forecast_s());
    GpuProfile slower = k80; // the floor of each launch at the end of its range
    for (const RangedNumber &number : ranged_numbers(k80))
        if (number.name == "launch_floor")
            slower = with_number(k80, number.name, number.high);
    EXPECT_LE(forecast_network(network, slower, knowledge_for(slower), only_time()).forecast_s()->value,
              old.forecast->high_s->value * 1.02);
    EXPECT_FALSE(forecast_network(network, h200(), knowledge_for(h200()), only_time()).forecast->low_s);
}

/// Alike, but for what is before them.
Network two_launches() {
    return network_of(R"({"name": "a", "kind": "max_pooling", "window": [1, 1], "output": [1, 6, 6]},
                                   {"name": "b", "kind": "max_pooling", "window": [1, 1], "output": [1, 6, 6]})");
}

TEST(EquationN2, AGraphsGapIsItsPeriodWithoutTheKernel) {
    GpuProfile toy = find_profile("toy");
    toy.launch_floor->value = Seconds(3e-6);
    const Network network = two_launches();
    const auto gap = [&] {
        const NetworkCase forecast = forecast_network(network, toy, {}, only_time());
        return forecast.launches[1].time_s.value - forecast.launches[0].time_s.value;
    };
    toy.launch_gap = Param<Seconds>{Seconds(5e-6), Source::assumed, "test"};
    toy.graph_launch_period = Param<Seconds>{Seconds(3.5e-6), Source::assumed, "test"};
    EXPECT_NEAR(gap(), 0.5e-6, 1e-15);
    toy.graph_launch_period.reset();
    EXPECT_NEAR(gap(), 5e-6, 1e-15);
}

TEST(EquationN2, LaunchesThatStartEarlyTakeTheirOwnPeriod) {
    GpuProfile toy = find_profile("toy");
    toy.launch_floor->value = Seconds(3e-6);
    const Network network = two_launches();
    const auto launches = [&] { return forecast_network(network, toy, {}, only_time()).launches; };
    const double alone = launches()[0].time_s.value;
    toy.early_launch_period = Param<Seconds>{Seconds(2e-6), Source::assumed, "test"};
    EXPECT_NEAR(launches()[0].time_s.value, alone, 1e-15);        // nothing before it to start beside
    EXPECT_NEAR(launches()[1].time_s.value, alone - 1e-6, 1e-15); // 2 us instead of 3, and no gap
}

TEST(EquationN2, LaunchesInHalfTheTimeStartInHalfOfTheirPeriod) {
    GpuProfile toy = find_profile("toy");
    toy.launch_floor->value = Seconds(3e-6);
    toy.early_launch_period = Param<Seconds>{Seconds(2e-6), Source::assumed, "test"};
    const NetworkCase forecast = forecast_network(two_launches(), toy, {}, {});
    for (const ChangedNetwork &change : forecast.what_if)
        if (change.change == "launches in half the time") {
            EXPECT_NEAR((*forecast.forecast_s() - change.time_s).value, 0.5 * (3e-6 + 2e-6), 1e-15);
        }
    EXPECT_GT(forecast.what_if.size(), 3u);
}

TEST(EquationN11, SmallNetworksStayInL2LargeOnesDoNot) {
    const GpuProfile toy = find_profile("toy");
    const Gpu gpu(toy);
    const Network network =
        network_of(R"({"name": "a", "kind": "max_pooling", "window": [1, 1], "output": [100, 10, 10]},
                   {"name": "b", "kind": "convolution", "outputs": 100, "window": [1, 1], "output": [100, 10, 10]},
                   {"name": "c", "kind": "add", "from": ["a", "b"], "output": [100, 10, 10]})",
                   "[100, 10, 10]");
    const auto held = [&](std::int64_t batch) {
        return held_for_launches(
            network, schedule_of(network, batch, [](const ConvShape &) { return false; }), batch, gpu);
    };
    for (const HeldForLaunch &launch :
         held(1)) { // 40,000 bytes a tensor and of filters, in an L2 of 1,000,000
        EXPECT_THAT(launch.reads, Each(1.0));
        EXPECT_EQ(launch.parameters, 1.0);
        EXPECT_EQ(launch.written_lost, 0.0);
    }
    for (const HeldForLaunch &launch : held(100)) { // 4,000,000 bytes
        EXPECT_THAT(launch.reads, Each(0.0));
        EXPECT_EQ(launch.parameters, 0.0);
        EXPECT_EQ(launch.written_lost, 1.0);
    }
    // In between: "b" reads "a" right behind it, and "c" when "b" and its filters have passed as well.
    const std::vector<HeldForLaunch> some = held(10);
    const double tensor = 400000.0, filters = 40000.0;
    EXPECT_EQ(some[1].reads[0], 1.0 - lost_from_l2(tensor + filters, gpu));
    EXPECT_EQ(some[2].reads[0], 1.0 - lost_from_l2(2.0 * tensor + filters, gpu));
    // Smaller, so that L2 loses some: "c" is the last to read "a", and may take its memory.
    const std::vector<HeldForLaunch> fewer = held(6);
    const double small = 240000.0, until_read = 2.0 * small + filters;
    EXPECT_EQ(fewer[0].written_lost, lost_from_l2(until_read + small, gpu));
    EXPECT_NE(lost_from_l2(until_read + small, gpu), lost_from_l2(until_read, gpu));
}

TEST(NetworkRun, SharesAndPartsAddUp) {
    const NetworkCase forecast =
        forecast_network(without_losses(find_network("fashion_mnist")), h200(), knowledge_for(h200()), {});
    double time = 0.0, share = 0.0;
    for (const NetworkLaunch &launch : forecast.launches) {
        time += launch.time_s.value;
        share += launch.share;
    }
    EXPECT_NEAR(time, forecast.forecast_s()->value, 1e-15);
    EXPECT_NEAR(share, 1.0, 1e-12);
    EXPECT_NEAR((*forecast.convolutions_s + *forecast.dense_s + *forecast.others_s).value, time, 1e-15);
    EXPECT_EQ(*forecast.fmas, 460800.0 + 3276800.0 + 66176.0);
    EXPECT_GT(*forecast.forecast_s(), *forecast.light_s);
    EXPECT_EQ(*forecast.nodes,
              6); // conv1 by a kernel that ends with bias and ReLU, though patch_register alone is faster
    for (const ChangedNetwork &change : forecast.what_if)
        if (change.change == "bias, relu and add in launches of their own")
            EXPECT_GT(change.time_s.value, time);
        else
            EXPECT_LE(change.time_s.value, time * 1.02)
                << change.change; // other strategies, none much slower
}

} // namespace
