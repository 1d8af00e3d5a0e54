// Running a whole network: whether kernels do it, whether it fits, and with which parameters.
#pragma once

#include "model/network/forecast.hpp"
#include "model/network/reference.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace convcast {

/// Why no kernel runs this network, a sentence; absent if one does.
std::optional<std::string> why_not_whole(const Network &network);

/// Device memory that a plan takes.
MemoryUse memory_of(const PlannedNetwork &plan);

/// Why a GPU with so many bytes free, of all that it has, cannot run a plan, a sentence; absent if it can.
std::optional<std::string> why_too_large(const PlannedNetwork &plan, const std::string &gpu,
                                         double free_bytes, double all_bytes);

/// Why the GPU of the profile has no room for a plan, a sentence with the launch that takes most of it;
/// absent if it has, or if nobody knows how much it has.
std::optional<std::string> why_beyond_memory(const PlannedNetwork &plan, const GpuProfile &profile);

/// Parameters of a seed for a deep network: those of seeded_parameters, filters and weights sized so that
/// activations keep their size through the layers (He et al., 2015).
Parameters steady_parameters(const Network &network, std::uint64_t seed);

} // namespace convcast
