// Device code of networks as text, its hashes, and the names of the kernels between convolutions. It is no
// part of the device code hash, which ties recordings of convolutions to their kernels; runs of networks
// carry hashes of their own.
#pragma once

#include "model/base/embedded.hpp"
#include "model/network/forecast.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> network_sources; ///< kernels of ladders
extern const std::vector<EmbeddedFile> split_sources;   ///< of steps over several GPUs
extern const std::vector<EmbeddedFile> whole_sources;   ///< between convolutions, and the reference in double
extern const std::vector<EmbeddedFile> shared_network_sources; ///< that these include

/// executor/network/NAME as one text: its own includes are put in place, once each. Throws UsageError if
/// there is no such file.
std::string network_source(std::string_view name);

/// XXH3-128 over these sources with what they include.
std::string network_code_hash(const std::vector<EmbeddedFile> &sources = network_sources);

/// XXH3-128 over whole_sources and the lines for networks of convolution kernels.
std::string whole_code_hash();

/// A launch of a kernel of executor/network/whole.cu.
struct WholeKernel {
    std::string name_expression; ///< "turn<32, 4096>"
    LaunchGrid grid;
    std::optional<std::int64_t> count; ///< last argument of some
};

/// For every launch but those of plans. Throws UsageError for a loss.
WholeKernel whole_kernel(const Network &network, const ScheduledLaunch &launch, std::int64_t batch);

} // namespace convcast
