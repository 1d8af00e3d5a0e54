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

/// Nodes of a call that get one time: those of a launch, or of one name.
using Group = std::vector<NodeSpan>;

double seconds(std::uint64_t from, std::uint64_t to) {
    return 1e-9 * (static_cast<double>(to) - static_cast<double>(from));
}

/// From the start of the first to the end of the last.
NodeSpan span_of(const Group &nodes) {
    return {std::ranges::min_element(nodes, {}, &NodeSpan::start_ns)->start_ns,
            std::ranges::max_element(nodes, {}, &NodeSpan::end_ns)->end_ns};
}

enum class Nodes { all, kernels };

/// When each node of a call ran, or only each of its kernels, in their order.
Group spans_of(const TracedCall &call, Nodes which = Nodes::all) {
    Group spans;
    for (const TracedNode &node : call)
        if (which == Nodes::all || !node.bytes)
            spans.push_back(node.span);
    return spans;
}

/// Nodes cut into launches, of which launch i has counts[i]. Empty if the counts are not those of all nodes,
/// or the first is 0. A later launch without a node gets one of no time at the end of the launch before it.
std::vector<Group> by_launch(const Group &nodes, const std::vector<std::int64_t> &counts) {
    if (nodes.empty() || std::ranges::any_of(counts, [](std::int64_t count) { return count < 0; }) ||
        counts.empty() || counts.front() < 1 ||
        std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) != std::ssize(nodes))
        return {};
    std::vector<Group> launches;
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

/// By group, the mean time of its nodes in seconds.
std::vector<double> mean_times(const std::vector<Group> &groups) {
    std::vector<double> times;
    for (const Group &nodes : groups) {
        double all = 0.0;
        for (const NodeSpan &node : nodes)
            all += seconds(node.start_ns, node.end_ns);
        times.push_back(all / static_cast<double>(nodes.size()));
    }
    return times;
}

/// By group, medians over the calls of its time, and of when it began and ended from the start of the call.
/// `groups_of` has the groups of a call, `times_of` their seconds. Empty if calls have none or not as many.
template <class GroupsOf, class TimesOf>
std::vector<LaunchMeasurement> measured(const std::vector<TracedCall> &calls, const GroupsOf &groups_of,
                                        const TimesOf &times_of) {
    struct Samples {
        std::vector<double> times, begins, ends;
    };
    std::vector<Samples> samples;
    for (const TracedCall &call : calls) {
        const std::vector<Group> groups = groups_of(call);
        if (&call == &calls.front())
            samples.resize(groups.size());
        if (groups.empty() || groups.size() != samples.size())
            return {};
        const std::vector<double> times = times_of(groups);
        const std::uint64_t start = span_of(spans_of(call)).start_ns;
        for (std::size_t i = 0; i < groups.size(); ++i) {
            const NodeSpan span = span_of(groups[i]);
            samples[i].times.push_back(times[i]);
            samples[i].begins.push_back(seconds(start, span.start_ns));
            samples[i].ends.push_back(seconds(start, span.end_ns));
        }
    }
    std::vector<LaunchMeasurement> out;
    for (const Samples &group : samples)
        out.push_back({.time_s = time_spread(group.times),
                       .begins_s = time_spread(group.begins).median_s,
                       .ends_s = time_spread(group.ends).median_s});
    return out;
}

/// What the nodes of a group of times_by_kind have in common: GPU, name and bytes.
using NodeKind = std::tuple<int, std::string, std::optional<std::int64_t>>;

enum class Kinds { all, copies };

/// By kind of nodes, medians over several calls, in order of GPU and begin. Empty if calls differ in these.
std::vector<KernelTime> times_by_kind(const std::vector<TracedCall> &calls, Kinds which) {
    const auto kinds_of = [&](const TracedCall &call) {
        std::map<NodeKind, Group> kinds;
        for (const TracedNode &node : call)
            if (node.bytes || which == Kinds::all)
                kinds[{node.device, node.name, node.bytes}].push_back(node.span);
        return kinds;
    };
    const std::map<NodeKind, Group> first = calls.empty() ? kinds_of({}) : kinds_of(calls.front());
    const auto groups_of = [&](const TracedCall &call) {
        std::vector<Group> groups;
        for (const auto &[kind, nodes] : kinds_of(call)) {
            const auto same = first.find(kind);
            if (same == first.end() || same->second.size() != nodes.size())
                return std::vector<Group>{};
            groups.push_back(nodes);
        }
        return groups;
    };
    std::vector<KernelTime> out;
    auto kind = first.begin(); // measured() has the groups in this order
    for (const LaunchMeasurement &its : measured(calls, groups_of, mean_times)) {
        const auto &[device, name, bytes] = kind->first;
        out.push_back({name, std::ssize(kind++->second), its.time_s.median_s, *its.begins_s, *its.ends_s,
                       device, bytes});
    }
    std::ranges::stable_sort(out, {},
                             [](const KernelTime &time) { return std::pair(*time.device, time.begins_s); });
    return out;
}

} // namespace

std::vector<LaunchMeasurement> launch_times(const PlannedNetwork &plan,
                                            const std::vector<TracedCall> &calls) {
    const std::vector<std::vector<std::size_t>> waits = waits_of(plan.schedule);
    std::vector<std::int64_t> counts;
    for (const NetworkLaunch &launch : plan.forecast.first().launches)
        counts.push_back(launch.nodes.value());
    const auto groups_of = [&](const TracedCall &call) { return by_launch(spans_of(call), counts); };
    std::vector<LaunchMeasurement> out = measured(calls, groups_of, [&](const std::vector<Group> &launches) {
        std::vector<NodeSpan> spans;
        for (const Group &nodes : launches)
            spans.push_back(span_of(nodes));
        std::map<std::int64_t, std::uint64_t> ended; // by stream, the end of its last launch so far
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

std::int64_t launch_count(const Rung &rung, const LadderLaunch &launch, std::int64_t images) {
    const std::int64_t repeat = launch.repeat.value_or(1);
    if (!launch.each_stream.value_or(false))
        return repeat;
    const std::int64_t share = share_of(rung, images, 0).count;
    return repeat * std::min(rung.streams.value_or(1), ceil_div(images, share));
}

std::vector<KernelTime> kernel_times(const Rung &rung, std::int64_t images,
                                     const std::vector<TracedCall> &calls) {
    std::vector<std::int64_t> counts;
    for (const LadderLaunch &launch : rung.launches)
        counts.push_back(launch_count(rung, launch, images));
    const auto groups_of = [&](const TracedCall &call) {
        return by_launch(spans_of(call, Nodes::kernels), counts);
    };
    std::vector<KernelTime> out;
    for (const LaunchMeasurement &line : measured(calls, groups_of, mean_times))
        out.push_back({rung.launches[out.size()].kernel, counts[out.size()], line.time_s.median_s,
                       *line.begins_s, *line.ends_s});
    if (!out.empty())
        for (KernelTime &copy : times_by_kind(calls, Kinds::copies)) {
            copy.device.reset(); // a rung runs on one GPU
            out.push_back(std::move(copy));
        }
    return out;
}

std::vector<KernelTime> device_times(const std::vector<TracedCall> &calls) {
    return times_by_kind(calls, Kinds::all);
}

} // namespace convcast
