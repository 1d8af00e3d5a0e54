// Texts taken apart.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace convcast {

/// ASCII letters in lower case; all else as it is.
std::string lower(std::string_view text);

/// What stands between the separators: "a,,b" is "a", "" and "b"; "" is one empty part.
std::vector<std::string> split(std::string_view text, char separator);

/// The number that a text is, all of it; absent where it is none, or none that the type holds.
template <class Number> std::optional<Number> number_of(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

} // namespace convcast
