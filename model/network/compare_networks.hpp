// Two networks node by node, or one network on two GPUs: which launches compute the same, and what each
// takes. Runs of a ladder and steps of training case by case.
#pragma once

#include "model/base/comparison.hpp"
#include "model/network/network_run.hpp"

#include <string>

namespace convcast {

/// Compares two documents by their measured times or, if one was only forecast, by their forecasts. Times
/// whose ratio is within `tolerance` of 1 count as the same; the files' names are for the answer. Of whole
/// networks a row is one launch of each, or the launches of both that compute the same operators. Launches
/// are matched by the name of an operator that begins one of them, the others by kind and shape, in order
/// (longest common subsequence). Rows stand in the order of the first network. `total` has the times of the
/// networks, to which on one stream the rows of forecasts add up. Of other runs, such as a ladder's or steps
/// on several GPUs, a row is a case by its name, and there is no total.
ComparedFiles compare_networks(const NetworkRun &before, const std::string &before_file,
                               const NetworkRun &after, const std::string &after_file, double tolerance);

} // namespace convcast
