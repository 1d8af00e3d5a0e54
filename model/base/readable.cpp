#include "model/base/readable.hpp"

#include "model/base/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
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
    if (unit == "s" || unit == "Hz" || unit == "B/s" || unit == "FLOP") {
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
    // Each limit is where rounding to four digits carries into the next place: 999.95 becomes 1000.
    const int digits = size >= 999.95 ? 0 : size >= 99.995 ? 1 : size >= 9.9995 ? 2 : 3;
    return fmt::format("{:.{}f}", value, digits);
}

std::string readable(double value, std::string_view unit) {
    const ReadableUnit in = readable_unit(value, unit);
    return short_number(value / in.size) + (in.text.empty() ? "" : " " + in.text);
}

std::string three_digits(double value) {
    return fmt::format("{:.{}f}", value, value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
}

std::string grouped(long long number) {
    std::string digits = std::to_string(std::llabs(number));
    for (std::size_t at = digits.size(); at > 3; at -= 3)
        digits.insert(at - 3, ",");
    return number < 0 ? "-" + digits : digits;
}

std::string count_text(long long count, const char *what) {
    return grouped(count) + " " + what + (count == 1 ? "" : "s");
}

std::string short_time(Seconds time) {
    const double us = time.value / 1e-6, ms = time.value / 1e-3; // as number_in has them
    if (us < 999.5)
        return three_digits(us) + " us";
    return ms < 999.5 ? three_digits(ms) + " ms" : three_digits(time.value) + " s";
}

TimeUnit time_unit(Seconds shortest) {
    return shortest.value < 1e-3  ? TimeUnit{1e-6, "us"}
           : shortest.value < 1.0 ? TimeUnit{1e-3, "ms"}
                                  : TimeUnit{1.0, "s"};
}

std::string number_in(const TimeUnit &unit, Seconds time) {
    const double value = time.value / unit.seconds;
    return value < 99.95 ? three_digits(value) : grouped(std::llround(value));
}

std::string microseconds(Seconds time) {
    return three_digits(time.value * 1e6);
}

std::string short_bytes(double bytes) {
    std::size_t unit = 0;
    for (; bytes >= 999.5 && unit + 1 < binary.size(); ++unit)
        bytes /= 1024.0;
    return (unit == 0 ? fmt::format("{:.0f}", bytes) : three_digits(bytes)) + " " + binary[unit].text + "B";
}

std::string percent_text(double share, int digits) {
    return fmt::format("{:.{}f} %", 100.0 * share, digits);
}

std::string change_text(double share, int digits) {
    return fmt::format("{:+.{}f} %", 100.0 * share, digits);
}

std::string signed_percent(double share) {
    const std::string digits = fmt::format("{:.1f}", std::abs(share) * 100.0);
    return (digits == "0.0" ? "±" : share < 0.0 ? "−" : "+") + digits + "\u00a0%";
}

std::string times(double ratio) {
    return fmt::format("{:.{}f}×", ratio, ratio < 9.995 ? 2 : 1);
}

std::string with_micro(std::string text) {
    if (text.ends_with("us"))
        text.replace(text.size() - 2, 1, "µ");
    return text;
}

bool is_printable(std::string_view text) {
    constexpr std::size_t longest = 200;
    return !text.empty() && text.size() <= longest && std::all_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte >= 0x20 && byte != 0x7f;
    });
}

bool is_id(std::string_view text) {
    return !text.empty() && text.size() <= longest_id && std::all_of(text.begin(), text.end(), [](char c) {
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
