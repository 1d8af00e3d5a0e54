// Running a whole network: whether kernels do it, whether it fits, and when each of its launches ran.
#pragma once

#include "model/network/forecast.hpp"
#include "model/network/reference.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// When something ran on the device, in nanoseconds of one clock.
struct NodeSpan {
    std::uint64_t start_ns = 0, end_ns = 0;
};

/// When a launch began and ended, from the start of the first; `time_s` from when it could have begun, which
/// is the end of the launch before it in its stream, or of the last that it waits for.
struct LaunchSpan {
    Seconds begins_s, ends_s, time_s;
};
/// Of each launch, from what the nodes of the schedule did, in the order in which they were launched. Empty
/// where there are not as many as the launches have.
std::vector<LaunchSpan> launch_spans(const PlannedNetwork &plan, const std::vector<NodeSpan> &nodes);

/// Why no kernel runs this network, a sentence; absent if one does.
std::optional<std::string> why_not_whole(const Network &network);

/// Device memory that a plan takes.
MemoryUse memory_of(const PlannedNetwork &plan);
inline std::int64_t whole_bytes(const PlannedNetwork &plan) {
    return memory_of(plan).all_bytes();
}

/// Why a GPU with so many bytes free, of all that it has, cannot run a plan, a sentence; absent if it can.
std::optional<std::string> why_too_large(const PlannedNetwork &plan, const std::string &gpu,
                                         double free_bytes, double all_bytes);

/// Parameters of a seed for a deep network: those of seeded_parameters, filters and weights sized so that
/// activations keep their size through the layers (He et al., 2015).
Parameters steady_parameters(const Network &network, std::uint64_t seed);

} // namespace convcast
