// Texts taken apart, and the characters of UTF-8 in them.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace convcast {

/// ASCII letters in lower case; all else as it is.
std::string lower(std::string_view text);

/// The parts of a text between separators: "a,,b" has "a", "" and "b"; "" has one empty part.
std::vector<std::string> split(std::string_view text, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);

/// The lines of a text, into which they point, without line breaks; one at the end begins no further line.
std::vector<std::string_view> lines_of(std::string_view text);

/// As split, but separators between backticks do not count, nor do those in parentheses unless `also_inside`.
/// Parts have no blanks around them.
std::vector<std::string> split_outside(std::string_view text, char separator, bool also_inside = false);

/// The text without blanks, tabs and line breaks at both ends.
std::string_view trimmed(std::string_view text);

/// The number that the whole text is; absent if it is no number, or one that the type cannot hold.
template <class Number> std::optional<Number> number_of(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Bytes of the character of UTF-8 that a text, which is not empty, begins with; 0 if it begins with none.
std::size_t character_bytes(std::string_view text);
bool is_utf8(std::string_view text);

} // namespace convcast
