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

/// Tier 0, S1: launch floor + max(FMAs / measured peak, compulsory bytes through the bytes-in-flight curve),
/// where a transforming algorithm has `fmas` of its own (Plan::transformed_fmas), and what does not compute
/// on the SM's cores has none. Absent where the profile lacks a number for it.
std::optional<Term> speed_of_light(const ConvShape &shape, const GpuProfile &profile,
                                   std::optional<double> fmas = std::nullopt);

/// Tier 2 of a plan; absent where the profile lacks a number for it (`missing_for_forecast` names it).
std::optional<Term> forecast_term(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                  const Calibration &calibration = {});
/// Its value alone, to the last bit the same, without building a tree: for what compares many plans.
std::optional<Seconds> forecast_time(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
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
std::optional<CallTimes> call_times(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                    const Calibration &calibration);

/// The numbers that a profile lacks, with the profile's reasons; empty if it lacks none.
std::string missing_for_forecast(const GpuProfile &profile);
std::string missing_for_forecast(const GpuProfile &profile, const Plan &plan);
/// A sentence on a profile that lacks `missing`: why there is no time, and what finds the numbers of this
/// GPU.
std::string no_time(const GpuProfile &profile, const std::string &missing);

/// What a forecast with a time rests on besides: what the time model assumes where the profile has no number,
/// a sentence each.
std::vector<std::string> assumed_numbers(const Plan &plan, const GpuProfile &profile);

/// A call's forecast, by tiers.
struct CallForecast {
    Term term;          ///< of the best tier; its value is the time, no less than the bound
    Seconds bound_s;    ///< speed of light
    Seconds unfitted_s; ///< with the numbers that are assumed without a fit
    std::optional<Seconds> fitted_s;
    Seconds roofline_s; ///< by others' models (model/time/other_models.hpp)
    std::optional<Seconds> mwp_cwp_s;
    Seconds low_s, high_s; ///< of a calibration: 90 % interval; else bound and no overlap at all
};

/// Absent where the profile lacks a number for it.
std::optional<CallForecast> forecast_call(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                          const std::optional<Calibration> &fitted);

/// Its time alone, to the last bit the same.
std::optional<Seconds> forecast_call_time(const Plan &plan, const ConvShape &shape, const Gpu &gpu,
                                          const std::optional<Calibration> &fitted);

} // namespace convcast
