// Facts of kernels, regressed on the counters of recorded calls.
#pragma once

#include "model/machine/architecture.hpp"
#include "model/machine/facts.hpp"
#include "model/plan/plan.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace convcast {

/// A call that was counted: the plan as the strategy counts it, and what the counters say.
struct CountedCall {
    Plan plan;
    Work counted;
    std::map<std::string, double> counters; ///< by metric name; empty: of the work only
    double shared_latency = 0.0; ///< clocks from a load of shared memory to its use, on the GPU that counted
    double warps = 0.0;          ///< that this GPU holds at once
};

/// The facts of every kernel variant that has most of the FMAs of at least `least_cases` calls: least squares
/// of relative errors without negative numbers. `architecture` is that of the GPUs that counted. Without
/// the names of architecture and code.
Facts derive_facts(const std::vector<CountedCall> &calls, const Architecture &architecture);
inline constexpr std::size_t least_cases = 4;

} // namespace convcast
