// --timeline of predict and run: when each CTA runs, and on which SM.
#pragma once

#include "cli/arguments.hpp"
#include "model/machine/knowledge.hpp"
#include "model/machine/profile.hpp"
#include "model/record/run.hpp"

#include <string>
#include <vector>

namespace convcast::cli {

/// A timeline is for looking at; a run with more cases than this is not, and its document would be huge.
inline constexpr int most_timeline_cases = 100;

/// Throws UsageError where `cases` has more strategies to draw than that.
void check_timeline_count(const Arguments &arguments, const std::vector<Case> &cases);

/// Has a plan, of no more CTAs than a timeline may have; says so where it has too many.
bool can_have_timeline(const Case &item);

/// Forecasts the timeline of a case that can have one, where the profile has the numbers for its time.
void add_forecast_timeline(Case &item, const GpuProfile &profile, const Knowledge &knowledge);

/// One table line a launch and one for the call; "" for a case without timelines.
std::string timeline_text(const Case &item);

} // namespace convcast::cli
