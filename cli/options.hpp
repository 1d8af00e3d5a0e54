// The table of options, cli/options.json: what each verb takes and what its options exclude. The parsing of a
// command line, its refusals, --help, the manual pages and the completion of shells are made from it.
#pragma once

#include "model/base/describe.hpp"

#include <boost/describe.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast::cli {

/// What stands behind an option. `word`: no option but a word such as RUN; `texts`: it may stand several
/// times; `choice`: one of its `words`; `number_or_none`: "--explain" or "--explain 3".
enum class Takes { word, flag, text, texts, choice, integer, number_or_none };
BOOST_DESCRIBE_ENUM(Takes, word, flag, text, texts, choice, integer, number_or_none)

struct Option {
    std::string name;   ///< "gpu"; of a word what it stands for, "RUN"
    std::string letter; ///< "o" where -o is a short form; else ""
    std::string value;  ///< the value as help shows it, "NAME|FILE"; "" of a flag
    Takes takes = Takes::flag;
    std::optional<std::string> otherwise; ///< the value where it is not given, if that is always the same
    int least = 0, most = 0;              ///< of integers; of words how many there may be
    std::vector<std::string> words;       ///< values of a choice, or some that a shell completes
    std::string list;               ///< name of a list in cli/help.cpp of words that a shell completes, or ""
    std::vector<std::string> verbs; ///< that take it, with this help
    std::string help;
    CONVCAST_MEMBERS(Option, name, letter, value, takes, otherwise, least, most, words, list, verbs, help)

    static constexpr bool has_default(std::string_view field) {
        return field == "letter" || field == "value" || field == "least" || field == "most" ||
               field == "list";
    }

    /// "--gpu"; "" of a word.
    std::string dashed() const { return takes == Takes::word ? "" : "--" + name; }
};

/// What a command line of one of `verbs` must not ask for. It is refused if it has every option of `given`,
/// one of `with` if that names any, one that `only` does not name if that names any, and none of `without`.
/// "format=csv" is an option with that value, "RUN" a word.
struct Refusal {
    std::string of; ///< the kind of thing that it holds for, which the verb finds out: "profile"; "": for any
    std::vector<std::string> verbs, given, with, only, without;
    /// {verb}; {given}: the first of `given`, {value}: its value; {other}: the first of `with` that is there,
    /// or that is not among `only`; {what}: what the verb says of what is asked about.
    std::string says;
    CONVCAST_MEMBERS(Refusal, of, verbs, given, with, only, without, says)

    static constexpr bool has_default(std::string_view field) { return field == "of"; }
};

struct OptionTable {
    std::map<std::string, std::string>
        reads; ///< by option: what the file is that its value may name, "profile"
    std::map<std::string, std::string>
        writes;                    ///< by option: "file", "figure" (with files beside it) or "folder"
    std::vector<Option> options;   ///< in the order of the pages of help
    std::vector<Refusal> refusals; ///< the first that fits is the one that is said
    CONVCAST_MEMBERS(OptionTable, reads, writes, options, refusals)
};

/// cli/options.json, which the program has inside; read at the first call.
const OptionTable &option_table();

/// The options and words of a verb, in order.
std::vector<const Option *> options_of(const std::string &verb);

} // namespace convcast::cli
