#include "model/network/forecaster.hpp"

#include "model/base/errors.hpp"
#include "model/base/parallel.hpp"
#include "model/choose/ranking.hpp"
#include "model/choose/setting.hpp"
#include "model/network/operator_type.hpp"
#include "model/network/rung_forecast.hpp"
#include "model/strategies/list.hpp"
#include "model/time/call.hpp"
#include "model/time/formula.hpp"
#include "model/time/memory_terms.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

/// N2: the profile with the gap between launches of a CUDA graph, which is shorter than that of a stream.
/// Where launches start `early`, the floor of each is what an empty one takes in a chain of such launches.
GpuProfile as_in_a_graph(GpuProfile profile, bool early) {
    if (profile.graph_launch_period && profile.graph_launch_period->value > profile.launch_floor->value) {
        Param<Seconds> gap = *profile.graph_launch_period;
        gap.value = gap.value - profile.launch_floor->value;
        profile.launch_gap = gap;
    }
    if (early && profile.early_launch_period)
        profile.launch_floor = profile.early_launch_period;
    profile.smallest_copy_time.reset(); // it is of a launch alone; behind another the floor holds
    return profile;
}

/// Launches start early unless the question has a schedule on several streams.
bool starts_early(const NetworkQuestion &question) {
    const auto beside = [](const ScheduleLine &line) { return line.stream > 0; };
    return !question.schedule || std::ranges::none_of(question.schedule->schedule.lines, beside);
}

/// The strategies of a network whose question names none: those on tensor cores are left out.
const std::vector<std::string> &without_tensor_cores() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all = strategy_names();
        std::erase_if(all, [](const std::string &name) { return uses_tensor_cores(name); });
        return all;
    }();
    return names;
}

/// A convolution by a setting of a strategy.
struct RankedWay {
    NetworkCandidate candidate;
    const PlannedStrategy *setting;
};

/// Nodes of a plan in a CUDA graph: its kernels, and copies to constant memory.
std::int64_t nodes_of(const Plan &plan) {
    return std::ssize(plan.launches) +
           std::count_if(plan.launches.begin(), plan.launches.end(),
                         [](const Partition &part) { return part.constant_bytes > 0; });
}

/// Bytes that a launch reads, and how many of them L2 has.
struct ReadBytes {
    double bytes = 0.0, from_l2 = 0.0;
    /// `held`: the share of them that L2 has.
    void add(double more, double held) { bytes += more, from_l2 += held * more; }
    double held() const { return bytes > 0.0 ? from_l2 / bytes : 0.0; }
};

/// Bytes of a launch: what it reads, parameters included, and writes.
struct LaunchBytes {
    ReadBytes read;
    /// The part of `read` that the end of a launch reads: what it adds, and biases not read with the pixels.
    ReadBytes behind_sums;
    double written = 0.0;
};

/// `with_pixels`: biases are read with the pixels (InNetwork::biases_with_pixels).
LaunchBytes bytes_of(const Network &network, const ScheduledLaunch &launch, const HeldForLaunch &held,
                     std::int64_t batch, bool with_pixels) {
    LaunchBytes bytes;
    for (const std::size_t i : launch.operators) {
        const double parameters = 4.0 * static_cast<double>(network.parameters(i));
        bytes.read.add(parameters, held.parameters);
        if (i != launch.operators.front() && !with_pixels)
            bytes.behind_sums.add(parameters, held.parameters);
    }
    for (std::size_t i = 0; i < launch.reads.size(); ++i) {
        const double all = tensor_bytes(network, launch.reads[i], batch);
        bytes.read.add(i == 0 && !launch.operators.empty()
                           ? read_bytes(network.operators[launch.operators.front()],
                                        network.shape_of(launch.reads[i].of), batch)
                           : all,
                       held.reads[i]);
        if (i > 0)
            bytes.behind_sums.add(all, held.reads[i]);
    }
    bytes.written = tensor_bytes(network, launch.writes, batch);
    return bytes;
}

