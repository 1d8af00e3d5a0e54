// When the launches of a whole network or of an implementation ran, by activity records of their nodes.
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
    std::optional<std::int64_t> bytes{}; ///< of a copy; absent: it is a kernel
};
/// The nodes of one call in the order in which they were launched; those of several GPUs in any order.
using TracedCall = std::vector<TracedNode>;

/// By launch of a plan, medians over several calls. `time_s` is from the end of the launch before it in its
/// stream, or of the last that it waits for. Empty if a call has not just the nodes of the plan.
std::vector<LaunchMeasurement> launch_times(const PlannedNetwork &plan, const std::vector<TracedCall> &calls);

/// How often a call launches the kernel of a rung's line: for every repetition and stream that has images.
std::int64_t launch_count(const Rung &rung, const LadderLaunch &launch, std::int64_t images);

/// By line of the rung, medians over several calls; behind these its copies by kind. Empty if a call has not
/// as many kernels as the rung has launches.
std::vector<KernelTime> kernel_times(const Rung &rung, std::int64_t images,
                                     const std::vector<TracedCall> &calls);

/// Medians over several calls on several GPUs: by GPU its kernels by name and its copies by name and size, in
/// the order in which they begin. Empty if a call has not the same nodes as the first one.
std::vector<KernelTime> device_times(const std::vector<TracedCall> &calls);

} // namespace convcast
