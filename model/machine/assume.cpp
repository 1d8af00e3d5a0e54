#include "model/machine/assume.hpp"

#include "model/base/errors.hpp"
#include "model/base/readable.hpp"
#include "model/base/text.hpp"
#include "model/machine/each_number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace convcast {
namespace {

// Param::by of numbers that the two options gave. Behind by_set stand a blank and what is to be said of the
// number; a limit has no `by`, so its text is a note of the profile.
constexpr const char *by_assume = "--assume";
constexpr const char *by_set = "--set";

/// The sentence on a number that --assume gave.
std::string said_of(const std::string &name, double value, const char *unit) {
    return fmt::format("{} {}: assumed, not known of this GPU", name, readable(value, unit));
}

/// Whether a number's interval is the range that it may lie in, and not one of samples.
template <class Q> bool has_range(const std::optional<Param<Q>> &field) {
    return field && field->interval && field->source != Source::measured && field->source != Source::driver;
}

/// The factor of a unit behind a number: 1e12 of "TB/s" if `unit` is "B/s", 1 of "B/s" and ""; else 0.
double factor_of(std::string_view behind, std::string_view unit) {
    constexpr std::pair<char, double> prefixes[] = {{'k', 1e3},  {'M', 1e6},  {'G', 1e9}, {'T', 1e12},
                                                    {'m', 1e-3}, {'u', 1e-6}, {'n', 1e-9}};
    while (behind.starts_with(' '))
        behind.remove_prefix(1);
    if (behind.empty() || behind == unit)
        return 1.0;
    for (const auto &[letter, factor] : prefixes)
        if (behind.front() == letter && behind.substr(1) == unit)
            return factor;
    return 0.0;
}

/// What --set was given, "NAME=x2", "NAME=9e12" or "NAME=9 TB/s", in parts.
struct Setting {
    std::string name, number;
    bool scales = false; ///< an x stands at one end of the number, which is a factor then

    explicit Setting(const std::string &text) {
        const std::size_t equals = std::min(text.find('='), text.size());
        name = text.substr(0, equals);
        number = text.substr(std::min(equals + 1, text.size()));
        scales = number.starts_with('x') || number.ends_with('x'); // x2 and 2x
        if (scales)
            number.erase(number.starts_with('x') ? 0 : number.size() - 1, 1);
    }

    [[noreturn]] void reject(const std::string &why) const {
        throw UsageError("--set " + shortened(name) + ": " + why +
                         ". Examples: --set dram_read_bandwidth=x2, --set sm_clock=1.5e9");
    }

    /// The new value of a number that is `now`, in `unit`. Throws UsageError if it is not from `low` to
    /// `high`, or the text is no number of that unit; a factor has no unit.
    double new_value(double now, double low, double high, std::string_view unit) const {
        double value = 0.0;
        const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
        const double factor = error == std::errc{} && !scales
                                  ? factor_of({end, number.data() + number.size()}, unit)
                              : end == number.data() + number.size() ? 1.0
                                                                     : 0.0;
        value *= factor;
        const bool read = error == std::errc{} && factor > 0.0;
        if (const double result = scales ? now * value : value; read && result >= low && result <= high)
            return result;
        reject(fmt::format("expected x and a factor, or a number from {} to {} in {}, got '{}'{}", low, high,
                           unit, shortened((scales ? "x" : "") + number),
                           read && scales ? fmt::format(", of {}", now) : ""));
    }

    /// The sentence on the number, given its old and its new value as text.
    std::string said(const std::string &before, const std::string &after) const {
        return fmt::format("{} {}: supposed{}, where the profile has {}", name, after,
                           scales ? ", x" + number : "", before);
    }
};

/// Scales the sweep over outer products, which the forecast of large tiles reads.
void scale_outer_products(GpuProfile &profile, double factor) {
    const auto found = profile.curves.find("ffma_by_operands");
    if (found == profile.curves.end())
        return;
    for (CurveSeries &series : found->second.series)
        for (std::vector<double> *values : {&series.y, &series.low, &series.high})
            for (double &value : *values)
                value *= factor;
}

/// Sets the limit of the chip that the setting names, an integer; returns whether there is such a limit.
/// Throws UsageError if the limits then contradict each other.
bool set_limit(GpuProfile &profile, const Setting &setting) {
    bool found = false;
    for_each_limit([&](auto member) {
        if (setting.name != member.name)
            return;
        found = true;
        auto &field = profile.limits.*member.pointer;
        using Number = std::decay_t<decltype(field)>;
        const auto before = static_cast<double>(field);
        constexpr Range allowed = GpuLimits::range_of(member.name);
        const double after = setting.new_value(before, allowed.low, allowed.high, "units");
        field = static_cast<Number>(std::llround(after));
        if (static_cast<double>(field) == before)
            return; // x1 supposes nothing
        profile.notes.push_back(
            std::string(by_set) + " " +
            setting.said(fmt::format("{:.0f}", before), fmt::format("{:.0f}", static_cast<double>(field))));
    });
    if (found)
        profile.limits.check([&](const std::string &field, const std::string &why) {
            setting.reject(field == setting.name ? why : "with it " + field + " is wrong: " + why);
        });
    return found;
}

} // namespace

