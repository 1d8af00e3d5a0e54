// The forecast: from a plan and a profile to a time, a regime and the reasons. Equations: docs/model.md.
#pragma once

#include "model/knowledge.hpp"
#include "model/strategies.hpp"
#include "model/term.hpp"

#include <limits>

namespace convcast {

/// The case of one strategy for one shape: ok with its prediction and the canonical strategy text, or
/// infeasible or unsupported with the reason. Deterministic to the byte. Without `knowledge` the forecast is
/// the one without counters. With `given`, the counters of a call, the time is that of the work counted
/// instead of the work forecast: what remains of its error is the time model's own.
Case predict(const Strategy &strategy, const ConvShape &shape, const GpuProfile &profile,
             const Knowledge &knowledge = {}, const Work *given = nullptr);

/// The plan with its work scaled, so that the totals of all its launches are those counted.
Plan with_work(Plan plan, const Work &counted);

/// The case of a baseline (others' code): only the speed-of-light bound, labelled so.
Case predict_baseline(const std::string &baseline, const ConvShape &shape, const GpuProfile &profile);

/// The launch that a plan's regimes and summary speak of: the one with the most FMAs.
const Partition &main_launch(const Plan &plan);

/// Tier 0: launch floor + max(FMAs / measured peak, compulsory bytes through the bytes-in-flight curve),
/// where a transforming algorithm has `fmas` of its own (Plan::transformed_fmas), and what does not compute
/// on the SM's cores has none. Absent where the profile lacks a number for it.
std::optional<Term> speed_of_light(const ConvShape &shape, const GpuProfile &profile,
                                   std::optional<double> fmas = std::nullopt);

/// Tier 2 of a plan; absent where the profile lacks a number for it (`missing_for_forecast` names it).
std::optional<Term> forecast_term(const Plan &plan, const ConvShape &shape, const GpuProfile &profile,
                                  const Calibration &calibration = {});
/// Its value alone, to the last bit the same, without building a tree: for what compares many plans.
std::optional<Seconds> forecast_time(const Plan &plan, const ConvShape &shape, const GpuProfile &profile,
                                     const Calibration &calibration = {});

/// How long a CTA of a launch stays on its SM, by how many share the SM: the first entry is of one alone, the
/// last of Partition::ctas_per_sm.
struct CtaStay {
    std::int64_t sms = 0;       ///< that the launch's CTAs can use at once
    std::vector<Seconds> first; ///< it starts with the launch, when all ask for data at once
    std::vector<Seconds> later; ///< it takes the place of one that left, while others compute
    Seconds idle;               ///< one that finds no work
    Seconds before_s;           ///< what the launch waits for besides: a copy of filters to constant memory
};

/// What a simulation of a call needs: the leaves around its launches, and of each launch, prepared ones
/// first, its CTAs' stays. Absent where the profile lacks a number.
struct CallTimes {
    Seconds launch_s, gap_s;
    std::vector<CtaStay> stays;
};
std::optional<CallTimes> call_times(const Plan &plan, const ConvShape &shape, const GpuProfile &profile,
                                    const Calibration &calibration);

/// The numbers that a profile lacks, with the profile's reasons; empty if it lacks none.
std::string missing_for_forecast(const GpuProfile &profile);
std::string missing_for_forecast(const GpuProfile &profile, const Plan &plan);
/// A sentence on a profile that lacks `missing`: why there is no time, and what finds the numbers of this
/// GPU.
std::string no_time(const GpuProfile &profile, const std::string &missing);

/// Section 2.2's rule: enough FMAs a round, else enough bytes in flight, else neither.
Regime regime_by_rule(double fmas, double n_fma, double bytes, double v_s_bytes);

/// All strategies (or those named) with all knob candidates, best predicted time first; ties by text.
/// Of the ranking only the `top` first are given. Infeasible settings are left out; strategies of which
/// nothing is feasible come last, once each, with their reason. Plans on all cores; deterministic to the
/// byte.
std::vector<Case> choose(const ConvShape &shape, const GpuProfile &profile, const Knowledge &knowledge,
                         const std::vector<std::string> &strategies = {},
                         std::size_t top = std::numeric_limits<std::size_t>::max());

/// The papers' names for a regime measured on the chip: thresholds of docs/model.md, "Regimes".
inline constexpr double busy_fma_share = 0.60;    ///< FMA pipe or issue slots, of their peak
inline constexpr double busy_memory_share = 0.70; ///< DRAM or L2, of its measured ceiling
Regime measured_regime(double fma_share, double issue_share, double dram_share, double l2_share);

} // namespace convcast
