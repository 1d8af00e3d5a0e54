// The cases of a ladder and of steps on GPUs, and the forecast of a ladder.
#include "cli/network.hpp"

#include "cli/answers.hpp"
#include "cli/question.hpp"
#include "cli/sheet.hpp"
#include "cli/terminal.hpp"
#include "cli/version.hpp"
#include "model/base/document.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/network/rung_forecast.hpp"
#include "model/network/scaling.hpp"
#include "model/time/call.hpp"
#include "reports/network_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

std::string heading(const NetworkRun &run, const std::string &gpu) {
    const NetworkCase &first = run.first();
    const bool measured =
        std::ranges::any_of(run.cases, [](const NetworkCase &item) { return item.measured_s().has_value(); });
    const std::string forecast = measured ? "" : ", forecast";
    if (!first.split)
        return fmt::format("{} on {}, batch {}{}", run.network, gpu, first.batch, forecast);
    const int hosts = run.most_hosts();
    return fmt::format("{} on {}{} x {}, a step of training{}{}", run.network,
                       hosts > 1 ? fmt::format("{} hosts with ", hosts) : "",
                       std::set(run.devices.begin(), run.devices.end()).size(), gpu,
                       run.shares_a_gpu() ? fmt::format(", {} shares", run.devices.size()) : "", forecast);
}

/// What a case does, what each GPU has of it, or why there is no time.
std::string words_of(const NetworkCase &item) {
    if (item.reason)
        return name_of(item.status) + ": " + *item.reason;
    std::vector<std::string> shares;
    for (auto share = item.shares.begin(); share != item.shares.end();) {
        const auto other = std::find_if(share, item.shares.end(), [&](auto its) { return its != *share; });
        if (std::ssize(item.shares) > most_split_devices) // of many GPUs how many have the same
            shares.push_back(fmt::format("{} x {}", other - share, *share));
        else
            shares.insert(shares.end(), static_cast<std::size_t>(other - share), std::to_string(*share));
        share = other;
    }
    return item.title.value_or(join(shares, " "));
}

std::string advice_text(const NetworkRun &run) {
    std::string text = run.advice.empty() ? "" : "\nby the forecast\n";
    for (const ScalingAdvice &advice : run.advice) {
        const auto from = [](const std::optional<std::int64_t> &batch) {
            return batch ? fmt::format("from {} images a step on", *batch)
                         : fmt::format("at no size up to {} images", most_split_batch);
        };
        text += headed("  ",
                       fmt::format("{} over {} GPUs is faster than one {}; its efficiency reaches 90 % {}",
                                   to_text(advice.split), advice.devices, from(advice.pays_from),
                                   from(advice.efficient_from)),
                       4);
    }
    return text;
}

/// The rungs, each with its forecast as a comment.
std::string rungs_schedule(const NetworkRun &run, const std::string &gpu) {
    Schedule schedule;
    schedule.network = run.network;
    schedule.batch = run.first().batch;
    schedule.note = fmt::format("Implementations of {}, batch {}, forecast for {} by convcast {}\nGrammar: "
                                "docs/networks.md",
                                run.network, schedule.batch, gpu, producer().version);
    for (const NetworkCase &rung : run.cases) {
        const auto time = rung.forecast->time_s;
        schedule.rungs.push_back({*rung.id, (time ? short_time(*time) + ", " : "") + *rung.title});
    }
    return to_text(schedule);
}

/// A kernel of a step: how often, how long, its share, and what of one launch takes most.
std::vector<Cell> kernel_row(const KernelForecast &launch, std::int64_t times, Seconds step) {
    const auto most = std::ranges::max_element(launch.parts, {}, &PhaseTime::time_s);
    const double share = launch.in_graph_s ? launch.in_graph_s->value / step.value : 0.0;
    return {launch.kernel,
            times,
            short_time(launch.time_s),
            time_cell(launch.in_graph_s),
            launch.in_graph_s ? Cell(fmt::format("{:.0f} %", 100.0 * share)) : Cell(),
            fmt::format("{:.2f}", launch.waves),
            most == launch.parts.end() ? "" : most->name + " " + short_time(most->time_s)};
}

/// One step of a rung that trains.
std::string step_text(const NetworkCase &result, const Rung &rung) {
    std::string text = "\n" + headed(bold(*result.id) + ": ", *result.title, result.id->size() + 2);
    const NetworkTimes &forecast = *result.forecast;
    if (forecast.why_not)
        return text + "  no forecast: " + *forecast.why_not + "\n";
    if (forecast.time_s)
        text += fmt::format("  as one CUDA graph {}, launched one by one {}\n", short_time(*forecast.time_s),
                            short_time(*forecast.stream_s));
    else
        text += fmt::format("  launched one by one {}\n", short_time(*forecast.stream_s));
    const Seconds step = *forecast.call_s();
    Table step_table{{{"kernel"},
                      {"launches", As::number, Keep::high},
                      {"one launch", As::number},
                      {"in a step", As::number, Keep::must},
                      {"share", As::number, Keep::must},
                      {"waves", As::number, Keep::low},
                      {"longest part of a launch", As::text, Keep::normal, Fit::wrap}},
                     {}};
    double kernels = 0.0;
    for (std::size_t i = 0; i < result.kernels_forecast.size(); ++i) {
        const LadderLaunch &launch = rung.launches[i];
        const std::int64_t streams = launch.each_stream.value_or(false) ? rung.streams.value_or(1) : 1;
        step_table.rows.push_back(
            kernel_row(result.kernels_forecast[i], streams * launch.repeat.value_or(1), step));
        kernels += result.kernels_forecast[i].in_graph_s.value_or(Seconds(0.0)).value;
    }
    if (forecast.time_s) {
        const double rest = step.value - kernels;
        step_table.rows.push_back({forecast.copy_s ? "images copied, and starts" : "starts of launches", "",
                                   "", short_time(Seconds(rest)),
                                   fmt::format("{:.0f} %", 100.0 * rest / step.value), "", ""});
    }
    return text + table(step_table);
}

