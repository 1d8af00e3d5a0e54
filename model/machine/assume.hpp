// Numbers that no probe measured: supposed for one forecast, or assumed in a published profile with the range
// that they may lie in.
#pragma once

#include "model/machine/profile.hpp"

#include <string>
#include <vector>

namespace convcast {

/// Gives `profile` the number that `text` names, "launch_floor=5e-6", in the unit that profile files have, as
/// one that is assumed; returns what to say of it. Throws UsageError for a number that there is not, that the
/// profile has other than assumed, or that no GPU could have.
std::string assume(GpuProfile &profile, const std::string &text);

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
