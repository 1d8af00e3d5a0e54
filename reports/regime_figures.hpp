// The figures of regimes and of the boundaries between them.
#pragma once

#include "reports/figure.hpp"
#include "reports/statistics.hpp"

namespace convcast {

/// "compute bound"
std::string regime_text(Regime regime);

/// Maps of regimes of the papers' two divisions of one channel, over map size and filters: a plot for each
/// opinion, with the lines where the papers' rule reaches N_FMA and V_s. One for each edge of the filters
/// that the run has enough shapes of.
std::vector<Figure> regime_maps(const ReportStatistics &statistics);
/// Of each opinion and measured regime, the shares that were said to be each.
Figure regime_confusion(const ReportStatistics &statistics);
/// What warps waited for in each measured regime.
Figure stall_reasons(const ReportStatistics &statistics);
/// Time per FMA against the swept number, with the paper's boundaries as lines.
Figure boundary_sweep(const ReportStatistics &statistics, const StudySweep &sweep);

} // namespace convcast
