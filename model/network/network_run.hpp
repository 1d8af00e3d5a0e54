// The document of a network's runs: each case a network as one CUDA graph by the launches of a schedule, an
// implementation of its ladder, a step of training divided over GPUs, or a training; with what was forecast
// and what was measured of it.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"
#include "model/network/ladder.hpp"
#include "model/network/ranks.hpp"
#include "model/network/schedule_text.hpp"
#include "model/record/run.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// The spread of samples of one time.
struct TimeSpread {
    Seconds median_s, p05_s, p95_s;
    std::int64_t samples = 0;
    CONVCAST_MEMBERS(TimeSpread, median_s, p05_s, p95_s, samples)

    static constexpr Range range_of(std::string_view field) {
        return field == "samples" ? count_above_zero
                                  : Range{0.0, time_above_zero.high}; // 0 of LaunchKind::placed
    }
    void check(const FieldProblem &problem) const; ///< in ascending order
};
/// Percentiles of samples in seconds, by linear interpolation between samples; `samples` is not empty.
TimeSpread time_spread(std::vector<double> samples);

/// A strategy that computes a convolution of a network.
struct NetworkCandidate {
    std::string strategy; ///< with its knobs
    Seconds time_s;       ///< forecast, without the preparation of filters
    CONVCAST_MEMBERS(NetworkCandidate, strategy, time_s)

    static constexpr Range range_of(std::string_view) { return time_above_zero; }
};

/// When a launch ran in calls of the whole network.
struct LaunchMeasurement {
    TimeSpread time_s;  ///< from the end of what the launch waits for to its own end
    double share = 0.0; ///< its part of the measured times of all launches
    std::optional<Seconds> begins_s,
        ends_s; ///< medians from the start of the call; absent in older recordings
    CONVCAST_MEMBERS(LaunchMeasurement, time_s, share, begins_s, ends_s)

    static constexpr std::optional<Range> range_of(std::string_view field) {
        return field == "share" ? std::optional(Range{0.0, 1.0}) : std::nullopt;
    }
    void check(const FieldProblem &problem) const; ///< ends behind what begins
};

/// The same network or launch after a change of the GPU.
struct ChangedNetwork {
    std::string change; ///< "twice the SMs"
    Seconds time_s;
    CONVCAST_MEMBERS(ChangedNetwork, change, time_s)

    static constexpr Range range_of(std::string_view) { return time_above_zero; }
};

/// A launch of the schedule. Its own times are the forecast.
struct NetworkLaunch {
    LaunchKind kind = LaunchKind::elementwise;
    /// That it computes, in order; of a turn the one whose output it lays out.
    std::vector<std::string> operators;
    std::optional<std::string> shape;         ///< of a convolution or a dense layer
    std::optional<std::string> node;          ///< of LaunchKind::unknown: the type of its ONNX node
    std::vector<NetworkCandidate> candidates; ///< of a convolution, best first; the first is what runs
    /// Of the graph: kernels and copies to constant memory; absent in older recordings.
    std::optional<std::int64_t> nodes;
    Seconds time_s; ///< with the gap before it
    /// The speed of light: S1 of a convolution or dense layer, of another launch the longer of its bytes and
    /// its multiply-adds; absent in older recordings.
    std::optional<Seconds> light_s;
    std::optional<double> flops; ///< floating-point operations; with the rest absent in older recordings
    std::optional<std::int64_t> parameters;  ///< numbers
    std::optional<double> bytes;             ///< read and written, each once
    std::optional<ChangedNetwork> helps;     ///< the change of the GPU that shortens the launch most
    double share = 0.0;                      ///< its part of the forecast times of all launches
    std::optional<bool> columns;             ///< its output lies in columns, images side by side; absent: no
    std::optional<std::int64_t> stream;      ///< absent: 0
    std::optional<Seconds> begins_s, ends_s; ///< from the start of the network, with the gap before it
    std::optional<double> l2_error; ///< relative, of its output against double, of the first and last images
    std::optional<LaunchMeasurement> measured;
    CONVCAST_MEMBERS(NetworkLaunch, kind, operators, shape, node, candidates, nodes, time_s, light_s, flops,
                     parameters, bytes, helps, share, columns, stream, begins_s, ends_s, l2_error, measured)

