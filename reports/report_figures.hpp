// The figures of a run, each a plain function of the statistics; those of timelines are of the run itself.
#pragma once

#include "model/base/readable.hpp"
#include "model/record/run.hpp"
#include "reports/figure.hpp"
#include "reports/statistics.hpp"

#include <span>

namespace convcast {

/// Forecast against measured time, µs, a mark for each case of ours that has both.
Figure predicted_vs_measured(const ReportStatistics &statistics);
/// The error of each case, in %, against its measured time, µs: a plot for each strategy, the worst first.
Figure relative_error(const ReportStatistics &statistics);
/// The share of cases (%) with at most an error (%): a curve for our forecast and each other model.
Figure error_cdf(const ReportStatistics &statistics);

/// All figures of a run but its timelines, in the order of the page. Each names the section of the page that
/// it stands in (Figure::part). `studies` gives titles, published gains and sweeps; each study with shapes in
/// the run has one figure of speed-ups.
std::vector<Figure> report_figures(const ReportStatistics &statistics, std::span<const Study> studies);

/// What the CSV files say of each case; the place in the list is CaseRow::id.
std::vector<CaseColumns> case_columns(const ReportStatistics &statistics);

/// What hovering over a case shows: "SHAPE STRATEGY: forecast 5.89 µs, measured 6.40 µs (−8.0 %)".
std::string describe(const CaseRow &row);

/// Maps of regimes over map size (x) and filters (y), for strategies filter_split and map_split and filters
/// of edge 1, 3 and 5, if the run has enough shapes. A map has a plot for every opinion on the regime, and
/// lines where the papers' rule reaches N_FMA and V_s.
std::vector<Figure> regime_maps(const ReportStatistics &statistics);
/// What each opinion said of the cases of one measured regime: a row of three bars, in % of these cases.
Figure regime_confusion(const ReportStatistics &statistics);
/// FMAs (y) against bytes (x), each over the amount that hides one memory latency: in one plot those of a
/// round over the paper's N_FMA and V_s, in the other those of all resident CTAs. Absent where no case has
/// these numbers and a measured regime.
std::optional<Figure> regime_plane(const ReportStatistics &statistics);
/// What warps waited for in each measured regime, in % of their waiting.
Figure stall_reasons(const ReportStatistics &statistics);
/// Time per FMA, ps, against the number that `sweep` varies; lines mark where a round reaches N_FMA and V_s.
Figure boundary_sweep(const ReportStatistics &statistics, const StudySweep &sweep);

/// A page draws the timelines of this many cases; those of further ones stay in the document.
inline constexpr std::size_t most_drawn_timelines = 12;

/// Timelines of the first most_drawn_timelines cases that have one: SMs upwards, time in µs to the right, a
/// bar for each CTA, a colour for each launch, or for each kernel where there are more launches than colours.
/// The case with CaseRow::id 3 has "timeline_3_forecast" and "timeline_3_measured", or only one of the two.
std::vector<Figure> timeline_figures(const Run &run);

/// All figures of a run: report_figures, then its timelines.
std::vector<Figure> figures_of(const Run &run, const ReportStatistics &statistics,
                               std::span<const Study> studies);

/// The numbers of every timeline of a run, launch by launch, the whole call last where there are several.
std::vector<TimelineRow> timeline_rows(const Run &run);

} // namespace convcast
