// What the chip's counters of a call say of its case.
#pragma once

#include "model/machine/profile.hpp"
#include "model/record/run.hpp"

#include <map>
#include <string>

namespace convcast {

/// Of a case that was measured from a cold L2.
Measurement &cold_measurement(Case &item);

/// Into the measurement: the counters, the work that they say was done, and its regime by the profile's
/// ceilings.
void add_counts(Measurement &measurement, const std::map<std::string, double> &counters,
                const GpuProfile &profile);

/// Whether matrices of floats were multiplied on tensor cores. Counters of halves' arithmetic, which the pipe
/// does too, do not count.
bool used_tensor_cores(const std::map<std::string, double> &counters);

} // namespace convcast
