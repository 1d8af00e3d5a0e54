#include "microbench/statistics.hpp"

#include "model/base/split_mix.hpp"
#include "model/base/statistics.hpp"

#include <boost/math/special_functions/beta.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr double low_end = 0.025, high_end = 0.975; // of a 95 % interval
constexpr int resamples = 2000;
// Any number; fixed, so that one raw file gives one profile
constexpr std::uint64_t seed = 0x636f6e7663617374;

/// Draw n of n sorted values with replacement: the probability that the median of the draw is one of the
/// lowest k values. This is so if at least as many draws as the median's rank fall there, a binomial sum,
/// which the incomplete beta function gives.
double median_among_lowest(std::size_t k, std::size_t n) {
    if (k >= n)
        return 1.0;
    const auto rank = static_cast<double>(nearest_rank(n, 0.5)), count = static_cast<double>(n);
    return boost::math::ibeta(rank, count - rank + 1.0, static_cast<double>(k) / count);
}

/// The smallest k for which median_among_lowest(k, n) is at least p, by bisection.
std::size_t median_rank_at(double p, std::size_t n) {
    std::size_t low = 1, high = n;
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (median_among_lowest(middle, n) >= p)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

} // namespace

Spread spread_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto at = [&](double p) { return quantile_of_sorted(values, p); };
    return {at(0.05), at(0.5), at(0.95), static_cast<std::int64_t>(values.size())};
}

double median_of(std::vector<double> values) {
    return percentile(std::move(values), 0.5);
}

std::optional<std::pair<double, double>> two_populations(std::vector<double> values) {
    constexpr std::size_t least_values = 6;
    constexpr double least_gap = 0.05;     // of the median: a smaller gap does not matter to a forecast
    constexpr double gap_over_width = 2.0; // the gap over the width of the wider group, at least
    if (values.size() < least_values)
        return std::nullopt;
    std::sort(values.begin(), values.end());
    const std::size_t least = std::max<std::size_t>(2, (values.size() + 4) / 5);
    std::size_t split = least; // index of the first value above the widest gap
    for (std::size_t i = least; i + least <= values.size(); ++i)
        if (values[i] - values[i - 1] > values[split] - values[split - 1])
            split = i;
    const double gap = values[split] - values[split - 1];
    const double width = std::max(values[split - 1] - values.front(), values.back() - values[split]);
    if (gap < least_gap * std::abs(quantile_of_sorted(values, 0.5)) || gap < gap_over_width * width)
        return std::nullopt;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(split);
    return std::pair(median_of({values.begin(), middle}), median_of({middle, values.end()}));
}

Interval median_interval(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return {values[median_rank_at(low_end, values.size()) - 1],
            values[median_rank_at(high_end, values.size()) - 1]};
}

std::optional<Interval>
bootstrap_interval(const std::vector<std::vector<double>> &points,
                   const std::function<std::optional<double>(const std::vector<double> &)> &value) {
    std::vector<std::vector<double>> sorted = points;
    // For each number n of samples: median_among_lowest(k, n) for k = 1 .. n, from which a rank is drawn.
    std::map<std::size_t, std::vector<double>> chances;
    for (std::vector<double> &samples : sorted) {
        if (samples.empty())
            return std::nullopt;
        std::sort(samples.begin(), samples.end());
        std::vector<double> &chance = chances[samples.size()];
        for (std::size_t k = chance.size() + 1; k <= samples.size(); ++k)
            chance.push_back(median_among_lowest(k, samples.size()));
    }
    SplitMix64 random(seed);
    std::vector<double> medians(sorted.size()), seen;
    for (int i = 0; i < resamples; ++i) {
        for (std::size_t point = 0; point < sorted.size(); ++point) {
            const std::vector<double> &chance = chances[sorted[point].size()];
            const auto rank = std::upper_bound(chance.begin(), chance.end() - 1, random.uniform());
            medians[point] = sorted[point][static_cast<std::size_t>(rank - chance.begin())];
        }
        if (const std::optional<double> found = value(medians); found && std::isfinite(*found))
            seen.push_back(*found);
    }
    constexpr double least_answers = 0.9; // of the draws
    if (seen.size() < static_cast<std::size_t>(least_answers * resamples))
        return std::nullopt;
    std::sort(seen.begin(), seen.end());
    return Interval{quantile_of_sorted(seen, low_end), quantile_of_sorted(seen, high_end)};
}

std::vector<Plateau> plateaus_of(const std::vector<double> &y, double tolerance, std::size_t least_points) {
    std::vector<Plateau> found;
    const auto level_of = [&](std::size_t first, std::size_t last) {
        return median_of({y.begin() + static_cast<std::ptrdiff_t>(first),
                          y.begin() + static_cast<std::ptrdiff_t>(last) + 1});
    };
    for (std::size_t first = 0; first < y.size();) {
        double lowest = y[first], highest = y[first];
        std::size_t end = first + 1;
        for (; end < y.size(); ++end) {
            lowest = std::min(lowest, y[end]);
            highest = std::max(highest, y[end]);
            if (highest > lowest * (1.0 + tolerance))
                break;
        }
        if (end - first < least_points) {
            ++first;
            continue;
        }
        const Plateau run{first, end - 1, level_of(first, end - 1)};
        if (!found.empty() && std::max(run.level, found.back().level) <=
                                  (1.0 + tolerance) * std::min(run.level, found.back().level))
            found.back() = {found.back().first, run.last, level_of(found.back().first, run.last)};
        else
            found.push_back(run);
        first = end;
    }
    return found;
}

std::size_t knee_after(const std::vector<double> &y, const Plateau &plateau, double level, double way) {
    const double highest = plateau.level + way * (level - plateau.level);
    std::size_t knee = plateau.first;
    for (std::size_t i = plateau.first; i < y.size(); ++i) {
        if (y[i] <= highest)
            knee = i;
        else if (i + 1 == y.size() || y[i + 1] > highest)
            break;
    }
    return knee;
}

double six_digits(double value) {
    const std::string text = fmt::format("{:.5e}", value);
    double rounded = value; // stays if from_chars() does not read the text
    std::from_chars(text.data(), text.data() + text.size(), rounded);
    return rounded;
}

std::optional<double> power_of_two_near(double value, double tolerance) {
    if (!(value > 0.0 && std::isfinite(value)))
        return std::nullopt;
    const double power = std::exp2(std::round(std::log2(value)));
    if (std::abs(value / power - 1.0) > tolerance)
        return std::nullopt;
    return power;
}

} // namespace convcast
