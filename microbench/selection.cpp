#include "microbench/selection.hpp"

#include "microbench/statistics.hpp"
#include "model/base/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// Why `raw` has no samples of a probe: it failed, was skipped on this GPU or machine, or was not asked for.
std::string why_no_samples(const RawSamples &raw, const std::string &probe) {
    if (const auto failure = raw.failed.find(probe); failure != raw.failed.end())
        return "probe " + probe + " failed: " + failure->second;
    if (const auto skipped = raw.skipped.find(probe); skipped != raw.skipped.end())
        return "probe " + probe + " was skipped: " + skipped->second;
    return "probe " + probe + " was not run";
}

/// Why a configuration cannot be used; empty if it can.
std::string why_unusable(const ProbeSamples &samples, std::string_view unit) {
    if (samples.unit != unit)
        return fmt::format("its samples are in \"{}\", expected \"{}\"", samples.unit, unit);
    if (samples.values.empty())
        return "it gave no samples";
    const auto bad = std::count_if(samples.values.begin(), samples.values.end(),
                                   [](double v) { return !(v > 0.0 && drawable(v)); });
    return bad == 0 ? "" : fmt::format("{} of its {} samples are not above zero", bad, samples.values.size());
}

bool meets(const ProbeSamples &samples, const Condition &condition) {
    if (condition.knob.empty())
        return true;
    const auto at = samples.knobs.find(std::string(condition.knob));
    return at == samples.knobs.end() ? condition.or_absent : at->second == condition.value;
}

} // namespace

Selection select(const RawSamples &raw, std::string_view probe, std::string_view unit,
                 const std::vector<Condition> &conditions) {
    Selection selection;
    std::string first_problem; // why the first unusable configuration is left out
    bool was_run = false;
    for (const ProbeSamples &samples : raw.samples) {
        if (samples.probe != probe)
            continue;
        was_run = true;
        if (!std::all_of(conditions.begin(), conditions.end(),
                         [&](const Condition &condition) { return meets(samples, condition); }))
            continue;
        if (std::string problem = why_unusable(samples, unit); problem.empty())
            selection.found.push_back({&samples, spread_of(samples.values)});
        else if (first_problem.empty())
            first_problem = std::move(problem);
    }
    if (!selection.found.empty())
        return selection;
    const std::string name(probe);
    if (!first_problem.empty()) {
        selection.why = "probe " + name + ": " + first_problem;
    } else if (was_run) {
        std::vector<std::string> words;
        for (const Condition &condition : conditions)
            if (!condition.knob.empty())
                words.push_back(fmt::format("{}={}", condition.knob, condition.value));
        selection.why = "probe " + name + " has no samples with " + join(words);
    } else {
        selection.why = why_no_samples(raw, name);
    }
    return selection;
}

std::optional<double> knob(const ProbeSamples &samples, std::string_view name) {
    const auto at = samples.knobs.find(std::string(name));
    if (at == samples.knobs.end() || !drawable(at->second))
        return std::nullopt;
    return at->second;
}

std::string knobs_text(const ProbeSamples &samples) {
    std::vector<std::string> words;
    for (const auto &[knob, value] : samples.knobs)
        words.push_back(fmt::format("{}={}", knob, value));
    return words.empty() ? samples.probe : samples.probe + " (" + join(words) + ")";
}

const Configuration &best_of(const std::vector<Configuration> &found, Better better) {
    const auto by_median = [](const Configuration &a, const Configuration &b) {
        return a.spread.p50 < b.spread.p50;
    };
    return better == Better::lowest ? *std::min_element(found.begin(), found.end(), by_median)
                                    : *std::max_element(found.begin(), found.end(), by_median);
}

Evidence evidence_of(std::string by, const std::vector<double> &values) {
    const Spread spread = spread_of(values);
    Evidence evidence{spread.p50, std::move(by), spread, median_interval(values)};
    if (const auto groups = two_populations(values))
        evidence.populations = {groups->first, groups->second};
    return evidence;
}

Evidence evidence_of(const Configuration &configuration) {
    return evidence_of(knobs_text(*configuration.samples), configuration.samples->values);
}

Sweep sweep(const RawSamples &raw, std::string_view probe, std::string_view unit, std::string_view x,
            Better better, const std::vector<Condition> &conditions) {
    const Selection selection = select(raw, probe, unit, conditions);
    std::map<double, Configuration> points;
    for (const Configuration &configuration : selection.found) {
        const std::optional<double> place = knob(*configuration.samples, x);
        if (place && *place > 0.0)
            keep_better(points, *place, configuration, better);
    }
    Sweep sorted;
    for (const auto &[place, configuration] : points)
        sorted.points.push_back({place, configuration});
    if (points.empty())
        sorted.why = selection.found.empty()
                         ? selection.why
                         : fmt::format("probe {} has no samples with {} above zero", probe, x);
    return sorted;
}

namespace {

/// `part` of each point, in order.
template <class Part> auto of_each(const std::vector<SweepPoint> &points, const Part &part) {
    std::vector<std::decay_t<decltype(part(points.front()))>> found;
    for (const SweepPoint &point : points)
        found.push_back(part(point));
    return found;
}

} // namespace

std::vector<double> Sweep::places() const {
    return of_each(points, [](const SweepPoint &point) { return point.x; });
}

std::vector<double> Sweep::medians() const {
    return of_each(points, [](const SweepPoint &point) { return point.median(); });
}

std::vector<std::vector<double>> Sweep::samples() const {
    return of_each(points, [](const SweepPoint &point) { return point.configuration.samples->values; });
}

std::string Sweep::text() const {
    std::vector<std::string> pairs;
    for (const SweepPoint &point : points)
        pairs.push_back(fmt::format("{}: {:.4g}", point.x, point.median()));
    return join(pairs);
}

std::vector<double> dram_latency_seconds(const RawSamples &raw) {
    const Selection selection = select(raw, "dram_latency", UnitOf<Cycles>::text);
    std::vector<double> seconds;
    if (selection.found.empty())
        return seconds;
    const ProbeSamples &samples = *best_of(selection.found, Better::lowest).samples;
    for (std::size_t i = 0; i < samples.values.size() && i < samples.sm_clock_hz.size(); ++i)
        if (const double time = samples.values[i] / samples.sm_clock_hz[i];
            samples.sm_clock_hz[i] > 0.0 && time > 0.0 && std::isfinite(time))
            seconds.push_back(time);
    return seconds;
}

} // namespace convcast
