// A patch of the image in registers while all filters pass by; C = 1.
#include "model/strategies/strategy.hpp"
#include <array>
#include <numeric>

namespace convcast {
namespace {

/// A thread keeps the pixels behind `vector` neighbouring outputs in each of `rows` bands of the map in
/// registers and walks over the CTA's `tile_k` filters, whose taps come from shared memory by broadcast, or,
/// of a single filter, from registers. A band is as many rows as make its outputs whole sectors, which then
/// are stored whole. Per filter a thread issues rows * vector * r * s FFMAs, r * s / 4 loads and `rows`
/// stores: nearly nothing else, where single-channel kernels drown in addresses. Outputs larger than L2 are
/// streamed past the map. C = 1 only.
struct PatchRegister {
    static constexpr About about{"patch_register",
                                 "single channel: a patch of pixels stays in registers, filters pass by", 12};
    int rows = 0, vector = 0, threads = 0, tile_k = 0;

    void knobs(const EachKnob &each) {
        each(rows, "rows", 0, 16, {1, 2, 4},
             "bands of output rows of a thread: of 1, 2 or 4 rows, a multiple of the vector; 0: the model "
             "chooses");
        each(vector, "vector", 0, 4, {1, 4},
             "neighbouring outputs of a thread, stored at once; 4 needs p * q % 4 = 0; 0: the model chooses");
        each(threads, "threads", 0, 1024, {128, 256},
             "threads of a CTA, a multiple of 32, each a column of outputs; 0: the model chooses");
        each(tile_k, "tile_k", 0, 1024, {1, 4, 8, 32}, "filters of a CTA; 0: the model chooses");
    }
    SettingsOf<PatchRegister> settings(const ConvShape &s, const Gpu &gpu) const;
    static std::string outside(const ConvShape &s);
    Planned plan(const ConvShape &s, const Gpu &gpu);
};

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

/// Positions of an image, each of which a thread takes.
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

std::int64_t padded(std::int64_t taps) {
    return taps < 4 ? taps : round_up(taps, 4);
}

/// Filters whose taps are fetched together.
std::int64_t group_of(std::int64_t taps) {
    return taps == 1 ? 4 : taps <= 9 ? 2 : 1;
}

/// What one warp does, as the kernel's loops say.
struct WarpCounts {
    double fmas_per_filter; ///< of a thread
    double instructions_per_filter;
    double instructions_once;
    double l1_passes_once; ///< of the pixels' loads: lanes are a vector apart (F12)
};

WarpCounts counts_of(const ConvShape &s, Outputs o, std::int64_t tile_k) {
    const std::int64_t units = o.vector / unit_of(s, o.vector);
    const double taps = double(s.r * s.s), stores = double(o.rows);
    const double pixel_loads = double(pixels_of(s, o) / load_step(s, o));
    const auto vector = double(o.vector); // as many passes of the banks
    // The thread's place; where neighbours may lie in another row of the band, which one for each unit.
    const double of_bands = s.s > 1 ? instructions::iteration * double(units * (o.band - 1)) : 0.0,
                 of_classes = o.classes == 2 ? instructions::iteration : 0.0;
    const double once = instructions::place + of_bands + of_classes;
    WarpCounts counts{};
    counts.fmas_per_filter = double(o.rows * o.vector) * taps;
    counts.l1_passes_once = pixel_loads * l1_passes(lines_touched(128.0 * vector, 1.0, 0.0), vector);
    if (tile_k == 1) { // taps straight into registers
        counts.instructions_per_filter = counts.fmas_per_filter + stores;
        counts.instructions_once = pixel_loads + taps + once;
        return counts;
    }
    const double loads = s.r * s.s == 1  ? 0.25
                         : s.r * s.s < 4 ? taps / 2.0 // two values each
                                         : double(padded(s.r * s.s)) / 4.0;
    // Each filter also takes a pointer, an iteration and a comparison whether it is the last.
    counts.instructions_per_filter = counts.fmas_per_filter + loads + stores + 2.0 * instructions::iteration;
    counts.instructions_once = pixel_loads + once;
    return counts;
}

/// Passes of all loads of one filter's taps by the warps of so many threads. All lanes read the same four
/// values at a time, of the last ones no more than there are; of one tap four filters at once.
double tap_passes(const Banks &banks, std::int64_t taps, std::int64_t threads) {
    constexpr std::int64_t quad = 4;
    const auto loads = [&](int width) {
        const auto passes = [&](std::int64_t lanes) {
            return shared_passes(banks, lanes, width, [](std::int64_t) { return 0; }).taken;
        };
        return double(threads / warp_lanes) * passes(warp_lanes) + passes(threads % warp_lanes);
    };
    if (taps == 1)
        return loads(4) / double(quad);
    if (taps < quad) // two values each
        return double(taps) / 2.0 * loads(2);
    const std::int64_t last = taps % quad;
    return double(taps / quad) * loads(4) + (last > 0 ? loads(last == 3 ? 4 : int(last)) : 0.0);
}

/// Taps in shared memory: zeros fill the last group.
std::int64_t bank_values(const ConvShape &s, std::int64_t tile_k) {
    return round_up(tile_k, group_of(s.r * s.s)) * padded(s.r * s.s);
}

/// Copies of taps to shared memory, by the warps of a full CTA and of all.
struct TapCopies {
    double of_cta = 0.0, of_all = 0.0;
};

TapCopies tap_copies(const ConvShape &s, Outputs o, const Grid &grid, std::int64_t tile_k) {
    TapCopies copies;
    if (tile_k == 1)
        return copies;
    copies.of_cta = double(ceil_div(bank_values(s, tile_k), warp_lanes));
    // The last CTA of a class has the filters that are left.
    for (std::int64_t which = 0; which < o.classes; ++which) {
        const std::int64_t its_filters = (s.k + o.classes - 1 - which) / o.classes;
        const std::int64_t left = its_filters % tile_k;
        copies.of_all +=
            double(its_filters / tile_k) * copies.of_cta + double(ceil_div(bank_values(s, left), warp_lanes));
    }
    copies.of_all *= double(grid.positions * (grid.chunks * s.n));
    return copies;
}

/// Pixels, one filter's taps (the next one's take their place), sums, and what addresses them.
std::int64_t registers_needed(const ConvShape &s, Outputs o) {
    constexpr std::int64_t addresses = 12;
    const std::int64_t taps = s.r * s.s == 1 ? group_of(1) : padded(s.r * s.s);
    return std::clamp<std::int64_t>(round_up(pixels_of(s, o) + taps + o.rows * o.vector + addresses, 8), 32,
                                    255);
}

/// Registers of a thread as compiled for sm_90 (NVRTC 13.0, 215 settings). Taps that come filter by filter
/// are used as they come: by fours where there are vectors, though 3 x 3 on two rows keeps them all and 5 x 5
/// on four a dozen. Of a single filter of 1 x 1 a sum takes its pixel's place.
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

std::string PatchRegister::outside(const ConvShape &s) {
    if (const std::string why = outside_papers(s); !why.empty())
        return why;
    if (s.c != 1)
        return "the single-channel kernels need c = 1, got c = " + std::to_string(s.c);
    if (s.r * s.s > 64)
        return "a patch of more than 64 taps does not stay in registers";
    return s.q() > 65536 ? "rows of more than 65536 outputs exceed the stores' offsets" : "";
}

/// Why the strategy has no such knobs; "" if it has.
std::string refused(const PatchRegister &knobs, const ConvShape &s) {
    if (knobs.threads % 32 != 0)
        return "threads must be a multiple of 32, got " + std::to_string(knobs.threads);
    if (knobs.vector != 0 && knobs.vector != 1 && knobs.vector != 4)
        return "vector must be 1 or 4, got " + std::to_string(knobs.vector);
    if (knobs.vector == 4 && s.p() * s.q() % 4 != 0)
        return "planes of " + std::to_string(s.p() * s.q()) + " outputs have no aligned vectors of 4";
    return "";
}

/// Whether the map has so many rows, and a thread so many registers.
bool is_possible(const ConvShape &s, const Gpu &gpu, Outputs o, std::int64_t threads) {
    constexpr std::int64_t most_registers = 200, shared_bytes = 4096; // of most settings
    return s.p() * s.q() % o.vector == 0 && o.band * o.rows <= s.p() &&
           registers_needed(s, o) < most_registers &&
           resident_ctas(gpu, threads, registers_needed(s, o), shared_bytes) > 0;
}

Infeasible impossible(const PatchRegister &knobs) {
    return Infeasible{"rows = " + std::to_string(knobs.rows) + ", vector = " + std::to_string(knobs.vector) +
                      ", threads = " + std::to_string(knobs.threads) +
                      ": more rows than the map has, or more threads or registers than there are"};
}

/// What the knobs make of a shape.
struct Tiling {
    const PatchRegister &knobs;
    const ConvShape &s;
    const Gpu &gpu;
    Banks banks = banks_of(gpu.profile);
    Outputs outputs = outputs_of(s, knobs.rows, knobs.vector);
    std::int64_t tile_k = std::min(std::int64_t{knobs.tile_k}, ceil_div(s.k, outputs.classes));
    Grid grid = grid_of(s, gpu, outputs, knobs.threads, tile_k);
    std::int64_t positions = positions_of(s, outputs); ///< of threads that have outputs, of an image
    bool shares_taps = tile_k > 1;                     ///< in shared memory
};

Partition launch_of(const Tiling &tiling) {
    const Outputs &o = tiling.outputs;
    const Grid &grid = tiling.grid;
    Partition part;
    part.kernel = PatchRegister::about.name;
    part.template_arguments = {tiling.s.r,
                               tiling.s.s,
                               o.rows,
                               o.vector,
                               tiling.s.q(),
                               o.band,
                               o.classes,
                               grid.chunks,
                               is_streamed(tiling.s, tiling.gpu) ? 1 : 0,
                               tiling.shares_taps ? 0 : 1};
    part.grid = {grid.positions, grid.filters, grid.chunks * tiling.s.n};
    part.threads = tiling.knobs.threads;
    part.tile_k = tiling.tile_k;
    part.filter_count = tiling.s.k;
    part.shared_bytes = tiling.shares_taps ? bank_values(tiling.s, tiling.tile_k) * 4 : 0;
    part.register_cap = registers_needed(tiling.s, o);
    part.ctas_per_sm =
        resident_ctas(tiling.gpu, part.threads, registers_of(tiling.s, o, tiling.tile_k), part.shared_bytes);
    part.sharing_ctas = double(grid.positions * grid.filters * grid.chunks);
    part.stages = 1;
    part.steps = 1;
    part.busy_warps = ceil_div(std::min(part.threads, tiling.positions), warp_lanes);
    part.independent_sums = o.rows * o.vector;
    return part;
}

/// Bytes of the input that a CTA reads: a strip of its threads' columns, or whole rows.
double pixel_bytes_of(const Tiling &tiling) {
    const Outputs &o = tiling.outputs;
    const std::int64_t columns =
        ceil_div(tiling.positions, tiling.grid.positions * tiling.grid.chunks) * o.vector;
    const double runs = row_runs(columns, tiling.s.q()), columns_d = double(columns);
    const double bytes =
        tiling.s.q() >= columns
            ? double(o.band * (o.rows - 1) + tiling.s.r) *
                  ((columns_d + runs * double(tiling.s.s - 1)) * 4.0 + runs * spanned_bytes(0.0))
            : spanned_bytes((columns_d / double(tiling.s.q()) * double(o.rows) + double(tiling.s.r - 1)) *
                            double(tiling.s.w) * 4.0);
    return std::min(bytes, double(tiling.s.h * tiling.s.w) * 4.0);
}

/// What a CTA does: it fetches its pixels and taps, then computes; its warps wait for that together.
void count_cta(Partition &part, const Tiling &tiling, const WarpCounts &counts, const TapCopies &copies) {
    // On a small map a CTA has fewer positions than threads; warps without a position end at once.
    const std::int64_t lanes = std::min(part.threads, tiling.positions);
    const double warps = double(ceil_div(lanes, warp_lanes)), filters = double(part.tile_k),
                 all_warps = double(part.threads) / 32.0;
    // A warp issues its FFMAs for all lanes, also where the map has fewer.
    part.step.fmas = warps * 32.0 * filters * counts.fmas_per_filter;
    part.step.instructions = warps * filters * counts.instructions_per_filter;
    part.step.shared_wavefronts =
        tiling.shares_taps ? filters * tap_passes(tiling.banks, tiling.s.r * tiling.s.s, lanes) : 0.0;
    part.step.load_bytes =
        pixel_bytes_of(tiling) + spanned_bytes(filters * double(tiling.s.r * tiling.s.s) * 4.0);
    // What the average CTA stores: the last ones of a map and of the filters store less.
    part.step.store_bytes = double(tiling.s.output_bytes()) / double(part.ctas);
    // Warps without positions: where taps are copied they load their pixels all the same.
    const double busy_share = double(ceil_div(tiling.positions, warp_lanes)) /
                              (double(tiling.grid.positions * tiling.grid.chunks) * all_warps);
    const double once = tiling.shares_taps ? counts.instructions_once
                                           : busy_share * counts.instructions_once +
                                                 std::max(0.0, 1.0 - busy_share) * instructions::place;
    const double per_copy = tiling.s.r * tiling.s.s == 1 ? instructions::copy : instructions::divided_copy;
    part.drain.instructions = all_warps * once + copies.of_cta * per_copy;
    part.drain.shared_wavefronts = warps * counts.l1_passes_once;
    // A copied tap waits for its load before the next one is asked for; the first beside the pixels.
    if (tiling.shares_taps)
        part.drain.line_waits = double(ceil_div(bank_values(tiling.s, part.tile_k), part.threads) - 1);
}

/// What the SMs read of L2: CTAs of other filters may find the pixels in L1, and neighbours the taps.
void count_reads(Partition &part, const Tiling &tiling) {
    const double pixel_bytes = pixel_bytes_of(tiling), ctas = double(part.ctas), images = double(tiling.s.n),
                 position_ctas = double(part.grid[0]);
    const double image_bytes = std::max(pixel_bytes, spanned_bytes(double(tiling.s.h * tiling.s.w) * 4.0)),
                 all_taps = spanned_bytes(double(tiling.s.filter_bytes()));
    const double pixel_reads =
        images * read_through_l1(pixel_bytes, image_bytes, ctas / images, part, tiling.gpu, Again::anywhere);
    const double tap_reads = read_through_l1(std::min(all_taps, part.step.load_bytes - pixel_bytes), all_taps,
                                             ctas, part, tiling.gpu, Again::in_turn);
    part.work.l2_read_bytes = pixel_reads + tap_reads;
    part.mergeable_reads =
        mergeable_reads(pixel_reads, {double(part.grid[1]), position_ctas}, part, tiling.gpu) +
        mergeable_reads(tap_reads, {position_ctas, 1.0}, part, tiling.gpu);
}

/// The work of the launch. Only whole warps past the last position are idle; a filter past the last one is
/// not computed. The lane before the first of a plane that is moved by a vector computes the first once more.
void count_launch(Partition &part, const Tiling &tiling, const WarpCounts &counts, const TapCopies &copies) {
    const Banks banks = banks_of(tiling.gpu.profile);
    const Outputs &o = tiling.outputs;
    const std::int64_t positions = tiling.positions, planes = tiling.s.n * tiling.s.k,
                       moved = o.classes == 2 ? planes / 2 : 0;
    const double busy =
        double(positions * tiling.s.n * tiling.s.k + (o.classes - 1) * (tiling.s.n * tiling.s.k / 2));
    const double busy_warps = double(ceil_div(positions + o.classes - 1, warp_lanes) * tiling.s.n);
    Work &work = part.work;
    work.fmas = busy * counts.fmas_per_filter;
    work.instructions = double(part.ctas) * part.drain.instructions +
                        busy_warps * double(tiling.s.k) * counts.instructions_per_filter;
    work.shared_wavefronts =
        tiling.shares_taps
            ? double(planes - moved) * tap_passes(banks, tiling.s.r * tiling.s.s, positions) +
                  double(moved) * tap_passes(banks, tiling.s.r * tiling.s.s, positions + 1) + copies.of_all
            : 0.0;
    work.shared_conflicts = 0.0;
    count_reads(part, tiling);
    const double stored = double(positions * o.rows * o.vector * tiling.s.n * tiling.s.k) * 4.0;
    work.l2_write_bytes =
        o.vector == 1 ? stored * written_bytes_of_columns(tiling.s, o.rows) / double(tiling.s.output_bytes())
                      : stored;
    if (o.vector == 1)
        part.partial_write_bytes = written_in_part(*work.l2_write_bytes, stored);
    fill_dram(work, tiling.s, tiling.gpu);
}

} // namespace

SettingsOf<PatchRegister> PatchRegister::settings(const ConvShape &s, const Gpu &gpu) const {
    if (std::string why = refused(*this, s); !why.empty())
        return Infeasible{std::move(why)};
    std::vector<PatchRegister> found;
    for (const int v : either(vector, {4, 1}))
        for (const int r : either(rows, {8, 4, 2, 1}))
            for (const int t : either(threads, {128, 256, 64, 512})) {
                const Outputs o = outputs_of(s, r, v);
                if (!is_possible(s, gpu, o, t))
                    continue;
                int before = 0;
                for (const int k : either(tile_k, {32, 64, 16, 8, 4, 2, 1})) {
                    const int filters = int(std::min(std::int64_t{k}, ceil_div(s.k, o.classes)));
                    if (filters != before) // more than there are
                        found.push_back({r, v, t, filters});
                    before = filters;
                }
            }
    if (found.empty())
        return impossible(*this);
    return found;
}

Planned PatchRegister::plan(const ConvShape &s, const Gpu &gpu) {
    if (std::string why = refused(*this, s); !why.empty())
        return Infeasible{std::move(why)};
    if (rows < 1 || vector < 1 || threads < 1 || tile_k < 1)
        return Infeasible{"a plan needs all of rows, vector, threads and tile_k"};
    if (!is_possible(s, gpu, outputs_of(s, rows, vector), threads))
        return impossible(*this);
    const Tiling tiling{*this, s, gpu};
    Partition part = launch_of(tiling);
    if (part.grid[1] > 65535 || part.grid[2] > 65535 || tiling.positions > std::int64_t{1} << 30)
        return Infeasible{"the grid exceeds 65535 in y or z; take a larger tile_k"};
    if (part.ctas_per_sm < 1)
        return Infeasible{"a CTA of " + std::to_string(part.threads) + " threads does not fit an SM"};
    fill_schedule(part, gpu.limits);
    const WarpCounts counts = counts_of(s, tiling.outputs, tiling.tile_k);
    const TapCopies copies = tap_copies(s, tiling.outputs, tiling.grid, tiling.tile_k);
    count_cta(part, tiling, counts, copies);
    count_launch(part, tiling, counts, copies);
    tile_k = int(tiling.tile_k);
    return plan_of_launch(std::move(part), gpu, Round::of_sm);
}

namespace strategies {
const StrategyKind &patch_register() {
    return kind_of<PatchRegister>();
}
} // namespace strategies

} // namespace convcast
