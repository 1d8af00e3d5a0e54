#include "model/network/forecast.hpp"

#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/parallel.hpp"
#include "model/choose/ranking.hpp"
#include "model/choose/setting.hpp"
#include "model/machine/machine.hpp"
#include "model/network/l2_content.hpp"
#include "model/network/rung_forecast.hpp"
#include "model/network/whole_run.hpp"
#include "model/time/assumed_range.hpp"
#include "model/time/call.hpp"
#include "model/time/formula.hpp"
#include "model/time/memory_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
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
    return profile;
}

/// N8. Of settings that tie one wins that prepares its filters: that is done once for a network, and kernels
/// that read raw filters are forecast too short.
constexpr double tie = network_tie;

/// A GPU for one question: forecasts of convolutions are kept by shape.
class Forecaster {
  public:
    Forecaster(const Network &network, const GpuProfile &profile, const Knowledge &knowledge,
               const NetworkQuestion &question)
        : early_(starts_early(question)), profile_(as_in_a_graph(profile, early_)), gpu_(profile_),
          knowledge_(knowledge), question_(question), whole_floor_(profile.launch_floor->value),
          machine_(machine_of(gpu_, DataType::f32, knowledge.calibration.value_or(Calibration{}))) {
        const std::vector<ScheduledLaunch> schedule =
            schedule_of(network, question.batch, [](const ConvShape &) { return true; });
        held_ = held_by_shape(schedule, held_for_launches(network, schedule, question.batch, gpu_));
    }

    const Gpu &gpu() const { return gpu_; }

    /// Ranks these shapes on all cores, so that they are there when they are asked. What no strategy does is
    /// said then.
    void rank_ahead(const std::vector<ConvShape> &shapes) {
        std::vector<std::optional<Ways>> ranked_shapes(shapes.size());
        in_parallel(shapes.size(), [&](std::size_t i) {
            if (ways_.contains(shapes[i].id()))
                return;
            try {
                ranked_shapes[i] = ranked(shapes[i]);
            } catch (const UsageError &) {
            }
        });
        for (std::size_t i = 0; i < shapes.size(); ++i)
            if (ranked_shapes[i])
                ways_.try_emplace(shapes[i].id(), std::move(*ranked_shapes[i]));
    }

    /// From a launch to the next; none where all start early and the profile knows what that takes.
    Seconds gap() const { return Seconds(early_ && profile_.early_launch_period ? 0.0 : machine_.gap_s); }
    /// What the first launch takes longer to start than those behind it.
    Seconds first_start() const { return std::max(Seconds(0.0), whole_floor_ - floor()); }
    Seconds floor() const { return Seconds(machine_.launch_s); }

    /// The convolution's candidates, best first, and the plan of the first.
    struct Ways {
        std::vector<NetworkCandidate> candidates;
        Strategy strategy; ///< the first
        Plan plan;
        Seconds time_s;               ///< N8
        Seconds best_s{1e9};          ///< the shortest forecast
        std::optional<Strategy> ends; ///< the first that can do bias, add and ReLU where it stores
    };
    const Ways &ways_of(const ConvShape &shape) {
        const auto ending = ending_.find(shape.id());
        return ending == ending_.end() ? best_of(shape) : ending->second;
    }

    /// Settings that tie have their own forecasts and not their mean, which takes a ranking of all.
    void leave_ties() { ties_ = false; }

    /// N1: whether the shape takes a strategy that ends launches, though another is faster without the end.
    /// Only where there is one.
    void prefer_ending(const ConvShape &shape, bool ends) {
        if (!ends)
            return (void)ending_.erase(shape.id());
        const Ways &best = best_of(shape);
        Ways ways = std::get<Ways>(way_of(shape, *best.ends));
        for (const NetworkCandidate &candidate : best.candidates)
            if (candidate.strategy != ways.candidates.front().strategy &&
                ways.candidates.size() < question_.top)
                ways.candidates.push_back(candidate);
        ending_.insert_or_assign(shape.id(), std::move(ways));
    }
    void prefer_none() { ending_.clear(); }
    bool could_end(const ConvShape &shape) {
        const Ways &best = best_of(shape);
        return best.ends && !ends_launch(best.plan) &&
               std::holds_alternative<Ways>(way_of(shape, *best.ends));
    }

