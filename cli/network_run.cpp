// run --network: a network's ladder on the GPU at hand, and training.
#include "cli/device.hpp"
#include "cli/network.hpp"
#include "cli/progress.hpp"
#include "cli/scaling.hpp"
#include "cli/terminal.hpp"
#include "cli/version.hpp"
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/network/idx.hpp"
#include "model/network/ladder.hpp"
#include "model/network/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast::cli {
namespace {

bool answers_document(const Arguments &arguments) {
    return arguments.has("json") || arguments.has("output");
}

std::string ladder_text(const LadderRun &run) {
    std::string text =
        bold(fmt::format("{} on {}, batch {}", run.network, run.conditions.at("gpu"), run.batch)) + "\n";
    if (run.sequential_s)
        text += fmt::format("  one thread of this CPU, an image: {}", short_time(*run.sequential_s));
    if (run.published_cpu_s)
        text += fmt::format(" (published: {})", short_time(*run.published_cpu_s));
    const auto shown = [](const std::optional<Seconds> &time) { return time ? short_time(*time) : "-"; };
    std::vector<std::vector<std::string>> rows;
    for (const RungResult &rung : run.rungs)
        rows.push_back({rung.id, std::to_string(rung.launches), shown(rung.graph_warm_s),
                        shown(rung.graph_cold_s), shown(rung.stream_warm_s), shown(rung.stream_cold_s),
                        run.batch == 1 ? shown(rung.published_s) : "-",
                        rung.status == Status::ok
                            ? rung.title
                            : std::string(boost::describe::enum_to_string(rung.status, "?")) + ": " +
                                  rung.reason.value_or("")});
    return text + "\n\n" +
           table({{"rung"},
                  {"kernels", Align::right},
                  {"graph", Align::right},
                  {"cold L2", Align::right},
                  {"stream", Align::right},
                  {"cold L2", Align::right},
                  {"published", Align::right},
                  {"what it does"}},
                 rows, terminal_width());
}

/// A rate of gradient descent. Throws UsageError.
double rate_of(const Arguments &arguments, double otherwise) {
    if (!arguments.has("rate"))
        return otherwise;
    const std::string text = arguments.text("rate", "");
    double rate = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
    constexpr double most = 1000.0;
    if (error != std::errc{} || end != text.data() + text.size() || !(rate > 0.0 && rate <= most))
        throw UsageError("run: --rate takes a number above 0 and up to 1000, for example --rate 3, got '" +
                         text + "'");
    return rate;
}

std::string training_text(const TrainingRun &run) {
    return bold(fmt::format("{} on {}, trained in batches of {}", run.network, run.conditions.at("gpu"),
                            run.batch)) +
           "\n" +
           (run.step_s ? fmt::format("  {} epochs, {} steps: {}, {} a step\n", run.epochs, run.steps,
                                     short_time(run.time_s), short_time(*run.step_s))
                       : std::string()) +
           fmt::format("  {:.2f} % of {} test images classified right\n", 100.0 * run.accuracy,
                       run.test_images) +
           fmt::format("  of the first {} the CPU in double classifies {} otherwise\n", run.checked,
                       run.disagreements);
}

/// Trains on the IDX files of --data, on one GPU or split over `devices`. 1 where GPU and CPU classify an
/// image differently.
int train_network(const Arguments &arguments, const Network &network, const Ladder &ladder,
                  const std::vector<int> &devices = {}, DeviceSplit split = DeviceSplit::one) {
    constexpr int classes = 10, most_batch = 65536, most_epochs = 1'000'000;
    TrainingOptions options;
    options.batch = arguments.integer("batch", static_cast<int>(options.batch), 1, most_batch);
    options.epochs = arguments.integer("epochs", static_cast<int>(options.epochs),
                                       arguments.has("from") ? 0 : 1, most_epochs);
    options.rate = rate_of(arguments, options.rate);
    if (arguments.has("from"))
        options.start = parameters_of(find_weights(arguments.text("from", ""), network), network);
    const std::string output = arguments.text("output", "-"), folder = arguments.text("data", "");
    for (const std::string &file : {output, arguments.text("weights", "-")})
        if (file != "-")
            check_writable(file);
    const LabelledImages images = read_idx_folder(folder, "train", classes),
                         tests = read_idx_folder(folder, "t10k", classes);
    TrainingRun run = devices.empty()
                          ? train_on_device(ladder, network, images, tests, options,
                                            arguments.integer("device", 0, 0, 1023))
                          : train_on_devices(ladder, network, images, tests, options, devices, split);
    run.conditions["version"] = producer().version;
    if (arguments.has("weights"))
        write_file_atomically(arguments.text("weights", "-"), to_text(described::write(run.weights)));
    write_file_atomically(output,
                          answers_document(arguments) ? to_text(described::write(run)) : training_text(run));
    return run.disagreements == 0 ? 0 : 1;
}

} // namespace

int train_network_on(const Arguments &arguments, const Network &network, const std::vector<int> &devices,
                     DeviceSplit split) {
    return train_network(arguments, network, find_ladder(network), devices, split);
}

int run_network(const Arguments &arguments) {
    if (asks_scaling("run", arguments))
        return run_scaling_network(arguments);
    for (const char *other : {"shape", "study", "strategy", "sms", "timeline", "exact-work", "shard",
                              "resume", "choose", "draw", "require-counters"})
        if (arguments.has(other))
            throw UsageError("run: --network and --" + std::string(other) +
                             " were both given; a network's ladder already says what to run");
    if (!arguments.positional().empty())
        throw UsageError(
            "run: a Run document and --network were both given; the document already says what to run");
    const Network network = find_network(arguments.text("network", ""));
    const Ladder ladder = find_ladder(network);
    if (arguments.has("data"))
        return train_network(arguments, network, ladder);
    for (const char *other : {"epochs", "rate", "weights", "from"})
        if (arguments.has(other))
            throw UsageError("run: --" + std::string(other) +
                             " is of training, which needs images: --data FOLDER");
    constexpr int most_batch = 65536;
    const int batch = arguments.integer("batch", 1, 1, most_batch);
    const std::string output = arguments.text("output", "-");
    if (output != "-")
        check_writable(output);
    LadderRun run = run_ladder_on_device(ladder, network, batch, arguments.integer("device", 0, 0, 1023));
    run.conditions["version"] = producer().version;
    write_file_atomically(output, answers_document(arguments) ? to_text(described::write(run))
                                                              : printable(ladder_text(run)));
    const bool wrong = std::any_of(run.rungs.begin(), run.rungs.end(), [](const RungResult &rung) {
        return rung.status == Status::wrong_result || rung.status == Status::failed ||
               rung.status == Status::not_run;
    });
    return wrong ? 1 : 0;
}

} // namespace convcast::cli
