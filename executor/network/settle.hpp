// What the runs of networks share: the loop over their cases, the times and traces of calls, and how steps of
// training on several GPUs, whichever way they are split, are compared with one GPU's and timed.
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

/// Calls `settle` for each case of the run that is not infeasible, one after another; it verifies and times
/// the case and stores the results in it. A GpuError becomes the reason of a failed case. After a DeviceLost
/// the remaining cases are not run, and their reason names `gpu` ("the GPU" or "a GPU"). `settled` is called
/// after each case that was run.
void settle_cases(NetworkRun &run, const std::string &gpu, const std::function<void(NetworkCase &)> &settle,
                  const std::function<void(const NetworkCase &)> &settled);

/// The median time of a call, from at most 200 samples and a quarter of a second; made for calls that take a
/// fraction of a millisecond. StopWatchOptions says what `wait_for_others` is.
Seconds median_time(StopWatch &watch, const StopWatch::Call &call, L2State l2,
                    const std::function<void()> &wait_for_others = {});

/// Traces 15 calls from a warm L2 by their activity records. Each call is a list of the nodes that ran, in
/// the order in which they began or, with `several_streams`, in which the host issued them. The lists are
/// empty if there are no records.
std::vector<TracedCall> traced_calls(StopWatch &watch, const StopWatch::Call &call, bool several_streams,
                                     const std::function<void()> &wait_for_others = {});

/// How many steps run before parameters are compared with one GPU's, and how many a timed graph has.
constexpr std::int64_t verified_steps = 3, timed_steps = 40;

/// Random images, labels and parameters for the cases of the run: at most 8192 images, which larger batches
/// repeat.
NetworkData pool_of(const Network &network, const NetworkRun &run, std::uint64_t seed);

/// What steps leave on the GPUs.
struct StepOutcome {
    std::vector<float> outputs; ///< image by image, of the first step
    /// One list for each GPU: the gradient of all parameters after the first step, and the parameters after
    /// the last. If the GPUs split the parameters, one list joined from theirs.
    std::vector<std::vector<float>> gradients, parameters;
};

/// Compares the steps of a case with what one GPU alone computes from the whole batch, of which the case's
/// images are `share`. Sets the three errors of the case. Returns a sentence if one of them is larger than
/// sums in another order explain; absent if the case is right.
std::optional<std::string> why_not_as_one_gpu(const StepOutcome &found, const ImageShare &share,
                                              const StepOutcome &one, NetworkCase &item);

/// Seconds of one step: the median over repetitions of `launch`, each of which queues timed_steps steps on
/// the stream, over timed_steps. All GPUs start a repetition together, where they met at the end of the one
/// before. `wait` has to return when the last event has passed.
Seconds time_of_step(cudaStream_t stream, const std::function<void()> &launch,
                     const std::function<void(const Event &)> &wait);

} // namespace convcast
