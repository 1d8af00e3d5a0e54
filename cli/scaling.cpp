#include "cli/scaling.hpp"

#include "cli/answers.hpp"
#include "cli/device.hpp"
#include "cli/knowledge.hpp"
#include "cli/network.hpp"
#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "cli/version.hpp"
#include "model/base/document.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/text.hpp"
#include "model/network/scaling_forecast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// The thesis' batch, and one at which a split pays.
constexpr std::int64_t thesis_batch = 2048, large_batch = 65536;

std::vector<std::int64_t> batches_of(const std::string &verb, const Arguments &arguments) {
    if (!arguments.has("batch"))
        return {thesis_batch, large_batch};
    const std::string text = arguments.text("batch", "");
    std::vector<std::int64_t> batches;
    for (const std::string &part : split(text, ',')) {
        std::int64_t batch = 0;
        const auto [last, error] = std::from_chars(part.data(), part.data() + part.size(), batch);
        if (error != std::errc{} || last != part.data() + part.size() || batch < 1 ||
            batch > most_split_batch)
            throw UsageError(
                fmt::format("{}: --batch takes integers from 1 to {} with --devices, for example "
                            "2048,65536, got '{}'",
                            verb, most_split_batch, text));
        batches.push_back(batch);
    }
    return batches;
}

std::vector<DeviceSplit> splits_of(const std::string &verb, const Arguments &arguments) {
    std::vector<DeviceSplit> splits;
    for (const std::string &text : arguments.texts("split"))
        splits.push_back(parse_split(verb, text));
    if (splits.empty())
        splits = {DeviceSplit::rows, DeviceSplit::parameters, DeviceSplit::batch, DeviceSplit::batch_nccl};
    return splits;
}

struct AskedScaling {
    Network network;
    GpuProfile profile;
    ScalingQuestion question;
};

AskedScaling read_asked_scaling(const std::string &verb, const Arguments &arguments) {
    AskedScaling asked;
    asked.network = asked_network(arguments);
    require_split_kernels(asked.network);
    asked.question.devices = parse_devices(verb, arguments.text("devices", ""));
    asked.question.splits = splits_of(verb, arguments);
    asked.question.batches = batches_of(verb, arguments);
    asked.profile = find_profile(arguments.text("gpu", "h200"));
    supply_assumed(asked.profile, arguments);
    require_times(asked.profile, verb + " --devices");
    return asked;
}

std::string percent_of(const std::optional<double> &share) {
    return share ? fmt::format("{:.0f} %", 100.0 * *share) : "-";
}

std::string ratio(const std::optional<double> &value) {
    return value ? fmt::format("{:.2f}", *value) : "-";
}

std::string shares_text(const ScalingCase &item) {
    std::vector<std::string> shares;
    for (const std::int64_t share : item.shares)
        shares.push_back(std::to_string(share));
    return join(shares, " ");
}

/// Whether a GPU takes more than one share.
bool shares_a_gpu(const Scaling &scaling) {
    return std::set(scaling.devices.begin(), scaling.devices.end()).size() < scaling.devices.size();
}

/// One row a case: forecast, or measured with the forecast's error.
std::string cases_table(const Scaling &scaling, bool measured) {
    std::vector<std::vector<std::string>> rows;
    for (const ScalingCase &item : scaling.cases) {
        const auto &times = measured ? item.measured : item.forecast;
        const auto &rates = measured ? item.measured_rates : item.forecast_rates;
        std::vector<std::string> row = {to_text(item.split), std::to_string(item.devices),
                                        std::to_string(item.batch)};
        if (times) {
            for (const Seconds part : {times->forward_s, times->backward_s, times->step_s})
                row.push_back(short_time(part));
            if (measured)
                row.push_back(item.forecast
                                  ? fmt::format("{} {:+.0f} %", short_time(item.forecast->step_s),
                                                100.0 * (item.forecast->step_s / times->step_s - 1.0))
                                  : "-");
        } else {
            row.insert(row.end(), measured ? 4U : 3U, "-");
        }
        const bool separate = measured || !shares_a_gpu(scaling); // the forecast is of GPUs of their own
        row.push_back(rates && separate ? ratio(rates->speed_up) : "-");
        row.push_back(rates && separate ? percent_of(rates->efficiency) : "-");
        row.push_back(rates && separate ? percent_of(rates->weak_efficiency) : "-");
        row.push_back(rates ? ratio(rates->computation_over_communication) : "-");
        row.push_back(item.status == Status::ok
                          ? shares_text(item)
                          : std::string(boost::describe::enum_to_string(item.status, "?")) + ": " +
                                item.reason.value_or(""));
        rows.push_back(std::move(row));
    }
    std::vector<Column> columns = {{"split"},
                                   {"GPUs", Align::right, Keep::must},
                                   {"images", Align::right, Keep::must},
                                   {"forward", Align::right},
                                   {"backward", Align::right},
                                   {"step", Align::right, Keep::must}};
    if (measured)
        columns.push_back({"forecast", Align::right, Keep::high});
    columns.insert(columns.end(), {{"speed-up", Align::right, Keep::high},
                                   {"efficiency", Align::right, Keep::high},
                                   {"weak", Align::right},
                                   {"comp/comm", Align::right},
                                   {"shares", Align::left, Keep::must, Fit::wrap}});
    return table(columns, rows, terminal_width());
}

