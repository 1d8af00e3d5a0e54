// A network's ladder, forecast and run, and its training; what is said of such cases.
#include "cli/network.hpp"

#include "cli/answers.hpp"
#include "cli/device.hpp"
#include "cli/progress.hpp"
#include "cli/question.hpp"
#include "cli/terminal.hpp"
#include "cli/version.hpp"
#include "model/base/document.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/hash.hpp"
#include "model/base/text.hpp"
#include "model/network/idx.hpp"
#include "model/network/ladder.hpp"
#include "model/network/rung_forecast.hpp"
#include "model/network/scaling.hpp"
#include "model/network/scaling_forecast.hpp"
#include "model/network/training.hpp"
#include "model/time/call.hpp"
#include "reports/network_page.hpp"
#include "reports/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// "mnist on NVIDIA H200, batch 1, forecast", or which GPUs share a step; of measured ones no "forecast".
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

/// Why a case has no time, what it does, or the share of each GPU: "512 512", of many GPUs "16 x 128".
std::string words_of(const NetworkCase &item) {
    if (item.reason)
        return name_of(item.status) + ": " + *item.reason;
    std::vector<std::string> shares;
    for (auto share = item.shares.begin(); share != item.shares.end();) {
        const auto other = std::find_if(share, item.shares.end(), [&](auto next) { return next != *share; });
        if (std::ssize(item.shares) > most_split_devices)
            shares.push_back(fmt::format("{} x {}", other - share, *share));
        else
            shares.insert(shares.end(), static_cast<std::size_t>(other - share), std::to_string(*share));
        share = other;
    }
    return item.title.value_or(join(shares, " "));
}

/// A line for each split: from which batch on several GPUs are worth it; "" without advice.
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

/// A file for --schedule that names the rungs, each with its forecast and title as a comment.
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

/// A row of step_text's table: a kernel that a step launches `times` times, where the step takes `step`.
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

/// The forecast of one step of a rung that trains: its time, and a table of its kernels. A forecast that does
/// not say why it has no time has the time launched one by one.
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
        const double rest = step.value - kernels; // s
        step_table.rows.push_back({forecast.copy_s ? "images copied, and starts" : "starts of launches", "",
                                   "", short_time(Seconds(rest)),
                                   fmt::format("{:.0f} %", 100.0 * rest / step.value), "", ""});
    }
    return text + table(step_table);
}

/// The steps of all rungs. The cases are those of the ladder's rungs, in the same order.
std::string training_text(const NetworkRun &run, const Ladder &ladder, const std::string &gpu) {
    std::string text = bold(wrapped(fmt::format("{} on {}, a step of training of {} images, forecast",
                                                run.network, gpu, run.first().batch)));
    for (std::size_t i = 0; i < run.cases.size(); ++i)
        text += step_text(run.cases[i], ladder.rungs[i]);
    return text;
}

// ---- what is asked ----

constexpr int most_ladder_images = 65536; ///< of a call, or of a step of training: chosen

/// Removes from `ladder` the rungs that a schedule does not name, if there is one. Returns the images of a
/// call: the schedule's, or else those of --batch, or else `default_batch`. Throws UsageError or InputError.
std::int64_t asked_rungs(const Arguments &arguments, const std::optional<ScheduleReading> &schedule,
                         Ladder &ladder, std::int64_t default_batch = 1) {
    const int batch = arguments.integer("batch", static_cast<int>(default_batch), 1, most_ladder_images);
    if (!schedule)
        return batch;
    if (!schedule->schedule.lines.empty())
        arguments.refuse("--ladder takes a schedule that names implementations, for example: rung " +
                         ladder.rungs.front().id +
                         "; one of launches is of the whole network, without --ladder");
    ladder = rungs_of(*schedule, std::move(ladder));
    return images_of(*schedule, most_ladder_images, "A ladder computes no more at once");
}

/// The number of an option of gradient descent, or `otherwise` without the option. Throws UsageError where it
/// does not satisfy `takes`; `range` says in the message which numbers do: "above 0 and up to 1000".
double asked_number(const Arguments &arguments, const std::string &option, double otherwise,
                    bool (*takes)(double), const char *range, const char *example) {
    if (!arguments.has(option))
        return otherwise;
    const std::string text = arguments.text(option, "");
    const std::optional<double> number = number_of<double>(text);
    if (!number || !takes(*number))
        arguments.refuse(fmt::format("--{0} takes a number {1}, for example --{0} {2}, got '{3}'", option,
                                     range, example, text));
    return *number;
}

