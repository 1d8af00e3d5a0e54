// --network: what predict and choose say of a whole network.
#pragma once

#include "cli/arguments.hpp"
#include "model/network/forecast.hpp"
#include "model/network/scaling.hpp"
#include "model/network/schedule_text.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convcast::cli {

/// The network of --network, read once however often it is asked: it may come through a pipe.
Network asked_network(const Arguments &arguments);

/// The text of a network file, or the bytes of an ONNX file; `shown` is its name in messages. Throws
/// InputError.
Network network_of_text(const std::string &text, const std::string &shown, const Arguments &arguments);
/// The same of a file; - is standard input.
Network network_of_file(const std::string &name, const Arguments &arguments);

/// The forecast of the network as text, or as a document by --json and -o. Returns the exit code.
int predict_network(const Arguments &arguments);

/// The strategies of its convolutions, the `--top` first of each.
int choose_network(const Arguments &arguments);

/// The rungs of the network's ladder on the GPU at hand, or the whole network where it has no ladder:
/// verified and timed. 1 where a result is wrong.
int run_network(const Arguments &arguments);

/// What --schedule names, read but not yet held against the network; absent without it. Throws UsageError
/// where --batch says otherwise.
std::optional<ScheduleReading> asked_schedule(const Arguments &arguments);

/// Whether it is of a ladder.
bool names_rungs(const std::optional<ScheduleReading> &schedule);

/// The whole network with the launches of its forecast, or of a schedule.
int run_whole_network(const Arguments &arguments, std::optional<ScheduleReading> schedule);

/// What --network, --batch, --schedule, --strategy and the options of a profile ask, planned.
struct AskedPlan {
    PlannedNetwork plan;
    GpuProfile profile;
    std::map<std::string, std::string> conditions;
};
AskedPlan plan_asked_network(const Arguments &arguments, std::optional<ScheduleReading> schedule);

/// Training on the IDX files of --data, split over GPUs.
int train_network_on(const Arguments &arguments, const Network &network, const std::vector<int> &devices,
                     DeviceSplit split);

} // namespace convcast::cli
