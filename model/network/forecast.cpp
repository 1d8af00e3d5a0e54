#include "model/network/forecast.hpp"

#include "model/base/errors.hpp"
#include "model/base/readable.hpp"
#include "model/machine/each_number.hpp"
#include "model/machine/gpu_memory.hpp"
#include "model/network/forecaster.hpp"
#include "model/time/assumed_range.hpp"

#include <boost/describe/enum_to_string.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

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

/// Whether convolutions do bias, addition and functions before they store, or launches of their own do.
enum class EndsBy { convolutions, own_launches };

/// The schedule and strategies that the forecast chooses. A strategy that can do the end of a launch is taken
/// before a faster one that cannot if the network is faster with it; shapes are tried one after another.
PlannedNetwork planned(NetworkForecaster &forecaster, EndsBy ends_by = EndsBy::convolutions) {
    const bool ended = ends_by == EndsBy::convolutions;
    const auto by_choice = [&] {
        return forecaster.timed(
            schedule_of(forecaster.network(), forecaster.batch(), [&](const ConvShape &shape) {
                return ended && ends_launch(forecaster.ways_of(shape).plan);
            }));
    };
    forecaster.prefer_none();
    forecaster.rank_ahead(planned_shapes(forecaster.network(), forecaster.batch()));
    PlannedNetwork best = by_choice();
    std::map<std::string, ConvShape> shapes; // whose fastest strategy cannot do ends, and another can
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

/// The launches of a schedule that was given. Throws InputError with all that is wrong with it.
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

/// I3: the time of the schedule, with the strategies that it has, where the profile's assumed numbers are at
/// the ends of their ranges. Absent where it assumes none, or a plan cannot be timed on such a GPU. Settings
/// that tie have no mean here, so the range is scaled by what the profile itself gives this way.
std::optional<TimeRange> range_of(const PlannedNetwork &plan, const GpuProfile &profile,
                                  const Knowledge &knowledge, const NetworkQuestion &question) {
    const auto time_on = [&](const GpuProfile &other) {
        NetworkForecaster forecaster(plan.network, other, knowledge, question);
        forecaster.leave_ties();
        return forecaster.timed(plan.schedule).time();
    };
    const std::optional<TimeRange> range = range_of_assumed(profile, time_on);
    if (!range)
        return std::nullopt;
    const Seconds own = time_on(profile), all = plan.time();
    return TimeRange{all * (range->low / own), all * (range->high / own)};
}

/// A change of the GPU for the question "what if".
struct Change {
    const char *what; ///< what was changed, a word for the table of launches
    const char *name;
    std::map<std::string, double> factors; ///< by name of a number of the profile: what it is multiplied by
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

/// Sets `helps` of each launch that is shorter in `changed`, if no change so far shortens it more.
void note_help(NetworkCase &forecast, const char *what, const NetworkCase &changed) {
    for (std::size_t i = 0; i < forecast.launches.size(); ++i) {
        NetworkLaunch &launch = forecast.launches[i];
        const Seconds time = changed.launches[i].time_s;
        if (time < launch.helps.value_or(ChangedNetwork{"", launch.time_s}).time_s)
            launch.helps = ChangedNetwork{what, time};
    }
}

/// Why the GPU of the profile has no room for a plan, a sentence with the launch that takes most of it;
/// absent if it has, or if nobody knows how much it has.
std::optional<std::string> why_beyond_memory(const PlannedNetwork &plan, const GpuProfile &profile) {
    const MemoryUse memory = memory_of(plan);
    const auto has = memory_bytes_of(profile.name);
    if (!has || memory.all_bytes() <= *has)
        return std::nullopt;
    const std::int64_t batch = plan.batch();
    std::int64_t most = 0, largest_output = 0, largest_workspace = 0;
    std::string largest;
    for (std::size_t i = 0; i < plan.schedule.size(); ++i) {
        const ScheduledLaunch &launch = plan.schedule[i];
        const auto output = static_cast<std::int64_t>(tensor_bytes(plan.network, launch.writes, batch));
        const std::int64_t workspace = launch.plan ? launch.plan->workspace_bytes : 0;
        if (output + workspace > most) {
            most = output + workspace, largest_output = output, largest_workspace = workspace;
            largest = plan.forecast.first().launches[i].label();
        }
    }
    const auto text = [](std::int64_t bytes) { return short_bytes(static_cast<double>(bytes)); };
    // What a call holds beside its parameters is taken to grow in proportion to the images.
    const std::int64_t room = *has - memory.parameters_bytes,
                       an_image = (memory.all_bytes() - memory.parameters_bytes) / batch,
                       fit = std::min(batch - 1, room / std::max<std::int64_t>(an_image, 1));
    std::string reason = fmt::format(
        "it does not fit: {} with batch {} holds {}, {} has {}; most takes {}, {} of output and {} of "
        "workspace",
        plan.network.id, batch, text(memory.all_bytes()), profile.name, text(*has), largest,
        text(largest_output), text(largest_workspace));
    return reason + (fit >= 1 ? fmt::format(". About --batch {} fits", fit)
                              : ". A GPU of more memory or a smaller network is needed");
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

/// Adds what changes of the GPU would do to the network, by a new choice of the forecast or the schedule that
/// was given, and to each of these launches. `unchanged` has the forecasts of the GPU as it is.
void add_what_if(PlannedNetwork &plan, const std::vector<ScheduledLaunch> &launches, NetworkQuestion question,
                 const GpuProfile &profile, const Knowledge &knowledge, const NetworkForecaster &unchanged) {
    NetworkCase &out = plan.forecast.first();
    question.top = 1;
    for (const Change &change : changes) {
        // Another number of SMs may bring any setting to the front, so all are asked again.
        const bool same_sms = !change.factors.contains("sm_count");
        NetworkForecaster forecaster(plan.network, changed(profile, change), knowledge, question,
                                     same_sms ? &unchanged : nullptr);
        if (!question.schedule)
            out.what_if.push_back({change.name, planned(forecaster).time()});
        try {
            const PlannedNetwork same = forecaster.timed(launches);
            if (question.schedule)
                out.what_if.push_back({change.name, same.time()});
            note_help(out, change.what, same.forecast.first());
        } catch (const UsageError &) { // a strategy of the schedule does not run on the GPU as changed
        }
    }
}

} // namespace

std::optional<std::string> why_not_whole(const Network &network) {
    std::vector<std::string> unknown;
    for (const Operator &op : network.operators) {
        if (is_loss(op.kind))
            return "no kernel computes " + op.name + " (" + boost::describe::enum_to_string(op.kind, "?") +
                   ") of " + network.id +
                   ": losses are of training, and a network is run whole from images to outputs; leave the "
                   "operator "
                   "out, or use predict --network";
        if (op.kind == OperatorKind::unknown)
            unknown.push_back(op.name + " (" + op.node.value_or("?") + ")");
    }
    if (unknown.empty())
        return std::nullopt;
    return fmt::format("no kernel computes {} of {}: {}; predict --network takes {} as bytes that are moved",
                       unknown.size() == 1 ? "a node" : fmt::format("{} nodes", unknown.size()), network.id,
                       join(unknown), unknown.size() == 1 ? "it" : "them");
}

MemoryUse memory_of(const PlannedNetwork &plan) {
    const std::int64_t batch = plan.batch();
    MemoryUse memory;
    memory.images_bytes =
        4 * batch * (elements(plan.network.input) + elements(plan.network.operators.back().output));
    memory.parameters_bytes = 4 * plan.network.all_parameters();
    memory.activations_bytes = arena_of(plan.network, plan.schedule, batch).bytes;
    for (const ScheduledLaunch &launch : plan.schedule)
        memory.workspace_bytes += launch.plan ? launch.plan->workspace_bytes : 0;
    return memory;
}

std::optional<std::string> why_too_large(const PlannedNetwork &plan, const std::string &gpu,
                                         double free_bytes, double all_bytes) {
    constexpr double spare = 0.02; // share of all memory, chosen: for what the driver takes beside
    const auto needed = static_cast<double>(memory_of(plan).all_bytes());
    if (needed <= free_bytes - spare * all_bytes)
        return std::nullopt;
    return fmt::format("{} with batch {} needs {:.3g} GB on the GPU, {} has {:.3g} GB free{}",
                       plan.network.id, plan.batch(), needed / 1e9, gpu, free_bytes / 1e9,
                       plan.batch() > 1 ? "; ask for a smaller --batch" : "");
}

PlannedNetwork plan_network(const Network &network, const GpuProfile &profile, const Knowledge &knowledge,
                            const NetworkQuestion &question) {
    NetworkForecaster forecaster(network, profile, knowledge, question);
    std::optional<std::vector<ScheduledLaunch>> given;
    if (question.schedule)
        given = as_given(forecaster, *question.schedule);
    PlannedNetwork plan = given ? forecaster.timed(*given) : planned(forecaster);
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
        out.what_if.push_back({"bias, relu and add in launches of their own",
                               planned(forecaster, EndsBy::own_launches).time()});
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
