// Forecasts by published models of others, beside ours in the tables of accuracy.
#pragma once

#include "model/base/units.hpp"
#include "model/machine/machine.hpp"
#include "model/machine/profile.hpp"
#include "model/plan/plan.hpp"

#include <optional>

namespace convcast {

/// B2, MWP-CWP: S. Hong, H. Kim: An Analytical Model for a GPU Architecture with Memory-level and
/// Thread-level Parallelism Awareness (ISCA 2009), its equations (5) to (26), on the instructions and loads
/// of our plans. The model knows no caches; as in its successor (J. Sim et al., PPoPP 2012) a load takes the
/// mean latency, and what misses L2 takes DRAM's bandwidth. Launches follow one another, each with a launch
/// floor. Absent if the profile lacks a number for it.
std::optional<Seconds> mwp_cwp_time(const Plan &plan, const GpuProfile &profile);

/// B1: a wave-quantised roofline, which is NeuSight's tile model without its learned utilisation. CTAs run in
/// whole waves; a wave takes the longer of its FMAs at their peak and its bytes at theirs.
Seconds wave_roofline_time(const Plan &plan, const Machine &m);

} // namespace convcast
