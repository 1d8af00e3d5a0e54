#include "executor/network/network_data.hpp"

#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/split_mix.hpp"
#include "model/network/reference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace convcast {

NetworkData network_data(const Network &network, std::int64_t batch, std::uint64_t seed,
                         const DataKind &kind) {
    SplitMix64 random(seed);
    NetworkData data;
    data.parameters = kind.deep ? steady_parameters(network, seed) : seeded_parameters(network, seed);
    data.images.shape = network.input;
    data.images.pixels.resize(static_cast<std::size_t>(batch * elements(network.input)));
    const double width = kind.deep ? 2.0 * std::sqrt(3.0) : 1.0; // uniform of this width: variance 1, or 1/12
    for (float &pixel : data.images.pixels)
        pixel = kind.integers ? static_cast<float>(random() % 3)
                              : static_cast<float>(width * (random.share() - 0.5));
    const std::int64_t classes = elements(network.operators.back().output);
    for (std::int64_t i = 0; i < batch; ++i)
        data.images.labels.push_back(static_cast<std::uint8_t>(
            random() % static_cast<std::uint64_t>(std::clamp<std::int64_t>(classes, 10, 256))));
    // Parameters are -1, 0 or 1; in a dense layer, which sums many products, 7 of 8 are made 0.
    if (kind.integers)
        for (std::size_t i = 0; i < data.parameters.size(); ++i)
            for (double &value : data.parameters[i]) {
                const std::uint64_t drawn = random();
                const bool zero = network.operators[i].kind == OperatorKind::dense && drawn % 8 != 0;
                value = zero ? 0.0 : static_cast<double>((drawn >> 8) % 3) - 1.0;
            }
    return data;
}

LabelledImages images_of(const LabelledImages &pool, const ImageShare &share) {
    const std::int64_t known = std::ssize(pool.labels), pixels = elements(pool.shape);
    LabelledImages images{pool.shape, {}, {}};
    for (std::int64_t i = share.first; i < share.first + share.count; ++i) {
        const auto from = pool.pixels.begin() + i % known * pixels;
        images.pixels.insert(images.pixels.end(), from, from + pixels);
        images.labels.push_back(pool.labels[static_cast<std::size_t>(i % known)]);
    }
    return images;
}

namespace {

std::vector<std::int64_t> sizes_of(const ImageShape &shape, std::int64_t batch) {
    return {batch, shape[0], shape[1], shape[2]};
}

/// The bytes of a file in NumPy's format 1.0 with the floats in row-major order. The product of `sizes` is
/// their number.
std::string npy_of(std::span<const float> values, const std::vector<std::int64_t> &sizes) {
    constexpr std::size_t aligned = 64, before = 10; // bytes of magic, version and the header's length
    std::string header =
        fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}", fmt::join(sizes, ", "));
    header += std::string(aligned - (before + header.size() + 1) % aligned, ' ') + "\n";
    std::string out("\x93NUMPY\x01\x00", 8);
    out += static_cast<char>(header.size() % 256);
    out += static_cast<char>(header.size() / 256);
    out += header;
    out.append(reinterpret_cast<const char *>(values.data()), values.size_bytes());
    return out;
}

} // namespace

void save_inputs(const std::string &folder, const Network &network, std::int64_t batch,
                 const NetworkData &data) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed)
        throw InputError(folder, "cannot be made: " + failed.message());
    write_file_atomically(folder + "/network.json", to_text(described::write(network)));
    write_file_atomically(folder + "/input.npy", npy_of(data.images.pixels, sizes_of(network.input, batch)));
    for (std::size_t i = 0; i < data.parameters.size(); ++i)
        if (!data.parameters[i].empty()) {
            const std::vector<float> values(data.parameters[i].begin(), data.parameters[i].end());
            write_file_atomically(fmt::format("{}/parameters_{}.npy", folder, i),
                                  npy_of(values, {static_cast<std::int64_t>(values.size())}));
        }
}

void save_output(const std::string &folder, const Network &network, std::int64_t batch, std::size_t op,
                 std::span<const float> values) {
    write_file_atomically(fmt::format("{}/output_{}.npy", folder, op),
                          npy_of(values, sizes_of(network.operators[op].output, batch)));
}

} // namespace convcast
