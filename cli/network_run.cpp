// run --network: a network's ladder on the GPU at hand, and training.
#include "cli/device.hpp"
#include "cli/ladder.hpp"
#include "cli/network.hpp"
#include "cli/network_cases.hpp"
#include "cli/progress.hpp"
#include "cli/scaling.hpp"
#include "cli/terminal.hpp"
#include "cli/version.hpp"
#include "model/base/document.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/network/idx.hpp"
#include "model/network/ladder.hpp"
#include "model/network/scaling_forecast.hpp"
#include "model/network/training.hpp"
#include "reports/network_page.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// A number given for an option; absent if it is none.
std::optional<double> number_of(const std::string &text) {
    double number = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// A rate of gradient descent. Throws UsageError.
double rate_of(const Arguments &arguments, double otherwise) {
    if (!arguments.has("rate"))
        return otherwise;
    const std::string text = arguments.text("rate", "");
    const std::optional<double> rate = number_of(text);
    constexpr double most = 1000.0;
    if (!rate || !(*rate > 0.0 && *rate <= most))
        throw UsageError("run: --rate takes a number above 0 and up to 1000, for example --rate 3, got '" +
                         text + "'");
    return *rate;
}

/// Momentum or decay. Throws UsageError.
double share_of(const Arguments &arguments, const std::string &option, double otherwise) {
    if (!arguments.has(option))
        return otherwise;
    const std::string text = arguments.text(option, "");
    const std::optional<double> share = number_of(text);
    if (!share || !(*share >= 0.0 && *share < 1.0))
        throw UsageError("run: --" + option + " takes a number from 0 and below 1, for example --" + option +
                         (option == "momentum" ? " 0.9" : " 0.0005") + ", got '" + text + "'");
    return *share;
}

/// What training of this network is done with, unless options say otherwise.
Descent asked_descent(const Arguments &arguments, const Ladder &ladder) {
    constexpr int most_batch = 65536, most_epochs = 1'000'000;
    Descent descent;
    for (const Rung &rung : ladder.rungs)
        descent = rung.descent.value_or(descent);
    descent.batch = arguments.integer("batch", static_cast<int>(descent.batch), 1, most_batch);
    descent.epochs = arguments.integer("epochs", static_cast<int>(descent.epochs),
                                       arguments.has("from") ? 0 : 1, most_epochs);
    descent.rate = rate_of(arguments, descent.rate);
    descent.momentum = share_of(arguments, "momentum", descent.momentum);
    descent.decay = share_of(arguments, "decay", descent.decay);
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
        throw UsageError(fmt::format("run: --hold-out {} leaves none of the {} images to train on", held_out,
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
           table(cases_table(run), terminal_width());
}

/// Trains on the IDX files of --data, or on generated images, on one GPU or split over `devices`. 1 where GPU
/// and CPU classify an image differently.
int train_network(const Arguments &arguments, const Network &network, const Ladder &ladder,
                  const std::vector<int> &devices = {}, DeviceSplit split = DeviceSplit::one) {
    TrainingOptions options;
    options.descent = asked_descent(arguments, ladder);
    options.epochs = options.descent.epochs;
    options.tested_on = arguments.has("hold-out") ? "training images held out" : "test images";
    if (arguments.has("from"))
        options.start = parameters_of(find_weights(arguments.text("from", ""), network), network);
    const std::string output = arguments.text("output", "-");
    for (const std::string &file : {output, arguments.text("weights", "-")})
        if (file != "-")
            check_writable(file);
    const DataSets sets = asked_data(arguments, network);
    const bool one = devices.empty();
    TrainedNetwork trained = train_on_devices(ladder, network, sets.images, sets.tests, options,
                                              one ? std::vector<int>{arguments.integer("device")} : devices,
                                              one ? std::nullopt : std::optional(split));
    NetworkRun &run = trained.run;
    run.first().training->data = arguments.text("data", "") == "generated"
                                     ? "generated images, no data set"
                                     : "the IDX files of " + last_folder(arguments.text("data", ""));
    run.conditions["version"] = producer().version;
    if (arguments.has("weights"))
        write_file_atomically(arguments.text("weights", "-"), to_text(described::write(trained.weights)));
    write_network(arguments, run, training_text(run));
    return code_of(run);
}

} // namespace

int train_network_on(const Arguments &arguments, const Network &network, const std::vector<int> &devices,
                     DeviceSplit split) {
    return train_network(arguments, network, find_ladder(network), devices, split);
}

int run_network(const Arguments &arguments) {
    if (arguments.has("devices"))
        return run_scaling_network(arguments);
    const Network network = asked_network(arguments);
    auto schedule = asked_schedule("run", arguments);
    std::vector<std::string> taken = {"network", "batch",  "schedule",     "strategy",    "gpu",
                                      "device",  "facts",  "assume",       "calibration", "format",
                                      "json",    "output", "tensor-cores", "input-size",  "save-tensors"};
    taken.insert(taken.end(), training_options.begin(), training_options.end());
    arguments.refuse_all_but(taken, "--network", "it is of single shapes");
    if (!arguments.has("data") && (schedule ? !names_rungs(schedule) : !has_ladder(network)))
        return run_whole_network(arguments, std::move(schedule));
    for (const char *other : {"strategy", "tensor-cores"})
        if (arguments.has(other))
            throw UsageError("run: --network and --" + std::string(other) +
                             " were both given; the ladder of " + network.id + " already says what to run");
    Ladder ladder = find_ladder(network);
    if (arguments.has("data"))
        return train_network(arguments, network, ladder);
    for (const char *other : training_options)
        if (arguments.has(other))
            throw UsageError("run: --" + std::string(other) +
                             " is of training, which needs images: --data FOLDER");
    const std::int64_t batch = asked_rungs("run", arguments, schedule, ladder);
    const std::string output = arguments.text("output", "-");
    if (output != "-")
        check_writable(output);
    NetworkRun run = run_ladder_on_device(ladder, network, batch, arguments.integer("device"));
    run.conditions["version"] = producer().version;
    // A forecast stands beside what was measured where it is of this GPU, or of the one that was asked for.
    const GpuProfile profile = find_profile(arguments.text("gpu", "h200"));
    if (arguments.has("gpu") || profile.name == run.conditions.at("gpu"))
        run = forecast_anew(std::move(run), network, profile);
    write_network(arguments, run, cases_text(run, run.conditions.at("gpu")));
    return code_of(run);
}

} // namespace convcast::cli
