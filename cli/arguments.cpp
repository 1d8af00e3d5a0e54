#include "cli/arguments.hpp"

#include "cli/options.hpp"
#include "model/base/described.hpp"
#include "model/base/embedded.hpp"
#include "model/base/errors.hpp"
#include "model/base/text.hpp"
#include "model/shape/conv_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convcast {

extern const std::vector<EmbeddedFile> option_files;

namespace cli {
namespace {

/// nullptr where no option has this name.
const Option *find_option(const std::vector<const Option *> &known, const std::string &name) {
    const auto found =
        std::ranges::find_if(known, [&](const Option *option) { return option->name == name; });
    return found == known.end() ? nullptr : *found;
}

/// The option that a word names, "--gpu", "--gpu=h200", "-o" or "-oFILE"; nullptr if none.
const Option *named_by(const std::vector<const Option *> &known, const std::string &word) {
    const std::string name = word.substr(0, word.find('='));
    for (const Option *option : known)
        if (option->takes != Takes::word &&
            (name == option->dashed() ||
             (!option->letter.empty() && !word.starts_with("--") && word.starts_with("-" + option->letter) &&
              (word.size() == 2 || option->takes != Takes::flag))))
            return option;
    return nullptr;
}

} // namespace

void put(std::string &text, const std::string &name, const std::string &value) {
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size())
        text.replace(at, name.size(), value);
}

const OptionTable &option_table() {
    static const OptionTable table =
        described::read_document<OptionTable>(option_files.front().text(), option_files.front().path);
    return table;
}

std::vector<const Option *> options_of(const std::string &verb) {
    std::vector<const Option *> options;
    for (const Option &option : option_table().options)
        if (std::ranges::find(option.verbs, verb) != option.verbs.end())
            options.push_back(&option);
    return options;
}

bool names_shape(const std::string &word) {
    try {
        return !ConvShape::parse(word).id().empty();
    } catch (const UsageError &) {
        return false;
    }
}

Arguments::Arguments(std::string verb, std::vector<std::string> words)
    : verb_(std::move(verb)), words_(std::move(words)), known_(options_of(verb_)) {
    read_words();
    std::size_t most = 0;
    for (const Option *option : known_)
        most = std::max(most, option->takes == Takes::word ? static_cast<std::size_t>(option->most) : 0);
    if (positional_.size() > most) {
        const std::string &word = positional_[most];
        if (find_option(known_, "shape") != nullptr && names_shape(word))
            refuse("a shape stands behind --shape: " + verb_ + " --shape " + word);
        refuse_with_help("unexpected word '" + word + "'");
    }
    if (has("help"))
        return;
    refuse_options_of("");
    for (const Option *option : known_)
        if (option->takes == Takes::integer || option->takes == Takes::number_or_none)
            (void)integer(option->name);
        else if (option->takes == Takes::choice && has(option->name))
            if (const std::string value = text(option->name, "");
                std::ranges::find(option->words, value) == option->words.end())
                refuse(option->dashed() + " must be one of " + join(option->words) + ", got '" +
                       shortened(value, 40) + "'" + did_you_mean(value, option->words));
}

void Arguments::refuse(const std::string &why) const {
    throw UsageError(verb_ + ": " + why);
}

void Arguments::refuse_with_help(const std::string &why) const {
    refuse(why + "; see convcast " + verb_ + " --help");
}

// As getopt_long reads words: "--gpu h200", "--gpu=h200", "-oFILE", and words alone behind "--".
void Arguments::read_words() {
    for (std::size_t i = 0; i < words_.size(); ++i) {
        const std::string &word = words_[i];
        if (word == "--") {
            positional_.insert(positional_.end(), words_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                               words_.end());
            return;
        }
        if (word.size() < 2 || word.front() != '-') {
            positional_.push_back(word);
            continue;
        }
        const Option *option = named_by(known_, word);
        if (option == nullptr) {
            std::vector<std::string> dashed;
            for (const Option *other : known_)
                if (other->takes != Takes::word)
                    dashed.push_back(other->dashed());
            refuse("unknown option '" + word + "'" + did_you_mean(word, dashed) +
                   " Options: " + join(dashed));
        }
        const bool has_next = i + 1 < words_.size();
        const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
        if (equals != std::string::npos && option->takes == Takes::flag)
            refuse_with_help(option->dashed() + " takes no value; type " + option->dashed() + " alone");
        if (equals != std::string::npos && equals + 1 == word.size())
            refuse_with_help("no value stands behind " + word + "; type " + word + option->value);
        if (equals != std::string::npos)
            keep(*option, word.substr(equals + 1));
        else if (!word.starts_with("--") && word.size() > 2)
            keep(*option, word.substr(2));
        else if (option->takes == Takes::flag ||
                 (option->takes == Takes::number_or_none && (!has_next || words_[i + 1].starts_with("-"))))
            keep(*option, std::nullopt);
        else if (!has_next || named_by(known_, words_[i + 1]) != nullptr)
            refuse_with_help(option->dashed() + " needs a value; type " + option->dashed() + " " +
                             option->value);
        else
            keep(*option, words_[++i]);
    }
}

