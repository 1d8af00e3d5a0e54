#include "microbench/derived.hpp"

#include "microbench/fits.hpp"
#include "microbench/statistics.hpp"
#include "model/base/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

constexpr const char *clk = UnitOf<Cycles>::text, *bytes_per_s = UnitOf<Bandwidth>::text,
                     *plain = UnitOf<Plain>::text, *seconds = UnitOf<Seconds>::text;
constexpr const char *resampled = "interval by bootstrap over the samples of each point";

/// The value of `number` for the medians of several sets of samples, with an interval by resampling each set.
/// `number` must have a value for the medians themselves.
Evidence fitted(std::string by, const std::vector<std::vector<double>> &samples,
                const std::function<std::optional<double>(const std::vector<double> &)> &number) {
    std::vector<double> medians;
    for (const std::vector<double> &values : samples)
        medians.push_back(median_of(values));
    return {.value = number(medians).value(),
            .by = std::move(by),
            .interval = bootstrap_interval(samples, number)};
}

} // namespace

// ---- latencies ----

/// The median over the SMs of each SM's own median: an SM counts once, however many samples it gave. SMs
/// differ, since some are nearer to a part of L2 than others.
void derive_l2_latency(const RawSamples &raw, Findings &findings) {
    const Selection selection = select(raw, "l2_latency", clk);
    if (selection.found.empty())
        return findings.lack("l2_latency", selection.why);
    std::map<double, Configuration> sms;
    for (const Configuration &configuration : selection.found)
        if (const std::optional<double> sm = knob(*configuration.samples, "sm"))
            keep_better(sms, *sm, configuration, Better::lowest);
    if (sms.size() < 2)
        return findings.give("l2_latency", evidence_of(best_of(selection.found, Better::lowest)));
    std::vector<double> medians;
    for (const auto &[sm, configuration] : sms)
        medians.push_back(configuration.spread.p50);
    findings.give("l2_latency",
                  evidence_of(fmt::format("l2_latency (median over {} SMs of each one's median)", sms.size()),
                              medians));
}

void derive_tlb_latency(const RawSamples &raw, Findings &findings) {
    const auto [points, why] = sweep(raw, "tlb_latency", clk, "region_bytes", Better::lowest);
    if (points.empty())
        return findings.lack("dram_tlb_latency", why);
    // A TLB that covers the largest region is never missed; then there is nothing to report.
    constexpr double clearly_longer = 1.1; // chosen
    const double smallest = points.front().configuration.spread.p50,
                 largest = points.back().configuration.spread.p50;
    if (points.size() > 1 && largest < clearly_longer * smallest)
        return findings.lack(
            "dram_tlb_latency",
            fmt::format("no TLB miss seen: {:.4g} clk in a region of {:.4g} GiB, {:.4g} clk in one of "
                        "{:.4g} GiB",
                        smallest, points.front().x / 0x1p30, largest, points.back().x / 0x1p30));
    findings.give("dram_tlb_latency", evidence_of(points.back().configuration));
}

