// Device code of networks as text, and its hashes. Runs of networks carry these hashes; the device code hash,
// which ties recordings of convolutions to their kernels, does not cover this code.
#pragma once

#include "model/base/embedded.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> network_sources; ///< kernels of ladders
extern const std::vector<EmbeddedFile> split_sources;   ///< of steps over several GPUs
extern const std::vector<EmbeddedFile> whole_sources;   ///< between convolutions, and the reference in double
extern const std::vector<EmbeddedFile> shared_network_sources; ///< included by those above

/// The file executor/network/NAME as one text, in which each file that it includes by quotes stands once, in
/// place of the #include. Throws UsageError if there is no such file.
std::string network_source(std::string_view name);

/// XXH3-128 over the paths and texts of these sources, with what they include.
std::string network_code_hash(const std::vector<EmbeddedFile> &sources = network_sources);

/// XXH3-128 over whole_sources and those lines of the convolution kernels that are compiled for networks
/// only.
std::string whole_code_hash();

} // namespace convcast
