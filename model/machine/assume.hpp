// Numbers of a profile that are supposed for one forecast: what it lacks, or what would be if it were
// another.
#pragma once

#include "model/machine/profile.hpp"

#include <string>
#include <vector>

namespace convcast {

/// Gives `profile` the number that `text` names, "launch_floor=5e-6", in the unit that profile files have, as
/// one that is assumed; returns what to say of it. Throws UsageError for a number that there is not, that the
/// profile has, or that no GPU could have.
std::string assume(GpuProfile &profile, const std::string &text);

/// Replaces the number or limit that `text` names: "dram_read_bandwidth=x2" by twice what the profile has,
/// "dram_read_bandwidth=9e12" by that, in the unit of profile files. What was measured around it (its spread,
/// its interval) goes; the sweep over outer products of FFMAs follows ffma_outer_rate. Throws UsageError for
/// a number that there is not, that the profile lacks, or that no GPU could have.
void set_number(GpuProfile &profile, const std::string &text);

/// What to say of the numbers that were supposed in this way.
std::vector<std::string> assumed_of(const GpuProfile &profile);

} // namespace convcast
