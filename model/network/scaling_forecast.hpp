// The forecast of a step of training on several GPUs, from the profile and its matrix of copies between GPUs.
// Equations Sc2 and Sc3.
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

/// Times of one case. Throws UsageError where a kernel of it has none on the GPU. The profile has what
/// missing_for_forecast asks for.
ScalingTimes forecast_case(const ScalingCase &item, const Network &network, const GpuProfile &profile,
                           const PeerNumbers &peers);

/// All cases with their forecasts and rates, and the sizes from which splits pay.
Scaling forecast_scaling(const Network &network, const GpuProfile &profile, const ScalingQuestion &question);

/// The same cases with what was measured of them, and forecasts of this profile in place of those that the
/// document has. Throws UsageError as forecast_scaling does.
Scaling forecast_anew(Scaling scaling, const Network &network, const GpuProfile &profile);

} // namespace convcast
