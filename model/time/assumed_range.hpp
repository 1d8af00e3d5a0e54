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

/// I3: the shortest and the longest time that `time_on` gives, if every number that the profile knows only as
/// a range lies at one end of its range. First it finds for each number which end makes the time shorter,
/// with all others at their values. Then it computes the time with all numbers at those ends (low) and with
/// all at the other ends (high); neither is beyond the time of `profile`. Absent if it has no range.
std::optional<TimeRange> range_of_assumed(const GpuProfile &profile,
                                          const std::function<Seconds(const GpuProfile &)> &time_on);

/// I3 of a call of `plan`, which stays the same at both ends. Absent also if the profile lacks a number.
std::optional<TimeRange> assumed_range(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                       const std::optional<Calibration> &fitted);

} // namespace convcast
