// Implicit GEMM: the convolution as a product of matrices, filters by pixels, over (c, r, s).
#include "model/strategies/parts/implicit_gemm_tile.hpp"
#include "model/strategies/strategy.hpp"

#include <bit>
#include <cmath>
#include <numeric>
#include <set>

namespace convcast {
namespace {

constexpr std::int64_t most_taps = 64; // of a slice's channel: which lie inside the image are bits of a word

/// What follows from shape and knobs, and several parts of a plan need. A slice is what a pipeline step
/// brings: slice_channels channels of a filter or, of filters with many taps, one row of taps of each. A
/// value is a filter's tap of a channel.
struct Tiling {
    const ConvShape &s;
    const ImplicitGemm &g;
    const Gpu &gpu;
    Banks banks = banks_of(gpu.profile);
    std::int64_t channels = s.c / s.groups, filters = s.k / s.groups; ///< of a group
    std::int64_t padded_filters = round_up(filters, 4); ///< filters = 2: values of a row as prepared
    std::int64_t values = channels * s.r * s.s;         ///< of a filter
    /// Rows of taps and taps of a channel in a slice, and values of a filter in a slice.
    std::int64_t rows = s.r * s.s <= most_taps ? s.r : 1, taps = rows * s.s, slice = g.slice_channels * taps;
    std::int64_t steps = ceil_div(channels, g.slice_channels) * (s.r / rows);
    std::int64_t threads = g.tile_k / g.thread_k * (g.tile_pixels / g.thread_pixels) * g.warp_split;
    std::int64_t warps = threads / 32, lanes_n = lanes_along_pixels(g);
    /// Filters that are not prepared come by 16-byte copies and lie filter by filter; else value by value.
    bool by_filter = g.filters == 1 && rows == s.r && s.products() % 4 == 0 && slice % 4 == 0 &&
                     channels % g.slice_channels == 0;
    /// Floats from one filter, or value, to the next in shared memory: an odd number of 16-byte words where
    /// warps store or read across, which keeps them off the same banks.
    std::int64_t pitch = g.filters == 2 ? g.tile_k
                         : by_filter    ? slice + (slice / 4 % 2 == 1 ? 0 : 4)
                                        : g.tile_k + 4;
    std::int64_t stage_floats = (by_filter ? g.tile_k : slice) * pitch + slice * g.tile_pixels;
    std::int64_t pixels = s.n * s.p() * s.q(), pixel_tiles = ceil_div(pixels, g.tile_pixels);
    std::int64_t filter_tiles = ceil_div(filters, g.tile_k);
    bool padded = s.pad_h > 0 || s.pad_w > 0;
    /// Pixels come by 16-byte copies: a single tap reads neighbours as they lie.
    bool wide_pixels = s.r * s.s == 1 && s.stride_h * s.stride_w == 1 && !padded && s.h * s.w % 4 == 0;
    /// Sums go through shared memory: those of several warps or CTAs are added up there, and planes whose
    /// outputs are no multiple of four are stored from there one by one.
    bool meets = g.split * g.warp_split > 1 || s.p() * s.q() % 4 != 0;
    /// 128-bit loads of a warp in a step, and the wavefronts of the loads of all warps of a CTA.
    double warp_loads = double(slice) / g.warp_split * (g.thread_k + g.thread_pixels) / 4.0;
    double load_wavefronts = double(warps) * warp_loads * gpu.architecture.uniform_wide_wavefronts->value;
};

/// Why the kernel is not built for these knobs, or the shape has too few channels for them; "" if neither.
std::string check_knobs(const ImplicitGemm &g, const ConvShape &s) {
    if (!power_of_two_in(g.tile_k, 16, 256))
        return "tile_k must be 16, 32, 64, 128 or 256";
    if (g.tile_pixels < 16 || g.tile_pixels % 16 != 0)
        return "tile_pixels must be a multiple of 16";
    if (!power_of_two_in(g.thread_k, 4, 16) || !power_of_two_in(g.thread_pixels, 4, 16))
        return "thread_k and thread_pixels must be 4, 8 or 16";
    if (!power_of_two_in(g.warp_split, 1, 8) || (g.staging != 2 && !power_of_two_in(g.split, 1, 8)))
        return "split and warp_split must be 1, 2, 4 or 8";
    if (g.stages < 2)
        return "stages must be at least 2";
    if (g.slice_channels > s.c / s.groups)
        return fmt::format("slice_channels = {} exceeds the {} channels of a group", g.slice_channels,
                           s.c / s.groups);
    return "";
}

/// Why the threads of a CTA cannot share its tile and its copies, or its cluster the steps; "" if they can.
std::string check_tiling(const Tiling &t) {
    if (t.g.columns > 1)
        return "columns is for staged rows";
    if (const std::string why = check_warps(t.g); !why.empty())
        return why;
    if (t.by_filter ? t.slice / 4 < t.g.warp_split : t.slice % t.g.warp_split != 0)
        return fmt::format("a slice of {} values has no {} parts", t.slice, t.g.warp_split);
    if (t.by_filter && t.threads < t.slice / 4)
        return fmt::format("a row of {} values has more 16-byte copies than a CTA has threads", t.slice);
    if (const std::string why = check_split(t.g.split, t.steps); !why.empty())
        return why;
    if (t.threads > t.gpu.limits.max_threads_per_cta)
        return fmt::format("a CTA would have {} threads", t.threads);
    if (t.g.filters == 2 && t.threads < t.g.tile_k / 4)
        return fmt::format("a row of {} filters has more 16-byte copies than a CTA has threads", t.g.tile_k);
    return "";
}

/// The largest divisor of `total` that is not above `most`.
std::int64_t largest_divisor(std::int64_t total, std::int64_t most) {
    most = std::min(total, most);
    while (total % most != 0)
        --most;
    return most;
}

/// What a thread copies in a step, as the kernel deals the copies out.
struct ThreadCopies {
    const Tiling &t;
    /// Fours of filters, and warps side by side along them.
    std::int64_t quads = t.g.tile_k / 4, warps_k = std::gcd(t.warps, quads);
    std::int64_t values_at_once = 8 * (t.warps / warps_k); ///< of a filter, where copies have four bytes
    /// Copies of a value for a tile's pixels: one each, or one for four where copies are wide. Threads side
    /// by side along them, and copies of a thread. Further threads are `sharers` that share the channels.
    std::int64_t units = t.g.tile_pixels / (t.wide_pixels ? 4 : 1),
                 lanes_p = largest_divisor(units, t.threads), places = units / lanes_p;
    std::int64_t sharers = std::gcd(t.threads / lanes_p, std::int64_t{t.g.slice_channels});
    // Copies of a thread in a step, on average over the threads of a CTA.
    double filters = t.g.filters == 2 ? double(ceil_div(t.slice, t.threads / quads))
                     : t.by_filter
                         ? double(ceil_div(t.g.tile_k, std::max<std::int64_t>(1, t.threads / (t.slice / 4))))
                         : double(ceil_div(t.slice, values_at_once) * (quads / warps_k));
    double pixels = double(places * t.taps * t.g.slice_channels / sharers) * double(lanes_p * sharers) /
                    double(t.threads);
};

/// Registers that the compiler may use for a thread; 0 where an SM has too few for the threads of a CTA. The
/// numbers beside sums and operands were read off the machine code for sm_90.
std::int64_t registers_for(const Tiling &t, const ThreadCopies &copies) {
    // Sums; operands, in two buffers or of four values at a time; addresses.
    const std::int64_t sums = t.g.thread_k * t.g.thread_pixels;
    const std::int64_t wanted =
        sums + (t.by_filter ? 4 : 2) * t.g.thread_k + 2 * t.g.thread_pixels +
        (sums < (t.by_filter ? 32 : 64) ? 40 : 32) + (copies.places - 1) * (t.padded ? 10 : 4) +
        (t.rows == t.s.r ? 0 : ceil_div(t.slice, copies.values_at_once)) +
        // filters as they are stored, four bytes a copy: places of the copies
        (t.g.filters == 1 && !t.by_filter && sums <= 16 ? 8 : 0) +
        // and, where there are many, which of them exceed a last, shorter slice
        (t.g.filters == 1 && !t.by_filter && copies.filters > 16.0 ? 16 : 0) +
        // a single step of nine values: all are loaded at once, as none waits for a copy
        (t.steps == 1 && t.slice == 9 &&
                 ((t.g.filters == 2 && sums <= 16 && t.warps < 4) ||
                  (t.g.tile_k == 4 * t.g.thread_k &&
                   std::has_single_bit(static_cast<unsigned>(t.g.tile_pixels))))
             ? 16
             : 0);
    const std::int64_t registers = register_cap_for(wanted, t.threads, t.gpu.limits);
    // Beside sums and operands a thread needs registers for addresses, positions and counters, and with
    // several steps for the positions of the next step's copies. With 36 for all of these a kernel of 768
    // threads spilled where it had several steps.
    const std::int64_t beside = t.steps > 1 ? 40 : 32;
    return registers < sums + t.g.thread_k + t.g.thread_pixels + beside ? 0 : registers;
}

/// Grid, threads, shared memory and registers, and the CTAs that an SM holds.
Partition launch_of(const Tiling &t, std::int64_t registers) {
    const ImplicitGemm &g = t.g;
    const std::int64_t sums = t.meets ? std::int64_t{g.tile_k} * g.tile_pixels * g.warp_split : 0;
    Partition part = tile_launch(ImplicitGemm::about.name, t, g.split, t.s.h, t.s.w,
                                 {g.tile_k, g.tile_pixels, g.thread_k, g.thread_pixels, g.slice_channels,
                                  t.rows, g.stages, g.warp_split, g.split, g.filters == 2},
                                 {t.threads, registers, 4 * std::max(g.stages * t.stage_floats, sums)});
    if (g.split > 1) // sums of each turn of each CTA
        set_cluster(part, g, g.warp_split, part.threads);
    part.stages = g.stages;
    part.independent_sums = g.thread_k * g.thread_pixels;
    // Four values of a filter that are loaded as one all lie in one register bank, and some of a thread's
    // eight pixels lie there too: no order avoids FFMAs that read two registers of a bank (F3).
    part.snaked = !(t.by_filter && t.g.thread_pixels == 8);
    return part;
}

/// Wavefronts of a warp's asynchronous copy of filters, which shares the pipe with the loads (F12).
double filter_copy_passes(const Tiling &t) {
    const std::int64_t quads = t.g.tile_k / 4, row_copies = t.slice / 4;
    if (t.g.filters == 2)
        return copy_passes_of(warp_lanes, 4, [&](std::int64_t lane) {
            return lane / quads * t.padded_filters + lane % quads * 4;
        });
    if (t.by_filter)
        return copy_passes_of(warp_lanes, 4, [&](std::int64_t lane) {
            return lane / row_copies * t.values + lane % row_copies * 4;
        });
    return copy_passes_of(warp_lanes, 1, [&](std::int64_t lane) { return lane / 8 * t.values + lane % 8; });
}

/// Wavefronts of a warp's asynchronous copy of pixels (F12).
double pixel_copy_passes(const Tiling &t, const ThreadCopies &copies) {
    const std::int64_t lanes = std::min(warp_lanes, copies.units);
    return t.wide_pixels
               ? copy_passes_of(lanes, 4, [](std::int64_t lane) { return 4 * lane; })
               : copy_passes_of(lanes, 1, [&](std::int64_t lane) { return first_tap_of(t.s, lane); });
}

/// What a CTA does in a step.
StepWork step_of(const Tiling &t, const ThreadCopies &copies) {
    StepWork step;
    const double warps = double(t.warps), slice = double(t.slice);
    step.fmas = slice * double(t.g.tile_k) * t.g.tile_pixels;
    step.shared_wavefronts = t.load_wavefronts + warps * (copies.filters * filter_copy_passes(t) +
                                                          copies.pixels * pixel_copy_passes(t, copies));
    step.instructions =
        step.fmas / 32.0 + warps * (t.warp_loads + copies.filters * instructions::unrolled_copy +
                                    copies.pixels * instructions::unrolled_copy + instructions::step);
    if (t.by_filter) { // an iteration loads four values of each filter and only then multiplies
        step.turns = warps * double(t.slice / 4) / t.g.warp_split;
        step.instructions += step.turns * instructions::iteration;
    }
    step.load_bytes = 4.0 * (slice * t.g.tile_k + channel_pixels(t.s, t.g.tile_pixels) * t.g.slice_channels *
                                                      double(t.rows) / double(t.s.r));
    return step;
}

/// With warp_split, groups of warps share the values of a slice in fours. If these do not divide evenly, some
/// groups have one more: says by how much the busiest scheduler is busier than the mean.
void deal_out_quads(Partition &part, const Tiling &t) {
    if (!t.by_filter || t.warps % t.gpu.limits.schedulers_per_sm != 0)
        return;
    const std::int64_t quads = t.slice / 4, tile_warps_of_part = t.warps / t.g.warp_split;
    deal_out(part, t.gpu, t.warps, [&](std::int64_t warp) {
        const std::int64_t group = warp / tile_warps_of_part;
        return quads * (group + 1) / t.g.warp_split - quads * group / t.g.warp_split;
    });
    part.scheduler_warps.reset(); // all warps are busy
}

/// What a CTA does once: the places of its copies, and its results.
StepWork drain_of(const Tiling &t, const ThreadCopies &copies) {
    StepWork drain;
    const double warps = double(t.warps);
    const double tile_quads = double(t.g.tile_k * t.g.tile_pixels / 4); // fours of sums
    drain.store_bytes = stored_by_cta(t.s, t.g);
    // Sums that meet in shared memory are added up and stored one by one. `there`: the share of outputs.
    const double there = double(t.filters) / double(t.filter_tiles * t.g.tile_k) *
                         double(std::min(t.pixel_tiles * t.g.tile_pixels, round_up(t.pixels, warp_lanes))) /
                         double(t.pixel_tiles * t.g.tile_pixels);
    const double sums = there * instructions::warp + (1.0 - there) * 4.0 * instructions::iteration;
    drain.instructions =
        warps * double(copies.places) * (instructions::place + (t.padded ? double(t.s.r * t.s.s) : 0.0)) +
        tile_quads / 32.0 *
            (t.meets ? t.g.warp_split * (instructions::placed_store +
                                         (t.g.split > 1 ? instructions::divided_copy : 0.0)) +
                           sums / t.g.split
                     : instructions::store);
    if (!t.meets)
        return drain;
    // Where sums meet, a warp stores its own and reads those that it adds up. In a cluster only reads of the
    // CTA's own memory count, as no counter has those of other CTAs'. Otherwise only outputs are read.
    const double tile_warps = tile_quads * 4.0 / 32.0 * t.g.warp_split;
    const double sum_stores = warps * double(t.g.thread_k * t.g.thread_pixels) / 4.0 *
                              sum_store_passes(t.banks, t.g, t.lanes_n, 4, t.by_filter ? 1 : 4);
    drain.shared_wavefronts = sum_stores + (t.g.split > 1 ? tile_warps / t.g.split : tile_warps * there);
    return drain;
}

/// How many steps of a CTA the launch does: `lanes` by the FMAs that lanes do, `warps` by the instructions
/// that warps issue. And the wavefronts of the loads of all steps.
struct StepsDone {
    double lanes, warps, load_wavefronts;
};

StepsDone steps_done(const Tiling &t, const Partition &part) {
    const double all = double(part.ctas) / double(t.g.split) * double(t.steps);
    StepsDone done{all, all, all * t.load_wavefronts};
    // In a single step without a loop and with four pixels a thread the compiler puts all arithmetic under
    // the condition of the store: lanes and warps past the last pixel do none.
    constexpr std::int64_t most_unrolled = 9;                                   // values, as the kernel does
    const std::int64_t left = t.pixels - (t.pixel_tiles - 1) * t.g.tile_pixels; // of the last tile
    if (t.steps == 1 && t.slice <= most_unrolled && !t.meets && t.g.thread_pixels == 4 &&
        left < t.g.tile_pixels) {
        const std::int64_t warp_pixels = t.lanes_n * 4;
        const double warps_m = double(t.warps * warp_pixels / t.g.tile_pixels);
        const double last_tiles = double(t.filter_tiles * t.s.groups);
        done.lanes -= last_tiles * (1.0 - double(left) / t.g.tile_pixels);
        done.warps -=
            last_tiles * (1.0 - double(ceil_div(left, warp_pixels) * warp_pixels) / double(t.g.tile_pixels));
        done.load_wavefronts -=
            last_tiles *
            (t.load_wavefronts -
             warps_m * double(t.slice) *
                 (double(left / warp_pixels) * row_load_passes(t.banks, t.g, t.lanes_n, t.lanes_n) +
                  row_load_passes(t.banks, t.g, t.lanes_n, ceil_div(left % warp_pixels, 4))));
    }
    return done;
}

/// Bytes of sectors that copies request before L1 answers any: `pixels` by one CTA for a channel, `filters`
/// by one CTA of each tile of filters together, all groups. Copies of 16 bytes bypass L1. Of narrower ones it
/// keeps what several taps read, which counts once.
TileReads asked_bytes(const Tiling &t, const Partition &part) {
    const std::int64_t plane = t.s.h * t.s.w * 4;
    const double pixels =
        t.wide_pixels
            ? wide_copy_bytes(4.0 * double(std::min<std::int64_t>(t.g.tile_pixels, t.pixels)),
                              share_at_odd_16_bytes(0, {{plane, t.s.c}, {t.stage_floats * 4, t.g.stages}}),
                              share_at_odd_16_bytes(0, {{plane, t.s.c}}))
            : footprint_bytes(t.s, std::min<std::int64_t>(t.g.tile_pixels, t.pixels));
    const double filters_of_tile = double(std::min<std::int64_t>(t.g.tile_k, t.filters));
    const double filters =
        4.0 * double(t.filters * t.values * t.s.groups) *
        (t.g.filters == 2
             ? wide_copy_bytes(1.0, share_at_odd_16_bytes(0, {{t.padded_filters * 4, t.values}}), 0.0)
         : t.by_filter ? wide_copy_bytes(1.0,
                                         share_at_odd_16_bytes(0, {{(t.pitch - t.values) * 4, t.g.tile_k},
                                                                   {t.slice * 4, t.steps},
                                                                   {t.stage_floats * 4, t.g.stages}}),
                                         0.0)
                       : filter_run_bytes(filters_of_tile, 4.0 * double(t.values), part, t.gpu) /
                             (4.0 * filters_of_tile * double(t.values)));
    return {pixels, filters};
}

/// Bytes that the launch requests from L2. Copies of 4 bytes find in L1 what CTAs of other filters, or of a
/// neighbouring tile, have read on the same SM.
TileReads requested_bytes(const Tiling &t, const Partition &part) {
    const TileReads asked = asked_bytes(t, part);
    const double tiles = double(t.pixel_tiles * t.filter_tiles * t.s.groups);
    // Tiles larger than an image span images, which are then taken as one.
    const double images = t.g.tile_pixels > t.s.p() * t.s.q() ? 1.0 : double(t.s.n),
                 of_cta = double(t.channels) * asked.pixels / t.g.split;
    const double of_image = double(t.s.input_bytes()) / images / double(t.s.groups);
    // CTAs of the same rank in their clusters run on the same SMs, and read the same share of the channels.
    const double groups = double(t.s.groups), of_rank = asked.filters / groups / t.g.split,
                 of_tile = of_rank / double(t.filter_tiles);
    const bool filters_in_l1 = t.g.filters != 2 && !t.by_filter;
    const double stored = part.drain.store_bytes;
    const double pixels =
        t.wide_pixels ? tiles * double(t.channels) * asked.pixels
                      : images * read_through_l1(of_cta, std::max(of_cta, of_image / t.g.split),
                                                 std::max(1.0, tiles * t.g.split / images), part, t.gpu,
                                                 Again::anywhere, stored + (filters_in_l1 ? of_tile : 0.0));
    const double filters =
        filters_in_l1 ? groups * read_through_l1(of_tile, of_rank, double(part.ctas) / groups, part, t.gpu,
                                                 Again::in_turn, stored + (t.wide_pixels ? 0.0 : of_cta))
                      : double(t.pixel_tiles) * asked.filters;
    return {pixels, filters};
}

/// F36: requests that a CTA's 16-byte copies make for each line of filters as stored. A request ends where a
/// line of L2, or a line of shared memory, ends.
double requests_of_filter_line(const Tiling &t) {
    constexpr std::int64_t line = 128, unit = 16, rows = 8; // after which the places in a line repeat
    std::int64_t requests = 0;
    std::set<std::int64_t> lines;
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t at = 0; at < t.slice * 4; at += unit) {
            const std::int64_t from = row * t.values * 4 + at, to = row * t.pitch * 4 + at;
            lines.insert(from / line);
            if (at == 0 || from % line == 0 || to % line == 0)
                ++requests;
        }
    return double(requests) / double(lines.size());
}

/// The shares of requested_bytes that can be coalesced (W6). Narrow copies always can.
TileReads alike_shares(const Tiling &t) {
    const std::int64_t plane = t.s.h * t.s.w * 4;
    const double pixels =
        t.wide_pixels ? alike_in_lines(
                            (t.by_filter ? t.g.tile_k : t.slice) * t.pitch * 4,
                            {{t.g.tile_pixels * 4 - plane, t.g.slice_channels},
                             next_buffer(t.stage_floats * 4, t.g.slice_channels * plane, t.g.stages, t.steps),
                             next_turn(t.g.slice_channels * plane, t.g.stages, t.steps),
                             {-t.s.c * plane, t.s.n},
                             {-t.g.tile_pixels * 4, t.pixel_tiles}})
                      : 1.0;
    const double filters =
        t.g.filters == 2 ? alike_in_lines(0, {{(t.pitch - t.padded_filters) * 4, t.slice},
                                              next_buffer(t.stage_floats * 4, t.slice * t.padded_filters * 4,
                                                          t.g.stages, t.steps),
                                              next_turn(t.slice * t.padded_filters * 4, t.g.stages, t.steps),
                                              {-t.g.tile_k * 4, t.filter_tiles}})
        : t.by_filter    ? alike_in_lines(0, {{(t.pitch - t.values) * 4, t.g.tile_k},
                                              next_buffer(t.stage_floats * 4, t.slice * 4, t.g.stages, t.steps),
                                              next_turn(t.slice * 4, t.g.stages, t.steps)})
                         : 1.0;
    return {pixels, filters};
}

/// Fills in the work of the whole launch, and what SMs have in common of its reads.
void count_work(Partition &part, const Tiling &t) {
    Work &work = part.work;
    const StepsDone done = steps_done(t, part);
    const double ctas = double(part.ctas);
    work.fmas = done.lanes * part.step.fmas;
    work.instructions = done.warps * part.step.instructions + ctas * part.drain.instructions;
    work.shared_wavefronts = done.load_wavefronts + ctas * part.drain.shared_wavefronts;
    work.shared_conflicts = 0.0;

    if (t.by_filter && t.pitch != t.slice) // else their requests are coalesced (F36)
        part.line_turns = double(t.pixel_tiles) * requests_of_filter_line(t) * double(part.steps);
    set_tile_reads(part, requested_bytes(t, part), alike_shares(t), t.gpu);
    // Lanes along the pixels store four neighbours each, so that a run is 4 * lanes_n outputs. Where sums
    // meet, a warp stores 32 neighbours, or all pixels of a smaller tile. A run ends with a plane.
    const std::int64_t map = t.s.p() * t.s.q(),
                       run = std::min(map, t.meets ? std::min<std::int64_t>(warp_lanes, t.g.tile_pixels)
                                                   : 4 * t.lanes_n);
    work.l2_write_bytes = double(t.s.output_bytes()) / double(4 * run) *
                          stored_bytes({warp_lanes, run, 1, 0}, std::gcd(map, run), 4);
    // A plane smaller than a sector shares it with planes of other filters, which other stores write (F21).
    if (map < 8)
        fill_writes(part, t.s, t.gpu);
    else
        fill_dram(work, t.s, t.gpu);
}

/// The launch that transposes the filters.
Partition prepare_launch(const Tiling &t) {
    constexpr std::int64_t tile = 32;
    const std::int64_t values = t.steps * t.slice;
    Partition part = prepare_filters(
        "implicit_gemm_filters", {ceil_div(values, tile), ceil_div(t.padded_filters, tile), t.s.groups},
        {256, 32, tile * (tile + 1) * 4}, t.s.groups * values * t.padded_filters * 4, t.s, t.gpu);
    part.template_arguments = {t.channels, t.filters, t.s.r, t.s.s, t.g.slice_channels, t.rows};
    // Each of eight warps reads four rows, turns them through shared memory and writes four.
    part.step.instructions = 8 * instructions::warp;
    part.step.shared_wavefronts = 8 * 8;
    set_core_work(part);
    return part;
}

/// Register tiles, and the CTA tiles made of them, that are worth trying.
struct Tile {
    int k, thread_k, thread_pixels;
};
constexpr Tile tiles[] = {{128, 16, 8}, {128, 8, 8}, {64, 8, 8}, {32, 8, 8}, {128, 8, 4},
                          {64, 8, 4},   {32, 8, 4},  {32, 4, 8}, {32, 4, 4}, {16, 4, 4}};

/// Channels of a step to try: of about 16 values, which warp_split divides, and no more than there are.
int slice_channels_for(const ConvShape &s, int warp_split) {
    const std::int64_t channels = s.c / s.groups;
    const std::int64_t taps = s.r * s.s <= most_taps ? s.r * s.s : s.s;
    const std::int64_t equal = warp_split / std::gcd(std::int64_t{warp_split}, taps);
    constexpr std::int64_t wanted = 16; // values; chosen
    const std::int64_t some = round_up(std::max(ceil_div(wanted, taps), equal), equal);
    return int(std::min(some, std::max(channels / equal * equal, std::int64_t{1})));
}

/// Channels of a step, of 32 values or more, with which unprepared filters come by 16-byte copies; 0: none.
int quad_channels_for(const ConvShape &s, int warp_split) {
    const std::int64_t channels = s.c / s.groups, taps = s.r * s.s;
    if (taps > most_taps || s.products() % 4 != 0)
        return 0;
    std::int64_t some = 4 / std::gcd(taps, std::int64_t{4});
    while (some * taps < 32 || some * taps < 4 * warp_split)
        some *= 2;
    return channels % some == 0 ? int(some) : 0;
}

/// Channels of a step of staged rows that are tried: the two largest divisors of all channels that warp_split
/// divides and that have no more than 150 values, or 64 channels; both limits are chosen.
std::vector<int> row_slices(const ConvShape &s, int warp_split) {
    constexpr std::int64_t most_values = 150, most_channels = 64;
    const std::int64_t channels = s.c / s.groups, taps = s.r * s.s;
    std::vector<int> found;
    for (std::int64_t c = std::min(channels, most_channels); c >= warp_split && found.size() < 2; --c)
        if (c % warp_split == 0 && channels % c == 0 && (c * taps <= most_values || c == warp_split))
            found.push_back(int(c));
    return found;
}

/// Whether a tile has the knobs that are given and suits the filters of a group: half of it would hold fewer
/// than all of them. The smallest tile, of 16 filters, is tried only where it holds all.
bool worth_trying(const Tile &tile, const ImplicitGemm &given, std::int64_t filters_of_group) {
    const auto differs = [](int knob, int value) { return knob != 0 && knob != value; };
    if (differs(given.tile_k, tile.k) || differs(given.thread_k, tile.thread_k) ||
        differs(given.thread_pixels, tile.thread_pixels))
        return false;
    return given.tile_k != 0 || (tile.k > 16 ? tile.k / 2 < filters_of_group : filters_of_group <= 16);
}

/// Whether a setting is worth a forecast. Left out, to save time, are settings that split though there are
/// more than 8 CTAs for each SM, CTAs of fewer than 64 threads or, with warp_split, of more than 256, and
/// preparing filters that fewer than 2 CTAs for each SM read; the limits are chosen. Given knobs are kept.
bool worth_a_forecast(const ImplicitGemm &setting, const ImplicitGemm &given, const ConvShape &s,
                      std::int64_t sms) {
    const std::int64_t threads = std::int64_t{setting.tile_k} / setting.thread_k *
                                 (setting.tile_pixels / std::max(1, setting.thread_pixels)) *
                                 setting.warp_split;
    const std::int64_t ctas = // with split = 1
        ceil_div(s.n * s.p() * s.q(), setting.tile_pixels) * ceil_div(s.k / s.groups, setting.tile_k) *
        s.groups;
    return !((setting.split > 1 && given.split == 0 && ctas * setting.split > 8 * sms) ||
             (setting.warp_split > 1 && given.warp_split == 0 && (threads > 256 || ctas > 8 * sms)) ||
             (given.warp_split == 0 && threads < 64) ||
             (setting.filters == 2 && given.filters == 0 && ctas * setting.split < 2 * sms));
}

/// Appends to `found` the settings that are worth trying of staging, channels of a step and buffers; the
/// other knobs are those of `setting`. `given`: what the user has given, 0 for what he left open.
void add_stagings(std::vector<ImplicitGemm> &found, ImplicitGemm setting, const ImplicitGemm &given,
                  const ConvShape &s, const Gpu &gpu) {
    std::vector<int> depths = {slice_channels_for(s, setting.warp_split)};
    if (const int quads = quad_channels_for(s, setting.warp_split); quads != 0 && setting.filters == 1)
        depths.push_back(quads);
    if (given.slice_channels != 0)
        depths = {given.slice_channels};
    // Whether to try staged rows. Measured on 64 layers beside the other staging: with one tap, rows are
    // faster up to some 256 channels and slower beyond; with fewer than four channels slower. On 1 x 1 layers
    // of ResNet-50 with 32 images, which have 0.4e9 FMAs and more, they are slower by 15 to 45 %.
    constexpr double large = 3e8; // FMAs
    const bool any = given.staging == 0 && given.stages == 0 && given.filters != 2;
    const bool one_tap = s.r * s.s == 1;
    const bool rows = !one_tap ? s.c / s.groups >= 4
                               : s.stride_h * s.stride_w == 1 && s.c / s.groups <= 256 &&
                                     s.k / s.groups <= 512 && s.fmas().value < large;
    if (given.staging != 1 && (!any || rows) && (setting.filters == 1 || given.filters == 2)) {
        setting.staging = 2, setting.stages = given.stages != 0 ? given.stages : 2;
        for (const int channels : given.slice_channels != 0 ? depths : row_slices(s, setting.warp_split)) {
            setting.slice_channels = channels;
            found.push_back(setting);
        }
    }
    if (given.staging == 2 || (any && one_tap && rows))
        return;
    setting.staging = 1;
    for (const int channels : depths) {
        setting.slice_channels = channels;
        constexpr int usual_stages = 3;
        setting.stages = given.stages != 0 ? given.stages : usual_stages;
        const std::int64_t bytes = Tiling{s, setting, gpu}.stage_floats * 4 * setting.stages;
        if (given.stages == 0 && 2 * bytes > gpu.limits.shared_bytes_per_sm)
            setting.stages = 2; // room for a second CTA is worth more
        found.push_back(setting);
    }
}

} // namespace

