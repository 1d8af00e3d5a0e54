// Work of a whole call, and plans whose work is another.
#pragma once

#include "model/plan/plan.hpp"

namespace convcast {

/// The work of all launches of a plan, prepared ones included.
Work total_work(const Plan &plan);

/// The plan with its work scaled, so that the totals of all its launches are those counted.
Plan with_work(Plan plan, const Work &counted);

/// F18: makes the step of a launch the average step of its CTAs. All CTAs have equally many steps, but some
/// have less work in a step: the last channels, or the last rows. Everything is scaled by one share, that of
/// the launch's instructions.
void average_step(Partition &partition);

} // namespace convcast
