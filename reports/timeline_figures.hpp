// When each CTA ran, drawn: the forecast above the measurement, on the same axes.
#pragma once

#include "model/record/run.hpp"
#include "reports/figure.hpp"
#include "reports/statistics.hpp"

namespace convcast {

/// A page draws the timelines of this many cases; those of further ones stay in the document.
inline constexpr std::size_t most_drawn_timelines = 12;

/// SMs upwards, time to the right, a bar for each CTA, a colour for each launch, or for each kernel where
/// there are more launches than colours. Two figures a case, "timeline_3_forecast" and "timeline_3_measured"
/// of the case with CaseRow::id 3, or one where it has only one of the two.
std::vector<Figure> timeline_figures(const Run &run);

/// The numbers of every timeline of a run, launch by launch, the whole call last where there are several.
std::vector<TimelineRow> timeline_rows(const Run &run);

} // namespace convcast
