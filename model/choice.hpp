// Which setting to take for a shape: all are ranked, and those that an answer shows forecast in full.
#pragma once

#include "model/predict.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// The setting of a strategy that is forecast to be its fastest.
struct BestOf {
    std::string name;             ///< of the strategy
    std::int64_t rank = 0;        ///< from 1; 0: it was not ranked
    Seconds time;                 ///< 0 if the profile lacks a number for it
    std::string setting;          ///< as text, with every knob
    std::optional<Regime> regime; ///< absent unless Extent::regimes asks for it
};

/// Which settings of a ranking are forecast in full.
struct Extent {
    std::size_t top = 0; ///< the first ones
    bool why = false;    ///< also the best of every further strategy, and all margins (model/choose/why.hpp)
    std::vector<std::string> placed; ///< also these settings, with or without open knobs
    bool tensor_cores = false;       ///< also rank strategies on tensor cores, if no strategies are named
    bool regimes = false;            ///< also find the regime of every strategy's best setting
};

struct Choice {
    std::vector<Case> ranked;        ///< settings that are forecast in full, fastest first
    std::vector<std::int64_t> ranks; ///< the rank of each of `ranked` among all settings, from 1
    std::vector<Case> refused;       ///< strategies of which no setting can do the shape, with the reason
    std::vector<std::string> placed; ///< Extent::placed, with every knob
    std::int64_t settings = 0;       ///< how many were ranked
    std::vector<BestOf> best;        ///< of every strategy, fastest first
    std::optional<BestOf> left_out;  ///< the fastest on tensor cores, if these are not ranked
};

/// Ranks settings of `strategies`; empty: of all. Deterministic to the byte; plans on all cores.
Choice choice_of(const ConvShape &shape, const GpuProfile &profile, const Knowledge &knowledge,
                 const std::vector<std::string> &strategies, const Extent &extent);

/// Whether settings have times. If the profile lacks numbers for them, order and ranks say nothing.
bool has_times(const Choice &choice);

} // namespace convcast
