#include "cli/network.hpp"

#include "cli/knowledge.hpp"
#include "cli/scaling.hpp"
#include "cli/sheet.hpp"
#include "cli/terminal.hpp"
#include "cli/version.hpp"
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/network/forecast.hpp"
#include "model/strategies/list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

struct Asked {
    Network network;
    GpuProfile profile;
    Knowledge knowledge;
    NetworkQuestion question;
};

void refuse_questions(const std::string &verb, const Arguments &arguments) {
    for (const char *other :
         {"shape", "study", "shapes", "timeline", "given", "measure", "place", "device", "why"})
        if (arguments.has(other))
            throw UsageError(verb + ": --network and --" + other +
                             " were both given; a network already says which shapes");
}

Asked read_asked(const std::string &verb, const Arguments &arguments) {
    Asked asked;
    asked.network = without_losses(find_network(arguments.text("network", "")));
    const std::int64_t most =
        std::min<std::int64_t>(most_images(asked.network), std::numeric_limits<int>::max());
    asked.question.batch = arguments.integer("batch", 1, 1, static_cast<int>(most));
    asked.question.strategies = arguments.texts("strategy");
    const std::vector<std::string> names = strategy_names();
    for (const std::string &name : asked.question.strategies)
        if (std::find(names.begin(), names.end(), name) == names.end())
            throw UsageError(
                verb + ": --network chooses the knobs itself; --strategy takes a strategy's name, got '" +
                name + "'" + did_you_mean(name, names) + " Known: " + join(names));
    asked.profile = find_profile(arguments.text("gpu", "h200"));
    supply_assumed(asked.profile, arguments);
    if (arguments.has("sms"))
        asked.profile =
            with_sms(std::move(asked.profile), arguments.integer("sms", 1, 1, asked.profile.limits.sm_count));
    require_times(asked.profile, verb + " --network");
    asked.knowledge = read_knowledge(arguments, asked.profile);
    return asked;
}

std::string document(NetworkForecast forecast, const Knowledge &knowledge) {
    forecast.conditions = conditions_of(knowledge);
    forecast.conditions["version"] = producer().version;
    return to_text(described::write(forecast));
}

std::string percent(double share) {
    return fmt::format("{:.1f} %", 100.0 * share);
}

std::string heading(const NetworkForecast &forecast, const Asked &asked) {
    return bold(fmt::format("{} on {}, batch {}", forecast.network, asked.profile.name, forecast.batch)) +
           fmt::format("\n  {} in one CUDA graph of {} nodes, {:.0f} images a second; {:.3g} G FMAs\n",
                       short_time(forecast.time_s), forecast.nodes,
                       static_cast<double>(forecast.batch) / forecast.time_s.value, forecast.fmas / 1e9) +
           fmt::format("  {:.2f}x the bound {}: direct products at full rate, or every parameter read once; "
                       "Winograd multiplies less\n",
                       forecast.time_s / forecast.light_s, short_time(forecast.light_s)) +
           fmt::format("  convolutions {}, dense layers {}, the rest {}\n\n",
                       percent(forecast.convolutions_s / forecast.time_s),
                       percent(forecast.dense_s / forecast.time_s),
                       percent(forecast.others_s / forecast.time_s));
}

std::string launches_table(const NetworkForecast &forecast) {
    std::vector<std::vector<std::string>> rows;
    for (const NetworkLaunch &launch : forecast.launches)
        rows.push_back({name_of(launch.kind, launch.operators), short_time(launch.time_s),
                        percent(launch.share),
                        launch.light_s ? fmt::format("{:.1f}x", launch.time_s / *launch.light_s) : "-",
                        launch.shape.value_or("-"),
                        launch.candidates.empty() ? "-" : launch.candidates.front().strategy});
    return table({{"operators"},
                  {"time", Align::right},
                  {"share", Align::right},
                  {"/ light", Align::right},
                  {"shape"},
                  {"strategy"}},
                 rows, terminal_width());
}

std::string what_if_text(const NetworkForecast &forecast) {
    std::string text = "\nwhat would change it, strategies chosen anew:\n";
    for (const WhatIf &change : forecast.what_if)
        text += fmt::format("  {:>10}  {:+6.1f} %  {}\n", short_time(change.time_s),
                            100.0 * (change.time_s / forecast.time_s - 1.0), change.change);
    return text;
}

std::string assumptions(const NetworkForecast &forecast) {
    std::string text = "\n";
    for (const std::string &assumption : forecast.assumptions)
        text += headed("assumed: ", assumption, 9, terminal_width());
    return text;
}

