#include "cli/device.hpp"
#include "cli/network.hpp"
#include "cli/question.hpp"
#include "cli/version.hpp"
#include "model/base/document.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/text.hpp"
#include "model/network/scaling_forecast.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

namespace convcast::cli {
namespace {

/// The thesis' batch, and one at which a split pays.
constexpr std::int64_t thesis_batch = 2048, large_batch = 65536;

std::vector<std::int64_t> batches_of(const Arguments &arguments) {
    if (!arguments.has("batch"))
        return {thesis_batch, large_batch};
    const std::string text = arguments.text("batch", "");
    std::vector<std::int64_t> batches;
    for (const std::string &part : split(text, ',')) {
        const std::int64_t batch = number_of<std::int64_t>(part).value_or(0);
        if (batch < 1 || batch > most_split_batch)
            arguments.refuse(fmt::format("--batch takes integers from 1 to {} with --devices, for example "
                                         "2048,65536, got '{}'",
                                         most_split_batch, text));
        batches.push_back(batch);
    }
    return batches;
}

std::vector<DeviceSplit> splits_of(const Arguments &arguments) {
    std::vector<DeviceSplit> splits;
    for (const std::string &text : arguments.texts("split"))
        splits.push_back(parse_split(arguments.verb(), text));
    if (splits.empty())
        splits = {DeviceSplit::rows, DeviceSplit::parameters, DeviceSplit::batch, DeviceSplit::batch_nccl};
    return splits;
}

struct AskedScaling {
    Network network;
    GpuProfile profile;
    ScalingQuestion question;
};

AskedScaling read_asked_scaling(const Arguments &arguments) {
    AskedScaling asked;
    asked.network = asked_network(arguments);
    require_split_kernels(asked.network);
    asked.question.devices = parse_devices(arguments.verb(), arguments.text("devices", ""));
    asked.question.splits = splits_of(arguments);
    asked.question.batches = batches_of(arguments);
    asked.profile = find_profile(arguments.text("gpu"));
    supply_assumed(asked.profile, arguments);
    require_times(asked.profile, arguments.verb() + " --devices");
    return asked;
}

} // namespace

int predict_scaling(const Arguments &arguments) {
    const AskedScaling asked = read_asked_scaling(arguments);
    const NetworkRun run = forecast_scaling(asked.network, asked.profile, asked.question);
    write_network(arguments, run,
                  cases_text(run, asked.profile.name)); // whose code would be 1, as nothing has run
    return 0;
}

int run_scaling_network(const Arguments &arguments) {
    const AskedScaling asked = read_asked_scaling(arguments);
    if (arguments.has("data")) {
        if (arguments.texts("split").size() > 1 || arguments.text("batch", "").find(',') != std::string::npos)
            arguments.refuse("training takes one --split and one --batch");
        return train_network(arguments, asked.network, asked.question.devices,
                             arguments.has("split") ? asked.question.splits.front() : DeviceSplit::batch);
    }
    const std::string output = arguments.text("output", "-");
    check_writable(output);
    NetworkRun run = forecast_scaling(asked.network, asked.profile, asked.question);
    run.conditions["version"] = producer().version;
    run_scaling_on_devices(asked.network, run, [&](const NetworkRun &so_far) {
        if (output != "-")
            write_file_atomically(output, to_text(described::write(so_far)));
    });
    return write_network(arguments, run, cases_text(run, run.conditions.at("gpu")));
}

} // namespace convcast::cli
