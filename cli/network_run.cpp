// run --network: a network's ladder or all of it on the GPU at hand, and training.
#include "cli/device.hpp"
#include "cli/network.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "model/base/document.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/hash.hpp"
#include "model/base/text.hpp"
#include "model/network/forecast.hpp"
#include "model/network/idx.hpp"
#include "model/network/ladder.hpp"
#include "model/network/scaling_forecast.hpp"
#include "model/network/training.hpp"
#include "reports/network_page.hpp"
#include "reports/statistics.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace convcast::cli {
namespace {

/// Numbers of gradient descent that options give.
struct DescentOption {
    const char *name, *range, *example;
    bool (*takes)(double);
};
constexpr DescentOption rate{"rate", "above 0 and up to 1000", "3",
                             [](double number) { return number > 0.0 && number <= 1000.0; }},
    momentum{"momentum", "from 0 and below 1", "0.9",
             [](double number) { return number >= 0.0 && number < 1.0; }},
    decay{"decay", momentum.range, "0.0005", momentum.takes};

/// Throws UsageError.
double asked_number(const Arguments &arguments, const DescentOption &option, double otherwise) {
    if (!arguments.has(option.name))
        return otherwise;
    const std::string text = arguments.text(option.name, "");
    const std::optional<double> number = number_of<double>(text);
    if (!number || !option.takes(*number))
        arguments.refuse(fmt::format("--{0} takes a number {1}, for example --{0} {2}, got '{3}'",
                                     option.name, option.range, option.example, text));
    return *number;
}

/// What training of this network is done with, unless options say otherwise.
Descent asked_descent(const Arguments &arguments, const Ladder &ladder) {
    constexpr int most_batch = 65536, most_epochs = 1'000'000;
    Descent descent = descent_of(ladder).value_or(Descent{});
    descent.batch = arguments.integer("batch", static_cast<int>(descent.batch), 1, most_batch);
    descent.epochs = arguments.integer("epochs", static_cast<int>(descent.epochs),
                                       arguments.has("from") ? 0 : 1, most_epochs);
    descent.rate = asked_number(arguments, rate, descent.rate);
    descent.momentum = asked_number(arguments, momentum, descent.momentum);
    descent.decay = asked_number(arguments, decay, descent.decay);
    return descent;
}

/// Its name without where it lies.
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

/// Images drawn by a generator, or those of a folder; with --hold-out the test images are not read.
DataSets asked_data(const Arguments &arguments, const Network &network) {
    constexpr int classes = 10, most_held_out = 1'000'000;
    constexpr std::int64_t generated = 4096, generated_tests = 1024;
    const std::string data = arguments.text("data", "");
    const auto held_out = static_cast<std::size_t>(arguments.integer("hold-out", 0, 1, most_held_out));
    DataSets sets;
    if (data == "generated") {
        sets.images = generated_images(network.input, generated, 1);
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

std::string training_text(const NetworkRun &run) {
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

std::string with_spread(Seconds time, Seconds low, Seconds high) {
    return fmt::format("{} ({} to {})", short_time(time), short_time(low), short_time(high));
}

std::string with_spread(const std::optional<TimeSpread> &time) {
    return time ? with_spread(time->median_s, time->p05_s, time->p95_s) : "-";
}

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

/// The whole network with the launches of its forecast, or of a schedule.
int run_whole_network(const Arguments &arguments, std::optional<ScheduleReading> schedule) {
    arguments.refuse_options_of("network without ladder");
    check_writable(arguments.text("output", "-"));
    AskedNetwork asked =
        read_asked_network(arguments, asked_profile(arguments, "--network"), std::move(schedule));
    asked.question.what_if = false;
    PlannedNetwork plan = asked.plan();
    if (const auto why = why_not_whole(plan.network))
        arguments.refuse(*why);
    plan.forecast.first().reason.reset(); // whether it fits the GPU at hand says
    NetworkRun run =
        run_whole_on_device(plan, arguments.integer("device"), arguments.text("save-tensors", ""));
    run.conditions.merge(asked.conditions());
    return write_network(arguments, run, whole_heading(run) + table(launches_table(run)));
}

/// The images as bytes, so that ranks can tell whether they read the same ones.
std::string hash_of(const LabelledImages &images) {
    const auto bytes = [](const auto &values) {
        return std::string(reinterpret_cast<const char *>(values.data()), values.size() * sizeof values[0]);
    };
    return content_hash({bytes(images.pixels), bytes(images.labels)});
}

/// What ranks that train together must have been asked alike, besides what all ranks must.
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
    return write_network(arguments, run, training_text(run));
}

int run_network(const Arguments &arguments) {
    if (arguments.has("devices") || arguments.has("rank"))
        return run_scaling_network(arguments);
    const Network network = asked_network(arguments);
    auto schedule = asked_schedule(arguments);
    arguments.refuse_options_of("network");
    if (!arguments.has("data") && (schedule ? !names_rungs(schedule) : !has_ladder(network)))
        return run_whole_network(arguments, std::move(schedule));
    arguments.refuse_options_of("ladder", network.id);
    if (arguments.has("data"))
        return train_network(arguments, network, {{arguments.integer("device")}, {}, {}, {}});
    Ladder ladder = find_ladder(network);
    const std::int64_t batch = asked_rungs(arguments, schedule, ladder);
    check_writable(arguments.text("output", "-"));
    NetworkRun run = run_ladder_on_device(ladder, network, batch, arguments.integer("device"));
    // A forecast stands beside what was measured where it is of this GPU, or of the one that was asked for.
    const GpuProfile profile = find_profile(arguments.text("gpu"));
    if (arguments.has("gpu") || profile.name == run.conditions.at("gpu"))
        run = forecast_anew(std::move(run), network, profile);
    return write_network(arguments, run, cases_text(run, run.conditions.at("gpu")));
}

} // namespace convcast::cli
