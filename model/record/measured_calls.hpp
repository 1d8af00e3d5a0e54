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

/// The ok cases of our own strategies that were measured with a cold L2 and that `profile` has the numbers to
/// forecast. Each is planned and compiled as a forecast with `facts` plans it.
std::vector<MeasuredCall> measured_calls(const Run &run, const GpuProfile &profile, const Facts &facts,
                                         WhichCalls which);

/// The ok FP32 cases of our own strategies that were measured with a cold L2 and counted: what facts are
/// derived from.
std::vector<CountedCall> counted_calls(const Run &run, const GpuProfile &profile, WhichCalls which);

} // namespace convcast
