// The reference of networks: values worked out by hand, and gradients against finite differences.
#include "model/network/reference.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

using namespace convcast;
using testing::DoubleNear;
using testing::ElementsAre;

namespace {

Network network_of(const std::string &input, const std::string &operators) {
    return read_network(
        R"({"schema": "convcast/network/1", "id": "mine", "title": "t", "citation": "c", "input": )" + input +
            R"(, "operators": [)" + operators + "]}",
        "mine.json");
}

TEST(NetworkReference, ConvolutionBiasReluPoolAndDenseByHand) {
    const Network network = network_of(
        "[1, 3, 3]",
        R"({"name": "conv1", "kind": "convolution", "outputs": 1, "window": [2, 2], "output": [1, 2, 2]},
           {"name": "bias1", "kind": "bias", "output": [1, 2, 2]},
           {"name": "relu1", "kind": "relu", "output": [1, 2, 2]},
           {"name": "max1", "kind": "max_pooling", "window": [1, 2], "output": [1, 2, 1]},
           {"name": "mean1", "kind": "average_pooling", "window": [2, 1], "from": ["relu1"], "output": [1, 1, 2]},
           {"name": "dense1", "kind": "dense", "outputs": 2, "output": [2, 1, 1]})");
    const std::vector<double> image = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    Parameters parameters(6);
    parameters[0] = {1, 0, 0, -2}; // x(0,0) - 2 x(1,1)
    parameters[1] = {12};
    parameters[5] = {1, 1, 2, -1};
    const OperatorOutputs out = forward(network, 1, image, parameters);
    EXPECT_THAT(out[0], ElementsAre(1 - 10, 2 - 12, 4 - 16, 5 - 18));
    EXPECT_THAT(out[1], ElementsAre(3, 2, 0, -1));
    EXPECT_THAT(out[2], ElementsAre(3, 2, 0, 0));
    EXPECT_THAT(out[3], ElementsAre(3, 0));
    EXPECT_THAT(out[4], ElementsAre(1.5, 1));
    EXPECT_THAT(out[5], ElementsAre(2.5, 2));
}

TEST(NetworkReference, LossesByHand) {
    const std::vector<double> image = {0.5, -0.5};
    const std::vector<std::uint8_t> labels = {1};
    const Network squared =
        network_of("[2, 1, 1]", R"({"name": "e", "kind": "half_squared_error", "output": [1, 1, 1]})");
    EXPECT_THAT(forward(squared, 1, image, Parameters(1), labels)[0], ElementsAre(0.5 * (0.25 + 2.25)));
    const Network entropy =
        network_of("[2, 1, 1]", R"({"name": "e", "kind": "cross_entropy", "output": [1, 1, 1]})");
    EXPECT_THAT(forward(entropy, 1, image, Parameters(1), labels)[0],
                ElementsAre(DoubleNear(std::log(1.0 + std::exp(1.0)), 1e-12)));
}

TEST(NetworkReference, PaddedPixelsAreNoMaximum) {
    const Network network = network_of(
        "[1, 2, 2]",
        R"({"name": "p", "kind": "max_pooling", "window": [3, 3], "stride": [2, 2], "pad": [1, 1], "output": [1, 1, 1]})");
    const std::vector<double> image = {-4, -3, -2, -5};
    EXPECT_THAT(forward(network, 1, image, Parameters(1))[0], ElementsAre(-2));
}

/// The mean loss of a batch.
double loss_of(const Network &network, std::int64_t batch, const std::vector<double> &images,
               const Parameters &parameters, const std::vector<std::uint8_t> &labels) {
    const std::vector<double> losses = forward(network, batch, images, parameters, labels).back();
    return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(batch);
}

/// Every parameter moved both ways by `step`: what the loss does must be what the gradient says.
void expect_gradient(const Network &network, std::int64_t batch) {
    std::vector<double> images;
    std::vector<std::uint8_t> labels;
    for (std::int64_t i = 0; i < batch * elements(network.input); ++i)
        images.push_back(std::sin(1.7 * static_cast<double>(i)) + 0.3);
    for (std::int64_t i = 0; i < batch; ++i)
        labels.push_back(static_cast<std::uint8_t>(i % 3));
    Parameters parameters = seeded_parameters(network, 7);
    const Parameters by = gradient(network, batch, images, parameters, labels);
    constexpr double step = 1e-6;
    double largest = 0.0;
    for (std::size_t i = 0; i < parameters.size(); ++i)
        for (std::size_t j = 0; j < parameters[i].size(); ++j) {
            const double kept = parameters[i][j];
            parameters[i][j] = kept + step;
            const double above = loss_of(network, batch, images, parameters, labels);
            parameters[i][j] = kept - step;
            const double below = loss_of(network, batch, images, parameters, labels);
            parameters[i][j] = kept;
            EXPECT_NEAR(by[i][j], (above - below) / (2.0 * step), 1e-8)
                << network.operators[i].name << " " << j;
            largest = std::max(largest, std::abs(by[i][j]));
        }
    EXPECT_GT(largest, 1e-3) << "the gradient says nothing";
}

TEST(NetworkReference, GradientIsThatOfFiniteDifferences) {
    expect_gradient(
        network_of(
            "[2, 7, 7]",
            R"({"name": "conv1", "kind": "convolution", "outputs": 3, "window": [3, 3], "stride": [2, 2], "pad": [1, 1], "output": [3, 4, 4]},
               {"name": "bias1", "kind": "bias", "output": [3, 4, 4]},
               {"name": "relu1", "kind": "relu", "output": [3, 4, 4]},
               {"name": "conv2", "kind": "convolution", "outputs": 3, "window": [1, 1], "output": [3, 4, 4]},
               {"name": "add1", "kind": "add", "from": ["conv2", "relu1"], "output": [3, 4, 4]},
               {"name": "pool1", "kind": "max_pooling", "window": [2, 2], "output": [3, 2, 2]},
               {"name": "mean1", "kind": "average_pooling", "window": [2, 1], "stride": [1, 1], "output": [3, 1, 2]},
               {"name": "dense1", "kind": "dense", "outputs": 4, "output": [4, 1, 1]},
               {"name": "bias2", "kind": "bias", "output": [4, 1, 1]},
               {"name": "error", "kind": "cross_entropy", "output": [1, 1, 1]})"),
        4);
}

TEST(NetworkReference, GradientOfLogisticAndSquaredError) {
    expect_gradient(
        network_of(
            "[1, 4, 4]",
            R"({"name": "conv1", "kind": "convolution", "outputs": 2, "window": [3, 3], "output": [2, 2, 2]},
                      {"name": "soft1", "kind": "softmax", "output": [2, 2, 2]},
                      {"name": "dense1", "kind": "dense", "outputs": 3, "output": [3, 1, 1]},
                      {"name": "logistic1", "kind": "logistic", "output": [3, 1, 1]},
                      {"name": "error", "kind": "half_squared_error", "output": [1, 1, 1]})"),
        3);
}

TEST(NetworkReference, SeededParametersKeepTheVariance) {
    const Network network = find_network("fashion_mnist");
    const Parameters parameters = seeded_parameters(network, 1);
    EXPECT_EQ(parameters[4].size(), 51200U);
    double squares = 0.0;
    for (const double value : parameters[4]) {
        EXPECT_LE(std::abs(value), std::sqrt(3.0 / 800.0));
        EXPECT_EQ(value, static_cast<double>(static_cast<float>(value)));
        squares += value * value;
    }
    EXPECT_NEAR(squares / 51200.0, 1.0 / 800.0, 0.02 / 800.0);
    EXPECT_NE(seeded_parameters(network, 2)[4], parameters[4]);
    EXPECT_TRUE(parameters[3].empty());
}

} // namespace
