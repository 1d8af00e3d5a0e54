#include "model/network/launch_times.hpp"

#include "model/base/divide.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace convcast {
namespace {

double seconds(std::uint64_t from, std::uint64_t to) {
    return 1e-9 * (static_cast<double>(to) - static_cast<double>(from));
}

/// From the start of the first to the end of the last.
NodeSpan span_of(const CallNodes &nodes) {
    return {std::ranges::min_element(nodes, {}, &NodeSpan::start_ns)->start_ns,
            std::ranges::max_element(nodes, {}, &NodeSpan::end_ns)->end_ns};
}

/// The nodes of each launch, of which launch i has counts[i]; empty where there are not just as many, or the
/// first has none. A later launch without a node gets one of no time where the launch before ended.
std::vector<CallNodes> by_launch(const CallNodes &nodes, const std::vector<std::int64_t> &counts) {
    if (nodes.empty() || std::ranges::any_of(counts, [](std::int64_t count) { return count < 0; }) ||
        counts.empty() || counts.front() < 1 ||
        std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) != std::ssize(nodes))
        return {};
    std::vector<CallNodes> launches;
    auto next = nodes.begin();
    for (const std::int64_t count : counts) {
        if (count > 0) {
            launches.emplace_back(next, next + count);
        } else {
            const std::uint64_t ended = span_of(launches.back()).end_ns;
            launches.push_back({{ended, ended}});
        }
        next += count;
    }
    return launches;
}

/// What a launch took in each of several calls.
struct Samples {
    std::vector<double> times, begins, ends;
};

/// Medians over calls of launches that have so many nodes each, their times by `times_of` the nodes of a
/// call. `started`: when each call did, where that is not when its first node did.
template <class TimesOf>
std::vector<LaunchMeasurement> measured(const std::vector<std::int64_t> &counts,
                                        const std::vector<CallNodes> &calls, const TimesOf &times_of,
                                        const std::vector<std::uint64_t> &started = {}) {
    std::vector<Samples> samples(counts.size());
    for (std::size_t which = 0; which < calls.size(); ++which) {
        const CallNodes &call = calls[which];
        const std::vector<CallNodes> launches = by_launch(call, counts);
        if (launches.empty())
            return {};
        const std::vector<double> times = times_of(launches);
        const std::uint64_t start = started.empty() ? span_of(call).start_ns : started[which];
        for (std::size_t i = 0; i < launches.size(); ++i) {
            const NodeSpan span = span_of(launches[i]);
            samples[i].times.push_back(times[i]);
            samples[i].begins.push_back(seconds(start, span.start_ns));
            samples[i].ends.push_back(seconds(start, span.end_ns));
        }
    }
    std::vector<LaunchMeasurement> out;
    for (std::size_t i = 0; i < samples.size() && !calls.empty(); ++i)
        out.push_back({time_spread(samples[i].times), 0.0, time_spread(samples[i].begins).median_s,
                       time_spread(samples[i].ends).median_s});
    return out;
}

} // namespace

std::vector<LaunchMeasurement> launch_times(const PlannedNetwork &plan, const std::vector<CallNodes> &calls) {
    const std::vector<std::vector<std::size_t>> waits = waits_of(plan.schedule);
    std::vector<std::int64_t> counts;
    for (const NetworkLaunch &launch : plan.forecast.first().launches)
        counts.push_back(launch.nodes.value());
    std::vector<LaunchMeasurement> out = measured(counts, calls, [&](const std::vector<CallNodes> &launches) {
        std::vector<NodeSpan> spans;
        for (const CallNodes &nodes : launches)
            spans.push_back(span_of(nodes));
        std::map<std::int64_t, std::uint64_t> ended; // of each stream
        std::vector<double> times;
        for (std::size_t i = 0; i < spans.size(); ++i) {
            std::uint64_t &before =
                ended.try_emplace(plan.schedule[i].stream, span_of(spans).start_ns).first->second;
            for (const std::size_t other : waits[i])
                before = std::max(before, spans[other].end_ns);
            times.push_back(seconds(std::exchange(before, spans[i].end_ns), spans[i].end_ns));
        }
        return times;
    });
    const double all =
        std::accumulate(out.begin(), out.end(), 0.0, [](double sum, const LaunchMeasurement &one) {
            return sum + one.time_s.median_s.value;
        });
    for (LaunchMeasurement &launch : out)
        launch.share = launch.time_s.median_s.value / all;
    return out;
}

