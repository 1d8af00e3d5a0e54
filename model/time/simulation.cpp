#include "model/time/simulation.hpp"

#include "model/time/call.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <optional>
#include <queue>
#include <string>
#include <vector>

namespace convcast {
namespace {

/// A CTA on an SM, and how much of it is still to do.
struct Resident {
    std::int64_t cta; ///< its number in the grid
    double left;      ///< share still to do: 1 at its start, 0 at its end
    bool first;       ///< it started with the launch
    double start;     ///< seconds
};

struct Sm {
    std::vector<Resident> residents;
    double seen = 0.0;       ///< the time, in seconds, for which `left` of its residents is right
    std::uint32_t event = 0; ///< number of its latest event; earlier ones are out of date and are skipped
};

/// The next end of a CTA on an SM, as foreseen when the event was made.
struct Event {
    double time; ///< seconds
    std::int64_t sm;
    std::uint32_t number; ///< Sm::event when it was made
    bool operator>(const Event &other) const {
        return time != other.time ? time > other.time : sm > other.sm;
    }
};

/// Whether a CTA finds work. filter_split and map_split give each SM a share, and start two CTAs for it that
/// lie half a row of the grid apart. With an even number of CTAs at work, both CTAs of a share are taken to
/// work, though the second of a share of a single row has none. In all other kernels the last CTAs of the
/// grid are those without work.
bool has_work(const Partition &part, std::int64_t cta) {
    if (part.idle_ctas == 0)
        return true;
    const std::int64_t columns = part.grid[0], busy = part.ctas - part.idle_ctas;
    if (part.parts == 0 || columns != 2 * part.parts)
        return cta < busy;
    const std::int64_t images = part.ctas / columns, of_an_image = busy / images;
    const std::int64_t halves = of_an_image > part.parts || of_an_image % 2 == 0 ? 2 : 1;
    const std::int64_t column = cta % columns;
    return column / part.parts < halves && column % part.parts < (of_an_image + halves - 1) / halves;
}

/// One launch from the time `begin` on, in seconds.
class SimulatedLaunch {
  public:
    SimulatedLaunch(const Partition &part, const CtaStay &stay, std::int64_t sm_count, double begin)
        : part_(part), stay_(stay), sms_(static_cast<std::size_t>(sm_count)), begin_(begin) {
        for (Sm &sm : sms_) {
            sm.seen = begin;
            sm.residents.reserve(static_cast<std::size_t>(part.ctas_per_sm));
        }
    }

    /// Simulates the first `count` CTAs of the grid and returns when the last of them ends, in seconds. Calls
    /// on_end(CtaSpan) once for each; its `launch` is 0.
    template <class OnEnd> double run(std::int64_t count, const OnEnd &on_end) {
        next_ = 0, last_ = count;
        double end = begin_;
        const auto done = [&](const Resident &cta, std::size_t sm, double time) {
            on_end(CtaSpan{0, cta.cta, static_cast<std::int64_t>(sm), Seconds(cta.start), Seconds(time)});
            end = std::max(end, time);
        };
        // CTAs go to each SM in turn until all places are taken. Those without work leave at once.
        for (bool room = true; room && next_ < last_;) {
            room = false;
            for (std::size_t sm = 0; sm < sms_.size() && next_ < last_; ++sm)
                if (std::ssize(sms_[sm].residents) < part_.ctas_per_sm) {
                    room = true;
                    take(sm, begin_, true, done);
                }
        }
        for (std::size_t sm = 0; sm < sms_.size(); ++sm)
            schedule(sm);
        while (!events_.empty()) {
            const Event event = events_.top();
            events_.pop();
            const auto at = static_cast<std::size_t>(event.sm);
            Sm &sm = sms_[at];
            if (event.number != sm.event)
                continue;
            advance(sm, event.time);
            constexpr double nothing = 1e-9; // a rounding error of `left`, so that CTAs end together
            for (std::size_t i = 0; i < sm.residents.size();) {
                if (sm.residents[i].left > nothing) {
                    ++i;
                    continue;
                }
                const Resident left = sm.residents[i];
                sm.residents.erase(sm.residents.begin() + static_cast<std::ptrdiff_t>(i));
                done(left, at, event.time);
            }
            while (next_ < last_ && std::ssize(sm.residents) < part_.ctas_per_sm)
                take(at, event.time, false, done);
            schedule(at);
        }
        return end;
    }

