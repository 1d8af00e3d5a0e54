#include "cli/network.hpp"

#include "cli/answers.hpp"
#include "cli/onnx_graph.hpp"
#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "cli/terminal.hpp"
#include "cli/version.hpp"
#include "model/base/document.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/hash.hpp"
#include "model/choose/ranking.hpp"
#include "model/network/forecast.hpp"
#include "model/network/network.hpp"
#include "model/network/onnx/import.hpp"
#include "model/record/known_times.hpp"
#include "model/record/shape_list.hpp"
#include "model/strategies/list.hpp"
#include "reports/network_page.hpp"
#include "reports/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// How many images a call of the network may have at most.
int most_batch(const Network &network) {
    return static_cast<int>(std::min<std::int64_t>(most_images(network), std::numeric_limits<int>::max()));
}

constexpr int any_int = std::numeric_limits<int>::max();

/// Words of a refusal: which tensor of the network keeps a call from having more than most_batch images.
std::string why_most(const Network &network) {
    const auto largest = largest_tensor(network);
    return fmt::format("{}, {} an image, may have 2^31 numbers at most",
                       largest ? "the output of " + network.operators[*largest].name : "the input",
                       to_text(largest ? network.operators[*largest].output : network.input));
}

/// Throws UsageError for options that ask of shapes what cannot be asked of a network, since nothing that was
/// asked is passed over in silence. The message shows the network's first convolution as an example.
void refuse_options_of_shapes(const Arguments &arguments) {
    const Network network = without_losses(asked_network(arguments));
    const std::vector<ScheduledLaunch> schedule =
        schedule_of(network, 1, [](const ConvShape &) { return false; });
    const auto first = std::ranges::find_if(
        schedule, [](const ScheduledLaunch &launch) { return launch.kind == LaunchKind::convolution; });
    arguments.refuse_options_of("network",
                                first == schedule.end()
                                    ? ""
                                    : ", for example the network's first one: --shape " + first->shape->id());
}

/// The launches of a forecast as a file for --schedule.
std::string schedule_document(const PlannedNetwork &plan, const AskedNetwork &asked) {
    Schedule schedule = schedule_of(plan);
    schedule.note = fmt::format("{}, batch {}: {} forecast for {} by convcast {}\nGrammar: docs/networks.md",
                                plan.forecast.network, plan.batch(), short_time(plan.time()), asked.title,
                                producer().version);
    return to_text(schedule);
}

// In this file `forecast` is what plan_network made: one case, with its time and the optional sums of it.

Seconds time_of(const NetworkRun &forecast) {
    return *forecast.first().forecast_s();
}

/// The sum of the launches' times: on several streams it is more than the network takes.
Seconds time_of_launches(const NetworkRun &forecast) {
    const NetworkCase &network = forecast.first();
    return *network.convolutions_s + *network.dense_s + *network.others_s;
}

std::string share_text(double share) {
    return percent_text(share, 1);
}

/// The forecast beside the layers' multiply-adds at the full rate, no bound where Winograd does fewer.
std::string light_words(const NetworkRun &forecast) {
    const std::string light = short_time(*forecast.first().light_s);
    if (time_of(forecast) < *forecast.first().light_s)
        return fmt::format(
            "the layers' multiply-adds at the full FMA rate would take {}; Winograd does fewer", light);
    return fmt::format("{:.2f}x the {} that the layers' multiply-adds take at the full FMA rate, with every "
                       "parameter read once",
                       time_of(forecast) / *forecast.first().light_s, light);
}

/// Says that strategies on tensor cores are left out, if one of the network's convolutions could take one; ""
/// if not, and where --strategy or --schedule says what to take.
std::string left_out_words(const NetworkRun &forecast, const AskedNetwork &asked) {
    if (!asked.question.strategies.empty() || asked.question.schedule)
        return "";
    std::vector<std::string> names = strategy_names();
    std::erase_if(names, [](const std::string &name) { return !uses_tensor_cores(name); });
    for (const NetworkLaunch &launch : forecast.first().launches)
        if (launch.kind == LaunchKind::convolution &&
            !rank(ConvShape::parse(*launch.shape), asked.profile, asked.knowledge, names, 1).settings.empty())
            return "strategies on tensor cores are left out; with them: --tensor-cores";
    return "";
}