void Arguments::keep(const Option &option, const std::optional<std::string> &value) {
    if (has(option.name) && option.takes != Takes::texts)
        refuse_with_help("--" + option.name + " was given more than once; give it once");
    std::vector<std::string> &values = given_[option.name];
    if (value)
        values.push_back(*value);
}

bool Arguments::is_there(const std::string &what) const {
    const std::size_t equals = what.find('=');
    const std::vector<std::string> values = values_of(what.substr(0, equals));
    if (equals != std::string::npos)
        return std::ranges::find(values, what.substr(equals + 1)) != values.end();
    return has(what) || !values.empty();
}

std::vector<std::string> Arguments::values_of(const std::string &name) const {
    const Option *option = find_option(known_, name);
    return option != nullptr && option->takes == Takes::word ? positional_ : texts(name);
}

bool Arguments::is_refused(const Refusal &refusal, std::string &other) const {
    const auto there = [&](const std::string &what) { return is_there(what); };
    const auto is_one_of = [](const std::vector<std::string> &names, const std::string &name) {
        return std::ranges::find(names, name) != names.end();
    };
    if (!is_one_of(refusal.verbs, verb_) || !std::ranges::all_of(refusal.given, there) ||
        std::ranges::any_of(refusal.without, there))
        return false;
    if (const auto found = std::ranges::find_if(refusal.with, there); found != refusal.with.end())
        other = *found;
    for (const std::string &name : refusal.only.empty() ? std::vector<std::string>() : given())
        if (other.empty() && !is_one_of(refusal.only, name))
            other = name;
    return !other.empty() || (refusal.with.empty() && refusal.only.empty());
}

void Arguments::refuse_options_of(const std::string &of, const std::string &what) const {
    for (const Refusal &refusal : option_table().refusals) {
        std::string says = refusal.says, other;
        if (refusal.of != of || !is_refused(refusal, other))
            continue;
        put(says, "{verb}", verb_);
        put(says, "{other}", other);
        put(says, "{what}", what);
        if (!refusal.given.empty()) {
            const std::vector<std::string> values = values_of(refusal.given.front());
            put(says, "{given}", refusal.given.front());
            put(says, "{value}", values.empty() ? "" : values.front());
        }
        refuse(says);
    }
}

std::vector<std::string> Arguments::given() const {
    std::vector<std::string> names;
    for (const auto &[name, values] : given_)
        names.push_back(name);
    return names;
}

std::vector<std::string> Arguments::texts(const std::string &name) const {
    const auto found = given_.find(name);
    return found == given_.end() ? std::vector<std::string>() : found->second;
}

std::string Arguments::text(const std::string &name, const std::string &otherwise) const {
    const std::vector<std::string> values = texts(name);
    if (values.empty())
        return otherwise;
    if (values.size() > 1)
        refuse("--" + name + " stands more than once, and this takes one");
    if (values.front().empty())
        refuse_with_help("--" + name + " has an empty value");
    return values.front();
}

std::string Arguments::text(const std::string &name) const {
    const Option *option = find_option(known_, name);
    return text(name, option == nullptr ? "" : option->otherwise.value_or(""));
}

int Arguments::integer(const std::string &name, int otherwise, int low, int high) const {
    const std::vector<std::string> values = texts(name);
    if (values.empty())
        return otherwise;
    const std::string &value = values.front();
    const std::optional<int> number = number_of<int>(value);
    if (!number || *number < low || *number > high)
        refuse("--" + name + " must be an integer from " + std::to_string(low) + " to " +
               std::to_string(high) + ", got '" + value + "'");
    return *number;
}

std::optional<double> Arguments::share(const std::string &name) const {
    if (!has(name))
        return std::nullopt;
    const std::string given = text(name, "");
    const std::optional<double> percent =
        number_of<double>(std::string_view(given).substr(0, given.find_last_not_of("% ") + 1));
    if (!percent || !(*percent >= 0.0 && *percent <= 1e6))
        refuse("--" + name + " must be a number of percent from 0 to 1000000, got '" + given +
               "'. Example: --" + name + " 5%");
    constexpr double least_percent = 0.5; // a bare number below it was meant as a share
    if (*percent > 0.0 && *percent < least_percent && given.find('%') == std::string::npos)
        refuse(fmt::format("--{0} {1} is {1} percent, or was {2:g}% meant? Say which: --{0} {1}% or --{0} "
                           "{2:g}%",
                           name, given, 100.0 * *percent));
    return *percent / 100.0;
}

int Arguments::integer(const std::string &name) const {
    const Option *option = find_option(known_, name);
    const std::string otherwise = option == nullptr ? "" : option->otherwise.value_or("");
    return option == nullptr ? 0
                             : integer(name, otherwise.empty() ? option->most : std::stoi(otherwise),
                                       option->least, option->most);
}

} // namespace cli
} // namespace convcast
