#include "cli/shipped.hpp"

#include "model/base/files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

namespace convcast::cli {
namespace {

namespace fs = std::filesystem;

/// PREFIX/share, where the program runs as PREFIX/bin/convcast.
fs::path share() {
    return program_folder().parent_path() / "share";
}

fs::path installed_folder() {
    return share() / "convcast";
}

} // namespace

fs::path program_folder() {
    std::error_code none;
    return fs::read_symlink("/proc/self/exe", none).parent_path();
}

std::string shipped_file(const std::string &path) {
    constexpr std::array folders = {"data/", "examples/", "profiles/"};
    const bool may_ship =
        std::ranges::any_of(folders, [&](const char *folder) { return path.starts_with(folder); });
    if (!may_ship || file_exists(path))
        return path;
    const std::string installed = (installed_folder() / path).string();
    return file_exists(installed) ? installed : path;
}

std::optional<std::string> shipped_docs() {
    for (const fs::path &folder : {fs::path("docs"), share() / "doc" / "convcast" / "docs"})
        if (file_exists((folder / "cli" / "predict.md").string()))
            return folder.string();
    return std::nullopt;
}

std::vector<std::string> shipped_recordings() {
    const std::string recorded = "data/recorded";
    std::set<std::string> names;
    for (const fs::path &folder : {fs::path(), installed_folder()}) {
        std::error_code none;
        for (const fs::directory_entry &gpu : fs::directory_iterator(folder / recorded, none))
            for (const fs::directory_entry &file : fs::directory_iterator(gpu.path(), none))
                if (file.path().string().ends_with(".json.gz"))
                    names.insert(recorded + "/" + gpu.path().filename().string() + "/" +
                                 file.path().filename().string());
    }
    return {names.begin(), names.end()};
}

} // namespace convcast::cli
