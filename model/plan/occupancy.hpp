// How many CTAs an SM holds, and how a grid falls into waves.
#pragma once

#include "model/machine/architecture.hpp"
#include "model/plan/plan.hpp"

#include <cstdint>
#include <string>

namespace convcast {

/// O1: how many CTAs of so many threads, registers a thread and bytes of dynamic shared memory an SM holds at
/// once; 0 if one does not fit.
int resident_ctas(const Gpu &gpu, std::int64_t threads, std::int64_t registers, std::int64_t shared_bytes);

/// Threads that a CTA can have at most with so many registers each, in whole groups of four warps: a warp for
/// each of four schedulers, which have a quarter of the registers each.
std::int64_t most_threads(const GpuLimits &limits, std::int64_t registers);

/// Why an SM holds no CTA of the launch; "" if it holds one.
std::string does_not_fit(const Launch &launch, const GpuLimits &limits);

/// O2: sets ctas, waves and tail of a launch from its grid and its `ctas_per_sm`, which is not 0.
void fill_schedule(Partition &partition, const GpuLimits &limits);

} // namespace convcast