namespace {

/// A cache as it shows in the latencies of a sweep over footprints: the points where it serves every load,
/// and those where the next level does.
struct Cache {
    Plateau plateau, next;
    std::size_t knee = 0; ///< index of the last footprint that still counts as inside the cache
};

// Chosen; the test Analysis.CapacitiesOfManyCaches shows what they tell apart.
constexpr double one_level = 0.08; // latencies of one plateau differ by at most this part
// A footprint is inside a cache until latency has gone this part of the way to the next level's:
constexpr double leaves = 0.15; // a full cache loses some of its sets before others
constexpr double midway = 0.5;  // L2 with a far half: beyond the near half many loads still hit the far one

/// The first cache of a sweep, whose plateaus have at least `least_points` points. Absent unless its plateau
/// begins at one of the two smallest footprints and a higher one follows.
std::optional<Cache> first_cache(const std::vector<double> &latencies, std::size_t least_points) {
    const std::vector<Plateau> plateaus = plateaus_of(latencies, one_level, least_points);
    if (plateaus.size() < 2 || plateaus[0].first > 1 || plateaus[1].level <= plateaus[0].level)
        return std::nullopt;
    return Cache{plateaus[0], plateaus[1], knee_after(latencies, plateaus[0], plateaus[1].level, leaves)};
}

/// L2, from a sweep that goes far beyond it; absent if the sweep does not, or shows no such level. Of several
/// plateaus that begin inside L2 the last counts, so that a far half of L2 is not taken for DRAM. `l2_bytes`,
/// the driver's size, only tells that plateau from those of DRAM, which differ by whether the TLBs hit.
std::optional<Cache> second_cache(const std::vector<double> &footprints, const std::vector<double> &latencies,
                                  double l2_bytes) {
    constexpr double far_beyond = 1.5, surely_inside = 0.9; // of l2_bytes
    constexpr double higher = 1.15;                         // of the last plateau: a level of its own
    if (footprints.empty() || footprints.back() < far_beyond * l2_bytes)
        return std::nullopt;
    std::vector<Plateau> plateaus = plateaus_of(latencies, one_level, 3);
    if (plateaus.empty())
        return std::nullopt;
    const std::size_t end = latencies.size() - 1;
    if (plateaus.back().last < end && latencies[end] > higher * plateaus.back().level)
        plateaus.push_back({end, end, latencies[end]}); // DRAM, which only the last point reaches
    std::optional<Cache> found;
    for (std::size_t i = 1; i + 1 < plateaus.size(); ++i)
        if (footprints[plateaus[i].first] <= surely_inside * l2_bytes &&
            plateaus[i + 1].level > plateaus[i].level)
            found = Cache{plateaus[i], plateaus[i + 1],
                          knee_after(latencies, plateaus[i], plateaus[i + 1].level, midway)};
    return found;
}

/// Gives `field` the footprint at the knee of `cache`, which `find` found in the sweep. `find` runs again on
/// resampled medians: from how the knee moves comes the interval.
void give_capacity(const char *field, const char *probe, const Sweep &footprints, const Cache &cache,
                   const std::function<std::optional<Cache>(const std::vector<double> &)> &find,
                   Findings &findings) {
    findings.give(field, fitted(fmt::format("{} (where latency leaves {:.4g} for {:.4g} clk; {})", probe,
                                            cache.plateau.level, cache.next.level, resampled),
                                footprints.samples(), [&](const std::vector<double> &medians) {
                                    const std::optional<Cache> found = find(medians);
                                    return found ? std::optional(footprints.points[found->knee].x)
                                                 : std::nullopt;
                                }));
}

std::string no_first_cache(const char *probe, const Sweep &footprints) {
    return fmt::format("probe {}: no level at the small footprints with a higher one after it ({})", probe,
                       footprints.text());
}

} // namespace

