// The figures of a run, each a plain function of the statistics; those of timelines are of the run itself.
#pragma once

#include "model/base/readable.hpp"
#include "model/record/run.hpp"
#include "reports/figure.hpp"
#include "reports/statistics.hpp"

#include <span>

namespace convcast {

Figure predicted_vs_measured(const ReportStatistics &statistics);
/// A plot for each strategy.
Figure relative_error(const ReportStatistics &statistics);
/// Of this forecast and of others' models: how many cases have at most an error.
Figure error_cdf(const ReportStatistics &statistics);

/// All of them in the order of the page: one speed-up figure per study that has shapes in the run.
std::vector<Figure> report_figures(const ReportStatistics &statistics, std::span<const Study> studies);

/// What the CSV files say of each case, by CaseRow::id.
std::vector<CaseColumns> case_columns(const ReportStatistics &statistics);

/// What a reader sees on hovering over a case.
std::string describe(const CaseRow &row);

/// Maps of regimes of the papers' two divisions of one channel, over map size and filters: a plot for each
/// opinion, with the lines where the papers' rule reaches N_FMA and V_s. One for each edge of the filters
/// that the run has enough shapes of.
std::vector<Figure> regime_maps(const ReportStatistics &statistics);
/// Of each opinion and measured regime, the shares that were said to be each.
Figure regime_confusion(const ReportStatistics &statistics);
/// FMAs against bytes in flight, each over what hides the latency: of a round by the paper's N_FMA and V_s,
/// and of what is resident. Absent where no case has these and a measured regime.
std::optional<Figure> regime_plane(const ReportStatistics &statistics);
/// What warps waited for in each measured regime.
Figure stall_reasons(const ReportStatistics &statistics);
/// Time per FMA against the swept number, with the paper's boundaries as lines.
Figure boundary_sweep(const ReportStatistics &statistics, const StudySweep &sweep);

/// A page draws the timelines of this many cases; those of further ones stay in the document.
inline constexpr std::size_t most_drawn_timelines = 12;

/// SMs upwards, time to the right, a bar for each CTA, a colour for each launch, or for each kernel where
/// there are more launches than colours. Two figures a case, "timeline_3_forecast" and "timeline_3_measured"
/// of the case with CaseRow::id 3, or one where it has only one of the two.
std::vector<Figure> timeline_figures(const Run &run);

/// All figures of a run: report_figures, then its timelines.
std::vector<Figure> figures_of(const Run &run, const ReportStatistics &statistics,
                               std::span<const Study> studies);

/// The numbers of every timeline of a run, launch by launch, the whole call last where there are several.
std::vector<TimelineRow> timeline_rows(const Run &run);

} // namespace convcast
