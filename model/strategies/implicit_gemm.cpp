#include "model/strategies/implicit_gemm.hpp"

#include "model/paper/papers.hpp"
#include "model/strategies/implicit_gemm_rows.hpp"
#include "model/work/instructions.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {

using papers::ceil_div;
using papers::round_up;

const std::vector<Knob<ImplicitGemm>> &ImplicitGemm::knobs() {
    static const std::vector<Knob<ImplicitGemm>> list = {
        {"tile_k", &ImplicitGemm::tile_k, 0, 256, {32, 64, 128}, "filters of a CTA: 16, 32, 64, 128 or 256"},
        {"tile_pixels",
         &ImplicitGemm::tile_pixels,
         0,
         256,
         {32, 64, 128},
         "pixels of a CTA, a multiple of 16"},
        {"thread_k", &ImplicitGemm::thread_k, 0, 16, {}, "filters of a thread: 4, 8 or 16"},
        {"thread_pixels", &ImplicitGemm::thread_pixels, 0, 16, {}, "pixels of a thread: 4, 8 or 16"},
        {"slice_channels", &ImplicitGemm::slice_channels, 0, 64, {}, "channels of a pipeline step"},
        {"stages", &ImplicitGemm::stages, 0, 6, {}, "buffers of the prefetch pipeline, 2 at least"},
        {"warp_split",
         &ImplicitGemm::warp_split,
         0,
         8,
         {},
         "parts of a step, each with warps of its own: 1, 2, 4 or 8"},
        {"split",
         &ImplicitGemm::split,
         0,
         8,
         {1, 2, 4, 8},
         "CTAs of a cluster that share the channels: 1, 2, 4 or 8"},
        {"filters",
         &ImplicitGemm::filters,
         0,
         2,
         {},
         "1: filters as they lie; 2: transposed once by a launch of its own"},
        {"staging",
         &ImplicitGemm::staging,
         0,
         2,
         {},
         "1: a copy of the pixels for each tap; 2: whole rows, which the taps share"},
        {"columns",
         &ImplicitGemm::columns,
         0,
         64,
         {},
         "staged rows: a row's pixels of a tile, in units of thread_pixels"},
    };
    return list;
}

