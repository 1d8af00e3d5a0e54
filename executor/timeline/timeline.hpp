// When each CTA of a plan really ran, and where: a call of its own, verified like the timed ones, whose
// kernels are compiled with a stamp put in.
#pragma once

#include "executor/launch/prepare.hpp"
#include "gpu/compile.hpp"
#include "gpu/device.hpp"
#include "model/record/run.hpp"
#include "model/shape/conv_shape.hpp"

#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace convcast {

/// A plan whose kernels write a CtaRecord for each CTA into memory behind the output.
struct StampedPlan {
    Plan plan;                            ///< its launches take the output once more
    std::vector<CompileRequest> requests; ///< of its launches in the call's order
    std::vector<CallLaunch> launches;     ///< likewise
    std::size_t records_offset = 0;       ///< from the output's first byte to the first record
    std::size_t records = 0;
};

/// Needs no GPU.
StampedPlan stamped(const Plan &plan, const ConvShape &shape, int compute_capability);

struct TimelineOptions {
    std::uint64_t seed = 0; ///< of inputs
    unsigned compile_threads = 1;
    std::function<void(std::size_t done, std::size_t total)> progress; ///< of tasks; may be empty
};

/// One timeline a task, from a cold L2, or why there is none: a kernel that does not compile, a result that
/// is wrong, a CTA that did not run exactly once. `device` must be the calling thread's. Throws DeviceLost.
std::vector<std::variant<Timeline, std::string>> record_timelines(Compiler &compiler, const Device &device,
                                                                  std::span<const PlanTask> tasks,
                                                                  const TimelineOptions &options);

/// Gives each cold measurement of the cases that are `wanted` a timeline, where it has none. `done` is called
/// for each of them, with the reason where it gets none. False if one gets none. Throws DeviceLost.
bool add_timelines(Run &run, Compiler &compiler, const Device &device, const TimelineOptions &options,
                   const std::function<bool(const Case &)> &wanted,
                   const std::function<void(const Case &, const std::string *why_none)> &done);

} // namespace convcast
