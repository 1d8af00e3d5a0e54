// The forecast of a network as one CUDA graph: each launch with its time, what they add up to, and what a
// change of the GPU would change. Convolutions are forecast as `choose` does it, the rest by its bytes.
// Equations N1 to N4, N8 and N9 of docs/equations.md.
#pragma once

#include "model/base/checked.hpp"
#include "model/machine/knowledge.hpp"
#include "model/machine/profile.hpp"
#include "model/network/schedule_text.hpp"

#include <boost/describe.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// One way of a convolution, with its filters prepared.
struct NetworkCandidate {
    std::string strategy;
    Seconds time_s;
    BOOST_DESCRIBE_CLASS(NetworkCandidate, (), (strategy, time_s), (), ())

    static constexpr Range range_of(std::string_view) { return time_above_zero; }
};

/// A launch of the schedule with its time.
struct NetworkLaunch {
    LaunchKind kind = LaunchKind::elementwise;
    std::vector<std::string>
        operators;                    ///< that it computes, in order; of a turn the one whose output it turns
    std::optional<std::string> shape; ///< of a convolution or a dense layer
    std::vector<NetworkCandidate> candidates; ///< of a convolution, best first; the first is what runs
    std::int64_t nodes = 1;                   ///< of the graph: kernels and copies to constant memory
    Seconds time_s;                           ///< with the gap before it
    std::optional<Seconds> light_s;           ///< of a convolution or dense layer: S1
    double share = 0.0;                       ///< of the times of all launches
    std::optional<bool> columns;              ///< its output lies in columns, images side by side; absent: no
    std::optional<std::int64_t> stream;       ///< absent: 0
    std::optional<Seconds> begins_s, ends_s;  ///< from the start of the network, with the gap before it
    BOOST_DESCRIBE_CLASS(NetworkLaunch, (),
                         (kind, operators, shape, candidates, nodes, time_s, light_s, share, columns, stream,
                          begins_s, ends_s),
                         (), ())

    static constexpr std::optional<Range> range_of(std::string_view field) {
        if (field == "time_s" || field == "light_s")
            return time_above_zero;
        if (field == "nodes")
            return count_above_zero;
        if (field == "share")
            return Range{0.0, 1.0};
        return field == "stream" ? std::optional(Range{0.0, static_cast<double>(most_streams - 1)})
                                 : std::nullopt;
    }
    void check(const FieldProblem &problem) const; ///< ends behind what begins
};

/// The same network after a change, strategies chosen anew.
struct ChangedNetwork {
    std::string change; ///< "twice the SMs"
    Seconds time_s;
    BOOST_DESCRIBE_CLASS(ChangedNetwork, (), (change, time_s), (), ())

    static constexpr Range range_of(std::string_view) { return time_above_zero; }
};

struct NetworkForecast {
    std::string schema = "convcast/network_forecast/1";
    std::string network;
    std::int64_t batch = 1;
    std::string profile_id, profile_hash;
    std::map<std::string, std::string> conditions; ///< who made it, with which facts and calibration
    Seconds time_s;
    Seconds light_s; ///< N4: everything in one launch, every byte that must move once
    double fmas = 0.0;
    Seconds convolutions_s, dense_s, others_s; ///< what `time_s` consists of, on one stream
    std::int64_t nodes = 0;
    std::vector<NetworkLaunch> launches;
    std::vector<ChangedNetwork> what_if;
    std::vector<std::string> assumptions;
    std::optional<Seconds> chosen_s; ///< of a schedule that was given: what the forecast's own would take
    /// I3: of these launches, as the profile's assumed numbers lie in their ranges. Absent where it has none.
    std::optional<Seconds> low_s, high_s;
    BOOST_DESCRIBE_CLASS(NetworkForecast, (),
                         (schema, network, batch, profile_id, profile_hash, conditions, time_s, light_s, fmas,
                          convolutions_s, dense_s, others_s, nodes, launches, what_if, assumptions, chosen_s,
                          low_s, high_s),
                         (), ())

    static constexpr std::optional<Range> range_of(std::string_view field) {
        for (const char *time : {"time_s", "light_s", "chosen_s", "low_s", "high_s"})
            if (field == time)
                return time_above_zero;
        return field == "batch" || field == "nodes" ? std::optional(count_above_zero) : std::nullopt;
    }
    void check(const FieldProblem &problem) const; ///< low_s up to high_s
};

/// N8: forecasts of a convolution that are no further apart tie; nine of ten are that good.
inline constexpr double network_tie = 1.15;

struct NetworkQuestion {
    std::int64_t batch = 1;
    std::vector<std::string> strategies; ///< names that convolutions may use; empty: all without tensor cores
    std::size_t top = 1;                 ///< candidates that a convolution keeps
    bool what_if = true;
    std::optional<ScheduleReading> schedule; ///< given: forecast as it stands; its batch is the question's
};

/// Deterministic to the byte. Throws UsageError if a convolution has no strategy that does it, InputError
/// with all that is wrong with a schedule. The profile has what missing_for_forecast asks for.
NetworkForecast forecast_network(const Network &network, const GpuProfile &profile,
                                 const Knowledge &knowledge, const NetworkQuestion &question);

/// What the executor runs: the forecast's launches, and of each convolution the plan of its first candidate.
struct PlannedNetwork {
    Network network;
    std::vector<ScheduledLaunch> schedule;
    std::vector<std::optional<Plan>> plans; ///< with what prepares filters
    NetworkForecast forecast;
};
PlannedNetwork plan_network(const Network &network, const GpuProfile &profile, const Knowledge &knowledge,
                            const NetworkQuestion &question);

/// The plan's launches as text, each with its forecast time as a comment.
Schedule schedule_of(const PlannedNetwork &plan);

extern template const described::Type &described::type_of<NetworkForecast>();

} // namespace convcast