/// N3: how long the first CTAs of a launch wait for their code and their arguments, which come from L2.
Seconds start_time(LaunchKind kind, const Machine &m) {
    // In latencies of L2, placed by measured launches (docs/evidence.md, N3). A dense layer waits for code
    // and weights at the same time; a layer norm has more code, and waits for two sums of its CTA.
    constexpr double plain = 3.0, dense = 2.0, norm = 7.0;
    const double waits = kind == LaunchKind::layer_norm ? norm : kind == LaunchKind::dense ? dense : plain;
    return Seconds(waits * m.l2_latency_s);
}

/// N3: `moved` with the start of the CTAs, one after another, while those that have started move their bytes.
Seconds with_starts(Seconds moved, const LaunchGrid &grid, const Machine &m) {
    return formula::pnorm<Seconds>("CTAs and bytes", m.knee,
                                   {Seconds(m.cta_s * static_cast<double>(grid.x * grid.y)), moved});
}

/// N3: how long `read` and `written` bytes move, of which latter the share `lost` goes on to DRAM. DRAM has
/// one bus for both ways; L2 has a port for each, and takes in what DRAM delivers as it takes stores (F3).
Seconds moving_time(const ReadBytes &read, double written, double lost, const Machine &m) {
    const double held = read.held(), from_dram = (1.0 - held) * read.bytes, to_dram = lost * written;
    const Seconds reads = formula::pnorm<Seconds>(
        "reads", m.knee,
        {Seconds(held * m.l2_latency_s + (1.0 - held) * m.latency_s),
         Seconds(std::max(read.bytes / m.l2_bw, from_dram / m.read_bw + to_dram / m.write_bw))});
    return std::max(
        {reads, Seconds(written / m.l2_write_bw),
         Seconds((written > 0.0 ? written + from_dram : 0.0) / launch_terms::into_l2_bandwidth(m))});
}

/// N3: how long the schedulers issue the end of a convolution or dense layer. Nothing else of it takes time:
/// units such as that for special functions work while other CTAs of the SM multiply.
Seconds end_time(const Network &network, const ScheduledLaunch &launch, std::int64_t batch,
                 const Machine &m) {
    constexpr double warp_lanes = 32.0;
    double instructions = 0.0; // that warps issue
    for (const std::size_t i : launch.operators)
        if (i != launch.operators.front())
            instructions += static_cast<double>(batch * elements(network.operators[i].output)) / warp_lanes *
                            type_of(network.operators[i].kind).instructions;
    return Seconds(instructions / static_cast<double>(m.sm_count) / m.schedulers / m.clock);
}

/// The least time of multiply-adds: at the full rate of all SMs.
Seconds fma_time(double fmas, const Machine &m) {
    return Seconds(fmas / (static_cast<double>(m.sm_count) * m.ffma_rate * m.clock));
}

/// N4: the least time of a launch with so many multiply-adds and bytes of DRAM.
Seconds light_of(double fmas, double read, double written, const Machine &m) {
    const Seconds reads =
        formula::pnorm<Seconds>("reads", m.knee, {Seconds(m.latency_s), Seconds(read / m.read_bw)});
    return Seconds(m.launch_s) + std::max({reads, fma_time(fmas, m), Seconds(written / m.write_bw)});
}

} // namespace

NetworkForecaster::NetworkForecaster(const Network &network, const GpuProfile &profile,
                                     const Knowledge &knowledge, const NetworkQuestion &question,
                                     const NetworkForecaster *unchanged)
    : network_(network), early_(starts_early(question)), profile_(as_in_a_graph(profile, early_)),
      gpu_(profile_), knowledge_(knowledge), question_(question), unchanged_(unchanged),
      lone_launch_floor_(profile.launch_floor->value),
      machine_(machine_of(gpu_, DataType::f32, knowledge.calibration.value_or(Calibration{}))) {
    // Strategies are ranked by what L2 has, which depends on the schedule: here one in which every
    // convolution does the end of its launch.
    const std::vector<ScheduledLaunch> schedule =
        schedule_of(network, question.batch, [](const ConvShape &) { return true; });
    held_ = held_by_shape(schedule, held_for_launches(network, schedule, question.batch, gpu_));
}

// ---- which strategy a convolution takes ----

const NetworkForecaster::WaysOrWhy &NetworkForecaster::ways_or_why(const ConvShape &shape,
                                                                   const std::optional<Strategy> &strategy) {
    const auto ending = strategy ? ending_.end() : ending_.find(shape.id());
    return ending == ending_.end() ? kept_ways(shape, strategy) : ending->second;
}

