// What to take for a shape: its ranking, as far as it is shown, with whole forecasts.
#pragma once

#include "model/predict.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// The fastest setting of a strategy.
struct BestOf {
    std::string name;
    std::int64_t rank = 0;
    Seconds time;
    std::string setting;
    std::optional<Regime> regime; ///< where it is asked for
};

/// What of a ranking is forecast in full.
struct Extent {
    std::size_t top = 0;
    bool why = false;                ///< also the best of every further strategy, and margins
    std::vector<std::string> placed; ///< settings that are given a place
    bool tensor_cores = false;       ///< strategies on tensor cores are ranked too
    bool regimes = false;            ///< the regime of every strategy's best setting is asked for
};

struct Choice {
    std::vector<Case> ranked;        ///< in order
    std::vector<std::int64_t> ranks; ///< of each of them
    std::vector<Case> refused;       ///< strategies that do not do the shape
    std::vector<std::string> placed; ///< Extent::placed, with every knob
    std::int64_t settings = 0;       ///< that were ranked
    std::vector<BestOf> best;        ///< of every strategy, fastest first
    std::optional<BestOf> left_out;  ///< the fastest on tensor cores, where these are not ranked
};

/// Ranks `strategies`, or all. Deterministic to the byte; plans on all cores.
Choice choice_of(const ConvShape &shape, const GpuProfile &profile, const Knowledge &knowledge,
                 const std::vector<std::string> &strategies, const Extent &extent);

/// Whether the profile has the numbers for times: without them there is an order, but no ranks.
bool has_times(const Choice &choice);

} // namespace convcast
