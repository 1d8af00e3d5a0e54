// Numbers for people: a prefix that fits, four digits.
#pragma once

#include <string>
#include <string_view>

namespace convcast {

/// A unit with its prefix, and how much of the bare unit it is: {1e12, "TB/s"}.
struct ReadableUnit {
    double size = 1.0;
    std::string text;
};

/// The prefixed unit in which `value`, given in `unit` (as in UnitOf), is from 1 to 1000. Bytes have binary
/// prefixes, seconds, hertz and bytes a second decimal ones; "us" is ASCII; the unit "1" has an empty text,
/// others have none.
ReadableUnit readable_unit(double value, std::string_view unit);

/// Four significant digits, without an exponent from 0.0001 to a million; whole numbers below that as they
/// are.
std::string short_number(double value);

/// "4.641 TB/s", "228 KiB", "32"
std::string readable(double value, std::string_view unit);

/// Whether a file's text may stand in a sentence: not empty, at most 200 bytes, no control characters.
bool is_printable(std::string_view text);

} // namespace convcast
