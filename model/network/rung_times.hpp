// When the launches of a rung ran, from the records of its kernels.
#pragma once

#include "model/network/ladder.hpp"
#include "model/network/whole_run.hpp"

#include <cstdint>
#include <vector>

namespace convcast {

/// How often a call with so many images launches the kernel of a line: for every repetition and every stream
/// that has images.
std::int64_t launch_count(const Rung &rung, const LadderLaunch &launch, std::int64_t images);

/// Of each line of the rung the medians of several calls. A call has the span of each of its kernels, in the
/// order in which they were launched. Empty where a call has not as many spans as the rung has launches.
std::vector<KernelTime> kernel_times(const Rung &rung, std::int64_t images,
                                     const std::vector<std::vector<NodeSpan>> &calls);

} // namespace convcast
