// Makes the case of a shape and a strategy: its plan, counts, time and regime. Equations: docs/equations.md.
#pragma once

#include "model/choose/ranking.hpp"
#include "model/record/run.hpp"
#include "model/time/call.hpp"

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace convcast {

/// The case of one strategy for one shape: ok with its prediction and the strategy's text with every knob, or
/// infeasible or unsupported with the reason. Deterministic to the byte. With the default `knowledge` the
/// forecast uses neither counters nor a fit. With `given`, the work that was counted of a call, the time is
/// forecast from it and has only the time model's own error.
Case predict(const Strategy &strategy, const ConvShape &shape, const GpuProfile &profile,
             const Knowledge &knowledge = {}, const Work *given = nullptr);

/// The same for a plan that was made already, with the facts of its kernels (model/choose/setting.hpp).
Case forecast_planned(PlannedStrategy planned, const ConvShape &shape, const Gpu &gpu,
                      const Knowledge &knowledge, const Work *given = nullptr);

/// The case of a strategy that cannot do the shape, for the reason `why`.
Case refused_case(const Strategy &strategy, const ConvShape &shape, const GpuProfile &profile,
                  Infeasible why);

/// The case of a baseline (others' code): no forecast, only the speed of light as a bound.
Case predict_baseline(const std::string &baseline, const ConvShape &shape, const GpuProfile &profile);

/// The assumption that a forecast has which is made from the work that a kernel's launch file declares.
inline constexpr const char *declared_work_assumption = "work declared by its author, not checked";

/// The case of a kernel of the user's own: forecast from the work that a call was counted to do or, if
/// `counted` is nullptr, from the work that its launch file declares; without either it has the bound alone.
/// It has no plan, as no strategy of ours makes one. Failed if an expression of the launch file is none.
Case predict_own(const OwnKernel &kernel, const ConvShape &shape, const GpuProfile &profile,
                 const Knowledge &knowledge, const Work *counted = nullptr);

/// The cases of a ranking, whose arguments are those of `rank` (model/choose/ranking.hpp): settings in its
/// order, then the strategies of which no setting can run, with the reason.
std::vector<Case> choose(const ConvShape &shape, const GpuProfile &profile, const Knowledge &knowledge,
                         const std::vector<std::string> &strategies = {},
                         std::size_t top = std::numeric_limits<std::size_t>::max(),
                         TensorCores order = TensorCores::behind);

} // namespace convcast
