// The plan of a strategy: where it leaves knobs to the model, that of its setting with the shortest forecast,
// with the facts of its kernels and the four numbers as assumed, so that it does not depend on a calibration.
#pragma once

#include "model/machine/architecture.hpp"
#include "model/machine/facts.hpp"
#include "model/strategies/list.hpp"

#include <variant>

namespace convcast {

/// The plan is as the strategy counts it; `facts` are what its settings are compared by.
std::variant<PlannedStrategy, Infeasible> plan(const Strategy &strategy, const ConvShape &shape,
                                               const Gpu &gpu, const Facts &facts = {});

/// And as it is forecast: with what its kernels were counted to do.
std::variant<PlannedStrategy, Infeasible> compiled_plan(const Strategy &strategy, const ConvShape &shape,
                                                        const Gpu &gpu, const Facts &facts);

} // namespace convcast
