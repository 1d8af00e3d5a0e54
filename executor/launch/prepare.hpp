// From a plan to launches: load its kernels, give them their arguments and a workspace.
#pragma once

#include "executor/launch/conv_call.hpp"
#include "executor/launch/kernel_cache.hpp"
#include "model/shape/conv_shape.hpp"

#include <string>
#include <vector>

namespace convcast {

/// A plan that is called beside the timed runs: to be counted, or for a timeline.
struct PlanTask {
    const Plan *plan;
    ConvShape shape;
};

struct PreparedPlan {
    ConvCall call;
    /// The launches alone, on what the last `call` prepared of the same filters; empty if the plan prepares
    /// nothing.
    ConvCall prepared_call;
    /// Where the loaded kernels differ from what the plan assumed: registers spilled, or other CTAs per SM.
    std::vector<std::string> notes;
};

/// What a convolution of a network does before it stores: adds a bias and a tensor where they are given, then
/// functions of one number.
struct EndOfConv {
    const float *bias = nullptr, *added = nullptr;
    std::string function; ///< statements over `T x`
    bool early = false;   ///< may start while the launch before it runs, for which it waits itself
    bool beside = false;  ///< the launch before lets this one start beside its own last CTAs
};
/// How a launch of a network's plan is compiled: with its lines for networks, if its kernel has some.
ConvEnd compiled_end(const Plan &plan, const Partition &launch, const ConvEnd &end);

/// Loads the plan's kernels on the current device and allocates its workspace, filled with NaNs. Throws
/// GpuError if one does not compile or cannot be launched.
PreparedPlan prepare(KernelCache &kernels, const Plan &plan, const ConvShape &shape,
                     const EndOfConv *in_network = nullptr);

} // namespace convcast
