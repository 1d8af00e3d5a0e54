// Recorded runs that ship inside the binary, packed as they are in data/recorded.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

struct EmbeddedBytes {
    std::string_view path; ///< relative to the project
    std::vector<std::string_view> pieces;
};

/// The bytes of such a file; absent where it does not ship.
std::optional<std::string> recording(std::string_view path);

} // namespace convcast
