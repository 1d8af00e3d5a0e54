// Device code of networks as text. It is no part of the device code hash, which ties recordings of
// convolutions to their kernels; runs of networks carry a hash of their own.
#pragma once

#include "model/base/embedded.hpp"

#include <string>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> network_sources; ///< executor/network/*.cu

/// XXH3-128 over network_sources.
std::string network_code_hash();

} // namespace convcast
