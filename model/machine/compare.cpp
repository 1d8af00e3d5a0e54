#include "model/machine/compare.hpp"

#include "model/base/described.hpp"
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

/// All curves of a profile: those of bytes in flight are curves of one line.
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

/// What may be said of a value: an interval that does not hold it is of another one.
std::optional<Interval> interval_of(const ComparedValue &value) {
    const bool holds =
        value.interval && value.interval->low <= *value.value && *value.value <= value.interval->high;
    return holds ? value.interval : std::nullopt;
}

/// The middle of the values, and its interval; none where a value of the middle has none. Of two values in
/// the middle it is their mean, of their intervals as well: whatever lies between two that differ would else
/// be noise.
struct Middle {
    double value;
    std::optional<Interval> interval;
};

Middle middle_of(const std::vector<ComparedValue> &values) {
    std::vector<const ComparedValue *> sorted;
    for (const ComparedValue &value : values)
        if (value.value)
            sorted.push_back(&value);
    std::sort(sorted.begin(), sorted.end(),
              [](const ComparedValue *a, const ComparedValue *b) { return *a->value < *b->value; });
    const ComparedValue &low = *sorted[(sorted.size() - 1) / 2], &high = *sorted[sorted.size() / 2];
    Middle middle{(*low.value + *high.value) / 2.0, std::nullopt};
    if (const std::optional<Interval> a = interval_of(low), b = interval_of(high); a && b)
        middle.interval = Interval{(a->low + b->low) / 2.0, (a->high + b->high) / 2.0};
    return middle;
}

/// Fills in everything that follows from name and values.
void judge(ComparedParam &param) {
    std::vector<std::size_t> there;
    for (std::size_t i = 0; i < param.values.size(); ++i)
        if (param.values[i].value)
            there.push_back(i);
    if (there.size() >= 2) {
        const ComparedValue &first = param.values[there.front()];
        const Middle middle =
            there.size() == 2 ? Middle{*first.value, interval_of(first)} : middle_of(param.values);
        const auto off = [&](std::size_t i) { return *param.values[i].value / middle.value - 1.0; };
        // Of two, the second; of equally far ones, the first.
        const std::size_t farthest =
            there.size() == 2
                ? there.back()
                : *std::max_element(there.begin(), there.end(), [&](std::size_t a, std::size_t b) {
                      return std::abs(off(a)) < std::abs(off(b));
                  });
        param.reference = middle.value;
        param.farthest = static_cast<std::int64_t>(farthest);
        param.ratio = *param.values[farthest].value / middle.value;
        param.deviation = *param.ratio - 1.0;
        const std::optional<Interval> interval = interval_of(param.values[farthest]);
        if (std::abs(*param.deviation) < same_below)
            param.verdict = Agreement::same;
        else if (!interval || !middle.interval)
            param.verdict = Agreement::unknown;
        else if (interval->low <= middle.interval->high && middle.interval->low <= interval->high)
            param.verdict = Agreement::noise;
        else
            param.verdict =
                std::abs(*param.deviation) <= param.tolerance ? Agreement::small : Agreement::differs;
        param.failed = param.verdict == Agreement::differs;
    }
    if (there.size() < param.values.size()) {
        // What two files of three agree on is still lacking in the third; what differs already says more.
        if (param.verdict != Agreement::differs)
            param.verdict = Agreement::lacking;
        param.failed = param.failed || there.front() == 0;
    }
}

/// y by x of one line, in one file.
using Line = std::vector<std::pair<double, double>>;

