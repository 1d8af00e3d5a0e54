#include "microbench/analysis.hpp"
#include "microbench/derived.hpp"
#include "microbench/fits.hpp"
#include "microbench/selection.hpp"
#include "microbench/statistics.hpp"
#include "model/base/errors.hpp"
#include "model/machine/each_number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace convcast {
namespace {

constexpr double two_ways = 0.15; // one number found in two ways may differ by this part; chosen
constexpr double slack = 1.02;    // a number may be 2 % above its limit: clocks and measurements vary so much

/// A number of a profile, whichever probe it came from.
struct Known {
    double value;
    const char *unit;
};

std::map<std::string, Known> numbers_of(const GpuProfile &profile) {
    std::map<std::string, Known> numbers;
    for_each_param(profile, [&](const std::string &name, const auto &field) {
        if (field)
            numbers[name] = {field->value.value, UnitOf<std::decay_t<decltype(field->value)>>::text};
    });
    return numbers;
}

/// Each function below adds the checks of one group to the list that run() gives.
class Checks {
  public:
    Checks(const RawSamples &raw, const GpuProfile &profile)
        : raw_(raw), p_(profile), numbers_(numbers_of(profile)) {}

    std::vector<ProfileCheck> run() {
        clocks_and_lanes();
        pins();
        levels();
        latencies();
        little_law();
        capacities();
        shared_memory();
        granularity();
        launches();
        return std::move(checks_);
    }

  private:
    std::optional<double> number(const std::string &field) const {
        const auto at = numbers_.find(field);
        return at == numbers_.end() ? std::nullopt : std::optional(at->second.value);
    }

    void add(std::string name, bool passed, std::string text) {
        checks_.push_back({std::move(name), passed, std::move(text)});
    }

    /// Checks that `value` is not above `limit`. `what` names the value, `because` says why the limit holds.
    void at_most(std::string name, const std::string &what, double value, double limit, const char *unit,
                 const std::string &because) {
        add(std::move(name), value <= slack * limit,
            fmt::format("{} is {:.5g} {}, to be at most {:.5g} {}: {}", what, value, unit, limit, unit,
                        because));
    }

    /// The same check of a field; none if the field is missing or `limit` is 0, which means unknown.
    void at_most(std::string name, const std::string &field, double limit, const std::string &because) {
        if (const auto at = numbers_.find(field); at != numbers_.end() && limit > 0.0)
            at_most(std::move(name), field, at->second.value, limit, at->second.unit, because);
    }

    /// Checks that `one` is within the part `tolerance` of `other`: the same number found in two ways.
    void equal(const char *name, double one, double other, double tolerance, const std::string &text) {
        add(name, std::abs(one / other - 1.0) <= tolerance,
            fmt::format("{}; to agree within {:.0f} %", text, 100.0 * tolerance));
    }

    /// Clock, FFMA rate and peak against the driver's limits; FFMA latency against the rate of one warp.
    void clocks_and_lanes() {
        at_most("sm_clock_limit", "sm_clock", raw_.max_sm_clock_hz, "the driver's highest SM clock");
        at_most("ffma_lanes", "ffma_rate", raw_.limits.cores_per_sm, "one a clock on each FP32 lane");
        const std::optional<double> rate = number("ffma_rate"), clock = number("sm_clock"),
                                    latency = number("ffma_latency");
        if (rate && clock && raw_.max_sm_clock_hz > 0.0)
            at_most("peak_flops", "2 * SMs * ffma_rate * sm_clock",
                    2.0 * raw_.limits.sm_count * *rate * *clock,
                    2.0 * raw_.limits.sm_count * raw_.limits.cores_per_sm * raw_.max_sm_clock_hz, "FLOP/s",
                    "two on every FP32 lane at the highest clock");
        const Selection alone =
            select(raw_, "ffma_by_ilp", UnitOf<FmasPerCycle>::text, {{"ilp", 1.0}, {"warps", 1.0}});
        if (latency && !alone.found.empty()) {
            const double one_warp = best_of(alone.found, Better::highest).spread.p50;
            equal(
                "ffma_latency_rate", one_warp, 32.0 / *latency, 0.05,
                fmt::format("one warp of dependent FFMAs runs at {:.4g} fma/clk, 32 lanes every ffma_latency "
                            "= {:.4g} clk are {:.4g} fma/clk",
                            one_warp, *latency, 32.0 / *latency));
        }
    }

