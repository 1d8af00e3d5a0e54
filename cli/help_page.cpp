#include "cli/help_page.hpp"

#include "cli/verbs.hpp"
#include "model/base/embedded.hpp"

#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> help_files;

namespace cli {
namespace {

constexpr std::size_t page_indent = 4; // of commands and options

bool is_indented(const std::string &line) {
    return line.compare(0, page_indent, std::string(page_indent, ' ')) == 0;
}

/// The page in pieces between blank lines.
std::vector<std::vector<std::string>> pieces_of(const std::string &text) {
    std::vector<std::vector<std::string>> pieces(1);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (!line.empty())
            pieces.back().push_back(line);
        else if (!pieces.back().empty())
            pieces.emplace_back();
    }
    if (pieces.back().empty())
        pieces.pop_back();
    return pieces;
}

HelpBlock block_of(const std::vector<std::string> &lines) {
    HelpBlock block{is_indented(lines.front()), ""};
    for (const std::string &line : lines)
        block.text += (block.verbatim ? line.substr(page_indent) : line) + "\n";
    return block;
}

/// "-o, --output FILE": names begin with a dash, the value is the word that does not.
void read_head(const std::string &head, HelpOption &option) {
    std::istringstream words(head);
    for (std::string word; words >> word;) {
        if (word.back() == ',')
            word.pop_back();
        if (word.front() == '-')
            option.names.push_back(word);
        else
            option.value = word;
    }
}

std::vector<HelpOption> options_of(const std::vector<std::string> &lines) {
    std::vector<HelpOption> options;
    for (const std::string &line : lines) {
        const std::size_t start = line.find_first_not_of(' ');
        if (start > page_indent && !options.empty()) { // the text above goes on
            options.back().text += " " + line.substr(start);
            continue;
        }
        const std::size_t gap = line.find("  ", start);
        HelpOption option;
        read_head(line.substr(start, gap - start), option);
        if (gap != std::string::npos)
            option.text = line.substr(line.find_first_not_of(' ', gap));
        options.push_back(option);
    }
    return options;
}

} // namespace

HelpPage help_page(const std::string &verb) {
    HelpPage page;
    page.verb = verb;
    bool options_follow = false;
    for (const std::vector<std::string> &lines : pieces_of(find_embedded(help_files, verb + ".md")->text)) {
        if (lines.front().compare(0, 2, "# ") == 0)
            page.title = lines.front().substr(lines.front().find(": ") + 2);
        else if (lines.front() == "Options:")
            options_follow = true;
        else if (options_follow)
            page.options = options_of(lines);
        else if (page.commands.empty())
            page.commands = block_of(lines).text;
        else
            page.blocks.push_back(block_of(lines));
    }
    return page;
}

std::string long_option(const HelpOption &option) {
    return option.names.empty() ? std::string() : option.names.back();
}

} // namespace cli
} // namespace convcast