/// Points of `lines`, one line for each file, at the x that all of them have.
void compare_lines(ComparedCurve &curve, const std::string &series, const std::vector<Line> &lines) {
    for (const Line::value_type &point : lines.front()) {
        const double x = point.first, y = point.second;
        double low = y, high = y;
        const bool common = std::all_of(lines.begin() + 1, lines.end(), [&](const Line &line) {
            const auto same = std::find_if(line.begin(), line.end(), [x](const auto &other) {
                return std::abs(other.first - x) <= 1e-9 * std::abs(x);
            });
            if (same == line.end())
                return false;
            low = std::min(low, same->second);
            high = std::max(high, same->second);
            return true;
        });
        if (!common || !(low > 0.0))
            continue;
        ++curve.common_points;
        if (!curve.largest_ratio || high / low > *curve.largest_ratio) {
            curve.largest_ratio = high / low;
            curve.at_x = x;
            curve.series = series;
        }
    }
}

Line line_of(const std::vector<double> &x, const std::vector<double> &y) {
    Line line;
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
        line.emplace_back(x[i], y[i]);
    return line;
}

/// Absent unless every file has the curve.
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
        std::vector<Line> lines;
        for (const Curve *curve : curves)
            for (const CurveSeries &series : curve->series)
                if (series.name == first.name) {
                    lines.push_back(line_of(series.x, series.y));
                    break;
                }
        if (lines.size() == curves.size())
            compare_lines(compared, curves.front()->series.size() > 1 ? first.name : "", lines);
    }
    return compared;
}

/// Those of bytes in flight first.
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

void compare_surroundings(std::span<const NamedProfile> profiles, ProfileComparison &comparison) {
    for_each_limit([&](auto member) {
        ComparedLimit limit{member.name, {}};
        for (const NamedProfile &named : profiles)
            limit.values.push_back(named.profile.limits.*member.pointer);
        if (std::any_of(limit.values.begin(), limit.values.end(),
                        [&](std::int64_t value) { return value != limit.values.front(); }))
            comparison.limits.push_back(std::move(limit));
    });
    std::set<std::string> names;
    for (const NamedProfile &named : profiles)
        for (const auto &[name, value] : named.profile.conditions)
            names.insert(name);
    names.erase("date"); // stands with the file's name
    for (const std::string &name : names) {
        ComparedCondition condition{name, {}};
        for (const NamedProfile &named : profiles) {
            const auto found = named.profile.conditions.find(name);
            condition.values.push_back(found == named.profile.conditions.end() ? "" : found->second);
        }
        if (std::any_of(condition.values.begin(), condition.values.end(),
                        [&](const std::string &value) { return value != condition.values.front(); }))
            comparison.conditions.push_back(std::move(condition));
    }
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

ProfileComparison compare_profiles(std::span<const NamedProfile> profiles, const CompareOptions &options) {
    ProfileComparison comparison;
    const auto wanted = [&](const std::string &name) {
        return options.only.empty() ||
               std::find(options.only.begin(), options.only.end(), name) != options.only.end();
    };
    for (const NamedProfile &named : profiles) {
        const GpuProfile &profile = named.profile;
        const auto date = profile.conditions.find("date");
        comparison.files.push_back({named.file, profile.id, profile.name, profile.compute_capability,
                                    date == profile.conditions.end() ? "" : date->second});
    }
    for_each_param([&](auto member) {
        ComparedParam compared;
        compared.name = member.name;
        compared.tolerance = options.tolerance.value_or(
            compared.name.ends_with("_latency") ? default_latency_tolerance : default_tolerance);
        bool any = false;
        for (const NamedProfile &named : profiles) {
            const auto &param = named.profile.*member.pointer;
            compared.unit = UnitOf<std::decay_t<decltype(param->value)>>::text;
            ComparedValue &value = compared.values.emplace_back();
            if (param) {
                any = true;
                value.value = param->value.value;
                value.interval = param->interval;
            } else {
                const auto why = named.profile.missing.find(compared.name);
                value.missing =
                    why == named.profile.missing.end() ? "the profile gives no reason" : why->second;
            }
        }
        if (!any || !wanted(compared.name))
            return;
        judge(compared);
        comparison.passed = comparison.passed && !compared.failed;
        comparison.params.push_back(std::move(compared));
    });
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
    return comparison;
}

template const described::Type &described::type_of<ProfileComparison>();

} // namespace convcast