void derive_footprints(const RawSamples &raw, Findings &findings) {
    const char *const probe = "latency_by_footprint";
    const Sweep sizes = sweep(raw, probe, clk, "footprint_bytes", Better::lowest);
    if (sizes.points.empty())
        return findings.lack_all({"l2_far_latency", "l1_seen_bytes", "l2_seen_bytes"}, sizes.why);
    const std::vector<double> footprints = sizes.places(), latencies = sizes.medians();
    const auto l2_bytes = static_cast<double>(raw.limits.l2_bytes);

    constexpr double both_parts = 0.75; // of L2: where it has two parts, both are in use
    const double wanted = both_parts * l2_bytes;
    const SweepPoint &nearest = *std::min_element(sizes.points.begin(), sizes.points.end(),
                                                  [&](const SweepPoint &a, const SweepPoint &b) {
                                                      return std::abs(a.x - wanted) < std::abs(b.x - wanted);
                                                  });
    if (nearest.x >= 0.5 * l2_bytes && nearest.x < l2_bytes)
        findings.give("l2_far_latency", evidence_of(nearest.configuration));
    else
        findings.lack(
            "l2_far_latency",
            fmt::format("probe {} has no footprint between half and all of L2, {:.0f} B", probe, l2_bytes));

    const auto find_l1 = [](const std::vector<double> &medians) { return first_cache(medians, 3); };
    if (const std::optional<Cache> l1 = find_l1(latencies))
        give_capacity("l1_seen_bytes", probe, sizes, *l1, find_l1, findings);
    else
        findings.lack("l1_seen_bytes", no_first_cache(probe, sizes));

    const auto find_l2 = [&](const std::vector<double> &medians) {
        return second_cache(footprints, medians, l2_bytes);
    };
    const std::optional<Cache> l2 = find_l2(latencies);
    if (!l2)
        return findings.lack(
            "l2_seen_bytes",
            fmt::format("probe {}: no level between those of L1 and of DRAM ({})", probe, sizes.text()));
    give_capacity("l2_seen_bytes", probe, sizes, *l2, find_l2, findings);
    constexpr double well_before = 0.75; // of the knee: what one step of the sweep does not explain
    const std::size_t first_rise = knee_after(latencies, l2->plateau, l2->next.level, leaves);
    if (footprints[first_rise] <= well_before * footprints[l2->knee])
        findings.notes.push_back(fmt::format("l2_seen_bytes: latency grows already beyond {:.4g} B, "
                                             "where L2 has another part that is farther",
                                             footprints[first_rise]));
}

void derive_constant(const RawSamples &raw, Findings &findings) {
    const char *const probe = "constant_latency";
    const Sweep footprints = sweep(raw, probe, clk, "footprint_bytes", Better::lowest);
    const std::vector<SweepPoint> &points = footprints.points;
    const auto find = [](const std::vector<double> &medians) { return first_cache(medians, 2); };
    const std::optional<Cache> first = find(footprints.medians());
    if (!first)
        return findings.lack_all({"constant_l1_latency", "constant_l2_latency", "constant_l1_seen_bytes"},
                                 points.empty() ? footprints.why : no_first_cache(probe, footprints));
    // The value is the point in the middle of a plateau, farthest from the knees on both sides.
    const auto give_middle = [&](const char *field, const Plateau &plateau) {
        Evidence evidence = evidence_of(points[(plateau.first + plateau.last) / 2].configuration);
        evidence.by +=
            fmt::format(", middle of {:.0f} .. {:.0f} B", points[plateau.first].x, points[plateau.last].x);
        findings.give(field, std::move(evidence));
    };
    give_middle("constant_l1_latency", first->plateau);
    give_middle("constant_l2_latency", first->next);
    give_capacity("constant_l1_seen_bytes", probe, footprints, *first, find, findings);
}

// ---- shared memory ----

void derive_banks(const RawSamples &raw, Findings &findings) {
    Sweep strides = sweep(raw, "banks", clk, "stride_words", Better::lowest);
    // conflict_degree() counts in int. The probe goes to 64 words; beyond 1024 only broken files come.
    std::erase_if(strides.points,
                  [](const SweepPoint &point) { return point.x > 1024.0 || point.x != std::floor(point.x); });
    const auto fit = [places = strides.places()](const std::vector<double> &cycles) {
        return fit_banks(places, cycles);
    };
    const std::optional<FittedBanks> banks = fit(strides.medians());
    if (!banks)
        return findings.lack_all({"bank_width", "bank_count"},
                                 !strides.why.empty()
                                     ? strides.why
                                     : fmt::format("probe banks: no bank layout explains the "
                                                   "cycles by stride ({})",
                                                   strides.text()));
    for (const auto &[field, number] :
         {std::pair{"bank_width", &FittedBanks::width_bytes}, {"bank_count", &FittedBanks::count}})
        findings.give(field,
                      fitted(fmt::format("banks (R^2 = {:.4f}; {})", banks->r_squared, resampled),
                             strides.samples(), [&, number = number](const std::vector<double> &medians) {
                                 const auto found = fit(medians);
                                 return found ? std::optional<double>((*found).*number) : std::nullopt;
                             }));
}

