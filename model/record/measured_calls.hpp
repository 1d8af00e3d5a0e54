// The calls of a run that a fit learns from or is judged by.
#pragma once

#include "model/fit/facts_of_counters.hpp"
#include "model/fit/fit.hpp"
#include "model/machine/facts.hpp"
#include "model/machine/profile.hpp"
#include "model/record/run.hpp"

#include <vector>

namespace convcast {

enum class WhichCalls { all, training }; ///< training: of the shapes of the training part (docs/notation.md)

/// The ok cases of our own strategies that were measured with a cold L2, without those for which `profile`
/// lacks numbers to forecast. Each is planned and given its compiled counts as in a forecast with `facts`.
std::vector<MeasuredCall> measured_calls(const Run &run, const GpuProfile &profile, const Facts &facts,
                                         WhichCalls which);

/// The ok FP32 cases of our own strategies that were measured with a cold L2 and counted, to derive facts.
std::vector<CountedCall> counted_calls(const Run &run, const GpuProfile &profile, WhichCalls which);

} // namespace convcast
