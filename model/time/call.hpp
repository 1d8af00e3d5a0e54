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

/// What L2 has when a call begins (F35), and whether the SMs have its code (N12). Default: a cold call, whose
/// output L2 keeps as far as it can.
struct HeldByL2 {
    double input = 0.0, filters = 0.0; ///< share of the bytes of each tensor that L2 has, 0 to 1
    /// Share of the output's bytes that L2 passes on to DRAM, during the call or later because of it.
    double output_lost = 0.0;
    /// How often another kernel ran just before, so that the code is not cached, 0 to 1. Present only for a
    /// launch without loops that starts early (N12); absent: F15 holds.
    std::optional<double> new_code = std::nullopt;
};

/// Tier 0, S1: launch floor + max(FMAs / measured peak, compulsory bytes through the bytes-in-flight curve).
/// The FMAs are those of the convolution's definition unless `fmas` is given: an algorithm that transforms
/// has its own (Plan::transformed_fmas), and 0 leaves the bound of code on tensor cores to its traffic.
/// Absent if the profile lacks a number for it (`missing_for_forecast` names it).
std::optional<Term> speed_of_light(const ConvShape &shape, const GpuProfile &profile,
                                   std::optional<double> fmas = std::nullopt, HeldByL2 held = {});

/// Our forecast (tier 2) of a plan's call, not held to the bound. A default calibration has the numbers
/// assumed without a fit. Absent if the profile lacks a number (`missing_for_forecast` names it).
std::optional<Term> forecast_term(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                  const Calibration &calibration = {});
/// The value of that tree, the same to the last bit, without building it: for what compares many plans.
std::optional<Seconds> forecast_time(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                     const Calibration &calibration = {});

/// How long a CTA of a launch stays on its SM, by how many CTAs share the SM: entry i of a list is the time
/// of i + 1 CTAs, up to Partition::ctas_per_sm.
struct CtaStay {
    std::int64_t sms = 0;       ///< SMs that the launch's CTAs can use at once (F9)
    std::vector<Seconds> first; ///< of a CTA that starts with the launch, when all request data at once
    std::vector<Seconds> later; ///< of a CTA that takes the slot of one that ended, while others compute
    Seconds idle;               ///< of a CTA that finds no work, however many share the SM
    Seconds before_s;           ///< time before the first CTA: a copy of filters to constant memory
};

/// What a simulation of a call needs.
struct CallTimes {
    Seconds launch_s;           ///< from the start of the call to its first CTA (F1)
    Seconds gap_s;              ///< from a launch's end to the start of the next
    std::vector<CtaStay> stays; ///< of each launch, in the order of each_launch
};
/// Absent if the profile lacks a number (`missing_for_forecast` names it).
std::optional<CallTimes> call_times(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                    const Calibration &calibration);

/// The numbers that a profile lacks for any forecast of a time, or for that of `plan`: their names, each with
/// the reason that the profile gives, in one text for a message. Empty if it lacks none.
std::string missing_for_forecast(const GpuProfile &profile);
std::string missing_for_forecast(const GpuProfile &profile, const Plan &plan);
/// The message where a profile lacks `missing`, which missing_for_forecast gave: that there is no time, and
/// which command or option supplies the numbers.
std::string no_time(const GpuProfile &profile, const std::string &missing);

/// What the time model assumes where the profile has no number, a sentence each, with the number assumed.
std::vector<std::string> assumed_numbers(const Plan &plan, const Gpu &gpu);

/// What L2 has for a call that is made again and again: what the call before it left there (F35).
HeldByL2 held_for_repeats(const Plan &plan, const ConvShape &shape, const Gpu &gpu);

/// The times of a cold call by all that forecasts one.
struct CallForecast {
    Term term;          ///< of our forecast, fitted if there is a calibration; no less than the bound
    Seconds bound_s;    ///< speed of light
    Seconds unfitted_s; ///< our forecast with the numbers that are assumed without a fit
    std::optional<Seconds> fitted_s;  ///< our forecast with a calibration; absent without one
    Seconds roofline_s;               ///< by B1, a model of others (model/time/other_models.hpp)
    std::optional<Seconds> mwp_cwp_s; ///< by B2; absent if the profile lacks a number for it
    Seconds low_s, high_s; ///< with a calibration the 90 % interval (I1, I4), else bound and no overlap (I2)
};

/// The forecast of a plan's call; `fitted` is the calibration, if there is one. Absent if the profile lacks a
/// number for it (`missing_for_forecast` names it).
std::optional<CallForecast> forecast_call(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                          const std::optional<Calibration> &fitted);

/// The time of that forecast alone, of a call that finds `held`; the same to the last bit if that is cold.
std::optional<Seconds> forecast_call_time(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                          const std::optional<Calibration> &fitted, HeldByL2 held = {});

} // namespace convcast
