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

/// Whether a text may be the id of what a document describes: 1 to 60 small letters, digits and _. Ids name
/// files, members of archives and parts of pages, so that each reader of a document with one asks this.
bool is_id(std::string_view text);

/// What its message says: "expected 1 to 60 small letters, digits and _, for example "vgg16", found "a/b"".
std::string expected_id(std::string_view example, std::string_view found);

} // namespace convcast
