#include "cli/arguments.hpp"
#include "cli/explanations.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/json.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

constexpr std::size_t most_words = 100;
constexpr std::size_t most_suggestions = 12;

/// "Issue-slots" -> "issue_slots": how names are compared where letters decide nothing.
std::string folded(const std::string &name) {
    std::string out;
    for (const char letter : name)
        out += letter == ' ' || letter == '-' || letter == '/'
                   ? '_'
                   : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return out;
}

/// A stall is found by the whole name of its counter too.
std::string short_name(const std::string &word) {
    const std::string before = "smsp__average_warps_issue_stalled_", after = "_per_issue_active.ratio";
    if (word.size() <= before.size() + after.size() || word.compare(0, before.size(), before) != 0 ||
        word.compare(word.size() - after.size(), after.size(), after) != 0)
        return word;
    return word.substr(before.size(), word.size() - before.size() - after.size());
}

/// "limits/sm_count" and "chang:figure_4" are also found by what stands behind the mark.
std::string last_part(const std::string &name) {
    const std::size_t mark = name.find_last_of("/:");
    return mark == std::string::npos ? name : name.substr(mark + 1);
}

template <class Matches>
std::vector<Explanation> those(const std::vector<Explanation> &all, Matches matches) {
    std::vector<Explanation> found;
    for (const Explanation &one : all)
        if (std::any_of(one.names.begin(), one.names.end(), matches))
            found.push_back(one);
    return found;
}

/// The names that match, each once.
template <class Matches>
std::vector<std::string> names_of(const std::vector<Explanation> &all, Matches matches) {
    std::vector<std::string> names;
    for (const Explanation &one : all)
        for (const std::string &name : one.names)
            if (matches(name) && std::find(names.begin(), names.end(), name) == names.end())
                names.push_back(name);
    return names;
}

[[noreturn]] void refuse_unclear(const std::string &word, std::vector<std::string> names) {
    const std::size_t more = names.size() > most_suggestions ? names.size() - most_suggestions : 0;
    names.resize(names.size() - more);
    throw UsageError("explain: '" + shortened(word, 60) + "' is part of several names: " + join(names) +
                     (more > 0 ? ", and " + std::to_string(more) + " more" : ""));
}

/// What a word asks for: a whole name, else the only name that begins with it, else the only one that has it.
std::vector<Explanation> find(const std::vector<Explanation> &all, const std::string &word) {
    const std::string wanted = folded(word);
    const auto exact = [&](const std::string &name) { return name == word || last_part(name) == word; };
    const auto alike = [&](const std::string &name) {
        return folded(name) == wanted || folded(last_part(name)) == wanted;
    };
    if (wanted.empty())
        return {};
    std::vector<Explanation> found = those(all, exact);
    if (found.empty())
        found = those(all, alike);
    if (found.empty())
        found = mentions_of(word);
    if (!found.empty())
        return found;
    const auto begins = [&](const std::string &name) {
        return folded(name).compare(0, wanted.size(), wanted) == 0;
    };
    const auto has = [&](const std::string &name) { return folded(name).find(wanted) != std::string::npos; };
    std::vector<std::string> names = names_of(all, begins);
    if (names.size() == 1)
        return those(all, begins);
    std::vector<std::string> parts = names_of(all, has);
    if (parts.size() == 1)
        return those(all, has);
    for (const std::string &name : parts) // those that begin with it come first
        if (std::find(names.begin(), names.end(), name) == names.end())
            names.push_back(name);
    if (!names.empty())
        refuse_unclear(word, names);
    return {};
}

/// Whether something has these words as its whole name.
bool is_name(const std::vector<Explanation> &all, const std::string &words) {
    const std::string wanted = folded(words);
    return !names_of(all, [&](const std::string &name) { return folded(name) == wanted; }).empty();
}

