#include "model/strategies/patch_register.hpp"

#include "model/paper/papers.hpp"
#include "model/work/instructions.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

using papers::ceil_div;
using papers::round_up;

namespace {

/// What a thread computes at a time: `vector` neighbours in each of `rows` bands. A band is as many rows of
/// the output as make it a multiple of two vectors, a sector, so that each starts with one.
struct Outputs {
    std::int64_t rows, vector;
    std::int64_t band; ///< rows of one; where the map has too few, just a multiple of one vector
    std::int64_t
        classes; ///< 2: every other filter's plane starts in the middle of a sector, and has CTAs of its own
};

/// Neighbours known to be in one row, which share pixels.
std::int64_t unit_of(const ConvShape &s, std::int64_t vector) {
    return std::gcd(vector, s.q());
}

Outputs outputs_of(const ConvShape &s, std::int64_t rows, std::int64_t vector) {
    const std::int64_t least = vector / unit_of(s, vector);
    if (vector == 1)
        return {rows, vector, least, 1};
    const std::int64_t of_sectors = 2 * vector / std::gcd(2 * vector, s.q());
    if (of_sectors * rows > s.p())
        return {rows, vector, least, 1};
    return {rows, vector, of_sectors, s.k > 1 && s.p() * s.q() % (2 * vector) != 0 ? 2 : 1};
}

std::int64_t pixels_of(const ConvShape &s, Outputs o) {
    const std::int64_t unit = unit_of(s, o.vector);
    return o.vector / unit * (std::min(o.band, s.r) * (o.rows - 1) + s.r) * (s.s + unit - 1);
}

/// Pixels in a load: neighbours in a row, as aligned as the map's width lets them be.
std::int64_t load_step(const ConvShape &s, Outputs o) {
    return std::gcd(unit_of(s, o.vector), s.w);
}

/// Of a thread each.
std::int64_t positions_of(const ConvShape &s, Outputs o) {
    return ceil_div(s.p(), o.band * o.rows) * (o.band * s.q() / o.vector);
}

/// The output leaves L2 before it is complete.
bool is_streamed(const ConvShape &s, const Gpu &gpu) {
    return s.output_bytes() > gpu.limits.l2_bytes;
}

struct Grid {
    std::int64_t positions; ///< CTAs of a chunk; the second class's positions are one further on
    std::int64_t filters;   ///< CTAs, of both classes
    std::int64_t chunks;    ///< of the map, one after another
};

Grid grid_of(const ConvShape &s, const Gpu &gpu, Outputs o, std::int64_t threads, std::int64_t tile_k) {
    Grid grid{};
    grid.filters = o.classes * ceil_div(ceil_div(s.k, o.classes), tile_k);
    const std::int64_t positions = ceil_div(positions_of(s, o) + o.classes - 1, threads);
    // A map of 4 MiB stays in 60 MiB of L2 while the output streams by; one of 16 MiB does not.
    constexpr std::int64_t chunks_of_l2 = 12;
    grid.chunks = is_streamed(s, gpu) && grid.filters > 1
                      ? std::min(positions, ceil_div(s.h * s.w * 4 * chunks_of_l2, gpu.limits.l2_bytes))
                      : 1;
    grid.positions = ceil_div(positions, grid.chunks);
    return grid;
}

/// Counts of one warp, as the kernel's loops give them.
struct WarpCounts {
    double fmas_per_filter; ///< of a thread
    double instructions_per_filter;
    double instructions_once;
    double l1_passes_once; ///< of the pixels' loads: lanes are a vector apart (F12)
};

std::int64_t padded(std::int64_t taps) {
    return taps < 4 ? taps : round_up(taps, 4);
}

/// Filters whose taps are fetched together.
std::int64_t group_of(std::int64_t taps) {
    return taps == 1 ? 4 : taps <= 9 ? 2 : 1;
}

WarpCounts counts_of(const ConvShape &s, Outputs o, std::int64_t threads, std::int64_t tile_k) {
    const auto taps = static_cast<double>(s.r * s.s);
    const double loads = s.r * s.s == 1  ? 0.25
                         : s.r * s.s < 4 ? taps
                                         : static_cast<double>(padded(s.r * s.s)) / 4.0;
    const double copies = static_cast<double>(ceil_div(tile_k * padded(s.r * s.s), threads));
    // Beside arithmetic, loads and stores, as compiled for sm_90: a filter (pointer, loop), a copy of a tap
    // (its place, the load, the store), the start (place of the thread, pointers).
    WarpCounts counts{};
    counts.fmas_per_filter = static_cast<double>(o.rows * o.vector) * taps;
    const double pixel_loads = static_cast<double>(pixels_of(s, o) / load_step(s, o));
    const auto vector = static_cast<double>(o.vector); // as many passes of the banks
    counts.l1_passes_once = pixel_loads * l1_passes(lines_touched(128.0 * vector, 1.0, 0.0), vector);
    if (tile_k == 1) { // taps straight into registers
        counts.instructions_per_filter = counts.fmas_per_filter + static_cast<double>(o.rows);
        counts.instructions_once = pixel_loads + taps + instructions::place;
        return counts;
    }
    counts.instructions_per_filter =
        counts.fmas_per_filter + loads + static_cast<double>(o.rows) + instructions::iteration;
    counts.instructions_once = pixel_loads + copies * instructions::copy + instructions::place;
    return counts;
}

/// Passes of all loads of one filter's taps by the warps of so many threads. All lanes read the same four
/// values at a time, of the last ones no more than there are; of one tap four filters at once.
double tap_passes(std::int64_t taps, std::int64_t threads) {
    constexpr std::int64_t quad = 4;
    const auto loads = [&](int width) {
        const auto passes = [&](std::int64_t lanes) {
            return shared_passes(lanes, width, [](std::int64_t) { return 0; }).taken;
        };
        return static_cast<double>(threads / warp_lanes) * passes(warp_lanes) + passes(threads % warp_lanes);
    };
    if (taps == 1)
        return loads(4) / static_cast<double>(quad);
    if (taps < quad) // two values each
        return static_cast<double>(taps) / 2.0 * loads(2);
    const std::int64_t last = taps % quad;
    return static_cast<double>(taps / quad) * loads(4) +
           (last > 0 ? loads(last == 3 ? 4 : static_cast<int>(last)) : 0.0);
}

/// Taps in shared memory: zeros fill the last group.
std::int64_t bank_values(const ConvShape &s, std::int64_t tile_k) {
    return round_up(tile_k, group_of(s.r * s.s)) * padded(s.r * s.s);
}

/// The instructions of a warp beside FFMAs, loads and stores; cost() ranks by the rougher ones that it was
/// judged with.
struct Compiled {
    double per_filter; ///< pointer, loop, whether it is the last
    double once, per_copy;
};

Compiled compiled(const ConvShape &s, Outputs o) {
    const std::int64_t taps = s.r * s.s, units = o.vector / unit_of(s, o.vector);
    // The thread's place; where neighbours may lie in another row of the band, which one for each unit.
    const double of_bands =
                     s.s > 1 ? instructions::iteration * static_cast<double>(units * (o.band - 1)) : 0.0,
                 of_classes = o.classes == 2 ? instructions::iteration : 0.0;
    const double once = instructions::place + of_bands + of_classes;
    return {2.0 * instructions::iteration, once, taps == 1 ? instructions::copy : instructions::divided_copy};
}

/// Pixels, one filter's taps (the next one's take their place), sums, and what addresses them.
std::int64_t registers_needed(const ConvShape &s, Outputs o) {
    constexpr std::int64_t addresses = 12;
    const std::int64_t taps = s.r * s.s == 1 ? group_of(1) : padded(s.r * s.s);
    return std::clamp<std::int64_t>(round_up(pixels_of(s, o) + taps + o.rows * o.vector + addresses, 8), 32,
                                    255);
}

/// Those of a thread as compiled for sm_90 (NVRTC 13.0, 215 settings). Taps that come filter by filter are
/// used as they come: by fours where there are vectors, though 3 x 3 on two rows keeps them all and 5 x 5 on
/// four a dozen. Of a single filter of 1 x 1 a sum takes its pixel's place.
std::int64_t registers_of(const ConvShape &s, Outputs o, std::int64_t tile_k) {
    const std::int64_t cap = registers_needed(s, o), taps = s.r * s.s;
    if (taps == 1)
        return tile_k == 1 ? std::max<std::int64_t>(32, cap - o.rows * o.vector) : cap;
    const bool three = s.r == 3 && s.s == 3, five = s.r == 5 && s.s == 5, seven = s.r == 7 && s.s == 7;
    if (tile_k == 1)
        return five && o.rows * o.vector == 16 ? cap - 40 : three || five || seven ? cap - 8 : cap;
    if (o.vector == 1)
        return std::min(cap, round_up((o.rows + s.r - 1) * s.s + o.rows + 18, 8));
    if (three)
        return o.rows == 2 ? cap : cap - 8;
    return five ? cap - (o.rows == 4 ? 16 : 24) : seven ? cap - 40 : cap;
}

/// Clocks of whatever keeps the GPU longest: a warp's chain, issue slots, stores or loads of the busiest SM,
/// or writing the output; with half of the issue slots on top, as these overlap with the others by halves.
/// Enough to rank the settings of one shape: on 49 shapes of an H200 its first was 3.6 % slower than the
/// fastest measured.
double cost(const ConvShape &s, const Gpu &gpu, Outputs o, std::int64_t threads, std::int64_t tile_k) {
    const WarpCounts counts = counts_of(s, o, threads, tile_k);
    const Grid grid = grid_of(s, gpu, o, threads, tile_k);
    const std::int64_t ctas = grid.positions * grid.filters * grid.chunks * s.n;
    const double warps = static_cast<double>(threads) / 32.0;
    const double of_cta =
        warps * (counts.instructions_once + static_cast<double>(tile_k) * counts.instructions_per_filter);
    const std::int64_t resident =
        std::max<std::int64_t>(1, resident_ctas(gpu, threads, registers_needed(s, o), 4096));
    // Beyond what is resident at once come whole waves: CTAs of one size end together, and the last wave
    // takes as long as the others.
    const std::int64_t slots = gpu.limits.sm_count * resident;
    const double busiest = of_cta * static_cast<double>(ctas <= slots ? ceil_div(ctas, gpu.limits.sm_count)
                                                                      : ceil_div(ctas, slots) * resident);
    // A warp by itself: latency of the pixels, and what waits for what is before it, some 4 clocks an
    // instruction.
    constexpr double pixels_come = 600.0, taps_come = 100.0, between = 4.0;
    const double start = pixels_come + counts.instructions_once * between + (tile_k > 1 ? taps_come : 0.0),
                 chain = static_cast<double>(tile_k) * std::max(counts.instructions_per_filter, 40.0),
                 rounds = std::max(1.0, static_cast<double>(ctas) / static_cast<double>(slots));
    constexpr double stored_a_clock = 32.0; // bytes of an SM at most: a sector; 30 on an H200
    const double ctas_of_busiest = static_cast<double>(ceil_div(ctas, gpu.limits.sm_count));
    const double stores =
        ctas_of_busiest * static_cast<double>(threads * o.rows * o.vector * tile_k) * 4.0 / stored_a_clock;
    double writes = 0.0;
    if (gpu.profile.sm_clock && gpu.profile.dram_write_bandwidth) {
        // Rows that do not start with a sector are stored in parts, which leave L2 before they meet: 64 us
        // against 42 for 32 filters of 3 x 3 on 1024 x 1024, H200.
        const double parts = o.vector == 1 && s.q() % 8 != 0 ? 1.5 : 1.0;
        writes = parts * static_cast<double>(s.output_bytes()) /
                 gpu.profile.dram_write_bandwidth->value.value * gpu.profile.sm_clock->value.value;
    }
    const double issue = busiest / gpu.limits.schedulers_per_sm,
                 loads = ctas_of_busiest * warps * counts.l1_passes_once;
    return std::max(
               {rounds * (start + chain), start + issue, start + stores, start + loads, start + writes}) +
           0.5 * issue;
}

} // namespace

