// The forecast of the cases of a network's ladder: a step of training on several GPUs, from the profile and
// its matrix of copies between GPUs (equations Sc2 and Sc3), and its implementations (rung_forecast.hpp).
#pragma once

#include "model/network/scaling.hpp"

#include <string>
#include <vector>

namespace convcast {

/// What copies between these GPUs do: the numbers of the slowest of their links. If the profile has no link
/// between some of them, those that it has stand for these; if it has none at all, what is published of the
/// GPU. Appends to `assumptions` what was not measured. Throws UsageError if nothing is known.
PeerNumbers peer_numbers(const GpuProfile &profile, const std::vector<int> &devices,
                         std::vector<std::string> &assumptions);

/// The cases of a question with their forecasts and rates, and the batches from which splits pay. Throws
/// UsageError if there are no kernels for the network or a split, or no case has a forecast.
NetworkRun forecast_scaling(const Network &network, const GpuProfile &profile,
                            const ScalingQuestion &question);

/// The document with the forecasts by this profile in place of its own: of implementations of the ladder and
/// of steps on GPUs. What was measured stays. An implementation that the ladder does not have gets no
/// forecast. Throws UsageError as forecast_scaling does.
NetworkRun forecast_anew(NetworkRun run, const Network &network, const GpuProfile &profile);

} // namespace convcast
