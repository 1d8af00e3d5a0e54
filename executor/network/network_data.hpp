// Random images and parameters, for runs in which only the kernels matter; the numbers of a run as files, so
// that another implementation can be given the same and compared (docs/networks.md names the files); and the
// relative error of numbers in L2.
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
    /// Labels are below the number of the last operator's outputs, kept within 10 and 256.
    LabelledImages images;
    Parameters parameters;
};

struct DataKind {
    bool integers = false; ///< small integers, so that sums of small networks are exact in any order
    bool deep = false;     ///< for deep networks: pixels of variance 1 and steady_parameters(), which keep
                           ///< activations' size
};

/// Random data for `batch` images; the same seed gives the same data. Pixels are in -0.5 .. 0.5; with `deep`,
/// in -sqrt(3) .. sqrt(3); with `integers`, 0, 1 or 2.
NetworkData network_data(const Network &network, std::int64_t batch, std::uint64_t seed,
                         const DataKind &kind);

/// The images of a share of a batch: image i of the batch is image i modulo the pool's size.
LabelledImages images_of(const LabelledImages &pool, const ImageShare &share);

/// Writes FOLDER/network.json, FOLDER/input.npy and, for each operator number N with parameters,
/// FOLDER/parameters_N.npy. Makes the folder. Throws InputError if it cannot be written.
void save_inputs(const std::string &folder, const Network &network, std::int64_t batch,
                 const NetworkData &data);

/// Writes FOLDER/output_N.npy, the output `values` of operator number `op`. Throws InputError.
void save_output(const std::string &folder, const Network &network, std::int64_t batch, std::size_t op,
                 std::span<const float> values);

/// The error of numbers against a reference in L2, as two sums of squares, so that errors of parts can be
/// added.
struct L2Error {
    double off = 0.0, size = 0.0; ///< of the differences, and of the reference

    L2Error &operator+=(const L2Error &other) {
        off += other.off, size += other.size;
        return *this;
    }
    /// Root of the one over the root of the other. Infinite if a number is NaN; not relative if the reference
    /// is zero.
    double relative() const {
        return std::isnan(off) ? std::numeric_limits<double>::infinity()
               : size > 0.0    ? std::sqrt(off / size)
                               : std::sqrt(off);
    }
};

/// The relative error in L2 of `values`; infinite if there are not as many as in `reference`.
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
