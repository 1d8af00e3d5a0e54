// Device code of networks as text, and its hashes. It is no part of the device code hash, which ties
// recordings of convolutions to their kernels; runs of networks carry hashes of their own.
#pragma once

#include "model/base/embedded.hpp"

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

} // namespace convcast
