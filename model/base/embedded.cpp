#include "model/base/embedded.hpp"

#include "model/base/errors.hpp"
#include "model/base/files.hpp"

#include <algorithm>
#include <filesystem>
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

std::vector<std::string> names_of(const std::vector<EmbeddedFile> &files) {
    std::vector<std::string> names;
    for (const EmbeddedFile &file : files)
        names.push_back(std::filesystem::path(file.path).stem().string());
    return names;
}

NamedText named_file(const std::string &kind, const std::string &name,
                     const std::vector<EmbeddedFile> &shipped, const std::string &or_else) {
    const bool has_folder = name.find('/') != std::string::npos;
    if (const EmbeddedFile *file = find_embedded(shipped, name + ".json"); file != nullptr && !has_folder)
        return {file->text(), file->path, true};
    if (name != "-" && !has_folder && !name.ends_with(".json") && !file_exists(name))
        throw UsageError("unknown " + kind + " '" + name + "'" + did_you_mean(name, names_of(shipped)) +
                         " Known: " + join(names_of(shipped)) + or_else);
    return {read_file(name), shown_name(name)};
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
