#include "model/network/forecast.hpp"

#include "model/base/errors.hpp"
#include "model/machine/each_number.hpp"
#include "model/network/forecaster.hpp"
#include "model/network/rung_forecast.hpp"
#include "model/network/whole_run.hpp"
#include "model/time/assumed_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

/// N2: what passes before each launch becomes part of its time. Of launches on several streams none starts
/// before what it waits for has ended.
Seconds add_gaps(std::vector<NetworkLaunch> &launches, const NetworkForecaster &forecaster, bool one_stream) {
    Seconds gaps;
    for (NetworkLaunch &launch : launches) {
        if (launch.kind == LaunchKind::placed)
            continue;
        const Seconds start = &launch == &launches.front() ? forecaster.first_start() : forecaster.gap(),
                      waits(one_stream ? 0.0 : dependent_gap_s * static_cast<double>(*launch.nodes));
        launch.time_s += start;
        launch.time_s += waits;
        gaps += start;
        gaps += waits;
    }
    return gaps;
}

/// N9: when each launch begins and ends. Launches of one stream follow each other; one that reads what
/// another stream writes waits for it; those that run at once share the SMs.
void overlap(PlannedNetwork &plan, const NetworkForecaster &forecaster) {
    struct Stream {
        std::vector<std::size_t> launches;
        std::size_t at = 0; ///< the one that runs or is next
        bool runs = false;
        double left = 0.0, share = 0.0; ///< of the one that runs: seconds while alone, and of the SMs
    };
    const std::vector<std::vector<std::size_t>> waits = waits_of(plan.schedule);
    std::vector<NetworkLaunch> &launches = plan.forecast.first().launches;
    std::vector<Stream> streams(static_cast<std::size_t>(streams_of(plan.schedule)));
    for (std::size_t i = 0; i < launches.size(); ++i)
        streams[static_cast<std::size_t>(plan.schedule[i].stream)].launches.push_back(i);
    const auto may_begin = [&](const Stream &stream) {
        return !stream.runs && stream.at < stream.launches.size() &&
               std::ranges::all_of(waits[stream.launches[stream.at]],
                                   [&](std::size_t other) { return launches[other].ends_s.has_value(); });
    };
    for (double now = 0.0;;) {
        double asked = 0.0, next = std::numeric_limits<double>::infinity();
        for (Stream &stream : streams) {
            if (may_begin(stream)) {
                const std::size_t launch = stream.launches[stream.at];
                launches[launch].begins_s = Seconds(now);
                stream.runs = true;
                stream.left = launches[launch].time_s.value;
                stream.share = forecaster.share_of_sms(plan.schedule[launch]);
            }
            if (stream.runs)
                asked += stream.share, next = std::min(next, stream.left);
        }
        if (asked == 0.0)
            return (void)(plan.forecast.first().forecast.emplace().time_s = Seconds(now));
        now += next * std::max(1.0, asked);
        for (Stream &stream : streams) {
            stream.left -= next;
            if (!stream.runs || stream.left > 0.0)
                continue;
            launches[stream.launches[stream.at++]].ends_s = Seconds(now);
            stream.runs = false;
        }
    }
}

/// What the launches add up to, and the share of each.
void add_up(const std::vector<ScheduledLaunch> &schedule, const NetworkForecaster &forecaster,
            NetworkCase &forecast) {
    Seconds time, convolutions, dense, others;
    double fmas = 0.0, flops = 0.0;
    std::int64_t nodes = 0;
    for (std::size_t i = 0; i < schedule.size(); ++i) {
        const NetworkLaunch &launch = forecast.launches[i];
        flops += *launch.flops;
        fmas += forecaster.fmas_of(schedule[i]);
        nodes += *launch.nodes;
        time += launch.time_s;
        (launch.kind == LaunchKind::convolution ? convolutions
         : launch.shape                         ? dense
                                                : others) += launch.time_s;
    }
    for (NetworkLaunch &launch : forecast.launches)
        launch.share = launch.time_s / time;
    forecast.convolutions_s = convolutions, forecast.dense_s = dense, forecast.others_s = others;
    forecast.fmas = fmas, forecast.flops = flops, forecast.nodes = nodes;
}

/// The launches' times and what they add up to.
PlannedNetwork timed(NetworkForecaster &forecaster, std::vector<ScheduledLaunch> schedule) {
    PlannedNetwork out{forecaster.network(), std::move(schedule), {}};
    NetworkCase &forecast = out.forecast.cases.emplace_back();
    forecast.batch = forecaster.batch();
    const bool one_stream = streams_of(out.schedule) == 1;
    const std::vector<HeldForLaunch> held =
        held_for_launches(out.network, out.schedule, forecast.batch, forecaster.gpu());
    for (std::size_t i = 0; i < out.schedule.size(); ++i) {
        ScheduledLaunch &scheduled = out.schedule[i];
        NetworkLaunch &launch = forecast.launches.emplace_back(forecaster.launch(scheduled, held[i]));
        if (scheduled.writes.columns)
            launch.columns = true;
        if (!one_stream)
            launch.stream = scheduled.stream;
        scheduled.plan.reset();
        if (!launch.candidates.empty()) {
            const NetworkForecaster::Ways &ways = forecaster.ways_of(*scheduled.shape, scheduled.strategy);
            scheduled.strategy = ways.strategy;
            scheduled.plan = ways.plan;
        }
    }
    forecast.gaps_s = add_gaps(forecast.launches, forecaster, one_stream);
    add_up(out.schedule, forecaster, forecast);
    overlap(out, forecaster);
    return out;
}