/// The recorded time of the network with this batch on this GPU; "" where there is none, or where the
/// question names strategies or a schedule, which the recording did not have.
std::string recorded_words(const NetworkRun &forecast, const AskedNetwork &asked) {
    if (!asked.question.strategies.empty() || asked.question.schedule)
        return "";
    const auto known =
        KnownTimes(asked.profile)
            .find(fmt::format("network {} batch {}", forecast.network, forecast.first().batch), "replayed");
    return !known ? ""
                  : fmt::format("measured {}, the graph replayed in a row; forecast {} (recording {})",
                                short_time(known->time_s),
                                change_text(time_of(forecast) / known->time_s - 1.0, 1), known->recording);
}

/// The lines above the table of launches: the time, and what it is compared with.
std::string heading(const NetworkRun &forecast, const AskedNetwork &asked) {
    const NetworkCase &its = forecast.first();
    const Seconds time = time_of(forecast), all = time_of_launches(forecast);
    std::string text =
        bold(fmt::format("{} on {}, batch {}", forecast.network, asked.title, its.batch)) + "\n";
    const auto add = [&](const std::string &line) { text += wrapped(line, 2); };
    add(fmt::format("{} in one CUDA graph of {} nodes, {:.0f} images a second; {:.3g} G FMAs",
                    short_time(time), *its.nodes, static_cast<double>(its.batch) / time.value,
                    *its.fmas / 1e9));
    if (its.forecast->low_s)
        add(fmt::format("{} to {} as the numbers that were assumed lie in their ranges",
                        short_time(*its.forecast->low_s), short_time(*its.forecast->high_s)));
    if (its.reason)
        add(*its.reason);
    add(light_words(forecast));
    add(left_out_words(forecast, asked));
    add(recorded_words(forecast, asked));
    if (its.chosen_s)
        add(fmt::format("by the schedule that was given: {:.3f}x the {} of the forecast's own",
                        time / *its.chosen_s, short_time(*its.chosen_s)));
    add(fmt::format("convolutions {}, dense layers {}, the rest {}", share_text(*its.convolutions_s / all),
                    share_text(*its.dense_s / all), share_text(*its.others_s / all)));
    return text + "\n";
}

/// The run with its --top-nodes longest launches alone, longest first; without that option as it is.
NetworkRun longest_launches(NetworkRun run, const Arguments &arguments) {
    if (!arguments.has("top-nodes"))
        return run;
    const int wanted = arguments.integer("top-nodes", 1, 1, std::numeric_limits<int>::max());
    std::ranges::stable_sort(run.first().launches, std::ranges::greater(), &NetworkLaunch::time_s);
    if (std::ssize(run.first().launches) > wanted)
        run.first().launches.resize(static_cast<std::size_t>(wanted));
    return run;
}

/// Lines below the table of the launches `shown`: how many are not, what all add up to, the memory.
std::string totals_text(const NetworkRun &forecast, const NetworkRun &shown) {
    const NetworkCase &its = forecast.first();
    std::string text;
    const auto add = [&](const std::string &line) { text += wrapped(line, 2); };
    double share = 0.0;
    for (const NetworkLaunch &launch : shown.first().launches)
        share += launch.share;
    if (const auto left = std::ssize(its.launches) - std::ssize(shown.first().launches); left > 0)
        add(fmt::format("and {} more, {} of the time", left, share_text(1.0 - share)));
    add(unknown_words(forecast));
    const Seconds gaps = its.gaps_s.value_or(Seconds()), all = time_of_launches(forecast),
                  time = time_of(forecast);
    const bool at_once = all - time >= Seconds(1e-9); // a smaller difference is rounding
    add(fmt::format("nodes {}, between launches {}, {}total {}; the time of a node has what passes before it",
                    short_time(all - gaps), short_time(gaps),
                    at_once ? "less " + short_time(all - time) + " that run at once, " : "",
                    short_time(time)));
    const auto size = [](std::int64_t bytes) { return short_bytes(static_cast<double>(bytes)); };
    if (const auto &memory = its.memory)
        add(fmt::format("{}, {} parameters; memory {}: parameters {}, activations {}, images and results "
                        "{}, workspaces {}",
                        readable(its.flops.value_or(0.0), "FLOP"), grouped(memory->parameters_bytes / 4),
                        size(memory->all_bytes()), size(memory->parameters_bytes),
                        size(memory->activations_bytes), size(memory->images_bytes),
                        size(memory->workspace_bytes)));
    return text;
}

