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

/// N2: launches of a graph follow each other closer than those of a stream, and what a launch that starts
/// early takes beside its work is what a chain of them takes without any.
GpuProfile as_in_a_graph(GpuProfile profile, bool early) {
    if (profile.graph_launch_period && profile.graph_launch_period->value > profile.launch_floor->value) {
        Param<Seconds> gap = *profile.graph_launch_period;
        gap.value = gap.value - profile.launch_floor->value;
        profile.launch_gap = gap;
    }
    if (early && profile.early_launch_period)
        profile.launch_floor = profile.early_launch_period;
    profile.smallest_copy_time.reset(); // a launch behind another has its floor
    return profile;
}

/// Launches on one stream start early.
bool starts_early(const NetworkQuestion &question) {
    const auto beside = [](const ScheduleLine &line) { return line.stream > 0; };
    return !question.schedule || std::ranges::none_of(question.schedule->schedule.lines, beside);
}

/// What a network takes where no strategy is asked for: those on tensor cores are not even planned.
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

std::int64_t nodes_of(const Plan &plan) {
    return std::ssize(plan.launches) +
           std::count_if(plan.launches.begin(), plan.launches.end(),
                         [](const Partition &part) { return part.constant_bytes > 0; });
}

/// Bytes that L2 has so far as `held` says.
struct ReadBytes {
    double bytes = 0.0, from_l2 = 0.0;
    void add(double more, double held) { bytes += more, from_l2 += held * more; }
    double held() const { return bytes > 0.0 ? from_l2 / bytes : 0.0; }
};

/// Bytes of a launch: what it reads, parameters included, and writes.
struct LaunchBytes {
    ReadBytes read;
    /// Of `read` what the end of a convolution or dense layer reads behind its sums: the other input, and
    /// biases unless they come with the pixels.
    ReadBytes beside;
    double written = 0.0;
};

LaunchBytes bytes_of(const Network &network, const ScheduledLaunch &launch, const HeldForLaunch &held,
                     std::int64_t batch, bool with_pixels) {
    LaunchBytes bytes;
    for (const std::size_t i : launch.operators) {
        const double its = 4.0 * static_cast<double>(network.parameters(i));
        bytes.read.add(its, held.parameters);
        if (i != launch.operators.front() && !with_pixels)
            bytes.beside.add(its, held.parameters);
    }
    for (std::size_t i = 0; i < launch.reads.size(); ++i) {
        const double all = tensor_bytes(network, launch.reads[i], batch);
        bytes.read.add(i == 0 && !launch.operators.empty()
                           ? read_bytes(network.operators[launch.operators.front()],
                                        network.shape_of(launch.reads[i].of), batch)
                           : all,
                       held.reads[i]);
        if (i > 0)
            bytes.beside.add(all, held.reads[i]);
    }
    bytes.written = tensor_bytes(network, launch.writes, batch);
    return bytes;
}

/// N3: its first CTAs have their code and their arguments, which come from L2.
Seconds started(LaunchKind kind, const Machine &m) {
    // Latencies of L2: for arguments and for code, of which dense layers wait for the weights at the same
    // time; a layer norm has more code, and two sums that the whole CTA waits for.
    constexpr double plain = 3.0, dense = 2.0, norm = 7.0;
    const double waits = kind == LaunchKind::layer_norm ? norm : kind == LaunchKind::dense ? dense : plain;
    return Seconds(waits * m.l2_latency_s);
}

/// N3: CTAs start one after another, while those that are there move their bytes.
Seconds with_ctas(Seconds moved, const LaunchGrid &grid, const Machine &m) {
    return formula::pnorm<Seconds>("CTAs and bytes", m.knee,
                                   {Seconds(m.cta_s * static_cast<double>(grid.x * grid.y)), moved});
}

/// N3 without the launch, where the share `lost` of what is written goes to DRAM. DRAM's bus carries both
/// ways; L2 has a port for each, and takes in what DRAM delivers as it takes stores (F3).
Seconds moved(const ReadBytes &read, double written, double lost, const Machine &m) {
    const double held = read.held(), from_dram = (1.0 - held) * read.bytes, to_dram = lost * written;
    const Seconds reads = formula::pnorm<Seconds>(
        "reads", m.knee,
        {Seconds(held * m.l2_latency_s + (1.0 - held) * m.latency_s),
         Seconds(std::max(read.bytes / m.l2_bw, from_dram / m.read_bw + to_dram / m.write_bw))});
    return std::max(
        {reads, Seconds(written / m.l2_write_bw),
         Seconds((written > 0.0 ? written + from_dram : 0.0) / launch_terms::into_l2_bandwidth(m))});
}

