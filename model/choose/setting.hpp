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

/// The time that a setting without open knobs is compared by; 0 where the profile lacks a number for it,
/// absent where the setting cannot run.
std::optional<double> compared_by(const Strategy &setting, const ConvShape &shape, const Gpu &gpu,
                                  const Facts &facts);

/// Of settings by their times, at least one, the first with the shortest; the first of all where none can
/// run.
std::size_t best_setting(const std::vector<std::optional<double>> &times);

/// The plan of a strategy for a shape, as the strategy counts it. Where knobs are left open, its settings are
/// compared by their forecasts with `facts`. Infeasible, with the reason, if no setting can run.
PlanResult plan(const Strategy &strategy, const ConvShape &shape, const Gpu &gpu, const Facts &facts = {});

/// A plan as it is forecast: with the facts of its kernels if the shape is of FP32, which is what was
/// counted; of other types as it stands.
Plan as_forecast(Plan plan, const ConvShape &shape, const Gpu &gpu, const Facts &facts);

/// The plan of a setting without open knobs, as it is forecast.
PlanResult compiled_setting(const Strategy &setting, const ConvShape &shape, const Gpu &gpu,
                            const Facts &facts);

/// The same plan as plan() gives, as it is forecast.
PlanResult compiled_plan(const Strategy &strategy, const ConvShape &shape, const Gpu &gpu,
                         const Facts &facts);

} // namespace convcast
