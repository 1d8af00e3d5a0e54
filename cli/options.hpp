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

/// What stands behind an option: a choice is one of its `words`; a number_or_none may be left out, as in
/// "--explain" and "--explain 3".
enum class Takes { word, flag, text, texts, choice, integer, number_or_none };
BOOST_DESCRIBE_ENUM(Takes, word, flag, text, texts, choice, integer, number_or_none)

struct Option {
    std::string name;   ///< "gpu"; of a word what it stands for, "RUN"
    std::string letter; ///< "o" of an option with a short form
    std::string value;  ///< as help shows it, "NAME|FILE"; "" of a flag
    Takes takes = Takes::flag;
    std::optional<std::string> otherwise; ///< the value where it is not given, if that is always the same
    int least = 0, most = 0;              ///< of integers; of words how many there may be
    std::vector<std::string> words;       ///< values of a choice, or some that a shell completes
    std::string list;                     ///< likewise: those of a list of cli/help.cpp
    std::vector<std::string> verbs;       ///< that take it, with this text
    std::string help;
    CONVCAST_MEMBERS(Option, name, letter, value, takes, otherwise, least, most, words, list, verbs, help)

    static constexpr bool has_default(std::string_view field) {
        return field == "letter" || field == "value" || field == "least" || field == "most" ||
               field == "list";
    }

    /// "--gpu"; "" of a word.
    std::string dashed() const { return takes == Takes::word ? "" : "--" + name; }
};

/// What a command line must not ask for: that every option of `given` is there, one of `with` if it names
/// any, one that `only` does not name if it names any, and none of `without`. "format=csv" is an option with
/// that value, "RUN" a word.
struct Refusal {
    std::string of; ///< what is asked about, where only the verb can tell: "profile"; "" of any command line
    std::vector<std::string> verbs, given, with, only, without;
    /// {verb}; {given}: the first of `given`, {value}: its value; {other}: the first of `with` that is there,
    /// or that is not among `only`; {what}: what the verb says of what is asked about.
    std::string says;
    CONVCAST_MEMBERS(Refusal, of, verbs, given, with, only, without, says)

    static constexpr bool has_default(std::string_view field) { return field == "of"; }
};

struct OptionTable {
    std::map<std::string, std::string>
        reads; ///< by option, what a file is that its value may name: "profile"
    std::map<std::string, std::string> writes; ///< a "file", a "figure" with what lies beside it, a "folder"
    std::vector<Option> options;               ///< in the order of the pages
    std::vector<Refusal> refusals;             ///< the first that fits is the one that is said
    CONVCAST_MEMBERS(OptionTable, reads, writes, options, refusals)
};

const OptionTable &option_table();

/// The options and words of a verb, in order.
std::vector<const Option *> options_of(const std::string &verb);

} // namespace convcast::cli
