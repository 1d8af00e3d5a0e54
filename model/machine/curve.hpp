// Values of a profile's curves between their points.
#pragma once

#include "model/machine/profile.hpp"

#include <string>

namespace convcast {

/// The first line of a curve; null where the profile has none with points.
const CurveSeries *line_of(const GpuProfile &profile, const std::string &curve);

/// The line at x: straight between its points where both axes are logarithmic, and as at the nearest point
/// beyond them.
double value_at(const CurveSeries &line, double x);

} // namespace convcast