std::string advice_text(const Scaling &scaling) {
    std::string text = "\nby the forecast\n";
    for (const ScalingAdvice &advice : scaling.advice) {
        const auto from = [](const std::optional<std::int64_t> &batch) {
            return batch ? fmt::format("from {} images a step on", *batch)
                         : fmt::format("at no size up to {} images", most_split_batch);
        };
        text += headed("  ",
                       fmt::format("{} over {} GPUs is faster than one {}; its efficiency reaches 90 % {}",
                                   to_text(advice.split), advice.devices, from(advice.pays_from),
                                   from(advice.efficient_from)),
                       4, terminal_width());
    }
    return text;
}

std::string scaling_text(const Scaling &scaling, const std::string &gpu, bool measured) {
    std::string text =
        bold(fmt::format("{} on {} x {}, a step of training{}", scaling.network,
                         std::set(scaling.devices.begin(), scaling.devices.end()).size(), gpu,
                         shares_a_gpu(scaling) ? fmt::format(", {} shares", scaling.devices.size()) : "")) +
        "\n" +
        headed(
            "  ",
            fmt::format(
                "copies between GPUs: {:.0f} GB/s one way while as much goes the other way, {:.2f} us ({})",
                scaling.peers.bandwidth_bytes_per_s.value / 1e9, scaling.peers.latency_s.value * 1e6,
                scaling.peers.by),
            2, terminal_width()) +
        "\n" + cases_table(scaling, measured) +
        (shares_a_gpu(scaling) && !measured
             ? "\n" +
                   hanging("shares of one GPU: the times are of GPUs of their own, so there is no speed-up")
             : advice_text(scaling)) +
        "\n";
    for (const auto &[name, said] : scaling.conditions)
        if (name.starts_with("no_peer_access") || name == "several_shares_a_gpu")
            text += headed("note: ", said, 6, terminal_width());
    for (const std::string &assumption : scaling.assumptions)
        text += headed("assumed: ", assumption, 9, terminal_width());
    return text;
}

void write_scaling(const Arguments &arguments, const Scaling &scaling, const std::string &gpu,
                   bool measured) {
    const bool document = arguments.has("json") || arguments.has("output");
    write_file_atomically(arguments.text("output", "-"),
                          document ? to_text(described::write(scaling))
                                   : printable(scaling_text(scaling, gpu, measured)));
}

int train_on_several(const Arguments &arguments, const AskedScaling &asked) {
    if (asked.question.splits.size() != 1 || asked.question.batches.size() != 1)
        if (arguments.texts("split").size() > 1 || arguments.text("batch", "").find(',') != std::string::npos)
            throw UsageError("run: training takes one --split and one --batch");
    return train_network_on(arguments, asked.network, asked.question.devices,
                            arguments.has("split") ? asked.question.splits.front() : DeviceSplit::batch);
}

} // namespace

int predict_scaling(const Arguments &arguments) {
    const AskedScaling asked = read_asked_scaling("predict", arguments);
    Scaling scaling = forecast_scaling(asked.network, asked.profile, asked.question);
    scaling.conditions["version"] = producer().version;
    write_scaling(arguments, scaling, asked.profile.name, false);
    return 0;
}

int run_scaling_network(const Arguments &arguments) {
    const AskedScaling asked = read_asked_scaling("run", arguments);
    if (arguments.has("data"))
        return train_on_several(arguments, asked);
    const std::string output = arguments.text("output", "-");
    if (output != "-")
        check_writable(output);
    Scaling scaling = forecast_scaling(asked.network, asked.profile, asked.question);
    scaling.conditions["version"] = producer().version;
    run_scaling_on_devices(asked.network, scaling, [&](const Scaling &so_far) {
        if (output != "-")
            write_file_atomically(output, to_text(described::write(so_far)));
    });
    write_scaling(arguments, scaling, scaling.conditions.at("gpu"), true);
    const bool wrong = std::any_of(scaling.cases.begin(), scaling.cases.end(), [](const ScalingCase &item) {
        return item.status == Status::wrong_result || item.status == Status::failed ||
               item.status == Status::not_run;
    });
    return wrong ? 1 : 0;
}

} // namespace convcast::cli