    /// The one way that a schedule names, or why it is none.
    using NamedWay = std::variant<Ways, std::string>;
    const NamedWay &way_of(const ConvShape &shape, const Strategy &strategy) {
        const auto [found, fresh] = named_.try_emplace(shape.id() + " " + to_text(strategy));
        if (fresh)
            found->second = named(shape, strategy);
        return found->second;
    }

    /// Of a launch with a plan. Throws UsageError if its strategy does not do it.
    const Ways &ways_of(const ScheduledLaunch &launch) {
        if (!launch.strategy)
            return ways_of(*launch.shape);
        const NamedWay &way = way_of(*launch.shape, *launch.strategy);
        if (const auto *why = std::get_if<std::string>(&way))
            throw UsageError(*why);
        return std::get<Ways>(way);
    }

    /// N9: of the SMs, what a launch of so many CTAs takes that share an SM by so many.
    double share_of(std::int64_t ctas, std::int64_t ctas_per_sm) const {
        const double slots = static_cast<double>(std::max<std::int64_t>(1, ctas_per_sm)) *
                             static_cast<double>(profile_.limits.sm_count);
        return std::min(1.0, static_cast<double>(ctas) / slots);
    }

    Seconds light_of(const ConvShape &shape) const {
        return speed_of_light(shape, profile_, std::nullopt, held_for(shape))->value_s;
    }

    /// N3: its CTAs are there, and have their code and their arguments, which come from L2.
    Seconds started(LaunchKind kind, const LaunchGrid &grid) const {
        // Latencies of L2: one for arguments, one for a kernel of little code. A kernel made for the launch
        // has several pieces of it; a layer norm has more, and two sums that the whole CTA waits for.
        constexpr double small = 2.0, made = 4.0, norm = 6.0;
        const bool is_small = grid.row_threads > 0 || kind == LaunchKind::softmax ||
                              kind == LaunchKind::to_columns || kind == LaunchKind::to_rows;
        const double waits = kind == LaunchKind::layer_norm ? norm : is_small ? small : made;
        return Seconds(machine_.cta_s * static_cast<double>(grid.x * grid.y) + waits * machine_.l2_latency_s);
    }

    /// N3 without the launch, where L2 has the share `held` of what is read and gives the share `lost` of
    /// what is written to DRAM. DRAM's bus carries both ways, L2 has ports for each.
    Seconds moved(double read, double held, double written, double lost) const {
        const Machine &m = machine_;
        const double from_dram = (1.0 - held) * read, to_dram = lost * written;
        const Seconds reads = formula::pnorm<Seconds>(
            "reads", m.knee,
            {Seconds(held * m.l2_latency_s + (1.0 - held) * m.latency_s),
             Seconds(std::max(read / m.l2_bw, from_dram / m.read_bw + to_dram / m.write_bw))});
        return std::max(reads, Seconds(written / m.l2_write_bw));
    }

    /// N4: all of it in one launch.
    Seconds light_of(double fmas, double read, double written) const {
        const Machine &m = machine_;
        const Seconds reads =
            formula::pnorm<Seconds>("reads", m.knee, {Seconds(m.latency_s), Seconds(read / m.read_bw)});
        return floor() + std::max({reads, multiplied(fmas), Seconds(written / m.write_bw)});
    }
    /// At the full rate of all SMs.
    Seconds multiplied(double fmas) const {
        const Machine &m = machine_;
        return Seconds(fmas / (static_cast<double>(m.sm_count) * m.ffma_rate * m.clock));
    }

  private:
    /// N11, of all launches with this shape.
    HeldByL2 held_for(const ConvShape &shape) const {
        const auto found = held_.find(shape.id());
        return found == held_.end() ? HeldByL2{} : found->second;
    }

    const Ways &best_of(const ConvShape &shape) {
        const auto [found, fresh] = ways_.try_emplace(shape.id());
        if (fresh)
            found->second = ranked(shape);
        return found->second;
    }

