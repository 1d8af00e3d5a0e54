#include "cli/arguments.hpp"
#include "cli/explanations.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/json.hpp"
#include "model/base/readable.hpp"
#include "model/base/text.hpp"
#include "model/machine/each_number.hpp"
#include "model/machine/profile.hpp"
#include "model/paper/rules.hpp"

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

constexpr std::size_t most_suggestions = 12; // chosen: two or three lines

/// "Issue-slots" -> "issue_slots": names that differ in case, blanks and dashes alone are the same.
std::string folded(const std::string &name) {
    std::string out = lower(name);
    std::ranges::replace_if(
        out, [](char letter) { return letter == ' ' || letter == '-' || letter == '/'; }, '_');
    return out;
}

/// "long_scoreboard" where the word is the whole name of a stall's counter; else the word itself.
std::string short_name(const std::string &word) {
    const std::string before = "smsp__average_warps_issue_stalled_", after = "_per_issue_active.ratio";
    if (word.size() <= before.size() + after.size() || !word.starts_with(before) || !word.ends_with(after))
        return word;
    return word.substr(before.size(), word.size() - before.size() - after.size());
}

/// "sm_count" of "limits/sm_count", "figure_4" of "chang:figure_4": a name is found by this part too.
std::string last_part(const std::string &name) {
    const std::size_t mark = name.find_last_of("/:");
    return mark == std::string::npos ? name : name.substr(mark + 1);
}

/// A word that was typed, and the ways in which it may mean a name.
struct Word {
    std::string typed, wanted = folded(typed);

    // Each says whether the word means `name` in this way; the first to letters, the others after folding.
    bool is(const std::string &name) const { return name == typed || last_part(name) == typed; }
    bool is_like(const std::string &name) const {
        return folded(name) == wanted || folded(last_part(name)) == wanted;
    }
    bool is_all_of(const std::string &name) const { return folded(name) == wanted; }
    bool begins(const std::string &name) const { return folded(name).starts_with(wanted); }
    bool is_in(const std::string &name) const { return folded(name).find(wanted) != std::string::npos; }
    bool is_part_of(const std::string &name) const { return is_in(name) && !is_like(name); }
};
using Way = bool (Word::*)(const std::string &name) const;

/// The explanations of which the word means a name in this way.
std::vector<Explanation> meant_by(const std::vector<Explanation> &all, const Word &word, Way way) {
    std::vector<Explanation> found;
    for (const Explanation &one : all)
        if (std::ranges::any_of(one.names, [&](const std::string &name) { return (word.*way)(name); }))
            found.push_back(one);
    return found;
}

/// The names that the word means in one of these ways, each once; those of the first way come first.
std::vector<std::string> names_of(const std::vector<Explanation> &all, const Word &word,
                                  std::initializer_list<Way> ways) {
    std::vector<std::string> names;
    for (const Way way : ways)
        for (const Explanation &one : all)
            for (const std::string &name : one.names)
                if ((word.*way)(name))
                    add_once(names, name);
    return names;
}

/// What a word asks for: a whole name; else a paragraph that mentions it; else the only name that begins with
/// it or has it in it. Empty if there is none. Throws UsageError where it is part of several names.
std::vector<Explanation> find(const std::vector<Explanation> &all, const Word &word) {
    if (word.wanted.empty())
        return {};
    for (const Way whole : {&Word::is, &Word::is_like})
        if (std::vector<Explanation> found = meant_by(all, word, whole); !found.empty())
            return found;
    if (std::vector<Explanation> found = mentions_of(word.typed); !found.empty())
        return found;
    for (const Way part : {&Word::begins, &Word::is_in})
        if (names_of(all, word, {part}).size() == 1)
            return meant_by(all, word, part);
    if (const auto names = names_of(all, word, {&Word::begins, &Word::is_in}); !names.empty())
        throw UsageError("explain: '" + shortened(word.typed, 60) +
                         "' is part of several names: " + join_some(names, most_suggestions));
    return {};
}

/// "see also ...": other names that have the word in them; "" where there are none, or the word is too short.
std::string further_names(const std::vector<Explanation> &all, const Word &word) {
    constexpr std::size_t fewest_letters = 3; // shorter ones are in very many names
    const std::vector<std::string> names = names_of(all, word, {&Word::is_part_of});
    return word.wanted.size() < fewest_letters || names.empty()
               ? ""
               : headed("see also", join_some(names, most_suggestions), 10, page_width());
}

/// As find, but throws UsageError where nothing is named so.
std::vector<Explanation> answers_to(const std::vector<Explanation> &all, const Word &word) {
    std::vector<Explanation> found = find(all, word);
    if (found.empty())
        throw UsageError("explain: nothing is named '" + shortened(word.typed, 60) + "'" +
                         did_you_mean(word.typed, names_of(all, Word{""}, {&Word::is_in})) + // of all names
                         " All names: convcast explain all");
    return found;
}

std::string as_text(const Explanation &one) {
    std::size_t indent = 0;
    for (const ExplainedFact &fact : one.facts)
        indent = std::max(indent, shown_width(fact.what) + 4);
    std::string text = bold(join(one.names)) + "   (" + one.from + ")\n";
    for (const ExplainedFact &fact : one.facts)
        text += headed("  " + fact.what, fact.text, std::min<std::size_t>(indent, 28), page_width());
    for (const std::string &line : one.text.empty() ? std::vector<std::string>() : split(one.text, '\n'))
        text += line.empty() ? "\n" : "  " + line + "\n";
    return text;
}

/// "1.98 GHz, from 1.97 GHz to 1.99 GHz, measured": a number of a profile, its interval and its source.
template <class Q> std::string value_text(const Param<Q> &number) {
    const char *unit = UnitOf<Q>::text;
    std::string text = readable(number.value.value, unit);
    if (number.interval)
        text +=
            ", from " + readable(number.interval->low, unit) + " to " + readable(number.interval->high, unit);
    return text + ", " + name_of(number.source);
}

