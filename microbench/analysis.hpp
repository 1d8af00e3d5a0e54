// Samples to profile, without a GPU: the same raw file always gives the same profile.
#pragma once

#include "microbench/samples.hpp"
#include "model/profile.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

/// A sample that ran below this part of the SM clock under load is reported, never dropped.
constexpr double throttled_below = 0.9;

/// Percentiles by nearest rank: each is one of the samples, so that the median of two populations is not a
/// number that neither of them showed. `values` is not empty.
Spread spread_of(std::vector<double> values);

/// The medians of two clearly separate groups, each of at least a fifth of the values; absent for one
/// population.
std::optional<std::pair<double, double>> two_populations(std::vector<double> values);

/// Shared memory as conflicts show it.
struct Banks {
    int width_bytes = 0;
    int count = 0;
    double r_squared = 0.0; ///< of log(cycles) = a + b * log(conflict degree)
};

/// Of a warp whose lane l reads the 4-byte word l * stride_words: the most distinct bank rows in one bank.
int conflict_degree(int stride_words, int width_bytes, int bank_count);

/// The banks whose conflict degrees explain the cycles per warp load best. Absent if none explains them well
/// (R^2 < 0.98) or two do equally well.
std::optional<Banks> fit_banks(const std::vector<int> &stride_words, const std::vector<double> &cycles);

/// p of eq. M1 by least squares in log time, T = bytes_in_flight / bandwidth. Absent if the curve does not
/// bend within 0.5 < p < 20 or has fewer than four points.
std::optional<double> fit_knee_exponent(const FlightCurve &curve, Seconds latency, Bandwidth bandwidth);

/// Two numbers that must agree. Skipped checks are not in the list.
struct CrossCheck {
    bool passed = false;
    std::string text; ///< both numbers, with units
};

std::vector<CrossCheck> cross_checks(const RawSamples &raw, const GpuProfile &profile);

/// A value is the median of its samples; of several configurations of one probe the best counts, and they are
/// never mixed. A field without good samples is absent, with the reason in `missing`. Cross-checks, separate
/// populations and throttled samples are in `notes`.
GpuProfile analyze(const RawSamples &raw, const std::string &id);

} // namespace convcast
