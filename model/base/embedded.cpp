#include "model/base/embedded.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

const EmbeddedFile *find_embedded(const std::vector<EmbeddedFile> &files, std::string_view name) {
    for (const EmbeddedFile &file : files)
        if (file.path == name || file.path.ends_with("/" + std::string(name)))
            return &file;
    return nullptr;
}

std::string hashed_text(std::string_view text) {
    constexpr std::string_view include = "#include \"model/";
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = std::min(text.find(include, at), text.size());
        std::size_t end = std::min(begin + include.size(), text.size());
        out += text.substr(at, end - at);
        const std::size_t folder =
            std::min(text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", end), text.size());
        if (folder > end && folder < text.size() && text[folder] == '/')
            end = folder + 1;
        at = end;
    }
    return out;
}

} // namespace convcast
