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
    std::map<std::string, double> counters; ///< by metric name; empty if only the work was counted
    double shared_latency = 0.0; ///< clocks from a load of shared memory to its use, on the GPU that counted
    double warps = 0.0;          ///< most warps that all SMs of this GPU hold at once
};

/// Fewer calls than this do not tell four coefficients from each other.
inline constexpr std::size_t least_cases = 4;

/// The facts of every kernel variant that is the main launch of at least `least_cases` calls, by least
/// squares of relative errors without negative coefficients. `architecture` is that of the GPUs that counted.
/// The caller sets Facts::architecture and device_code_hash.
Facts derive_facts(const std::vector<CountedCall> &calls, const Architecture &architecture);

} // namespace convcast