const NetworkForecaster::Ways &NetworkForecaster::ways_of(const ConvShape &shape,
                                                          const std::optional<Strategy> &strategy) {
    const WaysOrWhy &ways = ways_or_why(shape, strategy);
    if (const auto *why = std::get_if<std::string>(&ways))
        throw UsageError(*why);
    return std::get<Ways>(ways);
}

/// As known_ has them, or ranked now and kept.
const NetworkForecaster::WaysOrWhy &NetworkForecaster::kept_ways(const ConvShape &shape,
                                                                 const std::optional<Strategy> &strategy) {
    const auto [found, fresh] =
        known_.try_emplace(strategy ? shape.id() + " " + to_text(*strategy) : shape.id());
    if (fresh)
        found->second = strategy ? ways_by(shape, *strategy) : ranked_ways(shape);
    return found->second;
}

void NetworkForecaster::rank_ahead(const std::vector<ConvShape> &shapes) {
    std::vector<std::optional<WaysOrWhy>> ranked_shapes(shapes.size());
    in_parallel(shapes.size(), [&](std::size_t i) {
        if (!known_.contains(shapes[i].id()))
            ranked_shapes[i] = ranked_ways(shapes[i]);
    });
    for (std::size_t i = 0; i < shapes.size(); ++i)
        if (ranked_shapes[i])
            known_.emplace(shapes[i].id(), std::move(*ranked_shapes[i]));
}

void NetworkForecaster::prefer_ending(const ConvShape &shape, bool ends) {
    if (!ends)
        return (void)ending_.erase(shape.id());
    const Ways &best = std::get<Ways>(kept_ways(shape, std::nullopt)); // has `ends`, since could_end
    Ways ways = ways_of(shape, best.ends);
    for (const NetworkCandidate &candidate : best.candidates)
        if (candidate.strategy != ways.candidates.front().strategy && ways.candidates.size() < question_.top)
            ways.candidates.push_back(candidate);
    ending_.insert_or_assign(shape.id(), std::move(ways));
}

bool NetworkForecaster::could_end(const ConvShape &shape) {
    const Ways &best =
        std::get<Ways>(kept_ways(shape, std::nullopt)); // shapes of a schedule by choice have ways
    return best.ends && !ends_launch(best.plan) &&
           std::holds_alternative<Ways>(ways_or_why(shape, best.ends));
}

/// N11 and N12: what L2 has for launches of this shape, in the mean. Nothing known of a shape of no launch.
HeldByL2 NetworkForecaster::held_for(const ConvShape &shape) const {
    const auto found = held_.find(shape.id());
    return found == held_.end() ? HeldByL2{} : found->second;
}

/// `held` as a plan's first kernel finds it. Filters that it asks for while the launch before still runs have
/// arrived when it goes on. N12 is of launches whose floor is the early period.
HeldByL2 NetworkForecaster::at_its_start(const Plan &plan, HeldByL2 held) const {
    const InNetwork &kernel = in_network(plan.launches.front().kernel);
    if (early_ && kernel.asks_for_filters)
        held.filters = 1.0;
    if (early_ && profile_.early_launch_period && kernel.straight_code)
        held.new_code = held.new_code.value_or(1.0);
    else
        held.new_code.reset();
    return held;
}

/// The settings that the question allows, or the close ones of `unchanged_`. `why`: why there are none.
std::vector<PlannedStrategy> NetworkForecaster::settings_of(const ConvShape &shape, std::string &why) const {
    std::vector<PlannedStrategy> settings;
    if (unchanged_ != nullptr)
        if (const auto before = unchanged_->known_.find(shape.id()); before != unchanged_->known_.end())
            if (const auto *ways = std::get_if<Ways>(&before->second)) {
                for (const Strategy &setting : ways->close) {
                    PlanResult planned = compiled_setting(setting, shape, gpu_, knowledge_.facts);
                    if (auto *good = std::get_if<PlannedStrategy>(&planned))
                        settings.push_back(std::move(*good));
                    else
                        why = std::get<Infeasible>(planned).why;
                }
                return settings;
            }
    Ranking ranking = rank(shape, profile_, knowledge_,
                           question_.strategies.empty() ? without_tensor_cores() : question_.strategies);
    for (RankedSetting &setting : ranking.settings)
        settings.push_back(std::move(setting.planned));
    if (!ranking.refused.empty())
        why = ranking.refused.front().why.why;
    return settings;
}

