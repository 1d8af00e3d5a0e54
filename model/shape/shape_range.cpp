#include "model/shape/shape_range.hpp"

#include "model/base/errors.hpp"
#include "model/base/text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {
namespace {

constexpr std::size_t most_values = 10000; // more than anybody asks for: a typing error costs no more
/// As large as ConvShape::validate lets a size be. A number that is no larger plus a step is inside 64 bits.
constexpr std::int64_t largest = std::int64_t{1} << 40;

/// A name that a range may have, and the sizes that it sets: "str" sets both strides.
struct RangedSize {
    const char *name;
    std::vector<std::int64_t ConvShape::*> sizes;
};
const std::vector<RangedSize> &ranged_sizes() {
    static const std::vector<RangedSize> all = {{"n", {&ConvShape::n}},
                                                {"c", {&ConvShape::c}},
                                                {"h", {&ConvShape::h}},
                                                {"w", {&ConvShape::w}},
                                                {"k", {&ConvShape::k}},
                                                {"r", {&ConvShape::r}},
                                                {"s", {&ConvShape::s}},
                                                {"str", {&ConvShape::stride_h, &ConvShape::stride_w}},
                                                {"pad", {&ConvShape::pad_h, &ConvShape::pad_w}},
                                                {"dil", {&ConvShape::dilation_h, &ConvShape::dilation_w}},
                                                {"g", {&ConvShape::groups}}};
    return all;
}

/// The text that number_list reads, and what its numbers are for.
struct NumberText {
    const std::string &text, &what;

    [[noreturn]] void reject(const std::string &why) const {
        throw UsageError(what + " '" + shortened(text) + "': " + why +
                         ". Examples: 28:224:28 (from, to, step), 16:1024:*2 (from, to, factor), 32,64,132");
    }

    /// The number that `part` is, from `least` to `largest`; any other text throws UsageError.
    std::int64_t whole_number_from(std::int64_t least, std::string_view part) const {
        const std::optional<std::int64_t> value = number_of<std::int64_t>(part);
        if (!value || *value < least || *value > largest)
            reject("expected an integer from " + std::to_string(least) + " to " + std::to_string(largest) +
                   ", got '" + shortened(part) + "'");
        return *value;
    }
};

} // namespace

std::vector<std::int64_t> number_list(const std::string &text, const std::string &what) {
    const NumberText given{text, what};
    const std::vector<std::string> ends = split(text, ':');
    std::vector<std::int64_t> values;
    if (ends.size() == 1) {
        for (const std::string &part : split(text, ','))
            values.push_back(given.whole_number_from(0, part));
        if (values.size() > most_values)
            given.reject("more than " + std::to_string(most_values) + " values");
        return values;
    }
    if (ends.size() != 3)
        given.reject("expected from:to:step");
    const std::int64_t from = given.whole_number_from(1, ends[0]),
                       to = given.whole_number_from(from, ends[1]);
    const bool factor = ends[2].starts_with('*'); // a factor of 1 would never reach the end
    const std::int64_t step =
        given.whole_number_from(factor ? 2 : 1, std::string_view(ends[2]).substr(factor ? 1 : 0));
    for (std::int64_t value = from; value <= to; value = factor ? value * step : value + step) {
        if (values.size() == most_values)
            given.reject("more than " + std::to_string(most_values) + " values");
        values.push_back(value);
        if (factor && value > largest / step) // the product is beyond `to`, and may be beyond 64 bits
            break;
    }
    return values;
}

ShapeRange ShapeRange::parse(const std::string &text) {
    std::vector<std::string> parts = split(text, '=');
    const std::string example = " Example: --sweep h=w=28:224:28";
    if (parts.size() < 2)
        throw UsageError("--sweep '" + shortened(text) + "': expected a size's name, = and its values." +
                         example);
    ShapeRange range;
    range.values = number_list(parts.back(), "--sweep: the values");
    parts.pop_back();
    std::vector<std::string> known;
    for (const RangedSize &size : ranged_sizes())
        known.emplace_back(size.name);
    for (const std::string &name : parts) {
        if (std::find(known.begin(), known.end(), name) == known.end())
            throw UsageError("--sweep '" + shortened(text) + "': a shape has no size '" + shortened(name) +
                             "'; it has " + join(known) + "." + example);
        if (std::find(range.names.begin(), range.names.end(), name) != range.names.end())
            throw UsageError("--sweep '" + shortened(text) + "': '" + name + "' stands twice." + example);
        range.names.push_back(name);
    }
    return range;
}

std::vector<ConvShape> swept(const std::vector<ConvShape> &shapes, const ShapeRange &range) {
    std::vector<ConvShape> all;
    for (const ConvShape &shape : shapes)
        for (const std::int64_t value : range.values) {
            ConvShape &next = all.emplace_back(shape);
            for (const auto &[name, sizes] : ranged_sizes())
                if (std::find(range.names.begin(), range.names.end(), name) != range.names.end())
                    for (const auto size : sizes)
                        next.*size = value;
            try {
                next.validate();
            } catch (const UsageError &error) {
                throw UsageError("--sweep " + join(range.names, "=") + "=" + std::to_string(value) + ": " +
                                 error.what());
            }
        }
    return all;
}

} // namespace convcast
