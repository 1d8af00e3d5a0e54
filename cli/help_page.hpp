// What --help and the manual say of a verb: its page of docs/cli up to the options, then those of the table.
#pragma once

#include <string>
#include <vector>

namespace convcast::cli {

struct Option;

/// Whether there is such a verb.
bool has_help(const std::string &verb);

/// docs/cli/<verb>.md.
std::string help_text(const std::string &verb);

/// convcast(1) for "convcast", convcast-VERB(1) for a verb, as roff. Throws UsageError for any other name.
std::string manual_page(const std::string &name);

/// As typed: {"-o", "--output"}; of a word none.
std::vector<std::string> names_of(const Option &option);

} // namespace convcast::cli
