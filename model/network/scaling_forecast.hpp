// The forecast of the cases of a network's ladder: a step of training on several GPUs, from the profile and
// its matrix of copies between GPUs (equations Sc2 and Sc3), and its implementations (rung_forecast.hpp).
#pragma once

#include "model/network/scaling.hpp"

#include <string>
#include <vector>

namespace convcast {

/// Of the links between these GPUs the slowest; where the profile has none between some, those that it has;
/// where it has none at all, what is published for the GPU. `assumptions` gets what was not measured. Throws
/// UsageError where nothing is known.
PeerNumbers peer_numbers(const GpuProfile &profile, const std::vector<int> &devices,
                         std::vector<std::string> &assumptions);

/// All cases with their forecasts and rates, and the sizes from which splits pay.
NetworkRun forecast_scaling(const Network &network, const GpuProfile &profile,
                            const ScalingQuestion &question);

/// The same cases with what was measured of them, and forecasts of this profile in place of those that the
/// document has, of implementations of the ladder and of steps on GPUs; those that the ladder does not have
/// have none. Throws UsageError as forecast_scaling does.
NetworkRun forecast_anew(NetworkRun run, const Network &network, const GpuProfile &profile);

} // namespace convcast
