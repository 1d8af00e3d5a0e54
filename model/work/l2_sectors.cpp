#include "model/work/l2_sectors.hpp"

#include "model/base/divide.hpp"
#include "model/machine/architecture.hpp"
#include "model/paper/papers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace convcast {

double share_at_odd_16_bytes(std::int64_t offset, std::span<const Stride> strides) {
    // A place counts as 1 if it is an even multiple of 16 bytes, as -1 if it is an odd one. The mean over all
    // runs is a product, as the counters are independent: the sign of the offset times each stride's mean
    // over its counter. An odd stride alternates 1, -1, ..., whose mean is 0 over an even count and 1 / count
    // over an odd one. The mean is the share of even places less that of odd ones.
    const auto odd = [](std::int64_t bytes) { return bytes / 16 % 2 != 0; };
    double even_less_odd = odd(offset) ? -1.0 : 1.0;
    for (const Stride &stride : strides)
        if (odd(stride.bytes))
            even_less_odd *= stride.count % 2 == 0 ? 0.0 : 1.0 / double(stride.count);
    return (1.0 - even_less_odd) / 2.0;
}

double alike_in_lines(std::int64_t offset, std::span<const Stride> strides) {
    constexpr std::int64_t unit = 16, places = 8; // a line has 8 places of 16 bytes
    std::array<double, places> share{};           // of the runs, by their place; each stride spreads them
    share[static_cast<std::size_t>((offset / unit % places + places) % places)] = 1.0;
    for (const Stride &stride : strides) {
        const std::int64_t step = (stride.bytes / unit % places + places) % places;
        std::array<double, places> moved{};
        // After 8 steps the places repeat, so the mean over more is taken to be that over 8.
        const std::int64_t count = stride.count > places ? places : std::max<std::int64_t>(1, stride.count);
        for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t at = 0; at < places; ++at)
                moved[static_cast<std::size_t>((at + i * step) % places)] +=
                    share[static_cast<std::size_t>(at)] / double(count);
        share = moved;
    }
    return share[0];
}

bool inside_lines(std::int64_t run, std::initializer_list<std::int64_t> apart) {
    constexpr std::int64_t sector = 32, line = 128;
    return run >= sector && run < line && line % run == 0 &&
           std::all_of(apart.begin(), apart.end(), [&](std::int64_t bytes) { return bytes % run == 0; });
}

double wide_copy_bytes(double bytes, double crossed, double odd) {
    // Halves of sectors that are requested beside the run's own bytes: one if the run is an odd number of
    // halves; else one at either end if it begins inside a sector.
    const bool odd_length = static_cast<std::int64_t>(bytes) / 16 % 2 != 0;
    const double halves = odd_length ? 1.0 : 2.0 * odd;
    return bytes * (1.0 + crossed) + 16.0 * halves * (1.0 - crossed);
}

double stored_bytes(const StoredRows &stored, std::int64_t grid, std::int64_t element_bytes) {
    // The first 64 rows stand for all, which bounds the time of a ranking.
    constexpr std::int64_t sector_bytes = 32, lanes = 32, most_rows = 64;
    const std::int64_t sector = sector_bytes / element_bytes, rows = std::min(stored.rows, most_rows);
    const std::int64_t step = std::gcd(grid, sector);
    std::int64_t sectors = 0; // over all places in a sector where the first element can lie
    for (std::int64_t first = 0; first < sector; first += step) {
        std::int64_t last_warp = -1, last_sector = -1; // a store that goes on in its warp's sector adds none
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t x = 0; x < stored.columns;) {
                const std::int64_t lane = stored.first_lane + row * stored.lanes + x, warp = lane / lanes;
                const std::int64_t run = std::min(stored.columns - x, (warp + 1) * lanes - lane);
                const std::int64_t at = first + row * stored.pitch + x;
                const std::int64_t begin = at / sector, end = (at + run - 1) / sector;
                sectors += end - begin + (warp == last_warp && begin == last_sector ? 0 : 1);
                last_warp = warp, last_sector = end, x += run;
            }
    }
    return double(sectors * sector_bytes) / double(sector / step) * double(stored.rows) /
           double(std::max<std::int64_t>(1, rows));
}

double written_in_part(double written, double stored) {
    // A sector that two runs share counts twice in `written` and once in `stored`.
    return std::clamp(2.0 * (written - stored), 0.0, written);
}

