#include "model/network/forecast.hpp"

#include "model/base/errors.hpp"
#include "model/choose/ranking.hpp"
#include "model/machine/machine.hpp"
#include "model/time/call.hpp"
#include "model/time/formula.hpp"
#include "model/time/memory_terms.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// N2: launches of a graph follow each other closer than those of a stream.
GpuProfile as_in_a_graph(GpuProfile profile) {
    if (profile.graph_launch_period && profile.graph_launch_period->value > profile.launch_floor->value) {
        Param<Seconds> gap = *profile.graph_launch_period;
        gap.value = gap.value - profile.launch_floor->value;
        profile.launch_gap = gap;
    }
    return profile;
}

/// N8: forecasts that are no further apart tie; nine of ten are that good. Of these a setting wins that
/// prepares its filters: that is done once for a network, and kernels that read raw filters are forecast too
/// short.
constexpr double tie = 1.15;

/// A GPU for one question: forecasts of convolutions are kept by shape.
class Forecaster {
  public:
    Forecaster(const GpuProfile &profile, const Knowledge &knowledge, const NetworkQuestion &question)
        : profile_(as_in_a_graph(profile)), gpu_(profile_), knowledge_(knowledge), question_(question),
          machine_(machine_of(gpu_, DataType::f32, knowledge.calibration.value_or(Calibration{}))) {}

    Seconds gap() const { return Seconds(machine_.gap_s); }
    Seconds floor() const { return Seconds(machine_.launch_s); }

    /// The convolution's candidates, best first, and the plan of the first.
    struct Ways {
        std::vector<NetworkCandidate> candidates;
        Plan plan;
        Seconds time_s; ///< N8
    };
    const Ways &ways_of(const ConvShape &shape) {
        const auto [found, fresh] = ways_.try_emplace(shape.id());
        if (fresh)
            found->second = ranked(shape);
        return found->second;
    }

    Seconds light_of(const ConvShape &shape) const { return speed_of_light(shape, profile_)->value_s; }

    /// N3: what moves `read` and `written` bytes by so many CTAs and computes next to nothing.
    Seconds moving(double read, double written, const LaunchGrid &grid) const {
        return floor() + started(grid) + moved(read, written);
    }
    Seconds started(const LaunchGrid &grid) const {
        return Seconds(machine_.cta_s * static_cast<double>(grid.x * grid.y));
    }

    /// N3 without the launch. DRAM's bus carries both ways, L2 has ports for each.
    Seconds moved(double read, double written) const {
        const Machine &m = machine_;
        const bool kept = read + written <= static_cast<double>(profile_.limits.l2_bytes);
        if (!kept)
            return formula::pnorm<Seconds>(
                "moved", m.knee, {Seconds(m.latency_s), Seconds(read / m.read_bw + written / m.write_bw)});
        const Seconds reads =
            formula::pnorm<Seconds>("reads", m.knee, {Seconds(m.l2_latency_s), Seconds(read / m.l2_bw)});
        return std::max(reads, Seconds(written / m.l2_write_bw));
    }

    /// N4: all of it in one launch.
    Seconds light_of(double fmas, double read, double written) const {
        const Machine &m = machine_;
        const Seconds reads =
            formula::pnorm<Seconds>("reads", m.knee, {Seconds(m.latency_s), Seconds(read / m.read_bw)});
        const Seconds products(fmas / (static_cast<double>(m.sm_count) * m.ffma_rate * m.clock));
        return floor() + std::max({reads, products, Seconds(written / m.write_bw)});
    }

