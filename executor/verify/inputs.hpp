// Inputs and filters from a seed: the same on every machine. Whatever the data type, the numbers are given as
// floats, which hold all of them exactly.
#pragma once

#include "model/shape/conv_shape.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace convcast {

/// The order of dimensions in memory, last one innermost: NCHW, KCRS and NKPQ, or NHWC, KRSC and NPQK.
enum class Layout { channels_first, channels_last };

struct Inputs {
    std::vector<float> input, filters; ///< NCHW, KCRS
};

/// Gate 1: integers in [-m, m] with the largest m <= 8 for which m * m * c * r * s / groups < 2^24, so that
/// every sum, in any order and with any grouping, is exact in float. Shapes with 2^24 or more products an
/// output have none such; they get m = 1, whose sums stay below 2^24 in all likelihood. Halves are written as
/// halves, which hold integers up to 2^11 only: that takes the place of 2^24.
Inputs integer_inputs(const ConvShape &shape, std::uint64_t seed);

/// Gate 2: reals in (-1, 1) with mean zero. Sums of such products cancel, which is what shows reduced
/// precision: with positive inputs TF32 passes for FP32. Of 8-bit integers all from -128 to 127.
Inputs real_inputs(const ConvShape &shape, std::uint64_t seed);

/// The values as they lie in memory in the shape's data type. For values of the two above, which all types
/// that they are made for hold exactly.
std::vector<std::byte> stored(std::span<const float> values, DataType type);

/// The same numbers in another order: from Layout::channels_first to `layout`.
Inputs laid_out(Inputs inputs, const ConvShape &shape, Layout layout);

} // namespace convcast
