// Fits the calibration's four numbers to measured times.
#pragma once

#include "model/calibration.hpp"
#include "model/forecast.hpp"

#include <vector>

namespace convcast {

struct MeasuredCall {
    Plan plan; ///< with the facts of its kernels
    ConvShape shape;
    Seconds time_s;
};

/// Minimises the mean |log(forecast / measured)| over the calls by coordinate search from the assumed values,
/// then takes the percentiles of what is left. Deterministic. Throws UsageError without calls, or with a
/// profile that lacks what a forecast needs.
Calibration fit_calibration(const std::vector<MeasuredCall> &calls, const GpuProfile &profile);

} // namespace convcast
