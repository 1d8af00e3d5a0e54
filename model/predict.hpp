// The forecast of a shape on one page: plan, counts, time, regime. Equations: docs/equations.md.
#pragma once

#include "model/choose/ranking.hpp"
#include "model/record/run.hpp"
#include "model/time/call.hpp"

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace convcast {

/// The case of one strategy for one shape: ok with its prediction and the canonical strategy text, or
/// infeasible or unsupported with the reason. Deterministic to the byte. Without `knowledge` the forecast is
/// the one without counters. With `given`, the counters of a call, the time is that of the work counted
/// instead of the work forecast: what remains of its error is the time model's own.
Case predict(const Strategy &strategy, const ConvShape &shape, const GpuProfile &profile,
             const Knowledge &knowledge = {}, const Work *given = nullptr);

/// The same of a plan that a ranking made (model/choose/ranking.hpp).
Case forecast_planned(PlannedStrategy planned, const ConvShape &shape, const Gpu &gpu,
                      const Knowledge &knowledge, const Work *given = nullptr);

/// The same of a strategy that cannot do the shape.
Case refused_case(const Strategy &strategy, const ConvShape &shape, const GpuProfile &profile,
                  Infeasible why);

/// The case of a baseline (others' code): only the speed-of-light bound, labelled so.
Case predict_baseline(const std::string &baseline, const ConvShape &shape, const GpuProfile &profile);

/// What is assumed of a forecast from the work that a kernel's launch file declares.
inline constexpr const char *declared_work_assumption = "work declared by its author, not checked";

/// The case of a kernel of the user's own: its forecast from the work declared or, with `counted`, from the
/// counters of a call; without either the bound of a baseline. It has no plan, as no strategy of ours makes
/// one.
Case predict_own(const OwnKernel &kernel, const ConvShape &shape, const GpuProfile &profile,
                 const Knowledge &knowledge, const Work *counted = nullptr);

/// The cases of a ranking (model/choose/ranking.hpp): settings in its order, then the strategies of which
/// nothing is feasible, with their reason.
std::vector<Case> choose(const ConvShape &shape, const GpuProfile &profile, const Knowledge &knowledge,
                         const std::vector<std::string> &strategies = {},
                         std::size_t top = std::numeric_limits<std::size_t>::max(),
                         TensorCores order = TensorCores::behind);

} // namespace convcast
