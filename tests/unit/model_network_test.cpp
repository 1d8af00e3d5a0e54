// Networks: what files say, what studies count of them, and their forecast.
#include "model/base/errors.hpp"
#include "model/machine/knowledge.hpp"
#include "model/network/forecast.hpp"
#include "model/network/network.hpp"
#include "model/record/study.hpp"

#include <gmock/gmock.h>

#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

using namespace convcast;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

/// A network of one line an operator, the first of them in line 8.
std::string file_of(const std::string &operators, const std::string &input = "[1, 6, 6]") {
    return "{\n\"schema\": \"convcast/network/1\",\n\"id\": \"mine\",\n\"title\": \"t\",\n\"citation\": "
           "\"c\",\n"
           "\"input\": " +
           input + ",\n\"operators\": [\n" + operators + "\n]}\n";
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
            for (const LayerCount &count : convolution_counts(find_network(name), batch))
                counted[count.shape.id()] = count.layers;
            EXPECT_EQ(counted, listed) << study.id;
        }
}

TEST(Network, WorkIsThatOfThePapers) {
    const Network network = find_network("fashion_mnist");
    std::map<std::string, Work> work;
    for (std::size_t i = 0; i < network.operators.size(); ++i)
        work[network.operators[i].name] = work_of(network.operators[i], network.input_shapes(i), 1);
    EXPECT_EQ(*work["conv1"].fmas, 460800.0);
    EXPECT_EQ(*work["conv2"].fmas, 3276800.0);
    EXPECT_EQ(*work["dense1"].fmas + *work["dense2"].fmas, 66176.0);
    EXPECT_EQ(*work["pool1"].fmas, 0.0);
    EXPECT_EQ(*work["conv1"].dram_read_bytes, 4.0 * (28 * 28 + 32 * 25));
    EXPECT_EQ(*work["conv1"].dram_write_bytes, 4.0 * 32 * 24 * 24);
    EXPECT_EQ(*work["bias2"].dram_read_bytes, 4.0 * (64 * 8 * 8 + 64));
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
    EXPECT_NO_THROW(read_network(file_of(conv), "mine.json"));
    const std::string pool =
        R"(, {"name": "pool1", "kind": "max_pooling", "window": [2, 2], "output": [2, 3, 2]})";
    EXPECT_THAT([&] { read_network(file_of(conv + std::string("\n") + pool), "mine.json"); },
                ThrowsMessage<InputError>(
                    AllOf(HasSubstr("mine.json:9: /operators/1/output"), HasSubstr("do not chain"),
                          HasSubstr("2 x 2 x 2 of 2 x 4 x 4 from conv1"), HasSubstr("found 2 x 3 x 2"),
                          HasSubstr("expected \"output\": [2, 2, 2]"))));
}

