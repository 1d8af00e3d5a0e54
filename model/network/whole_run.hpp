// What running a whole network gives: is it right, how long does it take, and what did the forecast say of
// each launch.
#pragma once

#include "model/base/checked.hpp"
#include "model/network/forecast.hpp"
#include "model/network/reference.hpp"
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

/// When something ran on the device, in nanoseconds of one clock.
struct NodeSpan {
    std::uint64_t start_ns = 0, end_ns = 0;
};

/// When a launch began and ended, from the start of the first; `time_s` from when it could have begun, which
/// is the end of the launch before it in its stream, or of the last that it waits for.
struct LaunchSpan {
    Seconds begins_s, ends_s, time_s;
};
/// Of each launch, from what the nodes of the schedule did, in the order in which they were launched. Empty
/// where there are not as many as the launches have.
std::vector<LaunchSpan> launch_spans(const PlannedNetwork &plan, const std::vector<NodeSpan> &nodes);

struct WholeLaunch {
    LaunchKind kind = LaunchKind::elementwise;
    std::vector<std::string> operators;
    std::optional<std::string> shape, strategy;
    Seconds forecast_s;               ///< with the gap before it, as is the time
    std::optional<TimeSpread> time_s; ///< in the graph; from the end of the launch before to its own end
    double share = 0.0;               ///< of the measured times
    std::optional<double> l2_error; ///< of its output against double, relative, of the first and last images
    std::optional<std::int64_t> stream;                        ///< absent: 0
    std::optional<Seconds> forecast_begins_s, forecast_ends_s; ///< from the start of the call
    std::optional<Seconds> begins_s, ends_s; ///< measured, medians; absent in runs before they were kept
    BOOST_DESCRIBE_CLASS(WholeLaunch, (),
                         (kind, operators, shape, strategy, forecast_s, time_s, share, l2_error, stream,
                          forecast_begins_s, forecast_ends_s, begins_s, ends_s),
                         (), ())

    static constexpr std::optional<Range> range_of(std::string_view field) {
        if (field == "forecast_s")
            return time_above_zero;
        if (field == "share")
            return Range{0.0, 1.0};
        if (field == "stream")
            return Range{0.0, static_cast<double>(most_streams - 1)};
        return field == "l2_error" ? std::optional(result_error) : std::nullopt;
    }
    void check(const FieldProblem &problem) const; ///< ends behind what begins
};

struct WholeRun {
    std::string schema = "convcast/network_run/1";
    std::string network;
    std::int64_t batch = 1;
    std::string profile_id, profile_hash; ///< of the forecast
    std::map<std::string, std::string> conditions;
    std::string weights; ///< where they are from
    Status status = Status::not_run;
    std::optional<std::string> reason;
    double l2_error = 0.0; ///< of the outputs of all images against double, relative
    Seconds forecast_s, light_s;
    std::int64_t nodes = 0;        ///< of the graph
    std::int64_t device_bytes = 0; ///< tensors, parameters, workspaces
    std::optional<TimeSpread> graph_s, graph_cold_s,
        stream_s;                         ///< of one call; L2 warm except where it says cold
    std::optional<TimeSpread> replayed_s; ///< a graph in a row of replays, by events: what a server sees
    std::vector<WholeLaunch> launches;
    std::vector<std::string> assumptions;
    BOOST_DESCRIBE_CLASS(WholeRun, (),
                         (schema, network, batch, profile_id, profile_hash, conditions, weights, status,
                          reason, l2_error, forecast_s, light_s, nodes, device_bytes, graph_s, graph_cold_s,
                          stream_s, replayed_s, launches, assumptions),
                         (), ())

    static constexpr std::optional<Range> range_of(std::string_view field) {
        if (field == "forecast_s" || field == "light_s")
            return time_above_zero;
        if (field == "batch" || field == "nodes")
            return count_above_zero;
        return field == "l2_error" ? std::optional(result_error) : std::nullopt;
    }
    void check(const FieldProblem &problem) const; ///< what is right is near the reference
};

/// Why no kernel runs this network, a sentence; absent if one does.
std::optional<std::string> why_not_whole(const Network &network);

/// Device memory that a plan takes: images, tensors, parameters and the workspaces of convolutions.
std::int64_t whole_bytes(const PlannedNetwork &plan);

/// Why a GPU with so many bytes free, of all that it has, cannot run a plan, a sentence; absent if it can.
std::optional<std::string> why_too_large(const PlannedNetwork &plan, const std::string &gpu,
                                         double free_bytes, double all_bytes);

/// The run before anything was measured.
WholeRun begun_run(const PlannedNetwork &plan);

/// Parameters of a seed for a network of ReLUs: those of seeded_parameters, filters and weights larger by
/// sqrt(2), so that activations keep their size through the layers (He et al., 2015).
Parameters relu_parameters(const Network &network, std::uint64_t seed);

extern template const described::Type &described::type_of<WholeRun>();

} // namespace convcast
