// Documents and examples that lie beside an installed program, by the paths that help and docs give them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace convcast::cli {

/// Where the program that runs lies.
std::filesystem::path program_folder();

/// The path itself, or, where it names no file here but one that was installed, such as
/// data/recorded/h200/sweep.json.gz or examples/own_kernel/four_filters.json, the path of that one.
std::string shipped_file(const std::string &path);

/// The folder that help and messages mean by docs/: in the working directory or as installed.
std::optional<std::string> shipped_docs();

/// The recorded Run documents, by paths that shipped_file takes. Empty where none lie here or are installed.
std::vector<std::string> shipped_recordings();

} // namespace convcast::cli
