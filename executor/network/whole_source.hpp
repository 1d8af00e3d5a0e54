// The kernels that run between a whole network's convolutions, by name. The lines that end convolutions are
// in executor/kernels (launch/kernel_source.hpp).
#pragma once

#include "model/network/forecast.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace convcast {

/// A launch of a kernel of executor/network/whole.cu.
struct WholeKernel {
    std::string name_expression; ///< "turn<32, 4096>"
    LaunchGrid grid;
    std::optional<std::int64_t> count; ///< last argument of some
};

/// For every launch but those of plans. Throws UsageError for a loss.
WholeKernel whole_kernel(const Network &network, const ScheduledLaunch &launch, std::int64_t batch);

} // namespace convcast
