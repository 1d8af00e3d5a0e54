// E1: a call simulated event by event. CTAs go to the SMs in the grid's order, the resident CTAs of an SM
// share it, and the next CTA takes the slot of one that has ended. With all CTAs in lockstep it is the closed
// form.
#pragma once

#include "model/machine/calibration.hpp"
#include "model/machine/profile.hpp"
#include "model/plan/plan.hpp"
#include "model/shape/conv_shape.hpp"
#include "model/time/timeline.hpp"

#include <optional>
#include <vector>

namespace convcast {

struct Simulation {
    Seconds time_s;             ///< of the call, as a stop-watch sees it: launch floor and gaps included
    std::vector<CtaSpan> spans; ///< of every CTA; time 0 is the call's start
};

/// E1: simulates a call of `plan`. Absent if the profile lacks a number (`missing_for_forecast` names it).
/// Deterministic to the bit. If `keep_spans` is false, spans are empty, and of a launch with many waves most
/// waves in the middle are not simulated CTA by CTA: each takes as long as a wave of the steady state.
std::optional<Simulation> simulate(const Plan &plan, const ConvShape &shape, const GpuProfile &profile,
                                   const Calibration &calibration, bool keep_spans = true);

/// The forecast of a plan as a timeline, prepared part included. Absent if the profile lacks a number for its
/// time (`missing_for_forecast` names it). Deterministic to the byte.
std::optional<Timeline> forecast_timeline(const Plan &plan, const ConvShape &shape, const GpuProfile &profile,
                                          const Calibration &calibration);

} // namespace convcast
