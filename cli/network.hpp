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

/// The network of --network, read once however often it is asked: it may come through a pipe.
Network asked_network(const Arguments &arguments);

/// Images of a call by --batch, no more than the network can have.
int asked_images(const Arguments &arguments, const Network &network);

/// The text of a network file, or the bytes of an ONNX file; `shown` is its name in messages, `folder` where
/// it lies. Throws InputError.
Network network_of_text(const std::string &text, const std::string &shown, const Arguments &arguments,
                        const std::optional<std::string> &folder = std::nullopt);
/// The same of a file; - is standard input.
Network network_of_file(const std::string &name, const Arguments &arguments);

/// The document of the forecast of --network on a GPU.
NetworkRun forecast_of_network(const Arguments &arguments, GpuVariant gpu);

/// The forecast of the network, whole, of its ladder or on several GPUs, as text, or as a document by --json
/// and -o. Returns the exit code.
int predict_network(const Arguments &arguments);

/// The strategies of its convolutions, the `--top` first of each.
int choose_network(const Arguments &arguments);

/// The rungs of the network's ladder on the GPU at hand, its training with --data, or the whole network where
/// it has no ladder: verified and timed. 1 where a result is wrong.
int run_network(const Arguments &arguments);

/// --ladder, or --training: the forecast of every rung, of those that train, or of those that a schedule
/// names. Returns the exit code.
int predict_ladder(const Arguments &arguments, const std::optional<ScheduleReading> &schedule);

/// The rungs of the network's ladder, or those that a schedule names, on the GPU at hand; with --data its
/// training. 1 where a result is wrong.
int run_ladder(const Arguments &arguments, const Network &network,
               const std::optional<ScheduleReading> &schedule);

/// --devices: forward, backward and step of each split, from the profile's matrix of copies.
int predict_scaling(const Arguments &arguments);

/// The same measured, beside the forecast, or by --rank the part of one process of several, of which rank 0
/// alone writes and prints; with --data a training by one split. 1 where a result is wrong.
int run_scaling_network(const Arguments &arguments);

/// What --schedule names, read but not yet held against the network; absent without it. Throws UsageError
/// where --batch says otherwise.
std::optional<ScheduleReading> asked_schedule(const Arguments &arguments);

/// Whether it is of a ladder.
bool names_rungs(const std::optional<ScheduleReading> &schedule);

/// The images that it says. Throws InputError if they are more than `most`, with why there can be no more.
std::int64_t images_of(const ScheduleReading &reading, std::int64_t most, const std::string &why);

/// What --network, --batch, --schedule, --strategy and the options of a profile ask.
struct AskedNetwork : GpuVariant {
    Network network;
    Knowledge knowledge;
    NetworkQuestion question;

    PlannedNetwork plan() const { return plan_network(network, profile, knowledge, question); }
    /// The run with what its forecast is made with, and by which version, among its conditions.
    NetworkRun documented(NetworkRun run) const;
};
AskedNetwork read_asked_network(const Arguments &arguments, GpuVariant gpu,
                                std::optional<ScheduleReading> schedule = std::nullopt);

/// Trains on the IDX files of --data, or on generated images. 1 where GPU and CPU classify an image
/// differently.
int train_network(const Arguments &arguments, const Network &network, TrainedOn on);

/// The cases of a ladder, or of steps on GPUs, with what is known of each: forecast, measured, published.
/// `gpu` names the GPU of the times.
std::string cases_text(const NetworkRun &run, const std::string &gpu);

/// What its forecasts assume, a paragraph each.
std::string assumptions_text(const NetworkRun &run);

/// Writes the run in the format that is asked for: as text, as `others` say, or else as a document, which
/// says which version made it. Returns the exit code.
int write_network(const Arguments &arguments, NetworkRun run, const std::string &text,
                  const std::map<Format, std::function<std::string()>> &others = {});

} // namespace convcast::cli
