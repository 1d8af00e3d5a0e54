// How far numbers are from a reference, relative to it, in L2.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace convcast {

/// Sums of squares.
struct L2Error {
    double off = 0.0, size = 0.0;

    L2Error &operator+=(const L2Error &other) {
        off += other.off, size += other.size;
        return *this;
    }
    /// Infinite where a number is none; against zeros not relative.
    double relative() const {
        return std::isnan(off) ? std::numeric_limits<double>::infinity()
               : size > 0.0    ? std::sqrt(off / size)
                               : std::sqrt(off);
    }
};

/// Infinite where they are not as many.
template <class Reference>
double relative_l2(std::span<const float> values, std::span<const Reference> reference) {
    if (values.size() != reference.size())
        return std::numeric_limits<double>::infinity();
    L2Error error;
    for (std::size_t i = 0; i < reference.size(); ++i) {
        const double wanted = static_cast<double>(reference[i]),
                     off = static_cast<double>(values[i]) - wanted;
        error += {off * off, wanted * wanted};
    }
    return error.relative();
}

} // namespace convcast
