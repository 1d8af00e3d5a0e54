// A network's training on several GPUs of one host: who has which rows or images, and which cases are asked.
// Equations Sc1 to Sc4; docs/several_gpus.md.
#pragma once

#include "model/base/describe.hpp"
#include "model/network/ladder.hpp"
#include "model/network/network.hpp"
#include "model/network/network_run.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// What a GPU has of every image (Sc1). Ends are exclusive.
struct RowShare {
    std::int64_t first_window = 0, last_window = 0; ///< rows of pooling windows
    std::int64_t first_row = 0, last_row = 0;       ///< of the image: what the windows need
    std::int64_t windows() const { return last_window - first_window; }
    std::int64_t rows() const { return last_row - first_row; }
};

/// Equations (14) and (15) of the thesis for any number of GPUs: pooling windows are not cut, shares differ
/// by at most one row of them. Throws UsageError where there are fewer rows than GPUs, or the network does
/// not begin with a convolution of one channel and a pooling.
std::vector<RowShare> row_shares(const Network &network, int devices);

/// The GPUs' images. Throws UsageError where there are fewer than GPUs.
std::vector<ImageShare> batch_shares(std::int64_t batch, int devices);

/// The split by images on a number of GPUs.
struct ScalingPoint {
    std::int64_t gpus = 1;
    Seconds strong_s;   ///< of the batch, divided
    Seconds weak_s;     ///< of as many batches as GPUs
    Seconds exchange_s; ///< of the divided batch: what the exchange of gradients takes
    double strong_efficiency = 1.0, weak_efficiency = 1.0;
    CONVCAST_MEMBERS(ScalingPoint, gpus, strong_s, weak_s, exchange_s, strong_efficiency, weak_efficiency)
};

/// A split by images on 1, 2, 4, ... GPUs: `batch` images divided among them (strong), and `batch` images for
/// each (weak). A number of GPUs of which the document lacks one of the two is left out. `times` says whether
/// forecast or measured times are taken.
std::vector<ScalingPoint>
scaling_points(const NetworkRun &run, DeviceSplit split, std::int64_t batch,
               std::optional<NetworkTimes> NetworkCase::*times = &NetworkCase::forecast);

struct ScalingQuestion {
    std::vector<int> devices;
    std::vector<DeviceSplit> splits;   ///< without `one`
    std::vector<std::int64_t> batches; ///< images of a step
    bool weak = true;                  ///< also each batch times the number of GPUs
    bool fewer = true;                 ///< also 2, 4, ... of the GPUs
    int hosts = 1;                     ///< that have these devices each, of the split batch_nccl
    std::optional<HostLink> host_link =
        std::nullopt; ///< between them; absent: what networks of such hosts usually do
};

constexpr std::int64_t most_split_batch = std::int64_t{1} << 20;

/// "0,1,2,3" or "0-3"; the same ordinal several times puts several shares on one GPU. Throws UsageError.
std::vector<int> parse_devices(const std::string &verb, const std::string &text);

/// "25e9", "25e9..50e9" or "25e9..50e9,3e-6..10e-6": bytes a second of a GPU one way, and seconds of a
/// message. Throws UsageError.
HostLink parse_host_link(const std::string &verb, const std::string &text);
/// 100 to 400 Gbit/s a GPU.
HostLink usual_host_link();

/// Throws UsageError, with the closest name.
DeviceSplit parse_split(const std::string &verb, const std::string &text);
std::string to_text(DeviceSplit split);

/// Whether each GPU has rows of every image, not images.
inline bool splits_rows(DeviceSplit split) {
    return split == DeviceSplit::rows || split == DeviceSplit::parameters;
}

/// A step of so many images; what is not possible is there with its reason.
NetworkCase case_of(const Network &network, DeviceSplit split, int devices, std::int64_t batch);

/// What is to be forecast and measured: one GPU for every batch, then each split on 2, 4, ... and all GPUs,
/// then on all GPUs of 2, 4, ... and all hosts. A split that is not possible is there with its reason.
std::vector<NetworkCase> scaling_cases(const Network &network, const ScalingQuestion &question);

/// The rung of the ladder that so many GPUs run, each for a share of the images that published times are of;
/// absent where the ladder names none, or there are fewer images than GPUs.
std::optional<NetworkCase> divided_case(const Ladder &ladder, int devices);

/// Why the shares of a split case are none of it, a sentence; absent where they are.
std::optional<std::string> why_other_shares(const NetworkCase &item, const Network &network);

/// The ways in which kernels split the network's training, those by images last; none of one that is not as
/// it ships.
std::vector<DeviceSplit> splits_of(const Network &network);

/// Throws UsageError where there is none, with the networks that have some.
void require_split_kernels(const Network &network);
/// Throws UsageError where this one is not among them, with those that are.
void require_split(const Network &network, DeviceSplit split);

/// Fills in the rates of forecasts and measurements.
void add_rates(std::vector<NetworkCase> &cases);

} // namespace convcast
