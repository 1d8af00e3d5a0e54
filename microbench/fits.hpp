// Formulas fitted to medians.
#pragma once

#include "model/machine/profile.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace convcast {

/// Time of `bytes` in flight by eq. M1, T = (L0^p + (V/BW)^p)^(1/p), in seconds; overflows for no p.
double time_in_flight(double bytes, double latency_s, double bandwidth, double exponent);

/// The largest relative distance of a point of the curve from eq. M1.
double worst_error(const FlightCurve &curve, double latency_s, double bandwidth, double exponent);

/// p of eq. M1 by least squares in log time, T = bytes_in_flight / bandwidth, with L0 and BW known. Absent if
/// the curve does not bend within 0.5 < p < 20 or has fewer than four points.
std::optional<double> fit_knee_exponent(const FlightCurve &curve, Seconds latency, Bandwidth bandwidth);

/// L0, BW and p together, by least squares in log time; or why these points do not determine them.
std::variant<FlightFit, std::string> fit_flight(const FlightCurve &curve);

/// y = intercept + slope * x by least squares.
struct Line {
    double intercept = 0.0, slope = 0.0, r_squared = 0.0;
};

/// Absent for fewer than two places on x.
std::optional<Line> fit_line(const std::vector<double> &x, const std::vector<double> &y);

/// Shared memory as conflicts show it.
struct FittedBanks {
    int width_bytes = 0;
    int count = 0;
    double r_squared = 0.0; ///< of log(cycles) = a + b * log(conflict degree)
};

/// Of a warp whose lane l reads the 4-byte word l * stride_words: the most distinct bank rows in one bank.
int conflict_degree(int stride_words, int width_bytes, int bank_count);

/// The banks whose conflict degrees explain the cycles per warp load best; `cycles` in the order of the
/// strides. Absent if no layout explains them well (R^2 < 0.98) or two do equally well.
std::optional<FittedBanks> fit_banks(const std::vector<double> &stride_words,
                                     const std::vector<double> &cycles);

} // namespace convcast