double l1_bytes(const Partition &part, const Gpu &gpu) {
    // L1 and shared memory are one array, somewhat larger than can be shared, divided at one of a few sizes:
    // the smallest that holds the resident CTAs.
    const std::int64_t used =
        part.ctas_per_sm *
        (part.shared_bytes > 0 ? part.shared_bytes + gpu.limits.shared_bytes_reserved_per_cta : 0);
    double shared = gpu.limits.shared_bytes_per_sm;
    for (const double size : gpu.architecture.shared_sizes->values)
        if (size >= double(used) && size < shared)
            shared = size;
    return gpu.limits.shared_bytes_per_sm + gpu.architecture.never_shared->value - shared;
}

double lost_at_random(double fill) {
    if (fill <= 1.0)
        return 0.0;
    constexpr int rounds = 40; // of the fixed-point iteration; more change nothing that matters
    double lost = 1.0;
    for (int i = 0; i < rounds; ++i)
        lost = 1.0 - std::exp(-lost * fill);
    return lost;
}

double lost_from_l1(double between, const Partition &part, const Gpu &gpu) {
    // Read off map_stream's sums, which are stored and read back. When half of L1 passes in between, hardly
    // anything is lost, and that by conflicts of lines in a set; when three quarters do, about half is lost;
    // when as much as L1 holds does, nearly all (W10).
    const double random_fill = gpu.architecture.l1_random_fill->value,
                 meet_in_a_set = gpu.architecture.l1_set_conflicts->value;
    const double passed = between / l1_bytes(part, gpu);
    return std::min(1.0, std::max(lost_at_random(random_fill * passed), meet_in_a_set * passed));
}

double filter_run_bytes(double filters, double bytes, const Partition &part, const Gpu &gpu) {
    constexpr double beyond = 28.0; // bytes that a run requests beyond its own on average (W8, grain of 4)
    const bool kept = part.steps == 1 || filters * bytes <= l1_bytes(part, gpu);
    return filters * bytes + beyond * (kept ? 1.0 : filters);
}

double read_through_l1(double of_cta, double all, double ctas, const Partition &part, const Gpu &gpu,
                       Again again, double beside) {
    const double sms = std::min(ctas, double(gpu.limits.sm_count)), of_sm = ctas / sms; // CTAs of an SM
    const double read = of_sm * of_cta, l1 = l1_bytes(part, gpu);
    const double resident = std::min(of_sm, double(part.ctas_per_sm));
    // Different bytes that so many CTAs of an SM read, which come from anywhere in the grid.
    const auto distinct = [&](double of_ctas) {
        return of_cta < all ? all * (1.0 - std::pow(1.0 - of_cta / all, of_ctas))
                            : std::min(all, of_ctas * of_cta);
    };
    const double of_resident = distinct(resident), first = distinct(of_sm),
                 once_more = std::max(0.0, read - first);
    // Of what is read again, `together` is read by CTAs that are resident at the same time. In lockstep they
    // read it once; out of lockstep the later one finds it as far as L1 reaches. The rest was read by CTAs
    // that have ended.
    const double together =
        std::min(once_more, of_sm / resident * std::max(0.0, resident * of_cta - of_resident));
    // CTAs that start together stay in lockstep for some steps (8 on an H200) and drift apart then. One that
    // is behind finds in L1 what others have read and catches up, unless it waits for data of its own.
    const double steps_in_step = gpu.architecture.l1_lockstep_steps->value;
    const double in_common = all / (all + resident * beside),
                 drifted = std::max(0.0, 1.0 - steps_in_step / double(std::max<std::int64_t>(1, part.steps)));
    const double in_step =
        (1.0 - (1.0 - in_common) * drifted) / double(std::max<std::int64_t>(1, part.waves));
    // Share of the re-reads that hit L1, of CTAs resident at the same time and of CTAs that have ended.
    double at_once = 1.0, before = 1.0;
    if (part.cluster.value_or(1) > 1) {
        at_once = before = 0.0; // its last barrier, an acquire beyond the SM, empties L1
    } else if (again == Again::in_turn) {
        before = 1.0 - lost_from_l1(all + resident * beside, part, gpu);
        at_once = 1.0 - lost_from_l1(of_resident + beside, part, gpu);
    } else if (l1 < all + of_sm * beside) {
        // A CTA of many steps begins when the others have read all of theirs: its first step is still in L1
        // only if all that the resident CTAs read is.
        before = part.steps > 1 && l1 < resident * (of_cta + beside)
                     ? 0.0
                     : std::min(1.0, std::floor(l1 / (of_cta + beside)) * of_cta / all);
        at_once = part.steps > 1 ? std::min(1.0, l1 / of_resident) : before;
    }
    return sms *
           (first + together * (1.0 - in_step) * (1.0 - at_once) + (once_more - together) * (1.0 - before));
}

