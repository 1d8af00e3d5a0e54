#include "cli/completion.hpp"

#include "cli/explanations.hpp"
#include "cli/help_page.hpp"
#include "cli/options.hpp"
#include "cli/schemas.hpp"
#include "cli/verbs.hpp"
#include "executor/baselines/names.hpp"
#include "model/base/errors.hpp"
#include "model/machine/assume.hpp"
#include "model/machine/profile.hpp"
#include "model/network/network.hpp"
#include "model/record/study.hpp"
#include "model/strategies/list.hpp"
#include "reports/profile_page.hpp"
#include "reports/report_figures.hpp"

#include <map>
#include <string>
#include <vector>

namespace convcast::cli {
namespace {

/// What can stand in one place of the command line.
struct Candidates {
    std::vector<std::string> words;
    bool files = false, folders = false;
};

bool contains(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

std::vector<std::string> verb_names() {
    std::vector<std::string> names;
    for (const VerbLine &verb : verb_lines())
        names.push_back(verb.name);
    return names;
}

/// "sm_clock=": what --set begins with.
std::vector<std::string> words_of_set() {
    std::vector<std::string> words = numbers_to_set();
    for (std::string &word : words)
        word += "=";
    return words;
}

/// Figures that `report` draws of runs with the shipped studies, of profiles, networks and several GPUs.
std::vector<std::string> figure_words() {
    std::vector<std::string> words;
    for (const Figure &figure : report_figures({}, {}))
        words.push_back(figure.id);
    for (const char *of_a_run : {"regimes", "stalls", "waterfall", "speedup_other_shapes"})
        words.emplace_back(of_a_run);
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
    for (const char *of_a_network :
         {"ladder", "ladder_launches", "network_timeline", "network_layers", "speed_up"})
        words.emplace_back(of_a_network);
    return words;
}

std::vector<std::string> manual_names() {
    std::vector<std::string> names = verb_names();
    names.emplace_back("convcast");
    return names;
}

std::vector<std::string> strategies_and_baselines() {
    std::vector<std::string> names = strategy_names();
    for (const std::string &name : baselines())
        names.push_back(name);
    return names;
}

/// By the name that the table gives a list.
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

/// Of an option's value, or of a word such as RUN. A shape or a number has no candidates.
Candidates candidates_of(const Option &option) {
    Candidates found{option.list.empty() ? option.words : lists.at(option.list)()};
    found.folders = contains(option.value, "FOLDER");
    found.files = !found.folders && (contains(option.value, "FILE") || contains(option.value, "RUN") ||
                                     contains(option.value, "PROFILE"));
    return found;
}

/// Of every word that is no option, together.
Candidates words_of(const std::string &verb) {
    Candidates all;
    for (const Option *option : options_of(verb))
        if (option->takes == Takes::word) {
            const Candidates one = candidates_of(*option);
            all.words.insert(all.words.end(), one.words.begin(), one.words.end());
            all.files = all.files || one.files;
        }
    return all;
}

std::string joined(const std::vector<std::string> &words) {
    return join(words, " ");
}

/// A text between single quotes of a shell. Ours have no line breaks.
std::string shell_quoted(const std::string &text) {
    std::string out = "'";
    for (const char letter : text)
        out += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return out + "'";
}

// ---- bash ----

std::string bash_answer(const Candidates &found) {
    std::string line = "_convcast_answer " + shell_quoted(joined(found.words));
    if (found.files)
        line += " -f";
    if (found.folders)
        line += " -d";
    return line;
}

std::string bash_verb(const std::string &verb) {
    std::string values, names;
    for (const Option *option : options_of(verb)) {
        for (const std::string &name : names_of(*option))
            names += (names.empty() ? "" : " ") + name;
        if (option->takes == Takes::word || option->value.empty())
            continue;
        values += "        " + join(names_of(*option), "|") + ") " + bash_answer(candidates_of(*option)) +
                  "; return ;;\n";
    }
    return "    " + verb + ")\n        case $option in\n" + values + "        esac\n" +
           "        if [[ $word == -* ]]; then _convcast_answer " + shell_quoted(names) + "; else " +
           bash_answer(words_of(verb)) + "; fi ;;\n";
}

std::string bash() {
    std::string text = R"(# bash completion of convcast; made by: convcast list --completion bash
_convcast_answer() { # WORDS [-f|-d]: those that begin with what was typed, and files or folders
    local names=$1 kind=${2-}
    mapfile -t COMPREPLY < <(compgen -W "$names" -- "$word")
    if [[ -n $kind ]]; then
        local found
        mapfile -t found < <(compgen "$kind" -- "$word")
        COMPREPLY+=("${found[@]}")
        compopt -o filenames 2> /dev/null
    fi
}

_convcast() {
    local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]}
    COMPREPLY=()
    if [[ $word == "=" ]]; then word=""; fi # --gpu= and nothing yet
    if [[ $option == "=" ]] && ((COMP_CWORD > 2)); then option=${COMP_WORDS[COMP_CWORD-2]}; fi
    if ((COMP_CWORD == 1)); then
        _convcast_answer )";
    text += shell_quoted(joined(verb_names()) + " help --help --version") + "\n        return\n    fi\n" +
            "    case ${COMP_WORDS[1]} in\n    help) _convcast_answer " + shell_quoted(joined(verb_names())) +
            " ;;\n";
    for (const std::string &verb : verb_names())
        text += bash_verb(verb);
    return text + "    esac\n}\ncomplete -F _convcast convcast\n";
}

// ---- zsh ----

/// What an explanation in brackets may not contain as it is.
std::string zsh_text(const std::string &text) {
    std::string out;
    for (const char letter : text)
        out += letter == '[' || letter == ']' || letter == ':' ? "\\" + std::string(1, letter)
                                                               : std::string(1, letter);
    return out;
}

std::string zsh_action(const Candidates &found) {
    // A colon would end the action; a blank before it keeps _arguments from giving it words of its own.
    const std::string words = "(" + zsh_text(joined(found.words)) + ")";
    if (found.files && !found.words.empty())
        return " _alternative \"" + zsh_text("names:name:") + words + "\" \"" +
               zsh_text("files:file:_files") + "\"";
    if (found.files)
        return "_files";
    if (found.folders)
        return "_files -/";
    return found.words.empty() ? " " : words;
}

std::string zsh_verb(const std::string &verb) {
    std::string text = "    " + verb + ")\n        _arguments";
    for (const Option *option : options_of(verb))
        for (const std::string &name : names_of(*option)) {
            std::string spec = "*" + name + "[" + zsh_text(option->help) + "]";
            if (!option->value.empty())
                spec += ":" + zsh_text(option->value) + ":" + zsh_action(candidates_of(*option));
            text += " \\\n            " + shell_quoted(spec);
        }
    const Candidates words = words_of(verb);
    if (words.files || !words.words.empty())
        text += " \\\n            " + shell_quoted("*:word:" + zsh_action(words));
    return text + " ;;\n";
}

std::string zsh() {
    std::string text =
        "#compdef convcast\n# zsh completion of convcast; made by: convcast list --completion zsh\n"
        "_convcast() {\n    local -a verbs=(\n";
    for (const VerbLine &verb : verb_lines())
        text += "        " + shell_quoted(verb.name + ":" + zsh_text(verb.summary)) + "\n";
    text += "    )\n    if (( CURRENT == 2 )); then\n        _describe verb verbs\n        return\n    fi\n"
            "    local verb=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $verb in\n";
    for (const std::string &verb : verb_names())
        text += zsh_verb(verb);
    // Sourced, the function is bound here; as a file of $fpath, it is called by what loaded it.
    return text + "    esac\n}\nif [[ $funcstack[1] == _convcast ]]; then _convcast \"$@\"; else compdef "
                  "_convcast convcast; fi\n";
}

// ---- fish ----

std::string fish_option(const std::string &when, const Option &option) {
    std::string line = "complete -c convcast -n " + shell_quoted(when);
    for (const std::string &name : names_of(option))
        line += name.compare(0, 2, "--") == 0 ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!option.value.empty()) {
        const Candidates found = candidates_of(option);
        line += found.files ? " -r -F" : " -x";
        if (found.folders)
            line += " -a '(__fish_complete_directories)'";
        else if (!found.words.empty())
            line += " -a " + shell_quoted(joined(found.words));
    }
    return line + " -d " + shell_quoted(option.help) + "\n";
}

