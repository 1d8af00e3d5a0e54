#include "model/time/timeline.hpp"

#include "model/plan/plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr double nano = 1e-9;

std::int64_t nanoseconds(Seconds time) {
    return std::llround(time.value / nano);
}

/// The percentile `p` (0 to 1) of n sorted values, n > 0: the value at the whole number nearest to
/// p * (n - 1), counted from 0. The nearest rank of model/base/statistics.hpp may be its neighbour.
double value_nearest_to(const std::vector<double> &sorted, double p) {
    return sorted[static_cast<std::size_t>(std::llround(p * static_cast<double>(sorted.size() - 1)))];
}

} // namespace

std::vector<CallLaunch> launches_of(const Plan &plan) {
    std::vector<CallLaunch> launches;
    each_launch(plan, [&](const Partition &part) {
        launches.push_back({part.kernel, part.grid[0] * part.grid[1] * part.grid[2]});
    });
    return launches;
}

Timeline timeline_of(std::string by, std::span<const std::string> kernels, std::span<const CtaSpan> spans) {
    Timeline timeline;
    timeline.by = std::move(by);
    for (const std::string &kernel : kernels)
        timeline.launches.push_back({kernel, {}, {}, {}});
    std::vector<std::size_t> counts(kernels.size());
    Seconds begin = spans.empty() ? Seconds(0.0) : spans.front().start_s;
    for (const CtaSpan &span : spans) {
        ++counts.at(static_cast<std::size_t>(span.launch));
        begin = std::min(begin, span.start_s);
    }
    constexpr std::int64_t nowhere = -1;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        LaunchTimeline &launch = timeline.launches[i];
        launch.sm.assign(counts[i], nowhere);
        launch.start_ns.resize(counts[i]);
        launch.end_ns.resize(counts[i]);
    }
    for (const CtaSpan &span : spans) {
        LaunchTimeline &launch = timeline.launches[static_cast<std::size_t>(span.launch)];
        const auto at = static_cast<std::size_t>(span.cta);
        if (at >= launch.sm.size() || launch.sm[at] != nowhere)
            throw std::invalid_argument("CTA " + std::to_string(span.cta) + " of launch " +
                                        std::to_string(span.launch) +
                                        " is there twice, or another is missing");
        launch.sm[at] = span.sm;
        launch.start_ns[at] = nanoseconds(span.start_s - begin);
        launch.end_ns[at] = nanoseconds(span.end_s - begin);
    }
    return timeline;
}

std::vector<CtaSpan> spans_of(const Timeline &timeline) {
    std::vector<CtaSpan> spans;
    for (std::size_t launch = 0; launch < timeline.launches.size(); ++launch) {
        const LaunchTimeline &columns = timeline.launches[launch];
        for (std::size_t i = 0; i < columns.sm.size(); ++i)
            spans.push_back({static_cast<std::int64_t>(launch), static_cast<std::int64_t>(i), columns.sm[i],
                             Seconds(static_cast<double>(columns.start_ns[i]) * nano),
                             Seconds(static_cast<double>(columns.end_ns[i]) * nano)});
    }
    return spans;
}

std::int64_t cta_count(const Timeline &timeline) {
    std::int64_t count = 0;
    for (const LaunchTimeline &launch : timeline.launches)
        count += std::ssize(launch.sm);
    return count;
}

TimelineSummary summary_of(std::span<const CtaSpan> spans) {
    TimelineSummary summary;
    if (spans.empty())
        return summary;
    struct Sm {
        std::vector<std::pair<Seconds, int>> changes; ///< of its number of CTAs
        Seconds end{0.0};
    };
    std::map<std::int64_t, Sm> sms;
    std::vector<double> durations;
    double total = 0.0;
    Seconds start = spans.front().start_s, end = spans.front().end_s;
    for (const CtaSpan &span : spans) {
        Sm &sm = sms[span.sm];
        sm.end = std::max(sm.end, span.end_s);
        if (span.end_s > span.start_s) { // a CTA without work takes no room for any time
            sm.changes.emplace_back(span.start_s, 1);
            sm.changes.emplace_back(span.end_s, -1);
        }
        durations.push_back((span.end_s - span.start_s).value);
        total += durations.back();
        start = std::min(start, span.start_s);
        end = std::max(end, span.end_s);
    }
    std::sort(durations.begin(), durations.end());
    summary.ctas = std::ssize(spans);
    summary.sms = std::ssize(sms);
    summary.start_s = start;
    summary.makespan_s = end - start;
    summary.mean_cta_s = Seconds(total / static_cast<double>(durations.size()));
    summary.cta_p05_s = Seconds(value_nearest_to(durations, 0.05));
    summary.cta_p95_s = Seconds(value_nearest_to(durations, 0.95));
    double waited = 0.0;
    for (auto &[id, sm] : sms) {
        // At the same time ends come first: a CTA takes the place of one that has left.
        std::sort(sm.changes.begin(), sm.changes.end());
        std::int64_t at_once = 0;
        for (const auto &[time, change] : sm.changes)
            summary.most_at_once = std::max(summary.most_at_once, at_once += change);
        waited += (end - sm.end).value;
    }
    if (summary.makespan_s.value > 0.0)
        summary.tail_share = waited / static_cast<double>(sms.size()) / summary.makespan_s.value;
    return summary;
}

std::vector<std::string> problems_of(const Timeline &timeline) {
    std::vector<std::string> problems;
    if (cta_count(timeline) > most_timeline_ctas)
        problems.push_back("more than " + std::to_string(most_timeline_ctas) + " CTAs");
    constexpr std::int64_t most_sms = 4096, most_ns = 1'000'000'000'000; // above any GPU's, any call's
    for (std::size_t i = 0; i < timeline.launches.size(); ++i) {
        const LaunchTimeline &launch = timeline.launches[i];
        const std::string place = "launches/" + std::to_string(i) + ": ";
        if (launch.start_ns.size() != launch.sm.size() || launch.end_ns.size() != launch.sm.size()) {
            problems.push_back(place + "expected as many start_ns and end_ns as sm");
            continue;
        }
        for (std::size_t cta = 0; cta < launch.sm.size(); ++cta) {
            const std::string its_place = place + "CTA " + std::to_string(cta) + ": ";
            if (launch.sm[cta] < 0 || launch.sm[cta] >= most_sms)
                problems.push_back(its_place + "expected an SM from 0 to " + std::to_string(most_sms - 1));
            else if (launch.start_ns[cta] < 0 || launch.end_ns[cta] < launch.start_ns[cta] ||
                     launch.end_ns[cta] > most_ns)
                problems.push_back(its_place + "expected 0 <= start_ns <= end_ns");
            else
                continue;
            break; // one of a launch says enough
        }
    }
    return problems;
}

} // namespace convcast
