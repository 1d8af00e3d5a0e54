// Numbers of a profile that no probe measured: those that the option --assume gives,
// those that --set changes to ask what if, and those that a published profile assumes with a range.
#pragma once

#include "model/machine/profile.hpp"

#include <string>
#include <vector>

namespace convcast {

/// --assume: gives `profile` the number that `text` names, such as "launch_floor=5e-6" in the unit of profile
/// files, and marks it as assumed. Returns a sentence that says so. Throws UsageError if no number has that
/// name, if the profile has the number and did not assume it, or if no GPU could have such a value.
std::string assume(GpuProfile &profile, const std::string &text);

/// --set: replaces the number or limit that `text` names. "dram_read_bandwidth=x2" doubles what the profile
/// has, "dram_read_bandwidth=9e12" sets it, in the unit of profile files. The spread and the interval of the
/// old number are dropped; the sweep over outer products of FFMAs is scaled with ffma_outer_rate. Throws
/// UsageError if no number has that name, if the profile lacks it, or if no GPU could have such a value.
void set_number(GpuProfile &profile, const std::string &text);

/// The names that set_number takes: those of all numbers, then of all limits.
std::vector<std::string> numbers_to_set();

/// Whether set_number changed a number or limit of the profile, so that it is of no real GPU.
bool is_supposed(const GpuProfile &profile);

/// Sentences on the numbers that `assume` and `set_number` gave, and on those that have a range.
std::vector<std::string> assumed_of(const GpuProfile &profile);

/// A number of a profile that no probe measured and that has an `interval`: the range that it may lie in.
struct RangedNumber {
    std::string name;
    double low, high; ///< in the unit of profile files
};
/// All of them whose range begins above 0.
std::vector<RangedNumber> ranged_numbers(const GpuProfile &profile);

/// The profile with `value`, in the unit of profile files, for its number `name`; as it was if it lacks that.
GpuProfile with_number(GpuProfile profile, const std::string &name, double value);

} // namespace convcast