  private:
    Ways ranked(const ConvShape &shape) const {
        std::vector<std::pair<NetworkCandidate, const Plan *>> all;
        const Ranking ranking = rank(shape, profile_, knowledge_, question_.strategies);
        for (const RankedSetting &setting : ranking.settings) {
            Plan plan = setting.planned.feasible.plan;
            plan.prepare.clear(); // filters stay the same from image to image
            if (question_.strategies.empty() && uses_tensor_cores(plan))
                continue;
            if (const auto time = forecast_call_time(plan, shape, gpu_, knowledge_.calibration))
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
        ways.plan = *all.front().second;
        ways.time_s = mean_of_ties(all);
        for (std::size_t i = 0; i < std::min(all.size(), question_.top); ++i)
            ways.candidates.push_back(std::move(all[i].first));
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

    GpuProfile profile_;
    Gpu gpu_;
    const Knowledge &knowledge_;
    const NetworkQuestion &question_;
    Machine machine_;
    std::map<std::string, Ways> ways_;
};

/// Bytes of a launch: what it reads, parameters included, and writes.
struct LaunchBytes {
    double read = 0.0, written = 0.0;
    double beside =
        0.0; ///< of `read` what a convolution or dense layer reads for its end: biases, the other input
};

LaunchBytes bytes_of(const Network &network, const ScheduledLaunch &launch, std::int64_t batch) {
    LaunchBytes bytes;
    const auto tensor_bytes = [&](const Tensor &tensor) {
        return 4.0 * static_cast<double>(batch * elements(network.shape_of(tensor.of)));
    };
    for (const std::size_t i : launch.operators) {
        const double of_operator =
            4.0 * static_cast<double>(parameters(network.operators[i], network.input_shapes(i).front()));
        bytes.read += of_operator;
        bytes.beside += i == launch.operators.front() ? 0.0 : of_operator;
    }
    for (std::size_t i = 0; i < launch.reads.size(); ++i) {
        bytes.read += tensor_bytes(launch.reads[i]);
        bytes.beside += i == 0 ? 0.0 : tensor_bytes(launch.reads[i]);
    }
    bytes.written = tensor_bytes(launch.writes);
    return bytes;
}

std::int64_t nodes_of(const Plan &plan) {
    return std::ssize(plan.launches) +
           std::count_if(plan.launches.begin(), plan.launches.end(),
                         [](const Partition &part) { return part.constant_bytes > 0; });
}

/// A launch by itself, without the gap before it.
NetworkLaunch forecast_launch(const Network &network, Forecaster &forecaster,
                              const ScheduledLaunch &scheduled, std::int64_t batch) {
    NetworkLaunch launch;
    launch.kind = scheduled.kind;
    for (const std::size_t i : scheduled.operators)
        launch.operators.push_back(network.operators[i].name);
    if (scheduled.operators.empty())
        launch.operators.push_back(scheduled.writes.of == Network::input_index
                                       ? "input"
                                       : network.operators[scheduled.writes.of].name);
    const LaunchBytes bytes = bytes_of(network, scheduled, batch);
    if (!scheduled.shape) {
        launch.time_s = forecaster.moving(bytes.read, bytes.written, grid_of(network, scheduled, batch));
        return launch;
    }
    launch.shape = scheduled.shape->id();
    launch.light_s = forecaster.light_of(*scheduled.shape);
    if (scheduled.kind == LaunchKind::dense) {
        launch.time_s = *launch.light_s + forecaster.started(grid_of(network, scheduled, batch));
    } else {
        const Forecaster::Ways &ways = forecaster.ways_of(*scheduled.shape);
        launch.candidates = ways.candidates;
        launch.nodes = nodes_of(ways.plan);
        launch.time_s = ways.time_s;
    }
    if (bytes.beside > 0.0)
        launch.time_s += forecaster.moved(bytes.beside, 0.0);
    return launch;
}

/// The launches' times and what they add up to (N2). Without `ended` every bias, activation and addition is a
/// launch of its own.
PlannedNetwork planned(const Network &network, Forecaster &forecaster, std::int64_t batch,
                       bool ended = true) {
    PlannedNetwork out;
    out.network = network;
    out.schedule = schedule_of(network, batch, [&](const ConvShape &shape) {
        return ended && ends_launch(forecaster.ways_of(shape).plan);
    });
    NetworkForecast &forecast = out.forecast;
    for (const ScheduledLaunch &scheduled : out.schedule) {
        NetworkLaunch launch = forecast_launch(network, forecaster, scheduled, batch);
        if (!forecast.launches.empty())
            launch.time_s = launch.time_s + forecaster.gap();
        if (scheduled.shape)
            forecast.fmas += scheduled.shape->fmas().value;
        (scheduled.kind == LaunchKind::convolution ? forecast.convolutions_s
         : scheduled.shape                         ? forecast.dense_s
                                                   : forecast.others_s) += launch.time_s;
        forecast.time_s += launch.time_s;
        forecast.nodes += launch.nodes;
        out.plans.push_back(launch.candidates.empty()
                                ? std::nullopt
                                : std::optional(forecaster.ways_of(*scheduled.shape).plan));
        forecast.launches.push_back(std::move(launch));
    }
    for (NetworkLaunch &launch : forecast.launches)
        launch.share = launch.time_s / forecast.time_s;
    return out;
}

template <class Q> void scale(std::optional<Param<Q>> &param, double by) {
    if (param)
        param->value = param->value * by;
}

struct Change {
    const char *name;
    std::function<void(GpuProfile &)> apply;
};

std::vector<Change> changes() {
    return {{"twice the SMs, L2 and DRAM as they are",
             [](GpuProfile &p) {
                 p.limits.sm_count *= 2;
                 scale(p.clusters_of_4_sms, 2.0);
                 scale(p.clusters_of_8_sms, 2.0);
             }},
            {"L2 of twice the bandwidth and half the latency",
             [](GpuProfile &p) {
                 scale(p.l2_read_bandwidth, 2.0);
                 scale(p.l2_write_bandwidth, 2.0);
                 scale(p.l2_latency, 0.5);
             }},
            {"DRAM of twice the bandwidth",
             [](GpuProfile &p) {
                 scale(p.dram_read_bandwidth, 2.0);
                 scale(p.dram_write_bandwidth, 2.0);
             }},
            {"launches in half the time", [](GpuProfile &p) {
                 scale(p.launch_floor, 0.5);
                 scale(p.launch_gap, 0.5);
                 scale(p.graph_launch_period, 0.5);
             }}};
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
    Forecaster forecaster(profile, knowledge, question);
    PlannedNetwork plan = planned(network, forecaster, question.batch);
    NetworkForecast &out = plan.forecast;
    out.network = network.id;
    out.batch = question.batch;
    out.profile_id = profile.id;
    out.profile_hash = profile_hash(profile);
    out.light_s = light_of(network, forecaster, question.batch, out.fmas);
    out.assumptions = {
        "filters are prepared once; each convolution reads its inputs from DRAM, though the "
        "launch before it may have left them in L2",
        "dense layers of fewer than 8 images at the speed of light, behind the start of their CTAs"};
    if (!profile.graph_launch_period)
        out.assumptions.push_back("launches of a graph as far apart as those of a stream: the profile has no "
                                  "graph_launch_period");
    out.assumptions.insert(out.assumptions.end(), knowledge.assumptions.begin(), knowledge.assumptions.end());
    if (!question.what_if)
        return plan;
    NetworkQuestion again = question;
    again.top = 1;
    for (const Change &change : changes()) {
        GpuProfile other = profile;
        change.apply(other);
        Forecaster changed(other, knowledge, again);
        out.what_if.push_back({change.name, planned(network, changed, again.batch).forecast.time_s});
    }
    out.what_if.push_back({"bias, relu and add in launches of their own",
                           planned(network, forecaster, question.batch, false).forecast.time_s});
    return plan;
}

NetworkForecast forecast_network(const Network &network, const GpuProfile &profile,
                                 const Knowledge &knowledge, const NetworkQuestion &question) {
    return plan_network(network, profile, knowledge, question).forecast;
}

} // namespace convcast
