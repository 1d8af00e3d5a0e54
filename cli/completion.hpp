// What makes a shell complete the command line: verbs, options, and the names that ship.
#pragma once

#include <string>

namespace convcast::cli {

/// The script for "bash", "zsh" or "fish", made from the table of verbs and the pages of docs/cli. Throws
/// UsageError for any other shell.
std::string completion(const std::string &shell);

} // namespace convcast::cli
