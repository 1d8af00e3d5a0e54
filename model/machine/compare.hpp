// Two or more profiles side by side: two GPUs, or several runs on one. Two are held against the first, three
// and more against their median.
#pragma once

#include "model/base/comparison.hpp"
#include "model/machine/profile.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace convcast {

/// What two measurements of one GPU may differ by: latencies repeat better than bandwidths and rates.
constexpr double default_latency_tolerance = 0.02;

struct NamedProfile {
    std::string file;
    GpuProfile profile;
};

struct CompareOptions {
    std::optional<double> tolerance; ///< a share, for every Param; absent: the defaults above
    /// Only these Params and curves, and then neither limits, conditions nor checks; empty: all.
    std::vector<std::string> only;
};

/// Every Param there is, and every curve that one of `profiles` has.
std::vector<std::string> comparable_names(std::span<const NamedProfile> profiles);

/// Every number of `profiles`, which are two or more. One fails that differs by more than its tolerance, or
/// that a later profile lacks and the first one has.
ComparedFiles compare_profiles(std::span<const NamedProfile> profiles, const CompareOptions &options);

} // namespace convcast
