// Documents and examples that lie beside an installed program, by the paths that help and docs give them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace convcast::cli {

/// The folder in which the running program lies.
std::filesystem::path program_folder();

/// The path itself, or, where it names no file here but an installed one, such as
/// data/recorded/h200/sweep.json.gz or examples/own_kernel/four_filters.json, the path of that.
std::string shipped_file(const std::string &path);

/// The folder that help and messages call docs/, here or as installed; absent where it is neither.
std::optional<std::string> shipped_docs();

/// The recorded Run documents in the working directory and as installed, by paths that shipped_file takes.
std::vector<std::string> shipped_recordings();

} // namespace convcast::cli
