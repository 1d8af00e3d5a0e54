// A network's ladder: what predict says of its rungs, and which are asked for.
#pragma once

#include "cli/arguments.hpp"
#include "model/network/ladder.hpp"
#include "model/network/schedule_text.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace convcast::cli {

/// predict --network NAME --ladder, or --training: the forecast of every rung, of those that train, or of
/// those that a schedule names. Returns the exit code.
int predict_ladder(const Arguments &arguments, const std::optional<ScheduleReading> &schedule);

/// Leaves the ladder the rungs that a schedule names. Returns the images of a call: the schedule's, or
/// --batch, or else `default_batch`.
std::int64_t asked_rungs(const Arguments &arguments, const std::optional<ScheduleReading> &schedule,
                         Ladder &ladder, std::int64_t default_batch = 1);

} // namespace convcast::cli
