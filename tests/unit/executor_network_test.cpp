// A network on one thread of the CPU against the reference.
#include "executor/network/sequential.hpp"
#include "model/base/errors.hpp"

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

} // namespace
} // namespace convcast
