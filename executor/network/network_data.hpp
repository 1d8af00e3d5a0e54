// What a network is run on where only its kernels matter, drawn from a seed, and how far its numbers are from
// a reference.
#pragma once

#include "model/network/reference.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace convcast {

struct NetworkData {
    std::vector<float> images;
    std::vector<std::uint8_t>
        labels; ///< below the number of outputs, or below 10 of a network that ends in a loss
    Parameters parameters;
};

struct DataKind {
    bool integers = false; ///< so small that sums of small networks are exact in any order
    bool deep = false;     ///< for deep networks: images of variance 1, steady_parameters
};

NetworkData network_data(const Network &network, std::int64_t batch, std::uint64_t seed,
                         const DataKind &kind);

/// How far numbers are from a reference, in L2: sums of squares.
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