/// The shapes of the launches with a plan, each once.
std::vector<ConvShape> planned_shapes(const Network &network, std::int64_t batch) {
    std::map<std::string, ConvShape> shapes;
    for (const ScheduledLaunch &launch : schedule_of(network, batch, [](const ConvShape &) { return false; }))
        if (launch.shape && launch.kind != LaunchKind::dense)
            shapes.emplace(launch.shape->id(), *launch.shape);
    std::vector<ConvShape> out;
    for (auto &[id, shape] : shapes)
        out.push_back(shape);
    return out;
}

/// By the forecast's choice. A strategy that can do bias, addition and ReLU where it stores is taken before a
/// faster one that cannot, where the network is faster with it. Without `ended` each of these is a launch of
/// its own.
PlannedNetwork planned(NetworkForecaster &forecaster, bool ended = true) {
    const auto by_choice = [&] {
        return timed(forecaster,
                     schedule_of(forecaster.network(), forecaster.batch(), [&](const ConvShape &shape) {
                         return ended && ends_launch(forecaster.ways_of(shape).plan);
                     }));
    };
    forecaster.prefer_none();
    forecaster.rank_ahead(planned_shapes(forecaster.network(), forecaster.batch()));
    PlannedNetwork best = by_choice();
    std::map<std::string, ConvShape> shapes; // that could take one
    if (ended)
        for (const ScheduledLaunch &launch : best.schedule)
            if (launch.shape && launch.kind != LaunchKind::dense && forecaster.could_end(*launch.shape))
                shapes.emplace(launch.shape->id(), *launch.shape);
    for (const auto &[id, shape] : shapes) {
        forecaster.prefer_ending(shape, true);
        PlannedNetwork other = by_choice();
        if (other.time() < best.time())
            best = std::move(other);
        else
            forecaster.prefer_ending(shape, false);
    }
    return best;
}

/// As a schedule says it.
std::vector<ScheduledLaunch> as_given(NetworkForecaster &forecaster, const ScheduleReading &reading) {
    return launches_of(reading, forecaster.network(),
                       [&](const std::optional<Strategy> &strategy,
                           const ConvShape &shape) -> std::variant<bool, std::string> {
                           const auto &ways = forecaster.ways_or_why(shape, strategy);
                           if (const auto *why = std::get_if<std::string>(&ways))
                               return *why;
                           return ends_launch(std::get<NetworkForecaster::Ways>(ways).plan);
                       });
}

/// I3, of the launches as they are planned, one after another; streams are taken to change as much. Absent
/// where a plan cannot be timed on the GPU that is assumed.
std::optional<TimeRange> range_of(const PlannedNetwork &plan, const GpuProfile &profile,
                                  const Knowledge &knowledge, const NetworkQuestion &question) {
    const auto time_on = [&](const GpuProfile &other) {
        NetworkForecaster forecaster(plan.network, other, knowledge, question);
        forecaster.leave_ties();
        return timed(forecaster, plan.schedule).time();
    };
    const std::optional<TimeRange> range = range_of_assumed(profile, time_on);
    if (!range)
        return std::nullopt;
    const Seconds own = time_on(profile), all = plan.time();
    return TimeRange{all * (range->low / own), all * (range->high / own)};
}

/// A change of the GPU: numbers of its profile, each times a factor.
struct Change {
    const char *what; ///< of a launch, in a word of the name
    const char *name;
    std::map<std::string, double> factors;
};

const std::vector<Change> changes = {
    {"SMs",
     "twice the SMs, L2 and DRAM as they are",
     {{"sm_count", 2.0}, {"clusters_of_4_sms", 2.0}, {"clusters_of_8_sms", 2.0}}},
    {"L2",
     "L2 of twice the bandwidth and half the latency",
     {{"l2_read_bandwidth", 2.0}, {"l2_write_bandwidth", 2.0}, {"l2_latency", 0.5}}},
    {"DRAM", "DRAM of twice the bandwidth", {{"dram_read_bandwidth", 2.0}, {"dram_write_bandwidth", 2.0}}},
    {"launches",
     "launches in half the time",
     {{"launch_floor", 0.5},
      {"launch_gap", 0.5},
      {"graph_launch_period", 0.5},
      {"early_launch_period", 0.5}}}};

