// The pictures behind the numbers: every probe that sweeps a knob, as lines.
#pragma once

#include "microbench/samples.hpp"
#include "model/machine/profile.hpp"

#include <map>
#include <string>

namespace convcast {

/// By probe. A probe whose samples differ in no place on its x axis has none.
std::map<std::string, Curve> curves_of(const RawSamples &raw);

} // namespace convcast
