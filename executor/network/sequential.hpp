// A network on one thread of the CPU, in float, compiled as the rest of this program (-O2). The papers
// compare their GPUs with such a sequential program.
#pragma once

#include "model/network/reference.hpp"

#include <span>
#include <vector>

namespace convcast {

/// The outputs of one image: those of the last operator that is no loss. `parameters` has a list for each
/// operator. Throws UsageError unless the network is a chain of convolutions without padding, max pooling,
/// dense layers, biases, relu and logistic.
std::vector<float> sequential_forward(const Network &network, std::span<const float> image,
                                      const std::vector<std::vector<float>> &parameters);

/// The median time of an image over 15 runs.
Seconds sequential_time(const Network &network, std::span<const float> image,
                        const std::vector<std::vector<float>> &parameters);

} // namespace convcast
