// How far a forecast reaches when the numbers that no probe measured lie at the ends of their ranges.
#pragma once

#include "model/machine/architecture.hpp"
#include "model/machine/calibration.hpp"
#include "model/plan/plan.hpp"
#include "model/shape/conv_shape.hpp"

#include <functional>
#include <optional>

namespace convcast {

struct TimeRange {
    Seconds low, high;
};

/// I3: of anything that has a time on a profile.
std::optional<TimeRange> range_of_assumed(const GpuProfile &profile,
                                          const std::function<Seconds(const GpuProfile &)> &time_on);

/// I3: the time of `plan` with each ranged number of the profile at that end of its range which makes the
/// time shorter, all at once, and with each at the other end. Which end that is each number tells by itself,
/// the others at their values. The plan stays what it is. Absent where the profile has no such number, or
/// lacks one that a time needs.
std::optional<TimeRange> assumed_range(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                       const std::optional<Calibration> &fitted);

} // namespace convcast
