// The tables of a report, for a terminal, for texts and for its page alike.
#pragma once

#include "reports/statistics.hpp"
#include "reports/table.hpp"

#include <vector>

namespace convcast {

/// One row a case, forecast beside measurement, for other programs.
std::string cases_csv(const ReportStatistics &statistics);

/// How far the forecast and others' models are off, by the part of the shapes.
Table times_table(const Accuracy &accuracy);
Table work_table(const Accuracy &accuracy);
Table rankings_table(const Accuracy &accuracy);

/// Against cuDNN by study, those lines that compare anything.
Table speedups_table(const std::vector<SpeedupStatistics> &speedups);

/// What each opinion on the regime said where the counters say one, over all strategies.
Table said_regimes_table(const RegimeTables &tables);
/// How often each opinion agrees with the counters, by strategy. "always one": what always saying the regime
/// that was measured most often would agree with.
Table regimes_table(const RegimeTables &tables);
/// What warps wait for in each measured regime, down to a share of 5 %.
Table stalls_table(const RegimeTables &tables);

} // namespace convcast
