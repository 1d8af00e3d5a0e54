// --timeline of predict and run: when each CTA runs, and on which SM.
#pragma once

#include "cli/arguments.hpp"
#include "model/machine/knowledge.hpp"
#include "model/machine/profile.hpp"
#include "model/record/run.hpp"

#include <string>
#include <vector>

namespace convcast::cli {

/// The most cases with timelines: they are made to be looked at, and the document of more would be huge.
inline constexpr int most_timeline_cases = 100;

/// Whether a case has a plan of no more CTAs than a timeline may have; says so where it has too many.
bool can_have_timeline(const Case &item);

/// Forecasts the timelines of the cases that can have one, where the profile has the numbers for their times.
/// Throws UsageError where there are more strategies to draw than `most_timeline_cases`.
void add_forecast_timelines(std::vector<Case> &cases, const GpuProfile &profile, const Knowledge &knowledge,
                            const Arguments &arguments);

/// A case's timelines as a table, a row for each launch and one for the call; "" without any.
std::string timeline_text(const Case &item);

} // namespace convcast::cli
