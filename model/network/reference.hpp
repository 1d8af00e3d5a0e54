// A network by its definition, in double, on the CPU: outputs of every operator, and the gradient of its
// loss. Slow and obvious; what kernels and training are checked against.
#pragma once

#include "model/network/network.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace convcast {

/// By operator, its filters (KCRS), weights (outputs x inputs) or biases; empty for one that has none.
using Parameters = std::vector<std::vector<double>>;

/// Parameters drawn by a seed, the same on every machine, each a float. Filters and weights are uniform in
/// +-sqrt(3 / inputs of an output), whose variance is 1 / inputs, so that sums have the variance of their
/// inputs. Biases are uniform in +-0.1, and scales in 1 +- 0.1; both are chosen.
Parameters seeded_parameters(const Network &network, std::uint64_t seed);

/// seeded_parameters for a deep network, with filters and weights multiplied so that activations keep their
/// size through the layers (He et al., 2015).
Parameters steady_parameters(const Network &network, std::uint64_t seed);

/// By operator, the numbers of a tensor, image by image, channels first.
using OperatorOutputs = std::vector<std::vector<double>>;

/// The outputs of every operator for `batch` images. `labels`: one for each image, from 0 to classes - 1;
/// empty for a network that does not end in a loss.
OperatorOutputs forward(const Network &network, std::int64_t batch, std::span<const double> images,
                        const Parameters &parameters, std::span<const std::uint8_t> labels = {});

/// The gradient of the mean loss of the batch by every parameter. The network ends in a loss. Of equal
/// numbers in a window the first is the maximum; relu passes nothing at 0.
Parameters gradient(const Network &network, std::int64_t batch, std::span<const double> images,
                    const Parameters &parameters, std::span<const std::uint8_t> labels);

} // namespace convcast
