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

/// Our speed-ups over cuDNN, a row for each study and choice of cuDNN's that compares anything.
Table speedups_table(const std::vector<SpeedupStatistics> &speedups);

/// How often each opinion said which regime, by the regime that the counters say, over all strategies.
Table said_regimes_table(const RegimeTables &tables);
/// How often each opinion agrees with the counters, by strategy. "always one" is the agreement of always
/// saying the regime that was measured most often.
Table regimes_table(const RegimeTables &tables);
/// What warps wait for in each measured regime, down to a share of 5 %.
Table stalls_table(const RegimeTables &tables);

} // namespace convcast
