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

/// N11: what L2 has when a launch begins, in a network that runs again and again. Shares from 0 to 1.
struct HeldForLaunch {
    std::vector<double> reads; ///< of each tensor in ScheduledLaunch::reads, the share that L2 has
    double parameters = 0.0;   ///< of the launch's parameters, the share that L2 has
    double written_lost = 0.0; ///< of what it writes, the share that goes to DRAM before it is overwritten
};
/// By launch of the schedule.
std::vector<HeldForLaunch> held_for_launches(const Network &network,
                                             const std::vector<ScheduledLaunch> &schedule, std::int64_t batch,
                                             const Gpu &gpu);

/// The same by shape, for the launches that have one, and how often another kernel ran just before (N12). Of
/// several launches with a shape the mean, so that all of them take the same strategy.
std::map<std::string, HeldByL2> held_by_shape(const std::vector<ScheduledLaunch> &schedule,
                                              const std::vector<HeldForLaunch> &held);

} // namespace convcast
