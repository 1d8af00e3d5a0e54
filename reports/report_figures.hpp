// The figures of the report, each a plain function of the statistics.
#pragma once

#include "model/base/readable.hpp"
#include "reports/figure.hpp"
#include "reports/statistics.hpp"

#include <span>

namespace convcast {

Figure predicted_vs_measured(const ReportStatistics &statistics);
/// A plot for each strategy.
Figure relative_error(const ReportStatistics &statistics);
/// Of this forecast and of others' models: how many cases have at most an error.
Figure error_cdf(const ReportStatistics &statistics);

/// One study's shapes with the gains its paper published; the study "" holds the shapes of none.
Figure speedup_over_cudnn(const ReportStatistics &statistics, const Study &study);

/// Predicted against counted bytes, reads filled and writes hollow; `level` is "l2" or "dram".
Figure work_bytes(const ReportStatistics &statistics, const std::string &level);

/// The bars of a case's forecast, with the measured time as a line.
Figure waterfall_of(const CaseRow &row);

/// The case whose waterfall stands for the run: the one with the median error, else the first with a
/// forecast. Absent when no case has a term.
std::optional<std::int64_t> typical_case(const ReportStatistics &statistics);

/// All of them in the order of the page: one speed-up figure per study that has shapes in the run.
std::vector<Figure> report_figures(const ReportStatistics &statistics, std::span<const Study> studies);

/// What the CSV files say of each case, by CaseRow::id.
std::vector<CaseColumns> case_columns(const ReportStatistics &statistics);

/// What a reader sees on hovering over a case.
std::string describe(const CaseRow &row);

} // namespace convcast