    /// No bandwidth of DRAM is above what its pins can carry.
    void pins() {
        const double pin_rate = 2.0 * raw_.memory_clock_hz * raw_.memory_bus_bits / 8.0; // B/s
        if (!(pin_rate > 0.0 && std::isfinite(pin_rate)))
            return;
        const char *because = "2 * memory clock * bus width, beyond which L2 must have served";
        for (const std::string way : {"read", "write", "copy"})
            at_most("dram_" + way + "_pins", "dram_" + way + "_bandwidth", pin_rate, because);
        for (const auto &[way, curve] : {std::pair{std::string("read"), &p_.dram_read_curve},
                                         {"write", &p_.dram_write_curve},
                                         {"copy", &p_.dram_copy_curve}})
            if (*curve && !(*curve)->bandwidth.empty())
                at_most("dram_" + way + "_curve_pins", "the highest point of dram_" + way + "_curve",
                        *std::max_element((*curve)->bandwidth.begin(), (*curve)->bandwidth.end()), pin_rate,
                        "B/s", because);
    }

    /// L2 is not slower than DRAM, whose bytes pass through it.
    void levels() {
        for (const std::string way : {"read", "write"})
            at_most("l2_" + way + "_above_dram", "dram_" + way + "_bandwidth",
                    number("l2_" + way + "_bandwidth").value_or(0.0),
                    "l2_" + way + "_bandwidth, through which it goes");
    }

    /// Checks that the latencies of `levels` ascend in this order; missing ones are left out.
    void ascending(const char *name, const std::vector<std::string> &levels, const char *because) {
        std::vector<std::string> words;
        std::string wrong, before;
        for (const std::string &level : levels) {
            const std::optional<double> latency = number(level);
            if (!latency)
                continue;
            words.push_back(fmt::format("{} {:.4g}", level, *latency));
            if (!before.empty() && *number(before) > slack * *latency)
                wrong += fmt::format("; {} is above {}", before, level);
            before = level;
        }
        if (words.size() > 1)
            add(name, wrong.empty(),
                fmt::format("{} clk, to ascend: {}{}", join(words, ", "), because, wrong));
    }

    /// Latencies ascend from each level of memory to the next.
    void latencies() {
        ascending("latency_order",
                  {"l1_latency", "l2_latency", "l2_far_latency", "dram_latency", "dram_tlb_latency"},
                  "a load passes each level on its way to the next");
        ascending("shared_latency_order", {"shared_latency", "l2_latency"}, "shared memory is inside the SM");
        ascending("constant_latency_order", {"constant_l1_latency", "constant_l2_latency"},
                  "a load passes the first cache on its way to the second");
        ascending("atomic_latency_order", {"shared_latency", "atomic_latency"}, "atomic adds are done in L2");
    }

    /// Little's law: bytes in flight = latency * bandwidth. The fit of dram_read_curve, of a loaded memory,
    /// must have the latency and the bytes that the idle latency and the bandwidth give.
    void little_law() {
        constexpr double tolerance = 0.25; // a loaded memory takes longer than an idle one
        const std::vector<double> seconds = dram_latency_seconds(raw_);
        if (!p_.dram_read_bandwidth || !p_.dram_read_curve || !p_.dram_read_curve->fit || seconds.empty())
            return;
        const FlightFit &fit = *p_.dram_read_curve->fit;
        const double latency = median_of(seconds), bytes = latency * p_.dram_read_bandwidth->value.value;
        const auto near = [&](double one, double other) {
            return std::max(one, other) <= (1.0 + tolerance) * std::min(one, other);
        };
        const bool passed = near(fit.latency_s, latency) && near(fit.paper_bytes, bytes);
        add("little_law", passed,
            fmt::format(
                "dram_latency {:.1f} ns * dram_read_bandwidth {:.1f} GB/s = {:.4g} B in flight; the fit of "
                "dram_read_curve has its knee at {:.1f} ns * {:.1f} GB/s = {:.4g} B; by Little's law latency "
                "and bytes are to agree within {:.0f} %",
                latency * 1e9, p_.dram_read_bandwidth->value.value / 1e9, bytes, fit.latency_s * 1e9,
                fit.bandwidth / 1e9, fit.paper_bytes, 100.0 * tolerance));
    }

