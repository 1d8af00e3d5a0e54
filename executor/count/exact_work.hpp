// What plans execute and what their addresses ask of shared memory, counted by instrumented code, in calls
// beside the timed ones.
#pragma once

#include "gpu/compile.hpp"
#include "gpu/counters.hpp"
#include "gpu/device.hpp"
#include "model/record/run.hpp"
#include "model/shape/conv_shape.hpp"

#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <variant>

namespace convcast {

struct ExactTask {
    const Plan *plan;
    ConvShape shape;
};

/// The counters of exact_metric_names() of one call, prepared filters included, or why there are none.
using ExactCounts = std::variant<CounterSession::Values, std::string>;

struct ExactOptions {
    std::uint64_t seed = 0; ///< of inputs
    unsigned compile_threads = 1;
    const std::atomic<bool> *interrupt = nullptr; ///< stops before the next tasks when it is set
};

/// Calls `counted` for each task, in their order; `progress` with the number of tasks that are settled, after
/// those that were counted together: successive tasks of one shape. A task has no counts where its kernels do
/// not compile or its result is wrong. False if interrupted. `device` must be the calling thread's. Throws
/// CounterPermissionError where counters may not be read, DeviceLost.
bool count_exactly(Compiler &compiler, const Device &device, std::span<const ExactTask> tasks,
                   const ExactOptions &options,
                   const std::function<void(std::size_t task, const ExactCounts &counts)> &counted,
                   const std::function<void(std::size_t settled)> &progress);

} // namespace convcast
