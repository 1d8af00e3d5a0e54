// What samples say by their order, and how sure that is. No assumption of a normal distribution anywhere.
#pragma once

#include "model/machine/profile.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace convcast {

/// By nearest rank (model/base/statistics.hpp). `values` is not empty.
Spread spread_of(std::vector<double> values);
double median_of(std::vector<double> values);

/// The medians of two clearly separate groups, each of at least a fifth of the values, ascending; absent for
/// one population.
std::optional<std::pair<double, double>> two_populations(std::vector<double> values);

/// 95 % interval of the median by the percentile bootstrap, in closed form: how often each sample is the
/// median of as many drawn with replacement is a binomial sum, so nothing needs to be drawn. `values` is not
/// empty.
Interval median_interval(std::vector<double> values);

/// 95 % interval of what `value` makes of the medians of several points: percentiles over 2000 resamples of
/// each point's own samples, always the same ones. Absent if `value` has no answer for more than a tenth of
/// them.
std::optional<Interval>
bootstrap_interval(const std::vector<std::vector<double>> &points,
                   const std::function<std::optional<double>(const std::vector<double> &)> &value);

/// A run of neighbouring points at one level.
struct Plateau {
    std::size_t first = 0, last = 0; ///< indices, both belong to it
    double level = 0.0;              ///< median of its points
};

/// Runs of at least `least_points` values that all lie within `tolerance` of each other; neighbouring runs of
/// one level are one plateau, so that an outlier does not part it. In order.
std::vector<Plateau> plateaus_of(const std::vector<double> &y, double tolerance, std::size_t least_points);

/// Index of the last point that has gone at most the part `way` from `plateau` to the higher `level`. A
/// single point above is an outlier if the next one is back below.
std::size_t knee_after(const std::vector<double> &y, const Plateau &plateau, double level, double way);

/// A fitted number to six digits: no measurement has more, and the last bits differ between machines' pow.
double six_digits(double value);

/// The power of two within `tolerance` (0.15: 15 %) of `value`; absent if none is.
std::optional<double> power_of_two_near(double value, double tolerance);

} // namespace convcast
