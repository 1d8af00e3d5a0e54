#include "cli/help_page.hpp"

#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "model/base/embedded.hpp"
#include "model/base/errors.hpp"

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> help_files;

namespace cli {
namespace {

constexpr std::size_t page_indent = 4; // of commands and options

/// The page without its options.
std::string prose_of(const std::string &verb) {
    const std::string page = find_embedded(help_files, verb + ".md")->text();
    return page.substr(0, page.find("Options:\n"));
}

HelpBlock block_of(const std::vector<std::string> &lines) {
    HelpBlock block{lines.front().starts_with(std::string(page_indent, ' ')), ""};
    for (const std::string &line : lines)
        block.text += (block.verbatim ? line.substr(page_indent) : line) + "\n";
    return block;
}

/// "-o, --output FILE"; of a word what it stands for.
std::string head_of(const Option &option) {
    const std::string names = join(names_of(option));
    return names + (names.empty() || option.value.empty() ? "" : " ") + option.value;
}

} // namespace

HelpPage help_page(const std::string &verb) {
    HelpPage page;
    std::istringstream lines(prose_of(verb) + "\n");
    std::vector<std::string> piece; // lines between two blank ones
    for (std::string line; std::getline(lines, line);) {
        if (!line.empty()) {
            piece.push_back(line);
            continue;
        }
        if (piece.empty())
            continue;
        if (piece.front().starts_with("# "))
            page.title = piece.front().substr(piece.front().find(": ") + 2);
        else if (page.commands.empty())
            page.commands = block_of(piece).text;
        else
            page.blocks.push_back(block_of(piece));
        piece.clear();
    }
    return page;
}

bool has_help(const std::string &verb) {
    return find_embedded(help_files, verb + ".md") != nullptr;
}

std::string help_text(const std::string &verb) {
    constexpr std::size_t page_width = 130, gap = 2;
    const std::vector<const Option *> options = options_of(verb);
    std::size_t widest = 0;
    for (const Option *option : options)
        widest = std::max(widest, head_of(*option).size());
    std::string text = prose_of(verb) + "Options:\n\n";
    for (const Option *option : options)
        text += headed(std::string(page_indent, ' ') + head_of(*option), option->help,
                       page_indent + widest + gap, page_width);
    return text;
}

std::vector<std::string> names_of(const Option &option) {
    std::vector<std::string> names;
    if (!option.letter.empty())
        names.push_back("-" + option.letter);
    if (option.takes != Takes::word)
        names.push_back(option.dashed());
    return names;
}

} // namespace cli
} // namespace convcast