/// The forecast's choice (N8). Of settings that tie the fastest that prepares its filters is taken: a network
/// prepares them once, and kernels that read raw filters are forecast too short.
NetworkForecaster::WaysOrWhy NetworkForecaster::ranked_ways(const ConvShape &shape) const {
    std::vector<RankedWay> all;
    std::string why = "none has a time";
    const std::vector<PlannedStrategy> settings = settings_of(shape, why);
    const HeldByL2 held = held_for(shape);
    for (const PlannedStrategy &setting : settings) {
        Plan plan = setting.feasible.plan;
        plan.prepare.clear(); // filters stay the same from image to image
        if (question_.strategies.empty() && uses_tensor_cores(plan))
            continue;
        if (const auto time =
                forecast_call_time(plan, shape, gpu_, knowledge_.calibration, at_its_start(plan, held)))
            all.push_back({{to_text(setting.strategy), *time}, &setting});
    }
    if (all.empty())
        return "no strategy does " + shape.id() + ": " + why;
    std::ranges::stable_sort(all, {}, [](const RankedWay &way) { return way.candidate.time_s; });
    Ways ways;
    ways.best_s = all.front().candidate.time_s;
    const auto prepares = std::ranges::find_if(
        all, [](const auto &way) { return !way.setting->feasible.plan.prepare.empty(); });
    if (prepares != all.end() && prepares->candidate.time_s <= ways.best_s * tie_of(ways.best_s))
        std::rotate(all.begin(), prepares, prepares + 1);
    std::vector<Seconds> times;
    for (const RankedWay &way : all)
        times.push_back(way.candidate.time_s);
    ways.time_s = mean_of_ties(times);
    ways.strategy = all.front().setting->strategy;
    ways.plan = all.front().setting->feasible.plan;
    const auto ends = [](const RankedWay &way) { return ends_launch(way.setting->feasible.plan); };
    const auto ending = std::ranges::find_if(all, ends);
    if (ending != all.end())
        ways.ends = ending->setting->strategy;
    // If numbers of the GPU change by a factor of two, times change by no more. So what is further behind
    // than that does not get as far as a tie, nor to the front of those that can do ends.
    const double most = 2.0 * tie_of(ways.best_s);
    for (const RankedWay &way : all)
        if (way.candidate.time_s <= ways.best_s * most ||
            (ends(way) && way.candidate.time_s <= ending->candidate.time_s * most))
            ways.close.push_back(way.setting->strategy);
    for (std::size_t i = 0; i < std::min(all.size(), question_.top); ++i)
        ways.candidates.push_back(std::move(all[i].candidate));
    return ways;
}

/// The named strategy alone, its open knobs chosen.
NetworkForecaster::WaysOrWhy NetworkForecaster::ways_by(const ConvShape &shape, const Strategy &strategy) {
    auto planned = compiled_plan(strategy, shape, gpu_, knowledge_.facts);
    if (auto *why = std::get_if<Infeasible>(&planned))
        return name_of(strategy) + " does not do " + shape.id() + ": " + why->why;
    auto &good = std::get<PlannedStrategy>(planned);
    Plan once = good.feasible.plan;
    once.prepare.clear(); // filters stay the same from image to image
    const auto time =
        forecast_call_time(once, shape, gpu_, knowledge_.calibration, at_its_start(once, held_for(shape)));
    if (!time)
        return no_time(profile_, missing_for_forecast(profile_, good.feasible.plan));
    Ways ways;
    ways.strategy = good.strategy;
    ways.candidates = {{to_text(good.strategy), *time}};
    ways.time_s = ways.best_s = *time;
    if (ties_ && !uses_tensor_cores(good.feasible.plan))
        if (const auto *chosen = std::get_if<Ways>(&kept_ways(shape, std::nullopt));
            chosen != nullptr && *time <= chosen->best_s * tie_of(chosen->best_s))
            ways.time_s = chosen->time_s; // N8: nobody can say which of those that tie is faster
    ways.plan = std::move(good.feasible.plan);
    return ways;
}

// ---- how long launches run ----