std::string ImplicitGemm::outside(const ConvShape &s) {
    if (s.r > 63 || s.s > 63)
        return "filters have at most 63 rows and columns: their taps inside the image are bits of a word";
    return outside_tiles(s);
}

/// All combinations of the values tried, chosen, but for those not worth trying or a forecast.
SettingsOf<ImplicitGemm> ImplicitGemm::settings(const ConvShape &s, const Gpu &gpu) const {
    const bool clusters = capability_of(gpu.profile) >= least_cluster_capability;
    if (split > 1 && !clusters)
        return Infeasible{fmt::format("split = {} shares the channels over a cluster of CTAs, which needs "
                                      "compute capability 9.0 or newer; {} has {}",
                                      split, gpu.profile.id, gpu.profile.compute_capability)};
    std::vector<ImplicitGemm> found;
    const std::int64_t pixels = s.n * s.p() * s.q();
    // Adds the settings worth a forecast with a tile of k filters.
    const auto add = [&](int k, int k_of_thread, int pixels_of_thread) {
        ImplicitGemm setting = *this;
        setting.tile_k = k, setting.thread_k = k_of_thread, setting.thread_pixels = pixels_of_thread;
        for (const int width : either(tile_pixels, {16, 32, 48, 64, 96, 128, 192})) {
            if (tile_pixels == 0 && width > 16 && width / 2 >= pixels)
                continue; // half as wide a tile has all pixels
            setting.tile_pixels = width;
            for (const int groups : either(warp_split, {1, 2, 4, 8}))
                for (const int parts : clusters ? either(split, {1, 2, 4, 8}) : std::vector<int>{1})
                    for (const int layout : either(filters, {1, 2})) {
                        setting.warp_split = groups, setting.split = parts, setting.filters = layout;
                        if (worth_a_forecast(setting, *this, s, gpu.limits.sm_count))
                            add_stagings(found, setting, *this, s, gpu);
                    }
        }
    };
    if (tile_k != 0 && thread_k != 0 && thread_pixels != 0)
        add(tile_k, thread_k, thread_pixels);
    else
        for (const Tile &tile : tiles)
            if (worth_trying(tile, *this, s.k / s.groups))
                add(tile.k, tile.thread_k, tile.thread_pixels);
    if (found.empty())
        return Infeasible{no_tile_tried};
    return found;
}

