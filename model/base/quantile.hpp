// Quantiles by nearest rank: type 1 of Hyndman and Fan, Sample quantiles in statistical packages, 1996. A
// quantile is one of the values, so the median of two populations is not a number that neither of them
// showed. Others are taken in four places, each for a reason: model/fit/fit.cpp takes the place p (n + 1), as
// its interval is of one more call; model/fit/facts_of_counters.cpp and model/time/timeline.cpp take a place
// next to p (n - 1), by which recorded facts and timelines were made; executor/run_case.cpp has the mean of
// the middle two of an even number of samples, which the documents call the median.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace convcast {

/// Place of the quantile in `n` sorted values, counted from 1: of the smallest that at least the share `p` of
/// the values do not exceed. Requires n > 0 and 0 <= p <= 1.
inline std::size_t nearest_rank(std::size_t n, double p) {
    return static_cast<std::size_t>(std::max(std::ceil(p * static_cast<double>(n)), 1.0));
}

/// Requires `sorted` to be ascending and not empty.
inline double quantile_of_sorted(std::span<const double> sorted, double p) {
    return sorted[nearest_rank(sorted.size(), p) - 1];
}

/// The same of values in any order. Requires at least one.
inline double percentile(std::vector<double> values, double p) {
    std::sort(values.begin(), values.end());
    return quantile_of_sorted(values, p);
}

} // namespace convcast