GpuProfile changed(GpuProfile profile, const Change &change) {
    const auto factor = [&](const char *name) {
        const auto found = change.factors.find(name);
        return found == change.factors.end() ? 1.0 : found->second;
    };
    profile.limits.sm_count *= static_cast<int>(factor("sm_count"));
    for_each_param(profile, [&](const char *name, auto &number) {
        if (number)
            number->value = number->value * factor(name);
    });
    return profile;
}

/// Keeps for each launch the change that shortens it most.
void note_help(NetworkCase &forecast, const char *what, const NetworkCase &changed) {
    for (std::size_t i = 0; i < forecast.launches.size(); ++i) {
        NetworkLaunch &launch = forecast.launches[i];
        const Seconds time = changed.launches[i].time_s;
        if (time < launch.helps.value_or(ChangedNetwork{"", launch.time_s}).time_s)
            launch.helps = ChangedNetwork{what, time};
    }
}

/// What a forecast takes for granted.
std::vector<std::string> assumptions_of(const PlannedNetwork &plan, const GpuProfile &profile,
                                        const Knowledge &knowledge) {
    std::vector<std::string> all = {
        "filters are prepared once, and the network runs again and again: L2 has what of its tensors and "
        "parameters has passed it last"};
    if (std::ranges::any_of(plan.schedule,
                            [](const auto &launch) { return launch.kind == LaunchKind::dense; }))
        all.emplace_back(
            "dense layers of fewer than 8 images at the speed of light, beside the start of their CTAs");
    if (!profile.graph_launch_period)
        all.emplace_back("launches of a graph as far apart as those of a stream: the profile has no "
                         "graph_launch_period");
    if (streams_of(plan.schedule) > 1)
        all.emplace_back(
            "launches of several streams run at once and share the SMs by their CTAs, and none starts early; "
            "measured on one network only");
    all.insert(all.end(), knowledge.assumptions.begin(), knowledge.assumptions.end());
    return all;
}

/// What changes of the GPU would do: by the forecast's choice anew or, of a schedule that was given, with it;
/// and to each of these launches.
void add_what_if(PlannedNetwork &plan, const std::vector<ScheduledLaunch> &launches, NetworkQuestion question,
                 const GpuProfile &profile, const Knowledge &knowledge, const NetworkForecaster &unchanged) {
    NetworkCase &out = plan.forecast.first();
    question.top = 1;
    for (const Change &change : changes) {
        // Other SMs want other tiles, so all settings are asked again.
        const bool same_sms = !change.factors.contains("sm_count");
        NetworkForecaster forecaster(plan.network, changed(profile, change), knowledge, question,
                                     same_sms ? &unchanged : nullptr);
        if (!question.schedule)
            out.what_if.push_back({change.name, planned(forecaster).time()});
        try {
            const PlannedNetwork same = timed(forecaster, launches);
            if (question.schedule)
                out.what_if.push_back({change.name, same.time()});
            note_help(out, change.what, same.forecast.first());
        } catch (const UsageError &) { // a strategy of the schedule does not run on the GPU as changed
        }
    }
}

} // namespace

PlannedNetwork plan_network(const Network &network, const GpuProfile &profile, const Knowledge &knowledge,
                            const NetworkQuestion &question) {
    NetworkForecaster forecaster(network, profile, knowledge, question);
    std::optional<std::vector<ScheduledLaunch>> given;
    if (question.schedule)
        given = as_given(forecaster, *question.schedule);
    PlannedNetwork plan = given ? timed(forecaster, *given) : planned(forecaster);
    NetworkRun &run = plan.forecast;
    NetworkCase &out = run.first();
    run.network = network.id;
    run.profile_id = profile.id;
    run.profile_hash = profile_hash(profile);
    run.assumptions = assumptions_of(plan, profile, knowledge);
    out.light_s = forecaster.light_of(*out.fmas);
    out.memory = memory_of(plan);
    out.reason = why_beyond_memory(plan, profile);
    if (const auto range = range_of(plan, profile, knowledge, question))
        out.forecast->low_s = range->low, out.forecast->high_s = range->high;
    if (given)
        out.chosen_s = planned(forecaster).time();
    if (question.what_if)
        add_what_if(plan, given.value_or(plan.schedule), question, profile, knowledge, forecaster);
    if (question.what_if && !given)
        out.what_if.push_back(
            {"bias, relu and add in launches of their own", planned(forecaster, false).time()});
    return plan;
}

Schedule schedule_of(const PlannedNetwork &plan) {
    Schedule schedule = described_schedule(plan.network, plan.batch(), plan.schedule);
    for (std::size_t i = 0; i < schedule.lines.size(); ++i)
        schedule.lines[i].note =
            fmt::format("{:.3g} us", 1e6 * plan.forecast.first().launches[i].time_s.value);
    return schedule;
}

} // namespace convcast
