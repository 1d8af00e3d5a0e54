// A network's training on several GPUs of one host: who has which rows or images, and the document that sets
// forecast and measurement side by side. Equations Sc1 to Sc4; docs/several_gpus.md.
#pragma once

#include "model/base/checked.hpp"
#include "model/machine/profile.hpp"
#include "model/network/network.hpp"
#include "model/record/run.hpp"

#include <boost/describe.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// How the work of a step is divided.
enum class DeviceSplit {
    one,        ///< one GPU: what the others are compared with
    rows,       ///< rows of every image with their halo; features go to all GPUs, deltas are summed
    parameters, ///< likewise, and a GPU has only its features' weights: sums of the dense layer are exchanged
    batch,      ///< images; gradients are exchanged by copies between the GPUs
    batch_nccl, ///< images; gradients are summed by NCCL
};
BOOST_DESCRIBE_ENUM(DeviceSplit, one, rows, parameters, batch, batch_nccl)

constexpr int most_split_devices = 8; ///< as in the kernels

/// What a GPU has of every image (Sc1). Ends are exclusive.
struct RowShare {
    std::int64_t first_window = 0, last_window = 0; ///< rows of pooling windows
    std::int64_t first_row = 0, last_row = 0;       ///< of the image: what the windows need
    std::int64_t windows() const { return last_window - first_window; }
};

/// Equations (14) and (15) of the thesis for any number of GPUs: pooling windows are not cut, shares differ
/// by at most one row of them. Throws UsageError where there are fewer rows than GPUs, or the network does
/// not begin with a convolution of one channel and a pooling.
std::vector<RowShare> row_shares(const Network &network, int devices);

/// First images of the GPUs' shares, and `batch` behind: shares differ by at most one image.
std::vector<std::int64_t> batch_shares(std::int64_t batch, int devices);

/// Seconds of a step of training. Backward is what the step takes more than the forward part, communication
/// what it takes more than with nothing exchanged.
struct ScalingTimes {
    Seconds forward_s, backward_s, step_s, computation_s, communication_s;
    BOOST_DESCRIBE_CLASS(ScalingTimes, (), (forward_s, backward_s, step_s, computation_s, communication_s),
                         (), ())

    static constexpr std::optional<Range> range_of(std::string_view field) {
        return field == "step_s" || field == "forward_s" || field == "computation_s"
                   ? std::optional(time_above_zero)
                   : std::nullopt;
    }
};

/// Equations (1) and (2) of the thesis, and its ratio of computation to communication (Sc4).
struct ScalingRates {
    double speed_up = 1.0, efficiency = 1.0;
    std::optional<double> weak_efficiency; ///< against one GPU with its share of the images
    std::optional<double> computation_over_communication;
    BOOST_DESCRIBE_CLASS(ScalingRates, (),
                         (speed_up, efficiency, weak_efficiency, computation_over_communication), (), ())

    static constexpr Range range_of(std::string_view field) {
        return field == "computation_over_communication" ? Range{} : Range{1e-9, 1e9};
    }
};

struct ScalingCase {
    DeviceSplit split = DeviceSplit::one;
    int devices = 1;
    std::int64_t batch = 0;           ///< images of a step, all GPUs together
    std::vector<std::int64_t> shares; ///< rows of windows, or images, of each GPU
    Status status = Status::not_run;
    std::optional<std::string> reason;
    std::optional<ScalingTimes> forecast, measured;
    std::optional<ScalingRates> forecast_rates, measured_rates;
    std::optional<std::string> issued; ///< how the measured steps reached the GPUs
    // Against one GPU, relative L2: outputs and gradient of a first step, parameters after some.
    std::optional<double> output_error, gradient_error, parameter_error;
    BOOST_DESCRIBE_CLASS(ScalingCase, (),
                         (split, devices, batch, shares, status, reason, forecast, measured, forecast_rates,
                          measured_rates, issued, output_error, gradient_error, parameter_error),
                         (), ())

