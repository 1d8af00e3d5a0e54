// Writes numbers for people: three or four digits, and a unit with a prefix that fits.
#pragma once

#include "model/base/units.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace convcast {

/// A unit with its prefix, and how much of the bare unit it is: {1e12, "TB/s"}.
struct ReadableUnit {
    double size = 1.0;
    std::string text;
};

/// The prefixed unit in which `value`, given in `unit` (as in UnitOf), is from 1 to 1000. Bytes have binary
/// prefixes, seconds, hertz, bytes a second and operations decimal ones; "us" is ASCII; the unit "1" has an
/// empty text, others have none.
ReadableUnit readable_unit(double value, std::string_view unit);

/// Four significant digits, without an exponent from 0.0001 to a million; all digits of a whole number.
std::string short_number(double value);

/// "4.641 TB/s", "228 KiB", "32"
std::string readable(double value, std::string_view unit);

/// "1.23", "12.3", "123": three digits without an exponent, of a number that is not negative.
std::string three_digits(double value);

/// "66,048"
std::string grouped(long long number);
/// "1 row", "2,048 rows": `what` is the singular.
std::string count_text(long long count, const char *what);

/// "12.3 us", "4.56 ms": three digits with a unit.
std::string short_time(Seconds time);
/// A unit for a column of times.
struct TimeUnit {
    double seconds = 1e-6;
    std::string name = "us";
};
/// The unit of a column whose shortest time is given: us, ms or s.
TimeUnit time_unit(Seconds shortest);
/// A time in such a unit, without its name: "12.3", "1,234".
std::string number_in(const TimeUnit &unit, Seconds time);
/// A time in µs with three digits and without the unit, as pages and figures have it.
std::string microseconds(Seconds time);

/// "12.3 KiB": three digits.
std::string short_bytes(double bytes);

/// "9.5 %" for the share 0.095, with so many digits behind the point.
std::string percent_text(double share, int digits);
/// "+9.5 %" for the share 0.095; "-0.0 %" for a small negative one.
std::string change_text(double share, int digits);
/// "+4.2 %", "−10.1 %", "±0.0 %" for shares on pages and figures: a true minus, and no break before the unit.
std::string signed_percent(double share);
/// "1.39×"
std::string times(double ratio);

/// A unit whose ending "us" is written "µs", for texts that are not bound to ASCII.
std::string with_micro(std::string text);

/// Whether a file's text may stand in a sentence: not empty, at most 200 bytes, no control characters.
bool is_printable(std::string_view text);

/// Bytes that an id may have. Chosen.
inline constexpr std::size_t longest_id = 60;
/// Whether a text may be the id of what a document describes: 1 to 60 small letters, digits and _. Ids name
/// files, members of archives and parts of pages, so that each reader of a document with one asks this.
bool is_id(std::string_view text);

/// The message: "expected 1 to 60 small letters, digits and _, for example "vgg16", found "a/b"".
std::string expected_id(std::string_view example, std::string_view found);

} // namespace convcast