PlannedNetwork NetworkForecaster::timed(std::vector<ScheduledLaunch> schedule) {
    PlannedNetwork out{network_, std::move(schedule), {}};
    NetworkCase &forecast = out.forecast.cases.emplace_back();
    forecast.batch = batch();
    const bool one_stream = streams_of(out.schedule) == 1;
    const std::vector<HeldForLaunch> held = held_for_launches(network_, out.schedule, batch(), gpu_);
    Seconds time, gaps, convolutions, dense, others;
    double fmas = 0.0, flops = 0.0;
    std::int64_t nodes = 0;
    for (std::size_t i = 0; i < out.schedule.size(); ++i) {
        ScheduledLaunch &scheduled = out.schedule[i];
        NetworkLaunch &its = forecast.launches.emplace_back(launch(scheduled, held[i]));
        if (scheduled.writes.columns)
            its.columns = true;
        if (!one_stream)
            its.stream = scheduled.stream;
        scheduled.plan.reset();
        if (!its.candidates.empty()) {
            const Ways &ways = ways_of(*scheduled.shape, scheduled.strategy);
            scheduled.strategy = ways.strategy;
            scheduled.plan = ways.plan;
        }
        // N2: the time between two launches is part of the second one's. On several streams no launch starts
        // before what it waits for has ended (N9). The first launch takes longer to start.
        if (its.kind != LaunchKind::placed) {
            const Seconds first_start =
                              std::max(Seconds(0.0), lone_launch_floor_ - Seconds(machine_.launch_s)),
                          start = i == 0 ? first_start : gap(),
                          waits(one_stream ? 0.0 : dependent_gap_s * static_cast<double>(*its.nodes));
            its.time_s += start;
            its.time_s += waits;
            gaps += start;
            gaps += waits;
        }
        flops += *its.flops;
        fmas += fmas_of(scheduled);
        nodes += *its.nodes;
        time += its.time_s;
        (its.kind == LaunchKind::convolution ? convolutions : its.shape ? dense : others) += its.time_s;
    }
    for (NetworkLaunch &its : forecast.launches)
        its.share = its.time_s / time;
    forecast.gaps_s = gaps;
    forecast.convolutions_s = convolutions, forecast.dense_s = dense, forecast.others_s = others;
    forecast.fmas = fmas, forecast.flops = flops, forecast.nodes = nodes;
    overlap(out);
    return out;
}

