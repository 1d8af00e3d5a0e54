// The calls of a run that a fit learns from or is judged by.
#pragma once

#include "model/fit/facts_of_counters.hpp"
#include "model/fit/fit.hpp"
#include "model/machine/facts.hpp"
#include "model/machine/profile.hpp"
#include "model/record/run.hpp"

#include <vector>

namespace convcast {

enum class WhichCalls { all, training };

/// The ok cases of our own strategies that were measured cold and that `profile` can forecast, with `facts`
/// for their kernels.
std::vector<MeasuredCall> measured_calls(const Run &run, const GpuProfile &profile, const Facts &facts,
                                         WhichCalls which);

/// The ok FP32 cases of our own strategies that were measured cold with counters, which facts are derived
/// from.
std::vector<CountedCall> counted_calls(const Run &run, const GpuProfile &profile, WhichCalls which);

} // namespace convcast
