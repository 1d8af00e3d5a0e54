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

/// A GPU for one question: forecasts of convolutions are kept by shape.
class Forecaster {
  public:
    Forecaster(const GpuProfile &profile, const Knowledge &knowledge, const NetworkQuestion &question)
        : profile_(as_in_a_graph(profile)), gpu_(profile_), knowledge_(knowledge), question_(question),
          machine_(machine_of(gpu_, DataType::f32, knowledge.calibration.value_or(Calibration{}))) {}

    Seconds gap() const { return Seconds(machine_.gap_s); }
    Seconds floor() const { return Seconds(machine_.launch_s); }

    /// The convolution's candidates with their launches, best first.
    struct Ways {
        std::vector<NetworkCandidate> candidates;
        std::int64_t nodes = 1;
    };
    const Ways &ways_of(const ConvShape &shape) {
        const auto [found, fresh] = ways_.try_emplace(shape.id());
        if (fresh)
            found->second = ranked(shape);
        return found->second;
    }

    Seconds light_of(const ConvShape &shape) const { return speed_of_light(shape, profile_)->value_s; }

    /// N3: what moves `read` and `written` bytes and computes next to nothing.
    Seconds moving(double read, double written) const {
        using namespace launch_terms;
        const Machine &m = machine_;
        const bool kept = read + written <= static_cast<double>(profile_.limits.l2_bytes);
        const double latency = kept ? m.l2_latency_s : m.latency_s;
        return formula::sum<Seconds>(
            "moving",
            {floor(), formula::max_of<Seconds>(
                          "overlap", {formula::pnorm<Seconds>(
                                          "reads", m.knee,
                                          {Seconds(latency), Seconds(read / (kept ? m.l2_bw : m.read_bw))}),
                                      Seconds(written / (kept ? m.l2_write_bw : m.write_bw))})});
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
        std::vector<std::pair<NetworkCandidate, std::int64_t>> all;
        const Ranking ranking = rank(shape, profile_, knowledge_, question_.strategies);
        for (const RankedSetting &setting : ranking.settings) {
            Plan plan = setting.planned.feasible.plan;
            plan.prepare.clear(); // filters stay the same from image to image
            if (question_.strategies.empty() && uses_tensor_cores(plan))
                continue;
            if (const auto time = forecast_call_time(plan, shape, gpu_, knowledge_.calibration))
                all.emplace_back(NetworkCandidate{to_text(setting.planned.strategy), *time},
                                 static_cast<std::int64_t>(plan.launches.size()));
        }
        if (all.empty())
            throw UsageError("no strategy does " + shape.id() + ": " +
                             (ranking.refused.empty() ? "none has a time" : ranking.refused.front().why.why));
        std::stable_sort(all.begin(), all.end(), [](const auto &one, const auto &other) {
            return one.first.time_s < other.first.time_s;
        });
        Ways ways;
        ways.nodes = all.front().second;
        for (std::size_t i = 0; i < std::min(all.size(), question_.top); ++i)
            ways.candidates.push_back(std::move(all[i].first));
        return ways;
    }

    GpuProfile profile_;
    Gpu gpu_;
    const Knowledge &knowledge_;
    const NetworkQuestion &question_;
    Machine machine_;
    std::map<std::string, Ways> ways_;
};

/// Bytes of a launch: inputs from outside it, parameters, and its last output.
struct LaunchBytes {
    double read = 0.0, written = 0.0;
    double beside = 0.0; ///< of `read` what is neither the first input nor parameters
};

LaunchBytes bytes_of(const Network &network, const std::vector<std::size_t> &launch, std::int64_t batch) {
    LaunchBytes bytes;
    const auto image_bytes = [&](const ImageShape &shape) {
        return 4.0 * static_cast<double>(batch) * static_cast<double>(elements(shape));
    };
    for (const std::size_t i : launch) {
        const std::vector<std::size_t> sources = network.sources(i);
        const std::vector<ImageShape> shapes = network.input_shapes(i);
        bytes.read += 4.0 * static_cast<double>(parameters(network.operators[i], shapes.front()));
        for (std::size_t j = 0; j < sources.size(); ++j) {
            const bool inside = std::find(launch.begin(), launch.end(), sources[j]) != launch.end();
            if (inside)
                continue;
            bytes.read += image_bytes(shapes[j]);
            if (i != launch.front() || j > 0)
                bytes.beside += image_bytes(shapes[j]);
        }
    }
    bytes.written = image_bytes(network.operators[launch.back()].output);
    return bytes;
}