/// "see also: ...": other names that have the word in them.
std::string further_names(const std::vector<Explanation> &all, const std::string &word) {
    constexpr std::size_t fewest_letters = 3;
    const std::string wanted = folded(word);
    if (wanted.size() < fewest_letters)
        return "";
    std::vector<std::string> names = names_of(all, [&](const std::string &name) {
        return folded(name) != wanted && folded(last_part(name)) != wanted &&
               folded(name).find(wanted) != std::string::npos;
    });
    if (names.empty())
        return "";
    const std::string more = names.size() > most_suggestions
                                 ? ", and " + std::to_string(names.size() - most_suggestions) + " more"
                                 : "";
    names.resize(std::min(names.size(), most_suggestions));
    return headed("see also", join(names) + more, 10, std::max<std::size_t>(40, terminal_width()));
}

std::vector<Explanation> answers_to(const std::vector<Explanation> &all, const std::string &word) {
    std::vector<Explanation> found = find(all, word);
    if (found.empty())
        throw UsageError("explain: nothing is named '" + shortened(word, 60) + "'" +
                         did_you_mean(word, names_of(all, [](const std::string &) { return true; })) +
                         " All names: convcast explain");
    return found;
}

std::string as_text(const Explanation &one) {
    const std::size_t width = std::max<std::size_t>(40, terminal_width());
    std::size_t indent = 0;
    for (const ExplainedFact &fact : one.facts)
        indent = std::max(indent, shown_width(fact.what) + 4);
    std::string text = bold(join(one.names)) + "   (" + one.from + ")\n";
    for (const ExplainedFact &fact : one.facts)
        text += headed("  " + fact.what, fact.text, std::min<std::size_t>(indent, 28), width);
    std::string line;
    for (const char letter : one.text + (one.text.empty() ? "" : "\n")) {
        if (letter != '\n') {
            line += letter;
            continue;
        }
        text += line.empty() ? "\n" : "  " + line + "\n";
        line.clear();
    }
    return text;
}

std::string all_names(const std::vector<Explanation> &all) {
    const std::size_t width = std::max<std::size_t>(40, terminal_width());
    std::string text, place, names;
    const auto end_place = [&] {
        if (!names.empty())
            text += bold(place) + "\n" + wrapped(names, 2, width);
        names.clear();
    };
    for (const Explanation &one : all) {
        if (one.from.compare(0, 9, "a knob of") == 0)
            continue; // they stand below their strategies
        if (one.from != place)
            end_place();
        place = one.from;
        names += (names.empty() ? "" : ", ") + join(one.names);
    }
    end_place();
    return text;
}

} // namespace

int explain(const Words &words) {
    const Arguments arguments("explain", words, {{"json", Option::flag}}, most_words);
    if (arguments.has("help"))
        return write_file_atomically("-", help_text("explain")), 0;
    const std::vector<Explanation> all = explanations();
    std::vector<Explanation> found;
    std::string text;
    std::string sentence; // a name of several words need not be quoted
    for (const std::string &word : arguments.positional())
        sentence += (sentence.empty() ? "" : " ") + word;
    const bool one_name = arguments.positional().size() > 1 && is_name(all, short_name(sentence));
    std::vector<std::string> unclear; // what is clear is answered beside it
    for (const std::string &word : one_name ? std::vector<std::string>{sentence} : arguments.positional()) {
        try {
            for (Explanation &one : answers_to(all, short_name(word))) {
                text += (text.empty() ? "" : "\n") + as_text(one);
                found.push_back(std::move(one));
            }
            text += further_names(all, short_name(word));
        } catch (const UsageError &error) {
            unclear.emplace_back(error.what());
        }
    }
    const bool asked = !arguments.positional().empty();
    if (found.empty() && !unclear.empty())
        throw UsageError(unclear.front());
    if (arguments.has("json"))
        write_file_atomically("-", to_text(described::write(asked ? found : all)));
    else
        write_file_atomically("-", asked ? text : all_names(all));
    if (!unclear.empty())
        throw UsageError(join(unclear, "\n"));
    return 0;
}

} // namespace convcast::cli
