#include "reports/papers/recordings.hpp"

#include "model/base/embedded.hpp"

#include <string>
#include <vector>

namespace convcast {

std::vector<EmbeddedBytes> shipped_recordings();

std::optional<std::string> recording(std::string_view path) {
    for (const EmbeddedBytes &file : shipped_recordings())
        if (file.path == path) {
            std::string bytes;
            for (const std::string_view piece : file.pieces)
                bytes += piece;
            return bytes;
        }
    return std::nullopt;
}

} // namespace convcast
