// The pictures behind the numbers: every probe that sweeps a knob, as lines.
#pragma once

#include "microbench/samples.hpp"
#include "model/machine/profile.hpp"

#include <map>
#include <string>

namespace convcast {

/// By probe. A probe whose samples differ in no place on its x axis has none.
std::map<std::string, Curve> curves_of(const RawSamples &raw);

/// Those that are no plain sweep over a knob.
Curve draw_beside_shared(const RawSamples &raw);
Curve draw_strides(const RawSamples &raw);
Curve draw_segments(const RawSamples &raw);

} // namespace convcast
