// A page of docs/cli, read: what --help prints is also what the manual pages and the completion are made
// from.
#pragma once

#include <string>
#include <vector>

namespace convcast::cli {

struct HelpOption {
    std::vector<std::string> names; ///< {"-o", "--output"}; empty for a word such as RUN
    std::string value;              ///< "NAME|FILE", or the word itself; "" for a flag
    std::string text;
};

struct HelpBlock {
    bool verbatim = false; ///< commands or a table, to be kept line by line
    std::string text;
};

struct HelpPage {
    std::string verb, title;       ///< "predict", "what a convolution will do on a GPU, and why"
    std::string commands;          ///< the examples at the head of the page
    std::vector<HelpBlock> blocks; ///< what follows them, up to the options
    std::vector<HelpOption> options;
};

/// Requires a verb that main's table has.
HelpPage help_page(const std::string &verb);

/// "--output"; "" for a word such as RUN.
std::string long_option(const HelpOption &option);

} // namespace convcast::cli