std::string training_text(const NetworkRun &run, const Ladder &ladder, const std::string &gpu) {
    std::string text = bold(wrapped(fmt::format("{} on {}, a step of training of {} images, forecast",
                                                run.network, gpu, run.first().batch)));
    for (std::size_t i = 0; i < run.cases.size(); ++i)
        text += step_text(run.cases[i], ladder.rungs[i]);
    return text;
}

} // namespace

std::string cases_text(const NetworkRun &run, const std::string &gpu) {
    std::string text = bold(wrapped(heading(run, gpu)));
    const auto line = [&](const std::string &said) { text += wrapped(said, 2); };
    if (run.sequential_s)
        line(fmt::format("one thread of the GPU's host, an image: {}", short_time(*run.sequential_s)));
    if (run.published_cpu_s && run.published_gpu)
        line(fmt::format("published: one thread of a CPU, an image: {}; implementations on a {}",
                         short_time(*run.published_cpu_s), *run.published_gpu));
    if (run.peers)
        line(fmt::format(
            "copies between GPUs: {:.0f} GB/s one way while as much goes the other way, {:.2f} us ({})",
            run.peers->bandwidth_bytes_per_s.value / 1e9, run.peers->latency_s.value * 1e6, run.peers->by));
    Table cases = cases_table(run);
    cases.columns.push_back({run.first().split ? "shares" : "what it does", As::text, Keep::high, Fit::wrap});
    std::size_t row = 0;
    for (const NetworkCase &item : run.cases)
        if (item.id || item.split)
            cases.rows[row++].push_back(words_of(item));
    text += "\n" + table(cases);
    text +=
        run.shares_a_gpu()
            ? "\n" + hanging("shares of one GPU: the forecast is of GPUs of their own, so its speed-ups are "
                             "not those of this machine")
            : advice_text(run);
    for (const auto &[name, said] : run.conditions)
        if (name.starts_with("no_peer_access") || name == "several_shares_a_gpu")
            text += headed("note: ", said, 6);
    return text + assumptions_text(run);
}

std::string assumptions_text(const NetworkRun &run) {
    std::string text;
    for (const std::string &assumption : run.assumptions)
        text += headed("assumed: ", assumption, 9);
    return text;
}

int write_network(const Arguments &arguments, NetworkRun run, const std::string &text) {
    run.conditions["version"] = producer().version;
    const bool document = arguments.has("json") || arguments.has("output");
    write_file_atomically(arguments.text("output", "-"),
                          document ? to_text(described::write(run)) : printable(text));
    return code_of(run);
}

int predict_ladder(const Arguments &arguments, const std::optional<ScheduleReading> &schedule) {
    const bool training = arguments.has("training");
    const std::string asked = training ? "training" : "ladder";
    arguments.refuse_options_of("ladder", asked);
    const Network network = asked_network(arguments);
    Ladder ladder = find_ladder(network);
    if (training)
        ladder = training_part(std::move(ladder));
    const std::int64_t batch =
        asked_rungs(arguments, schedule, ladder, training ? training_batch(ladder) : 1);
    const Format format = format_of(arguments, true);
    if (format == Format::csv || format == Format::markdown)
        arguments.refuse("the formats of a ladder are text, json and schedule");
    const ProfileVariant gpu = asked_profile(arguments, "--" + asked);
    require_times(gpu.profile, "predict --" + asked);
    NetworkRun run = forecast_ladder(ladder, network, batch, gpu.profile);
    run.conditions["version"] = producer().version;
    write_file_atomically(arguments.text("output", "-"),
                          format == Format::json       ? to_text(described::write(run))
                          : format == Format::schedule ? rungs_schedule(run, gpu.title)
                          : training                   ? printable(training_text(run, ladder, gpu.title))
                                                       : printable(cases_text(run, gpu.title)));
    return 0;
}

std::int64_t asked_rungs(const Arguments &arguments, const std::optional<ScheduleReading> &schedule,
                         Ladder &ladder, std::int64_t default_batch) {
    constexpr int most_batch = 65536;
    const int batch = arguments.integer("batch", static_cast<int>(default_batch), 1, most_batch);
    if (!schedule)
        return batch;
    if (!schedule->schedule.lines.empty())
        arguments.refuse("--ladder takes a schedule that names implementations, for example: rung " +
                         ladder.rungs.front().id +
                         "; one of launches is of the whole network, without --ladder");
    ladder = rungs_of(*schedule, std::move(ladder));
    if (schedule->schedule.batch > most_batch)
        throw InputError(schedule->file, fmt::format("batch {}: a ladder computes at most {} images, for "
                                                     "example: batch 32",
                                                     schedule->schedule.batch, most_batch));
    return schedule->schedule.batch;
}

} // namespace convcast::cli