namespace {

/// Gives `field` the slope of a line through the points of the sweep whose knob `x` is at least `least`. `x`
/// and `probe` also name both in the evidence.
void derive_slope(const char *field, const char *probe, const char *x, double least, Sweep points,
                  Findings &findings) {
    constexpr std::size_t least_points = 3;
    if (points.points.empty())
        return findings.lack(field, points.why);
    std::erase_if(points.points, [&](const SweepPoint &point) { return point.x < least; });
    if (points.points.size() < least_points)
        return findings.lack(field, fmt::format("probe {}: {} points with {} >= {}, at least {} are needed",
                                                probe, points.points.size(), x, least, least_points));
    const std::vector<double> places = points.places();
    const std::optional<Line> line = fit_line(places, points.medians());
    if (!line || !(line->slope > 0.0) || !std::isfinite(line->slope))
        return findings.lack(
            field, fmt::format("probe {}: time does not grow with {} ({})", probe, x, points.text()));
    findings.give(field, fitted(fmt::format("{} (slope over {} = {} .. {}, R^2 = {:.4f}; {})", probe, x,
                                            places.front(), places.back(), line->r_squared, resampled),
                                points.samples(), [&](const std::vector<double> &medians) {
                                    return std::optional(six_digits(fit_line(places, medians)->slope));
                                }));
}

} // namespace

void derive_conflict_cost(const RawSamples &raw, Findings &findings) {
    // From a conflict of degree 2 on: at degree 1 the time is hidden behind what a load costs anyway.
    derive_slope("conflict_cost", "conflicts", "degree", 2.0,
                 sweep(raw, "conflicts", clk, "degree", Better::lowest), findings);
}

void derive_cta_launch_time(const RawSamples &raw, Findings &findings) {
    const Sweep grids = sweep(raw, "launch_by_grid", seconds, "ctas", Better::lowest);
    // Grids from an eighth of the largest on: small ones start within the time that any launch takes.
    const double least = grids.points.empty() ? 1.0 : std::ceil(grids.points.back().x / 8.0);
    derive_slope("cta_launch_time", "launch_by_grid", "ctas", least, grids, findings);
}

void derive_matched_elements(const RawSamples &raw, Findings &findings) {
    constexpr double full = 0.95; // of the best
    for (const int bytes : {1, 2, 4, 8}) {
        const std::string field = fmt::format("matched_elements_{}_byte", bytes);
        const Sweep elements = sweep(raw, "element_width", UnitOf<BytesPerCycle>::text, "elements",
                                     Better::highest, {{"element_bytes", static_cast<double>(bytes)}});
        if (elements.points.size() < 2) {
            findings.lack(field, !elements.why.empty() ? elements.why
                                                       : fmt::format("probe element_width has fewer than two "
                                                                     "numbers of elements of {} B to compare",
                                                                     bytes));
            continue;
        }
        findings.give(
            field,
            fitted(fmt::format("element_width (fewest of {} B a lane with {:.0f} % of the best; {}; {})",
                               bytes, 100.0 * full, elements.text(), resampled),
                   elements.samples(), [&](const std::vector<double> &medians) {
                       const double best = *std::max_element(medians.begin(), medians.end());
                       const auto at = std::find_if(medians.begin(), medians.end(),
                                                    [&](double median) { return median >= full * best; });
                       return std::optional(
                           elements.points[static_cast<std::size_t>(at - medians.begin())].x);
                   }));
    }
}

