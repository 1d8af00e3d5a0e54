// The document of a network as one CUDA graph: each launch with its forecast and, where the network ran, its
// measured time; what they add up to, and what a change of the GPU would change.
#pragma once

#include "model/base/checked.hpp"
#include "model/network/schedule_text.hpp"
#include "model/record/run.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// Samples of one quantity.
struct TimeSpread {
    Seconds median_s, p05_s, p95_s;
    std::int64_t samples = 0;
    BOOST_DESCRIBE_CLASS(TimeSpread, (), (median_s, p05_s, p95_s, samples), (), ())

    static constexpr Range range_of(std::string_view field) {
        return field == "samples" ? count_above_zero : time_above_zero;
    }
    void check(const FieldProblem &problem) const; ///< in ascending order
};
/// By linear interpolation between samples; `samples` is not empty.
TimeSpread time_spread(std::vector<double> samples);

/// One way to compute a convolution, with its filters prepared.
struct NetworkCandidate {
    std::string strategy;
    Seconds time_s;
    BOOST_DESCRIBE_CLASS(NetworkCandidate, (), (strategy, time_s), (), ())

    static constexpr Range range_of(std::string_view) { return time_above_zero; }
};

/// When a launch ran in calls of the whole network.
struct LaunchMeasurement {
    TimeSpread time_s;  ///< from the end of what the launch waits for to its own end
    double share = 0.0; ///< of the measured times of all launches
    std::optional<Seconds> begins_s,
        ends_s; ///< medians from the start of the call; absent in older recordings
    BOOST_DESCRIBE_CLASS(LaunchMeasurement, (), (time_s, share, begins_s, ends_s), (), ())

    static constexpr std::optional<Range> range_of(std::string_view field) {
        return field == "share" ? std::optional(Range{0.0, 1.0}) : std::nullopt;
    }
    void check(const FieldProblem &problem) const; ///< ends behind what begins
};

/// The same network or launch after a change of the GPU.
struct ChangedNetwork {
    std::string change; ///< "twice the SMs"
    Seconds time_s;
    BOOST_DESCRIBE_CLASS(ChangedNetwork, (), (change, time_s), (), ())

    static constexpr Range range_of(std::string_view) { return time_above_zero; }
};

/// A launch of the schedule. Its own times are the forecast.
struct NetworkLaunch {
    LaunchKind kind = LaunchKind::elementwise;
    std::vector<std::string>
        operators;                    ///< that it computes, in order; of a turn the one whose output it turns
    std::optional<std::string> shape; ///< of a convolution or a dense layer
    std::vector<NetworkCandidate> candidates; ///< of a convolution, best first; the first is what runs
    std::optional<std::int64_t>
        nodes;      ///< of the graph: kernels and copies to constant memory; absent in older recordings
    Seconds time_s; ///< with the gap before it
    /// The speed of light: S1 of a convolution or dense layer, of another launch its bytes and products
    /// alone; absent in older recordings
    std::optional<Seconds> light_s;
    std::optional<double> flops; ///< floating-point operations; with the rest absent in older recordings
    std::optional<std::int64_t> parameters;  ///< numbers
    std::optional<double> bytes;             ///< read and written, each once
    std::optional<ChangedNetwork> helps;     ///< the change of the GPU that shortens the launch most
    double share = 0.0;                      ///< of the times of all launches
    std::optional<bool> columns;             ///< its output lies in columns, images side by side; absent: no
    std::optional<std::int64_t> stream;      ///< absent: 0
    std::optional<Seconds> begins_s, ends_s; ///< from the start of the network, with the gap before it
    std::optional<double> l2_error; ///< of its output against double, relative, first and last images
    std::optional<LaunchMeasurement> measured;
    BOOST_DESCRIBE_CLASS(NetworkLaunch, (),
                         (kind, operators, shape, candidates, nodes, time_s, light_s, flops, parameters,
                          bytes, helps, share, columns, stream, begins_s, ends_s, l2_error, measured),
                         (), ())

