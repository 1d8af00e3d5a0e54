// The report as one HTML file: readable offline, without scripts, in years.
#pragma once

#include "reports/figure.hpp"
#include "reports/statistics.hpp"

#include <span>
#include <string>
#include <vector>

namespace convcast {

/// `statistics` must be those of `run` and `studies`. `current` is the running binary: a run
/// recorded with other device or measuring code is marked as such; empty hashes if the binary cannot tell.
std::string write_page(const Run &run, std::span<const Study> studies, const ReportStatistics &statistics,
                       const Producer &current = {});

/// The same with `figures`, which must be report_figures of both, where they are there already.
std::string write_page(const Run &run, std::span<const Study> studies, const ReportStatistics &statistics,
                       const Producer &current, std::vector<Figure> figures);

/// The page's first paragraph: how far the forecast is off and how we stand against cuDNN, in plain text.
std::string answer(const ReportStatistics &statistics);

} // namespace convcast
