// A calibration for a GPU of which few layers were measured, and intervals that hold for layers that were
// not.
#pragma once

#include "model/fit/fit.hpp"
#include "model/machine/calibration.hpp"
#include "model/machine/profile.hpp"

#include <cstddef>
#include <vector>

namespace convcast {

/// Fewer calls have no 5th and 95th percentile.
inline constexpr std::size_t least_adapted_calls = 20;

/// The four numbers of `base`, with a scale (F34) and an interval whose width depends on the call (I4) fitted
/// to all `calls`. Each layer in turn is left out and forecast by a fit to the others: what is then missed
/// gives the interval (cross-conformal prediction with scaled residuals) and Calibration::test, the error to
/// expect of a layer that was not measured. Without the hash of the facts. Throws UsageError for fewer than
/// `least_adapted_calls` calls, or calls of one layer, or with a profile that lacks what a forecast needs.
Calibration adapted(const Calibration &base, const std::vector<MeasuredCall> &calls,
                    const GpuProfile &profile);

/// Gives the calibration an interval whose width depends on the call (I4), fitted to all `calls` in the same
/// way; its forecasts stay. Throws like `adapted`.
void fit_interval(Calibration &calibration, const std::vector<MeasuredCall> &calls,
                  const GpuProfile &profile);

} // namespace convcast
