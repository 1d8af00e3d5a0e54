// Device code of whole networks as text: what runs between convolutions, and the reference in double. The
// lines that end convolutions are in executor/kernels (launch/kernel_source.hpp).
#pragma once

#include "model/base/embedded.hpp"
#include "model/network/forecast.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> whole_sources; ///< executor/network/whole.cu, whole_reference.cu

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
