#include "model/machine/compare.hpp"

#include "model/base/errors.hpp"
#include "model/base/readable.hpp"
#include "model/machine/each_number.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr std::pair<const char *, std::optional<FlightCurve> GpuProfile::*> flight_curves[] = {
    {"dram_read_curve", &GpuProfile::dram_read_curve},
    {"dram_write_curve", &GpuProfile::dram_write_curve},
    {"dram_copy_curve", &GpuProfile::dram_copy_curve},
    {"l2_read_curve", &GpuProfile::l2_read_curve},
    {"l2_write_curve", &GpuProfile::l2_write_curve}};

/// All curves of a profile by their names. Curves of bytes in flight become curves of one line.
std::map<std::string, Curve> curves_of(const GpuProfile &profile) {
    std::map<std::string, Curve> curves = profile.curves;
    for (const auto &[name, member] : flight_curves) {
        curves.erase(name);
        if (const std::optional<FlightCurve> &flight = profile.*member) {
            Curve &curve = curves[name];
            curve.x_unit = "B";
            curve.series.push_back({"", flight->bytes_in_flight, flight->bandwidth, {}, {}});
        }
    }
    return curves;
}

/// The y of the line's point at x; absent if it has no point there.
std::optional<double> y_at(const CurveSeries &line, double x) {
    const auto found =
        std::ranges::find_if(line.x, [x](double other) { return std::abs(other - x) <= 1e-9 * std::abs(x); });
    const auto i = static_cast<std::size_t>(found - line.x.begin());
    return i < std::min(line.x.size(), line.y.size()) ? std::optional(line.y[i]) : std::nullopt;
}

/// Compares lines, one for each file, at the x that all of them have: counts these points, and notes in
/// `curve` where the largest value is farthest above the smallest. `series` is the name of the lines.
void compare_lines(ComparedCurve &curve, const std::string &series,
                   const std::vector<const CurveSeries *> &lines) {
    for (const double x : lines.front()->x) {
        std::vector<double> values;
        for (const CurveSeries *line : lines)
            if (const std::optional<double> y = y_at(*line, x))
                values.push_back(*y);
        if (values.size() < lines.size())
            continue;
        const auto [low, high] = std::ranges::minmax(values);
        if (!(low > 0.0))
            continue;
        ++curve.common_points;
        if (!curve.largest_ratio || high / low > *curve.largest_ratio) {
            curve.largest_ratio = high / low;
            curve.at_x = x;
            curve.series = series;
        }
    }
}

/// Compares the curve `name` of all files, whose curves `files` has; absent unless every file has it.
std::optional<ComparedCurve> compare_curve(const std::vector<std::map<std::string, Curve>> &files,
                                           const std::string &name) {
    std::vector<const Curve *> curves;
    for (const std::map<std::string, Curve> &file : files) {
        const auto found = file.find(name);
        if (found == file.end())
            return std::nullopt;
        curves.push_back(&found->second);
    }
    ComparedCurve compared;
    compared.name = name;
    compared.x_unit = curves.front()->x_unit;
    for (const CurveSeries &first : curves.front()->series) {
        std::vector<const CurveSeries *> lines;
        for (const Curve *curve : curves)
            if (const auto its = std::ranges::find(curve->series, first.name, &CurveSeries::name);
                its != curve->series.end())
                lines.push_back(&*its);
        if (lines.size() == curves.size())
            compare_lines(compared, curves.front()->series.size() > 1 ? first.name : "", lines);
    }
    return compared;
}

/// The names of all curves: those of bytes in flight first, then those that one of `profiles` has.
std::vector<std::string> curve_names(std::span<const NamedProfile> profiles) {
    std::vector<std::string> names;
    std::set<std::string> others;
    for (const auto &[name, member] : flight_curves)
        names.emplace_back(name);
    for (const NamedProfile &named : profiles)
        for (const auto &[name, curve] : named.profile.curves)
            if (std::find(names.begin(), names.end(), name) == names.end())
                others.insert(name);
    names.insert(names.end(), others.begin(), others.end());
    return names;
}