std::string fish() {
    std::string text = "# fish completion of convcast; made by: convcast list --completion fish\n"
                       "complete -c convcast -f\n";
    for (const VerbLine &verb : verb_lines())
        text += "complete -c convcast -n __fish_use_subcommand -a " + verb.name + " -d " +
                shell_quoted(verb.summary) + "\n";
    for (const std::string &verb : verb_names()) {
        const std::string when = "__fish_seen_subcommand_from " + verb;
        for (const Option *option : options_of(verb))
            if (option->takes != Takes::word)
                text += fish_option(when, *option);
        const Candidates words = words_of(verb);
        if (words.files)
            text += "complete -c convcast -n " + shell_quoted(when) + " -F\n";
        if (!words.words.empty())
            text += "complete -c convcast -n " + shell_quoted(when) + " -a " +
                    shell_quoted(joined(words.words)) + "\n";
    }
    return text;
}

} // namespace

std::string completion(const std::string &shell) {
    if (shell == "bash")
        return bash();
    if (shell == "zsh")
        return zsh();
    if (shell == "fish")
        return fish();
    throw UsageError("list: no completion for '" + shell + "'" +
                     did_you_mean(shell, {"bash", "zsh", "fish"}) + " Shells: bash, zsh, fish");
}

} // namespace convcast::cli
