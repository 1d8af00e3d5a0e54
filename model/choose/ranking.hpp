// All settings of strategies for a shape, best forecast first.
#pragma once

#include "model/base/units.hpp"
#include "model/choose/setting.hpp"
#include "model/machine/knowledge.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// N8: forecasts of a convolution tie with the shortest if they are no longer than it times this factor.
inline double tie_of(Seconds shortest) {
    constexpr double apart = 0.15; // nine of ten forecasts are off by no more than that
    // The error of a longer forecast is mostly one that all settings share, so that fewer of them tie. Placed
    // by the times of networks drawn at random (docs/evidence.md, N8).
    constexpr Seconds longest(25e-6);
    return 1.0 + apart * std::min(1.0, longest / shortest);
}

/// N8: the mean of those `times` that tie with the shortest. The shortest of many forecasts is mostly one
/// that came out too short; the mean is not. `times` is not empty.
Seconds mean_of_ties(const std::vector<Seconds> &times);

struct RankedSetting {
    PlannedStrategy planned;     ///< with the facts of its kernels
    std::optional<Seconds> time; ///< absent if the profile lacks a number for it
    std::string text;            ///< with every knob
};

/// A strategy of which no setting is feasible.
struct RefusedStrategy {
    Strategy setting; ///< the first that was tried
    Infeasible why;
};

/// Where strategies on tensor cores stand in a ranking.
enum class TensorCores {
    behind,   ///< behind all others: a comparison of kernels that compute in FP32 takes the first of it
    in_order, ///< where their time puts them
};

struct Ranking {
    std::vector<RankedSetting> settings;  ///< best forecast time first, equal times by text
    std::vector<RefusedStrategy> refused; ///< in the order of the strategies
};

/// Ranks the candidates of `strategies` (empty: of all) by their forecasts, and keeps the `top` first. Plans
/// on all cores; deterministic to the byte. Throws UsageError for a name that is no strategy.
Ranking rank(const ConvShape &shape, const GpuProfile &profile, const Knowledge &knowledge,
             const std::vector<std::string> &strategies = {},
             std::size_t top = std::numeric_limits<std::size_t>::max(),
             TensorCores order = TensorCores::behind);

} // namespace convcast
