// A network by its definition, in double, on the CPU: outputs of every operator, and the gradient of its
// loss. Slow and obvious; what kernels and training are checked against.
#pragma once

#include "model/network/network.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace convcast {

/// Of each operator its filters (KCRS), weights (outputs x inputs) or biases; empty where it has none.
using Parameters = std::vector<std::vector<double>>;

/// Parameters of a seed, the same on every machine: uniform in +-sqrt(3 / inputs of an output), so that the
/// variance of sums stays that of their inputs; biases likewise in +-0.1.
Parameters seeded_parameters(const Network &network, std::uint64_t seed);

/// Parameters of a seed for a deep network: those of seeded_parameters, filters and weights sized so that
/// activations keep their size through the layers (He et al., 2015).
Parameters steady_parameters(const Network &network, std::uint64_t seed);

/// A tensor of each operator, image by image, channels first.
using OperatorOutputs = std::vector<std::vector<double>>;

/// The outputs of every operator. `labels`, one an image from 0 to classes - 1, are for a loss; a network
/// without one needs none.
OperatorOutputs forward(const Network &network, std::int64_t batch, std::span<const double> images,
                        const Parameters &parameters, std::span<const std::uint8_t> labels = {});

/// The gradient of the mean loss of the batch by every parameter. The network ends in a loss. Of equal
/// numbers in a window the first is the maximum; relu passes nothing at 0.
Parameters gradient(const Network &network, std::int64_t batch, std::span<const double> images,
                    const Parameters &parameters, std::span<const std::uint8_t> labels);

} // namespace convcast
