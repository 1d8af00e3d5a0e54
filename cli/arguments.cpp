#include "cli/arguments.hpp"

#include "model/base/errors.hpp"
#include "model/shape/conv_shape.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace convcast::cli {

namespace po = boost::program_options;

namespace {

constexpr const char *no_number = "(no number)"; ///< of an option that may go without

std::string long_name(const Option &option) {
    const std::string name = option.name;
    return name.substr(0, name.find(','));
}

/// With a number behind an option that may go without made part of it: "--explain 3" is "--explain=3".
std::vector<std::string> joined(const std::vector<std::string> &words, const std::vector<Option> &options) {
    std::vector<std::string> out;
    for (const std::string &word : words) {
        const bool digits = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
        const bool open = !out.empty() && std::any_of(options.begin(), options.end(), [&](const Option &o) {
            return o.kind == Option::number && out.back() == "--" + long_name(o);
        });
        if (digits && open)
            out.back() += "=" + word;
        else
            out.push_back(word);
    }
    return out;
}

/// Whether the word is a shape.
bool is_shape(const std::string &word) {
    try {
        return !ConvShape::parse(word).id().empty();
    } catch (const UsageError &) {
        return false;
    }
}

} // namespace

Arguments::Arguments(const std::string &verb, const std::vector<std::string> &words,
                     const std::vector<Option> &options, std::size_t most_positional)
    : verb_(verb) {
    po::options_description known;
    std::vector<std::string> dashed = {"--help"};
    known.add_options()("help,h", "");
    for (const Option &option : options) {
        dashed.push_back("--" + long_name(option));
        if (option.kind == Option::flag)
            known.add_options()(option.name, "");
        else if (option.kind == Option::text)
            known.add_options()(option.name, po::value<std::string>());
        else if (option.kind == Option::number)
            known.add_options()(option.name, po::value<std::string>()->implicit_value(no_number));
        else
            known.add_options()(option.name, po::value<std::vector<std::string>>()->composing());
    }
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    std::vector<std::string> rest;
    try {
        const po::parsed_options parsed = po::command_line_parser(joined(words, options))
                                              .options(known)
                                              .style(style)
                                              .allow_unregistered()
                                              .run();
        for (const po::option &item : parsed.options) {
            if (item.unregistered)
                throw UsageError(verb + ": unknown option '" + item.original_tokens.front() + "'" +
                                 did_you_mean(item.original_tokens.front(), dashed) +
                                 " Options: " + join(dashed));
            if (item.position_key >= 0)
                rest.insert(rest.end(), item.value.begin(), item.value.end());
        }
        po::parsed_options options_only(parsed.description);
        for (const po::option &item : parsed.options)
            if (item.position_key < 0)
                options_only.options.push_back(item);
        po::store(options_only, map_);
    } catch (const po::error &error) {
        throw UsageError(verb + ": " + error.what() + "; see convcast " + verb + " --help");
    }
    const bool takes_shapes = std::any_of(options.begin(), options.end(),
                                          [](const Option &option) { return long_name(option) == "shape"; });
    if (rest.size() > most_positional && takes_shapes && is_shape(rest[most_positional]))
        throw UsageError(verb + ": a shape stands behind --shape: " + verb + " --shape " +
                         rest[most_positional]);
    if (rest.size() > most_positional)
        throw UsageError(verb + ": unexpected word '" + rest[most_positional] + "'; see convcast " + verb +
                         " --help");
    positional_ = std::move(rest);
}

std::vector<std::string> Arguments::given() const {
    std::vector<std::string> names;
    for (const auto &[name, value] : map_)
        names.push_back(name);
    return names;
}

std::vector<std::string> Arguments::values(const std::string &name) const {
    if (!has(name))
        return {};
    const boost::any &value = map_[name].value();
    if (const auto *all = boost::any_cast<std::vector<std::string>>(&value))
        return *all;
    const auto *one = boost::any_cast<std::string>(&value);
    return one != nullptr ? std::vector<std::string>{*one} : std::vector<std::string>();
}

void Arguments::refuse_all_but(const std::vector<std::string> &names, const std::string &what,
                               const std::string &instead) const {
    for (const std::string &name : given())
        if (std::find(names.begin(), names.end(), name) == names.end())
            throw UsageError(verb_ + ": --" + name + " does not go with " + what + "; " + instead);
}

std::string Arguments::text(const std::string &name, const std::string &otherwise) const {
    if (!has(name))
        return otherwise;
    const auto *all = boost::any_cast<std::vector<std::string>>(&map_[name].value());
    if (all && all->size() > 1)
        throw UsageError(verb_ + ": --" + name + " stands more than once, and this takes one");
    const std::string value = all ? all->front() : map_[name].as<std::string>();
    if (value.empty())
        throw UsageError(verb_ + ": --" + name + " has an empty value; see convcast " + verb_ + " --help");
    return value;
}

std::vector<std::string> Arguments::texts(const std::string &name) const {
    return has(name) ? map_[name].as<std::vector<std::string>>() : std::vector<std::string>{};
}

int Arguments::integer(const std::string &name, int otherwise, int low, int high) const {
    if (!has(name))
        return otherwise;
    const std::string value = map_[name].as<std::string>();
    if (value == no_number)
        return otherwise;
    int number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size() || number < low || number > high)
        throw UsageError(verb_ + ": --" + name + " must be an integer from " + std::to_string(low) + " to " +
                         std::to_string(high) + ", got '" + value + "'");
    return number;
}

} // namespace convcast::cli
