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
    std::string by; ///< "simulation", or the timer of the chip that measured it
    /// How long the measured call took by the stop-watch, with the stamps in its code. Absent in a forecast.
    std::optional<Seconds> call_s;
    std::optional<std::int64_t> step_ns; ///< resolution of the timer that measured it. Absent in a forecast
    std::vector<LaunchTimeline> launches;
    CONVCAST_MEMBERS(Timeline, by, call_s, step_ns, launches)
};

/// The timeline of a call whose i-th launch is of kernels[i]. Rounds to nanoseconds and moves time 0 to the
/// earliest start. `spans` has every CTA of every launch exactly once, in any order. Throws
/// std::invalid_argument if a launch lacks a CTA or has one twice.
Timeline timeline_of(std::string by, std::span<const std::string> kernels, std::span<const CtaSpan> spans);

/// The CTAs of a timeline, in order of launch and CTA.
std::vector<CtaSpan> spans_of(const Timeline &timeline);

std::int64_t cta_count(const Timeline &timeline);

/// The kernels of a call in its order, and how many CTAs each launches, idle ones included.
struct CallLaunch {
    std::string kernel;
    std::int64_t ctas = 0;
};
std::vector<CallLaunch> launches_of(const Plan &plan);

/// A timeline of more CTAs is not written: a page could not draw it and an editor not open the document.
inline constexpr std::int64_t most_timeline_ctas = 200'000;

/// What a timeline says in a few numbers.
struct TimelineSummary {
    std::int64_t ctas = 0;
    std::int64_t sms = 0;                     ///< SMs that had a CTA
    std::int64_t most_at_once = 0;            ///< most CTAs that one SM had at the same time
    Seconds start_s;                          ///< when the first CTA starts
    Seconds makespan_s;                       ///< from there to the end of the last CTA
    Seconds mean_cta_s, cta_p05_s, cta_p95_s; ///< how long a CTA stays: mean, 5th and 95th percentile
    double tail_share = 0.0; ///< share of the makespan that an SM waits on average behind its own last CTA
    CONVCAST_MEMBERS(TimelineSummary, ctas, sms, most_at_once, start_s, makespan_s, mean_cta_s, cta_p05_s,
                     cta_p95_s, tail_share)
};
/// The summary of `spans`, which are those of a launch or of a whole call; zeros if there are none.
TimelineSummary summary_of(std::span<const CtaSpan> spans);

/// What is wrong with a timeline of a document, a sentence each; empty if it can be drawn.
std::vector<std::string> problems_of(const Timeline &timeline);

} // namespace convcast
