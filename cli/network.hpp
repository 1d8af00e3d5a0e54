// --network: what predict, choose, run and report say of a network: whole, of the implementations of its
// ladder, of its training and of steps that several GPUs share.
#pragma once

#include "cli/answers.hpp"
#include "cli/device.hpp"
#include "model/network/forecast.hpp"
#include "model/network/ladder.hpp"
#include "model/network/network_run.hpp"
#include "model/network/ranks.hpp"
#include "model/network/scaling.hpp"
#include "model/network/schedule_text.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convcast::cli {

/// The network of --network, a name or a file. A file is read once however often this is called, since it may
/// come through a pipe. Throws UsageError for an unknown name, InputError for a file that is none.
Network asked_network(const Arguments &arguments);

/// The images of a call by --batch, or 1. Throws UsageError where the network cannot have so many.
int asked_images(const Arguments &arguments, const Network &network);

/// Reads `text`, a network file or the bytes of an ONNX file named `shown`, and says remarks on it. `folder`
/// is where it lies; absent for standard input. Throws InputError.
Network network_of_text(const std::string &text, const std::string &shown, const Arguments &arguments,
                        const std::optional<std::string> &folder = std::nullopt);
/// The same for the file `name`; - is standard input.
Network network_of_file(const std::string &name, const Arguments &arguments);

/// The forecast of --network on a GPU, as a document with its conditions.
NetworkRun forecast_of_network(const Arguments &arguments, GpuVariant gpu);

// The answers below are printed or written to -o. Each function returns the exit code; of those that run
// something it is 1 where a result is wrong.

/// `predict --network`: forecasts the whole network, its ladder, its training, or steps on several GPUs.
int predict_network(const Arguments &arguments);

/// `choose --network`: the strategies of the network's convolutions, the --top first of each shape.
int choose_network(const Arguments &arguments);

/// `run --network`: verifies and times on the GPU at hand the rungs of the network's ladder, or the whole
/// network where it has no ladder or the schedule is of the whole network. With --data it trains.
int run_network(const Arguments &arguments);

/// `predict --network` with --ladder or --training: forecasts all rungs, those that train, or a schedule.
int predict_ladder(const Arguments &arguments, const std::optional<ScheduleReading> &schedule);

/// Verifies and times the ladder's rungs, or the scheduled ones, on the GPU at hand; with --data it trains.
int run_ladder(const Arguments &arguments, const Network &network,
               const std::optional<ScheduleReading> &schedule);

/// `predict --network` with --devices: forecasts forward, backward and step of each split over several GPUs.
int predict_scaling(const Arguments &arguments);

/// `run --network` with --devices or --rank: measures the same beside the forecast. With --rank this process
/// does the part of one rank, and rank 0 alone writes and prints. With --data it trains by one split.
int run_scaling_network(const Arguments &arguments);

/// Reads what --schedule names, without comparing it with the network; absent without the option. Throws
/// UsageError where --batch says another batch, InputError for a file that cannot be read.
std::optional<ScheduleReading> asked_schedule(const Arguments &arguments);

/// Whether a schedule names rungs of a ladder, not launches of a whole network; false without a schedule.
bool names_rungs(const std::optional<ScheduleReading> &schedule);

/// The schedule's batch. Throws InputError if it is more than `most` images, for the reason `why`.
std::int64_t images_of(const ScheduleReading &reading, std::int64_t most, const std::string &why);

/// What --network, --batch, --schedule, --strategy and the options of a profile ask.
struct AskedNetwork : GpuVariant {
    Network network;
    Knowledge knowledge;
    NetworkQuestion question;

    PlannedNetwork plan() const { return plan_network(network, profile, knowledge, question); }
    /// Adds to the run's conditions the facts, calibration and schedule of its forecast, and our version.
    NetworkRun documented(NetworkRun run) const;
};
/// Throws UsageError or InputError, also for a profile without times. `schedule`: that of asked_schedule.
AskedNetwork read_asked_network(const Arguments &arguments, GpuVariant gpu,
                                std::optional<ScheduleReading> schedule = std::nullopt);

/// Trains on the IDX files of --data or on generated images. 1 where GPU and CPU classify differently.
int train_network(const Arguments &arguments, const Network &network, TrainedOn on);

/// A table of a ladder's cases, or of steps on several GPUs, with all their times. `gpu`: for the heading.
std::string cases_text(const NetworkRun &run, const std::string &gpu);

/// What the forecasts of the run assume, a paragraph each.
std::string assumptions_text(const NetworkRun &run);

/// Writes the run to -o in the format that is asked for: `text`, the text that `others` makes of a format, or
/// else a document, which says which version made it. Returns the exit code.
int write_network(const Arguments &arguments, NetworkRun run, const std::string &text,
                  const std::map<Format, std::function<std::string()>> &others = {});

} // namespace convcast::cli