std::vector<CallNodes> spans_of(const std::vector<TracedCall> &calls) {
    std::vector<CallNodes> spans(calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i)
        for (const TracedNode &node : calls[i])
            spans[i].push_back(node.span);
    return spans;
}

std::int64_t launch_count(const Rung &rung, const LadderLaunch &launch, std::int64_t images) {
    const std::int64_t repeat = launch.repeat.value_or(1);
    if (!launch.each_stream.value_or(false))
        return repeat;
    const std::int64_t share = share_of(rung, images, 0).count;
    return repeat * std::min(rung.streams.value_or(1), ceil_div(images, share));
}

namespace {

double mean_time(const CallNodes &nodes) {
    double all = 0.0;
    for (const NodeSpan &node : nodes)
        all += seconds(node.start_ns, node.end_ns);
    return all / static_cast<double>(nodes.size());
}

std::uint64_t start_of(const TracedCall &call) {
    return std::ranges::min_element(call, {}, [](const TracedNode &node) { return node.span.start_ns; })
        ->span.start_ns;
}

/// What nodes have in common that are told together: GPU, name and bytes.
using NodeKind = std::tuple<int, std::string, std::optional<std::int64_t>>;

/// Of each kind the medians of several calls, by GPU and begin. Empty where a call has not as many of each
/// kind as the first one has.
std::vector<KernelTime> times_by_kind(const std::vector<TracedCall> &calls, bool only_copies) {
    std::map<NodeKind, Samples> samples;
    std::map<NodeKind, std::size_t> counts;
    for (const TracedCall &call : calls) {
        std::map<NodeKind, CallNodes> kinds;
        for (const TracedNode &node : call)
            if (node.bytes || !only_copies)
                kinds[{node.device, node.name, node.bytes}].push_back(node.span);
        for (const auto &[kind, nodes] : kinds) {
            if (counts.try_emplace(kind, nodes.size()).first->second != nodes.size())
                return {};
            Samples &its = samples[kind];
            its.times.push_back(mean_time(nodes));
            its.begins.push_back(seconds(start_of(call), span_of(nodes).start_ns));
            its.ends.push_back(seconds(start_of(call), span_of(nodes).end_ns));
        }
    }
    std::vector<KernelTime> out;
    for (const auto &[kind, its] : samples) {
        if (its.times.size() != calls.size())
            return {};
        const auto &[device, name, bytes] = kind;
        out.push_back({name, static_cast<std::int64_t>(counts.at(kind)), time_spread(its.times).median_s,
                       time_spread(its.begins).median_s, time_spread(its.ends).median_s, device, bytes});
    }
    std::ranges::stable_sort(out, {},
                             [](const KernelTime &time) { return std::pair(*time.device, time.begins_s); });
    return out;
}

} // namespace

std::vector<KernelTime> kernel_times(const Rung &rung, std::int64_t images,
                                     const std::vector<TracedCall> &calls) {
    std::vector<std::int64_t> counts;
    for (const LadderLaunch &launch : rung.launches)
        counts.push_back(launch_count(rung, launch, images));
    std::vector<CallNodes> kernels;
    std::vector<std::uint64_t> started;
    for (const TracedCall &call : calls) {
        CallNodes &its = kernels.emplace_back();
        for (const TracedNode &node : call)
            if (!node.bytes)
                its.push_back(node.span);
        started.push_back(call.empty() ? 0 : start_of(call));
    }
    const auto mean_times = [](const std::vector<CallNodes> &lines) {
        std::vector<double> times;
        std::ranges::transform(lines, std::back_inserter(times), mean_time);
        return times;
    };
    std::vector<KernelTime> out;
    for (const LaunchMeasurement &line : measured(counts, kernels, mean_times, started))
        out.push_back({rung.launches[out.size()].kernel, counts[out.size()], line.time_s.median_s,
                       *line.begins_s, *line.ends_s});
    if (!out.empty())
        for (KernelTime &copy : times_by_kind(calls, true)) {
            copy.device.reset(); // there is one
            out.push_back(std::move(copy));
        }
    return out;
}

std::vector<KernelTime> device_times(const std::vector<TracedCall> &calls) {
    return times_by_kind(calls, false);
}

} // namespace convcast
