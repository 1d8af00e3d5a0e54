// A whole convolution and its comparison on the CPU: what the kernels that verify are checked against.
#pragma once

#include "executor/verify/gates.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace convcast {

inline std::vector<ReferenceElement> reference(const ConvShape &shape, std::span<const float> input,
                                               std::span<const float> filters) {
    std::vector<ReferenceElement> output;
    for (std::int64_t element = 0; element < shape.output_elements(); ++element)
        output.push_back(reference_element(shape, input, filters, element));
    return output;
}

/// `bound`: 0 for gate 1, rounding_bound() for gate 2.
inline Comparison compare(std::span<const float> output, std::span<const ReferenceElement> reference,
                          double bound) {
    Comparison sum;
    for (std::size_t i = 0; i < output.size(); ++i) {
        const double value = output[i];
        bool bad = std::isnan(value);
        if (bad) {
            ++sum.not_a_number;
        } else {
            const double error = std::abs(value - reference[i].value), limit = bound * reference[i].magnitude;
            sum.squared_error += error * error;
            sum.squared_reference += reference[i].value * reference[i].value;
            if (error > 0.0)
                sum.max_error_ratio = std::max(sum.max_error_ratio, error / limit);
            bad = error > limit;
            sum.out_of_bound += bad;
        }
        if (bad && sum.first_bad < 0)
            sum.first_bad = static_cast<std::int64_t>(i);
    }
    return sum;
}

} // namespace convcast
