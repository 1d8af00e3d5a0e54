#include "model/machine/gpu_memory.hpp"

#include <utility>
#include <vector>

namespace convcast {

std::optional<std::int64_t> memory_bytes_of(const std::string &gpu) {
    constexpr std::int64_t mib = std::int64_t{1} << 20;
    // Of GPUs that were measured, what nvidia-smi tells; of the others, what the vendor's pages do. A name
    // that another one begins with comes after it.
    static const std::vector<std::pair<const char *, std::int64_t>> known = {
        {"NVIDIA H200", 143771 * mib},
        {"NVIDIA H100 80GB HBM3", 81559 * mib},
        {"NVIDIA H100 SXM5 80GB", 81559 * mib},
        {"NVIDIA GeForce GTX 1080 Ti", 11264 * mib},
        {"NVIDIA GeForce GTX Titan X", 12288 * mib},
        {"NVIDIA GeForce GT 750M", 2048 * mib},
        {"NVIDIA Tesla K40m", 12288 * mib},
        {"NVIDIA Tesla K80", 12288 * mib}, // each of its two GPUs
        {"Toy GPU", 1024 * mib}};
    for (const auto &[name, bytes] : known)
        if (gpu.starts_with(name))
            return bytes;
    return std::nullopt;
}

} // namespace convcast
