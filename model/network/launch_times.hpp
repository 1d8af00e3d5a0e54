// When the launches of a whole network or of an implementation ran, from the records of their nodes.
#pragma once

#include "model/network/forecast.hpp"
#include "model/network/ladder.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// When something ran on the device, in nanoseconds of one clock.
struct NodeSpan {
    std::uint64_t start_ns = 0, end_ns = 0;
};
/// A kernel or a copy that ran in a call.
struct TracedNode {
    std::string name; ///< as KernelTime has it
    NodeSpan span;
    int device = 0;                      ///< CUDA ordinal
    std::optional<std::int64_t> bytes{}; ///< of a copy
};
/// The nodes of one call in the order in which they were launched; those of several GPUs in any order.
using TracedCall = std::vector<TracedNode>;

/// Of each launch of a plan in several calls: `time_s` is from when it could have begun, which is the end of
/// the launch before it in its stream, or of the last that it waits for. Empty where a call has not as many
/// nodes as the launches have.
std::vector<LaunchMeasurement> launch_times(const PlannedNetwork &plan, const std::vector<TracedCall> &calls);

/// How often a call with so many images launches the kernel of a line: for every repetition and every stream
/// that has images.
std::int64_t launch_count(const Rung &rung, const LadderLaunch &launch, std::int64_t images);

/// Of each line of the rung the medians of several calls, and behind these its copies. Empty where a call has
/// not as many kernels as the rung has launches.
std::vector<KernelTime> kernel_times(const Rung &rung, std::int64_t images,
                                     const std::vector<TracedCall> &calls);

/// The medians of several calls on several GPUs: of each GPU its kernels by name and its copies by name and
/// size, in the order in which they begin. Empty where a call has not what the first one has.
std::vector<KernelTime> device_times(const std::vector<TracedCall> &calls);

} // namespace convcast