namespace {

/// The GPC that each of the first `sms` CTAs of a grid runs in, one CTA an SM, as stamps of CTAs recorded it
/// on an H200. The first 8 CTAs go to one half of a GPC. Then each GPC in turn gets a run of neighbouring
/// CTAs; the other half of that first GPC comes in between with a run half as long. Clusters of `cluster` > 1
/// CTAs go to one GPC after another, except that the first 4 pairs go to the same GPC.
std::vector<int> gpcs_in_order(std::int64_t sms, std::int64_t cluster, const Architecture &architecture) {
    const auto first = static_cast<std::int64_t>(architecture.first_of_a_gpc->value);
    const double gpcs = architecture.gpcs->value;
    if (cluster > 1) {
        const std::int64_t together = cluster == 2 ? first : 0;
        std::vector<int> order;
        for (std::int64_t cta = 0; cta < sms; ++cta)
            order.push_back(
                cta < together ? 0 : int((cta - together) / cluster % static_cast<std::int64_t>(gpcs)));
        return order;
    }
    std::vector<int> order(static_cast<std::size_t>(std::min(sms, first)), 0);
    const double run = double(sms - first) / (gpcs - 0.5); // CTAs of a run, all equally long
    // Runs, counted from the first 8 CTAs on, at which the second half of the first GPC ends.
    const double before = architecture.runs_before_its_rest->value;
    for (std::int64_t sm = first; sm < sms; ++sm) {
        const double at = (double(sm - first) + 0.5) / run;
        order.push_back(at < before - 0.5 ? 1 + int(at) : at < before ? 0 : 1 + int(at - 0.5));
    }
    return order;
}

/// Looks at the first `placed` CTAs of a grid, one on each of the first of `sms` SMs. Element n of the result
/// is how many of them read data that n CTAs of their GPC read, themselves included. `most`: SMs that have
/// CTAs; groups of readers further apart than that do not meet.
std::vector<double> count_readers(std::int64_t placed, std::int64_t sms, std::int64_t cluster,
                                  Readers readers, double most, const Architecture &architecture) {
    const double apart = std::max(1.0, readers.apart), together = readers.ctas * apart;
    constexpr double rounding = 1e-6; // keeps whole quotients of non-integers from falling below themselves
    std::vector<int> gpcs = gpcs_in_order(sms, cluster, architecture);
    gpcs.resize(static_cast<std::size_t>(placed));
    std::vector<std::int64_t> same; // one number for each pair of the data that a CTA reads and its GPC
    same.reserve(gpcs.size());
    const std::int64_t most_apart = std::max<std::int64_t>(1, std::llround(std::ceil(std::min(apart, most))));
    constexpr std::int64_t most_gpcs = 16; // more than any GPU has: makes the pair one number
    for (std::size_t i = 0; i < gpcs.size(); ++i) {
        const double cta = double(i) + rounding, block = std::floor(cta / together),
                     within = std::fmod(cta - block * together, apart);
        same.push_back((static_cast<std::int64_t>(block) * most_apart + static_cast<std::int64_t>(within)) *
                           most_gpcs +
                       gpcs[i]);
    }
    std::sort(same.begin(), same.end());
    std::vector<double> of_readers;
    for (auto next = same.begin(); next != same.end();) {
        const auto end = std::upper_bound(next, same.end(), *next);
        const auto count = static_cast<std::size_t>(end - next);
        of_readers.resize(std::max(of_readers.size(), count + 1));
        of_readers[count] += double(count);
        next = end;
    }
    return of_readers;
}

/// count_readers, remembered for other settings of a shape. Valid until the next call of this thread.
const std::vector<double> &remembered_readers(std::int64_t placed, std::int64_t sms, std::int64_t cluster,
                                              Readers readers, double most,
                                              const Architecture &architecture) {
    using Key =
        std::tuple<std::int64_t, std::int64_t, std::int64_t, double, double, double, double, double, double>;
    constexpr std::size_t most_kept = 4096; // chosen; then all are forgotten, to bound the memory
    thread_local std::map<Key, std::vector<double>> counted;
    const Key key{placed,
                  sms,
                  cluster,
                  readers.ctas,
                  readers.apart,
                  most,
                  architecture.first_of_a_gpc->value,
                  architecture.gpcs->value,
                  architecture.runs_before_its_rest ? architecture.runs_before_its_rest->value : 0.0};
    if (const auto found = counted.find(key); found != counted.end())
        return found->second;
    if (counted.size() >= most_kept)
        counted.clear();
    return counted.emplace(key, count_readers(placed, sms, cluster, readers, most, architecture))
        .first->second;
}

} // namespace

