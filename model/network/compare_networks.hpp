// Two networks node by node, or one network on two GPUs: which launches compute the same, and what each
// takes. Runs of a ladder and steps of training case by case.
#pragma once

#include "model/base/comparison.hpp"
#include "model/network/network_run.hpp"

#include <string>

namespace convcast {

/// What was measured of both or, where one was only forecast, what was forecast. Of whole networks a row is
/// one launch of each, or the launches that compute the same operators. They are matched by the name of an
/// operator that begins one of them; those that are left by their kind and shape, in order (longest common
/// subsequence). Rows stand in the order of the first network. `total` is the time of both, to which on one
/// stream the rows of forecasts add up. Of other runs, such as a ladder's or steps on several GPUs, a row is
/// a case that has one name in both, and there is no total.
ComparedFiles compare_networks(const NetworkRun &before, const std::string &before_file,
                               const NetworkRun &after, const std::string &after_file, double tolerance);

} // namespace convcast