/// What follows a convolution or dense layer element by element could be done where that one writes.
bool could_end_a_convolution(const Network &network, const std::vector<std::size_t> &launch) {
    if (!is_elementwise(network.operators[launch.front()].kind))
        return false;
    const std::size_t source = network.sources(launch.front()).front();
    if (source == Network::input_index)
        return false;
    const OperatorKind kind = network.operators[source].kind;
    return kind == OperatorKind::convolution || kind == OperatorKind::dense;
}

/// The launches' times, and of the total what would be left without elementwise launches (N1).
struct Sum {
    NetworkForecast forecast;
    Seconds fused_s;
};

Sum sum_of(const Network &network, Forecaster &forecaster, const NetworkQuestion &question) {
    Sum out;
    NetworkForecast &forecast = out.forecast;
    for (const std::vector<std::size_t> &members : launches_of(network)) {
        NetworkLaunch launch;
        for (const std::size_t i : members)
            launch.operators.push_back(network.operators[i].name);
        const Operator &op = network.operators[members.front()];
        const LaunchBytes bytes = bytes_of(network, members, question.batch);
        Seconds *part = &forecast.others_s;
        if (const auto shape =
                as_convolution(op, network.input_shapes(members.front()).front(), question.batch)) {
            launch.shape = shape->id();
            launch.light_s = forecaster.light_of(*shape);
            forecast.fmas += shape->fmas().value;
            if (op.kind == OperatorKind::dense) {
                launch.time_s = *launch.light_s;
                part = &forecast.dense_s;
            } else {
                const Forecaster::Ways &ways = forecaster.ways_of(*shape);
                launch.candidates = ways.candidates;
                launch.nodes = ways.nodes;
                launch.time_s = ways.candidates.front().time_s;
                part = &forecast.convolutions_s;
            }
        } else {
            launch.time_s = forecaster.moving(bytes.read, bytes.written);
        }
        if (!forecast.launches.empty())
            launch.time_s = launch.time_s + forecaster.gap();
        *part += launch.time_s;
        out.fused_s += could_end_a_convolution(network, members)
                           ? forecaster.moving(bytes.beside, 0.0) - forecaster.moving(0.0, 0.0)
                           : launch.time_s;
        forecast.time_s += launch.time_s;
        forecast.nodes += launch.nodes;
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

std::vector<std::vector<std::size_t>> launches_of(const Network &network) {
    std::vector<std::size_t> readers(network.operators.size(), 0);
    for (std::size_t i = 0; i < network.operators.size(); ++i)
        for (const std::size_t source : network.sources(i))
            if (source != Network::input_index)
                ++readers[source];
    std::vector<std::vector<std::size_t>> launches;
    for (std::size_t i = 0; i < network.operators.size(); ++i) {
        const std::vector<std::size_t> sources = network.sources(i);
        const bool joins = i > 0 && is_elementwise(network.operators[i].kind) &&
                           is_elementwise(network.operators[i - 1].kind) && readers[i - 1] == 1 &&
                           std::find(sources.begin(), sources.end(), i - 1) != sources.end();
        if (joins)
            launches.back().push_back(i);
        else
            launches.push_back({i});
    }
    return launches;
}

NetworkForecast forecast_network(const Network &network, const GpuProfile &profile,
                                 const Knowledge &knowledge, const NetworkQuestion &question) {
    Forecaster forecaster(profile, knowledge, question);
    Sum sum = sum_of(network, forecaster, question);
    NetworkForecast &out = sum.forecast;
    out.network = network.id;
    out.batch = question.batch;
    out.profile_id = profile.id;
    out.profile_hash = profile_hash(profile);
    out.light_s = light_of(network, forecaster, question.batch, out.fmas);
    out.assumptions = {"filters are prepared once; each convolution reads its inputs from DRAM, though the "
                       "launch before it may have left them in L2",
                       "dense layers at the speed of light"};
    if (!profile.graph_launch_period)
        out.assumptions.push_back("launches of a graph as far apart as those of a stream: the profile has no "
                                  "graph_launch_period");
    out.assumptions.insert(out.assumptions.end(), knowledge.assumptions.begin(), knowledge.assumptions.end());
    if (!question.what_if)
        return out;
    NetworkQuestion again = question;
    again.top = 1;
    for (const Change &change : changes()) {
        GpuProfile other = profile;
        change.apply(other);
        Forecaster changed(other, knowledge, again);
        out.what_if.push_back({change.name, sum_of(network, changed, again).forecast.time_s});
    }
    out.what_if.push_back(
        {"bias, relu, logistic and add where the convolution before them writes", sum.fused_s});
    return out;
}

} // namespace convcast
