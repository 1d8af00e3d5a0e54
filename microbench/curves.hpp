// The curves of a profile: every probe that sweeps a knob, as lines.
#pragma once

#include "microbench/samples.hpp"
#include "model/machine/profile.hpp"

#include <map>
#include <string>

namespace convcast {

/// The curve of each probe that has one, by the probe's name. A probe with too few places on the x axis
/// (ProbeCurve::least_points, else 2) has none.
std::map<std::string, Curve> curves_of(const RawSamples &raw);

// The curves that are no plain sweep over a knob (ProbeUse::draw).

Curve draw_beside_shared(const RawSamples &raw);
Curve draw_strides(const RawSamples &raw);
Curve draw_segments(const RawSamples &raw);

} // namespace convcast