/// How the network is trained: by its ladder's own numbers, but for those that options give.
Descent asked_descent(const Arguments &arguments, const Ladder &ladder) {
    constexpr int most_epochs = 1'000'000; // chosen, more than any needs
    Descent descent = descent_of(ladder).value_or(Descent{});
    descent.batch = arguments.integer("batch", static_cast<int>(descent.batch), 1, most_ladder_images);
    descent.epochs = arguments.integer("epochs", static_cast<int>(descent.epochs),
                                       arguments.has("from") ? 0 : 1, most_epochs); // 0: only classify
    const auto takes_rate = [](double number) { return number > 0.0 && number <= 1000.0; };
    const auto takes_share = [](double number) { return number >= 0.0 && number < 1.0; };
    const char *const share = "from 0 and below 1";
    descent.rate = asked_number(arguments, "rate", descent.rate, takes_rate, "above 0 and up to 1000", "3");
    descent.momentum = asked_number(arguments, "momentum", descent.momentum, takes_share, share, "0.9");
    descent.decay = asked_number(arguments, "decay", descent.decay, takes_share, share, "0.0005");
    return descent;
}

/// The name of a folder without the folders that it lies in, also behind a path that ends in /.
std::string last_folder(const std::string &path) {
    const std::string name = std::filesystem::path(path).lexically_normal().filename().string();
    return name.empty() || name == "." ? std::filesystem::path(path).parent_path().filename().string() : name;
}

/// Images to train on and images to test with.
struct DataSets {
    LabelledImages images, tests;
};

/// Takes the last `count` images out of a set.
LabelledImages split_off(LabelledImages &images, std::size_t count) {
    LabelledImages last;
    last.shape = images.shape;
    const std::size_t kept = images.labels.size() - count,
                      pixels = images.pixels.size() / images.labels.size();
    last.labels.assign(images.labels.end() - static_cast<std::ptrdiff_t>(count), images.labels.end());
    last.pixels.assign(images.pixels.end() - static_cast<std::ptrdiff_t>(count * pixels),
                       images.pixels.end());
    images.labels.resize(kept);
    images.pixels.resize(kept * pixels);
    return last;
}

/// The images of --data: drawn by a generator, or read from a folder. With --hold-out N the last N training
/// images are the test images, and the folder's own are not read. Throws UsageError or InputError.
DataSets asked_data(const Arguments &arguments, const Network &network) {
    constexpr int classes = 10;              // of MNIST and of data sets in its format
    constexpr int most_held_out = 1'000'000; // chosen, more than any needs
    constexpr std::int64_t generated = 4096, generated_tests = 1024; // images: chosen, whole batches
    const std::string data = arguments.text("data", "");
    const auto held_out = static_cast<std::size_t>(arguments.integer("hold-out", 0, 1, most_held_out));
    DataSets sets;
    if (data == "generated") {
        sets.images = generated_images(network.input, generated, 1); // the last is the seed
        if (held_out == 0)
            sets.tests = generated_images(network.input, generated_tests, 2);
    } else {
        sets.images = read_idx_folder(data, "train", classes);
        if (held_out == 0)
            sets.tests = read_idx_folder(data, "t10k", classes);
        for (const auto &[set, images] : {std::pair("train", &sets.images), std::pair("t10k", &sets.tests)})
            if (!images->labels.empty() && images->shape != network.input)
                throw InputError(data,
                                 fmt::format("the images of {}-images-idx3-ubyte are {}; {} takes {}", set,
                                             to_text(images->shape), network.id, to_text(network.input)));
    }
    if (held_out >= sets.images.labels.size())
        arguments.refuse(fmt::format("--hold-out {} leaves none of the {} images to train on", held_out,
                                     sets.images.labels.size()));
    if (held_out > 0)
        sets.tests = split_off(sets.images, held_out);
    return sets;
}

/// What came of a training: its time, how many test images are classified right, and whether the CPU agrees.
std::string trained_text(const NetworkRun &run) {
    const NetworkCase &trained = run.first();
    const Training &its = *trained.training;
    std::string text = bold(fmt::format("{} on {}, trained in batches of {} on {}", run.network,
                                        run.conditions.at("gpu"), its.descent.batch, its.data)) +
                       "\n";
    if (const auto step = trained.measured_s())
        text += fmt::format("  {} epochs of {} images, {} steps: {}, {} a step\n", its.epochs, its.images,
                            its.steps, short_time(its.time_s), short_time(*step)) +
                (run.conditions.contains("ranks")
                     ? "  over " + run.conditions.at("ranks") + " GPUs, each with its share of every batch\n"
                     : "") +
                (run.conditions.contains("split")
                     ? fmt::format("  rate {} throughout, images in the same order every epoch\n",
                                   its.descent.rate)
                     : fmt::format("  rate {} along half a cosine, momentum {}, decay {}\n", its.descent.rate,
                                   its.descent.momentum, its.descent.decay));
    return text +
           fmt::format("  {:.2f} % of {} {} classified right\n", 100.0 * *trained.accuracy, its.test_images,
                       its.tested_on) +
           fmt::format("  of the first {} the CPU in double classifies {} otherwise\n", its.checked,
                       *trained.disagreements) +
           table(cases_table(run));
}

