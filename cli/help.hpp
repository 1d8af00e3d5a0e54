// What the table of options says to people and shells: --help, the manual pages and completion.
#pragma once

#include <string>
#include <vector>

namespace convcast::cli {

/// Whether there is such a verb.
bool has_help(const std::string &verb);

/// What --help prints of a verb, docs/cli/<verb>.md: its page up to the options, then those of the table.
std::string help_text(const std::string &verb);

/// convcast(1) for "convcast", convcast-VERB(1) for a verb, as roff. Throws UsageError for any other name.
std::string manual_page(const std::string &name);

/// The script by which "bash", "zsh" or "fish" completes a command line: it asks convcast what may stand
/// where the user types.
std::string completion(const std::string &shell);

/// The verb by which these scripts ask; users do not type it.
inline constexpr const char *completion_verb = "__complete";

/// What may stand in the place of the last of `words`, all words behind "convcast": for each a line with the
/// word, a tab and what it means; then ":files" or ":folders" where the shell is to offer these too.
std::string completions_of(const std::vector<std::string> &words);

} // namespace convcast::cli