    static constexpr std::optional<Range> range_of(std::string_view field) {
        if (field == "time_s" || field == "light_s") // 0 of what is placed
            return Range{0.0, time_above_zero.high};
        if (field == "nodes")
            return Range{0.0, count_above_zero.high};
        if (field == "share")
            return Range{0.0, 1.0};
        if (field == "l2_error")
            return result_error;
        return field == "stream" ? std::optional(Range{0.0, static_cast<double>(most_streams - 1)})
                                 : std::nullopt;
    }
    void check(const FieldProblem &problem) const; ///< ends behind what begins

    /// What computes the convolution, with its knobs; "" of another launch.
    std::string strategy() const { return candidates.empty() ? "" : candidates.front().strategy; }
    /// "conv1+bias1+relu1", as a schedule has it; of a turn "pool5 to columns".
    std::string name() const;
    /// For people: folders that names share stand in the first only, "/layer1/conv1/Conv+.bias+relu/Relu".
    std::string label() const;
};

/// Times of a call, forecast or measured. What does not apply is absent.
struct NetworkTimes {
    std::optional<Seconds> time_s; ///< as one CUDA graph, with L2 as the call before left it
    /// The range of `time_s`: of a forecast I3, by the ranges of numbers that the profile assumes; of
    /// measurements the 5th and 95th percentile of `samples`, each a row of replays between two events.
    std::optional<Seconds> low_s, high_s;
    std::optional<std::int64_t> samples;            ///< how many; absent of a forecast
    std::optional<Seconds> cold_s;                  ///< as `time_s`, with L2 flushed before
    std::optional<Seconds> stream_s, stream_cold_s; ///< one launch after the other
    /// Launch by launch on several streams as the host sees it, from the first call to the end of the last
    /// launch: queued by one thread, and by a thread for each stream.
    std::optional<Seconds> one_thread_s, threads_s;
    std::optional<Seconds> copy_s; ///< the part of a call in which images are copied from the host
    /// Of a step of training. Backward is the time of the step less its forward part, communication its time
    /// less that of a step in which nothing is exchanged.
    std::optional<Seconds> forward_s, backward_s, computation_s, communication_s;
    /// Of several GPUs against one (Sc4): equations (1) and (2) of the thesis, against one GPU with its share
    /// of the images, and the thesis' ratio of computation to communication.
    std::optional<double> speed_up, efficiency, weak_efficiency, computation_over_communication;
    std::optional<std::string> why_not; ///< why there is no time
    CONVCAST_MEMBERS(NetworkTimes, time_s, low_s, high_s, samples, cold_s, stream_s, stream_cold_s,
                     one_thread_s, threads_s, copy_s, forward_s, backward_s, computation_s, communication_s,
                     speed_up, efficiency, weak_efficiency, computation_over_communication, why_not)

    static constexpr std::optional<Range> range_of(std::string_view field) {
        if (field == "samples")
            return count_above_zero;
        if (field == "speed_up" || field.ends_with("efficiency"))
            return Range{1e-9, 1e9};
        return field.ends_with("_s") && field != "backward_s" && field != "communication_s"
                   ? std::optional(time_above_zero)
                   : std::nullopt;
    }
    void check(const FieldProblem &problem) const; ///< in ascending order

    /// The time as one CUDA graph; launch by launch if that is not known.
    std::optional<Seconds> call_s() const { return time_s ? time_s : stream_s; }
};

/// Times of a whole network's call while its kernels are traced, which makes it longer.
struct TracedTimes {
    TimeSpread graph_s;                               ///< as one CUDA graph
    std::optional<TimeSpread> graph_cold_s, stream_s; ///< with L2 flushed before; one launch after the other
    CONVCAST_MEMBERS(TracedTimes, graph_s, graph_cold_s, stream_s)

    void check(const FieldProblem &problem) const; ///< medians are above 0
};

/// A phase of a launch's CTA, or what bounds the launch.
struct PhaseTime {
    std::string name;
    Seconds time_s;
    CONVCAST_MEMBERS(PhaseTime, name, time_s)
};

