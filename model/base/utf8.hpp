// Characters of UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace convcast {

/// Bytes of the character that a text, which is not empty, begins with; 0 where it begins with none.
std::size_t character_bytes(std::string_view text);
bool is_utf8(std::string_view text);

} // namespace convcast
