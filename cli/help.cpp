#include "cli/help.hpp"

#include "cli/explanations.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "executor/baselines/names.hpp"
#include "model/base/embedded.hpp"
#include "model/base/errors.hpp"
#include "model/base/text.hpp"
#include "model/machine/assume.hpp"
#include "model/machine/profile.hpp"
#include "model/network/network.hpp"
#include "model/record/study.hpp"
#include "model/strategies/list.hpp"
#include "reports/explained.hpp"
#include "reports/profile_page.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> help_files;

/// A script for each shell, by which it asks convcast what may stand last in a command line.
extern const std::vector<EmbeddedFile> completion_scripts;

namespace cli {
namespace {

constexpr std::size_t page_indent = 4; // of commands and options

/// The verb's page in docs/cli without its options. The verb must have one: has_help.
std::string prose_of(const std::string &verb) {
    const std::string page = find_embedded(help_files, verb + ".md")->text();
    return page.substr(0, page.find("Options:\n"));
}

/// The names of an option as they are typed: {"-o", "--output"}; none for a word.
std::vector<std::string> names_of(const Option &option) {
    std::vector<std::string> names;
    if (!option.letter.empty())
        names.push_back("-" + option.letter);
    if (option.takes != Takes::word)
        names.push_back(option.dashed());
    return names;
}

/// An option as help shows it: "-o, --output FILE"; for a word what it stands for.
std::string head_of(const Option &option) {
    const std::string names = join(names_of(option));
    return names + (names.empty() || option.value.empty() ? "" : " ") + option.value;
}

} // namespace

bool has_help(const std::string &verb) {
    return find_embedded(help_files, verb + ".md") != nullptr;
}

std::string help_text(const std::string &verb) {
    constexpr std::size_t page_width = 130,
                          gap = 2; // main.cpp fits it to the window
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

// ---- manual pages ----

namespace {

/// The paragraphs of a page up to its options: first the title, then the examples, then the rest.
std::vector<std::string> paragraphs_of(const std::string &verb) {
    const std::string prose = prose_of(verb);
    std::vector<std::string> paragraphs = {""};
    for (const std::string_view line : lines_of(prose))
        if (!line.empty())
            paragraphs.back().append(line) += '\n';
        else if (!paragraphs.back().empty())
            paragraphs.emplace_back();
    paragraphs.pop_back(); // what begins behind the last blank line
    return paragraphs;
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

/// A paragraph as roff. Commands and tables, which are indented, keep their lines; other text is filled.
std::string paragraph(const std::string &text) {
    if (!text.starts_with(std::string(page_indent, ' ')))
        return ".PP\n" + escaped(text);
    std::string lines;
    for (const std::string_view line : lines_of(text))
        lines.append(line.substr(page_indent)) += '\n';
    return ".PP\n.RS 4\n.nf\n" + escaped(lines) + ".fi\n.RE\n";
}

std::string upper(std::string text) {
    for (char &letter : text)
        letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    return text;
}

/// The first lines of a manual page.
std::string head(const std::string &name, const std::string &title) {
    return ".\\\" Made from the text of --help; to change it, change docs/cli.\n.TH " + escaped(upper(name)) +
           " 1 \"\" \"convcast " + producer().version + "\" \"User Commands\"\n.SH NAME\n" +
           with_newline(escaped(name + " - " + title));
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

/// A manual page as roff. The title of a verb's page in docs/cli reads "VERB: what it does".
std::string page_of_verb(const std::string &verb) {
    const std::vector<std::string> paragraphs = paragraphs_of(verb);
    const std::string title = paragraphs[0].substr(paragraphs[0].find(": ") + 2);
    std::string text = head("convcast-" + verb, title) + synopsis(verb);
    for (std::size_t i = 2; i < paragraphs.size(); ++i)
        text += (i == 2 ? ".SH DESCRIPTION\n" : "") + paragraph(paragraphs[i]);
    text += ".SH OPTIONS\n";
    for (const Option *option : options_of(verb))
        text += option_entry(*option);
    return text + ".SH EXAMPLES\n" + paragraph(paragraphs[1]) + ".SH SEE ALSO\n\\fBconvcast\\fR(1)\n";
}

/// The names that manual_page takes, "convcast" first.
std::vector<std::string> manual_names() {
    std::vector<std::string> names = {"convcast"};
    for (const Verb &verb : verbs())
        names.push_back(verb.name);
    return names;
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
    const std::vector<std::string> names = manual_names();
    if (std::ranges::find(names, name) == names.end())
        throw UsageError("list: no manual page of '" + name + "'" + did_you_mean(name, names) +
                         " Pages: " + join(names));
    return name == names.front() ? page_of_program() : page_of_verb(name);
}

// ---- completion ----

namespace {

/// What can stand in one place of a command line.
struct Candidates {
    std::vector<std::pair<std::string, std::string>> words; ///< each with what it means, or ""
    std::string paths; ///< ":files\n" or ":folders\n" where these may stand there too; else ""
};

/// What a value of --set can begin with: "sm_clock=".
std::vector<std::string> words_of_set() {
    std::vector<std::string> words = numbers_to_set();
    for (std::string &word : words)
        word += "=";
    return words;
}

/// The figures that `report` draws of runs with the shipped studies, of profiles, networks and several GPUs.
std::vector<std::string> figure_words() {
    // Rows of docs/report.md for several figures each, whose ids have more words and are added below.
    const std::set<std::string> families = {"regime_map", "speedup", "sweep"};
    std::vector<std::string> words = {"speedup_other_shapes", "scaling"};
    for (const char *heading : {"Figures of a run", "Figures of a network"})
        for (const std::vector<std::string> &row : explained(heading))
            if (!families.contains(row.front()))
                words.push_back(row.front());
    for (const std::string &name : shipped_studies()) {
        words.push_back("speedup_" + name);
        for (const StudySweep &sweep : find_study(name).sweeps)
            words.push_back("sweep_" + sweep.id);
    }
    for (const char *division : {"filter_split", "map_split"})
        for (const char *filter : {"1x1", "3x3", "5x5"})
            words.push_back(std::string("regime_map_") + division + "_" + filter);
    for (const Figure &figure : profile_figures(find_profile("h200")))
        words.push_back(figure.id);
    return words;
}

std::vector<std::string> strategies_and_baselines() {
    std::vector<std::string> names = strategy_names();
    for (const std::string &name : baselines())
        names.push_back(name);
    return names;
}

/// The lists of words by the name that the table of options gives them: Option::list.
const std::map<std::string, std::vector<std::string> (*)()> lists = {{"gpus", shipped_profiles},
                                                                     {"studies", shipped_studies},
                                                                     {"networks", shipped_networks},
                                                                     {"numbers", words_of_set},
                                                                     {"figures", figure_words},
                                                                     {"schemas", schema_names},
                                                                     {"strategies", strategies_and_baselines},
                                                                     {"names", words_to_explain},
                                                                     {"kinds", kinds_to_list},
                                                                     {"manuals", manual_names}};

/// What can be the value of an option, or a word such as RUN. A shape or a number has no candidates.
Candidates candidates_of(const Option &option) {
    Candidates found;
    for (const std::string &word : option.list.empty() ? option.words : lists.at(option.list)())
        found.words.emplace_back(word, "");
    const auto takes = [&](const char *what) { return option.value.find(what) != std::string::npos; };
    found.paths = takes("FOLDER")                                                       ? ":folders\n"
                  : takes("FILE") || takes("RUN") || takes("MODEL") || takes("PROFILE") ? ":files\n"
                                                                                        : "";
    return found;
}

/// What can be a word of a verb that is no option.
Candidates words_of(const std::string &verb) {
    Candidates all;
    for (const Option *option : options_of(verb))
        if (option->takes == Takes::word) {
            const Candidates one = candidates_of(*option);
            all.words.insert(all.words.end(), one.words.begin(), one.words.end());
            all.paths = one.paths.empty() ? all.paths : one.paths;
        }
    return all;
}

/// Names that are typed as options, each with its help.
Candidates options_to_type(const std::string &verb) {
    Candidates found;
    for (const Option *option : options_of(verb))
        for (const std::string &name : names_of(*option))
            found.words.emplace_back(name, option->help);
    return found;
}

/// The verbs, and with `with_options` what else may be the first word.
Candidates verbs_to_type(bool with_options) {
    Candidates found;
    for (const Verb &verb : verbs())
        found.words.emplace_back(verb.name, verb.summary);
    if (with_options)
        for (const char *word : {"help", "--help", "--version"})
            found.words.emplace_back(word, "");
    return found;
}

/// The option that `word` is, if it takes a value and the next word, `typed`, can be that; else nullptr.
const Option *takes_value(const std::string &verb, const std::string &word, const std::string &typed) {
    for (const Option *option : options_of(verb)) {
        const std::vector<std::string> names = names_of(*option);
        const bool may_lack = option->takes == Takes::number_or_none && typed.starts_with("-");
        if (!option->value.empty() && !may_lack && std::ranges::find(names, word) != names.end())
            return option;
    }
    return nullptr;
}

} // namespace

std::string completions_of(const std::vector<std::string> &words) {
    // The word that is typed, what of it stays before each candidate, and the word before it.
    std::string typed = words.empty() ? "" : words.back(), lead,
                before = words.size() > 1 ? words[words.size() - 2] : "";
    // bash makes three words of "--gpu=h200", "--gpu", "=" and "h200"; other shells make one.
    if (const std::size_t equals = typed.find('='); typed == "=") {
        typed.clear();
    } else if (before == "=" && words.size() > 2) {
        before = words[words.size() - 3];
    } else if (typed.starts_with("--") && equals != std::string::npos) {
        before = typed.substr(0, equals);
        lead = typed.substr(0, equals + 1);
        typed.erase(0, equals + 1);
    }
    Candidates found;
    if (words.size() < 2 || words.front() == "help")
        found = verbs_to_type(words.size() < 2);
    else if (const Option *option = takes_value(words.front(), before, typed))
        found = candidates_of(*option);
    else
        found = typed.starts_with("-") ? options_to_type(words.front()) : words_of(words.front());
    std::string text;
    for (const auto &[word, means] : found.words)
        if (word.starts_with(typed))
            text += lead + word + "\t" + means + "\n";
    return text + found.paths;
}

std::string completion(const std::string &shell) {
    return find_embedded(completion_scripts, "convcast." + shell)->text();
}

} // namespace cli
} // namespace convcast
