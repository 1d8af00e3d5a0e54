// Numbers that must agree with each other or with what the driver states.
#pragma once

#include "microbench/samples.hpp"
#include "model/machine/profile.hpp"

#include <vector>

namespace convcast {

/// Of `profile`, which came from `raw`. A check that lacks a number is not there.
std::vector<ProfileCheck> cross_checks(const RawSamples &raw, const GpuProfile &profile);

} // namespace convcast