void derive_shared_slowdown(const RawSamples &raw, Findings &findings) {
    // FFMAs and loads show how they overlap where neither takes more than twice as long alone as the other.
    constexpr double comparable = 2.0;
    const char *field = "ffma_shared_slowdown";
    const std::vector<Mix> mixes = mixes_of(raw);
    if (mixes.empty()) {
        const Selection selection = select(raw, "ffma_beside_shared", clk);
        return findings.lack(field,
                             selection.found.empty()
                                 ? selection.why
                                 : "probe ffma_beside_shared: no mix has both its parts measured alone");
    }
    const auto apart = [](const Mix &mix) {
        return std::abs(std::log(mix.ffmas_alone.spread.p50 / mix.loads_alone.spread.p50));
    };
    const Mix &even = *std::min_element(mixes.begin(), mixes.end(),
                                        [&](const Mix &a, const Mix &b) { return apart(a) < apart(b); });
    if (!(apart(even) <= std::log(comparable)))
        return findings.lack(field,
                             "probe ffma_beside_shared: in no mix do FFMAs and loads alone take within twice "
                             "as long as each other");
    findings.give(
        field,
        fitted(
            fmt::format("ffma_beside_shared ({} FFMAs and {} loads: {:.4g} clk, alone {:.4g} and {:.4g}; {})",
                        even.ffmas, even.loads, even.together.spread.p50, even.ffmas_alone.spread.p50,
                        even.loads_alone.spread.p50, resampled),
            {even.together.samples->values, even.ffmas_alone.samples->values,
             even.loads_alone.samples->values},
            [](const std::vector<double> &medians) {
                return std::optional(six_digits(medians[0] / std::max(medians[1], medians[2])));
            }));
}

// ---- granularity ----

namespace {

/// The power of two within 15 % of `bytes`, else `bytes`: granules are powers of two, and a counter also
/// counts some traffic of others.
double snapped(double bytes) {
    constexpr double tolerance = 0.15;
    return power_of_two_near(bytes, tolerance).value_or(six_digits(bytes));
}

/// `what`, then efficiency(median) in per cent for segments of 32, 64 and 128 bytes, Chang's values of S;
/// empty if none of them was measured.
std::string segment_losses(const Sweep &segments, const char *what,
                           const std::function<double(double)> &efficiency) {
    std::vector<std::string> words;
    for (const SweepPoint &point : segments.points)
        if (point.x == 32.0 || point.x == 64.0 || point.x == 128.0)
            words.push_back(fmt::format("{:.0f} % at {:.0f} B", 100.0 * efficiency(point.median()), point.x));
    return words.empty() ? "" : what + join(words);
}

} // namespace

void derive_sector(const RawSamples &raw, Findings &findings) {
    Answer answer = stride_granule(raw, 2);
    if (!answer.evidence && !select(raw, "stride_granularity", plain, {{"level", 2.0}}).found.empty())
        return findings.lack("sector_bytes", answer.why); // counted, and the counter shows no granule
    if (!answer.evidence)                                 // not counted: times tell
        answer = stride_granule(raw, 0);
    if (answer.evidence && !power_of_two_near(answer.evidence->value, 0.0))
        findings.notes.push_back(
            fmt::format("sector_bytes: {:.4g} B is near no power of two", answer.evidence->value));
    findings.answers["sector_bytes"] = std::move(answer);
}