    Ways ranked(const ConvShape &shape) const {
        std::vector<std::pair<NetworkCandidate, const Plan *>> all;
        const Ranking ranking = rank(shape, profile_, knowledge_, question_.strategies);
        const HeldByL2 held = held_for(shape);
        for (const RankedSetting &setting : ranking.settings) {
            Plan plan = setting.planned.feasible.plan;
            plan.prepare.clear(); // filters stay the same from image to image
            if (question_.strategies.empty() && uses_tensor_cores(plan))
                continue;
            if (const auto time = forecast_call_time(plan, shape, gpu_, knowledge_.calibration, held))
                all.emplace_back(NetworkCandidate{to_text(setting.planned.strategy), *time},
                                 &setting.planned.feasible.plan);
        }
        if (all.empty())
            throw UsageError("no strategy does " + shape.id() + ": " +
                             (ranking.refused.empty() ? "none has a time" : ranking.refused.front().why.why));
        const auto shorter = [](const auto &one, const auto &other) {
            return one.first.time_s < other.first.time_s;
        };
        std::stable_sort(all.begin(), all.end(), shorter);
        const auto prepares = std::find_if(all.begin(), all.end(),
                                           [](const auto &way) { return !way.second->prepare.empty(); });
        if (prepares != all.end() && prepares->first.time_s <= all.front().first.time_s * tie)
            std::rotate(all.begin(), prepares, prepares + 1);
        Ways ways;
        ways.strategy = parse_strategy(all.front().first.strategy);
        ways.plan = *all.front().second;
        ways.time_s = mean_of_ties(all);
        for (const auto &[candidate, plan] : all)
            ways.best_s = std::min(ways.best_s, candidate.time_s);
        const auto ending =
            std::find_if(all.begin(), all.end(), [](const auto &way) { return ends_launch(*way.second); });
        if (ending != all.end())
            ways.ends = parse_strategy(ending->first.strategy);
        for (std::size_t i = 0; i < std::min(all.size(), question_.top); ++i)
            ways.candidates.push_back(std::move(all[i].first));
        return ways;
    }

    NamedWay named(const ConvShape &shape, const Strategy &strategy) {
        auto planned = compiled_plan(strategy, shape, gpu_, knowledge_.facts);
        if (auto *why = std::get_if<Infeasible>(&planned))
            return name_of(strategy) + " does not do " + shape.id() + ": " + why->why;
        auto &good = std::get<PlannedStrategy>(planned);
        Plan once = good.feasible.plan;
        once.prepare.clear(); // as of the candidates
        const auto time = forecast_call_time(once, shape, gpu_, knowledge_.calibration, held_for(shape));
        if (!time)
            return no_time(profile_, missing_for_forecast(profile_, good.feasible.plan));
        Ways ways;
        ways.strategy = good.strategy;
        ways.candidates = {{to_text(good.strategy), *time}};
        ways.time_s = ways.best_s = *time;
        if (ties_ && !uses_tensor_cores(good.feasible.plan))
            if (const Ways &chosen = best_of(shape); *time <= chosen.best_s * tie)
                ways.time_s = chosen.time_s; // N8: which of those that tie is faster nobody can say
        ways.plan = std::move(good.feasible.plan);
        return ways;
    }

    /// N8: of settings that tie the shortest forecast is that with the most luck.
    static Seconds mean_of_ties(const std::vector<std::pair<NetworkCandidate, const Plan *>> &all) {
        Seconds best = all.front().first.time_s, total;
        for (const auto &[candidate, plan] : all)
            best = std::min(best, candidate.time_s);
        double ties = 0.0;
        for (const auto &[candidate, plan] : all)
            if (candidate.time_s <= best * tie)
                total += candidate.time_s, ties += 1.0;
        return total / ties;
    }

    /// Launches on one stream start early.
    static bool starts_early(const NetworkQuestion &question) {
        const auto beside = [](const ScheduleLine &line) { return line.stream > 0; };
        return !question.schedule || std::ranges::none_of(question.schedule->schedule.lines, beside);
    }

    bool early_;
    GpuProfile profile_;
    Gpu gpu_;
    const Knowledge &knowledge_;
    const NetworkQuestion &question_;
    Seconds whole_floor_; ///< of an empty kernel alone
    Machine machine_;
    std::map<std::string, HeldByL2> held_;
    bool ties_ = true;
    std::map<std::string, Ways> ways_;
    std::map<std::string, NamedWay> named_;
    std::map<std::string, Ways> ending_; ///< of the shapes that take a strategy that ends launches
};

