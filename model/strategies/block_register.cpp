// Chen, Algorithm 2 (the general case): blocks of pixels of all channels against a tile of filters, an outer
// product of pixels and filters in registers.
#include "model/base/readable.hpp"
#include "model/strategies/strategy.hpp"

namespace convcast {
namespace {

/// A CTA computes `tile_k` filters (F_TB) for `tile_w` x `tile_h` outputs (W x H); a thread owns
/// `pixels_per_thread` neighbouring pixels of a row (W_T) times `filters_per_thread` filters (F_T).
/// `channels` channels (C_SH) are in shared memory at a time, the next ones under way. Reads of shared memory
/// are `unit` elements wide (n).
struct BlockRegister {
    static constexpr About about{
        "block_register", "Chen general case: W x H pixels by F_TB filters a CTA, W_T by F_T in registers",
        6};
    int tile_w = 0, tile_h = 0, tile_k = 0, pixels_per_thread = 0, filters_per_thread = 0, channels = 0,
        unit = 0;

    void knobs(const EachKnob &each) {
        each(tile_w, "tile_w", 0, 256, {16, 32},
             "W, outputs of a CTA along x, a multiple of 4 and of pixels_per_thread; 0: Chen's best (32, or "
             "64 for filters of more than 5 rows), or less if the map needs less");
        each(tile_h, "tile_h", 0, 64, {4, 8},
             "H, output rows of a CTA; 0: Chen's best (4, or 8 for filters of 4 or 5 rows), or less if the "
             "map needs less");
        each(tile_k, "tile_k", 0, 256, {32, 64, 128},
             "F_TB, filters of a CTA, a multiple of filters_per_thread; 0: Chen's best (64 for filters of up "
             "to 3 rows, else 32), or less if there are fewer");
        each(pixels_per_thread, "pixels_per_thread", 0, 32, {8, 16},
             "W_T, neighbouring pixels of a thread; 0: Chen's best (16 for filters of up to 3 rows, else 8)");
        each(filters_per_thread, "filters_per_thread", 0, 16, {4, 8},
             "F_T, filters of a thread; 0: Chen's best (4 for filters of up to 3 rows, else 8)");
        each(channels, "channels", 0, 64, {},
             "C_SH, channels of a step; 0: Chen's best (2 for filters of up to 3 rows, else 1), or more if "
             "that is less than 16 taps");
        each(unit, "unit", 0, 4, {},
             "n, neighbouring elements of one read of shared memory (1, 2 or 4); 0: the widest that fits the "
             "tile");
    }
    static std::string outside(const ConvShape &s) { return outside_papers(s, Elements::floats_and_short); }
    /// Gives the knobs that are 0 their values: Chen's best, fitted to the shape.
    void choose(const ConvShape &s);
    /// Why the knobs do not go with each other or with the shape; "" if they do.
    std::string check(const ConvShape &s) const;
    std::string settle(const ConvShape &s, const Gpu &gpu);
    Planned plan(const ConvShape &s, const Gpu &gpu);
    void walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const;
};

/// Chen's best knobs on a K40m for filters of 3, 5 and 7 rows; others take those of the next larger ones.
struct Best {
    int w, h, filters, pixels_per_thread, filters_per_thread, channels;
};
Best papers_best(std::int64_t rows) {
    if (rows <= 3)
        return {32, 4, 64, 16, 4, 2};
    if (rows <= 5)
        return {32, 8, 32, 8, 8, 1};
    return {64, 4, 32, 8, 8, 1};
}

/// `size`, halved while it is even and half of it covers `needed` and is no less than `least`.
int shrunk(int size, std::int64_t needed, int least) {
    while (size % 2 == 0 && size / 2 >= needed && size / 2 >= least)
        size /= 2;
    return size;
}

void BlockRegister::choose(const ConvShape &s) {
    const Best best = papers_best(s.r);
    if (tile_w == 0)
        tile_w = std::max(shrunk(best.w, s.q(), 8), pixels_per_thread);
    if (pixels_per_thread == 0)
        pixels_per_thread = std::min(best.pixels_per_thread, tile_w);
    if (tile_h == 0)
        tile_h = shrunk(best.h, s.p(), 1);
    if (channels == 0) {
        constexpr std::int64_t enough_taps = 16; // of a step, chosen: Chen has 18 at 3 x 3, and no 1 x 1
        channels = int(std::min<std::int64_t>(
            s.c, std::max<std::int64_t>(best.channels, ceil_div(enough_taps, s.r * s.s))));
    }
    if (tile_k == 0) {
        // Threads that a CTA must have: a warp, and for short elements what check_cta says.
        const std::int64_t least = s.dtype == DataType::f32
                                       ? papers::warp_threads
                                       : std::max({static_cast<std::int64_t>(papers::warp_threads),
                                                   tile_w + s.s - 1, channels * s.r * s.s});
        const int strips = std::max(1, tile_w / std::max(1, pixels_per_thread)) * tile_h;
        const int group = filters_per_thread == 0 ? best.filters_per_thread : filters_per_thread;
        tile_k = std::max(shrunk(best.filters, s.k, 8), int(ceil_div(least, strips)) * group);
    }
    if (filters_per_thread == 0)
        filters_per_thread = std::min(best.filters_per_thread, tile_k);
    if (unit == 0)
        for (unit = 4; pixels_per_thread % unit != 0 || filters_per_thread % unit != 0; unit /= 2) {
        }
}

std::string BlockRegister::check(const ConvShape &s) const {
    const int width = pixels_per_thread, group = filters_per_thread;
    if (unit != 1 && unit != 2 && unit != 4)
        return fmt::format("unit must be 1, 2 or 4, got {}", unit);
    if (tile_w % 4 != 0 || tile_w % width != 0)
        return fmt::format("tile_w = {} is no multiple of 4 and of pixels_per_thread = {}", tile_w, width);
    if (tile_k % group != 0)
        return fmt::format("tile_k = {} is no multiple of filters_per_thread = {}", tile_k, group);
    if ((width & (width - 1)) != 0)
        return fmt::format("pixels_per_thread must be 1, 2, 4, 8, 16 or 32, got {}", width);
    if (width % unit != 0 || group % unit != 0)
        return fmt::format("pixels_per_thread and filters_per_thread must be multiples of unit = {}", unit);
    return channels > s.c ? fmt::format("channels = {} exceeds the {} there are", channels, s.c) : "";
}

/// What follows from the shape and settled knobs. Lengths in shared memory are in elements.
struct Tiling : BlockRegister {
    const ConvShape &s;
    const Gpu &gpu;
    Banks banks = banks_of(gpu.profile);
    std::int64_t width = pixels_per_thread, group = filters_per_thread, n = unit;
    // Aligned rows of floats are copied 16 bytes at a time; short elements pass through registers by words.
    std::int64_t bytes = s.element_bytes(), word = 4 / bytes;
    bool short_type = s.dtype != DataType::f32, wide = s.w % (short_type ? word : 4) == 0;
    std::int64_t copy_width = !wide ? 1 : short_type ? word : 4;
    std::int64_t threads_x = tile_k / group, strips = tile_w / width;
    std::int64_t threads = threads_x * strips * tile_h;
    // Of the map: rows of a channel, from one row to the next in shared memory, copies of a row.
    std::int64_t rows = tile_h + s.r - 1, pitch = tile_w + round_up(s.s - 1, 4);
    std::int64_t row_copies = wide ? pitch / copy_width : tile_w + s.s - 1;
    std::int64_t taps = channels * s.r * s.s, ///< of a filter, in a step: all channels
        filter_pitch = tile_k + n;            ///< from one tap of all filters to the next
    std::int64_t bank_elements = round_up(taps * filter_pitch, 4);         ///< filters of a buffer
    std::int64_t stage_elements = bank_elements + channels * rows * pitch; ///< a buffer: filters, then pixels
    std::int64_t tile_pixels = std::int64_t{tile_w} * tile_h;
    std::int64_t result_pitch = tile_pixels + 4; ///< from one filter's outputs to the next's, as they leave
    std::int64_t tiles_x = ceil_div(s.q(), tile_w), tiles_y = ceil_div(s.p(), tile_h);
};

/// Short elements of the next step that a thread holds in registers while it computes this one; 0 for
/// floats, which are copied asynchronously. A CTA has a thread for each (check_cta).
std::int64_t held_by(const Tiling &o) {
    if (!o.short_type)
        return 0;
    const std::int64_t filters = ceil_div(o.tile_k, o.threads / o.taps);
    return filters + o.channels * ceil_div(o.rows, o.threads / o.row_copies);
}

/// Registers of a thread: `needed` by its values, and the cap to compile with, which leaves room for
/// addresses or is what an SM has for each thread. The room was read off the machine code for sm_90.
struct Registers {
    std::int64_t needed, cap;
};
Registers registers_for(const Tiling &o) {
    // Sums, a row of pixels, filter values, held elements. A long row's pixels are not all held at once.
    const bool long_row = o.s.s >= 5 && !o.short_type, in_parts = long_row && o.width == 8;
    const std::int64_t pixels = round_up(o.width + (in_parts ? 3 : o.s.s) - 1, o.n);
    const std::int64_t addresses =
        (in_parts || (o.wide && !long_row) ? 36 : 44) + (o.width * o.group < 64 ? 8 : 0);
    const std::int64_t needed = o.width * o.group + pixels + 2 * o.group + held_by(o);
    const std::int64_t register_cap = std::clamp<std::int64_t>(round_up(needed + addresses, 8), 64, 255);
    return {needed, std::min(register_cap, o.gpu.limits.registers_per_sm / round_up(o.threads, 128) / 8 * 8)};
}

/// Why the GPU cannot launch such CTAs, or why a thread cannot hold its values; "" if neither.
std::string check_cta(const Tiling &o) {
    if (ceil_div(o.s.k, o.tile_k) > 65535)
        return "the grid exceeds 65535 in y; take a larger tile_k";
    if (o.threads < papers::warp_threads)
        return fmt::format("a CTA would have {} threads, less than a warp", o.threads);
    if (o.threads > o.gpu.limits.max_threads_per_cta)
        return fmt::format("a CTA would have {} threads, the GPU allows {}", o.threads,
                           o.gpu.limits.max_threads_per_cta);
    if (o.short_type && o.threads < std::max(o.taps, o.row_copies))
        return fmt::format(
            "{} threads copy less at a time than the {} values of a filter in a step or the {} copies "
            "of a row",
            o.threads, o.taps, o.row_copies);
    constexpr std::int64_t most_held = 80; // beside the sums; the compiler spills beyond
    if (const std::int64_t held = held_by(o); held > most_held)
        return fmt::format(
            "a thread would hold {} elements of the next step in registers; take fewer channels or more "
            "threads",
            held);
    if (const Registers registers = registers_for(o); registers.cap < registers.needed + 32)
        return fmt::format("{} threads of {} x {} sums need more registers than a thread or an SM has",
                           o.threads, o.width, o.group);
    return "";
}

std::string BlockRegister::settle(const ConvShape &s, const Gpu &gpu) {
    choose(s);
    const std::string why = check(s);
    return why.empty() ? check_cta(Tiling{*this, s, gpu}) : why;
}

/// Registers that a thread of floats needs at most, read off 182 settings compiled for sm_90 (NVRTC 13.0).
/// With large filters, whose rows of taps pass through a few registers, and with single taps the compiler
/// stays below the cap. The cases below were grouped until they fitted; 255 is no limit.
std::int64_t registers_of(const Tiling &o) {
    const ConvShape &s = o.s;
    const std::int64_t taps = s.r * s.s, width = o.width, sums = width * o.group;
    const bool narrow = taps == 1 && o.channels == 16 && o.tile_w == 16 && width == 16;
    if (narrow || (taps == 1 && o.channels == 1))
        return sums + (narrow ? 40 : 48);
    const bool square = s.r == 3 && s.s == 3, many_warps = o.threads >= 128;
    const bool single = taps == 1 && (sums < 64 || (sums == 64 && o.channels == 16 && many_warps) ||
                                      (sums == 64 && o.channels < 16 && o.tile_k < 64));
    const bool nine = square && ((sums == 64 && (width == 8 || (o.channels == 2 && !many_warps))) ||
                                 (sums < 64 && o.channels == 2 && o.tile_w == 8));
    const bool several = (taps >= 21 || (taps == 5 && o.channels >= 4)) && (s.s >= 5 || sums >= 64);
    if (single || nine || several)
        return sums + 64;
    return 255;
}

/// Grid, threads, shared memory, registers and how many CTAs an SM holds.
Partition launch_of(const Tiling &o) {
    constexpr std::int64_t stages = 2;
    const std::int64_t cap = registers_for(o).cap;
    Partition part = launch_of_ctas(
        BlockRegister::about.name, {o.tiles_x * o.tiles_y, ceil_div(o.s.k, o.tile_k), o.s.n},
        {o.threads, cap,
         round_up(std::max(stages * o.stage_elements * o.bytes, o.threads_x * o.result_pitch * 4), 16),
         o.short_type ? cap : std::min(cap, registers_of(o))},
        o.gpu);
    part.template_arguments = {o.s.r,   o.s.s,   o.tile_w,   o.tile_h, o.tile_k,
                               o.width, o.group, o.channels, o.n,      o.wide};
    add_element_type(part, o.s);
    part.variant = std::string(o.threads <= 64 ? "two warps at most" : "") + // each copies many times a step
                   (o.s.r * o.s.s > 1 ? ""
                    : o.threads <= 64 ? ", 1 x 1"
                                      : "1 x 1");
    part.sharing_ctas = double(part.grid[0] * part.grid[1]);
    part.stages = stages;
    part.steps = ceil_div(o.s.c, o.channels);
    part.filter_count = o.s.k;
    part.independent_sums = o.width * o.group;
    return part;
}

/// What a CTA's warps do in shared memory: reads of pixels and filter values (weights) in a step, and stores
/// and reads of results on their way out. Passes are those of one access by all warps.
struct SharedAccess {
    const Tiling &o;
    int load_width = int(std::max<std::int64_t>(1, o.n *o.bytes / 4)),
        store_width = o.width % 4 == 0 ? 4 : int(o.width);
    Passes pixel = pixels(load_width);
    Passes weight = shared_passes(o.banks, o.threads, load_width,
                                  [this](std::int64_t t) { return t % o.threads_x * o.n * o.bytes / 4; });
    Passes result = shared_passes(o.banks, o.threads, store_width, [this](std::int64_t t) {
        return t % o.threads_x * o.result_pitch + strip_word(t, o.tile_w);
    });
    Passes result_read =
        position_passes(o.banks, {o.group, o.threads_x *o.tile_pixels, o.tile_pixels, o.result_pitch});
    /// Pixels that a thread reads for a row of taps, and how many of the last unit it uses. If these are one
    /// or two of four floats, the compiler reads only them.
    std::int64_t row_values = round_up(o.width + o.s.s - 1, o.n),
                 used = o.width + o.s.s - 1 - (row_values - o.n);
    Passes last_pixel = !o.short_type && o.n == 4 && used < 3 ? pixels(int(used)) : pixel;
    // Rows of taps in a step. Accesses of a warp: in a step, of its results. Passes of all warps in a step.
    double channel_rows = double(o.channels * o.s.r);
    double pixel_loads = channel_rows * double(row_values / o.n),
           weight_loads = channel_rows * double(o.s.s * o.group / o.n),
           result_stores = double(o.group * o.width / store_width);
    double pixel_passes = (pixel_loads - channel_rows) * pixel.taken + channel_rows * last_pixel.taken;

