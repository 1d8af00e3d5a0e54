// Work of all launches of a plan, and plans with counted work in place of the forecast one.
#pragma once

#include "model/plan/plan.hpp"

namespace convcast {

/// The work of all launches of a plan, those that prepare filters included. Absent: what no launch has.
Work total_work(const Plan &plan);

/// The plan with its work scaled so that the totals of all its launches are those counted: what its forecast
/// would be if the strategy had counted without error. A quantity that `counted` lacks stays.
Plan with_work(Plan plan, const Work &counted);

/// F18: makes the full step of a launch the average step of its CTAs. All CTAs have equally many steps, but
/// some steps have less work: the last channels, or the last rows. Every field is scaled by the same share,
/// that of the launch's instructions in those of as many full steps.
void average_step(Partition &partition);

} // namespace convcast
