#include "cli/manual.hpp"

#include "cli/help_page.hpp"
#include "cli/options.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "model/base/errors.hpp"

#include <cctype>
#include <string>
#include <vector>

namespace convcast::cli {
namespace {

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
    for (const VerbLine &verb : verb_lines()) {
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
    for (const VerbLine &verb : verb_lines()) {
        if (verb.name == name)
            return page_of_verb(name);
        names.push_back(verb.name);
    }
    throw UsageError("list: no manual page of '" + name + "'" + did_you_mean(name, names) +
                     " Pages: " + join(names));
}

} // namespace convcast::cli
