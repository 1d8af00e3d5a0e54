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

/// What stands between the separators: "a,,b" is "a", "" and "b"; "" is one empty part.
std::vector<std::string> split(std::string_view text, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);

/// The lines of a text, without their line breaks, as long as the text is there. Nothing follows the last
/// one.
std::vector<std::string_view> lines_of(std::string_view text);

/// As split, but for separators in parentheses or between backticks, and without blanks around each part.
/// With `also_inside` parentheses hold nothing together.
std::vector<std::string> split_outside(std::string_view text, char separator, bool also_inside = false);

/// Without blanks at both ends.
std::string_view trimmed(std::string_view text);

/// The number that a text is, all of it; absent where it is none, or none that the type holds.
template <class Number> std::optional<Number> number_of(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Bytes of the character that a text, which is not empty, begins with; 0 where it begins with none.
std::size_t character_bytes(std::string_view text);
bool is_utf8(std::string_view text);

} // namespace convcast