/// All knobs but `columns` are chosen already, by settings().
Planned ImplicitGemm::plan(const ConvShape &s, const Gpu &gpu) {
    if (const std::string why = check_knobs(*this, s); !why.empty())
        return Infeasible{why};
    if (staging == 2)
        return plan_of_rows(*this, s, gpu);
    const Tiling t{s, *this, gpu};
    if (const std::string why = check_tiling(t); !why.empty())
        return Infeasible{why};
    columns = 1; // only staged rows have it
    const ThreadCopies copies{t};
    const std::int64_t registers = registers_for(t, copies);
    if (registers == 0)
        return Infeasible{too_few_registers(*this, t.threads)};
    Partition part = launch_of(t, registers);
    if (const std::string why = does_not_fit(part, gpu.limits); !why.empty())
        return Infeasible{why};
    if (part.grid[0] > most_tiles)
        return Infeasible{"more than 2^30 CTAs; take larger tiles"};
    part.step = step_of(t, copies);
    deal_out_quads(part, t);
    part.drain = drain_of(t, copies);
    count_work(part, t);

    Feasible out = plan_of_launch(std::move(part), gpu);
    if (filters == 2)
        return with_filters(std::move(out), prepare_launch(t), s);
    return out;
}

const StrategyKind &strategies::implicit_gemm() {
    return kind_of<ImplicitGemm>();
}

} // namespace convcast