/// N3: issue slots that the end of a convolution or dense layer takes. Its other units, those for special
/// functions among them, work while other CTAs of the SM multiply.
Seconds ended(const Network &network, const ScheduledLaunch &launch, std::int64_t batch, const Machine &m) {
    constexpr double warp_lanes = 32.0;
    double instructions = 0.0; // of warps
    for (const std::size_t i : launch.operators)
        if (i != launch.operators.front())
            instructions += static_cast<double>(batch * elements(network.operators[i].output)) / warp_lanes *
                            type_of(network.operators[i].kind).instructions;
    return Seconds(instructions / static_cast<double>(m.sm_count) / m.schedulers / m.clock);
}

/// At the full rate of all SMs.
Seconds multiplied(double fmas, const Machine &m) {
    return Seconds(fmas / (static_cast<double>(m.sm_count) * m.ffma_rate * m.clock));
}

/// N4
Seconds light_of(double fmas, double read, double written, const Machine &m) {
    const Seconds reads =
        formula::pnorm<Seconds>("reads", m.knee, {Seconds(m.latency_s), Seconds(read / m.read_bw)});
    return Seconds(m.launch_s) + std::max({reads, multiplied(fmas, m), Seconds(written / m.write_bw)});
}

} // namespace

NetworkForecaster::NetworkForecaster(const Network &network, const GpuProfile &profile,
                                     const Knowledge &knowledge, const NetworkQuestion &question,
                                     const NetworkForecaster *unchanged)
    : network_(network), early_(starts_early(question)), profile_(as_in_a_graph(profile, early_)),
      gpu_(profile_), knowledge_(knowledge), question_(question), unchanged_(unchanged),
      whole_floor_(profile.launch_floor->value),
      machine_(machine_of(gpu_, DataType::f32, knowledge.calibration.value_or(Calibration{}))) {
    const std::vector<ScheduledLaunch> schedule =
        schedule_of(network, question.batch, [](const ConvShape &) { return true; });
    held_ = held_by_shape(schedule, held_for_launches(network, schedule, question.batch, gpu_));
}

// ---- which strategy a convolution takes ----

const NetworkForecaster::WaysOrWhy &NetworkForecaster::ways_or_why(const ConvShape &shape,
                                                                   const std::optional<Strategy> &strategy) {
    const auto ending = strategy ? ending_.end() : ending_.find(shape.id());
    return ending == ending_.end() ? known(shape, strategy) : ending->second;
}

const NetworkForecaster::Ways &NetworkForecaster::ways_of(const ConvShape &shape,
                                                          const std::optional<Strategy> &strategy) {
    const WaysOrWhy &ways = ways_or_why(shape, strategy);
    if (const auto *why = std::get_if<std::string>(&ways))
        throw UsageError(*why);
    return std::get<Ways>(ways);
}

const NetworkForecaster::WaysOrWhy &NetworkForecaster::known(const ConvShape &shape,
                                                             const std::optional<Strategy> &strategy) {
    const auto [found, fresh] =
        known_.try_emplace(strategy ? shape.id() + " " + to_text(*strategy) : shape.id());
    if (fresh)
        found->second = strategy ? named(shape, *strategy) : ranked(shape);
    return found->second;
}

void NetworkForecaster::rank_ahead(const std::vector<ConvShape> &shapes) {
    std::vector<std::optional<WaysOrWhy>> ranked_shapes(shapes.size());
    in_parallel(shapes.size(), [&](std::size_t i) {
        if (!known_.contains(shapes[i].id()))
            ranked_shapes[i] = ranked(shapes[i]);
    });
    for (std::size_t i = 0; i < shapes.size(); ++i)
        if (ranked_shapes[i])
            known_.emplace(shapes[i].id(), std::move(*ranked_shapes[i]));
}

void NetworkForecaster::prefer_ending(const ConvShape &shape, bool ends) {
    if (!ends)
        return (void)ending_.erase(shape.id());
    const Ways &best = std::get<Ways>(known(shape, std::nullopt));
    Ways ways = ways_of(shape, best.ends);
    for (const NetworkCandidate &candidate : best.candidates)
        if (candidate.strategy != ways.candidates.front().strategy && ways.candidates.size() < question_.top)
            ways.candidates.push_back(candidate);
    ending_.insert_or_assign(shape.id(), std::move(ways));
}

bool NetworkForecaster::could_end(const ConvShape &shape) {
    const Ways &best = std::get<Ways>(known(shape, std::nullopt));
    return best.ends && !ends_launch(best.plan) &&
           std::holds_alternative<Ways>(ways_or_why(shape, best.ends));
}

/// N11 and N12, of all launches with this shape.
HeldByL2 NetworkForecaster::held_for(const ConvShape &shape) const {
    const auto found = held_.find(shape.id());
    return found == held_.end() ? HeldByL2{} : found->second;
}

/// Filters that a launch asks for while the one before still runs are there when it goes on. N12 is of
/// launches whose floor is the early period.
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

