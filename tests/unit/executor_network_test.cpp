// A network on one thread of the CPU against the reference, and the lines of kernels that are for networks.
#include "executor/launch/kernel_source.hpp"
#include "executor/network/sequential.hpp"
#include "executor/network/whole_kernel.hpp"
#include "model/base/errors.hpp"
#include "model/network/schedule.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace convcast {
namespace {

TEST(Sequential, ComputesWhatTheReferenceDoes) {
    for (const char *name : {"fashion_mnist", "mnist"}) {
        const Network network = find_network(name);
        const Parameters exact = seeded_parameters(network, 3);
        std::vector<std::vector<float>> parameters;
        for (const std::vector<double> &of : exact)
            parameters.emplace_back(of.begin(), of.end());
        std::vector<float> image;
        for (int i = 0; i < 784; ++i)
            image.push_back(static_cast<float>(i * 37 % 101) / 101.0F - 0.4F);
        const std::vector<double> same(image.begin(), image.end());
        const std::vector<std::uint8_t> label = {4};
        const OperatorOutputs reference = forward(network, 1, same, exact, label);
        const std::vector<float> out = sequential_forward(network, image, parameters);
        ASSERT_EQ(out.size(), 10U);
        for (std::size_t i = 0; i < out.size(); ++i)
            EXPECT_NEAR(out[i], reference[reference.size() - 2][i], 1e-5) << name;
    }
    EXPECT_THROW(sequential_forward(find_network("resnet18"), std::vector<float>(150528), {}), UsageError);
}

/// Names of the kernels of a list of sources.
std::vector<std::string> kernels_in(const std::vector<EmbeddedFile> &sources) {
    std::vector<std::string> names;
    for (const EmbeddedFile &file : sources)
        if (file.path.ends_with(".cu")) {
            const std::size_t begin = file.path.rfind('/') + 1;
            names.push_back(file.path.substr(begin, file.path.size() - 3 - begin));
        }
    return names;
}

TEST(NetworkLines, AreNotInAKernelThatIsCompiledAlone) {
    for (const std::vector<EmbeddedFile> *sources : {&kernel_sources, &added_kernel_sources})
        for (const std::string &kernel : kernels_in(*sources)) {
            const std::string alone = kernel_source(kernel);
            EXPECT_EQ(alone.find("//: "), std::string::npos) << kernel;
            EXPECT_EQ(alone.find("END_BIAS"), std::string::npos) << kernel;
            EXPECT_EQ(kernel_source(kernel, true).find("//: "), std::string::npos) << kernel;
        }
    EXPECT_NE(kernel_source("winograd_output", true).find("END_BIAS"), std::string::npos);
}

TEST(NetworkLines, KernelsThatCanEndAConvolutionAreThoseThatTheModelKnows) {
    for (const std::vector<EmbeddedFile> *sources : {&kernel_sources, &added_kernel_sources})
        for (const std::string &kernel : kernels_in(*sources)) {
            Plan plan;
            plan.launches.resize(1);
            plan.launches[0].kernel = kernel;
            // winograd_input has a line that waits.
            EXPECT_EQ(ends_launch(plan), has_network_lines(kernel) && kernel != "winograd_input") << kernel;
        }
}

TEST(NetworkLines, WhatAKernelCanDoInANetworkStandsInItsText) {
    int early = 0;
    for (const std::vector<EmbeddedFile> *sources : {&kernel_sources, &added_kernel_sources})
        for (const std::string &kernel : kernels_in(*sources)) {
            const std::string text = kernel_source(kernel, true),
                              its = text.substr(text.rfind("extern \"C\"") == std::string::npos
                                                    ? text.rfind("__global__")
                                                    : text.rfind("extern \"C\""));
            const auto has = [&](const char *what) { return its.find(what) != std::string::npos; };
            const InNetwork &can = in_network(kernel);
            early += can.starts_early;
            EXPECT_TRUE(!can.starts_early || has("wait_for_launch_before();")) << kernel;
            EXPECT_TRUE(!can.starts_beside || can.starts_early) << kernel;
            EXPECT_TRUE(!can.lets_next_start || has("let_next_launch_start();")) << kernel;
            EXPECT_TRUE(!can.biases_with_pixels || has("its_bias = __ldg(a.bias + filter);")) << kernel;
            if (can.asks_for_filters) {
                EXPECT_LT(its.find("filters"), its.find("wait_for_launch_before();")) << kernel;
            }
        }
    EXPECT_EQ(early, 5);
}

TEST(OperatorKernel, TemplateArgumentsAreThoseOfTheLaunch) {
    const Network network = find_network("resnet18");
    const auto all = [](const ConvShape &) { return true; };
    const auto schedule = schedule_of(network, 32, all);
    const OperatorKernel pool = operator_kernel(network, schedule[1], 32);
    EXPECT_EQ(pool.name_expression.substr(0, 4), "map_");
    EXPECT_NE(pool.text.find(pool.name_expression + "("), std::string::npos) << pool.text;
    EXPECT_EQ(pool.grid.x, 32 * 64 * 56 * 56 / 256); // a thread has an output
    EXPECT_EQ(pool.count, 32 * 64 * 56 * 56);
    const OperatorKernel turn = operator_kernel(network, schedule.back(), 32);
    EXPECT_EQ(turn.name_expression, "turn<1000, 32>");
    EXPECT_EQ(turn.grid.x, 1); // 32 columns by 1000 rows
    EXPECT_EQ(turn.grid.y, 32);
    const OperatorKernel dense = operator_kernel(network, schedule_of(network, 1, all).back(), 1);
    EXPECT_EQ(dense.name_expression, "dense<1, 512, 1000, 64, 1, Kept>");
    EXPECT_EQ(dense.grid.x, 250);
}

} // namespace
} // namespace convcast