    /// Where thread t's pixels begin, in elements. Neighbours run along filters, then along x, then y.
    std::int64_t strip_word(std::int64_t t, std::int64_t row_pitch) const {
        const std::int64_t y = t / o.threads_x;
        return y / o.strips * row_pitch + y % o.strips * o.width;
    }
    Passes pixels(int words) const {
        return shared_passes(o.banks, o.threads, words,
                             [&](std::int64_t t) { return strip_word(t, o.pitch) * o.bytes / 4; });
    }
};

/// Which CTA of the grid is meant: the average one, or one whose tile lies inside the output.
enum class Tile { average, full };

/// Warp instructions of one warp's copies in a step, as compiled for sm_90. A warp makes as many iterations
/// as the kernel's loops have work for any of its threads. An iteration past the last filter or row of the
/// tensor costs its comparison only; others a copy too, by divisions if a thread changes column.
double copying_of_warp(const Tiling &o, Tile tile, std::int64_t warp) {
    // Filters, and rows, that all threads copy side by side; 0 if one takes more threads than there are.
    const std::int64_t filters_at_once = o.threads / o.taps, rows_at_once = o.threads / o.row_copies,
                       thread = warp * warp_lanes;
    // Iterations of this warp in a loop over `all` items, `at_once` of them side by side, of `copies` threads
    // each, as far as they reach one of the first `inside` items.
    const auto iterations = [&](std::int64_t all, std::int64_t at_once, std::int64_t copies,
                                std::int64_t inside) {
        const std::int64_t left = thread < at_once * copies ? std::min(all, inside) - thread / copies : 0;
        return left > 0 ? double(ceil_div(left, at_once)) : 0.0;
    };
    // Iterations of this warp if warps take 32 copies each in turn.
    const auto flat_iterations = [&](std::int64_t copies) {
        const std::int64_t left = ceil_div(std::max<std::int64_t>(0, copies), warp_lanes) - warp;
        return left > 0 ? double(ceil_div(left, ceil_div(o.threads, warp_lanes))) : 0.0;
    };
    // Copies of a tile whose first `inside` filters, or rows, lie inside the tensor.
    const auto of_filters = [&](std::int64_t inside) {
        return filters_at_once > 0
                   ? iterations(o.tile_k, filters_at_once, o.taps, o.tile_k) *
                             (2.0 * instructions::iteration) +
                         iterations(o.tile_k, filters_at_once, o.taps, inside) * instructions::copy
                   : flat_iterations(o.tile_k * o.taps) * (2.0 * instructions::iteration) +
                         flat_iterations(std::min<std::int64_t>(inside, o.tile_k) * o.taps) *
                             instructions::divided_copy;
    };
    const auto of_pixels = [&](std::int64_t inside) {
        const auto channels = double(o.channels);
        return rows_at_once > 0
                   ? channels * (iterations(o.rows, rows_at_once, o.row_copies, o.rows) *
                                     (2.0 * instructions::iteration) +
                                 iterations(o.rows, rows_at_once, o.row_copies, inside) * instructions::copy)
                   : flat_iterations(o.channels * o.rows * o.row_copies) * instructions::divided_copy +
                         channels * flat_iterations(std::min(inside, o.rows) * o.row_copies) *
                             instructions::copy;
    };
    if (tile == Tile::full)
        return of_filters(o.tile_k) + of_pixels(o.rows);
    const Loop filters{o.s.k, o.tile_k}, lines{o.s.p(), o.tile_h};
    const auto of_lines = [&](std::int64_t outputs) { return of_pixels(outputs + o.s.r - 1); };
    return over(filters, of_filters) / double(filters.turns()) +
           over(lines, of_lines) / double(lines.turns());
}

/// Warp instructions of a CTA's copies in a step: of all its warps, and of the one that has most. With a 1 x
/// 1 filter there are few copies, which may all fall to the first warp.
struct Copying {
    double all = 0.0, longest = 0.0;
};
Copying copying_of(const Tiling &o, Tile tile) {
    Copying copying;
    for (std::int64_t warp = 0; warp < ceil_div(o.threads, warp_lanes); ++warp) {
        const double of_warp = copying_of_warp(o, tile, warp);
        copying.all += of_warp;
        copying.longest = std::max(copying.longest, of_warp);
    }
    return copying;
}

/// What a CTA does in a step. `tile` decides on its copies only.
StepWork step_of(const Tiling &o, const SharedAccess &access, Tile tile) {
    const double warps = double(ceil_div(o.threads, 32));
    const double channel_rows = access.channel_rows;
    // Short elements take one instruction more to widen what is read (a single byte is widened by its load),
    // and stores that put held elements into shared memory.
    const bool widens = o.s.dtype == DataType::f16 || (o.s.dtype == DataType::i8 && o.n > 1);
    const double widened = widens ? channel_rows * double(access.row_values + o.s.s * o.group) : 0.0;
    const double puts = double(held_by(o));
    constexpr std::int64_t most_unrolled =
        1024; // as the kernel does: all taps of a channel, or a row of them
    const bool unrolled = o.s.r * o.s.s * o.group * o.width <= most_unrolled; // all taps of a channel
    StepWork step;
    step.fmas = double(o.taps * o.tile_k * o.tile_pixels);
    step.turns = warps * double(unrolled ? o.channels : o.channels * o.s.r);
    step.copying = o.short_type ? 0.0 : copying_of(o, tile).all; // short elements wait in registers meanwhile
    step.shared_wavefronts = access.pixel_passes + access.weight_loads * access.weight.taken + warps * puts;
    // Warp instructions beside arithmetic and loads, at the prices of instructions.hpp: a channel and, where
    // they are a loop, a filter row (addresses); a step (loop, barrier, pointers).
    step.instructions =
        double(o.taps * o.width * o.group) * warps +
        warps * (access.pixel_loads + access.weight_loads + widened +
                 double(o.channels) * instructions::iteration +
                 (unrolled ? 0.0 : channel_rows * instructions::iteration) + puts + instructions::loop) +
        (o.short_type ? warps * puts * instructions::unrolled_copy : step.copying);
    step.load_bytes = double((o.taps * std::min<std::int64_t>(o.tile_k, o.s.k) +
                              o.channels * std::min(o.rows, o.s.h) * std::min(o.tile_w + o.s.s - 1, o.s.w)) *
                             o.bytes);
    return step;
}

/// Wavefronts of all CTAs' reads of results on their way from shared memory to the output.
double result_reads_of(const Tiling &o, const SharedAccess &access, std::int64_t ctas) {
    if (o.tile_pixels % warp_lanes != 0) // a warp reads pixels of several filters
        return double(ctas) * access.result_read.taken;
    // A warp reads 32 neighbouring pixels of a tile of one filter, if any of them is an output.
    const auto tile_reads = [&](std::int64_t columns, std::int64_t lines) {
        std::int64_t reads = 0;
        for (std::int64_t first = 0; first < o.tile_pixels; first += warp_lanes) {
            const std::int64_t y = first / o.tile_w, x = first % o.tile_w;
            const bool next_row = x + warp_lanes > o.tile_w && y + 1 < lines;
            reads += (y < lines && x < columns) || next_row ? 1 : 0;
        }
        return double(reads);
    };
    return double(o.s.n * o.s.k) * over(Loop{o.s.q(), o.tile_w}, Loop{o.s.p(), o.tile_h}, tile_reads);
}

/// What a CTA does once: its start, and its results on their way out through shared memory.
StepWork drain_of(const Tiling &o, const SharedAccess &access, std::int64_t ctas) {
    const double warps = double(ceil_div(o.threads, 32));
    const double outputs = double(o.group * o.width);
    const double reads = result_reads_of(o, access, ctas);
    StepWork drain;
    // Warp instructions as compiled for sm_90: the start; for each sum of a thread its store to shared
    // memory, with divisions and comparisons; for 32 outputs their read and their store.
    drain.instructions = warps * (instructions::warp + outputs * instructions::placed_store) +
                         reads / double(ctas) * instructions::placed_store;
    drain.shared_wavefronts = access.result_stores * access.result.taken + access.result_read.taken;
    drain.store_bytes =
        double(std::min<std::int64_t>(o.tile_w, o.s.q()) * std::min<std::int64_t>(o.tile_h, o.s.p()) *
               std::min<std::int64_t>(o.tile_k, o.s.k) * o.s.result_bytes());
    return drain;
}

/// What all CTAs request from L2 of the map. Who reads the same is left out.
Reads pixel_reads_of(const Tiling &o, const Partition &part) {
    const double row_pixels = covered(o.tiles_x, o.wide ? o.pitch : o.tile_w + o.s.s - 1, o.tile_w, 0, o.s.w);
    const double tile_row = row_pixels * double(o.bytes) / double(o.tiles_x);
    const double tile_rows = covered(o.tiles_y, o.rows, o.tile_h, 0, o.s.h) / double(o.tiles_y);
    const double channels = double(o.s.c);
    const double of_images = double(part.grid[0] * part.grid[1]); // CTAs of an image
    const bool bypass_l1 = o.wide && !o.short_type;               // copies of 16 bytes
    if (!bypass_l1) {
        const double row_bytes = spanned_bytes(tile_row, o.copy_width * o.bytes);
        const double tile_bytes = // rows of a tile as wide as the map follow one another
            std::min(tile_rows * row_bytes,
                     spanned_bytes(tile_rows * double(o.s.w * o.bytes), o.copy_width * o.bytes));
        // The CTAs of an image read the same pixels, for other filters.
        return {image_reads(o.s, channels * tile_bytes, of_images, part, o.gpu)};
    }
    const std::int64_t plane = o.s.h * o.s.w * 4;
    const Stride tiles_apart{o.tile_w * 4, o.tiles_x}, rows_apart{o.s.w * 4, o.s.h},
        planes_apart{plane, o.s.c};
    const std::int64_t bank_bytes = o.bank_elements * 4;
    const std::initializer_list<Stride> runs_apart = {
        {o.rows * o.pitch * 4 - plane, o.channels},
        {o.pitch * 4 - o.s.w * 4, o.rows},
        next_buffer(o.stage_elements * 4, o.channels * plane, part.stages, part.steps),
        next_turn(o.channels * plane, part.stages, part.steps),
        {-o.tile_h * o.s.w * 4, o.tiles_y},
        {-o.tile_w * 4, o.tiles_x}};
    const double row_bytes =
        wide_copy_bytes(tile_row, share_at_odd_16_bytes(bank_bytes, runs_apart),
                        share_at_odd_16_bytes(0, {tiles_apart, rows_apart, planes_apart}));
    const double of_cta = channels * (tile_rows * row_bytes);
    const double all = double(o.s.n) * (of_images * of_cta);
    return {all, {}, all * alike_in_lines(bank_bytes, runs_apart)};
}

/// Fills in what the cores and shared memory do in the whole launch.
void fill_core_work(Partition &part, const Tiling &o, const SharedAccess &access) {
    const double ctas = double(part.ctas), steps = double(part.steps);
    set_core_work(part);
    part.work.shared_wavefronts =
        ctas * (steps * part.step.shared_wavefronts + access.result_stores * access.result.taken) +
        result_reads_of(o, access, part.ctas);
    part.work.shared_conflicts = ctas * (steps * (access.pixel_loads * access.pixel.conflicts() +
                                                  access.weight_loads * access.weight.conflicts()) +
                                         access.result_stores * access.result.conflicts());
}

} // namespace

Planned BlockRegister::plan(const ConvShape &s, const Gpu &gpu) {
    const Tiling o{*this, s, gpu};
    Partition part = launch_of(o);
    if (const std::string why = does_not_fit(part, gpu.limits); !why.empty())
        return Infeasible{why};
    const SharedAccess access{o};
    part.step = step_of(o, access, Tile::average);
    if (const Copying copying = copying_of(o, Tile::full); !o.short_type && copying.all > 0.0)
        part.longest_copier = copying.longest * double(part.busy_warps) / copying.all;
    part.drain = drain_of(o, access, part.ctas);
    fill_core_work(part, o, access);
    // If no SM has two CTAs, the launch takes as long as a CTA with a full tile.
    if (part.ctas <= gpu.limits.sm_count)
        part.step = step_of(o, access, Tile::full);
    fill_tile_reads(part, filter_tile_reads(s, part, gpu), pixel_reads_of(o, part), s, gpu);
    part.work.l2_write_bytes = written_bytes_of_tiles(s, tile_w, tile_h);
    fill_writes(part, s, gpu);

    Feasible out = plan_of_launch(std::move(part), gpu, Round::of_sm);
    if (gpu.profile.bank_width)
        out.rules.bank_ratio = gpu.profile.bank_width->value.value / double(s.element_bytes());
    out.rules.pixel_uses = papers::pixel_uses(s.r, s.s, s.k);
    out.rules.shared_reads = papers::shared_reads(o.width, s.s);
    out.rules.global_reads = papers::global_reads(s.r);
    return out;
}

void BlockRegister::walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &) const {
    const Tiling o{*this, s, gpu};
    walk.cuts = {{.axis = &OutputBox::images, .share = 1, .along = 2},
                 {.axis = &OutputBox::filters, .share = tile_k, .along = 1},
                 {.axis = &OutputBox::rows, .share = tile_h, .along = 0, .apart = o.tiles_x},
                 {.axis = &OutputBox::columns, .share = tile_w, .along = 0, .shares = o.tiles_x}};
    walk.step_channels = channels;
    walk.buffers = {{"filters", CopiedTensor::filters, o.bank_elements * o.bytes, 2},
                    {"map", CopiedTensor::map, channels * o.rows * o.pitch * o.bytes, 2}};
    walk.threads = {o.strips * tile_h, o.threads_x, 1, o.width, o.group};
    walk.threads.warp_along_pixels = false;
    walk.threads.unit = unit;
    walk.pixels = {o.rows, tile_w + s.s - 1, tile_h, tile_w};
    walk.draws_banks = true;
    walk.remark =
        fmt::format("A step brings C_SH = {} of a block of W x H = {} x {} pixels and of F_TB = {} filters, "
                    "which are transposed, with {} of padding a row.",
                    count_text(channels, "channel"), tile_w, tile_h, tile_k, count_text(unit, "element"));
}

const StrategyKind &strategies::block_register() {
    return kind_of<BlockRegister>();
}

} // namespace convcast
