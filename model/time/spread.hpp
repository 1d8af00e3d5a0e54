// How far measured times may lie from a forecast, by properties of the call (I4). The spread of a call is
// this distance in multiples of that of a typical call.
#pragma once

#include "model/base/units.hpp"
#include "model/machine/calibration.hpp"
#include "model/shape/conv_shape.hpp"

#include <array>
#include <string>

namespace convcast {

/// The coefficients of a ResidualSpread, without the constant and those of kernels, in the order of
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

/// The numbers that the coefficients are multiplied with, for one call.
std::array<double, spread_coefficients.size()> spread_properties(const SpreadOf &call);

/// I4: the spread of a call, 1 for a typical one. It is held between 1/4 and 4, so that a call unlike all
/// those of the fit gets no absurd interval.
double spread_of(const ResidualSpread &spread, const SpreadOf &call);

} // namespace convcast
