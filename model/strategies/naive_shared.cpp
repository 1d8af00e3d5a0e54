// The CNN papers' second step (Vadlamudi): a CTA per filter, the filter and the input tile in shared memory.
#include "model/strategies/strategy.hpp"

#include <cmath>
#include <limits>

namespace convcast {
namespace {

/// A CTA computes `tile_w` x `tile_h` outputs of one filter, a thread each. The filter is in shared memory;
/// so is the input tile of all channels where it fits. Stride 1 or 2, padding; no dilation, no groups.
struct NaiveShared {
    static constexpr About about{
        "naive_shared", "one thread per output, a CTA per filter: filter and input tile in shared memory",
        11};
    int tile_w = 0, tile_h = 0, map = 0;

    void knobs(const EachKnob &each) {
        each(tile_w, "tile_w", 0, 1024, {8, 16, 32}, "outputs of a CTA along x; 0: the map's, 32 at most");
        each(tile_h, "tile_h", 0, 1024, {4, 8, 16, 32}, "outputs of a CTA along y; 0: the map's, 32 at most");
        each(map, "map", 0, 2, {1, 2},
             "where the input tile lies: 1 shared memory, 2 global memory; 0: shared memory where it fits");
    }
    static std::string outside(const ConvShape &s) {
        if (s.dtype != DataType::f32)
            return "only FP32 is built for this strategy";
        if (s.stride_h > 2 || s.stride_w > 2)
            return "this strategy has strides 1 and 2; naive_global has all";
        if (s.dilation_h != 1 || s.dilation_w != 1)
            return "this strategy has no dilation; naive_global has";
        if (s.groups != 1)
            return "this strategy has one group; naive_global has any number";
        if (s.fmas().value > 1e17)
            return "more than 1e17 multiply-adds: days on any GPU";
        constexpr std::int64_t most = std::int64_t{1} << 30;
        if (s.h * s.w > most || s.c * s.r * s.s > most || s.n > 65535 || s.k > 65535)
            return "an image, filter, filter set or batch is too large for 32-bit indices and the grid";
        return "";
    }
    std::string settle(const ConvShape &s, const Gpu &gpu);
    Planned plan(const ConvShape &s, const Gpu &gpu);
    void walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const;
};

/// Registers of a thread, map in global memory (NVRTC 13.0, sm_90): by how many pixels it loads at once.
std::int64_t registers_of_global_map(const ConvShape &s) {
    if (s.r * s.s > 16) // one row of taps at a time
        return s.s <= 5 ? 32 : 40;
    if (s.r == 1 || s.r * s.s <= 3)
        return 32;
    return std::clamp<std::int64_t>(24 + 8 * (s.s == 1   ? (s.r - 1) / 2
                                              : s.s == 3 ? s.r - 1
                                                         : s.s - 2),
                                    32, 64);
}

/// What follows from the shape and settled knobs.
struct Tiling : NaiveShared {
    const ConvShape &s;
    const Gpu &gpu;
    std::int64_t threads = std::int64_t{tile_w} * tile_h;
    std::int64_t rows = (tile_h - 1) * s.stride_h + s.r,
                 columns = (tile_w - 1) * s.stride_w + s.s;                        ///< of pixels under a tile
    std::int64_t filter_floats = s.products(), tile_floats = s.c * rows * columns; ///< of all channels
    std::int64_t tiles_x = ceil_div(s.q(), tile_w), tiles_y = ceil_div(s.p(), tile_h);
    double tiles = double(tiles_x * tiles_y); ///< of a map
    bool shared_map = map == 1;
    double channels = shared_map ? double(s.c) : 1.0; ///< of a step
    bool unrolled = s.r * s.s <= 16; ///< taps, as the kernel does with a map in global memory
};

/// Gives the free knobs their values. Returns why a given one is wrong or does not fit, or "".
std::string NaiveShared::settle(const ConvShape &s, const Gpu &gpu) {
    const GpuLimits &limits = gpu.limits;
    if (tile_w == 0)
        tile_w = int(std::min<std::int64_t>(32, s.q()));
    if (tile_h == 0)
        tile_h = int(std::min<std::int64_t>(32, s.p()));
    const Tiling t{*this, s, gpu};
    if (t.threads > limits.max_threads_per_cta)
        return fmt::format("tile_w * tile_h = {} exceeds the {} threads of a CTA", t.threads,
                           limits.max_threads_per_cta);
    const std::int64_t bank_floats = round_up(t.filter_floats, 4), most = limits.shared_bytes_per_cta / 4;
    if (bank_floats > most)
        return fmt::format("a filter of {} bytes exceeds a CTA's shared memory of {}", t.filter_floats * 4,
                           limits.shared_bytes_per_cta);
    const bool fits = bank_floats + t.tile_floats <= most;
    if (map == 1 && !fits)
        return fmt::format(
            "map = 1: the input tile of {} bytes does not fit beside the filter in shared memory",
            t.tile_floats * 4);
    if (map == 0)
        map = fits ? 1 : 2;
    return "";
}

/// Grid, threads, shared memory and registers, and the CTAs that an SM holds.
Partition launch_of(const Tiling &t) {
    const std::int64_t bank_floats = round_up(t.filter_floats, 4),
                       band_floats = t.shared_map ? t.tile_floats : 0;
    const std::int64_t register_cap = t.shared_map ? 40 : 64;
    Partition part = launch_of_ctas(NaiveShared::about.name, {t.tiles_x * t.tiles_y, t.s.k, t.s.n},
                                    {t.threads, register_cap, (bank_floats + band_floats) * 4,
                                     t.shared_map ? register_cap : registers_of_global_map(t.s)},
                                    t.gpu);
    part.variant = t.shared_map ? "map in shared memory"
                   : t.unrolled ? "map in global memory"
                                : "map in global memory, a loop of taps";
    part.template_arguments = {t.s.r, t.s.s, t.tile_w, t.tile_h, t.s.stride_h, t.s.stride_w, t.shared_map};
    part.sharing_ctas = double(part.grid[0] * part.grid[1]);
    part.bank_floats = bank_floats;
    part.band_floats = band_floats;
    part.steps = t.shared_map ? 1 : t.s.c;
    part.filter_count = t.s.k;
    part.barriers = t.shared_map ? 1 : 0;
    part.copy_passes = t.shared_map ? copy_passes(false, t.gpu) : 0.0;
    return part;
}

/// Warps of a CTA that have outputs, and the wavefronts of their read of one tap's pixels.
struct Warps {
    double active, busiest; ///< such warps of a CTA on average, and of the CTAs of the busiest SM
    double passes;          ///< of a read by one of them
    double conflicts;       ///< of a read by all of them, summed over the tiles of a map
};

Warps warps_of(const Tiling &t) {
    // The word that a thread reads for a tap, in a tile with so many columns and rows of outputs and rows of
    // pixels `pitch` words apart. Other taps only shift it. A thread without an output ends early.
    const auto reads = [&](std::int64_t columns_inside, std::int64_t rows_inside, std::int64_t pitch) {
        return [&t, columns_inside, rows_inside, pitch](std::int64_t thread) -> std::int64_t {
            const std::int64_t y = thread / t.tile_w, x = thread % t.tile_w;
            return x < columns_inside && y < rows_inside ? y * t.s.stride_h * pitch + x * t.s.stride_w : -1;
        };
    };
    const auto tile_pixels = [&](std::int64_t columns_inside, std::int64_t rows_inside) {
        return shared_passes(banks_of(t.gpu.profile), t.threads, 1,
                             reads(columns_inside, rows_inside, t.columns));
    };
    const auto gathered_pixels = [&](std::int64_t columns_inside, std::int64_t rows_inside) {
        return gathered(t.threads, 1, reads(columns_inside, rows_inside, t.s.w));
    };
    const Loop columns{t.s.q(), t.tile_w}, rows{t.s.p(), t.tile_h};
    const Passes pixels = over(columns, rows, tile_pixels);
    const double active = pixels.least / t.tiles; // without conflicts a warp takes one wavefront
    // An SM's only CTA may be a full one. The more CTAs an SM has, the closer their mean is to that of all.
    const double of_an_sm =
        double(ceil_div(t.tiles_x * t.tiles_y * t.s.k * t.s.n, std::int64_t{t.gpu.limits.sm_count}));
    const double fullest =
        tile_pixels(std::min<std::int64_t>(t.tile_w, t.s.q()), std::min<std::int64_t>(t.tile_h, t.s.p()))
            .least;
    const double taken = t.shared_map ? pixels.taken : over(columns, rows, gathered_pixels);
    return {active, active + std::max(0.0, fullest - active) / of_an_sm, taken / pixels.least,
            pixels.conflicts()};
}

/// Warp instructions of a warp with outputs: in a step, and before the first for which taps lie inside.
struct Instructions {
    const Tiling &t;
    // With the map in shared memory a tap is two loads and an FMA. In global memory the kernel must know
    // which taps lie inside: up to 16 taps are unrolled, and predicates (flags) keep it for all channels; in
    // a loop it is found out for each row and tap.
    static constexpr std::int64_t most_flags = 16;
    double taps = double(t.s.r * t.s.s);
    bool flags = !t.shared_map && t.s.r * t.s.s <= most_flags;
    double per_tap = t.shared_map ? 3.0 : flags ? instructions::iteration : 3.0 + instructions::guard;
    double per_channel =
        per_tap * taps + instructions::iteration +
        (t.shared_map || flags ? 0.0 : double(t.s.r) * instructions::iteration + instructions::loop);
    double of_step = t.channels * per_channel,
           to_find_out = (flags && taps > 1.0 ? taps : 0.0) * instructions::guard;
};

/// Warp instructions that a CTA takes to copy filters and pixels to shared memory.
double copy_instructions_of(const Tiling &t) {
    // A warp that has nothing left to copy leaves the loop. Row and channel of a pixel are found by
    // divisions, unless a tile has one pixel a channel.
    const auto iterations_of =
        [&](std::int64_t floats) { // summed over warps; a thread copies one float in each
            return over(Loop{floats, t.threads},
                        [](std::int64_t copying) { return double(ceil_div(copying, warp_lanes)); });
        };
    const double pixel_copy = t.rows * t.columns > 1 ? instructions::divided_copy : instructions::copy;
    return (t.shared_map ? pixel_copy * iterations_of(t.tile_floats) : 0.0) +
           instructions::copy * iterations_of(t.filter_floats);
}

/// Bytes of the sectors that all tiles of a map read of one channel.
double map_bytes(const Tiling &t) {
    const double input_rows = covered(t.tiles_y, t.rows, t.tile_h * t.s.stride_h, t.s.pad_h, t.s.h);
    const double tile_row_bytes = spanned_bytes(
        covered(t.tiles_x, t.columns, t.tile_w * t.s.stride_w, t.s.pad_w, t.s.w) * 4.0 / double(t.tiles_x),
        row_grain(t.s, t.tiles_x > 1 ? t.tile_w * t.s.stride_w : 0, t.tiles_x > 1 ? t.s.pad_w : 0));
    // With a stride larger than the filter the map in global memory has rows that no tap reads.
    const double read_rows = t.shared_map ? 1.0 : std::min(1.0, double(t.s.r) / double(t.s.stride_h));
    const double tile_rows = input_rows / double(t.tiles_y) * read_rows;
    // Rows of a tile as wide as the map are one run, and so are whole channels.
    return t.tiles * std::min({tile_rows * tile_row_bytes, spanned_bytes(tile_rows * double(t.s.w) * 4.0),
                               channel_of_run_bytes(t.s, t.s.c)});
}

/// What a step costs, and what a CTA does once.
void fill_step(Partition &part, const Tiling &t, const Warps &its) {
    const double taps = double(t.s.r * t.s.s), lanes = double(t.threads);
    const double warps = double(part.busy_warps), copies = copy_instructions_of(t);
    const Instructions count{t};
    constexpr double most_unrolled = 64.0; // taps
    part.step.fmas = lanes * taps * t.channels;
    // With the map in shared memory all copies belong to the only step, else to the start.
    part.step.copying = t.shared_map ? copies : 0.0;
    part.step.instructions = its.busiest * count.of_step + part.step.copying;
    part.step.shared_wavefronts = its.busiest * t.channels * taps * (its.passes + 1.0);
    if (t.shared_map)
        part.step.turns = warps * t.channels * (taps <= most_unrolled ? 1.0 : taps);
    part.step.line_waits = t.shared_map || t.unrolled ? 0.0 : double(t.s.r - 1); // new rows, one at a time
    // Loads, and what no counter tells from them: where a row of taps is an iteration of a loop, the row's
    // branch and the addresses that all lanes share, and twice as much for a channel.
    part.step.loads = t.shared_map ? 0.0
                                   : its.active * t.channels *
                                         (taps + (t.unrolled ? 0.0
                                                             : double(t.s.r) * instructions::iteration +
                                                                   2.0 * instructions::iteration));
    if (!t.shared_map) // a step is a channel
        part.sector_share = new_sector_share(t.s.h * t.s.w * 4, 1.0, t.s.c * t.s.h * t.s.w * 4);
    part.step.load_bytes =
        map_bytes(t) / t.tiles * t.channels + (t.shared_map ? double(t.filter_floats) * 4.0 : 0.0);
    part.drain.instructions = warps * instructions::place +
                              its.active * (instructions::place + count.to_find_out) + copies -
                              part.step.copying;
    part.drain.store_bytes = lanes * 4.0;
}

/// Fills in what the SMs request from L2. CTAs of all filters read the same tile, all tiles a filter.
void fill_reads(Partition &part, const Tiling &t) {
    const double planes = double(t.s.k), of_tiles = double(t.s.c) * map_bytes(t) / t.tiles,
                 of_filter = spanned_bytes(double(t.filter_floats) * 4.0);
    const double pixel_reads = image_reads(t.s, of_tiles, t.tiles * planes, part, t.gpu),
                 of_filters =
                     filter_reads(of_filter, of_filter * planes, double(t.s.n * t.s.k), t.tiles, part, t.gpu);
    set_reads(part, {{pixel_reads, {planes, t.tiles}}, {of_filters, filter_readers(t.s, t.tiles, planes)}},
              t.gpu);
}

/// The work of the whole launch.
void fill_work(Partition &part, const Tiling &t, const Warps &its) {
    const double taps = double(t.s.r * t.s.s), channels = double(t.s.c), ctas = double(part.ctas);
    Work &work = part.work;
    work.fmas = t.s.fmas().value; // also of taps in the padding: they multiply zeros
    work.instructions = ctas * (double(part.steps) * its.active * Instructions{t}.of_step +
                                part.step.copying + part.drain.instructions);
    work.shared_wavefronts = ctas * channels * taps * its.active * (1.0 + (t.shared_map ? its.passes : 0.0));
    work.shared_conflicts = t.shared_map ? ctas * channels * taps * its.conflicts / t.tiles : 0.0;
    fill_reads(part, t);
    work.l2_write_bytes = written_bytes_of_tiles(t.s, t.tile_w, t.tile_h);
    const double planes_at_once = std::max(1.0, double(part.ctas_per_sm * t.gpu.limits.sm_count) / t.tiles);
    fill_dram(work, t.s, t.gpu, double(t.s.k) / planes_at_once);
    if (t.shared_map) // tiles have the rows that no tap reads
        *work.dram_read_bytes += double(t.s.input_bytes()) - input_read_bytes(t.s, t.gpu.architecture);
}

} // namespace

Planned NaiveShared::plan(const ConvShape &s, const Gpu &gpu) {
    const Tiling tiling{*this, s, gpu};
    Partition part = launch_of(tiling);
    if (part.grid[0] > std::numeric_limits<std::int32_t>::max())
        return Infeasible{"the grid exceeds 2^31 - 1 CTAs in x; take a larger tile"};
    if (const std::string why = does_not_fit(part, gpu.limits); !why.empty())
        return Infeasible{why};
    const Warps warps = warps_of(tiling);
    fill_step(part, tiling, warps);
    fill_work(part, tiling, warps);
    Feasible out = plan_of_launch(std::move(part), gpu, Round::of_sm);
    if (!tiling.shared_map)
        out.assumptions.emplace_back(
            "what a CTA reads of a channel stays in L1 while the filter passes over it");
    return out;
}

void NaiveShared::walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const {
    const Tiling t{*this, s, gpu};
    walk.cuts = {{.axis = &OutputBox::images, .share = 1, .along = 2},
                 {.axis = &OutputBox::filters, .share = 1, .along = 1},
                 {.axis = &OutputBox::rows, .share = tile_h, .along = 0, .apart = t.tiles_x},
                 {.axis = &OutputBox::columns, .share = tile_w, .along = 0, .shares = t.tiles_x}};
    walk.threads = {t.threads, 1, 1, 1, 1};
    walk.draws_memory = false;
    walk.buffers = {{"filter", CopiedTensor::filters, launch.bank_floats * 4, 1}};
    if (t.shared_map) {
        walk.buffers.push_back({"map", CopiedTensor::map, launch.band_floats * 4, 1});
        walk.pixels = {t.rows, t.columns, tile_h * s.stride_h, tile_w * s.stride_w};
    }
    walk.remark = "Each multiply-add takes two loads: nothing is reused in registers.";
}

const StrategyKind &strategies::naive_shared() {
    return kind_of<NaiveShared>();
}

} // namespace convcast
