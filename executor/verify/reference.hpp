// The convolution by its definition, in double, on the CPU: what everything else is checked against. Slow and
// obvious.
#pragma once

#include "model/shape/conv_shape.hpp"

#include <array>
#include <span>

namespace convcast {

/// One output element: sum x * w, and sum |x * w|, from which its rounding bound follows.
struct ReferenceElement {
    double value = 0.0, magnitude = 0.0;
};

/// Output coordinates (n, k, p, q).
using OutputIndex = std::array<std::int64_t, 4>;

OutputIndex output_index(const ConvShape &shape, std::int64_t element);

/// The output element at linear index `element` of NKPQ, of an NCHW input and KCRS filters.
ReferenceElement reference_element(const ConvShape &shape, std::span<const float> input,
                                   std::span<const float> filters, std::int64_t element);

} // namespace convcast
