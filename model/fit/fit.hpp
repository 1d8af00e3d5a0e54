// Fits the calibration's four numbers to measured times, and judges forecasts by what they knew of a kernel:
// nothing, its counters, its times.
#pragma once

#include "model/base/describe.hpp"
#include "model/base/units.hpp"
#include "model/machine/calibration.hpp"
#include "model/machine/facts.hpp"
#include "model/machine/profile.hpp"
#include "model/plan/plan.hpp"
#include "model/shape/conv_shape.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace convcast {

/// A recorded call with its plan.
struct MeasuredCall {
    Plan uncounted; ///< as the strategy counts it, without facts
    Plan plan;      ///< with the facts of its kernels
    ConvShape shape;
    Seconds time_s;
    std::string strategy;  ///< its name, without knobs
    bool training = true;  ///< of the part that may be fitted
    std::size_t index = 0; ///< of its case in the run
};

/// Fits the four numbers to the training calls: minimises the mean |ln(forecast / measured)| by coordinate
/// search from the assumed values. Then takes the percentiles of measured / forecast, and repeats the fit for
/// shapes drawn with replacement (Calibration::resampled). Deterministic. The caller sets facts_hash and
/// test. Throws UsageError if no call is in the training part, or if the profile lacks what a forecast needs.
Calibration fit_calibration(const std::vector<MeasuredCall> &calls, const GpuProfile &profile);

/// The same fit of a forecast that leaves the equations `omitted` out, without resampled fits.
Calibration fit_without(const Omitted &omitted, const std::vector<MeasuredCall> &calls,
                        const GpuProfile &profile);

/// Mean of |forecast / measured - 1| over `calls`. `known` says which of a call's plans is forecast: `plan`,
/// with facts, or `uncounted`, without. Throws UsageError without calls.
double mean_error(const std::vector<MeasuredCall> &calls, const GpuProfile &profile,
                  const Calibration &calibration, Plan MeasuredCall::*known = &MeasuredCall::plan);

/// Regret of a shape: the measured time of the call that is forecast to be its fastest, divided by the
/// shortest measured time of the shape, minus 1. Returns the mean over shapes that have two calls or more.
/// Throws UsageError if no shape has.
double mean_regret(const std::vector<MeasuredCall> &calls, const GpuProfile &profile,
                   const Calibration &calibration);

/// Forecast over measured time of a call outside the training part, by what the forecast knew of its kernel.
struct JudgedCall {
    const MeasuredCall *call = nullptr; ///< among the calls that were judged; not owned
    double without_counters = 0.0;      ///< no facts, the four numbers as assumed: only probes and constants
    double probes_and_counters = 0.0;   ///< with facts; the four numbers as assumed: nothing fitted to times
    double fitted = 0.0;                ///< with facts; the numbers fitted to all strategies
    double left_out = 0.0;              ///< with facts; the numbers fitted to the other strategies
    double new_kernel = 0.0; ///< the same with the median pace of other kernels in place of its own facts
};

/// How well the judged calls of one strategy are forecast. The numbers named as in JudgedCall are errors,
/// means of |forecast / measured - 1|; biases are geometric means of forecast / measured.
struct LeftOut {
    std::string strategy;                ///< its name, or "all"
    std::int64_t training = 0, test = 0; ///< its training calls, which a fit leaves out; its judged calls
    double without_counters = 0.0, probes_and_counters = 0.0, fitted = 0.0, left_out = 0.0, new_kernel = 0.0;
    double left_out_bias = 0.0, new_kernel_bias = 0.0;
    Calibration calibration; ///< fitted to the others
    CONVCAST_MEMBERS(LeftOut, strategy, training, test, without_counters, probes_and_counters, fitted,
                     left_out, new_kernel, left_out_bias, new_kernel_bias, calibration)
};

struct LeaveOneOut {
    std::vector<JudgedCall> calls;   ///< every call outside the training part
    std::vector<LeftOut> strategies; ///< in the order in which they first appear; then "all"
};

/// Judges every call outside the training part, each strategy by a fit to the training calls of the others.
/// `facts` are those that the calls were planned with. The result points into `calls`, which must outlive it.
/// Throws as fit_calibration does, and UsageError if no call is outside the training part, or all training
/// calls are of one strategy that is judged.
LeaveOneOut leave_one_out(const std::vector<MeasuredCall> &calls, const GpuProfile &profile,
                          const Facts &facts);

} // namespace convcast
