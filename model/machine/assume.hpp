// Numbers that a published profile lacks, supposed for one forecast.
#pragma once

#include "model/machine/profile.hpp"

#include <string>
#include <vector>

namespace convcast {

/// Gives `profile` the number that `text` names, "launch_floor=5e-6", in the unit that profile files have, as
/// one that is assumed; returns what to say of it. Throws UsageError for a number that there is not, that the
/// profile has, or that no GPU could have.
std::string assume(GpuProfile &profile, const std::string &text);

/// What to say of the numbers that were supposed in this way.
std::vector<std::string> assumed_of(const GpuProfile &profile);

} // namespace convcast
