// Means, medians and quantiles of values. Quantiles are by nearest rank, type 1 of Hyndman and Fan (Sample
// quantiles in statistical packages, 1996), unless there is a reason for another one: such a quantile is one
// of the values, so the median of two populations is not a number that neither of them showed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace convcast {

/// 0 of no value.
inline double mean_of(std::span<const double> values) {
    return values.empty()
               ? 0.0
               : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Of values above 0; 1 of no value.
inline double geometric_mean_of(std::vector<double> values) {
    for (double &value : values)
        value = std::log(value);
    return std::exp(mean_of(values));
}

/// Place of the quantile in `n` sorted values, counted from 1: of the smallest that at least the share `p` of
/// the values do not exceed. Requires n > 0 and 0 <= p <= 1.
inline std::size_t nearest_rank(std::size_t n, double p) {
    return static_cast<std::size_t>(std::max(std::ceil(p * static_cast<double>(n)), 1.0));
}

/// By nearest rank. Requires `sorted` to be ascending and not empty, as the next three do.
inline double quantile_of_sorted(std::span<const double> sorted, double p) {
    return sorted[nearest_rank(sorted.size(), p) - 1];
}

/// By linear interpolation, type 7 of Hyndman and Fan: of times, whose documents were made so.
inline double interpolated_quantile(std::span<const double> sorted, double p) {
    const double at = p * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// The value at or below the place p (n - 1), counted from 0: of facts, whose 90th percentiles were recorded
/// so.
inline double quantile_below(std::span<const double> sorted, double p) {
    return sorted[static_cast<std::size_t>(p * static_cast<double>(sorted.size() - 1))];
}

/// The value nearest to the place p (n + 1), counted from 1: what one more value exceeds with the probability
/// 1 - p.
inline double quantile_of_next(std::span<const double> sorted, double p) {
    const double at = p * static_cast<double>(sorted.size() + 1) - 1.0;
    return sorted[static_cast<std::size_t>(
        std::clamp(std::lround(at), 0L, static_cast<long>(sorted.size()) - 1))];
}

/// The value at a place, counted from 0, were the values sorted.
inline double value_at_place(std::vector<double> values, std::size_t place) {
    const auto found = values.begin() + static_cast<std::ptrdiff_t>(place);
    std::nth_element(values.begin(), found, values.end());
    return *found;
}

/// By nearest rank, of values in any order. Requires at least one, as the next two do.
inline double percentile(std::vector<double> values, double p) {
    const std::size_t place = nearest_rank(values.size(), p) - 1;
    return value_at_place(std::move(values), place);
}

/// The larger of the middle two of an even number of values.
inline double upper_median(std::vector<double> values) {
    const std::size_t place = values.size() / 2;
    return value_at_place(std::move(values), place);
}

/// The mean of the middle two of an even number of values: what documents of runs call the median.
inline double middle_of(const std::vector<double> &values) {
    return (percentile(values, 0.5) + upper_median(values)) / 2.0;
}

} // namespace convcast