const std::vector<Knob<PatchRegister>> &PatchRegister::knobs() {
    static const std::vector<Knob<PatchRegister>> list = {
        {"rows",
         &PatchRegister::rows,
         0,
         16,
         {1, 2, 4},
         "bands of output rows of a thread: of 1, 2 or 4 rows, a multiple of the vector; 0: the model "
         "chooses"},
        {"vector",
         &PatchRegister::vector,
         0,
         4,
         {1, 4},
         "neighbouring outputs of a thread, stored at once; 4 needs p * q % 4 = 0; 0: the model chooses"},
        {"threads",
         &PatchRegister::threads,
         0,
         1024,
         {128, 256},
         "threads of a CTA, a multiple of 32, each a column of outputs; 0: the model chooses"},
        {"tile_k", &PatchRegister::tile_k, 0, 1024, {1, 4, 8, 32}, "filters of a CTA; 0: the model chooses"},
    };
    return list;
}

namespace {

/// Why the strategy never does such shapes; "" if it does.
std::string outside(const ConvShape &s) {
    if (std::string why = outside_papers(s); !why.empty())
        return why;
    if (s.c != 1)
        return "the single-channel kernels need c = 1, got c = " + std::to_string(s.c);
    if (s.r * s.s > 64)
        return "a patch of more than 64 taps does not stay in registers";
    if (s.q() > 65536)
        return "rows of more than 65536 outputs exceed the stores' offsets";
    return "";
}

/// Why knobs that are set are wrong; "" if they are not.
std::string wrong_knob(const PatchRegister &knobs, const ConvShape &s) {
    if (knobs.threads % 32 != 0)
        return "threads must be a multiple of 32, got " + std::to_string(knobs.threads);
    if (knobs.vector != 0 && knobs.vector != 1 && knobs.vector != 4)
        return "vector must be 1 or 4, got " + std::to_string(knobs.vector);
    if (knobs.vector == 4 && s.p() * s.q() % 4 != 0)
        return "planes of " + std::to_string(s.p() * s.q()) + " outputs have no aligned vectors of 4";
    return "";
}

/// Whether a thread has the registers and the map the rows.
bool is_possible(const ConvShape &s, const Gpu &gpu, Outputs o, std::int64_t threads) {
    constexpr std::int64_t most_registers = 200;
    return s.p() * s.q() % o.vector == 0 && o.band * o.rows <= s.p() &&
           registers_needed(s, o) < most_registers &&
           resident_ctas(gpu, threads, registers_needed(s, o), 4096) > 0;
}

/// The knobs, of which those that are free take the values of the lowest cost; of equals the first. Absent:
/// nothing is possible.
std::optional<PatchRegister> cheapest(const PatchRegister &asked, const ConvShape &s, const Gpu &gpu) {
    const auto free_or = [](int value, std::vector<int> values) {
        return value != 0 ? std::vector<int>{value} : values;
    };
    std::optional<PatchRegister> chosen;
    double best = 0.0;
    for (const int v : free_or(asked.vector, {4, 1}))
        for (const int r : free_or(asked.rows, {8, 4, 2, 1}))
            for (const int t : free_or(asked.threads, {128, 256, 64, 512}))
                for (const int k : free_or(asked.tile_k, {32, 64, 16, 8, 4, 2, 1})) {
                    const Outputs o = outputs_of(s, r, v);
                    if (!is_possible(s, gpu, o, t))
                        continue;
                    const std::int64_t tile_k = std::min(std::int64_t{k}, ceil_div(s.k, o.classes));
                    const double c = cost(s, gpu, o, t, tile_k);
                    if (!chosen || c < best)
                        best = c, chosen = PatchRegister{r, v, t, static_cast<int>(tile_k)};
                }
    return chosen;
}

/// What follows from the shape and settled knobs.
struct Tiling {
    Outputs outputs;
    std::int64_t threads, tile_k, taps;
    std::int64_t positions; ///< of a map
    Grid grid;
    bool shares_taps; ///< in shared memory; of a single filter they go right to registers
};

Tiling tiling_of(const PatchRegister &knobs, const ConvShape &s, const Gpu &gpu) {
    const Outputs o = outputs_of(s, knobs.rows, knobs.vector);
    return {o,
            knobs.threads,
            knobs.tile_k,
            s.r * s.s,
            positions_of(s, o),
            grid_of(s, gpu, o, knobs.threads, knobs.tile_k),
            knobs.tile_k > 1};
}

Partition launch_of(const ConvShape &s, const Gpu &gpu, const Tiling &t) {
    Partition part;
    part.kernel = PatchRegister::name;
    part.template_arguments = {s.r,
                               s.s,
                               t.outputs.rows,
                               t.outputs.vector,
                               s.q(),
                               t.outputs.band,
                               t.outputs.classes,
                               t.grid.chunks,
                               is_streamed(s, gpu) ? 1 : 0,
                               t.shares_taps ? 0 : 1};
    part.grid = {t.grid.positions, t.grid.filters, t.grid.chunks * s.n};
    part.sharing_ctas = static_cast<double>(t.grid.positions * t.grid.filters * t.grid.chunks);
    part.threads = t.threads;
    part.tile_k = t.tile_k;
    part.filter_count = s.k;
    part.shared_bytes = t.shares_taps ? bank_values(s, t.tile_k) * 4 : 0;
    part.register_cap = registers_needed(s, t.outputs);
    part.ctas_per_sm = resident_ctas(gpu, t.threads, registers_of(s, t.outputs, t.tile_k), part.shared_bytes);
    part.stages = 1;
    part.steps = 1;
    part.busy_warps = ceil_div(std::min(t.threads, t.positions), 32);
    part.independent_sums = t.outputs.rows * t.outputs.vector;
    return part;
}

/// Why the GPU cannot run the launch; "" if it can.
std::string does_not_fit(const Partition &part, const Tiling &t) {
    if (part.grid[1] > 65535 || part.grid[2] > 65535 || t.positions > std::int64_t{1} << 30)
        return "the grid exceeds 65535 in y or z; take a larger tile_k";
    if (part.ctas_per_sm < 1)
        return "a CTA of " + std::to_string(part.threads) + " threads does not fit an SM";
    return "";
}

/// Counts of a warp as compiled, where cost() takes rougher ones.
WarpCounts compiled_counts(const ConvShape &s, const Tiling &t) {
    WarpCounts counts = counts_of(s, t.outputs, t.threads, t.tile_k);
    const Compiled its = compiled(s, t.outputs);
    const double taps = static_cast<double>(t.taps), stores = static_cast<double>(t.outputs.rows);
    const double pixel_loads = static_cast<double>(pixels_of(s, t.outputs) / load_step(s, t.outputs));
    if (!t.shares_taps) {
        counts.instructions_per_filter = counts.fmas_per_filter + stores;
        counts.instructions_once = pixel_loads + taps + its.once;
        return counts;
    }
    const double loads = t.taps == 1  ? 0.25
                         : t.taps < 4 ? taps / 2.0 // two values each
                                      : static_cast<double>(padded(t.taps)) / 4.0;
    counts.instructions_per_filter = counts.fmas_per_filter + loads + stores + its.per_filter;
    counts.instructions_once = pixel_loads + its.once;
    return counts;
}

/// Copies of `filters` filters' taps by the warps of a CTA.
double copies_of(const ConvShape &s, std::int64_t filters) {
    return static_cast<double>(ceil_div(bank_values(s, filters), 32));
}

/// The same by those of all CTAs: of the filters of a class the last CTA has those that are left.
double all_copies(const ConvShape &s, const Tiling &t) {
    double copies = 0.0;
    for (std::int64_t which = 0; which < t.outputs.classes; ++which) {
        const std::int64_t its_filters = (s.k + t.outputs.classes - 1 - which) / t.outputs.classes;
        copies += static_cast<double>(its_filters / t.tile_k) * copies_of(s, t.tile_k) +
                  copies_of(s, its_filters % t.tile_k);
    }
    return copies * static_cast<double>(t.grid.positions * (t.grid.chunks * s.n));
}

/// Bytes of the pixels of a CTA, which reads either a strip of its threads' columns or whole rows.
double pixel_bytes(const ConvShape &s, const Tiling &t) {
    const std::int64_t rows = t.outputs.rows,
                       columns = ceil_div(t.positions, t.grid.positions * t.grid.chunks) * t.outputs.vector;
    const double runs = row_runs(columns, s.q()), columns_d = static_cast<double>(columns);
    const double input_bytes =
        s.q() >= columns
            ? static_cast<double>(t.outputs.band * (rows - 1) + s.r) *
                  ((columns_d + runs * static_cast<double>(s.s - 1)) * 4.0 + runs * spanned_bytes(0.0))
            : spanned_bytes((columns_d / static_cast<double>(s.q()) * static_cast<double>(rows) +
                             static_cast<double>(s.r - 1)) *
                            static_cast<double>(s.w) * 4.0);
    return std::min(input_bytes, static_cast<double>(s.h * s.w) * 4.0);
}

/// A CTA fetches its pixels and taps, then computes: its warps wait for that together.
void fill_step(Partition &part, const ConvShape &s, const Tiling &t, const WarpCounts &counts) {
    // Of a small map a CTA has fewer positions than threads; warps without any end at once.
    const std::int64_t lanes = std::min(t.threads, t.positions);
    const double warps = static_cast<double>(ceil_div(lanes, 32)), filters = static_cast<double>(t.tile_k);
    const double all_warps = static_cast<double>(t.threads) / 32.0;
    // A warp issues its FFMAs for all lanes, also where the map has fewer.
    part.step.fmas = warps * 32.0 * filters * counts.fmas_per_filter;
    part.step.instructions = warps * filters * counts.instructions_per_filter;
    part.step.shared_wavefronts = t.shares_taps ? filters * tap_passes(t.taps, lanes) : 0.0;
    part.step.load_bytes = pixel_bytes(s, t) + spanned_bytes(filters * static_cast<double>(t.taps) * 4.0);
    // Of the average CTA: the last ones of a map and of the filters store less.
    part.step.store_bytes = static_cast<double>(s.output_bytes()) / static_cast<double>(part.ctas);
    part.drain.shared_wavefronts = warps * counts.l1_passes_once;
    if (t.shares_taps) { // warps without positions load their pixels all the same
        part.drain.instructions =
            all_warps * counts.instructions_once + copies_of(s, t.tile_k) * compiled(s, t.outputs).per_copy;
        // A copied tap waits for its load before the next one is asked for; the first beside the pixels.
        part.drain.line_waits = static_cast<double>(ceil_div(bank_values(s, t.tile_k), t.threads) - 1);
        return;
    }
    const double busy_share = static_cast<double>(ceil_div(t.positions, 32)) /
                              (static_cast<double>(t.grid.positions * t.grid.chunks) * all_warps);
    part.drain.instructions = all_warps * (busy_share * counts.instructions_once +
                                           std::max(0.0, 1.0 - busy_share) * instructions::place);
}

/// What the SMs ask L2 for: CTAs of other filters may find the pixels in L1, and neighbours the taps.
void fill_reads(Partition &part, const ConvShape &s, const Gpu &gpu, const Tiling &t) {
    const double of_cta = pixel_bytes(s, t), images = static_cast<double>(s.n);
    const double position_ctas = static_cast<double>(part.grid[0]), ctas = static_cast<double>(part.ctas),
                 image_bytes = std::max(of_cta, spanned_bytes(static_cast<double>(s.h * s.w) * 4.0)),
                 all_taps = spanned_bytes(static_cast<double>(s.filter_bytes()));
    const double pixel_reads =
        images * read_through_l1(of_cta, image_bytes, ctas / images, part, gpu, Again::anywhere);
    const double tap_reads = read_through_l1(std::min(all_taps, part.step.load_bytes - of_cta), all_taps,
                                             ctas, part, gpu, Again::in_turn);
    part.work.l2_read_bytes = pixel_reads + tap_reads;
    part.mergeable_reads =
        mergeable_reads(pixel_reads, {static_cast<double>(part.grid[1]), position_ctas}, part, gpu) +
        mergeable_reads(tap_reads, {position_ctas, 1.0}, part, gpu);
}

/// The work of the whole launch.
void fill_work(Partition &part, const ConvShape &s, const Gpu &gpu, const Tiling &t,
               const WarpCounts &counts) {
    const auto [rows, vector, band, classes] = t.outputs;
    // Only whole warps past the last position are idle; a filter past the last one is not computed.
    // The lane before the first of a plane that is moved by a vector computes the first once more.
    const std::int64_t planes = s.n * s.k, moved = classes == 2 ? planes / 2 : 0;
    const double busy_warps = static_cast<double>(ceil_div(t.positions + classes - 1, 32) * s.n);
    Work &work = part.work;
    work.fmas = static_cast<double>(t.positions * planes + moved) * counts.fmas_per_filter;
    work.instructions = static_cast<double>(part.ctas) * part.drain.instructions +
                        busy_warps * static_cast<double>(s.k) * counts.instructions_per_filter;
    work.shared_wavefronts = t.shares_taps
                                 ? static_cast<double>(planes - moved) * tap_passes(t.taps, t.positions) +
                                       static_cast<double>(moved) * tap_passes(t.taps, t.positions + 1) +
                                       all_copies(s, t)
                                 : 0.0;
    work.shared_conflicts = 0.0;
    fill_reads(part, s, gpu, t);
    const double stored = static_cast<double>(t.positions * rows * vector * planes) * 4.0;
    work.l2_write_bytes = stored;
    if (vector == 1) {
        work.l2_write_bytes =
            stored * written_bytes_of_columns(s, rows) / static_cast<double>(s.output_bytes());
        part.partial_write_bytes = written_in_part(*work.l2_write_bytes, stored);
    }
    fill_dram(work, s, gpu);
}

} // namespace

