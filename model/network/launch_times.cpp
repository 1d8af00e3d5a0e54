#include "model/network/launch_times.hpp"

#include "model/base/divide.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
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

/// Medians over calls of launches that have so many nodes each, their times by `times_of` the nodes of a
/// call.
template <class TimesOf>
std::vector<LaunchMeasurement> measured(const std::vector<std::int64_t> &counts,
                                        const std::vector<CallNodes> &calls, const TimesOf &times_of) {
    struct Samples {
        std::vector<double> times, begins, ends;
    };
    std::vector<Samples> samples(counts.size());
    for (const CallNodes &call : calls) {
        const std::vector<CallNodes> launches = by_launch(call, counts);
        if (launches.empty())
            return {};
        const std::vector<double> times = times_of(launches);
        for (std::size_t i = 0; i < launches.size(); ++i) {
            const NodeSpan span = span_of(launches[i]);
            samples[i].times.push_back(times[i]);
            samples[i].begins.push_back(seconds(span_of(call).start_ns, span.start_ns));
            samples[i].ends.push_back(seconds(span_of(call).start_ns, span.end_ns));
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

std::int64_t launch_count(const Rung &rung, const LadderLaunch &launch, std::int64_t images) {
    const std::int64_t repeat = launch.repeat.value_or(1);
    if (!launch.each_stream.value_or(false))
        return repeat;
    const std::int64_t share = share_of(rung, images, 0).count;
    return repeat * std::min(rung.streams.value_or(1), ceil_div(images, share));
}

std::vector<KernelTime> kernel_times(const Rung &rung, std::int64_t images,
                                     const std::vector<CallNodes> &calls) {
    std::vector<std::int64_t> counts;
    for (const LadderLaunch &launch : rung.launches)
        counts.push_back(launch_count(rung, launch, images));
    const auto mean_times = [](const std::vector<CallNodes> &lines) {
        std::vector<double> times;
        for (const CallNodes &nodes : lines) {
            double all = 0.0;
            for (const NodeSpan &node : nodes)
                all += seconds(node.start_ns, node.end_ns);
            times.push_back(all / static_cast<double>(nodes.size()));
        }
        return times;
    };
    std::vector<KernelTime> out;
    for (const LaunchMeasurement &line : measured(counts, calls, mean_times))
        out.push_back({rung.launches[out.size()].kernel, counts[out.size()], line.time_s.median_s,
                       *line.begins_s, *line.ends_s});
    return out;
}

} // namespace convcast
