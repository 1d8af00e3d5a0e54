// What --help and the manual say of a verb: its page of docs/cli up to the options, then those of the table.
#pragma once

#include <string>
#include <vector>

namespace convcast::cli {

struct Option;

struct HelpBlock {
    bool verbatim = false; ///< commands or a table, to be kept line by line
    std::string text;
};

/// A page as the manual has it.
struct HelpPage {
    std::string title;             ///< "what a convolution will do on a GPU, and why"
    std::string commands;          ///< the examples at the head of the page
    std::vector<HelpBlock> blocks; ///< what follows them, up to the options
};

/// Requires a verb that main's table has.
HelpPage help_page(const std::string &verb);

/// Whether there is such a verb.
bool has_help(const std::string &verb);

/// docs/cli/<verb>.md.
std::string help_text(const std::string &verb);

/// convcast(1) for "convcast", convcast-VERB(1) for a verb, as roff. Throws UsageError for any other name.
std::string manual_page(const std::string &name);

/// As typed: {"-o", "--output"}; of a word none.
std::vector<std::string> names_of(const Option &option);

} // namespace convcast::cli
