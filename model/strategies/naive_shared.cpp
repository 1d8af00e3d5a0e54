#include "model/strategies/naive_shared.hpp"

#include "model/paper/papers.hpp"
#include "model/work/instructions.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

using papers::ceil_div;
using papers::round_up;

const std::vector<Knob<NaiveShared>> &NaiveShared::knobs() {
    static const std::vector<Knob<NaiveShared>> list = {
        {"tile_w",
         &NaiveShared::tile_w,
         0,
         1024,
         {8, 16, 32},
         "outputs of a CTA along x; 0: the map's, 32 at most"},
        {"tile_h",
         &NaiveShared::tile_h,
         0,
         1024,
         {4, 8, 16, 32},
         "outputs of a CTA along y; 0: the map's, 32 at most"},
        {"map",
         &NaiveShared::map,
         0,
         2,
         {1, 2},
         "where the input tile lies: 1 shared memory, 2 global memory; 0: shared memory where it fits"},
    };
    return list;
}

namespace {

std::string outside(const ConvShape &s) {
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

} // namespace

namespace {

/// Registers of a thread where the map is in global memory, as compiled for sm_90 (NVRTC 13.0): by how many
/// pixels are under way at once.
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

} // namespace

PlanResult<NaiveShared> NaiveShared::plan(const ConvShape &s, const Gpu &gpu) const {
    if (const std::string why = outside(s); !why.empty())
        return Infeasible{why, true};
    Planned<NaiveShared> planned;
    NaiveShared &knobs = planned.strategy;
    knobs = *this;
    Feasible &out = planned.feasible;
    out.rules = table1_rules(gpu.profile);
    const GpuLimits &limits = gpu.limits;

    if (knobs.tile_w == 0)
        knobs.tile_w = static_cast<int>(std::min<std::int64_t>(32, s.q()));
    if (knobs.tile_h == 0)
        knobs.tile_h = static_cast<int>(std::min<std::int64_t>(32, s.p()));
    const std::int64_t threads = static_cast<std::int64_t>(knobs.tile_w) * knobs.tile_h;
    if (threads > limits.max_threads_per_cta)
        return Infeasible{"tile_w * tile_h = " + std::to_string(threads) + " exceeds the " +
                          std::to_string(limits.max_threads_per_cta) + " threads of a CTA"};

    const std::int64_t rows = (knobs.tile_h - 1) * s.stride_h + s.r,
                       columns = (knobs.tile_w - 1) * s.stride_w + s.s;
    const std::int64_t filter_floats = s.products(), tile_floats = s.c * rows * columns;
    Partition part;
    part.kernel = name;
    part.bank_floats = round_up(filter_floats, 4);
    const std::int64_t shared_floats = limits.shared_bytes_per_cta / 4;
    if (part.bank_floats > shared_floats)
        return Infeasible{"a filter of " + std::to_string(filter_floats * 4) +
                          " bytes exceeds a CTA's shared memory of " +
                          std::to_string(limits.shared_bytes_per_cta)};
    const bool fits = part.bank_floats + tile_floats <= shared_floats;
    if (knobs.map == 1 && !fits)
        return Infeasible{"map = 1: the input tile of " + std::to_string(tile_floats * 4) +
                          " bytes does not fit beside the filter in shared memory"};
    if (knobs.map == 0)
        knobs.map = fits ? 1 : 2;
    const bool shared_map = knobs.map == 1;

    // As the kernel does: where the map is in global memory, the taps of small filters only are unrolled.
    part.variant = shared_map        ? "map in shared memory"
                   : s.r * s.s <= 16 ? "map in global memory"
                                     : "map in global memory, a loop of taps";
    part.template_arguments = {s.r,        s.s,        knobs.tile_w,      knobs.tile_h,
                               s.stride_h, s.stride_w, shared_map ? 1 : 0};
    const std::int64_t tiles_x = ceil_div(s.q(), knobs.tile_w), tiles_y = ceil_div(s.p(), knobs.tile_h);
    part.grid = {tiles_x * tiles_y, s.k, s.n};
    part.sharing_ctas = static_cast<double>(part.grid[0] * part.grid[1]);
    if (part.grid[0] > std::numeric_limits<std::int32_t>::max())
        return Infeasible{"the grid exceeds 2^31 - 1 CTAs in x; take a larger tile"};
    part.threads = threads;
    part.band_floats = shared_map ? tile_floats : 0;
    part.shared_bytes = (part.bank_floats + part.band_floats) * 4;
    part.register_cap = shared_map ? 40 : 64;
    part.steps = shared_map ? 1 : s.c;
    part.filter_count = s.k;
    part.busy_warps = ceil_div(threads, 32);
    part.barriers = shared_map ? 1 : 0;
    part.copy_passes = shared_map ? gpu.architecture.narrow_copy_passes->value : 0.0;
    part.ctas_per_sm = resident_ctas(
        gpu, threads, shared_map ? part.register_cap : registers_of_global_map(s), part.shared_bytes);
    if (part.ctas_per_sm < 1)
        return Infeasible{"a CTA of " + std::to_string(threads) + " threads with " +
                          std::to_string(part.shared_bytes) + " bytes of shared memory does not fit an SM"};
    fill_schedule(part, limits);

    // Where the threads of a tile with so many outputs read one tap: the same pattern for every tap, but for
    // a shift. A thread without an output ends early.
    const auto tile_pixels = [&](std::int64_t columns_inside, std::int64_t rows_inside) {
        return shared_passes(threads, 1, [&](std::int64_t t) -> std::int64_t {
            const std::int64_t y = t / knobs.tile_w, x = t % knobs.tile_w;
            return x < columns_inside && y < rows_inside ? y * s.stride_h * columns + x * s.stride_w : -1;
        });
    };
    const double tiles = static_cast<double>(tiles_x * tiles_y);
    const Passes pixels = over_tiles(s.q(), knobs.tile_w, s.p(), knobs.tile_h, tile_pixels);
    const double active = pixels.least / tiles; // warps: without conflicts one pass each
    const auto gathered_pixels = [&](std::int64_t columns_inside, std::int64_t rows_inside) {
        return gathered(threads, 1, [&](std::int64_t t) -> std::int64_t {
            const std::int64_t y = t / knobs.tile_w, x = t % knobs.tile_w;
            return x < columns_inside && y < rows_inside ? y * s.stride_h * s.w + x * s.stride_w : -1;
        });
    };
    const double taps = static_cast<double>(s.r * s.s), channels = static_cast<double>(s.c);
    const double warps = static_cast<double>(part.busy_warps), lanes = static_cast<double>(threads);
    // A warp that has nothing left to copy leaves the loop. Pixels find row and channel by divisions.
    const auto turns_of = [&](std::int64_t copies) { // of all warps; the last of a CTA may not be whole
        const std::int64_t left = copies % threads;
        return static_cast<double>(copies / threads * part.busy_warps + ceil_div(left, warp_lanes));
    };
    const double copies = (shared_map ? instructions::divided_copy * turns_of(tile_floats) : 0.0) +
                          instructions::copy * turns_of(filter_floats);
    const double channels_a_step = shared_map ? channels : 1.0;
    // Of the CTAs of an SM the busiest may be a full one; many are as full as the average.
    const double of_an_sm =
        static_cast<double>(ceil_div(part.grid[0] * s.k * s.n, std::int64_t{limits.sm_count}));
    const double fullest =
        tile_pixels(std::min<std::int64_t>(knobs.tile_w, s.q()), std::min<std::int64_t>(knobs.tile_h, s.p()))
            .least;
    const double busiest = active + std::max(0.0, fullest - active) / of_an_sm;
    const double pixel_passes =
        shared_map ? pixels.taken / pixels.least
                   : over_tiles(s.q(), knobs.tile_w, s.p(), knobs.tile_h, gathered_pixels) / pixels.least;
    constexpr double most_unrolled = 64.0; // taps
    // A channel. In shared memory a tap is two loads and an FMA. In global memory whether each lies inside is
    // found out once where all are unrolled, and kept in predicates as long as there are any; in loops for
    // each row and tap.
    constexpr std::int64_t most_flags = 16;
    const bool flags = !shared_map && s.r * s.s <= most_flags;
    const double per_tap = shared_map ? 3.0 : flags ? instructions::iteration : 3.0 + instructions::guard;
    const double per_channel =
        per_tap * taps + instructions::iteration +
        (shared_map || flags ? 0.0 : static_cast<double>(s.r) * instructions::iteration + instructions::loop);
    const double to_find_out = flags && taps > 1.0 ? instructions::guard * taps : 0.0; // of an active warp
    const double tap_instructions = channels_a_step * per_channel;
    part.step.fmas = lanes * taps * channels_a_step;
    part.step.copying = shared_map ? copies : 0.0; // its only step's; else the filter before the first
    part.step.instructions = busiest * tap_instructions + part.step.copying;
    part.step.shared_wavefronts = busiest * channels_a_step * taps * (pixel_passes + 1.0);
    if (shared_map)
        part.step.turns = warps * channels_a_step * (taps <= most_unrolled ? 1.0 : taps);
    part.step.line_waits =
        shared_map || s.r * s.s <= 16 ? 0.0 : static_cast<double>(s.r - 1); // new rows, one at a time
    // Beside loads, what no counter tells from integers and logic: of a row of taps that is a turn of a loop
    // its branch and addresses that are the same for all lanes, of a channel the same (machine code for
    // sm_90).
    part.step.loads =
        shared_map ? 0.0
                   : active * channels_a_step *
                         (taps + (s.r * s.s <= 16 ? 0.0
                                                  : static_cast<double>(s.r) * instructions::iteration +
                                                        2.0 * instructions::iteration));
    part.drain.instructions = warps * instructions::place + active * (instructions::place + to_find_out) +
                              copies - part.step.copying;
    part.drain.store_bytes = lanes * 4.0;

    // What all tiles of one channel read: rows of each, bytes of each row.
    const double input_rows = covered(tiles_y, rows, knobs.tile_h * s.stride_h, s.pad_h, s.h);
    const double tile_row_bytes =
        spanned_bytes(covered(tiles_x, columns, knobs.tile_w * s.stride_w, s.pad_w, s.w) * 4.0 /
                          static_cast<double>(tiles_x),
                      row_grain(s, tiles_x > 1 ? knobs.tile_w * s.stride_w : 0, tiles_x > 1 ? s.pad_w : 0));
    // Rows of a tile that reaches from edge to edge follow one another.
    const double between =
        shared_map ? 1.0 : std::min(1.0, static_cast<double>(s.r) / static_cast<double>(s.stride_h));
    const double tile_rows =
        input_rows / static_cast<double>(tiles_y) * between; // no rows that taps leave out
    const double map_bytes = tiles * std::min(tile_rows * tile_row_bytes,
                                              spanned_bytes(tile_rows * static_cast<double>(s.w) * 4.0));
    const double ctas = static_cast<double>(part.ctas);
    part.step.load_bytes =
        map_bytes / tiles * channels_a_step + (shared_map ? static_cast<double>(filter_floats) * 4.0 : 0.0);
    Work &work = part.work;
    work.fmas = s.fmas().value; // also of taps in the padding: they multiply zeros
    work.instructions = ctas * (static_cast<double>(part.steps) * active * tap_instructions +
                                part.step.copying + part.drain.instructions);
    work.shared_wavefronts = ctas * channels * taps * active * (1.0 + (shared_map ? pixel_passes : 0.0));
    work.shared_conflicts = shared_map ? ctas * channels * taps * pixels.conflicts() / tiles : 0.0;
    // All filters' CTAs of an image read its tiles, and a tile's neighbours its rims; those of a row of the
    // grid read one filter.
    const double of_tiles = channels * map_bytes / tiles,
                 of_filter = spanned_bytes(static_cast<double>(filter_floats) * 4.0);
    const double of_image = static_cast<double>(s.input_bytes()) / static_cast<double>(s.n);
    const double pixel_reads = static_cast<double>(s.n) *
                               read_through_l1(of_tiles, std::max(of_tiles, of_image),
                                               tiles * static_cast<double>(s.k), part, gpu, Again::anywhere);
    const double filter_reads = std::min(
        static_cast<double>(s.n * s.k) *
            read_through_l1(of_filter, of_filter, tiles, part, gpu, Again::in_turn),
        read_through_l1(of_filter, of_filter * static_cast<double>(s.k), ctas, part, gpu, Again::in_turn));
    work.l2_read_bytes = pixel_reads + filter_reads;
    const double planes = static_cast<double>(s.k), images_d = static_cast<double>(s.n);
    part.mergeable_reads =
        mergeable_reads(pixel_reads, {planes, tiles}, part, gpu) +
        mergeable_reads(filter_reads, tiles > 1.0 ? Readers{tiles, 1.0} : Readers{images_d, planes}, part,
                        gpu);
    const std::int64_t grid =
        std::gcd(s.p() * s.q(), std::gcd(knobs.tile_h * s.q(), std::int64_t{knobs.tile_w}));
    work.l2_write_bytes =
        static_cast<double>(s.n * s.k) *
        over_tiles(s.q(), knobs.tile_w, s.p(), knobs.tile_h, [&](std::int64_t x, std::int64_t y) {
            return stored_bytes({knobs.tile_w, x, y, s.q()}, tiles > 1.0 ? grid : s.p() * s.q(), 4);
        });
    const double planes_at_once =
        std::max(1.0, static_cast<double>(part.ctas_per_sm * limits.sm_count) / tiles);
    fill_dram(work, s, gpu, static_cast<double>(s.k) / planes_at_once);
    if (shared_map) // tiles have the rows that no tap reads
        *work.dram_read_bytes += static_cast<double>(s.input_bytes()) - input_read_bytes(s, gpu.architecture);
    if (!shared_map)
        out.assumptions.emplace_back(
            "what a CTA reads of a channel stays in L1 while the filter passes over it");
    out.paper_round_fmas = part.step.fmas * static_cast<double>(part.ctas_per_sm);
    out.paper_round_bytes = part.step.load_bytes * static_cast<double>(part.ctas_per_sm);
    out.plan.launches = {std::move(part)};
    return planned;
}

} // namespace convcast