/// Bytes that L2 has so far as `held` says.
struct ReadBytes {
    double bytes = 0.0, from_l2 = 0.0;
    void add(double more, double held) { bytes += more, from_l2 += held * more; }
    double held() const { return bytes > 0.0 ? from_l2 / bytes : 0.0; }
};

/// Bytes of a launch: what it reads, parameters included, and writes.
struct LaunchBytes {
    ReadBytes read;
    ReadBytes
        beside; ///< of `read` what a convolution or dense layer reads for its end: biases, the other input
    double written = 0.0;
};

LaunchBytes bytes_of(const Network &network, const ScheduledLaunch &launch, const HeldForLaunch &held,
                     std::int64_t batch) {
    LaunchBytes bytes;
    const auto tensor_bytes = [&](const Tensor &tensor) {
        return 4.0 * static_cast<double>(batch * elements(network.shape_of(tensor.of)));
    };
    for (const std::size_t i : launch.operators) {
        const double of_operator =
            4.0 * static_cast<double>(parameters(network.operators[i], network.input_shapes(i).front()));
        bytes.read.add(of_operator, held.parameters);
        if (i != launch.operators.front())
            bytes.beside.add(of_operator, held.parameters);
    }
    for (std::size_t i = 0; i < launch.reads.size(); ++i) {
        bytes.read.add(i == 0 && !launch.operators.empty()
                           ? read_bytes(network.operators[launch.operators.front()],
                                        network.shape_of(launch.reads[i].of), batch)
                           : tensor_bytes(launch.reads[i]),
                       held.reads[i]);
        if (i > 0)
            bytes.beside.add(tensor_bytes(launch.reads[i]), held.reads[i]);
    }
    bytes.written = tensor_bytes(launch.writes);
    return bytes;
}

std::int64_t nodes_of(const Plan &plan) {
    return std::ssize(plan.launches) +
           std::count_if(plan.launches.begin(), plan.launches.end(),
                         [](const Partition &part) { return part.constant_bytes > 0; });
}

/// What its operators are: numbers that they have, operations that they do, bytes that the launch moves.
void count_work(const Network &network, const ScheduledLaunch &scheduled, const LaunchBytes &bytes,
                std::int64_t batch, NetworkLaunch &launch) {
    launch.bytes = bytes.read.bytes + bytes.written;
    launch.flops = 0.0;
    launch.parameters = 0;
    for (const std::size_t i : scheduled.operators) {
        const Operator &op = network.operators[i];
        const ImageShape input = network.input_shapes(i).front();
        *launch.flops += operations_of(op, input, batch);
        *launch.parameters += parameters(op, input);
    }
}

double scheduled_fmas(const Network &network, const ScheduledLaunch &launch, std::int64_t batch) {
    if (launch.operators.empty())
        return 0.0;
    const std::size_t first = launch.operators.front();
    return work_of(network.operators[first], network.input_shapes(first), batch).fmas.value_or(0.0);
}

/// A launch by itself, without the gap before it.
NetworkLaunch forecast_launch(const Network &network, Forecaster &forecaster,
                              const ScheduledLaunch &scheduled, const HeldForLaunch &held,
                              std::int64_t batch) {
    NetworkLaunch launch;
    launch.kind = scheduled.kind;
    launch.nodes = 1;
    for (const std::size_t i : scheduled.operators)
        launch.operators.push_back(network.operators[i].name);
    if (scheduled.operators.empty())
        launch.operators.push_back(scheduled.writes.of == Network::input_index
                                       ? "input"
                                       : network.operators[scheduled.writes.of].name);
    const LaunchBytes bytes = bytes_of(network, scheduled, held, batch);
    count_work(network, scheduled, bytes, batch, launch);
    if (!scheduled.shape) {
        const double fmas = scheduled_fmas(network, scheduled, batch);
        const Seconds moved =
            forecaster.moved(bytes.read.bytes, bytes.read.held(), bytes.written, held.written_lost);
        launch.time_s = forecaster.floor() +
                        forecaster.started(scheduled.kind, grid_of(network, scheduled, batch)) + moved;
        launch.light_s = forecaster.floor() + std::max(moved, forecaster.multiplied(fmas));
        if (fmas > 0.0)
            launch.time_s = std::max(launch.time_s, forecaster.light_of(fmas, 0.0, 0.0));
        return launch;
    }
    launch.shape = scheduled.shape->id();
    launch.light_s = forecaster.light_of(*scheduled.shape);
    if (scheduled.kind == LaunchKind::dense) {
        launch.time_s =
            *launch.light_s + forecaster.started(scheduled.kind, grid_of(network, scheduled, batch));
    } else {
        const Forecaster::Ways &ways = forecaster.ways_of(scheduled);
        launch.candidates = ways.candidates;
        launch.nodes = nodes_of(ways.plan);
        launch.time_s = ways.time_s;
    }
    if (bytes.beside.bytes > 0.0)
        launch.time_s += forecaster.moved(bytes.beside.bytes, bytes.beside.held(), 0.0, 0.0);
    return launch;
}