/// Adds the limits and conditions that differ, and the checks that fail.
void compare_surroundings(std::span<const NamedProfile> profiles, ComparedFiles &comparison) {
    for_each_limit([&](auto member) {
        std::vector<std::string> values;
        for (const NamedProfile &named : profiles)
            values.push_back(grouped(named.profile.limits.*member.pointer));
        add_difference(comparison.differences, member.name, std::move(values));
    });
    Conditions conditions;
    for (const NamedProfile &named : profiles)
        conditions.push_back(&named.profile.conditions);
    add_conditions(comparison.differences, conditions);
    for (const NamedProfile &named : profiles)
        for (const ProfileCheck &check : named.profile.checks)
            if (!check.passed)
                comparison.failed_checks.push_back({named.file, check.name, check.text});
}

} // namespace

std::vector<std::string> comparable_names(std::span<const NamedProfile> profiles) {
    std::vector<std::string> names;
    for_each_param([&](auto member) { names.emplace_back(member.name); });
    for (const std::string &name : curve_names(profiles))
        if (std::find(names.begin(), names.end(), name) == names.end())
            names.push_back(name);
    return names;
}

ComparedFiles compare_profiles(std::span<const NamedProfile> profiles, const CompareOptions &options) {
    ComparedFiles comparison;
    comparison.of = Compared::profiles;
    const auto wanted = [&](const std::string &name) {
        return options.only.empty() ||
               std::find(options.only.begin(), options.only.end(), name) != options.only.end();
    };
    for (const NamedProfile &named : profiles) {
        const GpuProfile &profile = named.profile;
        comparison.files.push_back({named.file,
                                    profile.name + ", compute capability " + profile.compute_capability,
                                    condition_of(profile.conditions, "date")});
    }
    std::vector<ComparedRow> rows;
    for_each_param([&](auto member) { // compiled once for each number: short
        ComparedRow &row = rows.emplace_back();
        row.name = member.name;
        for (const NamedProfile &named : profiles) {
            const auto &param = named.profile.*member.pointer;
            row.unit = UnitOf<std::decay_t<decltype(param->value)>>::text;
            ComparedValue &value = row.values.emplace_back();
            if (param)
                value.value = param->value.value;
            if (param && param->interval)
                value.low = param->interval->low, value.high = param->interval->high;
        }
    });
    for (ComparedRow &row : rows) {
        const auto has = [](const ComparedValue &value) { return value.value.has_value(); };
        if (std::ranges::none_of(row.values, has) || !wanted(row.name))
            continue;
        row.tolerance = options.tolerance.value_or(row.name.ends_with("_latency") ? default_latency_tolerance
                                                                                  : default_tolerance);
        for (std::size_t i = 0; i < profiles.size(); ++i)
            if (!has(row.values[i])) {
                const auto why = profiles[i].profile.missing.find(row.name);
                row.reason =
                    (row.reason ? *row.reason + "; " : "") + static_cast<char>('A' + static_cast<char>(i)) +
                    ": " +
                    (why == profiles[i].profile.missing.end() ? "the profile gives no reason" : why->second);
            }
        judge_row(row, false);
        row.failed =
            (row.verdict == ComparedVerdict::differs && std::abs(*row.ratio - 1.0) > row.tolerance) ||
            (has(row.values.front()) && !std::ranges::all_of(row.values, has));
        comparison.rows.push_back(std::move(row));
    }
    std::vector<std::map<std::string, Curve>> curves;
    for (const NamedProfile &named : profiles)
        curves.push_back(curves_of(named.profile));
    for (const std::string &name : curve_names(profiles))
        if (wanted(name)) {
            std::optional<ComparedCurve> curve = compare_curve(curves, name);
            if (!curve && !options.only.empty()) { // asked for by name: silence would not be an answer
                curve.emplace();
                curve->name = name;
            }
            if (curve)
                comparison.curves.push_back(std::move(*curve));
        }
    if (options.only.empty())
        compare_surroundings(profiles, comparison);
    conclude(comparison);
    std::vector<std::string> off, lacking;
    for (const ComparedRow &row : comparison.rows)
        if (row.failed)
            (row.verdict == ComparedVerdict::differs ? off : lacking).push_back(row.name);
    if (!comparison.passed)
        comparison.why = (off.empty() ? "" : "off by more than the tolerance: " + join(off)) +
                         (off.empty() || lacking.empty() ? "" : "; ") +
                         (lacking.empty() ? "" : "lacking in a later file: " + join(lacking));
    return comparison;
}

} // namespace convcast