namespace {

bool power_of_two_in(int value, int low, int high) {
    return value >= low && value <= high && (value & (value - 1)) == 0;
}

std::string outside(const ConvShape &s) {
    if (s.dtype != DataType::f32)
        return "only FP32 is built for this strategy";
    constexpr std::int64_t most = std::int64_t{1} << 30;
    if (s.fmas().value > 1e17)
        return "more than 1e17 multiply-adds: days on any GPU";
    if (s.r > 63 || s.s > 63)
        return "filters have at most 63 rows and columns: their taps inside the image are bits of a word";
    if (s.h * s.w > most || (s.h + 2 * s.pad_h) * (s.w + 2 * s.pad_w) > most || s.n * s.p() * s.q() > most ||
        s.products() > most || s.k > most || s.c * s.h * s.w > most || s.products() * s.k > 4 * most)
        return "an image, filter set or batch is too large for 32-bit indices inside an image";
    if (s.groups > 65535)
        return "more than 65535 groups";
    return "";
}

/// Numbers of a setting that several parts of a plan need.
struct Shape {
    std::int64_t channels, filters; ///< of a group
    std::int64_t rows;              ///< filter rows of a slice: all, or one of a large filter
    std::int64_t taps, slice, steps, threads, pitch, stage_floats, pixels, pixel_tiles, filter_tiles;
    bool padded, wide_pixels;
    bool by_filter; ///< raw filters come by 16-byte copies along (c, r, s)
};

constexpr std::int64_t most_taps = 64; // of a slice's channel: bits of a word

Shape shape_of(const ConvShape &s, const ImplicitGemm &g) {
    Shape o{};
    o.channels = s.c / s.groups, o.filters = s.k / s.groups;
    o.rows = s.r * s.s <= most_taps ? s.r : 1;
    o.taps = o.rows * s.s;
    o.slice = g.slice_channels * o.taps;
    o.steps = ceil_div(o.channels, g.slice_channels) * (s.r / o.rows);
    o.threads = g.tile_k / g.thread_k * (g.tile_pixels / g.thread_pixels) * g.warp_split;
    o.by_filter = g.filters == 1 && o.rows == s.r && s.products() % 4 == 0 && o.slice % 4 == 0 &&
                  o.channels % g.slice_channels == 0;
    o.pitch = g.filters == 2 ? g.tile_k
              : o.by_filter  ? o.slice + (o.slice / 4 % 2 == 1 ? 0 : 4)
                             : g.tile_k + 4;
    o.stage_floats = (o.by_filter ? g.tile_k : o.slice) * o.pitch + o.slice * g.tile_pixels;
    o.pixels = s.n * s.p() * s.q();
    o.pixel_tiles = ceil_div(o.pixels, g.tile_pixels);
    o.filter_tiles = ceil_div(o.filters, g.tile_k);
    o.padded = s.pad_h > 0 || s.pad_w > 0;
    o.wide_pixels = s.r * s.s == 1 && s.stride_h * s.stride_w == 1 && !o.padded && s.h * s.w % 4 == 0;
    return o;
}

/// The launch that transposes the filters.
Partition prepare_launch(const ConvShape &s, const ImplicitGemm &g, const Shape &o, const Gpu &gpu) {
    Partition part;
    part.kernel = "implicit_gemm_filters";
    part.template_arguments = {o.channels, o.filters, s.r, s.s, g.slice_channels, o.rows};
    part.operands = {{Memory::filters, 0}, {Memory::workspace, 0}};
    constexpr std::int64_t tile = 32;
    const std::int64_t values = o.steps * o.slice, padded_filters = round_up(o.filters, 4);
    part.grid = {ceil_div(values, tile), ceil_div(padded_filters, tile), s.groups};
    part.threads = 256;
    part.shared_bytes = tile * (tile + 1) * 4;
    part.register_cap = 32;
    part.busy_warps = 8;
    part.independent_sums = 4;
    part.ctas_per_sm = resident_ctas(gpu, part.threads, part.register_cap, part.shared_bytes);
    fill_schedule(part, gpu.limits);
    // As counted on sm_90: a warp reads four rows, writes four and turns them through shared memory.
    part.step.instructions = 8 * instructions::warp;
    part.step.shared_wavefronts = 8 * 8;
    part.step.load_bytes = static_cast<double>(tile * tile * 4);
    part.drain.store_bytes = static_cast<double>(tile * tile * 4);
    const double ctas = static_cast<double>(part.ctas);
    part.work.fmas = 0.0;
    part.work.instructions = ctas * part.step.instructions;
    part.work.shared_wavefronts = ctas * part.step.shared_wavefronts;
    part.work.shared_conflicts = 0.0;
    part.work.l2_read_bytes = static_cast<double>(s.filter_bytes());
    part.work.l2_write_bytes = static_cast<double>(s.groups * values * padded_filters * 4);
    part.work.dram_read_bytes = static_cast<double>(s.filter_bytes());
    part.work.dram_write_bytes = 0.0;
    return part;
}

/// The plan of a setting in which no knob is left to choose.
std::variant<Feasible, Infeasible> plan_of(ImplicitGemm &g, const ConvShape &s, const Gpu &gpu) {
    const auto no = [](std::string why) { return Infeasible{std::move(why)}; };
    if (!power_of_two_in(g.tile_k, 16, 256))
        return no("tile_k must be 16, 32, 64, 128 or 256");
    if (g.tile_pixels < 16 || g.tile_pixels % 16 != 0)
        return no("tile_pixels must be a multiple of 16");
    if (!power_of_two_in(g.thread_k, 4, 16) || !power_of_two_in(g.thread_pixels, 4, 16))
        return no("thread_k and thread_pixels must be 4, 8 or 16");
    if (!power_of_two_in(g.warp_split, 1, 8) || (g.staging != 2 && !power_of_two_in(g.split, 1, 8)))
        return no("split and warp_split must be 1, 2, 4 or 8");
    if (g.stages < 2)
        return no("stages must be at least 2");
    if (g.slice_channels > s.c / s.groups)
        return no("slice_channels = " + std::to_string(g.slice_channels) + " exceeds the " +
                  std::to_string(s.c / s.groups) + " channels of a group");
    if (g.staging == 2)
        return plan_of_rows(g, s, gpu);
    if (g.columns > 1)
        return no("columns is for staged rows");
    g.columns = 1; // nothing left to choose
    const Shape o = shape_of(s, g);
    const std::int64_t lanes_n = std::gcd(8, g.tile_pixels / g.thread_pixels), lanes_m = 32 / lanes_n;
    if (g.tile_k % (g.thread_k * lanes_m) != 0 || g.tile_pixels % g.thread_pixels != 0 || lanes_n == 1)
        return no("a tile of " + std::to_string(g.tile_k) + " filters and " + std::to_string(g.tile_pixels) +
                  " pixels has no whole warps of threads with " + std::to_string(g.thread_k) + " x " +
                  std::to_string(g.thread_pixels));
    if (o.by_filter ? o.slice / 4 < g.warp_split : o.slice % g.warp_split != 0)
        return no("a slice of " + std::to_string(o.slice) + " values has no " + std::to_string(g.warp_split) +
                  " parts");
    if (o.by_filter && o.threads < o.slice / 4)
        return no("a row of " + std::to_string(o.slice) +
                  " values has more 16-byte copies than a CTA has threads");
    if (g.split > o.steps)
        return no("split = " + std::to_string(g.split) + " exceeds the " + std::to_string(o.steps) +
                  " steps there are");

    Feasible out;
    out.rules = table1_rules(gpu.profile);
    Partition part;
    part.kernel = ImplicitGemm::name;
    const std::int64_t of_shape[] = {s.n,      o.channels, s.h,          s.w,         o.filters,
                                     s.groups, s.r,        s.s,          s.stride_h,  s.stride_w,
                                     s.pad_h,  s.pad_w,    s.dilation_h, s.dilation_w};
    part.template_arguments.assign(std::begin(of_shape), std::end(of_shape));
    for (const std::int64_t argument :
         {std::int64_t{g.tile_k}, std::int64_t{g.tile_pixels}, std::int64_t{g.thread_k},
          std::int64_t{g.thread_pixels}, std::int64_t{g.slice_channels}, o.rows, std::int64_t{g.stages},
          std::int64_t{g.warp_split}, std::int64_t{g.split}, std::int64_t{g.filters == 2}})
        part.template_arguments.push_back(argument);
    part.grid = {o.pixel_tiles * o.filter_tiles * g.split, s.groups, 1};
    part.sharing_ctas = static_cast<double>(o.filter_tiles);
    part.threads = o.threads;
    if (g.split > 1) { // sums of each turn of each CTA
        constexpr std::int64_t loads_under_way = 16;
        const std::int64_t of_thread =
            ceil_div(std::int64_t{g.tile_k} * g.tile_pixels / g.split, part.threads);
        part.cluster = g.split;
        part.cluster_bytes = 4.0 * g.tile_k * g.tile_pixels * g.warp_split * (g.split - 1) / g.split;
        part.cluster_waits =
            static_cast<double>(ceil_div(of_thread * g.split * g.warp_split, loads_under_way));
    }
    part.stages = g.stages;
    part.steps = ceil_div(o.steps, g.split);
    part.filter_count = s.k;
    part.busy_warps = part.threads / 32;
    part.independent_sums = g.thread_k * g.thread_pixels;
    part.snaked = true;
    const bool meets = g.split * g.warp_split > 1 || s.p() * s.q() % 4 != 0; // sums go through shared memory
    part.shared_bytes = 4 * std::max(g.stages * o.stage_floats,
                                     meets ? std::int64_t{g.tile_k} * g.tile_pixels * g.warp_split : 0);
    if (part.threads > gpu.limits.max_threads_per_cta)
        return no("a CTA would have " + std::to_string(part.threads) + " threads");

    if (g.filters == 2 && part.threads < g.tile_k / 4)
        return no("a row of " + std::to_string(g.tile_k) +
                  " filters has more 16-byte copies than a CTA has threads");

    // Copies of a thread in a step, as the kernel shares them out.
    const std::int64_t warps = part.threads / 32, quads = g.tile_k / 4;
    const std::int64_t warps_k = std::gcd(warps, quads), warps_v = warps / warps_k;
    const std::int64_t unit = o.wide_pixels ? 4 : 1, units = g.tile_pixels / unit;
    std::int64_t lanes_p = std::min(part.threads, units);
    while (units % lanes_p != 0)
        --lanes_p;
    const std::int64_t per_thread = units / lanes_p;
    const std::int64_t sharers = std::gcd(part.threads / lanes_p, std::int64_t{g.slice_channels});
    const double filter_copies =
        g.filters == 2 ? static_cast<double>(ceil_div(o.slice, part.threads / quads))
        : o.by_filter
            ? static_cast<double>(ceil_div(g.tile_k, std::max<std::int64_t>(1, part.threads / (o.slice / 4))))
            : static_cast<double>(ceil_div(o.slice, 8 * warps_v) * (quads / warps_k));
    const double pixel_copies = static_cast<double>(per_thread * o.taps * g.slice_channels / sharers) *
                                static_cast<double>(lanes_p * sharers) / static_cast<double>(part.threads);

    // Accumulators, two buffers of fragments or four values of each filter, addresses.
    const std::int64_t sums = g.thread_k * g.thread_pixels;
    std::int64_t registers =
        sums + (o.by_filter ? 4 : 2) * g.thread_k + 2 * g.thread_pixels +
        (sums < (o.by_filter ? 32 : 64) ? 40 : 32) + (per_thread - 1) * (o.padded ? 10 : 4) +
        (o.rows == s.r ? 0 : ceil_div(o.slice, 8 * warps_v)) +
        // filters as they are, four bytes a copy: places of the copies
        (g.filters == 1 && !o.by_filter && sums <= 16 ? 8 : 0) +
        // and, of a last slice that is not whole, which of them are filters' values
        (g.filters == 1 && !o.by_filter && filter_copies > 16.0 ? 16 : 0) +
        // nine rows of a single step, none of which waits for a copy
        (o.steps == 1 && o.slice == 9 &&
                 ((g.filters == 2 && sums <= 16 && warps < 4) ||
                  (g.tile_k == 4 * g.thread_k && std::has_single_bit(static_cast<unsigned>(g.tile_pixels))))
             ? 16
             : 0);
    registers = std::clamp<std::int64_t>(round_up(registers, 8), 64, 255);
    if (const std::int64_t most = gpu.limits.registers_per_sm / part.threads; registers > most)
        registers = most / 8 * 8;
    // Beside sums and operands a thread needs registers for addresses, positions and counters, and with
    // several steps for the positions of the next step's copies. With 36 for all of these a kernel of 768
    // threads spilled where it had several steps.
    const std::int64_t beside = o.steps > 1 ? 40 : 32;
    if (registers < sums + g.thread_k + g.thread_pixels + beside)
        return no(std::to_string(part.threads) + " threads of " + std::to_string(g.thread_k) + " x " +
                  std::to_string(g.thread_pixels) + " sums need more registers than an SM has");
    part.register_cap = registers;
    part.ctas_per_sm = resident_ctas(gpu, part.threads, part.register_cap, part.shared_bytes);
    if (part.ctas_per_sm < 1)
        return no("a CTA needs " + std::to_string(part.shared_bytes) +
                  " bytes of shared memory, the GPU gives " +
                  std::to_string(gpu.limits.shared_bytes_per_cta));
    if (part.grid[0] > std::int64_t{1} << 30)
        return no("more than 2^30 CTAs; take larger tiles");
    fill_schedule(part, gpu.limits);

    const double warps_d = static_cast<double>(warps), slice = static_cast<double>(o.slice);
    const double loads =
        slice / g.warp_split * (g.thread_k + g.thread_pixels) / 4.0; // of a warp, 128 bits wide
    part.step.fmas = slice * static_cast<double>(g.tile_k) * g.tile_pixels;
    const double load_wavefronts = warps_d * loads * gpu.architecture.uniform_wide_wavefronts->value;
    // Asynchronous copies share the pipe with the loads.
    const std::int64_t values_of_filter = o.channels * s.r * s.s;
    const std::int64_t padded_filters = round_up(o.filters, 4), row_copies = o.slice / 4;
    const double filter_copy =
        g.filters == 2 ? copy_passes_of(warp_lanes, 4,
                                        [&](std::int64_t lane) {
                                            return lane / quads * padded_filters + lane % quads * 4;
                                        })
        : o.by_filter
            ? copy_passes_of(warp_lanes, 4,
                             [&](std::int64_t lane) {
                                 return lane / row_copies * values_of_filter + lane % row_copies * 4;
                             })
            : copy_passes_of(warp_lanes, 1,
                             [&](std::int64_t lane) { return lane / 8 * values_of_filter + lane % 8; });
    const double pixel_copy =
        o.wide_pixels
            ? copy_passes_of(std::min(warp_lanes, units), 4, [](std::int64_t lane) { return 4 * lane; })
            : copy_passes_of(std::min(warp_lanes, units), 1,
                             [&](std::int64_t lane) { return first_tap_of(s, lane); });
    part.step.shared_wavefronts =
        load_wavefronts + warps_d * (filter_copies * filter_copy + pixel_copies * pixel_copy);
    part.step.instructions =
        part.step.fmas / 32.0 + warps_d * (loads + filter_copies * instructions::unrolled_copy +
                                           pixel_copies * instructions::unrolled_copy + instructions::step);
    if (o.by_filter) {
        // A turn loads a quad of values of each filter and only then multiplies. Where the quads are no
        // multiple of the parts, some warps have one more.
        const std::int64_t quads_of_slice = o.slice / 4, tile_warps_of_part = warps / g.warp_split;
        part.step.turns = warps_d * static_cast<double>(quads_of_slice) / g.warp_split;
        part.step.instructions += part.step.turns * instructions::iteration;
        std::array<std::int64_t, 4> of_scheduler{};
        for (std::int64_t warp = 0; warp < warps; ++warp) {
            const std::int64_t turn = warp / tile_warps_of_part;
            of_scheduler[static_cast<std::size_t>(warp % std::ssize(of_scheduler))] +=
                quads_of_slice * (turn + 1) / g.warp_split - quads_of_slice * turn / g.warp_split;
        }
        if (warps % std::ssize(of_scheduler) == 0)
            part.busiest_scheduler =
                static_cast<double>(*std::max_element(of_scheduler.begin(), of_scheduler.end())) *
                static_cast<double>(of_scheduler.size()) /
                static_cast<double>(quads_of_slice * tile_warps_of_part);
    }

    // Pixels that a tile needs of a channel: once if its taps overlap, as L1 keeps them from tap to tap.
    const double rows_out = static_cast<double>(g.tile_pixels) / static_cast<double>(s.q());
    const double footprint = std::min(
        (rows_out * static_cast<double>(s.stride_h) + static_cast<double>((s.r - 1) * s.dilation_h)) *
            static_cast<double>(s.w),
        static_cast<double>(s.r * s.s * g.tile_pixels));
    const double channel_pixels = std::min(footprint, static_cast<double>(s.n * s.h * s.w));
    part.step.load_bytes =
        4.0 * (slice * g.tile_k +
               channel_pixels * g.slice_channels * static_cast<double>(o.rows) / static_cast<double>(s.r));
    part.drain.store_bytes = 4.0 * static_cast<double>(std::min<std::int64_t>(g.tile_pixels, o.pixels)) *
                             static_cast<double>(std::min<std::int64_t>(g.tile_k, o.filters)) / g.split;
    const double tile_quads = static_cast<double>(g.tile_k * g.tile_pixels / 4);
    part.drain.instructions = warps_d * static_cast<double>(per_thread) *
                                  (instructions::place + (o.padded ? static_cast<double>(s.r * s.s) : 0.0)) +
                              tile_quads / 32.0 *
                                  (meets ? g.warp_split * (instructions::placed_store +
                                                           (g.split > 1 ? instructions::divided_copy : 0.0)) +
                                               instructions::warp / g.split
                                         : instructions::store);
    // Where sums meet, a warp stores its own and reads what it adds up: of a cluster its own CTA's part, as
    // what it reads of the others' memory counts nowhere; otherwise only where the tile has filters and
    // pixels.
    const double tile_warps = tile_quads * 4.0 / 32.0 * g.warp_split;
    const double sum_stores =
        warps_d * static_cast<double>(sums) / 4.0 * sum_store_passes(g, lanes_n, 4, o.by_filter ? 1 : 4);
    const double there =
        static_cast<double>(o.filters) / static_cast<double>(o.filter_tiles * g.tile_k) *
        static_cast<double>(std::min(o.pixel_tiles * g.tile_pixels, round_up(o.pixels, warp_lanes))) /
        static_cast<double>(o.pixel_tiles * g.tile_pixels);
    part.drain.shared_wavefronts =
        meets ? sum_stores + (g.split > 1 ? tile_warps / g.split : tile_warps * there) : 0.0;

    const double ctas = static_cast<double>(part.ctas), ranks = static_cast<double>(g.split);
    const double all_steps = ctas / ranks * static_cast<double>(o.steps);
    // Of a single step without a loop and four pixels a thread the compiler puts all arithmetic under the
    // condition of the store: lanes and warps past the last pixel do none.
    constexpr std::int64_t most_unrolled = 9;                                 // values, as the kernel does
    const std::int64_t left = o.pixels - (o.pixel_tiles - 1) * g.tile_pixels; // of the last tile
    double steps_done = all_steps, passes_done = all_steps * load_wavefronts, lanes_done = all_steps;
    if (o.steps == 1 && o.slice <= most_unrolled && !meets && g.thread_pixels == 4 && left < g.tile_pixels) {
        const std::int64_t warp_pixels = lanes_n * 4, last_tiles = o.filter_tiles * s.groups;
        const double warps_m = static_cast<double>(warps * warp_pixels / g.tile_pixels);
        const double without = static_cast<double>(last_tiles);
        lanes_done -= without * (1.0 - static_cast<double>(left) / g.tile_pixels);
        steps_done -= without * (1.0 - static_cast<double>(ceil_div(left, warp_pixels) * warp_pixels) /
                                           static_cast<double>(g.tile_pixels));
        passes_done -=
            without * (load_wavefronts -
                       warps_m * slice *
                           (static_cast<double>(left / warp_pixels) * row_load_passes(g, lanes_n, lanes_n) +
                            row_load_passes(g, lanes_n, ceil_div(left % warp_pixels, 4))));
    }
    Work &work = part.work;
    work.fmas = lanes_done * part.step.fmas;
    work.instructions = steps_done * part.step.instructions + ctas * part.drain.instructions;
    work.shared_wavefronts = passes_done + ctas * part.drain.shared_wavefronts;
    work.shared_conflicts = 0.0;
    const double tiles = static_cast<double>(o.pixel_tiles * o.filter_tiles * s.groups);
    const std::int64_t plane = s.h * s.w * 4, values = o.channels * s.r * s.s;
    // Copies of 16 bytes pass L1; of others it keeps what the taps have in common.
    const double of_pixels =
        o.wide_pixels
            ? wide_copy_bytes(4.0 * static_cast<double>(std::min<std::int64_t>(g.tile_pixels, o.pixels)),
                              odd_halves(0, {{plane, s.c}, {o.stage_floats * 4, g.stages}}),
                              odd_halves(0, {{plane, s.c}}))
            : footprint_bytes(s, std::min<std::int64_t>(g.tile_pixels, o.pixels));
    const double filters_of_tile = static_cast<double>(std::min<std::int64_t>(g.tile_k, o.filters));
    const double of_filters =
        4.0 * static_cast<double>(o.filters * values * s.groups) *
        (g.filters == 2 ? wide_copy_bytes(1.0, odd_halves(0, {{round_up(o.filters, 4) * 4, values}}), 0.0)
         : o.by_filter  ? wide_copy_bytes(1.0,
                                          odd_halves(0, {{(o.pitch - values) * 4, g.tile_k},
                                                         {o.slice * 4, o.steps},
                                                         {o.stage_floats * 4, g.stages}}),
                                          0.0)
                        : filter_run_bytes(filters_of_tile, 4.0 * static_cast<double>(values), part, gpu) /
                             (4.0 * filters_of_tile * static_cast<double>(values)));
    // CTAs of other filters, or of a neighbouring tile, may read on the same SM what is still in L1.
    const double images = g.tile_pixels > s.p() * s.q() ? 1.0 : static_cast<double>(s.n), // else as one
        of_cta = static_cast<double>(o.channels) * of_pixels / g.split;
    const double of_image = static_cast<double>(s.input_bytes()) / images / static_cast<double>(s.groups);
    // CTAs of a rank lie on the same SMs.
    const double groups = static_cast<double>(s.groups), of_rank = of_filters / groups / g.split,
                 of_tile = of_rank / static_cast<double>(o.filter_tiles);
    const bool filters_in_l1 = g.filters != 2 && !o.by_filter;
    const double stored = part.drain.store_bytes;
    const double pixel_reads =
        o.wide_pixels ? tiles * static_cast<double>(o.channels) * of_pixels
                      : images * read_through_l1(of_cta, std::max(of_cta, of_image / g.split),
                                                 std::max(1.0, tiles * g.split / images), part, gpu,
                                                 Again::anywhere, stored + (filters_in_l1 ? of_tile : 0.0));
    const double filter_reads =
        filters_in_l1 ? groups * read_through_l1(of_tile, of_rank, ctas / groups, part, gpu, Again::in_turn,
                                                 stored + (o.wide_pixels ? 0.0 : of_cta))
                      : static_cast<double>(o.pixel_tiles) * of_filters;
    work.l2_read_bytes = pixel_reads + filter_reads;
    const double alike_pixels =
        o.wide_pixels
            ? alike_in_lines((o.by_filter ? g.tile_k : o.slice) * o.pitch * 4,
                             {{g.tile_pixels * 4 - plane, g.slice_channels},
                              next_buffer(o.stage_floats * 4, g.slice_channels * plane, g.stages, o.steps),
                              next_turn(g.slice_channels * plane, g.stages, o.steps),
                              {-s.c * plane, s.n},
                              {-g.tile_pixels * 4, o.pixel_tiles}})
            : 1.0;
    const double alike_filters =
        g.filters == 2 ? alike_in_lines(0, {{(o.pitch - padded_filters) * 4, o.slice},
                                            next_buffer(o.stage_floats * 4, o.slice * padded_filters * 4,
                                                        g.stages, o.steps),
                                            next_turn(o.slice * padded_filters * 4, g.stages, o.steps),
                                            {-g.tile_k * 4, o.filter_tiles}})
        : o.by_filter  ? alike_in_lines(0, {{(o.pitch - values) * 4, g.tile_k},
                                            next_buffer(o.stage_floats * 4, o.slice * 4, g.stages, o.steps),
                                            next_turn(o.slice * 4, g.stages, o.steps)})
                       : 1.0;
    const double filter_tiles = static_cast<double>(o.filter_tiles),
                 pixel_tiles = static_cast<double>(o.pixel_tiles);
    part.mergeable_reads =
        mergeable_reads(pixel_reads * alike_pixels, {filter_tiles, ranks}, part, gpu) +
        mergeable_reads(filter_reads * alike_filters, {pixel_tiles, ranks * filter_tiles}, part, gpu);
    // Lanes along the pixels store four each; where sums meet, a warp stores 32 neighbours, or a tile's
    // pixels.
    const std::int64_t run = meets ? std::min<std::int64_t>(warp_lanes, g.tile_pixels) : 4 * lanes_n;
    work.l2_write_bytes = static_cast<double>(s.output_bytes()) / static_cast<double>(4 * run) *
                          stored_bytes({warp_lanes, run, 1, 0}, std::gcd(s.p() * s.q(), run), 4);
    fill_dram(work, s, gpu);

    out.paper_round_fmas = part.step.fmas;
    out.paper_round_bytes = part.step.load_bytes;
    if (g.filters == 2) {
        out.plan.workspace_bytes = s.groups * o.steps * o.slice * round_up(o.filters, 4) * 4;
        part.operands = {{Memory::input, 0}, {Memory::workspace, 0}, {Memory::output, 0}};
        part.early = true;
        *work.dram_read_bytes -= static_cast<double>(s.filter_bytes()); // they are in L2
        out.plan.prepare = {prepare_launch(s, g, o, gpu)};
        if (out.plan.prepare[0].grid[1] > 65535)
            return no("the grid of the launch that prepares filters exceeds 65535 in y");
    }
    out.plan.launches = {std::move(part)};
    return out;
}

/// Register tiles, and the CTA tiles made of them, that are worth trying.
struct Tile {
    int k, thread_k, thread_pixels;
};
constexpr Tile tiles[] = {{128, 16, 8}, {128, 8, 8}, {64, 8, 8}, {32, 8, 8}, {128, 8, 4},
                          {64, 8, 4},   {32, 8, 4},  {32, 4, 8}, {32, 4, 4}, {16, 4, 4}};
constexpr int pixel_tiles[] = {16, 32, 48, 64, 96, 128, 192};

/// Channels of a step: some 16 values or more, equal parts for the warps, and no more than there are.
int slice_channels_for(const ConvShape &s, int warp_split) {
    const std::int64_t channels = s.c / s.groups;
    const std::int64_t taps = s.r * s.s <= most_taps ? s.r * s.s : s.s;
    const std::int64_t equal = warp_split / std::gcd(std::int64_t{warp_split}, taps);
    constexpr std::int64_t wanted = 16;
    const std::int64_t some = round_up(std::max(ceil_div(wanted, taps), equal), equal);
    return static_cast<int>(std::min(some, std::max(channels / equal * equal, std::int64_t{1})));
}

/// Channels of a step that let raw filters come by 16-byte copies; 0 if none do.
int quad_channels_for(const ConvShape &s, int warp_split) {
    const std::int64_t channels = s.c / s.groups, taps = s.r * s.s;
    if (taps > most_taps || s.products() % 4 != 0)
        return 0;
    std::int64_t some = 4 / std::gcd(taps, std::int64_t{4});
    while (some * taps < 32 || some * taps < 4 * warp_split)
        some *= 2;
    return channels % some == 0 ? static_cast<int>(some) : 0;
}

/// Channels of a step of staged rows: the two largest shares of all channels that the groups of warps can
/// divide and whose values are not more than a step holds well.
std::vector<int> row_slices(const ConvShape &s, int warp_split) {
    constexpr std::int64_t most_values = 150, most_channels = 64;
    const std::int64_t channels = s.c / s.groups, taps = s.r * s.s;
    std::vector<int> found;
    for (std::int64_t c = std::min(channels, most_channels); c >= warp_split && found.size() < 2; --c)
        if (c % warp_split == 0 && channels % c == 0 && (c * taps <= most_values || c == warp_split))
            found.push_back(static_cast<int>(c));
    return found;
}

} // namespace

