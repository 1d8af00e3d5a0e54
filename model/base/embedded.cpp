#include "model/base/embedded.hpp"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

std::string join_text(std::initializer_list<std::string_view> pieces) {
    std::string text;
    for (const std::string_view piece : pieces)
        text += piece;
    return text;
}

const EmbeddedFile *find_embedded(const std::vector<EmbeddedFile> &files, std::string_view name) {
    for (const EmbeddedFile &file : files) {
        const std::string_view path = file.path;
        if (path == name || path.ends_with("/" + std::string(name)))
            return &file;
    }
    return nullptr;
}

} // namespace convcast
