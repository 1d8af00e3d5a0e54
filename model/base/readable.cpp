#include "model/base/readable.hpp"

#include "model/base/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

namespace convcast {
namespace {

struct Prefix {
    double size;
    const char *text;
};

constexpr std::array<Prefix, 5> binary = {
    {{1.0, ""}, {1024.0, "Ki"}, {1048576.0, "Mi"}, {1073741824.0, "Gi"}, {1099511627776.0, "Ti"}}};
constexpr std::array<Prefix, 8> decimal = {
    {{1e-12, "p"}, {1e-9, "n"}, {1e-6, "u"}, {1e-3, "m"}, {1.0, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}}};
constexpr double tera = 1e12;

} // namespace

ReadableUnit readable_unit(double value, std::string_view unit) {
    const double size = std::abs(value);
    if (unit == "B") {
        Prefix best = binary[0];
        for (const Prefix &prefix : binary)
            if (size >= prefix.size)
                best = prefix;
        return {best.size, std::string(best.text) + "B"};
    }
    if (unit == "s" || unit == "Hz" || unit == "B/s") {
        if (size == 0.0 || !std::isfinite(size))
            return {1.0, std::string(unit)};
        if (unit != "s" && size >= tera)
            return {tera, "T" + std::string(unit)};
        Prefix best = decimal[0];
        for (const Prefix &prefix : decimal)
            if (size >= prefix.size && (unit != "s" || prefix.size <= 1.0))
                best = prefix;
        return {best.size, best.text + std::string(unit)};
    }
    return {1.0, unit == "1" ? "" : std::string(unit)};
}

std::string short_number(double value) {
    const double size = std::abs(value);
    if (value == std::round(value) && size < 1e6)
        return fmt::format("{:.0f}", value);
    if (size >= 1e6 || size < 0.9995)
        return fmt::format("{:.4g}", value);
    const int digits = size >= 999.95 ? 0 : size >= 99.995 ? 1 : size >= 9.9995 ? 2 : 3;
    return fmt::format("{:.{}f}", value, digits);
}

std::string readable(double value, std::string_view unit) {
    const ReadableUnit in = readable_unit(value, unit);
    return short_number(value / in.size) + (in.text.empty() ? "" : " " + in.text);
}

bool is_printable(std::string_view text) {
    constexpr std::size_t longest = 200;
    return !text.empty() && text.size() <= longest && std::all_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte >= 0x20 && byte != 0x7f;
    });
}

bool is_id(std::string_view text) {
    constexpr std::size_t longest = 60;
    return !text.empty() && text.size() <= longest && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
}

std::string expected_id(std::string_view example, std::string_view found) {
    return fmt::format("expected 1 to 60 small letters, digits and _, for example \"{}\", found {}", example,
                       found.empty() || is_printable(found)
                           ? '"' + shortened(found) + '"'
                           : std::string("other characters or more of them"));
}

} // namespace convcast
