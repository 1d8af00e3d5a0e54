// Fits the calibration's four numbers to measured times.
#pragma once

#include "model/calibration.hpp"
#include "model/forecast.hpp"

#include <string>
#include <vector>

namespace convcast {

struct MeasuredCall {
    Plan plan; ///< with the facts of its kernels
    ConvShape shape;
    Seconds time_s;
    std::string strategy; ///< its name, without knobs
    bool training = true; ///< of the part that may be fitted
};

/// Minimises the mean |log(forecast / measured)| over the training calls by coordinate search from the
/// assumed values, then takes the percentiles of what is left, and fits to shapes drawn again. Deterministic.
/// Throws UsageError without calls, or with a profile that lacks what a forecast needs.
Calibration fit_calibration(const std::vector<MeasuredCall> &calls, const GpuProfile &profile);

/// Mean of |forecast / measured - 1| of such calls. Throws UsageError without calls.
double mean_error(const std::vector<MeasuredCall> &calls, const GpuProfile &profile,
                  const Calibration &calibration);

/// How the time model does on a strategy that its numbers were fitted without: mean of |forecast / measured -
/// 1| and geometric mean of forecast / measured, over the strategy's calls outside the training part.
struct LeftOut {
    std::string strategy;
    std::int64_t training = 0, test = 0; ///< calls of it: left out, judged
    double zero_fit = 0.0;               ///< mean error with the assumed numbers
    double fitted = 0.0;                 ///< with those fitted to all strategies
    double left_out = 0.0;               ///< with those fitted to the others
    double left_out_bias = 0.0;
    Calibration calibration; ///< fitted to the others
    BOOST_DESCRIBE_CLASS(LeftOut, (),
                         (strategy, training, test, zero_fit, fitted, left_out, left_out_bias, calibration),
                         (), ())
};

/// One of each strategy that has calls to be judged, in the order in which they first appear; then "all",
/// every call judged by the fit without its own strategy. Throws as fit_calibration does.
std::vector<LeftOut> leave_one_out(const std::vector<MeasuredCall> &calls, const GpuProfile &profile);

} // namespace convcast