/// The forecast of one launch of an implementation: rung_forecast.hpp.
struct KernelForecast {
    std::string kernel;
    std::vector<std::string> operators;
    Seconds time_s;                    ///< from the start of its first CTA to the end of its last
    std::optional<Seconds> record_s;   ///< as its activity record has it: time_s and an empty kernel's time
    std::optional<Seconds> in_graph_s; ///< the part of the implementation's graph that its launches take
    std::int64_t ctas_per_sm = 0;      ///< resident ones of the busiest SM
    double waves = 0.0;                ///< CTAs over those that the GPU holds at once
    /// Phases of a CTA in the first wave, further waves, and what a bound beyond these adds.
    std::vector<PhaseTime> parts;
    CONVCAST_MEMBERS(KernelForecast, kernel, operators, time_s, record_s, in_graph_s, ctas_per_sm, waves,
                     parts)

    static constexpr std::optional<Range> range_of(std::string_view field) {
        return field == "time_s" ? std::optional(time_above_zero) : std::nullopt;
    }
};

/// Launches of a line of the ladder, or copies of one kind and size, by activity records: medians of calls.
struct KernelTime {
    std::string kernel;          ///< of copies what they do: "copy from the host", "copy to GPU 1"
    std::int64_t launches = 0;   ///< of all streams and repetitions
    Seconds time_s;              ///< mean time of one of them, from its start to its end
    Seconds begins_s, ends_s;    ///< of the first and the last of them, from the start of the call
    std::optional<int> device{}; ///< CUDA ordinal of the GPU that it ran on, where a case is of several
    std::optional<std::int64_t> bytes{}; ///< that one copy moves; absent of kernels
    /// Resident warps of an SM that has some over the most that an SM holds; absent if not counted.
    std::optional<double> occupancy{};
    CONVCAST_MEMBERS(KernelTime, kernel, launches, time_s, begins_s, ends_s, device, bytes, occupancy)

    static constexpr std::optional<Range> range_of(std::string_view field) {
        if (field == "occupancy")
            return Range{0.0, 1.0};
        if (field == "device")
            return Range{0.0, 1023.0};
        return field == "launches" || field == "bytes" ? std::optional(count_above_zero)
               : field == "time_s"                     ? std::optional(time_above_zero)
                                                       : std::nullopt;
    }
    void check(const FieldProblem &problem) const; ///< ends behind what begins

    bool is_copy() const { return bytes.has_value(); }
};

/// What a training was asked and did, beside the time of its steps.
struct Training {
    std::string data, tested_on; ///< which images it was trained and tested on, in words
    std::int64_t images = 0, epochs = 0, steps = 0;
    Descent descent;
    Seconds time_s;                  ///< all epochs, host to host, without loading
    double reference_accuracy = 0.0; ///< of the trained parameters on the CPU in double, on `checked` images
    std::int64_t test_images = 0, checked = 0;
    CONVCAST_MEMBERS(Training, data, tested_on, images, epochs, steps, descent, time_s, reference_accuracy,
                     test_images, checked)

    static constexpr std::optional<Range> range_of(std::string_view field) {
        if (field == "reference_accuracy")
            return Range{0.0, 1.0};
        return field == "images" || field == "test_images" ? std::optional(count_above_zero) : std::nullopt;
    }
    void check(const FieldProblem &problem) const; ///< checked is at most test_images
};

/// How the work of a step is divided.
enum class DeviceSplit {
    one,        ///< one GPU: what the others are compared with
    rows,       ///< rows of every image with their halo; features go to all GPUs, deltas are summed
    parameters, ///< likewise, and a GPU has only its features' weights: sums of the dense layer are exchanged
    batch,      ///< images; gradients are exchanged by copies between the GPUs
    batch_nccl, ///< images; gradients are summed by NCCL
};
BOOST_DESCRIBE_ENUM(DeviceSplit, one, rows, parameters, batch, batch_nccl)

/// GPUs of a step: kernels are made for no more. Of the split batch_nccl: most_ranks.
constexpr int most_split_devices = 8;

/// Bytes of the GPU's memory that a call takes.
struct MemoryUse {
    std::int64_t parameters_bytes = 0;
    std::int64_t images_bytes = 0;      ///< inputs and results
    std::int64_t activations_bytes = 0; ///< tensors between launches (arena_of)
    std::int64_t workspace_bytes = 0;   ///< of convolutions
    CONVCAST_MEMBERS(MemoryUse, parameters_bytes, images_bytes, activations_bytes, workspace_bytes)

    std::int64_t all_bytes() const {
        return parameters_bytes + images_bytes + activations_bytes + workspace_bytes;
    }
};