/// The settings of all strategies that are asked. Where none is feasible `why` says why.
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

/// N8. Of settings that tie one wins that prepares its filters: that is done once for a network, and kernels
/// that read raw filters are forecast too short.
NetworkForecaster::WaysOrWhy NetworkForecaster::ranked(const ConvShape &shape) const {
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
    // Numbers that change by a factor of two change a time by no more, so what is further behind does not get
    // as far as a tie, nor to the front of those that end launches.
    const double most = 2.0 * tie_of(ways.best_s);
    for (const RankedWay &way : all)
        if (way.candidate.time_s <= ways.best_s * most ||
            (ends(way) && way.candidate.time_s <= ending->candidate.time_s * most))
            ways.close.push_back(way.setting->strategy);
    for (std::size_t i = 0; i < std::min(all.size(), question_.top); ++i)
        ways.candidates.push_back(std::move(all[i].candidate));
    return ways;
}

NetworkForecaster::WaysOrWhy NetworkForecaster::named(const ConvShape &shape, const Strategy &strategy) {
    auto planned = compiled_plan(strategy, shape, gpu_, knowledge_.facts);
    if (auto *why = std::get_if<Infeasible>(&planned))
        return name_of(strategy) + " does not do " + shape.id() + ": " + why->why;
    auto &good = std::get<PlannedStrategy>(planned);
    Plan once = good.feasible.plan;
    once.prepare.clear(); // as of the candidates
    const auto time =
        forecast_call_time(once, shape, gpu_, knowledge_.calibration, at_its_start(once, held_for(shape)));
    if (!time)
        return no_time(profile_, missing_for_forecast(profile_, good.feasible.plan));
    Ways ways;
    ways.strategy = good.strategy;
    ways.candidates = {{to_text(good.strategy), *time}};
    ways.time_s = ways.best_s = *time;
    if (ties_ && !uses_tensor_cores(good.feasible.plan))
        if (const auto *chosen = std::get_if<Ways>(&known(shape, std::nullopt));
            chosen != nullptr && *time <= chosen->best_s * tie_of(chosen->best_s))
            ways.time_s = chosen->time_s; // N8: which of those that tie is faster nobody can say
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
        // N2: what passes before a launch becomes part of its time. Of launches on several streams none
        // starts before what it waits for has ended. The first one takes longer to start.
        if (its.kind != LaunchKind::placed) {
            const Seconds first_start = std::max(Seconds(0.0), whole_floor_ - Seconds(machine_.launch_s)),
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
        if (bytes.beside.bytes > 0.0)
            launch.time_s += moved(bytes.beside, 0.0, 0.0, machine_);
        launch.time_s += ended(network_, scheduled, batch(), machine_);
        return launch;
    }
    const Seconds floor(machine_.launch_s),
        its_bytes = moved(bytes.read, bytes.written, held.written_lost, machine_);
    const double fmas = fmas_of(scheduled);
    launch.time_s = floor + started(scheduled.kind, machine_) +
                    with_ctas(its_bytes, grid_of(network_, scheduled, batch()), machine_);
    launch.light_s = floor + std::max(its_bytes, multiplied(fmas, machine_));
    if (fmas > 0.0)
        launch.time_s = std::max(launch.time_s, convcast::light_of(fmas, 0.0, 0.0, machine_));
    return launch;
}

/// A convolution or a dense layer, without what its end reads.
void NetworkForecaster::time_planned(const ScheduledLaunch &scheduled, NetworkLaunch &launch) {
    const ConvShape &shape = *scheduled.shape;
    launch.shape = shape.id();
    launch.light_s = speed_of_light(shape, profile_, std::nullopt, held_for(shape))->value_s;
    if (scheduled.kind == LaunchKind::dense) {
        const Seconds floor(machine_.launch_s); // of which the bound is made as well
        launch.time_s = floor + started(scheduled.kind, machine_) +
                        with_ctas(*launch.light_s - floor, grid_of(network_, scheduled, batch()), machine_);
        return;
    }
    const Ways &ways = ways_of(shape, scheduled.strategy);
    launch.candidates = ways.candidates;
    launch.nodes = nodes_of(ways.plan);
    launch.time_s = ways.time_s;
}

/// From a launch to the next; none where all start early and the profile knows what that takes.
Seconds NetworkForecaster::gap() const {
    return Seconds(early_ && profile_.early_launch_period ? 0.0 : machine_.gap_s);
}

double NetworkForecaster::fmas_of(const ScheduledLaunch &launch) const {
    if (launch.operators.empty())
        return 0.0;
    const std::size_t first = launch.operators.front();
    return convcast::fmas_of(network_.operators[first], network_.input_shapes(first).front(), batch());
}

/// N9: of the SMs, what a launch takes while it runs alone.
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
