// Fits the calibration's four numbers to measured times, and judges the forecast by how much of a kernel it
// knew: nothing, its counters, its times.
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

/// Minimises the mean |log(forecast / measured)| over the training calls by coordinate search from the
/// assumed values, then takes the percentiles of what is left, and fits to shapes drawn again. Deterministic.
/// Throws UsageError without calls, or with a profile that lacks what a forecast needs.
Calibration fit_calibration(const std::vector<MeasuredCall> &calls, const GpuProfile &profile);

/// The fit alone, of a forecast that leaves equations out: without the fits to shapes drawn again.
Calibration fit_without(const Omitted &omitted, const std::vector<MeasuredCall> &calls,
                        const GpuProfile &profile);

/// Mean of |forecast / measured - 1| over `calls`. `known` says which of a call's plans is forecast: `plan`,
/// with facts, or `uncounted`, without. Throws UsageError without calls.
double mean_error(const std::vector<MeasuredCall> &calls, const GpuProfile &profile,
                  const Calibration &calibration, Plan MeasuredCall::*known = &MeasuredCall::plan);

/// Regret: the measured time of the call that is forecast to be fastest among a shape's, over the least
/// measured, minus 1; the mean over shapes. Shapes with a single call do not count. Throws as mean_error
/// does.
double mean_regret(const std::vector<MeasuredCall> &calls, const GpuProfile &profile,
                   const Calibration &calibration);

/// Forecast over measured time of a call outside the training part, by what the forecast knew of its kernel.
struct JudgedCall {
    const MeasuredCall *call = nullptr;
    double without_counters =
        0.0; ///< no facts; the four numbers as assumed: probes and the program's constants
    double probes_and_counters = 0.0; ///< with facts; the four numbers as assumed: nothing fitted to times
    double fitted = 0.0;              ///< with facts; the numbers fitted to all strategies
    double left_out = 0.0;            ///< with facts; the numbers fitted to the other strategies
    double new_kernel = 0.0; ///< the same with the median pace of other kernels: as of a kernel that facts
                             ///< and fit have not met
};

/// One strategy's judged calls. Errors are means of |forecast / measured - 1|, biases geometric means of
/// forecast / measured.
struct LeftOut {
    std::string strategy;
    std::int64_t training = 0, test = 0; ///< calls of it: left out, judged
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

/// Points into `calls`, which were planned with `facts`. Throws as fit_calibration does, and where a
/// strategy's calls are all of the training part, or nothing lies outside of it.
LeaveOneOut leave_one_out(const std::vector<MeasuredCall> &calls, const GpuProfile &profile,
                          const Facts &facts);

} // namespace convcast
