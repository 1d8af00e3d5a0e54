// What L2 has of a network's tensors and parameters when a launch reads them, and whether another kernel
// ran just before it. Equations N11 and N12 of docs/equations.md.
#pragma once

#include "model/machine/architecture.hpp"
#include "model/network/schedule.hpp"
#include "model/time/call.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace convcast {

/// N11: of each tensor that a launch reads, and of its parameters, the share that L2 has when the launch
/// begins, in a network that is run again and again.
struct HeldForLaunch {
    std::vector<double> reads; ///< as ScheduledLaunch::reads
    double parameters = 0.0;
    double written_lost =
        0.0; ///< of what it writes, the share that DRAM gets before other tensors take its place
};
std::vector<HeldForLaunch> held_for_launches(const Network &network,
                                             const std::vector<ScheduledLaunch> &schedule, std::int64_t batch,
                                             const Gpu &gpu);

/// The same for the launches with a plan, by shape: the mean where several have the shape, so that all of
/// them take the same strategy.
std::map<std::string, HeldByL2> held_by_shape(const std::vector<ScheduledLaunch> &schedule,
                                              const std::vector<HeldForLaunch> &held);

} // namespace convcast
