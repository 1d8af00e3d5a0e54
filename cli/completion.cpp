#include "cli/completion.hpp"

#include "cli/explanations.hpp"
#include "cli/help_page.hpp"
#include "cli/options.hpp"
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

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// What can stand in one place: words, each with what it means, and then files or folders.
struct Candidates {
    std::vector<std::pair<std::string, std::string>> words;
    std::string paths; ///< ":files\n" or ":folders\n" where the shell's own may stand there too
};

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
    for (const char *of_a_run : {"regimes", "regime_plane", "stalls", "waterfall", "speedup_other_shapes"})
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
         {"ladder", "ladder_launches", "network_timeline", "network_layers", "speed_up", "scaling"})
        words.emplace_back(of_a_network);
    return words;
}

std::vector<std::string> manual_names() {
    std::vector<std::string> names;
    for (const Verb &verb : verbs())
        names.push_back(verb.name);
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
    Candidates found;
    for (const std::string &word : option.list.empty() ? option.words : lists.at(option.list)())
        found.words.emplace_back(word, "");
    const auto takes = [&](const char *what) { return option.value.find(what) != std::string::npos; };
    found.paths = takes("FOLDER")                                                       ? ":folders\n"
                  : takes("FILE") || takes("RUN") || takes("MODEL") || takes("PROFILE") ? ":files\n"
                                                                                        : "";
    return found;
}

/// Of every word that is no option, together.
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

Candidates verbs_to_type(bool with_options) {
    Candidates found;
    for (const Verb &verb : verbs())
        found.words.emplace_back(verb.name, verb.summary);
    if (with_options)
        for (const char *word : {"help", "--help", "--version"})
            found.words.emplace_back(word, "");
    return found;
}

/// The option of a verb whose value stands behind `word`, where `typed` can be one; nullptr if none.
const Option *takes_value(const std::string &verb, const std::string &word, const std::string &typed) {
    for (const Option *option : options_of(verb)) {
        const std::vector<std::string> names = names_of(*option);
        const bool may_lack = option->takes == Takes::number_or_none && typed.starts_with("-");
        if (!option->value.empty() && !may_lack && std::ranges::find(names, word) != names.end())
            return option;
    }
    return nullptr;
}

// What each shell is told: to ask what may stand last, and to look for files or folders itself.

constexpr const char *bash = R"(# bash completion of convcast; made by: convcast list --completion bash
_convcast() {
    local word=${COMP_WORDS[COMP_CWORD]} line kind="" found
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        :files) kind=-f ;;
        :folders) kind=-d ;;
        *) COMPREPLY+=("${line%%$'\t'*}") ;;
        esac
    done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
    if [[ -n $kind ]]; then
        if [[ $word == "=" ]]; then word=""; fi # --gpu= and nothing yet
        mapfile -t found < <(compgen "$kind" -- "$word")
        COMPREPLY+=("${found[@]}")
        compopt -o filenames 2> /dev/null
    fi
}
complete -F _convcast convcast
)";

constexpr const char *zsh = R"(#compdef convcast
# zsh completion of convcast; made by: convcast list --completion zsh
_convcast() {
    local line kind=""
    local -a found
    for line in "${(@f)$("$words[1]" __complete "${(@)words[2,CURRENT]}" 2> /dev/null)}"; do
        case $line in
        :files|:folders) kind=$line ;;
        ?*) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        esac
    done
    if (( $#found )); then _describe convcast found; fi
    if [[ $kind == :files ]]; then _files; fi
    if [[ $kind == :folders ]]; then _files -/; fi
}
if [[ $funcstack[1] == _convcast ]]; then _convcast "$@"; else compdef _convcast convcast; fi
)";

constexpr const char *fish = R"(# fish completion of convcast; made by: convcast list --completion fish
function __convcast_complete
    set -l words (commandline -opc)
    for line in ($words[1] __complete $words[2..-1] (commandline -ct) 2> /dev/null)
        switch $line
            case :files
                __fish_complete_path (commandline -ct)
            case :folders
                __fish_complete_directories (commandline -ct)
            case '*'
                echo $line
        end
    end
end
complete -c convcast -f -a '(__convcast_complete)'
)";

} // namespace

std::string completions_of(const std::vector<std::string> &words) {
    std::string typed = words.empty() ? "" : words.back(), lead,
                before = words.size() > 1 ? words[words.size() - 2] : "";
    if (const std::size_t equals = typed.find('='); typed == "=") { // bash parts words there, others do not
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
    return shell == "bash" ? bash : shell == "zsh" ? zsh : fish;
}

} // namespace convcast::cli
