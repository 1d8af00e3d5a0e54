// Numbers that no probe measured: supposed for one forecast, what a profile lacks or what would be if it were
// another; and those assumed in a published profile with the range that they may lie in.
#pragma once

#include "model/machine/profile.hpp"

#include <string>
#include <vector>

namespace convcast {

/// Gives `profile` the number that `text` names, "launch_floor=5e-6", in the unit that profile files have, as
/// one that is assumed; returns what to say of it. Throws UsageError for a number that there is not, that the
/// profile has other than assumed, or that no GPU could have.
std::string assume(GpuProfile &profile, const std::string &text);

/// Replaces the number or limit that `text` names: "dram_read_bandwidth=x2" by twice what the profile has,
/// "dram_read_bandwidth=9e12" by that, in the unit of profile files. What was measured around it (its spread,
/// its interval) goes; the sweep over outer products of FFMAs follows ffma_outer_rate. Throws UsageError for
/// a number that there is not, that the profile lacks, or that no GPU could have.
void set_number(GpuProfile &profile, const std::string &text);

/// Names that set_number takes.
std::vector<std::string> numbers_to_set();

/// Whether set_number made one of its numbers another than that of the real GPU.
bool is_supposed(const GpuProfile &profile);

/// What to say of the numbers that were supposed in this way, and of those that have a range.
std::vector<std::string> assumed_of(const GpuProfile &profile);

/// A number of a profile that no probe measured and that has an `interval`: the range that it may lie in.
struct RangedNumber {
    std::string name;
    double low, high; ///< in the unit of profile files
};
std::vector<RangedNumber> ranged_numbers(const GpuProfile &profile);

/// The same GPU, its number `name` another, if it has that number.
GpuProfile with_number(GpuProfile profile, const std::string &name, double value);

} // namespace convcast
