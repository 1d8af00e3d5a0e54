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

/// Within this share two latencies count as the same, unless another one is asked for. Latencies repeat
/// better than bandwidths and rates, which have default_tolerance (model/base/comparison.hpp).
constexpr double default_latency_tolerance = 0.02;

struct NamedProfile {
    std::string file;
    GpuProfile profile;
};

struct CompareOptions {
    std::optional<double> tolerance; ///< the share within which any Param is the same; absent: the defaults
    /// Names of the only Params and curves to compare; limits, conditions and checks are then left out.
    /// Empty: everything is compared.
    std::vector<std::string> only;
};

/// The names that `only` may have: of every Param, then of every curve that one of `profiles` has.
std::vector<std::string> comparable_names(std::span<const NamedProfile> profiles);

/// Compares every number of two or more profiles. A number fails if it differs by more than its tolerance, or
/// if the first profile has it and a later one lacks it.
ComparedFiles compare_profiles(std::span<const NamedProfile> profiles, const CompareOptions &options);

} // namespace convcast