std::string candidates_text(const NetworkForecast &forecast) {
    std::string text;
    std::set<std::string> shown;
    for (const NetworkLaunch &launch : forecast.launches) {
        if (launch.candidates.empty() || !shown.insert(*launch.shape).second)
            continue;
        std::string layers;
        for (const NetworkLaunch &other : forecast.launches)
            if (other.shape == launch.shape && !other.candidates.empty())
                layers += (layers.empty() ? "" : ", ") + other.operators.front();
        text += headed(bold(*launch.shape) + "  ", layers, 2, terminal_width());
        std::vector<std::vector<std::string>> rows;
        const Seconds best = launch.candidates.front().time_s;
        for (const NetworkCandidate &way : launch.candidates)
            rows.push_back({short_time(way.time_s), fmt::format("{:.2f}", way.time_s / best), way.strategy});
        text +=
            table({{"time", Align::right}, {"/ best", Align::right}, {"strategy"}}, rows, terminal_width()) +
            "\n";
    }
    return text;
}

/// A launch a row; `candidates`: the strategies of each convolution instead, fastest first.
Sheet network_sheet(const NetworkForecast &forecast, bool candidates) {
    Sheet sheet;
    sheet.columns = {{"network", ""},  {"batch", ""}, {"operators", ""}, {"shape", ""},          {"rank", ""},
                     {"strategy", ""}, {"time", "s"}, {"share", ""},     {"speed_of_light", "s"}};
    const auto add = [&](const NetworkLaunch &launch, const SheetCell &rank, const std::string &strategy,
                         Seconds time) {
        sheet.rows.push_back({forecast.network, std::int64_t{forecast.batch}, join(launch.operators, "+"),
                              cell(launch.shape), rank, cell(std::optional(strategy)), time.value,
                              candidates ? SheetCell() : SheetCell(launch.share), cell(launch.light_s)});
    };
    for (const NetworkLaunch &launch : forecast.launches) {
        if (!candidates)
            add(launch, {}, launch.candidates.empty() ? "" : launch.candidates.front().strategy,
                launch.time_s);
        for (std::size_t i = 0; candidates && i < launch.candidates.size(); ++i)
            add(launch, static_cast<std::int64_t>(i) + 1, launch.candidates[i].strategy,
                launch.candidates[i].time_s);
    }
    return sheet;
}

/// The forecast in the format that is asked for; `text` is the answer for a terminal.
void write_answer(const NetworkForecast &forecast, const Asked &asked, const std::string &verb,
                  const Arguments &arguments, const std::string &text) {
    const Format format = format_of(verb, arguments, true);
    const Sheet sheet = network_sheet(forecast, verb == "choose");
    write_file_atomically(arguments.text("output", "-"), format == Format::json
                                                             ? document(forecast, asked.knowledge)
                                                         : format == Format::csv      ? as_csv(sheet)
                                                         : format == Format::markdown ? as_markdown(sheet)
                                                                                      : printable(text));
}

} // namespace

std::vector<Option> network_options() {
    return {{"network", Option::text}, {"batch", Option::text}};
}

bool asks_network(const std::string &verb, const Arguments &arguments) {
    if (arguments.has("network"))
        return true;
    if (arguments.has("batch") && !arguments.has("shapes"))
        throw UsageError(verb + ": --batch is of a network or a list of shapes, for example --network "
                                "resnet50 --batch 32; a shape has "
                                "its own, for example n32c64h56w56k64r3s3");
    if (verb != "choose")
        (void)asks_scaling(verb, arguments);
    for (const char *other : training_options)
        if (arguments.has(other))
            throw UsageError(verb + ": --" + other +
                             " is of training a network, for example --network mnist --data FOLDER");
    return false;
}

AskedPlan plan_asked_network(const std::string &verb, const Arguments &arguments) {
    Asked asked = read_asked(verb, arguments);
    asked.question.what_if = false;
    AskedPlan planned;
    planned.plan = plan_network(asked.network, asked.profile, asked.knowledge, asked.question);
    planned.conditions = conditions_of(asked.knowledge);
    planned.profile = std::move(asked.profile);
    return planned;
}

int predict_network(const Arguments &arguments) {
    if (asks_scaling("predict", arguments))
        return predict_scaling(arguments);
    refuse_questions("predict", arguments);
    const Asked asked = read_asked("predict", arguments);
    const NetworkForecast forecast =
        forecast_network(asked.network, asked.profile, asked.knowledge, asked.question);
    write_answer(forecast, asked, "predict", arguments,
                 heading(forecast, asked) + launches_table(forecast) + what_if_text(forecast) +
                     assumptions(forecast));
    return 0;
}

int choose_network(const Arguments &arguments) {
    refuse_questions("choose", arguments);
    Asked asked = read_asked("choose", arguments);
    asked.question.top = static_cast<std::size_t>(arguments.integer("top", 3, 1, 100000));
    asked.question.what_if = false;
    const NetworkForecast forecast =
        forecast_network(asked.network, asked.profile, asked.knowledge, asked.question);
    write_answer(forecast, asked, "choose", arguments,
                 heading(forecast, asked) + candidates_text(forecast) + assumptions(forecast));
    return 0;
}

} // namespace convcast::cli