    static constexpr std::optional<Range> range_of(std::string_view field) {
        if (field.ends_with("_error"))
            return result_error;
        if (field == "devices")
            return Range{1.0, most_split_devices};
        return field == "batch" ? std::optional(count_above_zero) : std::nullopt;
    }
    void check(const FieldProblem &problem) const; ///< what is right is near the steps of one GPU
};

/// From which size on a split is worth it, by the forecast. Absent: not up to the largest batch.
struct ScalingAdvice {
    DeviceSplit split = DeviceSplit::rows;
    int devices = 2;
    std::optional<std::int64_t> pays_from;      ///< images of a step from which it is faster than one GPU
    std::optional<std::int64_t> efficient_from; ///< and from which its efficiency is at least 0.9
    BOOST_DESCRIBE_CLASS(ScalingAdvice, (), (split, devices, pays_from, efficient_from), (), ())

    static constexpr Range range_of(std::string_view field) {
        return field == "devices" ? Range{1.0, most_split_devices} : count_above_zero;
    }
};

/// What copies between the GPUs of a host do, and where that is from.
struct PeerNumbers {
    Bandwidth bandwidth_bytes_per_s; ///< one way while as much goes the other way
    Seconds latency_s;
    Source source = Source::measured;
    std::string by;
    BOOST_DESCRIBE_CLASS(PeerNumbers, (), (bandwidth_bytes_per_s, latency_s, source, by), (), ())

    static constexpr Range range_of(std::string_view field) {
        return field == "latency_s" ? Range{0.0, 1.0} : Range{1.0, 1e18};
    }
};

struct Scaling {
    std::string schema = "convcast/scaling/1";
    std::string network;
    std::vector<int> devices; ///< CUDA ordinals; one may stand there several times
    std::string profile_id, profile_hash;
    std::map<std::string, std::string> conditions;
    PeerNumbers peers;
    std::vector<ScalingCase> cases;
    std::vector<ScalingAdvice> advice;
    std::vector<std::string> assumptions;
    BOOST_DESCRIBE_CLASS(Scaling, (),
                         (schema, network, devices, profile_id, profile_hash, conditions, peers, cases,
                          advice, assumptions),
                         (), ())

    void check(const FieldProblem &problem) const; ///< of a network that has a ladder
};

/// The split by images on a number of GPUs.
struct ScalingPoint {
    std::int64_t gpus = 1;
    Seconds strong_s;   ///< of the batch, divided
    Seconds weak_s;     ///< of as many batches as GPUs
    Seconds exchange_s; ///< of the divided batch: what the exchange of gradients takes
    double strong_efficiency = 1.0, weak_efficiency = 1.0;
};

/// The forecast split by images of `batch` on 1, 2, 4, ... GPUs, where the scaling has both cases of it.
std::vector<ScalingPoint> scaling_points(const Scaling &scaling, std::int64_t batch);

struct ScalingQuestion {
    std::vector<int> devices;
    std::vector<DeviceSplit> splits;   ///< without `one`
    std::vector<std::int64_t> batches; ///< images of a step
    bool weak = true;                  ///< also each batch times the number of GPUs
};

constexpr std::int64_t most_split_batch = std::int64_t{1} << 20;

/// "0,1,2,3" or "0-3"; the same ordinal several times puts several shares on one GPU. Throws UsageError.
std::vector<int> parse_devices(const std::string &verb, const std::string &text);

/// Throws UsageError, with the closest name.
DeviceSplit parse_split(const std::string &verb, const std::string &text);
std::string to_text(DeviceSplit split);

/// What is to be forecast and measured: one GPU for every batch, then each split on 2, 4, ... and all GPUs. A
/// split that is not possible is there with its reason.
std::vector<ScalingCase> scaling_cases(const Network &network, const ScalingQuestion &question);

/// Whether the network is one as it ships for which there are kernels that split it.
bool has_split_kernels(const Network &network);

/// Throws UsageError unless it is.
void require_split_kernels(const Network &network);

/// Fills in the rates of forecasts and measurements.
void add_rates(std::vector<ScalingCase> &cases);

extern template const described::Type &described::type_of<Scaling>();

} // namespace convcast
