// What plans execute and what their addresses ask of shared memory, counted by instrumented code, in calls
// beside the timed ones.
#pragma once

#include "executor/count/collect.hpp"
#include "executor/launch/prepare.hpp"
#include "gpu/compile.hpp"
#include "gpu/device.hpp"
#include "model/machine/profile.hpp"
#include "model/record/run.hpp"
#include "model/shape/conv_shape.hpp"

#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace convcast {

struct ExactOptions {
    std::uint64_t seed = 0; ///< of inputs
    unsigned compile_threads = 1;
    const std::atomic<bool> *interrupt = nullptr; ///< stops before the next tasks when it is set
};

/// Calls `counted` for each task, in their order, with the counters of exact_metric_names() of one call,
/// prepared filters included; `progress` with the number of tasks that are settled, after those that were
/// counted together: successive tasks of one shape. A task has no counts where its kernels do not compile or
/// its result is wrong. False if interrupted. `device` must be the calling thread's. Throws
/// CounterPermissionError where counters may not be read, DeviceLost.
bool count_exactly(Compiler &compiler, const Device &device, std::span<const PlanTask> tasks,
                   const ExactOptions &options,
                   const std::function<void(std::size_t task, const CountedCall &counts)> &counted,
                   const std::function<void(std::size_t settled)> &progress);

enum class ExactEnd { all, some, interrupted };

/// Counts every case of a strategy that was measured and lacks exact counts, by the plan that this code makes
/// of its strategy: a document's may hold anything. Calls `settled` for each case, with the reason where
/// there are no counts; `progress` with the number of cases settled of how many, and the next one or null.
/// Throws as count_exactly does.
ExactEnd
add_exact_work(Run &run, const GpuProfile &profile, Compiler &compiler, const Device &device,
               const ExactOptions &options,
               const std::function<void(const Case &, const std::string *why_none)> &settled,
               const std::function<void(std::size_t done, std::size_t total, const Case *next)> &progress);

} // namespace convcast
