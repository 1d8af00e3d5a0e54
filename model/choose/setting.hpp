// The plan of a strategy: where it leaves knobs to the model, that of its setting with the shortest forecast,
// with the facts of its kernels and the four numbers as assumed, so that it does not depend on a calibration.
#pragma once

#include "model/machine/architecture.hpp"
#include "model/machine/facts.hpp"
#include "model/strategies/list.hpp"

#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

namespace convcast {

/// Seconds by which a setting without open knobs is compared with others of its strategy: forecast with
/// facts, without a calibration, and by the vendor's rate of tensor cores if none was measured. 0 if the
/// profile lacks another number, so that the first setting wins; absent if the setting cannot run.
std::optional<double> compared_by(const Strategy &setting, const ConvShape &shape, const Gpu &gpu,
                                  const Facts &facts);

/// Index of the shortest of `times`, the first of equal ones; 0 if none is present, as no setting can run.
std::size_t best_setting(const std::vector<std::optional<double>> &times);

/// The plan of a strategy, with the strategy's own counts (no facts applied). If knobs are open, settings are
/// compared by their forecasts with `facts`. Infeasible, with the reason, if no setting can run.
PlanResult plan(const Strategy &strategy, const ConvShape &shape, const Gpu &gpu, const Facts &facts = {});

/// The plan with the facts of its kernels. They are of FP32: plans of other element types stay as they are.
Plan as_forecast(Plan plan, const ConvShape &shape, const Gpu &gpu, const Facts &facts);

/// The plan of a setting without open knobs, with the facts of its kernels (as_forecast).
PlanResult compiled_setting(const Strategy &setting, const ConvShape &shape, const Gpu &gpu,
                            const Facts &facts);

/// The plan that plan() gives, with the facts of its kernels (as_forecast).
PlanResult compiled_plan(const Strategy &strategy, const ConvShape &shape, const Gpu &gpu,
                         const Facts &facts);

} // namespace convcast
