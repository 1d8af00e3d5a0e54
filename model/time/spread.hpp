// How far measured times may lie from a forecast, by properties of the call (I4).
#pragma once

#include "model/base/units.hpp"
#include "model/machine/calibration.hpp"
#include "model/shape/conv_shape.hpp"

#include <array>
#include <string>

namespace convcast {

/// The coefficients of a ResidualSpread but the constant and those of kernels, in the order of
/// spread_properties.
inline constexpr std::array spread_coefficients = {
    &ResidualSpread::log_time,   &ResidualSpread::log_time_over_bound, &ResidualSpread::log_pixels,
    &ResidualSpread::log_images, &ResidualSpread::one_by_one,          &ResidualSpread::grouped};

/// A call that is forecast to take `time` and has the speed of light `bound`.
struct SpreadOf {
    const ConvShape &shape;
    const std::string &kernel; ///< of its main launch
    Seconds time, bound;
};

/// What the coefficients are multiplied with.
std::array<double, spread_coefficients.size()> spread_properties(const SpreadOf &call);

/// I4: the spread of such a call, 1 for a typical one. No call is more than a factor of 4 from that, however
/// different it is from those of the fit.
double spread_of(const ResidualSpread &spread, const SpreadOf &call);

} // namespace convcast