/// N9: when each launch begins and ends. Launches of one stream follow each other; one that reads what
/// another stream writes waits for it; those that run at once share the SMs.
void NetworkForecaster::overlap(PlannedNetwork &plan) const {
    struct Stream {
        std::vector<std::size_t> launches;
        std::size_t at = 0; ///< of `launches` the one that runs or is next
        bool runs = false;
        double left = 0.0;  ///< seconds that the running one still takes if it has the SMs for itself
        double share = 0.0; ///< of the SMs that the running one fills
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
    // From one end of a launch to the next. `asked`: the SMs that running launches fill, over all SMs; above
    // 1 everything slows down by it. `next`: undisturbed seconds until the first of them ends.
    for (double now = 0.0;;) {
        double asked = 0.0, next = std::numeric_limits<double>::infinity();
        for (Stream &stream : streams) {
            if (may_begin(stream)) {
                const std::size_t launch = stream.launches[stream.at];
                launches[launch].begins_s = Seconds(now);
                stream.runs = true;
                stream.left = launches[launch].time_s.value;
                stream.share = share_of_sms(plan.schedule[launch]);
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

NetworkLaunch NetworkForecaster::launch(const ScheduledLaunch &scheduled, const HeldForLaunch &held) {
    NetworkLaunch launch;
    launch.kind = scheduled.kind;
    launch.nodes = 1;
    launch.flops = 0.0, launch.parameters = 0;
    for (const std::size_t i : scheduled.operators) {
        launch.operators.push_back(network_.operators[i].name);
        *launch.flops += operations_of(network_.operators[i], network_.input_shapes(i).front(), batch());
        *launch.parameters += network_.parameters(i);
    }
    if (scheduled.kind == LaunchKind::unknown)
        launch.node = network_.operators[scheduled.operators.front()].node.value_or("?");
    if (scheduled.operators.empty())
        launch.operators.push_back(network_.name_of(scheduled.writes.of));
    if (scheduled.kind == LaunchKind::placed) {
        launch.nodes = 0, launch.bytes = 0.0, launch.light_s = Seconds(0.0);
        return launch;
    }
    const bool with_pixels =
        scheduled.shape && scheduled.kind != LaunchKind::dense &&
        in_network(ways_of(*scheduled.shape, scheduled.strategy).plan.launches.front().kernel)
            .biases_with_pixels;
    const LaunchBytes bytes = bytes_of(network_, scheduled, held, batch(), with_pixels);
    launch.bytes = bytes.read.bytes + bytes.written;
    if (scheduled.shape) {
        time_planned(scheduled, launch);
        if (bytes.behind_sums.bytes > 0.0)
            launch.time_s += moving_time(bytes.behind_sums, 0.0, 0.0, machine_);
        launch.time_s += end_time(network_, scheduled, batch(), machine_);
        return launch;
    }
    const Seconds floor(machine_.launch_s),
        moved = moving_time(bytes.read, bytes.written, held.written_lost, machine_);
    const double fmas = fmas_of(scheduled);
    launch.time_s = floor + start_time(scheduled.kind, machine_) +
                    with_starts(moved, grid_of(network_, scheduled, batch()), machine_);
    launch.light_s = floor + std::max(moved, fma_time(fmas, machine_));
    if (fmas > 0.0) // a transposed convolution
        launch.time_s = std::max(launch.time_s, convcast::light_of(fmas, 0.0, 0.0, machine_));
    return launch;
}

/// Sets the times of a convolution or a dense layer, without the end of the launch.
void NetworkForecaster::time_planned(const ScheduledLaunch &scheduled, NetworkLaunch &launch) {
    const ConvShape &shape = *scheduled.shape;
    launch.shape = shape.id();
    launch.light_s = speed_of_light(shape, profile_, std::nullopt, held_for(shape))->value_s;
    if (scheduled.kind == LaunchKind::dense) {
        const Seconds floor(machine_.launch_s); // which the bound has in it as well
        launch.time_s = floor + start_time(scheduled.kind, machine_) +
                        with_starts(*launch.light_s - floor, grid_of(network_, scheduled, batch()), machine_);
        return;
    }
    const Ways &ways = ways_of(shape, scheduled.strategy);
    launch.candidates = ways.candidates;
    launch.nodes = nodes_of(ways.plan);
    launch.time_s = ways.time_s;
}

/// From a launch's end to the next one's start. 0 where the floor of launches is the early period.
Seconds NetworkForecaster::gap() const {
    return Seconds(early_ && profile_.early_launch_period ? 0.0 : machine_.gap_s);
}

/// Multiply-adds of a launch, which are those of its first operator.
double NetworkForecaster::fmas_of(const ScheduledLaunch &launch) const {
    if (launch.operators.empty())
        return 0.0;
    const std::size_t first = launch.operators.front();
    return convcast::fmas_of(network_.operators[first], network_.input_shapes(first).front(), batch());
}

/// N9: the share of the SMs that a launch fills while it runs alone.
double NetworkForecaster::share_of_sms(const ScheduledLaunch &launch) const {
    constexpr std::int64_t resident = 8; // CTAs of 256 threads
    const auto share_of = [&](std::int64_t ctas, std::int64_t ctas_per_sm) {
        const double slots = static_cast<double>(std::max<std::int64_t>(1, ctas_per_sm)) *
                             static_cast<double>(profile_.limits.sm_count);
        return std::min(1.0, static_cast<double>(ctas) / slots);
    };
    if (!launch.plan) {
        const LaunchGrid grid = grid_of(network_, launch, batch());
        return share_of(grid.x * grid.y, resident);
    }
    double share = 0.0;
    for (const Partition &part : launch.plan->launches)
        share = std::max(share, share_of(part.ctas, part.ctas_per_sm));
    return share;
}

Seconds NetworkForecaster::light_of(double fmas) const {
    const double read = tensor_bytes(network_, {}, batch()) +
                        4.0 * static_cast<double>(network_.all_parameters()),
                 written = tensor_bytes(network_, {network_.operators.size() - 1, false}, batch());
    return convcast::light_of(fmas, read, written, machine_);
}

} // namespace convcast