PlanResult<PatchRegister> PatchRegister::plan(const ConvShape &s, const Gpu &gpu) const {
    if (const std::string why = outside(s); !why.empty())
        return Infeasible{why, true};
    if (const std::string why = wrong_knob(*this, s); !why.empty())
        return Infeasible{why};
    const std::optional<PatchRegister> knobs = cheapest(*this, s, gpu);
    if (!knobs)
        return Infeasible{"rows = " + std::to_string(rows) + ", vector = " + std::to_string(vector) +
                          ": more rows than the map has, or more registers than a thread has"};
    Planned<PatchRegister> planned{*knobs, {}};
    Feasible &out = planned.feasible;
    const Tiling tiling = tiling_of(*knobs, s, gpu);
    Partition part = launch_of(s, gpu, tiling);
    if (const std::string why = does_not_fit(part, tiling); !why.empty())
        return Infeasible{why};
    fill_schedule(part, gpu.limits);
    const WarpCounts counts = compiled_counts(s, tiling);
    fill_step(part, s, tiling, counts);
    fill_work(part, s, gpu, tiling, counts);
    out.rules = table1_rules(gpu.profile);
    out.paper_round_fmas = part.step.fmas * static_cast<double>(part.ctas_per_sm);
    out.paper_round_bytes = part.step.load_bytes * static_cast<double>(part.ctas_per_sm);
    out.plan.launches = {std::move(part)};
    return planned;
}

} // namespace convcast
