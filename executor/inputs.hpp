// Inputs and filters from a seed: the same on every machine.
#pragma once

#include "model/conv_shape.hpp"

#include <vector>

namespace convcast {

struct Inputs {
    std::vector<float> input, filters; ///< NCHW, KCRS
};

/// Gate 1: integers in [-m, m] with the largest m <= 8 for which m * m * c * r * s / groups < 2^24, so that
/// every sum, in any order and with any grouping, is exact in float. Shapes with 2^24 or more products an
/// output have none such; they get m = 1, whose sums stay below 2^24 in all likelihood.
Inputs integer_inputs(const ConvShape &shape, std::uint64_t seed);

/// Gate 2: reals in (-1, 1) with mean zero. Sums of such products cancel, which is what shows reduced
/// precision: with positive inputs TF32 passes for FP32.
Inputs real_inputs(const ConvShape &shape, std::uint64_t seed);

} // namespace convcast
