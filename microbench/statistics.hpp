// Medians, percentiles and their intervals. They use only the order of the samples, so nothing assumes a
// normal distribution.
#pragma once

#include "model/machine/profile.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace convcast {

/// Percentiles 5, 50 and 95 by nearest rank (model/base/statistics.hpp). `values` is not empty.
Spread spread_of(std::vector<double> values);
double median_of(std::vector<double> values);

/// The medians of two clearly separate groups, ascending. Absent if there is one population: fewer than six
/// values, a group of less than a fifth of them, or a gap between the groups below 5 % of the median or below
/// twice the width of the wider group.
std::optional<std::pair<double, double>> two_populations(std::vector<double> values);

/// 95 % interval of the median by the percentile bootstrap. In closed form: the probability that a sample is
/// the median of as many drawn with replacement is a binomial sum, so nothing is drawn. `values` is not
/// empty.
Interval median_interval(std::vector<double> values);

/// 95 % interval of `value`, which is given the medians of all points: percentiles over 2000 draws, in each
/// of which every point's samples are resampled. The seed is fixed, so the same samples give the same
/// interval. Absent if a point has no samples or `value` is absent in more than a tenth of the draws.
std::optional<Interval>
bootstrap_interval(const std::vector<std::vector<double>> &points,
                   const std::function<std::optional<double>(const std::vector<double> &)> &value);

/// Neighbouring points at about the same level.
struct Plateau {
    std::size_t first = 0, last = 0; ///< indices of its first and its last point
    double level = 0.0;              ///< median of its points
};

/// The plateaus of `y` in order: runs of at least `least_points` values of which the highest is at most the
/// part `tolerance` above the lowest. Two runs whose levels are as near become one, so that an outlier
/// between them does not divide it.
std::vector<Plateau> plateaus_of(const std::vector<double> &y, double tolerance, std::size_t least_points);

/// Index of the last point from `plateau` on that has risen at most the part `way` (0 to 1) of the difference
/// between the plateau's level and the higher `level`. A single point above counts as an outlier if the next
/// one is back below.
std::size_t knee_after(const std::vector<double> &y, const Plateau &plateau, double level, double way);

/// `value` rounded to six digits. No measurement has more, and the last bits of a fit differ between
/// machines, whose pow() differ. Infinity and NaN stay as they are.
double six_digits(double value);

/// The nearest power of two if `value` is within `tolerance` (0.15: 15 %) of it, else absent.
std::optional<double> power_of_two_near(double value, double tolerance);

} // namespace convcast