    /// Sizes of caches and shared memory as found against those that the driver states.
    void capacities() {
        if (p_.l2_seen_bytes && raw_.limits.l2_bytes > 0) {
            // The knee is where half of the loads still hit. With random replacement, a random cycle does so
            // at 1.39 times the size of the cache.
            constexpr double least = 0.4, half = 0.7, most = 1.4; // parts of the size that the driver states
            const double seen = p_.l2_seen_bytes->value.value,
                         stated = static_cast<double>(raw_.limits.l2_bytes);
            const double part = seen / stated;
            add("l2_size", part >= least && part <= most,
                fmt::format("latency leaves that of L2 beyond {:.4g} B, {:.2f} of the {:.4g} B that the "
                            "driver tells{}; "
                            "to be {} to {}: one SM uses all of it, or its half where L2 has two parts that "
                            "both keep "
                            "what it reads",
                            seen, part, stated,
                            part > half     ? ", all of it"
                            : part >= least ? ", a half"
                                            : "",
                            least, most));
        }
        // What the largest L1 has beside the largest shared memory: 28 KiB on compute capability 8.0 and 9.0,
        // 24 KiB on 8.6 (CUDA C++ Programming Guide, "Compute Capabilities").
        constexpr double beside_shared = 32.0 * 1024.0;
        at_most("l1_size", "l1_seen_bytes", raw_.limits.shared_bytes_per_sm + beside_shared,
                "L1 and shared memory are one memory, at most 32 KiB of it never shared");
        at_most("shared_per_sm", "shared_per_sm_seen_bytes", raw_.limits.shared_bytes_per_sm,
                "what the driver tells of an SM");
        if (p_.shared_per_cta_seen_bytes)
            add("shared_per_cta",
                p_.shared_per_cta_seen_bytes->value.value == raw_.limits.shared_bytes_per_cta,
                fmt::format("one CTA got {:.0f} B of shared memory, the driver tells {} B; to be the same",
                            p_.shared_per_cta_seen_bytes->value.value, raw_.limits.shared_bytes_per_cta));
    }

    /// Banks and bandwidth of shared memory against the documentation and against each other.
    void shared_memory() {
        if (p_.bank_width && p_.bank_count) {
            const double width = p_.bank_width->value.value, count = p_.bank_count->value.value;
            // Kepler alone had 8-byte banks (CUDA C++ Programming Guide, "Shared Memory" of compute
            // capability 3.x).
            const double expected = raw_.compute_capability.starts_with("3.") ? 8.0 : 4.0;
            add("banks_documented", width == expected && count == 32.0,
                fmt::format(
                    "{} banks of {} B found by conflicts, 32 of {} B documented for compute capability {}",
                    count, width, expected, raw_.compute_capability));
            at_most("shared_bandwidth_banks", "shared_bandwidth", width * count, "all banks in every clock");
        }
        if (p_.bank_width)
            bank_width_by_elements(p_.bank_width->value.value);
        conflict_cost_of_banks();
    }