/// A line for each change that was tried: the network's time with it, and by how much that differs.
std::string what_if_text(const NetworkRun &forecast) {
    std::string text =
        "\n" + wrapped(forecast.first().chosen_s ? "what would change it, with this schedule:"
                                                 : "what would change it, strategies chosen anew:");
    for (const ChangedNetwork &change : forecast.first().what_if)
        text += headed(fmt::format("  {:>10}  {:+6.1f} %  ", short_time(change.time_s),
                                   100.0 * (change.time_s / time_of(forecast) - 1.0)),
                       change.change, 24);
    const auto helped = [](const NetworkLaunch &launch) { return launch.helps.has_value(); };
    if (std::ranges::any_of(forecast.first().launches, helped))
        text += wrapped(
            "helps: the change of the GPU that shortens this node most, and by how much, its strategy "
            "as it is",
            2);
    return text;
}

/// For `choose`: a table of the strategies of each shape of a convolution, below the layers that have it.
/// Where the first, which is taken, is not the fastest, it says why.
std::string candidates_text(const NetworkRun &forecast) {
    std::string text;
    std::set<std::string> shown;
    for (const NetworkLaunch &launch : forecast.first().launches) {
        if (launch.candidates.empty() || !shown.insert(*launch.shape).second)
            continue;
        std::string layers;
        for (const NetworkLaunch &other : forecast.first().launches)
            if (other.shape == launch.shape && !other.candidates.empty())
                layers += (layers.empty() ? "" : ", ") + other.operators.front();
        text += headed(bold(*launch.shape) + "  ", layers, 2);
        const Seconds best = std::ranges::min(launch.candidates, {}, &NetworkCandidate::time_s).time_s;
        using Way = const NetworkCandidate &;
        text += table(table_of<NetworkCandidate>(
            launch.candidates,
            {{{"time", As::number}, [](Way way) { return short_time(way.time_s); }},
             {{"/ best", As::number}, [&](Way way) { return fmt::format("{:.2f}", way.time_s / best); }},
             {{"strategy", As::text, Keep::must, Fit::wrap}, &NetworkCandidate::strategy}}));
        if (best < launch.candidates.front().time_s)
            text +=
                wrapped(launch.operators.size() > 1 && launch.candidates.front().time_s > best * tie_of(best)
                            ? "The first is taken: its kernel also does bias, addition and ReLU, and with it "
                              "the network is faster than with the fastest by itself."
                            : "The first is taken: the forecast cannot tell these apart, and it is of those "
                              "that prepare their filters once.",
                        2);
        text += "\n";
    }
    return text;
}

/// For CSV and Markdown: a row for each launch, or, with `candidates`, for each strategy it could take.
Table network_sheet(const NetworkRun &forecast, bool candidates) {
    Table sheet{{{"network"},
                 {"batch", As::number},
                 {"operators"},
                 {"kind"},
                 {"shape"},
                 {"rank", As::number},
                 {"strategy"},
                 {"time", As::time},
                 {"share", As::share},
                 {"speed_of_light", As::time},
                 {"flops", As::number},
                 {"parameters", As::number},
                 {"bytes", As::number},
                 {"helps"},
                 {"time_with_help", As::time}},
                {}};
    const auto add = [&](const NetworkLaunch &launch, const Cell &rank, const std::string &strategy,
                         Seconds time) {
        sheet.rows.push_back({forecast.network, forecast.first().batch, launch.name(), kind_text(launch),
                              launch.shape, rank, strategy, time, candidates ? Cell() : Cell(launch.share),
                              launch.light_s, launch.flops, launch.parameters, launch.bytes,
                              launch.helps ? Cell(launch.helps->change) : Cell(),
                              launch.helps ? Cell(launch.helps->time_s) : Cell()});
    };
    for (const NetworkLaunch &launch : forecast.first().launches) {
        if (!candidates)
            add(launch, {}, launch.strategy(), launch.time_s);
        for (std::size_t i = 0; candidates && i < launch.candidates.size(); ++i)
            add(launch, i + 1, launch.candidates[i].strategy, launch.candidates[i].time_s);
    }
    return sheet;
}

