#include "reports/papers/recordings.hpp"

#include "model/base/embedded.hpp"

#include <string>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> shipped_recordings;

std::optional<std::string> recording(std::string_view path) {
    for (const EmbeddedFile &file : shipped_recordings)
        if (file.path == path)
            return file.text();
    return std::nullopt;
}

} // namespace convcast