/// A hash of pixels and labels, by which ranks tell whether they read the same images.
std::string hash_of(const LabelledImages &images) {
    const auto bytes = [](const auto &values) {
        return std::string(reinterpret_cast<const char *>(values.data()), values.size() * sizeof values[0]);
    };
    return content_hash({bytes(images.pixels), bytes(images.labels)});
}

/// What all ranks of a training must have been given alike, by what messages call it: TrainedOn::asked.
std::map<std::string, std::string> asked_of_training(const Network &network, const DataSets &sets,
                                                     const TrainingOptions &options) {
    const Descent &descent = options.descent;
    return {{"--batch", std::to_string(descent.batch)},
            {"--epochs", std::to_string(options.epochs)},
            {"--rate, --momentum or --decay",
             fmt::format("{}, {}, {}", descent.rate, descent.momentum, descent.decay)},
            {"set of training images", hash_of(sets.images)},
            {"set of first weights",
             options.start
                 ? content_hash({to_text(described::write(weights_of(*options.start, network, "")))})
                 : "those of the seed"}};
}

} // namespace

std::string cases_text(const NetworkRun &run, const std::string &gpu) {
    std::string text = bold(wrapped(heading(run, gpu)));
    const auto line = [&](const std::string &words) { text += wrapped(words, 2); };
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
    std::size_t row = 0; // cases_table has a row for each rung and each split
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

int write_network(const Arguments &arguments, NetworkRun run, const std::string &text,
                  const std::map<Format, std::function<std::string()>> &others) {
    run.conditions["version"] = producer().version;
    const Format format = format_of(arguments, true);
    const auto other = others.find(format);
    write_file_atomically(arguments.text("output", "-"), format == Format::text ? printable(text)
                                                         : other != others.end()
                                                             ? other->second()
                                                             : to_text(described::write(run)));
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
    const GpuVariant gpu = asked_gpu(arguments, "--" + asked);
    require_times(gpu.profile, "predict --" + asked);
    const NetworkRun run = forecast_ladder(ladder, network, batch, gpu.profile);
    write_network(arguments, run,
                  training ? training_text(run, ladder, gpu.title) : cases_text(run, gpu.title),
                  {{Format::schedule, [&] { return rungs_schedule(run, gpu.title); }}});
    return 0; // a forecast has run nothing, and that is no failure
}

int train_network(const Arguments &arguments, const Network &network, TrainedOn on) {
    const Ladder ladder = find_ladder(network);
    TrainingOptions options;
    options.descent = asked_descent(arguments, ladder);
    options.epochs = options.descent.epochs;
    options.tested_on = arguments.has("hold-out") ? "training images held out" : "test images";
    if (arguments.has("from"))
        options.start = parameters_of(find_weights(arguments.text("from", ""), network), network);
    for (const char *option : {"output", "weights"})
        check_writable(arguments.text(option, "-"));
    const DataSets sets = asked_data(arguments, network);
    if (on.rank)
        on.asked.merge(asked_of_training(network, sets, options));
    const std::string weights = arguments.text("weights", "");
    TrainedNetwork trained = train_on(
        on, ladder, network, sets.images, sets.tests, options, [&](const Weights &kept, std::int64_t epochs) {
            if (weights.empty())
                return;
            write_file_atomically(weights, to_text(described::write(kept)));
            note(fmt::format("{0} has the weights after {1} of {2} epochs; go on with --from {0} "
                             "--epochs {3}",
                             weights, epochs, options.epochs, options.epochs - epochs));
        });
    if (on.rank && on.rank->rank > 0)
        return 0; // the first rank says what came of it
    NetworkRun &run = trained.run;
    run.first().training->data = arguments.text("data", "") == "generated"
                                     ? "generated images, no data set"
                                     : "the IDX files of " + last_folder(arguments.text("data", ""));
    if (!weights.empty())
        write_file_atomically(weights, to_text(described::write(trained.weights)));
    return write_network(arguments, run, trained_text(run));
}

int run_ladder(const Arguments &arguments, const Network &network,
               const std::optional<ScheduleReading> &schedule) {
    arguments.refuse_options_of("ladder", network.id);
    if (arguments.has("data"))
        return train_network(arguments, network, {.devices = {arguments.integer("device")}});
    Ladder ladder = find_ladder(network);
    const std::int64_t batch = asked_rungs(arguments, schedule, ladder);
    check_writable(arguments.text("output", "-"));
    NetworkRun run = run_ladder_on_device(ladder, network, batch, arguments.integer("device"));
    // The forecast is added where it is of the GPU at hand, or of one that --gpu names.
    const GpuProfile profile = find_profile(arguments.text("gpu"));
    if (arguments.has("gpu") || profile.name == run.conditions.at("gpu"))
        run = forecast_anew(std::move(run), network, profile);
    return write_network(arguments, run, cases_text(run, run.conditions.at("gpu")));
}

} // namespace convcast::cli