void set_number(GpuProfile &profile, const std::string &text) {
    const Setting setting(text);
    std::vector<std::string> known;
    bool found = set_limit(profile, setting);
    for_each_param(profile, [&](const char *name, auto &field) {
        using Q = decltype(field->value);
        if (field)
            known.emplace_back(name);
        if (setting.name != name)
            return;
        found = true;
        const char *unit = UnitOf<Q>::text;
        if (!field)
            setting.reject("the profile " + profile.id + " lacks it; --assume gives what is lacking");
        constexpr Range allowed = plausible<Q>();
        const double before = field->value.value,
                     after = setting.new_value(before, allowed.low, allowed.high, unit);
        if (after == before)
            return; // x1 supposes nothing
        field = {}; // so that spread and interval go
        auto &number = field.emplace();
        number.value = Q(after);
        number.source = Source::assumed;
        number.by = std::string(by_set) + " " + setting.said(readable(before, unit), readable(after, unit));
        if (setting.name == "ffma_outer_rate")
            scale_outer_products(profile, after / before);
    });
    if (!found)
        throw UsageError(
            "--set: a profile has no number '" + shortened(setting.name) + "'" +
            did_you_mean(setting.name, known) +
            " Example: --set dram_read_bandwidth=x2. All numbers: convcast list --schema profile");
}

std::vector<std::string> numbers_to_set() {
    std::vector<std::string> names;
    GpuProfile profile;
    for_each_param(profile, [&](const char *name, const auto &) { names.emplace_back(name); });
    for_each_limit([&](auto member) { names.emplace_back(member.name); });
    return names;
}

bool is_supposed(const GpuProfile &profile) {
    bool found = std::any_of(profile.notes.begin(), profile.notes.end(),
                             [](const std::string &note) { return note.starts_with(by_set); });
    for_each_param(profile, [&](const char *, const auto &field) {
        found = found || (field && field->by.starts_with(by_set));
    });
    return found;
}

std::string assume(GpuProfile &profile, const std::string &text) {
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string name = text.substr(0, equals), number = text.substr(std::min(equals + 1, text.size()));
    std::vector<std::string> known;
    std::string said;
    for_each_param(profile, [&](const char *of_field, auto &field) {
        using Q = decltype(field->value);
        known.emplace_back(of_field);
        if (name != of_field)
            return;
        const char *unit = UnitOf<Q>::text;
        if (field && (field->source != Source::assumed || field->by == by_assume))
            throw UsageError(fmt::format("--assume {}: the profile {} has it, {}; only what a profile lacks, "
                                         "or itself assumes, is assumed",
                                         name, profile.id, readable(field->value.value, unit)));
        constexpr Range allowed = plausible<Q>();
        const std::optional<double> value = number_of<double>(number);
        if (!value || !(*value >= allowed.low && *value <= allowed.high))
            throw UsageError(
                fmt::format("--assume {}: expected a number from {} to {} in {}, got '{}'. Example: "
                            "--assume launch_floor=5e-6",
                            name, allowed.low, allowed.high, unit, number));
        auto &assumed = field.emplace();
        assumed.value = Q(*value);
        assumed.source = Source::assumed;
        assumed.by = by_assume;
        profile.missing.erase(name);
        said = said_of(name, *value, unit);
    });
    if (said.empty())
        throw UsageError("--assume: a profile has no number '" + name + "'" + did_you_mean(name, known) +
                         " Example: --assume launch_floor=5e-6. All numbers: convcast list --schema profile");
    return said;
}

std::vector<std::string> assumed_of(const GpuProfile &profile) {
    std::vector<std::string> said;
    for_each_param(profile, [&](const char *name, const auto &field) {
        if (field && field->source == Source::assumed && field->by == by_assume)
            said.push_back(said_of(name, field->value.value, UnitOf<decltype(field->value)>::text));
        else if (field && field->by.starts_with(by_set))
            said.push_back(field->by.substr(std::string_view(by_set).size() + 1));
        else if (has_range(field)) {
            const char *unit = UnitOf<decltype(field->value)>::text;
            said.push_back(fmt::format("{} {}, in {} to {}: {}, {}", name, readable(field->value.value, unit),
                                       readable(field->interval->low, unit),
                                       readable(field->interval->high, unit),
                                       boost::describe::enum_to_string(field->source, "?"), field->by));
        }
    });
    for (const std::string &note : profile.notes)
        if (note.starts_with(by_set))
            said.push_back(note.substr(std::string_view(by_set).size() + 1));
    return said;
}

std::vector<RangedNumber> ranged_numbers(const GpuProfile &profile) {
    std::vector<RangedNumber> numbers;
    for_each_param(profile, [&](const char *name, const auto &field) {
        // No GPU has a number of 0 or less, and no time can be computed with it.
        if (has_range(field) && field->interval->low > 0.0)
            numbers.push_back({name, field->interval->low, field->interval->high});
    });
    return numbers;
}

GpuProfile with_number(GpuProfile profile, const std::string &name, double value) {
    for_each_param(profile, [&](const char *of_field, auto &field) {
        if (field && name == of_field)
            field->value = decltype(field->value)(value);
    });
    return profile;
}

} // namespace convcast
