// A network on one thread of the CPU, in float, compiled as the rest of this program (-O2): what the papers
// measure their GPUs against.
#pragma once

#include "model/network/reference.hpp"

#include <span>
#include <vector>

namespace convcast {

/// Outputs of the last operator that is no loss, of one image. The network is a chain of convolutions without
/// padding, pooling, dense layers, biases, relu and logistic; throws UsageError for another.
std::vector<float> sequential_forward(const Network &network, std::span<const float> image,
                                      const std::vector<std::vector<float>> &parameters);

/// Median time of an image over some runs.
Seconds sequential_time(const Network &network, std::span<const float> image,
                        const std::vector<std::vector<float>> &parameters);

} // namespace convcast
