// What makes a shell complete the command line: verbs, options, and the names that ship.
#pragma once

#include <string>
#include <vector>

namespace convcast::cli {

/// The script for "bash", "zsh" or "fish": it asks convcast what may stand where the user types. Throws
/// UsageError for any other shell.
std::string completion(const std::string &shell);

/// The verb that such a script asks by; it is no verb of the user's.
inline constexpr const char *completion_verb = "__complete";

/// What may stand last in a command line, of which `words` are those behind "convcast": for each a line with
/// the word, a tab and what it means; then ":files" or ":folders" where the shell's own may stand there too.
std::string completions_of(const std::vector<std::string> &words);

} // namespace convcast::cli
