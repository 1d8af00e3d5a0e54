// When the nodes of a network's calls ran.
#pragma once

#include "gpu/stopwatch.hpp"
#include "model/network/launch_times.hpp"

#include <vector>

namespace convcast {

/// Of some calls from a warm L2, by their activity records: of each call the nodes in the order in which they
/// began or, of several streams, in that of the host's calls. Empty lists where there are no such records.
std::vector<CallNodes> node_spans(StopWatch &watch, const StopWatch::Call &call, bool several_streams,
                                  bool only_kernels);

} // namespace convcast
