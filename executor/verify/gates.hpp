// Whether an output is right. Gate 1: small integers, every bit. Gate 2: reals, against double, within
// rounding.
#pragma once

#include "executor/verify/reference.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace convcast {

enum class Gate {
    exact,    ///< gate 1: equal to the reference
    rounding, ///< gate 2 of direct and GEMM algorithms: relative L2 error and every element within its bound
    transformed, ///< gate 2 of Winograd and FFT, whose elements have no such bound: relative L2 error only
    tf32         ///< gate 2 where inputs may be rounded to TF32: relative L2 error only
};

inline constexpr double rounding_l2_limit = 1e-5;
inline constexpr double transformed_l2_limit = 1e-4;
/// Rounding both factors to TF32's 11 bits costs 3e-4 on zero-mean data, however many products are summed.
inline constexpr double tf32_l2_limit = 1e-3;

/// Halves are exact products summed in float; what is left is the rounding of the result to 11 bits.
inline constexpr double half_l2_limit = 1e-3;

/// An element may differ from double by this times its sum |x * w|: 4 * n * 2^-24 for n = c * r * s / groups
/// products summed in float, and 2^-11 where the result is rounded to half; nothing for integers.
double rounding_bound(const ConvShape &shape);

/// An output against its reference, added up by the device (executor/kernels/reference.cu).
struct Comparison {
    double squared_error = 0.0, squared_reference = 0.0; ///< over all elements that are not NaN
    double max_error_ratio =
        0.0; ///< largest |error| / (bound * magnitude); infinite for an error where that is 0
    std::int64_t not_a_number = 0; ///< never written, or NaN computed
    std::int64_t out_of_bound = 0; ///< NaN not included
    std::int64_t first_bad = -1;   ///< linear index of the first element that is NaN or out of bound
};

struct Verdict {
    bool passed = false;
    double relative_l2_error = 0.0;
    double max_error_ratio = 0.0;
    std::int64_t not_a_number = 0;
    std::optional<OutputIndex> first_bad;
    std::string message; ///< a sentence on what is wrong; empty if passed
};

Verdict judge(Gate gate, const ConvShape &shape, const Comparison &comparison);

} // namespace convcast
