// Recorded runs that ship inside the binary, packed as they are in data/recorded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace convcast {

/// The bytes of such a file; absent where it does not ship.
std::optional<std::string> recording(std::string_view path);

} // namespace convcast
