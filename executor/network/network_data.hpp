// What a network is run on where only its kernels matter, drawn from a seed; the numbers of a run as files,
// so that another implementation can be given the same and compared (docs/networks.md says how the files are
// named); and how far numbers are from a reference.
#pragma once

#include "model/network/idx.hpp"
#include "model/network/ranks.hpp"
#include "model/network/reference.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace convcast {

struct NetworkData {
    /// Pixels of either sign. Labels are below the number of outputs, or below 10 of a network that ends in a
    /// loss.
    LabelledImages images;
    Parameters parameters;
};

struct DataKind {
    bool integers = false; ///< so small that sums of small networks are exact in any order
    bool deep = false;     ///< for deep networks: images of variance 1, steady_parameters
};

NetworkData network_data(const Network &network, std::int64_t batch, std::uint64_t seed,
                         const DataKind &kind);

/// Images of a share of a batch, of which the pool's are repeated.
LabelledImages images_of(const LabelledImages &pool, const ImageShare &share);

/// FOLDER/network.json, FOLDER/input.npy and FOLDER/parameters_N.npy of operator number N. Throws InputError
/// if the folder cannot be written.
void save_inputs(const std::string &folder, const Network &network, std::int64_t batch,
                 const NetworkData &data);

/// FOLDER/output_N.npy of operator number N.
void save_output(const std::string &folder, const Network &network, std::int64_t batch, std::size_t op,
                 std::span<const float> values);

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