/// N9: of the SMs, what a launch takes while it runs alone.
double share_of_sms(const PlannedNetwork &plan, std::size_t i, const Forecaster &forecaster) {
    constexpr std::int64_t resident = 8; // CTAs of 256 threads
    if (!plan.plans[i]) {
        const LaunchGrid grid = grid_of(plan.network, plan.schedule[i], plan.batch());
        return forecaster.share_of(grid.x * grid.y, resident);
    }
    double share = 0.0;
    for (const Partition &part : plan.plans[i]->launches)
        share = std::max(share, forecaster.share_of(part.ctas, part.ctas_per_sm));
    return share;
}

/// N9: when each launch begins and ends. Launches of one stream follow each other; one that reads what
/// another stream writes waits for it; those that run at once share the SMs.
void overlap(PlannedNetwork &plan, const Forecaster &forecaster) {
    const std::vector<std::vector<std::size_t>> waits = waits_of(plan.schedule);
    struct Stream {
        std::vector<std::size_t> launches;
        std::size_t at = 0; ///< the one that runs or is next
        bool runs = false;
        double left = 0.0, share = 0.0; ///< of the one that runs: seconds while alone, and of the SMs
    };
    std::vector<Stream> streams(static_cast<std::size_t>(streams_of(plan.schedule)));
    for (std::size_t i = 0; i < plan.schedule.size(); ++i)
        streams[static_cast<std::size_t>(plan.schedule[i].stream)].launches.push_back(i);
    std::vector<bool> ended(plan.schedule.size(), false);
    const auto may_begin = [&](const Stream &stream) {
        if (stream.runs || stream.at == stream.launches.size())
            return false;
        const std::vector<std::size_t> &its = waits[stream.launches[stream.at]];
        return std::all_of(its.begin(), its.end(), [&](std::size_t other) { return ended[other]; });
    };
    double now = 0.0;
    while (true) {
        double asked = 0.0, next = std::numeric_limits<double>::infinity();
        for (Stream &stream : streams) {
            if (may_begin(stream)) {
                NetworkLaunch &launch = plan.forecast.first().launches[stream.launches[stream.at]];
                launch.begins_s = Seconds(now);
                stream.runs = true;
                stream.left = launch.time_s.value;
                stream.share = share_of_sms(plan, stream.launches[stream.at], forecaster);
            }
            if (stream.runs)
                asked += stream.share, next = std::min(next, stream.left);
        }
        if (asked == 0.0)
            break;
        now += next * std::max(1.0, asked);
        for (Stream &stream : streams) {
            stream.left -= next;
            if (!stream.runs || stream.left > 0.0)
                continue;
            const std::size_t launch = stream.launches[stream.at++];
            plan.forecast.first().launches[launch].ends_s = Seconds(now);
            ended[launch] = true;
            stream.runs = false;
        }
    }
    plan.forecast.first().forecast->time_s = Seconds(now);
}