MergeableReads operator+(MergeableReads a, const MergeableReads &b) {
    a.reads.insert(a.reads.end(), b.reads.begin(), b.reads.end());
    a.sms = std::max(a.sms, b.sms);
    a.warps = std::max(a.warps, b.warps);
    a.waves = std::max(a.waves, b.waves);
    return a;
}

MergeableReads mergeable_reads(double bytes, Readers readers, const Partition &part, const Gpu &gpu) {
    const std::int64_t all_sms = std::max(1, gpu.limits.sm_count),
                       ctas = std::max<std::int64_t>(1, part.ctas),
                       busy = std::max<std::int64_t>(1, part.ctas - part.idle_ctas);
    // CTAs without work take up places too. filter_split and map_split launch two CTAs for each SM, all first
    // halves of an image before all second halves (F19): only the first halves are counted, one on an SM.
    const bool halves = part.parts > 0 && part.grid[0] == 2 * part.parts;
    const std::int64_t images = halves ? ctas / part.grid[0] : 1,
                       placed = std::min(
                           all_sms, halves ? std::max<std::int64_t>(1, ceil_div(busy, 2 * images)) : busy),
                       sms = std::min(all_sms, images * placed);
    MergeableReads mergeable;
    mergeable.sms = double(sms);
    const std::int64_t resident =
        std::clamp<std::int64_t>(ceil_div(busy, sms), 1, std::max<std::int64_t>(1, part.ctas_per_sm));
    constexpr std::int64_t lanes = 32;
    mergeable.warps = double(sms * resident * std::max<std::int64_t>(1, ceil_div(part.threads, lanes)));
    mergeable.waves = double(std::max<std::int64_t>(1, part.waves));
    if (bytes <= 0.0 || readers.ctas <= 1.0)
        return mergeable;
    const std::vector<double> &of_readers = remembered_readers(
        placed, std::min(ctas, all_sms), part.cluster.value_or(1), readers, mergeable.sms, gpu.architecture);
    for (std::size_t count = 2; count < of_readers.size(); ++count)
        if (of_readers[count] > 0.0)
            mergeable.reads.push_back({double(count), bytes * of_readers[count] / double(placed)});
    return mergeable;
}

void set_reads(Partition &part, const std::vector<Reads> &reads, const Gpu &gpu) {
    double bytes = 0.0;
    MergeableReads mergeable;
    for (const Reads &its : reads) {
        bytes += its.bytes;
        mergeable = std::move(mergeable) + mergeable_reads(its.alike, its.readers, part, gpu);
    }
    part.work.l2_read_bytes = bytes;
    part.mergeable_reads = std::move(mergeable);
}

double merged_bytes(const MergeableReads &mergeable, double instructions, const Merging &merging,
                    const Architecture &architecture) {
    // Equation W6, whose m is `met` here.
    const double in_step_clocks = architecture.merging_lockstep->value,
                 schedulers = architecture.merging_schedulers->value,
                 crowding = architecture.merging_crowding->value,
                 most_merged = architecture.most_merged->value;
    const double issuing = // clocks in which a scheduler issues, in a wave
        instructions / schedulers / mergeable.sms / mergeable.waves;
    const double met = merging.met / (std::sqrt(mergeable.waves) * std::pow(mergeable.warps, crowding) *
                                      std::pow(1.0 + issuing / in_step_clocks, merging.drift));
    double merged = 0.0;
    for (const auto &[readers, bytes] : mergeable.reads)
        merged += bytes * (1.0 - std::max(std::ceil(readers / most_merged) / readers,
                                          1.0 / (1.0 + met * std::sqrt(readers - 1.0))));
    return merged;
}

} // namespace convcast
