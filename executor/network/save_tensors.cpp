#include "executor/network/save_tensors.hpp"

#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace convcast {
namespace {

std::vector<std::int64_t> sizes_of(const ImageShape &shape, std::int64_t batch) {
    return {batch, shape[0], shape[1], shape[2]};
}

/// Floats as NumPy's format 1.0 has them, row by row. `sizes` multiply to their number.
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
    write_file_atomically(folder + "/input.npy", npy_of(data.images, sizes_of(network.input, batch)));
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
