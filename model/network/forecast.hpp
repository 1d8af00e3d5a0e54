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

struct NetworkQuestion {
    std::int64_t batch = 1;
    std::vector<std::string> strategies; ///< names that convolutions may use; empty: all without tensor cores
    std::size_t top = 1;                 ///< candidates that a convolution keeps
    bool what_if = true;
    std::optional<ScheduleReading> schedule; ///< given: forecast as it stands; its batch is the question's
};

/// What the executor runs: the forecast's launches, those of convolutions by the plan of their first
/// candidate.
struct PlannedNetwork {
    Network network;
    std::vector<ScheduledLaunch> schedule;
    NetworkRun forecast; ///< with one case, of which nothing is measured yet

    std::int64_t batch() const { return forecast.first().batch; }
    Seconds time() const { return *forecast.first().forecast_s(); }
};
/// Deterministic to the byte. Throws UsageError if a convolution has no strategy that does it, InputError
/// with all that is wrong with a schedule. The profile has what missing_for_forecast asks for.
PlannedNetwork plan_network(const Network &network, const GpuProfile &profile, const Knowledge &knowledge,
                            const NetworkQuestion &question);

/// Why no kernel runs this network, a sentence; absent if one does.
std::optional<std::string> why_not_whole(const Network &network);

/// Device memory that a plan takes.
MemoryUse memory_of(const PlannedNetwork &plan);

/// Why a GPU with so many bytes free, of all that it has, cannot run a plan, a sentence; absent if it can.
std::optional<std::string> why_too_large(const PlannedNetwork &plan, const std::string &gpu,
                                         double free_bytes, double all_bytes);

/// The plan's launches as text, each with its forecast time as a comment.
Schedule schedule_of(const PlannedNetwork &plan);

} // namespace convcast
