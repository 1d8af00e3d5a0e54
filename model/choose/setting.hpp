// The plan of a strategy: where it leaves knobs to the model, that of its setting with the shortest forecast,
// with the facts of its kernels and the four numbers as assumed, so that it does not depend on a calibration.
#pragma once

#include "model/machine/architecture.hpp"
#include "model/machine/facts.hpp"
#include "model/strategies/list.hpp"

#include <cstddef>
#include <functional>
#include <variant>
#include <vector>

namespace convcast {

/// A setting that leaves no knob to the model, planned as it is forecast.
struct PlannedSetting {
    std::variant<PlannedStrategy, Infeasible> planned;
    double time_s = 0.0; ///< that it is compared by; 0 where it is not compared or the profile lacks a number
};

/// `compared`: with the time that other settings of its strategy are held against.
PlannedSetting planned_setting(const Strategy &setting, const ConvShape &shape, const Gpu &gpu,
                               const Facts &facts, bool compared);

/// Of `count` settings, at least one, the first that can run in the shortest time; the first of all where
/// none can run.
std::size_t best_setting(std::size_t count, const std::function<const PlannedSetting &(std::size_t)> &at);

/// The plan of a strategy for a shape, as the strategy counts it. Where knobs are left open, its settings are
/// compared by their forecasts with `facts`. Infeasible, with the reason, if no setting can run.
PlanResult plan(const Strategy &strategy, const ConvShape &shape, const Gpu &gpu, const Facts &facts = {});

/// A plan as it is forecast: with the facts of its kernels if the shape is of FP32, which is what was
/// counted; of other types as it stands.
Plan as_forecast(Plan plan, const ConvShape &shape, const Gpu &gpu, const Facts &facts);

/// The same plan as plan() gives, as it is forecast.
PlanResult compiled_plan(const Strategy &strategy, const ConvShape &shape, const Gpu &gpu,
                         const Facts &facts);

} // namespace convcast
