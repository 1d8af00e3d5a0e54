#include "model/base/comparison.hpp"

#include "model/base/described.hpp"

#include <boost/mp11.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// Whether a value has a usable interval: it contains the value and is above 0, as ratios need.
bool has_interval(const ComparedValue &value) {
    return value.low && value.high && *value.low > 0.0 && *value.low <= *value.value &&
           *value.value <= *value.high;
}

/// The median of the values that are present, at least one. Of an even number the two in the middle, and
/// their intervals, are averaged: neither is preferred. It has an interval only if both have one.
ComparedValue middle_of(const std::vector<ComparedValue> &values) {
    std::vector<const ComparedValue *> sorted;
    for (const ComparedValue &value : values)
        if (value.value)
            sorted.push_back(&value);
    std::sort(sorted.begin(), sorted.end(),
              [](const ComparedValue *a, const ComparedValue *b) { return *a->value < *b->value; });
    const ComparedValue &low = *sorted[(sorted.size() - 1) / 2], &high = *sorted[sorted.size() / 2];
    ComparedValue middle;
    middle.value = (*low.value + *high.value) / 2.0;
    if (has_interval(low) && has_interval(high))
        middle.low = (*low.low + *high.low) / 2.0, middle.high = (*low.high + *high.high) / 2.0;
    return middle;
}

ComparedVerdict verdict_of(const ComparedRow &row, bool times) {
    if (!row.ratio_low)
        return std::abs(*row.ratio - 1.0) < same_below ? ComparedVerdict::same : ComparedVerdict::unsure;
    if (*row.ratio_low >= 1.0 / (1.0 + row.tolerance) && *row.ratio_high <= 1.0 + row.tolerance)
        return ComparedVerdict::same;
    if (*row.ratio_low > 1.0)
        return times ? ComparedVerdict::slower : ComparedVerdict::differs;
    if (*row.ratio_high < 1.0)
        return times ? ComparedVerdict::faster : ComparedVerdict::differs;
    return ComparedVerdict::unsure;
}

/// How many of n samples lie outside the 95 % interval of their median on each side: the largest k for which
/// a binomial B(n, 1/2) is below k with a probability of at most 2.5 %; 0 if even the smallest and the
/// largest sample make no interval so wide.
std::size_t samples_outside(std::size_t n) {
    constexpr double each_side = 0.025;
    if (n > 1000) { // 0.5^n soon leaves double; of a normal distribution 2.5 % lie beyond 1.96 deviations
        const double half = 0.5 * static_cast<double>(n);
        return static_cast<std::size_t>(std::max(0.0, half - 1.96 * std::sqrt(0.5 * half)));
    }
    double probability = std::pow(0.5, static_cast<double>(n)), below = 0.0;
    for (std::size_t k = 0; k <= n; ++k) {
        below += probability;
        if (below > each_side)
            return k;
        probability *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    }
    return 0;
}

} // namespace

void judge_row(ComparedRow &row, bool times) {
    std::vector<std::size_t> present; // files that have a value
    for (std::size_t i = 0; i < row.values.size(); ++i)
        if (row.values[i].value)
            present.push_back(i);
    if (present.size() < 2)
        return;
    const ComparedValue middle = present.size() == 2 ? row.values[present.front()] : middle_of(row.values);
    const auto off = [&](std::size_t i) { return std::abs(*row.values[i].value / *middle.value - 1.0); };
    // Of two values the second; of several that are equally far the first.
    const std::size_t farthest =
        present.size() == 2
            ? present.back()
            : *std::max_element(present.begin(), present.end(),
                                [&](std::size_t a, std::size_t b) { return off(a) < off(b); });
    const ComparedValue &far = row.values[farthest];
    row.reference = middle.value;
    row.farthest = static_cast<std::int64_t>(farthest);
    row.ratio = *far.value / *middle.value;
    if (has_interval(far) && has_interval(middle) && times) {
        const auto apart = [](double a, double b) { return std::log(a / b); };
        row.ratio_low = *row.ratio * std::exp(-std::hypot(apart(*middle.high, *middle.value),
                                                          apart(*far.value, *far.low)));
        row.ratio_high = *row.ratio * std::exp(std::hypot(apart(*middle.value, *middle.low),
                                                          apart(*far.high, *far.value)));
    } else if (has_interval(far) && has_interval(middle)) {
        row.ratio_low = *far.low / *middle.high;
        row.ratio_high = *far.high / *middle.low;
    }
    const bool one_measurement =
        far.value == middle.value && far.low == middle.low && far.high == middle.high;
    row.verdict = one_measurement ? ComparedVerdict::same : verdict_of(row, times);
    // If two of three files agree, the row still lacks the third. If they differ, that says more.
    if (present.size() < row.values.size() && row.verdict != ComparedVerdict::differs)
        row.verdict = ComparedVerdict::lacking;
}

void add_difference(std::vector<Difference> &differences, const std::string &name,
                    std::vector<std::string> values) {
    if (std::any_of(values.begin(), values.end(),
                    [&](const std::string &value) { return value != values.front(); }))
        differences.push_back({name, std::move(values)});
}

std::string condition_of(const std::map<std::string, std::string> &conditions, const std::string &name) {
    const auto found = conditions.find(name);
    return found == conditions.end() ? "" : found->second;
}

void add_condition(std::vector<Difference> &differences, const std::string &name,
                   const Conditions &conditions) {
    std::vector<std::string> values;
    for (const auto *of : conditions)
        values.push_back(condition_of(*of, name));
    add_difference(differences, name, std::move(values));
}

void add_conditions(std::vector<Difference> &differences, const Conditions &conditions,
                    const std::vector<std::string> &said) {
    std::set<std::string> names;
    for (const auto *of : conditions)
        for (const auto &[name, value] : *of)
            names.insert(name);
    names.erase("date");
    for (const std::string &name : said)
        names.erase(name);
    for (const std::string &name : names)
        add_condition(differences, name, conditions);
}

void conclude(ComparedFiles &comparison) {
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<ComparedVerdict>>([&](auto enumerator) {
        const auto rows =
            std::count_if(comparison.rows.begin(), comparison.rows.end(),
                          [&](const ComparedRow &row) { return row.verdict == enumerator.value; });
        if (rows > 0)
            comparison.counts.push_back({enumerator.value, rows});
    });
    comparison.passed = std::none_of(comparison.rows.begin(), comparison.rows.end(),
                                     [](const ComparedRow &row) { return row.failed; });
}

ComparedValue median_value(double median, std::vector<double> samples) {
    ComparedValue out;
    out.value = median;
    out.samples = std::ssize(samples);
    std::sort(samples.begin(), samples.end());
    if (const std::size_t outside = samples_outside(samples.size()); outside > 0) {
        out.low = std::min(samples[outside - 1], median);
        out.high = std::max(samples[samples.size() - outside], median);
    }
    return out;
}

ComparedValue sure_value(double value) {
    ComparedValue out;
    out.value = out.low = out.high = value;
    return out;
}

ComparedRow time_row(std::string name, std::array<std::optional<ComparedValue>, 2> values, double tolerance) {
    ComparedRow row;
    row.name = std::move(name);
    row.unit = "s";
    row.tolerance = tolerance;
    for (std::size_t file = 0; file < values.size(); ++file) {
        if (!values[file])
            row.only = static_cast<std::int64_t>(1 - file);
        row.values.push_back(std::move(values[file]).value_or(ComparedValue{}));
    }
    judge_row(row, true);
    return row;
}

template const described::Type &described::type_of<ComparedFiles>();

} // namespace convcast