void derive_granule(const RawSamples &raw, Findings &findings) {
    constexpr double small = 16.0; // B: smaller than any granule, so that each segment moves just one
    const char *field = "dram_granule_bytes";
    const Sweep moved = sweep(raw, "segment_granularity", plain, "segment_bytes", Better::lowest,
                              {{"level", 1.0}, {.knob = "aligned", .value = 1.0, .or_absent = true}});
    Sweep segments = moved;
    std::erase_if(segments.points, [](const SweepPoint &point) { return point.x > small; });
    const auto granule = [&](const std::vector<double> &moved_per_useful) {
        std::vector<double> bytes;
        for (std::size_t i = 0; i < segments.points.size(); ++i)
            bytes.push_back(moved_per_useful[i] * segments.points[i].x);
        return median_of(bytes);
    };
    if (moved.points.empty()) {
        findings.lack(field, moved.why + "; only the counter of DRAM bytes tells");
    } else if (segments.points.empty()) {
        findings.lack(field, "probe segment_granularity has no segments of up to 16 B");
    } else {
        const double seen = granule(segments.medians());
        if (!power_of_two_near(snapped(seen), 0.0))
            findings.notes.push_back(
                fmt::format("dram_granule_bytes: {:.4g} B is near no power of two", seen));
        findings.give(field,
                      fitted(fmt::format("segment_granularity (bytes moved for a segment of up to {} B: "
                                         "{:.4g}; {})",
                                         small, seen, resampled),
                             segments.samples(), [&](const std::vector<double> &medians) {
                                 return std::optional(snapped(granule(medians)));
                             }));
    }

    std::vector<std::string> losses = {segment_losses(
        moved, "useful of the bytes that DRAM moves: ", [](double bytes) { return 1.0 / bytes; })};
    const Sweep timed = sweep(raw, "segment_granularity", bytes_per_s, "segment_bytes", Better::highest,
                              {{"level", 0.0}, {.knob = "aligned", .value = 1.0, .or_absent = true}});
    if (const std::vector<double> medians = timed.medians(); medians.size() > 1) {
        const double best = *std::max_element(medians.begin(), medians.end());
        losses.push_back(segment_losses(timed, "useful bandwidth against that of the best segment: ",
                                        [&](double useful) { return useful / best; }));
    }
    std::erase(losses, "");
    if (!losses.empty())
        findings.notes.push_back("segments of S bytes at random aligned places, " + join(losses, "; "));
}

Answer stride_granule(const RawSamples &raw, int level) {
    constexpr double useful = 4.0; // bytes that a lane reads
    const bool timed = level == 0;
    const Sweep by_stride =
        sweep(raw, "stride_granularity", timed ? bytes_per_s : plain, "stride_bytes",
              timed ? Better::highest : Better::lowest, {{"level", static_cast<double>(level)}});
    if (by_stride.points.empty())
        return {.why = by_stride.why};
    const std::vector<double> strides = by_stride.places();
    // The bytes counted for a lane grow with the stride up to the granule and stay the same beyond it.
    const auto by_counter = [&](const std::vector<double> &moved_per_useful) -> std::optional<double> {
        constexpr double beyond = 128.0; // no sector is larger
        constexpr double settled = 1.3;  // from there on, the most over the least may be this
        std::vector<double> moved;
        for (std::size_t i = 0; i < strides.size(); ++i)
            if (strides[i] >= beyond)
                moved.push_back(useful * moved_per_useful[i]);
        if (moved.size() < 2)
            return std::nullopt;
        const auto [least, most] = std::minmax_element(moved.begin(), moved.end());
        if (!(*most <= settled * *least))
            return std::nullopt;
        return snapped(median_of(moved));
    };
    // Time grows as the stride does up to the granule. Beyond it, it is not quite constant, since wide
    // strides have costs of their own: so the granule is the last stride at which time is still in
    // proportion. If time stops growing, the next stride, twice as wide, has 1/2 of the proportional time;
    // 0.75 is halfway.
    const auto by_time = [&](const std::vector<double> &bandwidths) -> std::optional<double> {
        constexpr double in_proportion = 0.75;
        const double least_time = 1.0 / *std::max_element(bandwidths.begin(), bandwidths.end());
        std::optional<double> granule;
        for (std::size_t i = 0; i < strides.size(); ++i) {
            if (1.0 / bandwidths[i] < in_proportion * least_time * strides[i] / useful)
                return granule;
            granule = strides[i];
        }
        return std::nullopt;
    };
    const auto bytes = [&](const std::vector<double> &medians) {
        return timed ? by_time(medians) : by_counter(medians);
    };
    if (!bytes(by_stride.medians()))
        return {{},
                fmt::format("probe stride_granularity: {} shows no granule ({})",
                            timed ? "time" : "the counter", by_stride.text())};
    return {
        fitted(fmt::format("stride_granularity (level={}, {}; {})", level,
                           timed ? "by time: it is DRAM's where that moves more" : "by counter", resampled),
               by_stride.samples(), bytes),
        {}};
}