/// The forecast in the format that is asked for; `text` is the answer for a terminal. Returns the exit code.
int answer(const PlannedNetwork &plan, const AskedNetwork &asked, const Arguments &arguments,
           const std::string &text) {
    const NetworkRun &forecast = plan.forecast;
    const Table sheet = network_sheet(longest_launches(forecast, arguments), arguments.verb() == "choose");
    const auto markdown = [&] {
        const std::string recorded = recorded_words(forecast, asked);
        return to_markdown(sheet) +
               fmt::format("\ntotal: {} in one CUDA graph of {} nodes, batch {}\n",
                           short_time(time_of(forecast)), *forecast.first().nodes, forecast.first().batch) +
               (recorded.empty() ? "" : recorded + "\n");
    };
    write_network(arguments, asked.documented(forecast), text,
                  {{Format::schedule, [&] { return schedule_document(plan, asked); }},
                   {Format::csv, [&] { return to_csv(sheet); }},
                   {Format::markdown, markdown}});
    return 0; // a forecast has run nothing, and that is no failure
}

} // namespace

Network network_of_text(const std::string &text, const std::string &shown, const Arguments &arguments,
                        const std::optional<std::string> &folder) {
    if (!is_onnx(text))
        return read_network(text, shown);
    const OnnxGraph graph = read_onnx(text, shown, input_size(arguments));
    for (const std::string &remark : graph.remarks)
        note(remark);
    std::vector<std::string> remarks;
    Network network = import_onnx(graph, shown, &remarks);
    for (const std::string &remark : remarks)
        note(remark);
    for (const std::string &remark : remarks_on_files(graph, shown, folder))
        note(remark);
    return network;
}

Network network_of_file(const std::string &name, const Arguments &arguments) {
    const std::string folder = name == "-" ? "" : std::filesystem::path(name).parent_path().string();
    return network_of_text(read_file(name), shown_name(name), arguments,
                           name == "-" ? std::nullopt : std::optional(folder));
}

int asked_images(const Arguments &arguments, const Network &network) {
    const int most = most_batch(network), asked = arguments.integer("batch", 1, 1, any_int);
    if (asked > most)
        arguments.refuse(fmt::format("--batch must be an integer from 1 to {}, got {}: {}", most, asked,
                                     why_most(network)));
    return asked;
}

Network asked_network(const Arguments &arguments) {
    static std::map<std::string, Network> read; // by the value of --network
    const std::string name = arguments.text("network", "");
    if (const auto found = read.find(name); found != read.end())
        return found->second;
    const std::vector<std::string> shipped = shipped_networks();
    const bool ships = std::ranges::find(shipped, name) != shipped.end();
    // A word that ends as a file or has a folder is no name: reading it says that there is no such file.
    const bool is_file = name == "-" || file_exists(name) || name.find('/') != std::string::npos ||
                         std::ranges::any_of(std::array{".onnx", ".json", ".gz"},
                                             [&](const char *end) { return name.ends_with(end); });
    return read.emplace(name, ships || !is_file ? find_network(name) : network_of_file(name, arguments))
        .first->second;
}

std::optional<ScheduleReading> asked_schedule(const Arguments &arguments) {
    if (!arguments.has("schedule"))
        return std::nullopt;
    const std::string file = arguments.text("schedule", "");
    ScheduleReading reading = parse_schedule(read_file(file), shown_name(file));
    const int batch = arguments.integer("batch", 1, 1, any_int);
    if (arguments.has("batch") && batch != reading.schedule.batch && reading.problems.empty())
        arguments.refuse(fmt::format("--batch {} and {}, which is of batch {}, were both given; a schedule "
                                     "says its batch, whose line can be changed",
                                     batch, file, reading.schedule.batch));
    return reading;
}

bool names_rungs(const std::optional<ScheduleReading> &schedule) {
    return schedule && !schedule->schedule.rungs.empty() && schedule->schedule.lines.empty();
}

std::int64_t images_of(const ScheduleReading &reading, std::int64_t most, const std::string &why) {
    if (reading.schedule.batch > most)
        throw InputError(reading.file,
                         fmt::format("batch {}: expected at most {} images, for example: batch 32. {}",
                                     reading.schedule.batch, most, why));
    return reading.schedule.batch;
}

