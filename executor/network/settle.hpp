// How the cases of a network's run are settled, when the nodes of their calls ran, and how steps of training
// on several GPUs are held to one GPU's and timed, by whichever way they are split.
#pragma once

#include "executor/network/network_data.hpp"
#include "gpu/stopwatch.hpp"
#include "model/base/units.hpp"
#include "model/network/launch_times.hpp"
#include "model/network/network_run.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// Settles the cases that are possible, one after another. What goes wrong on a GPU is an answer of its case.
/// After `gpu`, "the GPU" or "a GPU", was lost the others are not run, with the reason. `settled` sees the
/// others.
void settle_cases(NetworkRun &run, const std::string &gpu, const std::function<void(NetworkCase &)> &settle,
                  const std::function<void(const NetworkCase &)> &settled);

/// The median time of a call that takes a fraction of a millisecond. StopWatchOptions says what
/// `wait_for_others` is.
Seconds median_time(StopWatch &watch, const StopWatch::Call &call, L2State l2,
                    const std::function<void()> &wait_for_others = {});

/// Of some calls from a warm L2, by their activity records: of each call the nodes in the order in which they
/// began or, of several streams, in that of the host's calls. Empty lists where there are no such records.
std::vector<TracedCall> traced_calls(StopWatch &watch, const StopWatch::Call &call, bool several_streams,
                                     const std::function<void()> &wait_for_others = {});

/// Steps that are compared with one GPU's, and steps of a graph that is timed.
constexpr std::int64_t verified_steps = 3, timed_steps = 40;

/// Images, labels and parameters that steps are done with. Batches with more images repeat them.
NetworkData pool_of(const Network &network, const NetworkRun &run, std::uint64_t seed);

/// What steps leave on the GPUs.
struct StepOutcome {
    std::vector<float> outputs; ///< image by image, after the first step
    /// Of each GPU those of all parameters, after the first step and after the last; of split parameters one
    /// list, put together.
    std::vector<std::vector<float>> gradients, parameters;
};

/// Sets how far the steps of a case, whose images are `share`, are from what one GPU makes of the batch.
/// Returns a sentence that says so where the distance is more than another order of sums explains.
std::optional<std::string> why_not_as_one_gpu(const StepOutcome &its, const ImageShare &share,
                                              const StepOutcome &one, NetworkCase &item);

/// Of a step: the median over repetitions of `launch`, which queues timed_steps of them on the stream. All
/// GPUs start together, since each repetition begins where they have met in the one before. `wait` is asked
/// to wait for the last event.
Seconds time_of_step(cudaStream_t stream, const std::function<void()> &launch,
                     const std::function<void(const Event &)> &wait);

} // namespace convcast
