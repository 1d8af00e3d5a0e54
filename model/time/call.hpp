// The time of a call: of its launches one after another, bounded by the speed of light, with its interval.
// Equations: docs/equations.md.
#pragma once

#include "model/machine/architecture.hpp"
#include "model/machine/calibration.hpp"
#include "model/plan/plan.hpp"
#include "model/shape/conv_shape.hpp"
#include "model/time/term.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// What a call finds when it begins: of its tensors in L2, as shares of their bytes (F35), and of its code
/// (N12). Default: a cold call, in an L2 that owes DRAM nothing.
struct HeldByL2 {
    double input = 0.0, filters = 0.0;
    double output_lost = 0.0; ///< of the output, what L2 gives to DRAM, in the call or for it
    /// Of a launch without loops that starts early: how often another kernel ran just before it, 0 to 1.
    std::optional<double> new_code = std::nullopt;
};

/// Tier 0, S1: launch floor + max(FMAs / measured peak, compulsory bytes through the bytes-in-flight curve).
/// The FMAs are those of the convolution's definition unless `fmas` is given: an algorithm that transforms
/// has its own (Plan::transformed_fmas), and code that multiplies on tensor cores has 0. Absent if the
/// profile lacks a number for it (`missing_for_forecast` names it).
std::optional<Term> speed_of_light(const ConvShape &shape, const GpuProfile &profile,
                                   std::optional<double> fmas = std::nullopt, HeldByL2 held = {});

/// Tier 2 of a plan; absent where the profile lacks a number for it (`missing_for_forecast` names it).
std::optional<Term> forecast_term(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                  const Calibration &calibration = {});
/// The value of that tree, the same to the last bit, without building it: for what compares many plans.
std::optional<Seconds> forecast_time(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                     const Calibration &calibration = {});

/// How long a CTA of a launch stays on its SM, by how many CTAs share the SM: entry i of a list is the time
/// of i + 1 CTAs, up to Partition::ctas_per_sm.
struct CtaStay {
    std::int64_t sms = 0;       ///< that the launch's CTAs can use at once (F9)
    std::vector<Seconds> first; ///< of a CTA that starts with the launch, when all request data at once
    std::vector<Seconds> later; ///< of a CTA that takes the slot of one that ended, while others compute
    Seconds idle;               ///< of a CTA that finds no work
    Seconds before_s;           ///< before the first CTA: a copy of filters to constant memory
};

/// What a simulation of a call needs.
struct CallTimes {
    Seconds launch_s, gap_s;    ///< of the first launch (F1); from a launch's end to the start of the next
    std::vector<CtaStay> stays; ///< of each launch, prepared ones first
};
/// Absent if the profile lacks a number (`missing_for_forecast` names it).
std::optional<CallTimes> call_times(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                    const Calibration &calibration);

/// The numbers that a profile lacks for any forecast of a time, or for that of `plan`: their names with the
/// profile's reasons. Empty if it lacks none.
std::string missing_for_forecast(const GpuProfile &profile);
std::string missing_for_forecast(const GpuProfile &profile, const Plan &plan);
/// A sentence on a profile that lacks `missing`: why there is no time, and what finds the numbers of this
/// GPU.
std::string no_time(const GpuProfile &profile, const std::string &missing);

/// What the time model assumes where the profile has no number, a sentence each, with the number assumed.
std::vector<std::string> assumed_numbers(const Plan &plan, const Gpu &gpu);

/// Of a call that is made again and again, and so finds in L2 what the call before it left there.
HeldByL2 held_for_repeats(const Plan &plan, const ConvShape &shape, const Gpu &gpu);

/// A call's forecast, by tiers.
struct CallForecast {
    Term term;          ///< of the best tier; its value is the time, no less than the bound
    Seconds bound_s;    ///< speed of light
    Seconds unfitted_s; ///< with the numbers that are assumed without a fit
    std::optional<Seconds> fitted_s;
    Seconds roofline_s; ///< by others' models (B1, B2; model/time/other_models.hpp)
    std::optional<Seconds> mwp_cwp_s;
    Seconds low_s, high_s; ///< with a calibration the 90 % interval (I1, I4), else bound and no overlap (I2)
};

/// The forecast of a plan's call; `fitted` is the calibration, if there is one. Absent if the profile lacks a
/// number for it (`missing_for_forecast` names it).
std::optional<CallForecast> forecast_call(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                          const std::optional<Calibration> &fitted);

/// The time of that forecast alone, the same to the last bit where L2 holds nothing and no new code is read.
std::optional<Seconds> forecast_call_time(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                          const std::optional<Calibration> &fitted, HeldByL2 held = {});

} // namespace convcast
