#include "model/machine/assume.hpp"

#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/readable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

namespace convcast {
namespace {

/// Calls `use(name, field)` for every Param that a profile can have.
template <class Profile, class Use> void for_each_param(Profile &profile, Use use) {
    boost::mp11::mp_for_each<described::Members<GpuProfile>>([&](auto member) {
        auto &field = profile.*member.pointer;
        using Field = std::decay_t<decltype(field)>;
        if constexpr (described::IsOptional<Field>::value)
            if constexpr (described::IsParam<typename Field::value_type>::value)
                use(member.name, field);
    });
}

constexpr const char *by_assume = "--assume";

std::string said_of(const std::string &name, double value, const char *unit) {
    return fmt::format("{} {}: assumed, not known of this GPU", name, readable(value, unit));
}

/// Whether the interval of a number is the range that it may lie in, and not that of its samples.
template <class Q> bool has_range(const std::optional<Param<Q>> &field) {
    return field && field->interval && field->source != Source::measured && field->source != Source::driver;
}

} // namespace

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
        double value = 0.0;
        const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
        if (error != std::errc{} || end != number.data() + number.size() ||
            !(value >= allowed.low && value <= allowed.high))
            throw UsageError(
                fmt::format("--assume {}: expected a number from {} to {} in {}, got '{}'. Example: "
                            "--assume launch_floor=5e-6",
                            name, allowed.low, allowed.high, unit, number));
        auto &assumed = field.emplace();
        assumed.value = Q(value);
        assumed.source = Source::assumed;
        assumed.by = by_assume;
        profile.missing.erase(name);
        said = said_of(name, value, unit);
    });
    if (said.empty())
        throw UsageError("--assume: a profile has no number '" + name + "'" + did_you_mean(name, known) +
                         " Example: --assume launch_floor=5e-6");
    return said;
}

std::vector<std::string> assumed_of(const GpuProfile &profile) {
    std::vector<std::string> said;
    for_each_param(profile, [&](const char *name, const auto &field) {
        if (field && field->source == Source::assumed && field->by == by_assume)
            said.push_back(said_of(name, field->value.value, UnitOf<decltype(field->value)>::text));
        else if (has_range(field)) {
            const char *unit = UnitOf<decltype(field->value)>::text;
            said.push_back(fmt::format("{} {}, in {} to {}: {}, {}", name, readable(field->value.value, unit),
                                       readable(field->interval->low, unit),
                                       readable(field->interval->high, unit),
                                       boost::describe::enum_to_string(field->source, "?"), field->by));
        }
    });
    return said;
}

std::vector<RangedNumber> ranged_numbers(const GpuProfile &profile) {
    std::vector<RangedNumber> numbers;
    for_each_param(profile, [&](const char *name, const auto &field) {
        // An end that is no value of a GPU would be no forecast.
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
