#include "model/machine/compare.hpp"
#include "cli/arguments.hpp"
#include "cli/comparison_text.hpp"
#include "cli/document.hpp"
#include "cli/network.hpp"
#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "cli/version.hpp"
#include "model/base/document.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/network/compare_networks.hpp"
#include "model/record/compare_runs.hpp"

#include <boost/describe.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// What a word names.
Compared kind_of(const NamedDocument &one) {
    if (one.is_a("run"))
        return Compared::runs;
    if (one.schema == "onnx" || one.is_a("network") || one.is_a("network_run"))
        return Compared::networks;
    if (one.schema.starts_with("convcast/") && !one.is_a("profile"))
        throw UsageError("compare: " + one.shown + " is a document of " + one.schema +
                         "; expected two Run documents (convcast/run/1), two networks or their runs, or two "
                         "or more profiles");
    return Compared::profiles;
}

/// What all words name. Throws UsageError where they are of several kinds, or too many.
Compared kind_of(const std::vector<NamedDocument> &given, bool two_gpus) {
    const Compared kind = kind_of(given.front());
    const auto alike =
        std::ranges::count_if(given, [&](const NamedDocument &one) { return kind_of(one) == kind; });
    const std::size_t least = kind == Compared::networks && two_gpus ? 1 : 2;
    if (static_cast<std::size_t>(alike) < given.size() || given.size() < least ||
        (kind != Compared::profiles && given.size() > 2))
        throw UsageError(
            fmt::format("compare: expected two Run documents, two networks, or two or more profiles, got {} "
                        "among {} file{}, for example: convcast compare before.json after.json",
                        count_text(alike, kind == Compared::runs       ? "Run document"
                                          : kind == Compared::networks ? "network"
                                                                       : "profile"),
                        given.size(), given.size() == 1 ? "" : "s"));
    return kind;
}

ComparedFiles of_runs(const Arguments &arguments, const std::vector<NamedDocument> &given, bool &unread) {
    CompareRunsOptions options;
    options.tolerance = arguments.share("tolerance").value_or(options.tolerance);
    options.fail_over = arguments.share("fail-over");
    (void)boost::describe::enum_from_string(arguments.text("l2", "cold").c_str(), options.l2);
    (void)boost::describe::enum_from_string(arguments.text("by", "setting").c_str(), options.by);
    const Run before = given[0].run(), after = given[1].run();
    unread = code_of(before) != 0 || code_of(after) != 0;
    return compare_runs(before, given[0].shown, after, given[1].shown, options);
}

ComparedFiles of_profiles(const Arguments &arguments, const std::vector<NamedDocument> &given) {
    CompareOptions options;
    options.tolerance = arguments.share("tolerance");
    options.only = arguments.texts("only");
    std::vector<NamedProfile> profiles;
    for (const NamedDocument &one : given)
        profiles.push_back({one.shown, one.profile()});
    const std::vector<std::string> known = comparable_names(profiles);
    for (const std::string &name : options.only)
        if (std::ranges::find(known, name) == known.end())
            arguments.refuse("no number or curve is named '" + name + "'" + did_you_mean(name, known) +
                             " See docs/profile.md or convcast list --schema profile");
    return compare_profiles(profiles, options);
}

/// A recorded run of a network, or a network's forecast for a GPU.
NetworkRun network_run(const NamedDocument &one, const std::string &gpu, const Arguments &arguments) {
    if (one.is_a("network_run"))
        return described::read_document<NetworkRun>(*one.text, one.shown);
    const Network network =
        without_losses(one.text ? network_of_text(*one.text, one.shown, arguments) : find_network(one.name));
    const GpuProfile profile = find_profile(gpu);
    require_times(profile, "compare");
    NetworkQuestion question;
    question.what_if = false;
    question.batch = asked_images(arguments, network);
    const Knowledge knowledge = knowledge_for(profile);
    NetworkRun forecast = plan_network(network, profile, knowledge, question).forecast;
    forecast.conditions = conditions_of(knowledge);
    forecast.conditions["version"] = producer().version;
    return forecast;
}

/// Two networks on one GPU or each on its own, or one network on two GPUs.
ComparedFiles of_networks(const Arguments &arguments, std::vector<NamedDocument> given) {
    std::vector<std::string> gpus = arguments.texts("gpu");
    const auto recorded =
        std::ranges::find_if(given, [](const NamedDocument &one) { return one.is_a("network_run"); });
    if (gpus.size() > 2)
        arguments.refuse(fmt::format("networks are compared on one GPU or two, got {} --gpu", gpus.size()));
    if (given.size() == 1 && recorded != given.end())
        arguments.refuse(recorded->shown +
                         " is a run on one GPU; give its network's name with two --gpu, or another run");
    if (std::ranges::all_of(given, [](const NamedDocument &one) { return one.is_a("network_run"); }))
        arguments.refuse_options_of("recorded networks", given.front().shown);
    if (gpus.empty())
        gpus = {"h200"};
    if (given.size() == 1)
        given.push_back(given.front());
    const NetworkRun before = network_run(given.front(), gpus.front(), arguments),
                     after = network_run(given.back(), gpus.back(), arguments);
    return compare_networks(before, given.front().shown, after, given.back().shown,
                            arguments.share("tolerance").value_or(default_tolerance));
}

} // namespace

int compare(const Arguments &arguments) {
    refuse_overwriting(arguments);
    const std::vector<std::string> &names = arguments.positional();
    if (std::ranges::count(names, "-") > 1)
        arguments.refuse("standard input (-) can be only one of the files");
    std::vector<NamedDocument> given;
    for (const std::string &name : names)
        given.push_back(look_at(name));
    const Compared kind = kind_of(given, arguments.texts("gpu").size() > 1);
    arguments.refuse_options_of(name_of(kind));
    const Format format = format_of(arguments, true);
    bool unread = false;
    const ComparedFiles comparison = kind == Compared::runs       ? of_runs(arguments, given, unread)
                                     : kind == Compared::profiles ? of_profiles(arguments, given)
                                                                  : of_networks(arguments, std::move(given));
    write_file_atomically(arguments.text("output", "-"),
                          comparison_text(comparison, format, arguments.has("all")));
    const bool compared =
        comparison.total ||
        std::ranges::any_of(comparison.rows, [](const ComparedRow &row) { return !row.only; });
    if (kind != Compared::profiles && !compared)
        note(fmt::format(
            "compare: {} and {} have no case in common, so nothing was compared{}", comparison.files[0].file,
            comparison.files[1].file,
            comparison.by == "setting"
                ? "; --by strategy and --by shape compare the fastest settings, whatever their knobs"
                : ""));
    return comparison.passed && (compared || kind == Compared::profiles) && !unread ? 0 : 1;
}

} // namespace convcast::cli
