// Work of a whole call, and plans whose work is another.
#pragma once

#include "model/plan/plan.hpp"

namespace convcast {

/// Of all launches, prepared ones included.
Work total_work(const Plan &plan);

/// The plan with its work scaled, so that the totals of all its launches are those counted.
Plan with_work(Plan plan, const Work &counted);

/// Makes the step the average one of a launch whose CTAs all have the same steps, some with less work: the
/// last channels, or the last rows. By the instructions that the plan counts for both.
void average_step(Partition &partition);

} // namespace convcast