TEST(Network, WhatAFileHasWrongIsSaid) {
    const auto says = [](const std::string &operators, const std::string &place, const std::string &what) {
        EXPECT_THAT(
            [&] { read_network(file_of(operators), "mine.json"); },
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
    says(conv + std::string(", ") + conv, "1/name", "the name of two operators");
    EXPECT_THAT([] { read_network(file_of(""), "mine.json"); },
                ThrowsMessage<InputError>(HasSubstr("at least one operator")));
    EXPECT_THAT([] { find_network("resnet5"); },
                ThrowsMessage<UsageError>(
                    AllOf(HasSubstr("did you mean 'resnet50'?"), HasSubstr("--network mine.json"))));
}

TEST(Network, NeighboursElementByElementAreOneLaunch) {
    const auto launches = launches_of(find_network("resnet18"));
    const Network network = find_network("resnet18");
    std::vector<std::string> names;
    for (const std::size_t i : launches[6])
        names.push_back(network.operators[i].name);
    EXPECT_THAT(names, ElementsAre("bias2_1b", "add2_1", "relu2_1"));
    EXPECT_THAT(launches[3], ElementsAre(4)); // conv2_1a
}

TEST(EquationN1, AResultThatTwoReadIsALaunchOfItsOwn) {
    const Network network = read_network(file_of(R"({"name": "a", "kind": "bias", "output": [1, 6, 6]},
                   {"name": "b", "kind": "relu", "output": [1, 6, 6]},
                   {"name": "c", "kind": "add", "from": ["a", "b"], "output": [1, 6, 6]})"),
                                         "mine.json");
    EXPECT_THAT(launches_of(network), ElementsAre(ElementsAre(0), ElementsAre(1, 2)));
}

// The toy GPU: 100 clocks of 1 GHz to DRAM, 50 to L2; 100 GB/s of DRAM, 200 of L2 reads.
TEST(EquationN3, BytesByHand) {
    GpuProfile toy = find_profile("toy");
    toy.knee_exponent->value = Plain(1.0); // latency and transfer add
    const double floor = toy.launch_floor->value.value;
    NetworkQuestion question;
    question.what_if = false;
    const Network network = read_network(
        file_of(R"({"name": "a", "kind": "relu", "output": [100, 10, 10]})", "[100, 10, 10]"), "m");
    // 40,000 bytes in and out: L2 of 1,000,000 keeps both. Reads take 50 + 200 ns, writes at 100 GB/s 400 ns.
    EXPECT_NEAR(forecast_network(network, toy, {}, question).time_s.value, floor + 400e-9, 1e-15);
    question.batch = 20; // 800,000 each way: DRAM, and its latency
    EXPECT_NEAR(forecast_network(network, toy, {}, question).time_s.value, floor + 100e-9 + 800000 / 100e9,
                1e-12);
}

TEST(EquationN4, EveryParameterOnceOrEveryProduct) {
    GpuProfile toy = find_profile("toy");
    toy.knee_exponent->value = Plain(1.0);
    const double floor = toy.launch_floor->value.value;
    NetworkQuestion question;
    question.what_if = false;
    const Network network = read_network(
        file_of(R"({"name": "a", "kind": "dense", "outputs": 1000, "output": [1000, 1, 1]})", "[1000, 1, 1]"),
        "m");
    // 1,000,000 weights and 1,000 pixels of 4 bytes.
    EXPECT_NEAR(forecast_network(network, toy, {}, question).light_s.value, floor + 100e-9 + 4004000 / 100e9,
                1e-12);
    question.batch = 1000; // 1e9 products at 10 SMs * 64 an ns
    EXPECT_NEAR(forecast_network(network, toy, {}, question).light_s.value, floor + 1e9 / 640e9, 1e-9);
}

TEST(EquationN2, AGraphsGapIsItsPeriodWithoutTheKernel) {
    GpuProfile toy = find_profile("toy");
    toy.launch_floor->value = Seconds(3e-6);
    const Network network =
        read_network(file_of(R"({"name": "a", "kind": "max_pooling", "window": [1, 1], "output": [1, 6, 6]},
                                {"name": "b", "kind": "max_pooling", "window": [1, 1], "output": [1, 6, 6]})"),
                     "m");
    NetworkQuestion question;
    question.what_if = false;
    const auto gap = [&] {
        const NetworkForecast forecast = forecast_network(network, toy, {}, question);
        return forecast.launches[1].time_s.value - forecast.launches[0].time_s.value;
    };
    toy.launch_gap = Param<Seconds>{Seconds(5e-6), Source::assumed, "test"};
    toy.graph_launch_period = Param<Seconds>{Seconds(3.5e-6), Source::assumed, "test"};
    EXPECT_NEAR(gap(), 0.5e-6, 1e-15);
    toy.graph_launch_period.reset();
    EXPECT_NEAR(gap(), 5e-6, 1e-15);
}

TEST(NetworkForecast, SharesAndPartsAddUp) {
    const GpuProfile h200 = find_profile("h200");
    const NetworkForecast forecast =
        forecast_network(without_losses(find_network("fashion_mnist")), h200, knowledge_for(h200), {});
    double time = 0.0, share = 0.0;
    for (const NetworkLaunch &launch : forecast.launches) {
        time += launch.time_s.value;
        share += launch.share;
    }
    EXPECT_NEAR(time, forecast.time_s.value, 1e-15);
    EXPECT_NEAR(share, 1.0, 1e-12);
    EXPECT_NEAR((forecast.convolutions_s + forecast.dense_s + forecast.others_s).value, time, 1e-15);
    EXPECT_EQ(forecast.fmas, 460800.0 + 3276800.0 + 66176.0);
    EXPECT_GT(forecast.time_s, forecast.light_s);
    EXPECT_EQ(forecast.nodes, 10);
    for (const WhatIf &change : forecast.what_if)
        EXPECT_LE(change.time_s.value, time * 1.02) << change.change; // other strategies, none much slower
}

} // namespace
