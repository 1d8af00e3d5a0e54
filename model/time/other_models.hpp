// Forecasts by published models of others, beside ours in the tables of accuracy.
#pragma once

#include "model/base/units.hpp"
#include "model/machine/machine.hpp"
#include "model/machine/profile.hpp"
#include "model/plan/plan.hpp"

#include <optional>

namespace convcast {

/// B2. S. Hong, H. Kim: An Analytical Model for a GPU Architecture with Memory-level and Thread-level
/// Parallelism Awareness (ISCA 2009), its equations (5) to (26), on the instructions and loads of our plans.
/// Caches, which it does not know, as in its successor (J. Sim et al., PPoPP 2012): the mean latency, and the
/// bandwidth of DRAM for what misses L2. A launch floor each; launches one after another. Absent where the
/// profile lacks a number for it.
std::optional<Seconds> mwp_cwp_time(const Plan &plan, const GpuProfile &profile);

/// B1: a wave-quantised roofline (NeuSight's tile model without its learned utilisation): the CTAs run in
/// whole waves, each at the peak of its FMAs or of its bytes, whichever takes longer.
Seconds wave_roofline_time(const Plan &plan, const Machine &m);

} // namespace convcast
