// A patch of the image in registers while all filters pass by; C = 1.
#include "model/strategies/strategy.hpp"

#include <array>
#include <numeric>

namespace convcast {
namespace {

/// A thread has `vector` neighbouring outputs in each of `rows` bands of the map. It keeps the pixels of all
/// these in registers and walks over the CTA's `tile_k` filters, whose taps come from shared memory by
/// broadcast or, if there is one filter, stay in registers. A band is as many rows as make its outputs whole
/// sectors, so that sectors are stored whole. Per filter a thread issues rows * vector * r * s FFMAs, r * s
/// / 4 loads and `rows` stores, and little address arithmetic, which dominates other single-channel kernels.
/// Outputs larger than L2 are streamed past the map. One input channel only.
struct PatchRegister {
    static constexpr About about{"patch_register",
                                 "single channel: a patch of pixels stays in registers, filters pass by", 12};
    int rows = 0, vector = 0, threads = 0, tile_k = 0;

    void knobs(const EachKnob &each) {
        each(rows, "rows", 0, 16, {1, 2, 4},
             "bands of output rows in each of which a thread has outputs; a band is one row or, with "
             "vectors, the few rows that make whole vectors; 0: the model chooses");
        each(vector, "vector", 0, 4, {1, 4},
             "neighbouring outputs of a thread, stored at once; 4 needs p * q % 4 = 0; 0: the model chooses");
        each(threads, "threads", 0, 1024, {128, 256},
             "threads of a CTA, a multiple of 32, each a column of outputs; 0: the model chooses");
        each(tile_k, "tile_k", 0, 1024, {1, 4, 8, 32}, "filters of a CTA; 0: the model chooses");
    }
    static std::string outside(const ConvShape &s) {
        if (const std::string why = outside_papers(s); !why.empty())
            return why;
        if (s.c != 1)
            return fmt::format("the single-channel kernels need c = 1, got c = {}", s.c);
        if (s.r * s.s > 64)
            return "a patch of more than 64 taps does not stay in registers";
        return s.q() > 65536 ? "rows of more than 65536 outputs exceed the stores' offsets" : "";
    }
    SettingsOf<PatchRegister> settings(const ConvShape &s, const Gpu &gpu) const;
    Planned plan(const ConvShape &s, const Gpu &gpu);
};

/// Values that the taps of a filter take in shared memory, where they are read four at a time.
std::int64_t padded(std::int64_t taps) {
    return taps < 4 ? taps : round_up(taps, 4);
}

/// Filters whose taps a thread fetches together, as the kernel does.
std::int64_t group_of(std::int64_t taps) {
    return taps == 1 ? 4 : taps <= 9 ? 2 : 1;
}

/// Registers of a thread: pixels, the taps of a filter (those of the next take their place), sums, addresses.
std::int64_t registers_needed(std::int64_t pixels, std::int64_t taps, std::int64_t sums) {
    constexpr std::int64_t addresses = 12;
    const std::int64_t of_taps = taps == 1 ? group_of(1) : padded(taps);
    return std::clamp<std::int64_t>(round_up(pixels + of_taps + sums + addresses, 8), 32, 255);
}

/// What a thread computes for a filter: `vector` neighbours in each of `rows` bands.
struct Outputs {
    const ConvShape &s;
    std::int64_t rows, vector;
    std::int64_t taps = s.r * s.s;
    std::int64_t unit = std::gcd(vector, s.q()); ///< neighbours known to be in one row, which share pixels
    std::int64_t rows_of_sectors =
        2 * vector / std::gcd(2 * vector, s.q()); ///< the fewest with whole sectors
    bool whole_sectors = vector > 1 && rows_of_sectors *rows <= s.p();
    /// Output rows of a band. If the map has too few for whole sectors, they only make whole vectors.
    std::int64_t band = whole_sectors ? rows_of_sectors : vector / unit;
    /// 2: every other filter's plane starts in the middle of a sector; such filters have CTAs of their own.
    std::int64_t classes = whole_sectors && s.k > 1 && s.p() * s.q() % (2 * vector) != 0 ? 2 : 1;
    std::int64_t pixels = vector / unit * (std::min(band, s.r) * (rows - 1) + s.r) * (s.s + unit - 1);
    /// Pixels in a load: neighbours in a row, as aligned as the map's width lets them be.
    std::int64_t load_step = std::gcd(unit, s.w);
    /// Positions of an image; a thread has one.
    std::int64_t positions = ceil_div(s.p(), band *rows) * (band * s.q() / vector);
    std::int64_t register_cap = registers_needed(pixels, taps, rows *vector);
};

/// What the knobs make of a shape: outputs, the filters of a CTA, and the grid.
struct Tiling : Outputs {
    // A chunk of the map is a twelfth of L2, chosen: on an H200 a map of 4 MiB stays in 60 MiB of L2 while
    // the output streams by, and one of 16 MiB does not.
    static constexpr std::int64_t chunks_of_l2 = 12;
    const Gpu &gpu;
    std::int64_t threads, wanted_k;
    Banks banks = banks_of(gpu.profile);
    std::int64_t tile_k = std::min(wanted_k, ceil_div(s.k, classes));
    bool shares_taps = tile_k > 1;                          ///< in shared memory
    bool streamed = s.output_bytes() > gpu.limits.l2_bytes; ///< the output leaves L2 before it is complete
    /// CTAs along the filters, of both classes, and along the positions; the second class has one more.
    std::int64_t filter_ctas = classes * ceil_div(ceil_div(s.k, classes), tile_k),
                 all_position_ctas = ceil_div(positions + classes - 1, threads);
    std::int64_t chunks = streamed && filter_ctas > 1 ///< of the map: all filters pass one before the next
                              ? std::min(all_position_ctas,
                                         ceil_div(s.h *s.w * 4 * chunks_of_l2, gpu.limits.l2_bytes))
                              : 1;
    std::int64_t position_ctas = ceil_div(all_position_ctas, chunks); ///< of a chunk
    /// Taps of `filters` filters in shared memory: zeros fill the last group.
    std::int64_t bank_values(std::int64_t filters) const {
        return round_up(filters, group_of(taps)) * padded(taps);
    }
};

/// What one warp does, as the kernel's loops say: for a filter, and once.
struct WarpCounts {
    const Tiling &o;
    double taps = double(o.taps), stores = double(o.rows), pixel_loads = double(o.pixels / o.load_step),
           vector = double(o.vector);
    // Once: the thread's place, and the row of each unit, which may be another one of the band.
    double of_bands = o.s.s > 1 ? instructions::iteration *double(o.vector / o.unit * (o.band - 1)) : 0.0;
    double of_classes = o.classes == 2 ? instructions::iteration : 0.0;
    double once = instructions::place + of_bands + of_classes;
    double loads = o.taps == 1  ? 0.25       // for a filter: four filters a load
                   : o.taps < 4 ? taps / 2.0 // two values each
                                : double(padded(o.taps)) / 4.0;
    double fmas_per_filter = double(o.rows * o.vector) * taps; ///< of a thread
    // From shared memory each filter also takes a pointer, an iteration and a comparison whether it is the
    // last; the taps of a single filter come straight into registers.
    double instructions_per_filter = o.shares_taps
                                         ? fmas_per_filter + loads + stores + 2.0 * instructions::iteration
                                         : fmas_per_filter + stores;
    double instructions_once = o.shares_taps ? pixel_loads + once : pixel_loads + taps + once;
    /// Wavefronts of the loads of pixels (F12). Lanes lie a vector apart: as many words meet in a bank.
    double l1_passes_once = pixel_loads * l1_passes(lines_touched(128.0 * vector, 1.0, 0.0), vector);
};

/// Wavefronts of all loads of one filter's taps by the warps of so many threads. All lanes read the same four
/// values at a time, or the last one to three. Of a filter with one tap, a load has those of four filters.
double tap_passes(const Banks &banks, std::int64_t taps, std::int64_t threads) {
    constexpr std::int64_t quad = 4;
    const auto loads = [&](int width) {
        return over(Loop{threads, warp_lanes}, [&](std::int64_t lanes) {
            return shared_passes(banks, lanes, width, [](std::int64_t) { return 0; }).taken;
        });
    };
    if (taps == 1)
        return loads(4) / double(quad);
    if (taps < quad) // two values each
        return double(taps) / 2.0 * loads(2);
    const std::int64_t last = taps % quad;
    return double(taps / quad) * loads(4) + (last > 0 ? loads(last == 3 ? 4 : int(last)) : 0.0);
}

/// Warp instructions that copy taps to shared memory: of a full CTA, and of the launch.
struct TapCopies {
    double of_cta = 0.0, of_all = 0.0;
};

TapCopies tap_copies(const Tiling &o) {
    TapCopies copies;
    if (!o.shares_taps)
        return copies;
    const auto of_filters = [&](std::int64_t filters) {
        return double(ceil_div(o.bank_values(filters), warp_lanes));
    };
    copies.of_cta = of_filters(o.tile_k);
    for (std::int64_t which = 0; which < o.classes; ++which)
        copies.of_all += over(Loop{(o.s.k + o.classes - 1 - which) / o.classes, o.tile_k}, of_filters);
    copies.of_all *= double(o.position_ctas * (o.chunks * o.s.n));
    return copies;
}

/// Registers of a thread, read off 215 settings compiled for sm_90 (NVRTC 13.0). They are fewer than planned
/// where taps are used as they arrive, four at a time with vectors; but 3 x 3 on two rows keeps all taps, and
/// 5 x 5 on four rows keeps a dozen. With a single filter of 1 x 1 a sum takes the register of its pixel.
std::int64_t registers_of(const Tiling &o) {
    const ConvShape &s = o.s;
    const std::int64_t cap = o.register_cap;
    if (o.taps == 1)
        return o.shares_taps ? cap : std::max<std::int64_t>(32, cap - o.rows * o.vector);
    const bool three = s.r == 3 && s.s == 3, five = s.r == 5 && s.s == 5, seven = s.r == 7 && s.s == 7;
    if (!o.shares_taps)
        return five && o.rows * o.vector == 16 ? cap - 40 : three || five || seven ? cap - 8 : cap;
    if (o.vector == 1)
        return std::min(cap, round_up((o.rows + s.r - 1) * s.s + o.rows + 18, 8));
    if (three)
        return o.rows == 2 ? cap : cap - 8;
    return five ? cap - (o.rows == 4 ? 16 : 24) : seven ? cap - 40 : cap;
}

/// Why the strategy has no such knobs; "" if it has.
std::string refused(const PatchRegister &knobs, const ConvShape &s) {
    if (knobs.threads % 32 != 0)
        return fmt::format("threads must be a multiple of 32, got {}", knobs.threads);
    if (knobs.vector != 0 && knobs.vector != 1 && knobs.vector != 4)
        return fmt::format("vector must be 1 or 4, got {}", knobs.vector);
    if (knobs.vector == 4 && s.p() * s.q() % 4 != 0)
        return fmt::format("planes of {} outputs have no aligned vectors of 4", s.p() * s.q());
    return "";
}

/// Whether the map has so many rows, and a thread so few pixels that CTAs of `threads` fit. 200 registers are
/// chosen: beyond, few threads fit on an SM. Most settings take 4096 bytes of shared memory or less.
bool is_possible(const Outputs &o, const Gpu &gpu, std::int64_t threads) {
    constexpr std::int64_t most_registers = 200, shared_bytes = 4096;
    return o.s.p() * o.s.q() % o.vector == 0 && o.band * o.rows <= o.s.p() &&
           o.register_cap < most_registers && resident_ctas(gpu, threads, o.register_cap, shared_bytes) > 0;
}

Infeasible impossible(const PatchRegister &knobs) {
    return Infeasible{fmt::format("rows = {}, vector = {}, threads = {}: more rows than the map has, or more "
                                  "threads or registers than there are",
                                  knobs.rows, knobs.vector, knobs.threads)};
}

/// Grid, threads, shared memory and registers, and the CTAs that an SM holds.
Partition launch_of(const Tiling &o) {
    Partition part = launch_of_ctas(
        PatchRegister::about.name, {o.position_ctas, o.filter_ctas, o.chunks * o.s.n},
        {o.threads, o.register_cap, o.shares_taps ? o.bank_values(o.tile_k) * 4 : 0, registers_of(o)}, o.gpu);
    part.template_arguments = {o.s.r,  o.s.s,     o.rows,   o.vector,   o.s.q(),
                               o.band, o.classes, o.chunks, o.streamed, !o.shares_taps};
    part.tile_k = o.tile_k;
    part.filter_count = o.s.k;
    part.sharing_ctas = double(o.position_ctas * o.filter_ctas * o.chunks);
    part.busy_warps = ceil_div(std::min(part.threads, o.positions), warp_lanes);
    part.independent_sums = o.rows * o.vector;
    return part;
}

/// Bytes of the sectors of the input that a CTA reads: a part of some rows, or whole rows.
double pixel_bytes_of(const Tiling &o) {
    const std::int64_t columns = ceil_div(o.positions, o.position_ctas * o.chunks) * o.vector;
    const double runs = row_runs(columns, o.s.q()), columns_d = double(columns);
    const double bytes =
        o.s.q() >= columns
            ? double(o.band * (o.rows - 1) + o.s.r) *
                  ((columns_d + runs * double(o.s.s - 1)) * 4.0 + runs * spanned_bytes(0.0))
            : spanned_bytes((columns_d / double(o.s.q()) * double(o.rows) + double(o.s.r - 1)) *
                            double(o.s.w) * 4.0);
    return std::min(bytes, double(o.s.h * o.s.w) * 4.0);
}

/// Fills in the only step of a CTA, which computes, and its drain, which fetches pixels and taps before.
void count_cta(Partition &part, const Tiling &o, const WarpCounts &counts, const TapCopies &copies) {
    // On a small map a CTA has fewer positions than threads.
    const std::int64_t lanes = std::min(part.threads, o.positions);
    const double warps = double(ceil_div(lanes, warp_lanes)), filters = double(part.tile_k),
                 all_warps = double(part.threads) / 32.0;
    // A warp issues its FFMAs for all lanes, also where the map has fewer.
    part.step.fmas = warps * 32.0 * filters * counts.fmas_per_filter;
    part.step.instructions = warps * filters * counts.instructions_per_filter;
    part.step.shared_wavefronts = o.shares_taps ? filters * tap_passes(o.banks, o.taps, lanes) : 0.0;
    part.step.load_bytes = pixel_bytes_of(o) + spanned_bytes(filters * double(o.taps) * 4.0);
    // What the average CTA stores: the last ones of a map and of the filters store less.
    part.step.store_bytes = double(o.s.output_bytes()) / double(part.ctas);
    // Warps without positions end once they know, unless they copy taps: then they load pixels all the same.
    const double busy_share =
        double(ceil_div(o.positions, warp_lanes)) / (double(o.position_ctas * o.chunks) * all_warps);
    const double once = o.shares_taps ? counts.instructions_once
                                      : busy_share * counts.instructions_once +
                                            std::max(0.0, 1.0 - busy_share) * instructions::place;
    const double per_copy = o.taps == 1 ? instructions::copy : instructions::divided_copy;
    part.drain.instructions = all_warps * once + copies.of_cta * per_copy;
    part.drain.shared_wavefronts = warps * counts.l1_passes_once;
    // A thread copies its taps one by one: each load waits for the one before, but the first for the pixels.
    if (o.shares_taps)
        part.drain.line_waits = double(ceil_div(o.bank_values(part.tile_k), part.threads) - 1);
}

/// Fills in what the SMs request from L2. L1 may have pixels and taps that other CTAs have read.
void count_reads(Partition &part, const Tiling &o) {
    const double pixel_bytes = pixel_bytes_of(o), ctas = double(part.ctas), images = double(o.s.n),
                 position_ctas = double(part.grid[0]);
    const double image_bytes = std::max(pixel_bytes, spanned_bytes(double(o.s.h * o.s.w) * 4.0)),
                 all_taps = spanned_bytes(double(o.s.filter_bytes()));
    const double pixel_reads =
        images * read_through_l1(pixel_bytes, image_bytes, ctas / images, part, o.gpu, Again::anywhere);
    const double tap_reads = read_through_l1(std::min(all_taps, part.step.load_bytes - pixel_bytes), all_taps,
                                             ctas, part, o.gpu, Again::in_turn);
    set_reads(part, {{pixel_reads, {double(part.grid[1]), position_ctas}}, {tap_reads, {position_ctas, 1.0}}},
              o.gpu);
}

/// Fills in the work of the launch. Lanes past the last position compute as well if their warp has a
/// position; filters past the last one are not computed. In planes whose vectors are moved (classes = 2)
/// there is one position more, which computes the first outputs once more.
void count_launch(Partition &part, const Tiling &o, const WarpCounts &counts, const TapCopies &copies) {
    const std::int64_t positions = o.positions, planes = o.s.n * o.s.k,
                       moved = o.classes == 2 ? planes / 2 : 0;
    const double busy = double(positions * o.s.n * o.s.k + (o.classes - 1) * (o.s.n * o.s.k / 2));
    const double busy_warps = double(ceil_div(positions + o.classes - 1, warp_lanes) * o.s.n);
    Work &work = part.work;
    work.fmas = busy * counts.fmas_per_filter;
    work.instructions = double(part.ctas) * part.drain.instructions +
                        busy_warps * double(o.s.k) * counts.instructions_per_filter;
    work.shared_wavefronts = o.shares_taps ? double(planes - moved) * tap_passes(o.banks, o.taps, positions) +
                                                 double(moved) * tap_passes(o.banks, o.taps, positions + 1) +
                                                 copies.of_all
                                           : 0.0;
    work.shared_conflicts = 0.0;
    count_reads(part, o);
    const double stored = double(positions * o.rows * o.vector * o.s.n * o.s.k) * 4.0;
    work.l2_write_bytes =
        o.vector == 1 ? stored * written_bytes_of_columns(o.s, o.rows) / double(o.s.output_bytes()) : stored;
    if (o.vector == 1)
        part.partial_write_bytes = written_in_part(*work.l2_write_bytes, stored);
    fill_dram(work, o.s, o.gpu);
}

} // namespace

/// All combinations of the values tried, chosen, that are possible.
SettingsOf<PatchRegister> PatchRegister::settings(const ConvShape &s, const Gpu &gpu) const {
    if (std::string why = refused(*this, s); !why.empty())
        return Infeasible{std::move(why)};
    std::vector<PatchRegister> found;
    for (const int v : either(vector, {4, 1}))
        for (const int r : either(rows, {8, 4, 2, 1}))
            for (const int t : either(threads, {128, 256, 64, 512})) {
                const Outputs o{s, r, v};
                if (!is_possible(o, gpu, t))
                    continue;
                int last = 0; // a tile with more filters than there are is tried once
                for (const int k : either(tile_k, {32, 64, 16, 8, 4, 2, 1})) {
                    const int filters = int(std::min(std::int64_t{k}, ceil_div(s.k, o.classes)));
                    if (filters != last)
                        found.push_back({r, v, t, filters});
                    last = filters;
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
    if (!is_possible({s, rows, vector}, gpu, threads))
        return impossible(*this);
    const Tiling o{{s, rows, vector}, gpu, threads, tile_k};
    Partition part = launch_of(o);
    if (part.grid[1] > 65535 || part.grid[2] > 65535 || o.positions > std::int64_t{1} << 30)
        return Infeasible{"the grid exceeds 65535 in y or z; take a larger tile_k"};
    if (const std::string why = does_not_fit(part, gpu.limits); !why.empty())
        return Infeasible{why};
    const WarpCounts counts{o};
    const TapCopies copies = tap_copies(o);
    count_cta(part, o, counts, copies);
    count_launch(part, o, counts, copies);
    tile_k = int(o.tile_k);
    return plan_of_launch(std::move(part), gpu, Round::of_sm);
}

const StrategyKind &strategies::patch_register() {
    return kind_of<PatchRegister>();
}

} // namespace convcast
