// Regimes as a claim that is tested: each opinion of the forecast against what the counters say.
#pragma once

#include "model/base/describe.hpp"
#include "model/record/run.hpp"

#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// Cases that were measured as one regime and forecast as another, or the same.
struct RegimeCount {
    Regime measured = Regime::exposed, forecast = Regime::exposed;
    std::int64_t n = 0;
    CONVCAST_MEMBERS(RegimeCount, measured, forecast, n)
};

/// One opinion against the counters, over one strategy or all.
struct RegimeStatistics {
    std::string opinion; ///< "paper", "physical", "forecast"
    std::string group;   ///< a strategy, or "all"
    std::int64_t n = 0, agree = 0;
    Regime commonest = Regime::exposed; ///< measured most often; of equal ones the first
    std::int64_t commonest_n = 0;       ///< cases of it: what always saying it would agree with
    std::optional<double> kappa;        ///< Cohen's: agreement beyond chance; absent where chance leaves none
    std::optional<double> balanced;  ///< mean over the measured regimes of the share that was forecast right
    std::vector<RegimeCount> counts; ///< all nine, by measured, then forecast
    CONVCAST_MEMBERS(RegimeStatistics, opinion, group, n, agree, commonest, commonest_n, kappa, balanced,
                     counts)
};

/// Whose opinion it is, as tables and figures say it: "paper's rule", "physical rule" or "forecast".
std::string words_of_opinion(const RegimeStatistics &statistics);

/// What warps waited for where the counters say a regime: mean share of a reason in the warps that had an
/// instruction but did not issue it.
struct StallStatistics {
    Regime measured = Regime::exposed;
    std::string reason; ///< "long_scoreboard": the counter's
    std::int64_t n = 0; ///< cases of the regime
    double share = 0.0;
    CONVCAST_MEMBERS(StallStatistics, measured, reason, n, share)
};

/// Says what an agreement is worth: "kappa 0.763; always saying exposed agrees on 2273". The row has cases.
std::string worth_of(const RegimeStatistics &row);

struct RegimeTables {
    std::vector<RegimeStatistics>
        opinions;                        ///< of "all", then of strategies with `least_regime_cases` or more
    std::vector<StallStatistics> stalls; ///< of each regime, the largest first
    CONVCAST_MEMBERS(RegimeTables, opinions, stalls)
};

/// Cases that a strategy needs for rows of its own; chosen: of fewer, a kappa says little.
inline constexpr std::int64_t least_regime_cases = 30;

/// The reason in the name of a counter of stalled warps, "long_scoreboard"; "" for any other counter.
std::string stall_reason(const std::string &counter);

/// Sets the regimes that were forecast beside those that the counters of the cold measurement say, for the ok
/// cases of our own strategies. The tables are empty where nothing was counted.
RegimeTables regimes_of(const Run &run);

/// The row of an opinion over all strategies; nullptr where it said nothing.
const RegimeStatistics *over_all(const RegimeTables &tables, const std::string &opinion);

} // namespace convcast
