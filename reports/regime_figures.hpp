// The figures of regimes and of the boundaries between them.
#pragma once

#include "reports/figure.hpp"
#include "reports/statistics.hpp"

namespace convcast {

/// Of each opinion and measured regime, the shares that were said to be each.
Figure regime_confusion(const ReportStatistics &statistics);
/// What warps waited for in each measured regime.
Figure stall_reasons(const ReportStatistics &statistics);
/// Time per FMA against the swept number, with the paper's boundaries as lines.
Figure boundary_sweep(const ReportStatistics &statistics, const StudySweep &sweep);

} // namespace convcast