NetworkRun AskedNetwork::documented(NetworkRun run) const {
    run.conditions.merge(conditions_of(knowledge));
    run.conditions["version"] = producer().version;
    if (question.schedule) // hashed as we write it, so that blanks and comments make no difference
        run.conditions["schedule"] = "given, content " + content_hash({to_text(question.schedule->schedule)});
    return run;
}

AskedNetwork read_asked_network(const Arguments &arguments, GpuVariant gpu,
                                std::optional<ScheduleReading> schedule) {
    AskedNetwork asked;
    static_cast<GpuVariant &>(asked) = std::move(gpu);
    asked.network = without_losses(asked_network(arguments));
    asked.question.batch = asked_images(arguments, asked.network);
    asked.question.schedule = std::move(schedule);
    if (asked.question.schedule)
        asked.question.batch =
            images_of(*asked.question.schedule, most_batch(asked.network), why_most(asked.network));
    asked.question.strategies = arguments.texts("strategy");
    if (arguments.has("tensor-cores") && asked.question.strategies.empty())
        asked.question.strategies = strategy_names();
    const std::vector<std::string> names = strategy_names();
    for (const std::string &name : asked.question.strategies)
        if (std::ranges::find(names, name) == names.end())
            arguments.refuse("--network chooses the knobs itself; --strategy takes a strategy's name, got '" +
                             name + "'" + did_you_mean(name, names) + " Known: " + join(names));
    require_times(asked.profile, arguments.verb() + " --network");
    asked.knowledge = read_knowledge(arguments, asked.profile);
    return asked;
}

namespace {

/// "943 us (940 us to 951 us)"
std::string with_spread(Seconds time, Seconds low, Seconds high) {
    return fmt::format("{} ({} to {})", short_time(time), short_time(low), short_time(high));
}

std::string with_spread(const std::optional<TimeSpread> &time) {
    return time ? with_spread(time->median_s, time->p05_s, time->p95_s) : "-";
}

/// The lines above the table of a measured network. What was verified has no reason; measured, it was traced.
std::string whole_heading(const NetworkRun &run) {
    const NetworkCase &its = run.first();
    std::string text =
        bold(fmt::format("{} on {}, batch {}", run.network, run.conditions.at("gpu"), its.batch)) + "\n";
    if (its.reason)
        return text + "  " + name_of(its.status) + ": " + *its.reason + "\n";
    text +=
        fmt::format("  outputs of all images within {:.1e} of double precision in relative L2; weights: {}\n",
                    *its.output_error, *its.weights);
    if (!its.measured)
        return text;
    const Seconds call = *its.measured->time_s;
    return text +
           fmt::format("  one CUDA graph of {} nodes, replayed in a row: {}, {:.0f} images a second\n",
                       *its.nodes, with_spread(call, *its.measured->low_s, *its.measured->high_s),
                       static_cast<double>(its.batch) / call.value) +
           fmt::format("  forecast {}: {}; the layers' multiply-adds at the full FMA rate would take {}\n",
                       short_time(*its.forecast_s()), signed_percent(*its.forecast_s() / call - 1.0),
                       short_time(*its.light_s)) +
           fmt::format("  one call while kernels are traced: {}, cold L2 {}; launch by launch {}\n\n",
                       with_spread(its.traced->graph_s), with_spread(its.traced->graph_cold_s),
                       with_spread(its.traced->stream_s));
}

/// Runs the whole network with the launches of its forecast, or of a schedule. Returns the exit code.
int run_whole_network(const Arguments &arguments, std::optional<ScheduleReading> schedule) {
    arguments.refuse_options_of("network without ladder");
    check_writable(arguments.text("output", "-"));
    AskedNetwork asked =
        read_asked_network(arguments, asked_gpu(arguments, "--network"), std::move(schedule));
    asked.question.what_if = false;
    PlannedNetwork plan = asked.plan();
    if (const auto why = why_not_whole(plan.network))
        arguments.refuse(*why);
    plan.forecast.first().reason.reset(); // that it does not fit the memory: the GPU at hand may have more
    NetworkRun run =
        run_whole_on_device(plan, arguments.integer("device"), arguments.text("save-tensors", ""));
    return write_network(arguments, asked.documented(run), whole_heading(run) + table(launches_table(run)));
}

/// Prints the network's times on several GPUs or settings, with the changes against the first. Returns 0.
int compare_variants(const std::vector<GpuVariant> &variants, const Arguments &arguments,
                     const std::optional<ScheduleReading> &schedule) {
    arguments.refuse_options_of("networks");
    Table all{{{"GPU"},
               {"time", As::number},
               {"change", As::number},
               {"images a second", As::number},
               {"convolutions", As::number},
               {"dense layers", As::number},
               {"the rest", As::number}},
              {}};
    std::string title, left_out;
    std::optional<Seconds> first;
    for (const GpuVariant &variant : variants) {
        AskedNetwork asked = read_asked_network(arguments, variant, schedule);
        asked.question.what_if = false;
        const NetworkRun forecast = asked.plan().forecast;
        if (!first)
            title = bold(fmt::format("{}, batch {}", forecast.network, forecast.first().batch));
        if (left_out.empty())
            left_out = left_out_words(forecast, asked);
        all.rows.push_back(
            {variant.variant, short_time(time_of(forecast)),
             first ? change_text(time_of(forecast) / *first - 1.0, 1) : "",
             fmt::format("{:.0f}", static_cast<double>(forecast.first().batch) / time_of(forecast).value),
             short_time(*forecast.first().convolutions_s), short_time(*forecast.first().dense_s),
             short_time(*forecast.first().others_s)});
        first = first.value_or(time_of(forecast));
    }
    const std::string text = title + "\n" + table(all) + hanging(left_out);
    write_file_atomically(arguments.text("output", "-"), printable(text));
    return 0;
}

} // namespace