Settings<ImplicitGemm> ImplicitGemm::settings(const ConvShape &s, const Gpu &gpu) const {
    if (const std::string why = outside(s); !why.empty())
        return Infeasible{why, true};
    const bool clusters = capability_of(gpu.profile) >= least_cluster_capability;
    if (split > 1 && !clusters)
        return Infeasible{
            "split = " + std::to_string(split) +
            " shares the channels over a cluster of CTAs, which needs compute capability 9.0 or "
            "newer; " +
            gpu.profile.id + " has " + gpu.profile.compute_capability};
    std::vector<ImplicitGemm> found;
    const auto either = [](int given, std::initializer_list<int> tried) {
        return given != 0 ? std::vector<int>{given} : std::vector<int>(tried);
    };
    const auto differs = [](int given, int value) { return given != 0 && given != value; };
    const bool tile_given = tile_k != 0 && thread_k != 0 && thread_pixels != 0;
    const std::int64_t pixels = s.n * s.p() * s.q(), filters_of_group = s.k / s.groups;
    const std::vector<int> widths = tile_pixels != 0
                                        ? std::vector<int>{tile_pixels}
                                        : std::vector<int>(std::begin(pixel_tiles), std::end(pixel_tiles));
    for (const Tile &tile : tiles) {
        ImplicitGemm setting = *this;
        if (!tile_given) {
            if (differs(tile_k, tile.k) || differs(thread_k, tile.thread_k) ||
                differs(thread_pixels, tile.thread_pixels))
                continue;
            if (tile_k == 0 && tile.k > 16 && tile.k / 2 >= filters_of_group)
                continue; // half of the tile would be padding
            if (tile_k == 0 && tile.k == 16 && filters_of_group > 16)
                continue;
            setting.tile_k = tile.k, setting.thread_k = tile.thread_k,
            setting.thread_pixels = tile.thread_pixels;
        }
        for (const int width : widths) {
            if (tile_pixels == 0 && width > 16 && width / 2 >= pixels)
                continue;
            setting.tile_pixels = width;
            const std::int64_t threads = std::int64_t{setting.tile_k} / setting.thread_k *
                                         (width / std::max(1, setting.thread_pixels));
            const std::int64_t ctas =
                ceil_div(pixels, width) * ceil_div(filters_of_group, setting.tile_k) * s.groups;
            const std::int64_t sms = gpu.limits.sm_count;
            for (const int turns : either(warp_split, {1, 2, 4, 8}))
                for (const int parts : clusters ? either(split, {1, 2, 4, 8}) : std::vector<int>{1})
                    for (const int layout : either(filters, {1, 2})) {
                        // Not worth a forecast: splitting what fills the chip, CTAs too small or too large,
                        // and preparing filters that are hardly used.
                        if ((parts > 1 && split == 0 && ctas * parts > 8 * sms) ||
                            (turns > 1 && warp_split == 0 && (threads * turns > 256 || ctas > 8 * sms)) ||
                            (warp_split == 0 && threads * turns < 64) ||
                            (layout == 2 && filters == 0 && ctas * parts < 2 * sms))
                            continue;
                        setting.warp_split = turns, setting.split = parts, setting.filters = layout;
                        std::vector<int> depths = {slice_channels_for(s, turns)};
                        if (const int quads = quad_channels_for(s, turns); quads != 0 && layout == 1)
                            depths.push_back(quads);
                        if (slice_channels != 0)
                            depths = {slice_channels};
                        // Seen beside each other on 64 layers: with one tap, rows are faster up to some 256
                        // channels, then slower; with fewer than four channels slower. On the layers of
                        // ResNet-50 with 32 images, 0.4e9 FMAs and more, slower by 15 to 45 %.
                        constexpr double large = 3e8;
                        const bool any = staging == 0 && stages == 0 && filters != 2;
                        const bool one_tap = s.r * s.s == 1;
                        const bool rows = !one_tap ? s.c / s.groups >= 4
                                                   : s.stride_h * s.stride_w == 1 && s.c / s.groups <= 256 &&
                                                         filters_of_group <= 512 && s.fmas().value < large;
                        if (staging != 1 && (!any || rows) && (layout == 1 || filters == 2)) {
                            setting.staging = 2, setting.stages = stages != 0 ? stages : 2;
                            for (const int channels : slice_channels != 0 ? depths : row_slices(s, turns)) {
                                setting.slice_channels = channels;
                                found.push_back(setting);
                            }
                        }
                        if (staging == 2 || (any && one_tap && rows))
                            continue;
                        setting.staging = 1;
                        for (const int channels : depths) {
                            setting.slice_channels = channels;
                            constexpr int usual_stages = 3;
                            setting.stages = stages != 0 ? stages : usual_stages;
                            const std::int64_t bytes = shape_of(s, setting).stage_floats * 4 * setting.stages;
                            if (stages == 0 && 2 * bytes > gpu.limits.shared_bytes_per_sm)
                                setting.stages = 2; // room for a second CTA is worth more
                            found.push_back(setting);
                        }
                    }
        }
        if (tile_given)
            break;
    }
    if (found.empty())
        return Infeasible{"no tile that the model tries has these knobs; give all of "
                          "tile_k, tile_pixels, thread_k and thread_pixels"};
    return found;
}

PlanResult<ImplicitGemm> ImplicitGemm::plan(const ConvShape &s, const Gpu &gpu) const {
    ImplicitGemm setting = *this;
    auto made = plan_of(setting, s, gpu);
    if (auto *why = std::get_if<Infeasible>(&made))
        return std::move(*why);
    return Planned<ImplicitGemm>{setting, std::move(std::get<Feasible>(made))};
}

} // namespace convcast