    static constexpr std::optional<Range> range_of(std::string_view field) {
        if (field == "time_s" || field == "light_s")
            return time_above_zero;
        if (field == "nodes")
            return count_above_zero;
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
    /// "conv1+bias1+relu1", as a schedule has it; "pool5 to columns"
    std::string name() const;
    /// The same for people: what the first has in its name is left out of the others',
    /// "/layer1/conv1/Conv+.bias+relu/Relu".
    std::string label() const;
};

/// What running the whole network gave. Times are of one call; L2 warm except where it says cold.
struct NetworkMeasurement {
    Status status = Status::not_run;
    std::optional<std::string> reason;
    std::string weights;                  ///< where they are from
    double l2_error = 0.0;                ///< of the outputs of all images against double, relative
    std::int64_t device_bytes = 0;        ///< tensors, parameters, workspaces
    std::optional<TimeSpread> replayed_s; ///< a graph in a row of replays, by events: what a server sees
    std::optional<TimeSpread> graph_s, graph_cold_s, stream_s; ///< while kernels are traced
    BOOST_DESCRIBE_CLASS(NetworkMeasurement, (),
                         (status, reason, weights, l2_error, device_bytes, replayed_s, graph_s, graph_cold_s,
                          stream_s),
                         (), ())

    static constexpr std::optional<Range> range_of(std::string_view field) {
        return field == "l2_error" ? std::optional(result_error) : std::nullopt;
    }
    void check(const FieldProblem &problem) const; ///< what is right is near the reference

    /// Of a call that nothing traces, or else of a traced one; nullptr where no call was timed.
    const TimeSpread *call_s() const { return replayed_s ? &*replayed_s : graph_s ? &*graph_s : nullptr; }
};

/// Bytes of the GPU's memory that a call takes.
struct MemoryUse {
    std::int64_t parameters_bytes = 0;
    std::int64_t images_bytes = 0;      ///< inputs and results
    std::int64_t activations_bytes = 0; ///< tensors between launches: on one stream they share memory by
                                        ///< lifetime
    std::int64_t workspace_bytes = 0;   ///< of convolutions
    BOOST_DESCRIBE_CLASS(MemoryUse, (), (parameters_bytes, images_bytes, activations_bytes, workspace_bytes),
                         (), ())

    std::int64_t all_bytes() const {
        return parameters_bytes + images_bytes + activations_bytes + workspace_bytes;
    }
};

/// Its own times are the forecast: equations N1 to N4, N8 and N9 of docs/equations.md.
struct NetworkRun {
    std::string schema = "convcast/network_run/2";
    std::string network;
    std::int64_t batch = 1;
    std::string profile_id, profile_hash; ///< that the forecast is of
    std::map<std::string, std::string>
        conditions; ///< who made it, with which facts and calibration, where it ran
    Seconds time_s;
    Seconds light_s; ///< N4: everything in one launch, every byte that must move once
    double fmas = 0.0;
    std::optional<double> flops; ///< of all launches; with the two below absent in older recordings
    std::optional<MemoryUse> memory;
    std::optional<Seconds> gaps_s; ///< of the launches' times, what passes between one and the next
    Seconds convolutions_s, dense_s, others_s; ///< what `time_s` consists of, on one stream
    std::int64_t nodes = 0;
    std::vector<NetworkLaunch> launches;
    std::vector<ChangedNetwork> what_if;
    std::vector<std::string> assumptions;
    std::optional<Seconds> chosen_s; ///< of a schedule that was given: what the forecast's own would take
    /// I3: of these launches, as the profile's assumed numbers lie in their ranges. Absent where it has none.
    std::optional<Seconds> low_s, high_s;
    std::optional<NetworkMeasurement> measured; ///< absent where nothing ran
    BOOST_DESCRIBE_CLASS(NetworkRun, (),
                         (schema, network, batch, profile_id, profile_hash, conditions, time_s, light_s, fmas,
                          flops, memory, gaps_s, convolutions_s, dense_s, others_s, nodes, launches, what_if,
                          assumptions, chosen_s, low_s, high_s, measured),
                         (), ())

    static constexpr std::optional<Range> range_of(std::string_view field) {
        for (const char *time : {"time_s", "light_s", "chosen_s", "low_s", "high_s"})
            if (field == time)
                return time_above_zero;
        return field == "batch" || field == "nodes" ? std::optional(count_above_zero) : std::nullopt;
    }
    void check(const FieldProblem &problem) const; ///< low_s up to high_s

    /// Of a call that was timed: see NetworkMeasurement::call_s.
    const TimeSpread *measured_s() const { return measured ? measured->call_s() : nullptr; }
};

extern template const described::Type &described::type_of<NetworkRun>();

} // namespace convcast