NetworkRun forecast_of_network(const Arguments &arguments, GpuVariant gpu) {
    const AskedNetwork asked = read_asked_network(arguments, std::move(gpu));
    return asked.documented(asked.plan().forecast);
}

int predict_network(const Arguments &arguments) {
    const bool ladder = arguments.has("ladder") || arguments.has("training");
    if (!ladder && arguments.has("devices"))
        return predict_scaling(arguments);
    if (!ladder)
        refuse_options_of_shapes(arguments);
    auto schedule = asked_schedule(arguments);
    if (ladder || names_rungs(schedule))
        return predict_ladder(arguments, schedule);
    const bool as_text = format_of(arguments, true) == Format::text;
    std::vector<GpuVariant> variants = asked_gpus(arguments, as_text);
    if (variants.size() > 1)
        return compare_variants(variants, arguments, schedule);
    const AskedNetwork asked =
        read_asked_network(arguments, std::move(variants.front()), std::move(schedule));
    const PlannedNetwork plan = asked.plan();
    const NetworkRun &forecast = plan.forecast;
    const NetworkRun shown = longest_launches(forecast, arguments);
    return answer(plan, asked, arguments,
                  heading(forecast, asked) + table(launches_table(shown)) + totals_text(forecast, shown) +
                      what_if_text(forecast) + "\n" + assumptions_text(forecast));
}

int choose_network(const Arguments &arguments) {
    refuse_options_of_shapes(arguments);
    AskedNetwork asked =
        read_asked_network(arguments, asked_gpu(arguments, "--network",
                                                "; `convcast predict --network` sets several side by side"));
    asked.question.top = static_cast<std::size_t>(arguments.integer("top", 3, 1, 100000));
    asked.question.what_if = false;
    const PlannedNetwork plan = asked.plan();
    const NetworkRun &forecast = plan.forecast;
    return answer(plan, asked, arguments,
                  heading(forecast, asked) + candidates_text(forecast) + "\n" + assumptions_text(forecast));
}

int run_network(const Arguments &arguments) {
    if (arguments.has("devices") || arguments.has("rank"))
        return run_scaling_network(arguments);
    const Network network = asked_network(arguments);
    auto schedule = asked_schedule(arguments);
    arguments.refuse_options_of("network");
    return !arguments.has("data") && (schedule ? !names_rungs(schedule) : !has_ladder(network))
               ? run_whole_network(arguments, std::move(schedule))
               : run_ladder(arguments, network, schedule);
}

} // namespace convcast::cli
