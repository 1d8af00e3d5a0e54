#include "cli/device.hpp"
#include "cli/network.hpp"
#include "cli/question.hpp"
#include "cli/version.hpp"
#include "executor/network/network_source.hpp"
#include "model/base/document.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/hash.hpp"
#include "model/base/text.hpp"
#include "model/network/ladder.hpp"
#include "model/network/ranks.hpp"
#include "model/network/scaling_forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// The images of a step: those of --batch, a list with commas, or the ladder's own. Throws UsageError.
std::vector<std::int64_t> batches_of(const Arguments &arguments, const Ladder &ladder) {
    if (!arguments.has("batch"))
        return ladder.split_batches;
    const std::string text = arguments.text("batch", "");
    std::vector<std::int64_t> batches;
    for (const std::string &part : split(text, ',')) {
        const std::int64_t batch = number_of<std::int64_t>(part).value_or(0);
        if (batch < 1 || batch > most_split_batch)
            arguments.refuse(fmt::format("--batch takes integers from 1 to {} of several GPUs, for example "
                                         "2048,65536, got '{}'",
                                         most_split_batch, text));
        batches.push_back(batch);
    }
    return batches;
}

/// The splits of --split, or all that the network has; `by_nccl`: batch_nccl alone, of ranks and hosts.
std::vector<DeviceSplit> asked_splits(const Arguments &arguments, const Network &network, bool by_nccl) {
    std::vector<DeviceSplit> splits;
    for (const std::string &text : arguments.texts("split")) {
        splits.push_back(parse_split(arguments.verb(), text));
        require_split(network, splits.back());
        if (by_nccl && splits.back() != DeviceSplit::batch_nccl)
            arguments.refuse((arguments.has("hosts") ? "--hosts is of the split batch_nccl, not "
                                                     : "ranks are split by batch_nccl, not ") +
                             text);
    }
    if (splits.empty())
        splits = by_nccl ? std::vector{DeviceSplit::batch_nccl} : splits_of(network);
    return splits;
}

/// What --network with --devices or --rank asks.
struct AskedScaling {
    Network network;
    GpuProfile profile;
    ScalingQuestion question;
    std::optional<RankPlace> rank; ///< of this process; absent where one process has all GPUs
};

/// Which rank this process is, by --rank and --meet or the variables of a launcher that they name.
std::optional<RankPlace> asked_rank(const Arguments &arguments) {
    if (!arguments.has("rank"))
        return std::nullopt;
    return rank_place(arguments.text("rank", ""),
                      arguments.has("meet") ? std::optional(arguments.text("meet", "")) : std::nullopt,
                      [](const std::string &name) -> std::optional<std::string> {
                          const char *const value = std::getenv(name.c_str());
                          return value == nullptr ? std::nullopt : std::optional<std::string>(value);
                      });
}

/// Throws UsageError, also for options that do not go together, and InputError.
AskedScaling read_asked_scaling(const Arguments &arguments) {
    AskedScaling asked;
    asked.network = asked_network(arguments);
    require_split_kernels(asked.network);
    const Ladder ladder = find_ladder(asked.network);
    asked.rank = asked_rank(arguments);
    if (asked.rank) {
        asked.question.devices.resize(static_cast<std::size_t>(asked.rank->size));
        std::iota(asked.question.devices.begin(), asked.question.devices.end(), 0);
        asked.question.weak = asked.question.fewer = false; // the asked batches alone, on all ranks
    } else {
        asked.question.devices = parse_devices(arguments.verb(), arguments.text("devices", ""));
    }
    if (arguments.has("hosts"))
        asked.question.hosts = arguments.integer("hosts");
    const bool several = asked.question.hosts > 1;
    if (arguments.has("host-link") && !several)
        arguments.refuse("--host-link lies between several hosts, for example --hosts 4");
    if (arguments.has("host-link"))
        asked.question.host_link = parse_host_link(arguments.verb(), arguments.text("host-link", ""));
    asked.question.splits = asked_splits(arguments, asked.network, asked.rank || several);
    asked.question.batches = batches_of(arguments, ladder);
    const std::vector<int> &devices = asked.question.devices;
    if (several && std::set(devices.begin(), devices.end()).size() < devices.size())
        arguments.refuse("--hosts takes every GPU once, and one stands in --devices several times");
    asked.profile = find_profile(arguments.text("gpu"));
    supply_assumed(asked.profile, arguments);
    require_times(asked.profile, arguments.verb() + (asked.rank ? " --rank" : " --devices"));
    return asked;
}