  private:
    /// Seconds that `cta` needs from start to end if the SM always has so many residents.
    double stay(const Resident &cta, std::size_t residents) const {
        const std::vector<Seconds> &table = cta.first ? stay_.first : stay_.later;
        return table[std::min(residents, table.size()) - 1].value;
    }

    /// Lets the residents of an SM do what they get done until `time`.
    void advance(Sm &sm, double time) {
        for (Resident &cta : sm.residents)
            cta.left -= (time - sm.seen) / stay(cta, sm.residents.size());
        sm.seen = time;
    }

    /// Gives the next CTA of the grid to SM `at`; one without work ends at once.
    template <class Done> void take(std::size_t at, double time, bool first, const Done &done) {
        const Resident cta{next_++, 1.0, first, time};
        if (has_work(part_, cta.cta))
            sms_[at].residents.push_back(cta);
        else
            done(cta, at, time + stay_.idle.value);
    }

    /// Foresees the next end of a CTA on SM `at`, which outdates the event that was foreseen before.
    void schedule(std::size_t at) {
        Sm &sm = sms_[at];
        double soonest = std::numeric_limits<double>::infinity();
        for (const Resident &cta : sm.residents)
            soonest = std::min(soonest, std::max(0.0, cta.left) * stay(cta, sm.residents.size()));
        ++sm.event;
        if (!sm.residents.empty())
            events_.push({sm.seen + soonest, static_cast<std::int64_t>(at), sm.event});
    }

    const Partition &part_;
    const CtaStay &stay_;
    std::vector<Sm> sms_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::int64_t next_ = 0, last_ = 0;
    double begin_;
};

} // namespace

std::optional<Simulation> simulate(const Plan &plan, const ConvShape &shape, const GpuProfile &profile,
                                   const Calibration &calibration, bool keep_spans) {
    const std::optional<CallTimes> times = call_times(plan, shape, profile, calibration);
    if (!times)
        return std::nullopt;
    Simulation out;
    double now = times->launch_s.value;
    std::size_t launch = 0;
    each_launch(plan, [&](const Partition &part) {
        const CtaStay &stay = times->stays[launch];
        if (launch > 0 && !part.early.value_or(false))
            now += times->gap_s.value;
        now += stay.before_s.value;
        const std::int64_t places = part.ctas_per_sm * stay.sms;
        // In the steady state every further wave takes equally long. Eight waves are simulated, for the
        // start, a steady state and the tail.
        constexpr std::int64_t waves_simulated = 8;
        std::int64_t skipped = 0;
        if (!keep_spans && part.idle_ctas == 0 && part.ctas > waves_simulated * places)
            skipped = (part.ctas - waves_simulated * places) / places;
        SimulatedLaunch simulation(part, stay, stay.sms, now);
        now = simulation.run(part.ctas - skipped * places, [&](CtaSpan span) {
            span.launch = static_cast<std::int64_t>(launch);
            if (keep_spans)
                out.spans.push_back(span);
        });
        now += static_cast<double>(skipped) * stay.later.back().value;
        ++launch;
    });
    out.time_s = Seconds(now);
    return out;
}

std::optional<Timeline> forecast_timeline(const Plan &plan, const ConvShape &shape, const GpuProfile &profile,
                                          const Calibration &calibration) {
    const std::optional<Simulation> simulation = simulate(plan, shape, profile, calibration);
    if (!simulation)
        return std::nullopt;
    std::vector<std::string> kernels;
    for (const CallLaunch &launch : launches_of(plan))
        kernels.push_back(launch.kernel);
    return timeline_of("simulation", kernels, simulation->spans);
}

} // namespace convcast
