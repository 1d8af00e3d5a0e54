#include "cli/report_network.hpp"
#include "cli/network.hpp"

#include "cli/progress.hpp"
#include "cli/terminal.hpp"
#include "cli/version.hpp"
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/json.hpp"
#include "model/network/ladder.hpp"
#include "model/network/scaling_forecast.hpp"
#include "reports/html.hpp"
#include "reports/network_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast::cli {
namespace {

/// The profile that a document's forecasts are of: by --gpu, the document's, or the one of the GPU it was
/// measured on. Absent where none of these is at hand.
std::optional<GpuProfile> profile_of(const NetworkRun &run, const Arguments &arguments) {
    if (arguments.has("gpu"))
        return find_profile(arguments.text("gpu", ""));
    const auto gpu = run.conditions.find("gpu");
    for (const std::string &name : shipped_profiles()) {
        GpuProfile profile = find_profile(name);
        if (!run.profile_id.empty() ? profile.id == run.profile_id
                                    : gpu != run.conditions.end() && profile.name == gpu->second)
            return profile;
    }
    return std::nullopt;
}

/// Says which of a document's rungs the ladder does not have.
void note_foreign_rungs(const NetworkRun &run, const Ladder &ladder, const std::string &shown) {
    std::vector<std::string> ids, foreign;
    for (const Rung &rung : ladder.rungs)
        ids.push_back(rung.id);
    std::string close;
    for (const NetworkCase &item : run.cases)
        if (item.id && std::ranges::find(ids, *item.id) == ids.end()) {
            foreign.push_back("\"" + shortened(*item.id) + "\"");
            close += close.empty() ? did_you_mean(*item.id, ids) : "";
        }
    if (!foreign.empty())
        note(fmt::format(
            "{}: the ladder of {} has no implementation {}{} What the document says of it is shown, "
            "without a forecast",
            shown, run.network, join(foreign), close.empty() ? "." : close));
}

/// Says that a document is of a network that does not ship: one's own, or a name that was changed.
void note_foreign_network(const std::string &network, const std::string &shown) {
    const std::vector<std::string> names = shipped_networks();
    if (std::ranges::find(names, network) == names.end())
        note(fmt::format("{}: no network \"{}\" ships{} It is shown as the document says", shown,
                         shortened(network), did_you_mean(network, names)));
}

/// Forecasts of a ladder's implementations and of steps on GPUs by this version, and what it says of several
/// GPUs. Those of a profile that is not at hand stay as they are.
BesideNetwork forecast_here(NetworkRun &run, const std::string &shown, const Arguments &arguments) {
    BesideNetwork beside;
    const Network network = find_network(run.network);
    note_foreign_rungs(run, find_ladder(network), shown);
    const auto profile = profile_of(run, arguments);
    if (!profile)
        return beside;
    run = forecast_anew(std::move(run), network, *profile);
    run.conditions["forecast"] = "by version " + producer().version;
    const std::vector<DeviceSplit> splits = splits_of(network);
    const auto by_images = std::ranges::find_if_not(splits, splits_rows);
    if (run.first().id && by_images != splits.end() && !profile->peers.empty()) {
        ScalingQuestion question{{}, {*by_images}, {run.first().batch}};
        for (int device = 0; device < most_split_devices; ++device)
            question.devices.push_back(device);
        beside.scaling =
            scaling_points(forecast_scaling(network, *profile, question), *by_images, run.first().batch);
    }
    return beside;
}

/// What tests/gpu/torch_networks.py writes: seconds of PyTorch by network and batch, in each of its settings.
struct TorchTime {
    std::string network;
    std::int64_t batch = 1;
    Seconds contiguous, channels_last;                       ///< eager, FP32, tensors in NCHW and in NHWC
    std::optional<Seconds> compiled, compiled_channels_last; ///< by torch.compile, FP32
    std::optional<Seconds> tf32, tf32_channels_last, tf32_compiled_channels_last;
    BOOST_DESCRIBE_CLASS(TorchTime, (),
                         (network, batch, contiguous, channels_last, compiled, compiled_channels_last, tf32,
                          tf32_channels_last, tf32_compiled_channels_last),
                         (), ())

    Seconds fastest_fp32() const {
        Seconds time = std::min(contiguous, channels_last);
        for (const std::optional<Seconds> &other : {compiled, compiled_channels_last})
            time = std::min(time, other.value_or(time));
        return time;
    }
};
struct TorchTimes {
    std::string torch, gpu;
    std::int64_t cudnn = 0; ///< 91900 is 9.19.0
    std::optional<std::string> date;
    std::vector<TorchTime> times_s;
    BOOST_DESCRIBE_CLASS(TorchTimes, (), (torch, cudnn, gpu, date, times_s), (), ())
};

/// PyTorch's time of the same network on the same GPU, where a recording has it: pytorch.json beside the run.
std::optional<OtherTime> time_of_pytorch(const NetworkRun &run, const std::string &shown,
                                         const std::string &gpu) {
    const std::string file = (std::filesystem::path(shown).parent_path() / "pytorch.json").string();
    if (!file_exists(shown) || !file_exists(file)) // standard input has no folder
        return std::nullopt;
    TorchTimes times;
    try {
        times = described::read_document<TorchTimes>(read_file(file), file);
    } catch (const InputError &error) {
        note("PyTorch's time is left out: " + std::string(error.what()));
        return std::nullopt;
    }
    if (times.gpu != gpu)
        return std::nullopt;
    for (const TorchTime &time : times.times_s)
        if (time.network == run.network && time.batch == run.first().batch)
            return OtherTime{fmt::format("PyTorch {} with cuDNN {}.{}, FP32",
                                         times.torch.substr(0, times.torch.find('+')), times.cudnn / 10000,
                                         times.cudnn / 100 % 100),
                             time.fastest_fp32()};
    return std::nullopt;
}

} // namespace

int report_of_network(const std::string &document, const std::string &shown, const Arguments &arguments) {
    arguments.refuse_options_of("network");
    auto run = described::read_document<NetworkRun>(document, shown);
    const NetworkCase &first = run.first();
    if (first.training)
        arguments.refuse_options_of("training");
    BesideNetwork beside;
    std::string text;
    const std::string name = gpu_name(run.conditions, run.profile_id);
    if (first.is_whole()) {
        if (!arguments.has("network")) // whose forecast this is
            note_foreign_network(run.network, shown);
        if (first.ran())
            beside.other = time_of_pytorch(run, shown, name);
        text = bold(first.ran() ? fmt::format("{} on {}, batch {}", run.network, name, first.batch)
                                : fmt::format("{}, forecast for {}", run.network, run.profile_id)) +
               ": ";
    } else if (!first.training) {
        beside = forecast_here(run, shown, arguments);
        text = cases_text(run, gpu_name(run.conditions, run.profile_id)) + "\n";
    }
    return answer_with_page(report_on(run, beside), text + judgement_of(run, beside.other) + "\n\n",
                            to_text(described::write(run)), arguments);
}

int report_of_forecast(const Arguments &arguments) {
    arguments.refuse_options_of("network");
    GpuProfile profile = find_profile(arguments.text("gpu", "h200"));
    const std::string gpu = profile.name;
    return report_of_network(forecast_of_network(arguments, {std::move(profile), std::nullopt, "", gpu}),
                             shown_name(arguments.text("network", "")), arguments);
}

} // namespace convcast::cli