/// One of four things. With `id`: a network by that implementation of its ladder, of several GPUs each with
/// its share of the images. With `split`: a step of training on GPUs. With `training`: all steps of one. With
/// none of these: the whole network by the launches of a schedule.
struct NetworkCase {
    std::optional<std::string> id, title; ///< of an implementation: "constant", and what it does
    std::optional<DeviceSplit> split;
    int devices = 1;                  ///< of all hosts together
    std::optional<int> hosts;         ///< that have as many of them each; absent: one
    std::int64_t batch = 1;           ///< images of a call, all GPUs together
    std::vector<std::int64_t> shares; ///< by GPU, its images, or with splits_rows its rows of pooling windows
    Status status = Status::not_run;
    std::optional<std::string> reason;
    std::optional<NetworkTimes> forecast, measured;
    std::optional<Seconds> published_s; ///< for the document's `published_images`
    std::optional<std::int64_t> nodes;  ///< kernels of a call; of a schedule with copies to constant memory
    /// Relative L2 errors: of the outputs and the gradient against double, or of a split against one GPU
    /// after a first step, of its parameters after some.
    std::optional<double> output_error, gradient_error, parameter_error;

    // By a schedule: equations N1 to N4, N8 and N9 of docs/equations.md.
    std::optional<Seconds> light_s; ///< N4: everything in one launch, every byte that must move once
    std::optional<double> fmas;
    std::optional<double> flops; ///< of all launches; with the two below absent in older recordings
    std::optional<MemoryUse> memory;
    std::optional<Seconds> gaps_s; ///< the part of the launches' times that lies between launches
    std::optional<Seconds> convolutions_s, dense_s,
        others_s; ///< forecast times of the launches, summed by kind
    std::optional<Seconds>
        chosen_s; ///< if a schedule was given: the time of the schedule that the forecast chooses
    std::vector<NetworkLaunch> launches;
    std::vector<ChangedNetwork> what_if;
    std::optional<TracedTimes> traced;
    std::optional<std::string> weights;       ///< where its parameters are from
    std::optional<std::int64_t> device_bytes; ///< tensors, parameters, workspaces

    std::vector<KernelForecast> kernels_forecast; ///< by line of the implementation; empty without a forecast
    /// Times of kernels with a warm L2; empty without activity records. Of one GPU a time for each line of
    /// the implementation, then its copies: in the graph, or launch by launch if it has several streams. Of
    /// several GPUs, steps too, kernels and copies by GPU and begin, issued on streams.
    std::vector<KernelTime> kernels;

    std::optional<std::string> issued; ///< how the measured steps reached the GPUs
    std::optional<Training> training;
    std::optional<double> accuracy; ///< share of the test images classified right
    /// How many images are classified differently: by a training's GPU and by the CPU in double, or by this
    /// implementation and by the one that has the accuracy.
    std::optional<std::int64_t> disagreements;
    CONVCAST_MEMBERS(NetworkCase, id, title, split, devices, hosts, batch, shares, status, reason, forecast,
                     measured, published_s, nodes, output_error, gradient_error, parameter_error, light_s,
                     fmas, flops, memory, gaps_s, convolutions_s, dense_s, others_s, chosen_s, launches,
                     what_if, traced, weights, device_bytes, kernels_forecast, kernels, issued, training,
                     accuracy, disagreements)

    static constexpr bool has_default(std::string_view field) { return field == "devices"; }
    static constexpr std::optional<Range> range_of(std::string_view field) {
        if (field.ends_with("_error"))
            return result_error;
        if (field == "light_s" || field == "chosen_s" || field == "published_s")
            return time_above_zero;
        if (field == "devices" || field == "hosts")
            return Range{1.0, most_ranks};
        if (field == "accuracy")
            return Range{0.0, 1.0};
        return field == "batch" || field == "nodes" ? std::optional(count_above_zero) : std::nullopt;
    }
    /// That right results are near the reference, and a whole network has a forecast with its sums.
    void check(const FieldProblem &problem) const;

    bool is_whole() const { return !id && !split && !training; }
    bool ran() const { return status != Status::not_run && status != Status::infeasible; }
    std::optional<Seconds> forecast_s() const { return forecast ? forecast->call_s() : std::nullopt; }
    /// The measured time of a call that is not traced, or else of a traced one; absent if there is neither.
    std::optional<Seconds> measured_s() const;
    /// For people: "constant", "batch over 2 GPUs, 2048 images"; without id and split "the network".
    std::string name() const;
};

