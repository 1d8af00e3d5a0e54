// Records when each CTA of a plan really ran and on which SM. This takes a call of its own, whose kernels are
// compiled with a stamp put in (stamp.hpp) and whose result is verified like that of timed calls.
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
    Plan plan;                            ///< its launches have the output as one more argument
    std::vector<CompileRequest> requests; ///< one for each launch, in the call's order
    std::vector<CallLaunch> launches;     ///< in the same order
    std::size_t records_offset = 0;       ///< bytes from the output's start to the first record
    std::size_t records = 0;
};

/// Puts stamps into a plan for a compute capability (90 for 9.0). Needs no GPU. Throws UsageError if a source
/// has no kernel that can be stamped.
StampedPlan stamped(const Plan &plan, const ConvShape &shape, int compute_capability);

struct TimelineOptions {
    std::uint64_t seed = 0; ///< of inputs
    unsigned compile_threads = 1;
    /// Called with tasks done; may be empty
    std::function<void(std::size_t done, std::size_t total)> progress;
};

/// For each task its timeline, from a cold L2, or the reason why there is none: a kernel does not compile,
/// the result is wrong, or a CTA did not run exactly once. `device` must be the calling thread's. Throws
/// DeviceLost.
std::vector<std::variant<Timeline, std::string>> record_timelines(Compiler &compiler, const Device &device,
                                                                  std::span<const PlanTask> tasks,
                                                                  const TimelineOptions &options);

/// Gives a timeline to each cold measurement that has none, of those cases of the run that are `wanted` and
/// ok. `done` is called for each such measurement, with nullptr or the reason why it gets none. Returns false
/// if one gets none. Throws DeviceLost.
bool add_timelines(Run &run, Compiler &compiler, const Device &device, const TimelineOptions &options,
                   const std::function<bool(const Case &)> &wanted,
                   const std::function<void(const Case &, const std::string *why_none)> &done);

} // namespace convcast