/// Adds the case of the ladder in which each GPU classifies a share of the images, with its forecast, if the
/// ladder has one and its batch is among those that are asked.
void add_divided(NetworkRun &run, const AskedScaling &asked) {
    const auto &[network, profile, question, rank] = asked;
    std::optional<NetworkCase> divided =
        divided_case(find_ladder(network), static_cast<int>(question.devices.size()));
    if (!divided || std::ranges::find(question.batches, divided->batch) == question.batches.end())
        return;
    run.cases.push_back(std::move(*divided));
    run = forecast_anew(std::move(run), network, profile);
}

/// The run forecast again as of as many hosts as its ranks were on, which is known only when they have met.
NetworkRun forecast_of_hosts(NetworkRun run, const AskedScaling &asked) {
    const int hosts = number_of<int>(run.conditions.at("hosts")).value_or(1);
    if (hosts == 1)
        return run;
    for (NetworkCase &item : run.cases)
        if (item.split == DeviceSplit::batch_nccl && item.devices % hosts == 0)
            item.hosts = hosts;
    run.host_link = usual_host_link();
    return forecast_anew(std::move(run), asked.network, asked.profile);
}

/// The GPUs or the rank that do `task`, "a training" or "a measurement"; for a rank with what all ranks must
/// have in common: the task, the version and its kernels, the network.
TrainedOn trained_on(const Arguments &arguments, const AskedScaling &asked, const std::string &task) {
    const Network &network = asked.network;
    if (!asked.rank)
        return {.devices = asked.question.devices,
                .split = arguments.has("split") || asked.question.splits.size() == 1
                             ? asked.question.splits.front()
                             : DeviceSplit::batch};
    const std::string kernels =
        content_hash({producer().device_code_hash, network_code_hash(), network_code_hash(split_sources),
                      to_text(described::write(find_ladder(network)))});
    return {.devices =
                arguments.has("device") ? std::vector{arguments.integer("device")} : std::vector<int>(),
            .split = DeviceSplit::batch_nccl,
            .rank = asked.rank,
            .asked = {
                {"task", task},
                {"version of convcast", producer().version + " with kernels " + kernels},
                {"network", network.id + ", content " + content_hash({to_text(described::write(network))})}}};
}

} // namespace

int predict_scaling(const Arguments &arguments) {
    const AskedScaling asked = read_asked_scaling(arguments);
    const NetworkRun run = forecast_scaling(asked.network, asked.profile, asked.question);
    write_network(arguments, run, cases_text(run, asked.profile.name));
    return 0; // a forecast has run nothing, and that is no failure
}

int run_scaling_network(const Arguments &arguments) {
    arguments.refuse_options_of("several GPUs");
    const AskedScaling asked = read_asked_scaling(arguments);
    if (arguments.has("data")) {
        if (arguments.texts("split").size() > 1 || arguments.text("batch", "").find(',') != std::string::npos)
            arguments.refuse("training takes one --split and one --batch");
        const TrainedOn on = trained_on(arguments, asked, "a training");
        for (const char *option : {"momentum", "decay"})
            if (arguments.has(option) && on.split != DeviceSplit::batch_nccl)
                arguments.refuse(
                    fmt::format("--{} is of one GPU or of the split batch_nccl; a step of the split "
                                "{} is plain gradient descent",
                                option, to_text(*on.split)));
        return train_network(arguments, asked.network, on);
    }
    const std::string output = arguments.text("output", "-");
    check_writable(output);
    NetworkRun run = forecast_scaling(asked.network, asked.profile, asked.question);
    run.conditions["version"] = producer().version;
    if (!asked.rank && !arguments.has("split"))
        add_divided(run, asked);
    const auto keep = [&](const NetworkRun &so_far) {
        if (output != "-")
            write_file_atomically(output, to_text(described::write(so_far)));
    };
    TrainedOn on = trained_on(arguments, asked, "a measurement");
    on.asked["--batch"] = arguments.text("batch", "the usual ones");
    run_scaling_on(on, asked.network, run, keep);
    if (asked.rank)
        run = forecast_of_hosts(std::move(run), asked);
    if (asked.rank && asked.rank->rank > 0)
        return code_of(run);
    return write_network(arguments, run, cases_text(run, run.conditions.at("gpu")));
}

} // namespace convcast::cli
