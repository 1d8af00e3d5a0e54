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

/// N8: forecasts of a convolution that are no longer than the shortest times this tie with it.
inline double tie_of(Seconds shortest) {
    constexpr double apart = 0.15; // nine of ten forecasts are that good
    constexpr Seconds longest(
        25e-6); // of longer ones the settings share what makes them too long or too short
    return 1.0 + apart * std::min(1.0, longest / shortest);
}

/// N8: the mean of those forecasts that tie with the shortest. The shortest of many is mostly one that came
/// out too short. Requires a time.
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
    std::vector<RankedSetting> settings; ///< best forecast time first, ties by text
    std::vector<RefusedStrategy> refused;
};

/// Ranks all candidates of all strategies, or of those named, and keeps the `top` first settings. Plans on
/// all cores; deterministic to the byte. Throws UsageError for a name that is no strategy.
Ranking rank(const ConvShape &shape, const GpuProfile &profile, const Knowledge &knowledge,
             const std::vector<std::string> &strategies = {},
             std::size_t top = std::numeric_limits<std::size_t>::max(),
             TensorCores order = TensorCores::behind);

} // namespace convcast
