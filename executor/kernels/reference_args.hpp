// What host and device share to check outputs; read by both compilers, so no includes.
#pragma once

namespace convcast {

/// A ConvShape, sizes in elements.
struct ReferenceArgs {
    long long n, c, h, w, k, r, s, p, q;
    long long stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, groups;
};

/// Comparison (executor/gates.hpp) as threads can add it up. The bits of a double that is not negative order
/// as the double does.
struct ComparisonSums {
    double squared_error, squared_reference;
    unsigned long long max_error_ratio_bits;
    unsigned long long not_a_number, out_of_bound;
    unsigned long long first_bad; // starts at all ones: none
};

} // namespace convcast
