// A network's training on several GPUs: which rows or images each has, and which cases are forecast or
// measured. Equations Sc1 to Sc4; docs/several_gpus.md.
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

/// The rows that a GPU has of every image (Sc1). `last_...` are ends: the first that it does not have.
struct RowShare {
    std::int64_t first_window = 0, last_window = 0; ///< rows of pooling windows
    std::int64_t first_row = 0, last_row = 0;       ///< rows of the image that these windows need
    std::int64_t windows() const { return last_window - first_window; }
    std::int64_t rows() const { return last_row - first_row; }
};

/// By GPU, its rows: equations (14) and (15) of the thesis for any number of GPUs. Pooling windows are not
/// cut; shares differ by at most one row of them. Throws UsageError for fewer rows of windows than GPUs, and
/// a network that does not begin with a convolution and a pooling without padding and strides.
std::vector<RowShare> row_shares(const Network &network, int devices);

/// By GPU, its images of a batch. Throws UsageError if there are fewer images than GPUs.
std::vector<ImageShare> batch_shares(std::int64_t batch, int devices);

/// Steps of a split by images on a number of GPUs.
struct ScalingPoint {
    std::int64_t gpus = 1;
    Seconds strong_s;   ///< time of a step of one batch, divided among the GPUs
    Seconds weak_s;     ///< time of a step of a batch for each GPU
    Seconds exchange_s; ///< the part of `strong_s` in which gradients are exchanged
    double strong_efficiency = 1.0, weak_efficiency = 1.0;
    CONVCAST_MEMBERS(ScalingPoint, gpus, strong_s, weak_s, exchange_s, strong_efficiency, weak_efficiency)
};

/// A split by images on 1, 2, 4, ... GPUs: `batch` images divided among them (strong), and `batch` images for
/// each (weak). A number of GPUs is left out if the document lacks one of the two; with fewer than two points
/// there is none. `times`: whether forecast or measured times are taken.
std::vector<ScalingPoint>
scaling_points(const NetworkRun &run, DeviceSplit split, std::int64_t batch,
               std::optional<NetworkTimes> NetworkCase::*times = &NetworkCase::forecast);

/// What is asked of training on several GPUs.
struct ScalingQuestion {
    std::vector<int> devices;          ///< CUDA ordinals on each host
    std::vector<DeviceSplit> splits;   ///< without `one`, which is always asked
    std::vector<std::int64_t> batches; ///< images of a step
    bool weak = true;                  ///< ask also each batch times the number of GPUs
    bool fewer = true;                 ///< ask also 2, 4, ... of the GPUs
    int hosts = 1;                     ///< that have these devices each; several only of the split batch_nccl
    std::optional<HostLink> host_link = std::nullopt; ///< between the hosts; absent: usual_host_link
};

/// The largest batch that is asked of a split: chosen, far above those at which splits begin to pay.
constexpr std::int64_t most_split_batch = std::int64_t{1} << 20;

/// "0,1,2,3" or "0-3"; the same ordinal several times puts several shares on one GPU. Throws UsageError.
std::vector<int> parse_devices(const std::string &verb, const std::string &text);

/// "25e9", "25e9..50e9" or "25e9..50e9,3e-6..10e-6": a GPU's bytes/s, a message's s. Throws UsageError.
HostLink parse_host_link(const std::string &verb, const std::string &text);
/// A network of 100 to 400 Gbit/s for each GPU, as clusters have.
HostLink usual_host_link();

/// The split of this name, but `one`. Throws UsageError, with the closest name.
DeviceSplit parse_split(const std::string &verb, const std::string &text);
std::string to_text(DeviceSplit split);

/// Whether each GPU has rows of every image, and not some of the images.
inline bool splits_rows(DeviceSplit split) {
    return split == DeviceSplit::rows || split == DeviceSplit::parameters;
}

/// The case of a step of `batch` images; infeasible, with the reason, if they cannot be split so.
NetworkCase case_of(const Network &network, DeviceSplit split, int devices, std::int64_t batch);

/// The cases to be forecast and measured: one GPU for every batch, then each split on 2, 4, ... and all GPUs,
/// then on all GPUs of 2, 4, ... and all hosts. A split that is not possible is infeasible, with the reason.
std::vector<NetworkCase> scaling_cases(const Network &network, const ScalingQuestion &question);

/// The case of the ladder's divided_rung on `devices` GPUs, each with a share of the images that published
/// times are of. Absent if the ladder names no such rung, or there are fewer images than GPUs.
std::optional<NetworkCase> divided_case(const Ladder &ladder, int devices);

/// Why a case with a `split` should have other shares or be infeasible, a sentence; absent if it is right.
std::optional<std::string> why_other_shares(const NetworkCase &item, const Network &network);

/// The splits that there are kernels for, those by images last. None of a network that is not as it ships.
std::vector<DeviceSplit> splits_of(const Network &network);

/// Throws UsageError if splits_of gives none, with the networks that have some.
void require_split_kernels(const Network &network);
/// Throws UsageError if this one is neither `one` nor among splits_of.
void require_split(const Network &network, DeviceSplit split);

/// Sets speed-ups, efficiencies and comp/comm (Sc4), as far as cases of one GPU have times to compare with.
void add_rates(std::vector<NetworkCase> &cases);

} // namespace convcast
