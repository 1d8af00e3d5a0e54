#include "cli/help_page.hpp"

#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "model/base/embedded.hpp"
#include "model/base/errors.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> help_files;

namespace cli {
namespace {

constexpr std::size_t page_indent = 4; // of commands and options

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

// ---- manual pages ----

namespace {

/// Of a verb that main's table has.
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

/// Text as roff prints it: no escape, no request at the start of a line, hyphens that can be copied.
std::string escaped(const std::string &text) {
    std::string out;
    for (const char letter : text) {
        if (letter == '\\')
            out += "\\e";
        else if (letter == '-')
            out += "\\-";
        else if ((letter == '.' || letter == '\'') && (out.empty() || out.back() == '\n'))
            out += std::string("\\&") + letter;
        else
            out += letter;
    }
    return out;
}

std::string with_newline(std::string text) {
    if (text.empty() || text.back() != '\n')
        text += '\n';
    return text;
}

std::string verbatim(const std::string &text) {
    return ".PP\n.RS 4\n.nf\n" + with_newline(escaped(text)) + ".fi\n.RE\n";
}

std::string upper(std::string text) {
    for (char &letter : text)
        letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    return text;
}

std::string head(const std::string &name, const std::string &title) {
    return ".\\\" Made from the text of --help; to change it, change docs/cli.\n.TH " + escaped(upper(name)) +
           " 1 \"\" \"convcast " + producer().version + "\" \"User Commands\"\n.SH NAME\n" +
           escaped(name + " - " + title) + "\n";
}

std::string synopsis(const std::string &verb) {
    std::string line = "\\fBconvcast " + verb + "\\fR";
    for (const Option *option : options_of(verb))
        if (option->takes == Takes::word)
            line += " [" + escaped(option->value) + "]";
    return ".SH SYNOPSIS\n" + line + " [\\fIoptions\\fR]\n";
}

std::string option_entry(const Option &option) {
    std::string names;
    for (const std::string &name : names_of(option))
        names += (names.empty() ? "\\fB" : ", \\fB") + escaped(name) + "\\fR";
    if (!option.value.empty())
        names += (names.empty() ? "\\fI" : " \\fI") + escaped(option.value) + "\\fR";
    return ".TP\n" + names + "\n" + with_newline(escaped(option.help));
}

std::string page_of_verb(const std::string &verb) {
    const HelpPage page = help_page(verb);
    std::string text = head("convcast-" + verb, page.title) + synopsis(verb);
    if (!page.blocks.empty())
        text += ".SH DESCRIPTION\n";
    for (const HelpBlock &block : page.blocks)
        text += block.verbatim ? verbatim(block.text) : ".PP\n" + escaped(block.text);
    text += ".SH OPTIONS\n";
    for (const Option *option : options_of(verb))
        text += option_entry(*option);
    return text + ".SH EXAMPLES\n" + verbatim(page.commands) + ".SH SEE ALSO\n\\fBconvcast\\fR(1)\n";
}

std::string page_of_program() {
    std::string text = head("convcast", "forecast GPU convolution kernels, run them, and compare") +
                       ".SH SYNOPSIS\n\\fBconvcast\\fR \\fIVERB\\fR [\\fIoptions\\fR]\n.PP\n"
                       "\\fBconvcast\\fR \\fIVERB\\fR \\fB\\-\\-help\\fR\n.SH DESCRIPTION\n" +
                       with_newline(escaped(program_summary())) + ".SH VERBS\n";
    std::string also;
    for (const Verb &verb : verbs()) {
        text += ".TP\n\\fB" + verb.name + "\\fR\n" + with_newline(escaped(verb.summary));
        also += (also.empty() ? "\\fBconvcast\\-" : ",\n\\fBconvcast\\-") + verb.name + "\\fR(1)";
    }
    return text + ".SH EXIT STATUS\n" + with_newline(escaped(exit_codes())) + ".SH SEE ALSO\n" + also + "\n";
}

} // namespace

std::string manual_page(const std::string &name) {
    if (name == "convcast")
        return page_of_program();
    std::vector<std::string> names = {"convcast"};
    for (const Verb &verb : verbs()) {
        if (verb.name == name)
            return page_of_verb(name);
        names.push_back(verb.name);
    }
    throw UsageError("list: no manual page of '" + name + "'" + did_you_mean(name, names) +
                     " Pages: " + join(names));
}

} // namespace cli
} // namespace convcast