std::vector<Mix> mixes_of(const RawSamples &raw) {
    const Selection selection = select(raw, "ffma_beside_shared", clk);
    std::map<std::pair<double, double>, Configuration> by_mix;
    for (const Configuration &configuration : selection.found) {
        const std::optional<double> ffmas = knob(*configuration.samples, "ffmas"),
                                    loads = knob(*configuration.samples, "loads");
        if (ffmas && loads && *ffmas >= 0.0 && *loads >= 0.0)
            keep_better(by_mix, {*ffmas, *loads}, configuration, Better::lowest);
    }
    std::vector<Mix> mixes;
    for (const auto &[mix, together] : by_mix) {
        const auto ffmas_alone = by_mix.find({mix.first, 0.0}), loads_alone = by_mix.find({0.0, mix.second});
        if (mix.first > 0.0 && mix.second > 0.0 && ffmas_alone != by_mix.end() && loads_alone != by_mix.end())
            mixes.push_back({mix.first, mix.second, together, ffmas_alone->second, loads_alone->second});
    }
    std::stable_sort(mixes.begin(), mixes.end(),
                     [](const Mix &a, const Mix &b) { return a.ffmas / a.loads < b.ffmas / b.loads; });
    return mixes;
}

std::optional<FlightCurve> flight_curve(const RawSamples &raw, const std::string &probe, Findings &findings) {
    const Sweep in_flight = sweep(raw, probe, bytes_per_s, "bytes_in_flight", Better::highest);
    if (in_flight.points.empty()) {
        findings.lack(probe, in_flight.why);
        return std::nullopt;
    }
    FlightCurve curve{in_flight.places(), in_flight.medians(), {}};
    const std::variant<FlightFit, std::string> outcome = fit_flight(curve);
    if (const auto *fit = std::get_if<FlightFit>(&outcome)) {
        curve.fit = *fit;
        findings.notes.push_back(fmt::format(
            "{}: eq. M1 fitted with L0 = {:.1f} ns, BW = {:.1f} GB/s, p = {:.2f} is "
            "within {:.1f} % of every point",
            probe, fit->latency_s * 1e9, fit->bandwidth / 1e9, fit->exponent, fit->worst_error * 100.0));
    } else {
        findings.notes.push_back(probe + ": eq. M1 is not fitted: " + std::get<std::string>(outcome));
    }
    return curve;
}

void derive_knee_exponent(const RawSamples &raw, const std::optional<FlightCurve> &curve,
                          Findings &findings) {
    const char *field = "knee_exponent";
    const Selection latencies = select(raw, "dram_latency", clk),
                    bandwidths = select(raw, "dram_read_bandwidth", bytes_per_s);
    std::vector<std::string> lacking;
    if (!curve)
        lacking.emplace_back("dram_read_curve");
    if (latencies.found.empty())
        lacking.emplace_back("dram_latency");
    if (bandwidths.found.empty())
        lacking.emplace_back("dram_read_bandwidth");
    if (!lacking.empty())
        return findings.lack(field, "needs " + join(lacking));
    const std::vector<double> latency = dram_latency_seconds(raw);
    if (latency.empty())
        return findings.lack(field, "the samples of dram_latency have no SM clock");
    const Configuration &bandwidth = best_of(bandwidths.found, Better::highest);
    const double l0 = median_of(latency), bw = bandwidth.spread.p50;
    const std::optional<double> p = fit_knee_exponent(*curve, Seconds(l0), Bandwidth(bw));
    if (!p)
        return findings.lack(field, fmt::format("no exponent between 0.5 and 20 fits the {} points of "
                                                "dram_read_curve",
                                                curve->bandwidth.size()));
    std::vector<double> without_one; // how much one point matters
    for (std::size_t i = 0; i < curve->bandwidth.size(); ++i) {
        FlightCurve rest = *curve;
        rest.bytes_in_flight.erase(rest.bytes_in_flight.begin() + static_cast<std::ptrdiff_t>(i));
        rest.bandwidth.erase(rest.bandwidth.begin() + static_cast<std::ptrdiff_t>(i));
        if (const std::optional<double> other = fit_knee_exponent(rest, Seconds(l0), Bandwidth(bw)))
            without_one.push_back(six_digits(*other));
    }
    std::vector<std::vector<double>> all =
        sweep(raw, "dram_read_curve", bytes_per_s, "bytes_in_flight", Better::highest).samples();
    all.push_back(latency);
    all.push_back(bandwidth.samples->values);
    Evidence evidence = fitted(
        fmt::format("dram_read_curve, L0 of dram_latency, BW of dram_read_bandwidth; spread by leaving "
                    "out one point, {}",
                    resampled),
        all, [&](const std::vector<double> &medians) -> std::optional<double> {
            const auto found =
                fit_knee_exponent({curve->bytes_in_flight, {medians.begin(), medians.end() - 2}, {}},
                                  Seconds(medians.end()[-2]), Bandwidth(medians.back()));
            return found ? std::optional(six_digits(*found)) : std::nullopt;
        });
    if (!without_one.empty())
        evidence.spread = spread_of(std::move(without_one));
    findings.notes.push_back(
        fmt::format("knee_exponent: eq. M1 with L0 = {:.1f} ns, BW = {:.1f} GB/s, p = {:.2f} is "
                    "within {:.1f} % of every point of dram_read_curve",
                    l0 * 1e9, bw / 1e9, *p, 100.0 * worst_error(*curve, l0, bw, *p)));
    findings.give(field, std::move(evidence));
}