/// The value of a field of a profile, or why it has none; "" where no field has this name.
std::string value_in_profile(const std::string &name, const GpuProfile &profile) {
    std::string text;
    for_each_param(profile, [&](const char *param, const auto &number) {
        if (name == param)
            text = number ? value_text(*number) : std::string("absent");
    });
    for_each_limit([&](auto member) {
        if (name == member.name)
            text = grouped(profile.limits.*member.pointer) + ", of the driver or the vendor";
    });
    if (const auto why = profile.missing.find(name); text == "absent" && why != profile.missing.end())
        text += ": " + why->second;
    return text;
}

/// The value of a number of the papers' Table 1; "" where it is none of them or the profile lacks what it
/// needs.
std::string value_by_rules(const std::string &name, const Rules &rules) {
    std::string text;
    boost::mp11::mp_for_each<described::Members<Rules>>([&](auto member) {
        const auto &field = rules.*member.pointer;
        if constexpr (described::IsOptional<std::decay_t<decltype(field)>>::value)
            if (name == member.name && field)
                text = grouped(std::llround(static_cast<double>(*field))) + ", computed from the profile";
    });
    return text;
}

/// Adds the value that the GPU has of a number that is explained. Returns whether there is one.
bool add_value(Explanation &one, const GpuProfile &profile) {
    const bool of_profile = one.from.starts_with("docs/profile.md"),
               of_rules = one.from.find("The papers' rules") != std::string::npos;
    if (!of_profile && !of_rules)
        return false;
    std::vector<std::pair<std::string, std::string>> values; // by name
    for (const std::string &name : one.names)
        if (const std::string value = of_profile ? value_in_profile(last_part(name), profile)
                                                 : value_by_rules(name, table1_rules(profile));
            !value.empty())
            values.emplace_back(name, value);
    for (const auto &[name, value] : values)
        one.facts.push_back({"on " + profile.name, (values.size() > 1 ? name + " " : "") + value});
    return !values.empty();
}

/// The answer without a word: page by page how many names are explained, and the first of them.
std::string overview(const std::vector<Explanation> &all) {
    constexpr std::size_t examples = 4;
    std::vector<std::string> places;
    std::map<std::string, std::vector<std::string>> names;
    for (const Explanation &one : all) {
        const std::string place = one.from.starts_with("docs/")    ? one.from.substr(0, one.from.find(','))
                                  : one.from.starts_with("a knob") ? "a knob of a strategy"
                                                                   : one.from;
        if (!names.contains(place))
            places.push_back(place);
        names[place].push_back(one.names.front());
    }
    std::string text = "convcast explain NAME says what a name means. Names are explained from:\n";
    for (const std::string &place : places) {
        const std::vector<std::string> &here = names[place];
        const std::vector<std::string> first(
            here.begin(), here.begin() + static_cast<std::ptrdiff_t>(std::min(examples, here.size())));
        text +=
            headed("  " + place,
                   std::to_string(here.size()) + ": " + join(first) + (here.size() > examples ? ", ..." : ""),
                   24, page_width());
    }
    return text + "All names: convcast explain all\n";
}

/// The answer to "all": the names of every place, without knobs, which stand below their strategies.
std::string all_names(const std::vector<Explanation> &all) {
    std::string text, place, names;
    const auto end_place = [&] {
        if (!names.empty())
            text += bold(place) + "\n" + wrapped(names, 2, page_width());
        names.clear();
    };
    for (const Explanation &one : all) {
        if (one.from.compare(0, 9, "a knob of") == 0)
            continue;
        if (one.from != place)
            end_place();
        place = one.from;
        names += (names.empty() ? "" : ", ") + join(one.names);
    }
    end_place();
    return text;
}

} // namespace

int explain(const Arguments &arguments) {
    const std::vector<Explanation> all = explanations();
    const GpuProfile profile = find_profile(arguments.text("gpu"));
    std::vector<Explanation> found;
    bool has_value = false;
    std::string text;
    const std::string sentence = join(arguments.positional(), " "); // a name of several words without quotes
    const bool one_name = arguments.positional().size() > 1 &&
                          !names_of(all, Word{short_name(sentence)}, {&Word::is_all_of}).empty();
    std::vector<std::string> unclear; // messages on words without an answer; the others are answered first
    const bool everything = arguments.positional() == std::vector<std::string>{"all"};
    for (const std::string &word : everything ? std::vector<std::string>{}
                                   : one_name ? std::vector<std::string>{sentence}
                                              : arguments.positional()) {
        try {
            for (Explanation &one : answers_to(all, Word{short_name(word)})) {
                has_value = add_value(one, profile) || has_value;
                text += (text.empty() ? "" : "\n") + as_text(one);
                found.push_back(std::move(one));
            }
            text += further_names(all, Word{short_name(word)});
        } catch (const UsageError &error) {
            unclear.emplace_back(error.what());
        }
    }
    if (has_value && !arguments.has("gpu"))
        text +=
            "\n" +
            wrapped("For another GPU add --gpu and the name or file of its profile; convcast measure makes "
                    "one of the GPU at hand.",
                    0, page_width());
    const bool asked = !arguments.positional().empty() && !everything;
    if (found.empty() && !unclear.empty())
        throw UsageError(unclear.front());
    if (arguments.has("json"))
        write_file_atomically("-", to_text(described::write(asked ? found : all)));
    else
        write_file_atomically("-", asked ? text : everything ? all_names(all) : overview(all));
    if (!unclear.empty())
        throw UsageError(join(unclear, "\n"));
    return 0;
}

} // namespace convcast::cli
