// How steps of training on several GPUs are verified against one GPU and timed, by whichever way they are
// split.
#pragma once

#include "gpu/stream.hpp"
#include "model/base/units.hpp"
#include "model/network/network_run.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace convcast {

/// Steps that are compared with one GPU's; steps of a graph that is timed; images that are drawn, and
/// repeated where a batch has more.
constexpr std::int64_t verified_steps = 3, timed_steps = 40, pool_images = 8192;

/// Whether the case's errors are more than sums in another order explain, as a sentence.
std::optional<std::string> why_not_as_one_gpu(const NetworkCase &item);

/// Of a step: the median over repetitions of `launch`, which queues timed_steps of them on the stream. All
/// GPUs start together, since each repetition begins where they have met in the one before. `wait` is asked
/// to wait for the last event.
Seconds time_of_step(cudaStream_t stream, const std::function<void()> &launch,
                     const std::function<void(const Event &)> &wait);

} // namespace convcast