std::vector<PeerLink> peer_links(const RawSamples &raw, std::string &why) {
    constexpr double most_devices = 1024.0; // above this only broken files come
    const Selection copies = select(raw, "peer_copy", bytes_per_s), loads = select(raw, "peer_copy", seconds);
    std::map<std::pair<int, int>, PeerLink> links;
    // Puts the median into the member `number` of its link if it is the best so far. The probe's knob `kind`
    // is 1 for copies one way, 2 for copies both ways at once, 3 for loads.
    const auto add = [&](const Configuration &configuration, double kind, auto number, Better better) {
        const ProbeSamples &samples = *configuration.samples;
        const std::optional<double> from = knob(samples, "from"), to = knob(samples, "to"),
                                    direct = knob(samples, "direct");
        const auto is_device = [](const std::optional<double> &at) {
            return at && *at >= 0.0 && *at < most_devices && *at == std::floor(*at);
        };
        if (!is_device(from) || !is_device(to) || *from == *to || knob(samples, "kind") != kind)
            return;
        const std::pair<int, int> ends{static_cast<int>(*from), static_cast<int>(*to)};
        const bool is_direct = direct && *direct == 1.0;
        PeerLink &link =
            links.try_emplace(ends, PeerLink{ends.first, ends.second, is_direct, {}, {}, {}}).first->second;
        if (is_direct && !link.direct) // a direct way makes those through the host's memory irrelevant
            link = {ends.first, ends.second, true, {}, {}, {}};
        if (is_direct != link.direct)
            return;
        auto &field = link.*number;
        using Q = typename std::decay_t<decltype(field)>::value_type;
        const double median = configuration.spread.p50;
        if (!field || (better == Better::highest ? median > field->value : median < field->value))
            field = Q(median);
    };
    for (const Configuration &copy : copies.found) {
        add(copy, 1.0, &PeerLink::bandwidth_bytes_per_s, Better::highest);
        add(copy, 2.0, &PeerLink::both_ways_bytes_per_s, Better::highest);
    }
    for (const Configuration &load : loads.found)
        add(load, 3.0, &PeerLink::latency_s, Better::lowest);
    std::vector<PeerLink> found;
    for (const auto &[ends, link] : links)
        found.push_back(link);
    if (found.empty())
        why = copies.found.empty() ? copies.why : "probe peer_copy: no samples say from which GPU to which";
    return found;
}

} // namespace convcast