    /// Checks the width of a bank, `width` bytes as conflicts show it, against what wider loads gain.
    void bank_width_by_elements(double width) {
        std::optional<double> four, eight;
        for (const Configuration &configuration :
             select(raw_, "element_width", UnitOf<BytesPerCycle>::text).found) {
            const double lane_bytes = knob(*configuration.samples, "element_bytes").value_or(0.0) *
                                      knob(*configuration.samples, "elements").value_or(0.0);
            if (lane_bytes == 4.0)
                four = std::max(four.value_or(0.0), configuration.spread.p50);
            else if (lane_bytes == 8.0)
                eight = std::max(eight.value_or(0.0), configuration.spread.p50);
        }
        if (four && eight)
            equal("bank_width_by_elements", 4.0 * *eight / *four, width, two_ways,
                  fmt::format(
                      "loads of 8 B a lane reach {:.4g} B/clk, of 4 B {:.4g} B/clk, as banks of {:.3g} B do; "
                      "bank_width is {} B by conflicts",
                      *eight, *four, 4.0 * *eight / *four, width));
        for (const int bytes : {1, 2, 4, 8}) {
            const std::string name = fmt::format("matched_elements_{}_byte", bytes);
            const std::optional<double> seen = number(name);
            const double expected = std::max(1.0, width / bytes);
            if (seen)
                add(name, *seen == expected,
                    fmt::format(
                        "{} elements of {} B a lane are needed for full bandwidth, W_SMB / W_CD = {} / {} "
                        "asks for {}",
                        *seen, bytes, width, bytes, expected));
        }
    }

    /// Checks the cost of a conflict against the slope of the probe `banks`, where strides make the
    /// conflicts.
    void conflict_cost_of_banks() {
        if (!p_.conflict_cost || !p_.bank_width || !p_.bank_count)
            return;
        std::vector<double> degrees, cycles;
        for (const SweepPoint &point :
             sweep(raw_, "banks", UnitOf<Cycles>::text, "stride_words", Better::lowest).points) {
            if (point.x > 1024.0 || point.x != std::floor(point.x)) // as derive_banks() does
                continue;
            const int degree =
                conflict_degree(static_cast<int>(point.x), static_cast<int>(p_.bank_width->value.value),
                                static_cast<int>(p_.bank_count->value.value));
            if (degree < 2)
                continue;
            degrees.push_back(degree);
            cycles.push_back(point.configuration.spread.p50);
        }
        if (const std::optional<Line> line = fit_line(degrees, cycles); line && line->slope > 0.0)
            equal("conflict_cost_banks", p_.conflict_cost->value.value, line->slope, two_ways,
                  fmt::format("one way more costs {:.4g} clk by chosen conflicts, {:.4g} clk by strides",
                              p_.conflict_cost->value.value, line->slope));
    }

    /// Checks the sector found by time against the one counted.
    void granularity() {
        const Answer timed = stride_granule(raw_, 0), counted = stride_granule(raw_, 2);
        if (!timed.evidence || !counted.evidence)
            return;
        // Time follows the link with the larger granule, which may be the one to DRAM.
        const Answer from_dram = stride_granule(raw_, 1);
        const double seen = timed.evidence->value, sector = counted.evidence->value;
        const auto near = [&](double bytes) { return std::abs(seen / bytes - 1.0) <= two_ways; };
        const bool by_dram = from_dram.evidence && near(from_dram.evidence->value);
        add("sector_by_time", near(sector) || by_dram,
            fmt::format("time grows with the stride up to {:.4g} B a lane; sectors of {:.4g} B move between "
                        "L2 and SMs "
                        "by counter{}; to agree with {} within 15 %",
                        seen, sector,
                        from_dram.evidence ? fmt::format(", {:.4g} B from DRAM", from_dram.evidence->value)
                                           : "",
                        from_dram.evidence ? "either" : "it"));
    }

    /// Launching from a graph is not slower than from a stream.
    void launches() {
        if (!p_.stream_launch_period || !p_.graph_launch_period)
            return;
        constexpr double noise = 0.9; // the periods may be this much in the wrong order
        const double stream = p_.stream_launch_period->value.value,
                     graph = p_.graph_launch_period->value.value;
        add("launch_period_order", stream >= noise * graph,
            fmt::format("a kernel each {:.4g} us from a stream, each {:.4g} us from a graph, which is to be "
                        "no slower: it "
                        "spares the host's part",
                        stream * 1e6, graph * 1e6));
    }

    const RawSamples &raw_;
    const GpuProfile &p_;
    std::map<std::string, Known> numbers_; ///< by field
    std::vector<ProfileCheck> checks_;
};

} // namespace

std::vector<ProfileCheck> cross_checks(const RawSamples &raw, const GpuProfile &profile) {
    return Checks(raw, profile).run();
}

} // namespace convcast
