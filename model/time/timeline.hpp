// When each CTA of each launch of a call starts and ends, and on which SM: forecast or measured, the same
// type.
#pragma once

#include "model/base/describe.hpp"
#include "model/base/units.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace convcast {

struct Plan;

/// One CTA's stay on an SM. Time 0 is the start of the call's first CTA.
struct CtaSpan {
    std::int64_t launch = 0; ///< in the order of the call: what a plan prepares first, then its launches
    std::int64_t cta = 0;    ///< x + grid.x * (y + grid.y * z)
    std::int64_t sm = 0;
    Seconds start_s, end_s;
};

/// The CTAs of one launch as columns, so that a document with 100,000 of them stays small; the i-th values
/// are CTA i's.
struct LaunchTimeline {
    std::string kernel;
    std::vector<std::int64_t> sm, start_ns, end_ns;
    CONVCAST_MEMBERS(LaunchTimeline, kernel, sm, start_ns, end_ns)
};

struct Timeline {
    std::string by;                ///< "simulation", or by which timer of the chip
    std::optional<Seconds> call_s; ///< of a measured one: this very call by the stop-watch, stamps included
    std::optional<std::int64_t> step_ns; ///< of a measured one: what its timer advances by at once
    std::vector<LaunchTimeline> launches;
    CONVCAST_MEMBERS(Timeline, by, call_s, step_ns, launches)
};

/// Rounds to nanoseconds and moves time 0 to the earliest start. Every CTA of the launches of `kernels` must
/// be among `spans` exactly once, in any order. Throws std::invalid_argument otherwise.
Timeline timeline_of(std::string by, std::span<const std::string> kernels, std::span<const CtaSpan> spans);

/// In order of launch and CTA.
std::vector<CtaSpan> spans_of(const Timeline &timeline);

std::int64_t cta_count(const Timeline &timeline);

/// The kernels of a call in its order, and how many CTAs each launches, idle ones included.
struct CallLaunch {
    std::string kernel;
    std::int64_t ctas = 0;
};
std::vector<CallLaunch> launches_of(const Plan &plan);

/// A document with more would outgrow what a page can draw and an editor can open.
inline constexpr std::int64_t most_timeline_ctas = 200'000;

/// What a timeline says in a few numbers.
struct TimelineSummary {
    std::int64_t ctas = 0;
    std::int64_t sms = 0;                     ///< that had a CTA
    std::int64_t most_at_once = 0;            ///< CTAs of an SM, the busiest SM at its busiest
    Seconds start_s;                          ///< of the first CTA
    Seconds makespan_s;                       ///< from there to the end of the last
    Seconds mean_cta_s, cta_p05_s, cta_p95_s; ///< how long a CTA stays
    double tail_share = 0.0; ///< of the makespan: what an SM waits on average behind its own last CTA
    CONVCAST_MEMBERS(TimelineSummary, ctas, sms, most_at_once, start_s, makespan_s, mean_cta_s, cta_p05_s,
                     cta_p95_s, tail_share)
};
/// Of the spans given, a launch's or a whole call's; of none, zeros.
TimelineSummary summary_of(std::span<const CtaSpan> spans);

/// What is wrong with a timeline of a document, a sentence each; empty if it can be drawn.
std::vector<std::string> problems_of(const Timeline &timeline);

} // namespace convcast
