// Formulas fitted to the medians of probes.
#pragma once

#include "model/machine/profile.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace convcast {

/// Seconds in which V = `bytes` in flight arrive, by eq. M1: T = (L0^p + (V / BW)^p)^(1/p). L0 (s) is the
/// latency, BW (B/s) the bandwidth, and the exponent p how sharply the curve bends from one to the other at
/// V = L0 * BW, the knee. Does not overflow, however large p is.
double time_in_flight(double bytes, double latency_s, double bandwidth, double exponent);

/// The largest |T of eq. M1 / measured T - 1| over the points of the curve.
double worst_error(const FlightCurve &curve, double latency_s, double bandwidth, double exponent);

/// The exponent p of eq. M1 where L0 and BW are known, by least squares in log T; the T of a point is its
/// bytes in flight over its bandwidth. Absent for fewer than four points, or if the best p lies at an end of
/// 0.5 .. 20: then the curve does not bend as the equation does.
std::optional<double> fit_knee_exponent(const FlightCurve &curve, Seconds latency, Bandwidth bandwidth);

/// L0, BW and p of eq. M1 together, by least squares in log T; or the reason why these points do not
/// determine them.
std::variant<FlightFit, std::string> fit_flight(const FlightCurve &curve);

/// y = intercept + slope * x by least squares.
struct Line {
    double intercept = 0.0, slope = 0.0, r_squared = 0.0;
};

/// Absent if x has fewer than two different values.
std::optional<Line> fit_line(const std::vector<double> &x, const std::vector<double> &y);

/// The banks of shared memory, found from the time of bank conflicts.
struct FittedBanks {
    int width_bytes = 0;
    int count = 0;
    double r_squared = 0.0; ///< of log(cycles) = a + b * log(conflict degree)
};

/// In how many passes shared memory serves a warp whose lane l reads the 4-byte word l * stride_words: the
/// largest number of different rows that lanes read in one bank. A row is one access of `width_bytes`.
int conflict_degree(int stride_words, int width_bytes, int bank_count);

/// The banks whose conflict degrees explain the clocks of a warp's load best. `cycles` has one value for each
/// of the strides. Absent for fewer than four of them, if no layout explains them well (R^2 < 0.98), or if
/// two layouts do nearly equally well.
std::optional<FittedBanks> fit_banks(const std::vector<double> &stride_words,
                                     const std::vector<double> &cycles);

} // namespace convcast