/// How fast copies between the GPUs of a host are, and where that is from.
struct PeerNumbers {
    Bandwidth bandwidth_bytes_per_s; ///< one way while as much goes the other way
    Seconds latency_s;
    Source source = Source::measured;
    std::string by;
    CONVCAST_MEMBERS(PeerNumbers, bandwidth_bytes_per_s, latency_s, source, by)

    static constexpr Range range_of(std::string_view field) {
        return field == "latency_s" ? Range{0.0, 1.0} : Range{1.0, 1e18};
    }
};

/// How fast the network between hosts is taken to be, as ranges.
struct HostLink {
    Bandwidth least_bytes_per_s, most_bytes_per_s; ///< of a GPU, one way
    Seconds least_latency_s, most_latency_s;       ///< of a message of a few bytes
    std::string by;
    CONVCAST_MEMBERS(HostLink, least_bytes_per_s, most_bytes_per_s, least_latency_s, most_latency_s, by)

    static constexpr Range range_of(std::string_view field) {
        return field.ends_with("latency_s") ? Range{0.0, 1.0} : Range{1.0, 1e18};
    }
    void check(const FieldProblem &problem) const; ///< in ascending order
};

/// From which batch on a split is worth it, by the forecast. Absent: not up to most_split_batch.
struct ScalingAdvice {
    DeviceSplit split = DeviceSplit::rows;
    int devices = 2;
    std::optional<std::int64_t> pays_from;      ///< images of a step from which it is faster than one GPU
    std::optional<std::int64_t> efficient_from; ///< and from which its efficiency is at least 0.9
    CONVCAST_MEMBERS(ScalingAdvice, split, devices, pays_from, efficient_from)

    static constexpr Range range_of(std::string_view field) {
        return field == "devices" ? Range{1.0, most_split_devices} : count_above_zero;
    }
};

struct NetworkRun {
    std::string schema = "convcast/network_run/3";
    std::string network;
    std::string profile_id, profile_hash; ///< that the forecasts are of; "": there are none
    std::map<std::string, std::string>
        conditions; ///< who made it, with which facts and calibration, where it ran
    std::optional<std::string> published_gpu;
    std::optional<Seconds> published_cpu_s;       ///< one thread, one image
    std::optional<std::int64_t> published_images; ///< that published times are of; absent: one
    std::optional<Seconds> sequential_s;          ///< of an image, one thread of this machine's CPU
    std::vector<int> devices; ///< CUDA ordinals of steps on GPUs; one may stand there several times
    std::optional<PeerNumbers> peers;
    std::optional<HostLink> host_link; ///< where cases are of several hosts
    std::vector<NetworkCase> cases;
    std::vector<ScalingAdvice> advice;
    std::vector<std::string> assumptions;
    CONVCAST_MEMBERS(NetworkRun, schema, network, profile_id, profile_hash, conditions, published_gpu,
                     published_cpu_s, published_images, sequential_s, devices, peers, host_link, cases,
                     advice, assumptions)

    static constexpr bool has_default(std::string_view field) { return field.starts_with("profile_"); }
    static constexpr std::optional<Range> range_of(std::string_view field) {
        return field.ends_with("_s")         ? std::optional(time_above_zero)
               : field == "published_images" ? std::optional(count_above_zero)
                                             : std::nullopt;
    }
    /// That there is a case, each implementation stands once, a network has a ladder if cases take its
    /// kernels, and shares are those that the GPUs have.
    void check(const FieldProblem &problem) const;

    const NetworkCase &first() const { return cases.front(); }
    NetworkCase &first() { return cases.front(); }
    /// The most hosts that a case has.
    int most_hosts() const;
    /// Whether a GPU takes several shares of a step, one after the other: no speed-up.
    bool shares_a_gpu() const { return std::set(devices.begin(), devices.end()).size() < devices.size(); }
    /// Whether the case's measured time says how good its forecast is.
    bool comparable(const NetworkCase &item) const {
        return item.forecast_s() && item.measured_s() && (item.devices == 1 || !shares_a_gpu());
    }
};

/// The exit code: 1 if a case went wrong or did not run, or a training's GPU and CPU disagree; else 0.
int code_of(const NetworkRun &run);

extern template const described::Type &described::type_of<NetworkRun>();

} // namespace convcast
