// The forecast of a network as one CUDA graph: convolutions as `choose` forecasts them, the rest by its
// bytes. Equations N1 to N4, N8 and N9 of docs/equations.md.
#pragma once

#include "model/machine/knowledge.hpp"
#include "model/machine/profile.hpp"
#include "model/network/network_run.hpp"
#include "model/network/schedule_text.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// What is asked of a network's forecast.
struct NetworkQuestion {
    std::int64_t batch = 1;              ///< images of a call
    std::vector<std::string> strategies; ///< names that convolutions may use; empty: all without tensor cores
    std::size_t top = 1;                 ///< candidates that a convolution keeps
    bool what_if = true;                 ///< forecast it also for changed GPUs
    std::optional<ScheduleReading>
        schedule; ///< forecast as it stands, its batch is the question's; absent: ours
};

/// A schedule with its forecast, as the executor runs it: convolutions by the plan of their first candidate.
struct PlannedNetwork {
    Network network;
    std::vector<ScheduledLaunch> schedule;
    NetworkRun forecast; ///< with one case, which has a forecast and of which nothing is measured yet

    std::int64_t batch() const { return forecast.first().batch; }
    Seconds time() const { return *forecast.first().forecast_s(); }
};
/// The forecast of a network on a GPU, by the question's schedule or the fastest that we find. Equal
/// questions have equal answers to the byte. Throws UsageError if a convolution has no strategy that does it,
/// InputError with all that is wrong with the schedule. The profile has what missing_for_forecast asks for.
PlannedNetwork plan_network(const Network &network, const GpuProfile &profile, const Knowledge &knowledge,
                            const NetworkQuestion &question);

/// Why this network cannot be run, a sentence: it has operators that no kernel computes. Absent if it can.
std::optional<std::string> why_not_whole(const Network &network);

/// Device memory that a call of a plan takes.
MemoryUse memory_of(const PlannedNetwork &plan);

/// Why GPU `gpu` with `free_bytes` free of `all_bytes` cannot run a plan, a sentence; absent if it can.
std::optional<std::string> why_too_large(const PlannedNetwork &plan, const std::string &gpu,
                                         double free_bytes, double all_bytes);

/// The plan's launches as text, each with its forecast time as a comment.
Schedule schedule_of(const PlannedNetwork &plan);

} // namespace convcast
