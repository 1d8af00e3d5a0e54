// A calibration for a GPU of which few layers were measured, and intervals that hold for layers which were
// not measured. A layer is a shape; its calls are several strategies' or settings'.
#pragma once

#include "model/fit/fit.hpp"
#include "model/machine/calibration.hpp"
#include "model/machine/profile.hpp"

#include <cstddef>
#include <vector>

namespace convcast {

/// Of fewer calls the smallest and the largest are no 5th and 95th percentile.
inline constexpr std::size_t least_adapted_calls = 20;

/// The four numbers of `base`, with a scale (F34) and an interval whose width depends on the call (I4) fitted
/// to all `calls`. Each layer in turn is left out and forecast by a fit to the others: what is then missed
/// gives the interval (cross-conformal prediction with scaled residuals) and Calibration::test, the error to
/// expect of a layer that was not measured. The caller sets Calibration::facts_hash. Throws UsageError for
/// fewer than `least_adapted_calls` calls or two layers, or if the profile lacks a number.
Calibration adapted(const Calibration &base, const std::vector<MeasuredCall> &calls,
                    const GpuProfile &profile);

/// Sets the spread and the percentiles of a calibration, so that its interval depends on the call (I4), by
/// the fit of `adapted` without the scale: its forecasts stay. Throws as `adapted` does.
void fit_interval(Calibration &calibration, const std::vector<MeasuredCall> &calls,
                  const GpuProfile &profile);

} // namespace convcast
