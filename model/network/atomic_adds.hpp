// Time of atomic adds whose result nobody waits for. Equation N10 of docs/equations.md.
#pragma once

#include "model/machine/profile.hpp"

namespace convcast {

/// Whether the profile has the rate of such adds.
bool knows_atomic_adds(const GpuProfile &profile);

/// N10: of `adds` floats to so many lines of 128 bytes at the same time, by all SMs. The profile has the
/// rate.
Seconds atomic_adds_time(double adds, double lines, const GpuProfile &profile);

} // namespace convcast