/// The launches' times and what they add up to (N2).
PlannedNetwork timed(const Network &network, Forecaster &forecaster, std::int64_t batch,
                     std::vector<ScheduledLaunch> schedule) {
    PlannedNetwork out;
    out.network = network;
    out.schedule = std::move(schedule);
    NetworkCase &forecast = out.forecast.cases.emplace_back();
    Seconds time(0.0), convolutions(0.0), dense(0.0), others(0.0), gaps(0.0);
    double fmas = 0.0, flops = 0.0;
    std::int64_t nodes = 0;
    forecast.batch = batch;
    const bool one_stream = streams_of(out.schedule) == 1;
    const std::vector<HeldForLaunch> held = held_for_launches(network, out.schedule, batch, forecaster.gpu());
    for (std::size_t i = 0; i < out.schedule.size(); ++i) {
        ScheduledLaunch &scheduled = out.schedule[i];
        NetworkLaunch launch = forecast_launch(network, forecaster, scheduled, held[i], batch);
        const Seconds start = forecast.launches.empty() ? forecaster.first_start() : forecaster.gap();
        launch.time_s += start;
        gaps += start;
        if (!one_stream) { // none starts before what it waits for has ended
            const Seconds waits(dependent_gap_s * static_cast<double>(*launch.nodes));
            launch.time_s += waits;
            gaps += waits;
        }
        flops += *launch.flops;
        fmas += scheduled_fmas(network, scheduled, batch);
        (scheduled.kind == LaunchKind::convolution ? convolutions
         : scheduled.shape                         ? dense
                                                   : others) += launch.time_s;
        launch.begins_s = time;
        time += launch.time_s;
        launch.ends_s = time;
        nodes += *launch.nodes;
        if (scheduled.writes.columns)
            launch.columns = true;
        if (!one_stream)
            launch.stream = scheduled.stream;
        if (launch.candidates.empty()) {
            out.plans.emplace_back();
        } else {
            const Forecaster::Ways &ways = forecaster.ways_of(scheduled);
            scheduled.strategy = ways.strategy;
            out.plans.emplace_back(ways.plan);
        }
        forecast.launches.push_back(std::move(launch));
    }
    for (NetworkLaunch &launch : forecast.launches)
        launch.share = launch.time_s / time;
    forecast.forecast.emplace().time_s = time;
    forecast.convolutions_s = convolutions, forecast.dense_s = dense, forecast.others_s = others;
    forecast.fmas = fmas, forecast.flops = flops, forecast.gaps_s = gaps, forecast.nodes = nodes;
    if (!one_stream)
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
PlannedNetwork planned(const Network &network, Forecaster &forecaster, std::int64_t batch,
                       bool ended = true) {
    const auto by_choice = [&] {
        return timed(network, forecaster, batch, schedule_of(network, batch, [&](const ConvShape &shape) {
                         return ended && ends_launch(forecaster.ways_of(shape).plan);
                     }));
    };
    forecaster.prefer_none();
    forecaster.rank_ahead(planned_shapes(network, batch));
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
std::vector<ScheduledLaunch> as_given(const Network &network, Forecaster &forecaster,
                                      const ScheduleReading &reading) {
    return launches_of(reading, network,
                       [&](const std::optional<Strategy> &strategy,
                           const ConvShape &shape) -> std::variant<bool, std::string> {
                           if (!strategy) {
                               try {
                                   return ends_launch(forecaster.ways_of(shape).plan);
                               } catch (const UsageError &none) {
                                   return none.what();
                               }
                           }
                           const Forecaster::NamedWay &way = forecaster.way_of(shape, *strategy);
                           if (const auto *why = std::get_if<std::string>(&way))
                               return *why;
                           return ends_launch(std::get<Forecaster::Ways>(way).plan);
                       });
}

/// I3, of the launches as they are planned, one after another; streams are taken to change as much. Absent
/// where a plan cannot be timed on the GPU that is assumed.
std::optional<TimeRange> range_of(const PlannedNetwork &plan, const GpuProfile &profile,
                                  const Knowledge &knowledge, const NetworkQuestion &question) {
    const auto time_on = [&](const GpuProfile &other) {
        Forecaster forecaster(plan.network, other, knowledge, question);
        forecaster.leave_ties();
        return timed(plan.network, forecaster, question.batch, plan.schedule).time();
    };
    const std::optional<TimeRange> range = range_of_assumed(profile, time_on);
    if (!range)
        return std::nullopt;
    const Seconds own = time_on(profile), all = plan.time();
    return TimeRange{all * (range->low / own), all * (range->high / own)};
}

template <class Q> void scale(std::optional<Param<Q>> &param, double by) {
    if (param)
        param->value = param->value * by;
}

struct Change {
    const char *what; ///< of a launch, in a word of the name
    const char *name;
    std::function<void(GpuProfile &)> apply;
};

std::vector<Change> changes() {
    return {{"SMs", "twice the SMs, L2 and DRAM as they are",
             [](GpuProfile &p) {
                 p.limits.sm_count *= 2;
                 scale(p.clusters_of_4_sms, 2.0);
                 scale(p.clusters_of_8_sms, 2.0);
             }},
            {"L2", "L2 of twice the bandwidth and half the latency",
             [](GpuProfile &p) {
                 scale(p.l2_read_bandwidth, 2.0);
                 scale(p.l2_write_bandwidth, 2.0);
                 scale(p.l2_latency, 0.5);
             }},
            {"DRAM", "DRAM of twice the bandwidth",
             [](GpuProfile &p) {
                 scale(p.dram_read_bandwidth, 2.0);
                 scale(p.dram_write_bandwidth, 2.0);
             }},
            {"launches", "launches in half the time", [](GpuProfile &p) {
                 scale(p.launch_floor, 0.5);
                 scale(p.launch_gap, 0.5);
                 scale(p.graph_launch_period, 0.5);
                 scale(p.early_launch_period, 0.5);
             }}};
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

Seconds light_of(const Network &network, const Forecaster &forecaster, std::int64_t batch, double fmas) {
    double read = static_cast<double>(batch * elements(network.input)) * 4.0;
    for (std::size_t i = 0; i < network.operators.size(); ++i)
        read += 4.0 * static_cast<double>(parameters(network.operators[i], network.input_shapes(i).front()));
    const double written =
        4.0 * static_cast<double>(batch) * static_cast<double>(elements(network.operators.back().output));
    return forecaster.light_of(fmas, read, written);
}

} // namespace

PlannedNetwork plan_network(const Network &network, const GpuProfile &profile, const Knowledge &knowledge,
                            const NetworkQuestion &question) {
    Forecaster forecaster(network, profile, knowledge, question);
    std::optional<std::vector<ScheduledLaunch>> given;
    if (question.schedule)
        given = as_given(network, forecaster, *question.schedule);
    PlannedNetwork plan = given ? timed(network, forecaster, question.batch, *given)
                                : planned(network, forecaster, question.batch);
    NetworkRun &run = plan.forecast;
    NetworkCase &out = run.first();
    run.network = network.id;
    run.profile_id = profile.id;
    run.profile_hash = profile_hash(profile);
    out.light_s = light_of(network, forecaster, question.batch, *out.fmas);
    run.assumptions = {
        "filters are prepared once, and the network runs again and again: L2 has what of its tensors and "
        "parameters has passed it last"};
    if (std::any_of(out.launches.begin(), out.launches.end(),
                    [](const NetworkLaunch &launch) { return launch.kind == LaunchKind::dense; }))
        run.assumptions.emplace_back(
            "dense layers of fewer than 8 images at the speed of light, behind the start of their CTAs");
    if (!profile.graph_launch_period)
        run.assumptions.push_back("launches of a graph as far apart as those of a stream: the profile has no "
                                  "graph_launch_period");
    if (streams_of(plan.schedule) > 1)
        run.assumptions.emplace_back(
            "launches of several streams run at once and share the SMs by their CTAs, and none starts early; "
            "measured on one network only");
    run.assumptions.insert(run.assumptions.end(), knowledge.assumptions.begin(), knowledge.assumptions.end());
    out.memory = memory_of(plan);
    if (const auto range = range_of(plan, profile, knowledge, question))
        out.forecast->low_s = range->low, out.forecast->high_s = range->high;
    if (given)
        out.chosen_s = planned(network, forecaster, question.batch).time();
    if (!question.what_if)
        return plan;
    NetworkQuestion again = question;
    again.top = 1;
    const std::vector<ScheduledLaunch> launches = given.value_or(plan.schedule);
    for (const Change &change : changes()) {
        GpuProfile other = profile;
        change.apply(other);
        Forecaster changed(network, other, knowledge, again);
        if (!given)
            out.what_if.push_back({change.name, planned(network, changed, again.batch).time()});
        try {
            const PlannedNetwork same = timed(network, changed, again.batch, launches);
            if (given)
                out.what_if.push_back({change.name, same.time()});
            note_help(out, change.what, same.forecast.first());
        } catch (const UsageError &) { // a strategy of the schedule does not run on the GPU as changed
        }
    }
    if (!given)
        out.what_if.push_back({"bias, relu and add in launches of their own",
                               planned(network, forecaster, question.batch, false).time()});
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
