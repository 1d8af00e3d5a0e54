// Texts taken apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// ASCII letters in lower case; all else as it is.
std::string lower(std::string_view text);

/// What stands between the separators: "a,,b" is "a", "" and "b"; "" is one empty part.
std::vector<std::string> split(std::string_view text, char separator);

} // namespace convcast
