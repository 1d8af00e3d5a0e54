// Ladders for people: what predict, run and report say of the rungs of a network.
#pragma once

#include "cli/arguments.hpp"
#include "model/network/ladder.hpp"

#include <string>

namespace convcast::cli {

/// predict --network NAME --ladder: the forecast of every rung. Returns the exit code.
int predict_ladder(const Arguments &arguments);

/// Rungs with what is known of each: forecast, measured, published. `gpu` names the GPU of the times.
std::string ladder_text(const LadderRun &run, const std::string &gpu);

} // namespace convcast::cli
