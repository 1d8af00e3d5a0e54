#include "model/strategies/implicit_gemm_rows.hpp"

#include "model/paper/papers.hpp"
#include "model/work/instructions.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <variant>

namespace convcast {

using papers::ceil_div;
using papers::round_up;

namespace {

/// A convolution as the kernel sees it: the images of a 1 x 1 filter are one row each.
struct Map {
    std::int64_t h, w, p, q;
    std::int64_t stride_h; ///< between staged rows; 1 where a filter of one row lets others be left out
    bool aligned;          ///< rows come by 16-byte copies
};

Map map_of(const ConvShape &s) {
    const bool flat = s.r * s.s == 1 && s.stride_h * s.stride_w == 1 && s.pad_h == 0 && s.pad_w == 0;
    Map m{};
    m.h = flat ? 1 : s.h, m.w = flat ? s.h * s.w : s.w;
    m.p = flat ? 1 : s.p(), m.q = flat ? s.h * s.w : s.q();
    m.stride_h = s.r == 1 ? 1 : s.stride_h;
    m.aligned = s.s == 1 && s.stride_w == 1 && s.pad_w == 0 && m.w % 4 == 0;
    return m;
}

/// What a tile stages when rows are blocks of `columns` units; the kernel has the same formulas.
struct Staged {
    std::int64_t unit_tiles, column_blocks, rows, copy_floats, channel_floats;
};

Staged staged_of(const ConvShape &s, const Map &m, const ImplicitGemm &g, std::int64_t columns) {
    Staged o{};
    const std::int64_t units = s.n * m.p * columns, tile_units = g.tile_pixels / g.thread_pixels;
    o.unit_tiles = ceil_div(units, tile_units);
    o.column_blocks = ceil_div(m.q, columns * g.thread_pixels);
    const std::int64_t image_rows = (m.p - 1) * m.stride_h + (s.r - 1) * s.dilation_h + 1;
    const std::int64_t unit_grid = std::gcd(tile_units, columns);
    const std::int64_t out_rows = std::min(s.n * m.p, ceil_div(columns - unit_grid + tile_units, columns));
    const std::int64_t row_grid = tile_units % columns == 0 ? std::gcd(out_rows, m.p) : 1;
    const std::int64_t further_images = std::min(s.n - 1, (m.p - row_grid + out_rows - 1) / m.p);
    o.rows = (out_rows - 1) * m.stride_h + (s.r - 1) * s.dilation_h + 1 +
             further_images * std::max<std::int64_t>(0, image_rows - m.p * m.stride_h);
    o.copy_floats = o.rows * columns * g.thread_pixels;
    o.channel_floats = s.s * o.copy_floats;
    return o;
}

/// Units of a row block: such that the tiles' arithmetic and copies together are least.
int columns_for(const ConvShape &s, const Map &m, const ImplicitGemm &g, const Architecture &architecture) {
    constexpr std::int64_t most = 64;
    constexpr double lanes = 128.0; // of an SM
    const double wide_copy = architecture.wide_copy_clocks->value,
                 row_copy = architecture.row_copy_clocks->value;
    int best = 1;
    double least = 0.0;
    for (std::int64_t columns = 1; columns <= std::min(most, ceil_div(m.q, std::int64_t{g.thread_pixels}));
         ++columns) {
        const Staged o = staged_of(s, m, g, columns);
        const double tiles = static_cast<double>(o.unit_tiles * o.column_blocks);
        // Rows shorter than a warp begin more sectors: on an H200, 3 x 3 on a map of 224 took 8 % less time
        // by rows of 32 pixels than by rows of 8.
        const double row_bytes = 4.0 * static_cast<double>(columns * g.thread_pixels);
        const double copy = m.aligned ? wide_copy / 128.0 : row_copy / 32.0 * (1.0 + 32.0 / row_bytes);
        const double time = tiles * (static_cast<double>(g.tile_k * g.tile_pixels * s.r * s.s) / lanes +
                                     static_cast<double>(o.channel_floats) * copy);
        if (columns == 1 || time < least)
            best = static_cast<int>(columns), least = time;
    }
    return best;
}

/// Where a lane stands among those along the pixels (n) and along the filters (m); as in the kernels.
std::int64_t lane_n_of(std::int64_t lane, std::int64_t lanes_n) {
    return lanes_n == 2 ? lane & 1 : (lane & 1) | (lane >> 1 & 2) | (lanes_n == 8 ? lane >> 2 & 4 : 0);
}
std::int64_t lane_m_of(std::int64_t lane, std::int64_t lanes_n) {
    return lanes_n == 2 ? lane >> 1 : (lane >> 1 & 1) | (lane >> 2 & 2) | (lanes_n == 4 ? lane >> 2 & 4 : 0);
}

/// Passes of a warp's 128-bit load of pixels, on average over the warps of all tiles, or of the first ones.
double pixel_load_passes(const ConvShape &s, const Map &m, const ImplicitGemm &g, std::int64_t lanes_n) {
    constexpr std::int64_t most_tiles = 64;
    const std::int64_t tile_units = g.tile_pixels / g.thread_pixels, units = s.n * m.p * g.columns;
    const std::int64_t warps = std::min(most_tiles, ceil_div(units, tile_units)) * (tile_units / lanes_n);
    const std::int64_t image_rows = (m.p - 1) * m.stride_h + (s.r - 1) * s.dilation_h + 1;
    double passes = 0.0;
    for (std::int64_t warp = 0; warp < warps; ++warp)
        passes += shared_passes(warp_lanes, 4, [&](std::int64_t lane) {
                      const std::int64_t unit =
                          std::min(warp * lanes_n + lane_n_of(lane, lanes_n), units - 1);
                      const std::int64_t row = unit / g.columns;
                      const std::int64_t staged = row / m.p * image_rows + row % m.p * m.stride_h;
                      return (staged * g.columns + unit % g.columns) * g.thread_pixels;
                  }).taken;
    return passes / static_cast<double>(warps);
}

/// Bytes of the sectors written where rows of outputs are no multiple of four: runs of a row's block, cut
/// where a warp's 32 lanes end.
double loosely_written_bytes(const ConvShape &s, const Map &m, const ImplicitGemm &g) {
    constexpr std::int64_t sector_floats = 8;
    const std::int64_t pitch = std::int64_t{g.columns} * g.thread_pixels, blocks = ceil_div(m.q, pitch);
    const double grain = static_cast<double>(std::gcd(m.q, sector_floats));
    const auto run = [&](std::int64_t floats) {
        // Warps start at multiples of the grid that both have in common.
        const double pieces = static_cast<double>(floats - std::gcd(pitch, warp_lanes)) / warp_lanes + 1.0;
        return 4.0 * (static_cast<double>(floats) +
                      std::max(1.0, pieces) * (static_cast<double>(sector_floats) - grain));
    };
    return static_cast<double>(s.n * s.k * m.p) *
           (static_cast<double>(blocks - 1) * run(pitch) + run(m.q - (blocks - 1) * pitch));
}

} // namespace

double row_load_passes(const ImplicitGemm &g, std::int64_t lanes_n, std::int64_t taking_part) {
    const auto passes = [&](const auto &first_word) {
        return shared_passes(warp_lanes, 4,
                             [&](std::int64_t lane) {
                                 return lane_n_of(lane, lanes_n) < taking_part ? first_word(lane)
                                                                               : std::int64_t{-1};
                             })
            .taken;
    };
    constexpr double quad = 4.0;
    return g.thread_k / quad * passes([&](std::int64_t lane) { return lane_m_of(lane, lanes_n) * 4; }) +
           g.thread_pixels / quad * passes([&](std::int64_t lane) { return lane_n_of(lane, lanes_n) * 4; });
}

double sum_store_passes(const ImplicitGemm &g, std::int64_t lanes_n, std::int64_t pixels,
                        std::int64_t filters) {
    return shared_passes(warp_lanes, 4,
                         [&](std::int64_t lane) {
                             return lane_m_of(lane, lanes_n) * filters * g.tile_pixels +
                                    lane_n_of(lane, lanes_n) * pixels;
                         })
        .taken;
}

std::variant<Feasible, Infeasible> plan_of_rows(ImplicitGemm &g, const ConvShape &s, const Gpu &gpu) {
    const auto no = [](std::string why) { return Infeasible{std::move(why)}; };
    if (g.filters == 2)
        return no("staged rows read the filters as they lie; filters must be 1");
    if (g.stages != 2)
        return no("staged rows have two buffers; stages must be 2");
    if (s.n * s.c * s.h * s.w >= std::int64_t{1} << 31)
        return no("staged rows count the input with 32 bits");
    const std::int64_t channels = s.c / s.groups, filters = s.k / s.groups, taps = s.r * s.s;
    const std::int64_t tile_units = g.tile_pixels / g.thread_pixels;
    const std::int64_t lanes_n = std::gcd(std::int64_t{8}, tile_units), lanes_m = 32 / lanes_n;
    if (g.tile_pixels % g.thread_pixels != 0 || lanes_n == 1 || g.tile_k % (g.thread_k * lanes_m) != 0)
        return no("a tile of " + std::to_string(g.tile_k) + " filters and " + std::to_string(g.tile_pixels) +
                  " pixels has no whole warps of threads with " + std::to_string(g.thread_k) + " x " +
                  std::to_string(g.thread_pixels));
    if (channels % g.slice_channels != 0 || g.slice_channels % g.warp_split != 0)
        return no("staged rows need slice_channels that divide the " + std::to_string(channels) +
                  " channels and that warp_split divides");
    const std::int64_t steps = channels / g.slice_channels;
    if (g.split > steps)
        return no("split = " + std::to_string(g.split) + " exceeds the " + std::to_string(steps) +
                  " steps there are");
    const Map m = map_of(s);
    if (g.columns == 0)
        g.columns = columns_for(s, m, g, gpu.architecture);
    if (g.columns > ceil_div(m.q, std::int64_t{g.thread_pixels}))
        return no("columns = " + std::to_string(g.columns) + " exceeds the units of a row");
    const Staged o = staged_of(s, m, g, g.columns);

    Partition part;
    part.kernel = "implicit_gemm_rows";
    // Where sums of several warps or CTAs meet, rows that are no multiple of four are stored one float of
    // four at a time, each into a sector of its own.
    part.variant = g.split * g.warp_split == 1 ? "" : m.q % 4 == 0 ? "sums meet" : "sums meet, loose stores";
    part.threads = g.tile_k / g.thread_k * tile_units * g.warp_split;
    if (part.threads > gpu.limits.max_threads_per_cta)
        return no("a CTA would have " + std::to_string(part.threads) + " threads");
    const std::int64_t slice = g.slice_channels * taps;
    const bool several = steps > g.split;
    const std::int64_t stage_floats = slice * (g.tile_k + 4) + g.slice_channels * o.channel_floats;

    // Copies of a thread, as the kernel shares them out.
    const std::int64_t copiers =
        static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(part.threads)));
    const bool wide_filters = s.products() % 4 == 0 && slice % 4 == 0;
    const std::int64_t quad = wide_filters ? 4 : 1, side = wide_filters ? 2 : 8, at_once = copiers / side;
    const std::int64_t turns = std::max<std::int64_t>(1, g.tile_k / at_once),
                       beside = std::max<std::int64_t>(1, at_once / g.tile_k);
    const std::int64_t filter_copies = ceil_div(slice / quad, side * beside) * turns;
    const std::int64_t channel_copies = o.copy_floats / (m.aligned ? 4 : 1),
                       places = ceil_div(channel_copies, part.threads),
                       sharers = std::max<std::int64_t>(
                           1, std::min(std::int64_t{g.slice_channels}, part.threads / channel_copies));
    const std::int64_t pixel_copies = places * ceil_div(std::int64_t{g.slice_channels}, sharers) * s.s;
    constexpr std::int64_t most_places = 16, most_kept = 96;
    if (places > most_places || filter_copies * quad > most_kept)
        return no("a step would have more copies of a thread than registers hold; take fewer slice_channels");

    // Filters of the next step come in parts between which the threads multiply, so that they need few
    // registers.
    const std::int64_t group_channels = g.slice_channels / g.warp_split, sums = g.thread_k * g.thread_pixels;
    const std::int64_t kept_at_most = sums >= 64 ? 12 : 20;
    std::int64_t parts = 1;
    while (several && parts < group_channels && ceil_div(filter_copies, parts) * quad > kept_at_most) {
        do
            ++parts;
        while (group_channels % parts != 0);
    }
    const std::int64_t kept = several ? ceil_div(filter_copies, parts) * quad : 0;

    const std::int64_t of_kernel[] = {s.n,
                                      channels,
                                      m.h,
                                      m.w,
                                      filters,
                                      s.groups,
                                      s.r,
                                      s.s,
                                      s.stride_h,
                                      s.stride_w,
                                      s.pad_h,
                                      s.pad_w,
                                      s.dilation_h,
                                      s.dilation_w,
                                      g.tile_k,
                                      g.tile_pixels,
                                      g.thread_k,
                                      g.thread_pixels,
                                      g.slice_channels,
                                      g.columns,
                                      parts,
                                      g.warp_split,
                                      g.split};
    part.template_arguments.assign(std::begin(of_kernel), std::end(of_kernel));
    const std::int64_t pixel_tiles = o.unit_tiles * o.column_blocks,
                       filter_tiles = ceil_div(filters, std::int64_t{g.tile_k});
    part.grid = {pixel_tiles * filter_tiles * g.split, s.groups, 1};
    part.sharing_ctas = static_cast<double>(filter_tiles);
    if (part.grid[0] > std::int64_t{1} << 30)
        return no("more than 2^30 CTAs; take larger tiles");
    if (g.split > 1) { // sums of each CTA, four at a time
        part.cluster = g.split;
        part.cluster_bytes = 4.0 * g.tile_k * g.tile_pixels * (g.split - 1) / g.split;
        part.cluster_waits =
            static_cast<double>(ceil_div(std::int64_t{g.tile_k} * g.tile_pixels / 4, part.threads * g.split));
    }
    part.stages = 2;
    part.steps = ceil_div(steps, std::int64_t{g.split});
    part.filter_count = s.k;
    part.busy_warps = part.threads / 32;
    part.independent_sums = sums;
    part.snaked = true;
    const bool meets = g.split * g.warp_split > 1 || m.q % 4 != 0; // sums go through shared memory
    part.shared_bytes = 4 * std::max((several ? 2 : 1) * stage_floats,
                                     meets ? std::int64_t{g.tile_k} * g.tile_pixels * g.warp_split : 0);
    if (g.split > 1) {
        // Clusters fill one SM before the next, so that some SMs would have two CTAs and others none; with so
        // much shared memory that no more CTAs fit than there must be, they spread. A cluster stays in a GPC.
        // With one CTA an SM, 24 clusters of 5 did not run at once on an H200, and 12 of 8 did.
        const auto sms_of_gpc = static_cast<std::int64_t>(gpu.architecture.sms_of_small_gpc->value),
                   sms_of_gpcs = static_cast<std::int64_t>(gpu.architecture.sms_of_large_gpc->value);
        const std::int64_t spread = gpu.limits.sm_count / sms_of_gpcs * (sms_of_gpc / g.split * g.split);
        const std::int64_t needed = ceil_div(part.grid[0] * s.groups, std::max<std::int64_t>(1, spread));
        const std::int64_t too_much = round_up( // for one CTA more
            gpu.limits.shared_bytes_per_sm / (needed + 1) - gpu.limits.shared_bytes_reserved_per_cta + 1,
            128);
        part.shared_bytes =
            std::max(part.shared_bytes, std::min<std::int64_t>(too_much, gpu.limits.shared_bytes_per_cta));
    }

    // Sums, operands with those that follow, filters on their way, addresses.
    const std::int64_t operands = g.thread_k + g.thread_pixels;
    constexpr std::int64_t few_taps = 9;
    std::int64_t registers = sums + 2 * operands + kept + 3 * places + (taps > few_taps ? 40 : 32);
    constexpr std::int64_t warp = 32, of_all_copies = 16;
    if (part.threads == warp) // which has the places of every copy to itself
        registers += of_all_copies;
    if (constexpr std::int64_t three_warps = 3 * warp; part.threads % three_warps == 0)
        registers += 8; // lanes and rows of a copy by division
    registers = std::clamp<std::int64_t>(round_up(registers, 8), 64, 255);
    if (const std::int64_t most = gpu.limits.registers_per_sm / part.threads; registers > most)
        registers = most / 8 * 8;
    if (registers < sums + operands + kept + 2 * places + 28)
        return no(std::to_string(part.threads) + " threads of " + std::to_string(g.thread_k) + " x " +
                  std::to_string(g.thread_pixels) + " sums need more registers than an SM has");
    part.register_cap = registers;
    // Of a single step nothing is kept for a next one: registers of a thread at most, as compiled for sm_90
    // (NVRTC 13.0, 50 settings).
    const std::int64_t further = sums < 64 ? (g.slice_channels == 1 ? 24 : 48) : taps == 1 ? 48 : 56;
    part.ctas_per_sm = resident_ctas(
        gpu, part.threads, several ? registers : std::min(registers, sums + further), part.shared_bytes);
    if (part.ctas_per_sm < 1)
        return no("a CTA needs " + std::to_string(part.shared_bytes) +
                  " bytes of shared memory, the GPU gives " +
                  std::to_string(gpu.limits.shared_bytes_per_cta));
    fill_schedule(part, gpu.limits);

    const double warps = static_cast<double>(part.busy_warps);
    const double group_taps = static_cast<double>(group_channels * taps);
    const double loads = group_taps * static_cast<double>(operands) / 4.0; // of a warp
    // Units side by side may lie in rows of the map that meet the same banks.
    const double pixel_passes = pixel_load_passes(s, m, g, lanes_n);
    const double load_passes =
        group_taps / 4.0 *
        (static_cast<double>(g.thread_k) * gpu.architecture.uniform_wide_wavefronts->value +
         static_cast<double>(g.thread_pixels) * pixel_passes);
    // Warp instructions beside arithmetic and loads, as counted on sm_90: a step that others follow, a turn
    // of its loop; a copy of pixels, of filter values their loads and, one by one, stores; the start of a
    // CTA, and for each place of the map that a thread copies which taps lie inside.
    constexpr std::int64_t most_row_fmas = 640, most_fmas = 128, most_unrolled = 4; // as the kernel unrolls
    const std::int64_t row_fmas = s.s * sums, part_channels = group_channels / parts;
    std::int64_t channels_a_turn = 1;
    if (taps == 1)
        for (channels_a_turn =
                 std::min(part_channels, std::clamp<std::int64_t>(most_fmas / row_fmas, 1, most_unrolled));
             part_channels % channels_a_turn != 0;)
            --channels_a_turn;
    const std::int64_t loop_turns =
        group_channels / channels_a_turn * (s.r * row_fmas <= most_row_fmas ? 1 : s.r);
    part.step.fmas = static_cast<double>(slice * g.tile_k * g.tile_pixels);
    const double filter_instructions =
        static_cast<double>(filter_copies) * (instructions::unrolled_copy + static_cast<double>(quad));
    // A warp loads `side` pieces side by side of each of its filters, which lie apart.
    const double filter_passes = static_cast<double>(filter_copies) *
                                 (gather_passes(warp_lanes, static_cast<int>(quad),
                                                [&](std::int64_t lane) {
                                                    return lane / side * channels * taps + lane % side * quad;
                                                }) +
                                  static_cast<double>(quad));
    // Threads side by side copy the places of a row block, then of the row below.
    const std::int64_t pitch = g.columns * g.thread_pixels;
    const double pixel_passes_of_copy =
        m.aligned
            ? copy_passes_of(std::min(warp_lanes, channel_copies), 4,
                             [&](std::int64_t lane) { return lane * 4 / pitch * m.w + lane * 4 % pitch; })
            : copy_passes_of(std::min(warp_lanes, channel_copies), 1, [&](std::int64_t lane) {
                  return lane / pitch * m.w + lane % pitch * s.stride_w;
              });
    part.step.shared_wavefronts =
        warps * (load_passes + filter_passes + static_cast<double>(pixel_copies) * pixel_passes_of_copy);
    part.step.instructions =
        part.step.fmas / 32.0 + warps * (loads + filter_instructions +
                                         instructions::unrolled_copy * static_cast<double>(pixel_copies) +
                                         (several ? instructions::step : 0.0) +
                                         static_cast<double>(loop_turns) * instructions::iteration);
    const std::int64_t pixels = s.n * s.p() * s.q();
    part.drain.store_bytes = 4.0 * static_cast<double>(std::min<std::int64_t>(g.tile_pixels, pixels)) *
                             static_cast<double>(std::min<std::int64_t>(g.tile_k, filters)) / g.split;
    const double tile_quads = static_cast<double>(g.tile_k * g.tile_pixels / 4);
    // Results: of a filter that neighbouring lanes exchange halves for; of four stored right away; of a sum
    // and a column of pixels where all pass through shared memory; of four that a thread adds up, and of each
    // CTA of a cluster that it reads.
    const bool adds_up = g.split * g.warp_split > 1;
    const auto turns_of_all = [&](std::int64_t count) {
        return static_cast<double>(ceil_div(count, part.threads));
    };
    const double results =
        adds_up ? turns_of_all(std::int64_t{g.tile_k} * g.tile_pixels / 4 / g.split) *
                      (instructions::place + (g.split > 1 ? g.split * instructions::store : 0.0))
        : meets ? static_cast<double>(sums) * instructions::unrolled_copy +
                      turns_of_all(g.tile_pixels) * instructions::place
        : g.thread_pixels == 8 ? g.thread_k * instructions::loop
                               : static_cast<double>(sums) / 4.0 * instructions::store;
    part.drain.instructions =
        warps * (instructions::warp + static_cast<double>(places * s.s) * instructions::copy +
                 (g.split > 1 ? instructions::loop : 0.0) + results);
    // Warps that store filters: those that copy, as long as there are values for them.
    double filter_stores = 0.0;
    for (std::int64_t thread = 0; thread < copiers; thread += warp_lanes)
        if (const std::int64_t left = slice / quad - thread / side / g.tile_k * side; left > 0)
            filter_stores += static_cast<double>(ceil_div(left, side * beside) * turns * quad);
    // Where sums meet, a warp stores its own; the reads are of warps with outputs. Of a cluster, CTAs first
    // add up what their warps have, and what they read of the others' memory counts nowhere.
    const double tile_warps = tile_quads * 4.0 / 32.0;
    const double there =
        static_cast<double>(filters) / static_cast<double>(filter_tiles * g.tile_k); // of a tile's filters
    const double sum_stores =
        warps * static_cast<double>(sums) / 4.0 * sum_store_passes(g, lanes_n, g.thread_pixels, 4);
    const double sum_reads = g.split == 1 ? there * tile_warps * g.warp_split
                                          : there * tile_warps / g.split +
                                                (g.warp_split > 1 ? tile_warps * (g.warp_split + 1.0) : 0.0);
    part.drain.shared_wavefronts = meets ? sum_stores + sum_reads : 0.0;

    const double tiles = static_cast<double>(pixel_tiles * filter_tiles * s.groups);
    Work &work = part.work;
    // Of a single step the compiler puts all arithmetic under the condition of the store.
    const bool stored_alone = steps == 1 && !meets && g.thread_pixels == 4;
    const double units_there = static_cast<double>(s.n * m.p * (m.q / g.thread_pixels)) /
                               static_cast<double>(pixel_tiles * tile_units);
    work.fmas = tiles * static_cast<double>(steps) * part.step.fmas * (stored_alone ? units_there : 1.0);
    work.instructions =
        tiles * (static_cast<double>(steps) * part.step.instructions + g.split * part.drain.instructions);
    work.shared_wavefronts = tiles * (static_cast<double>(steps) * (warps * load_passes + filter_stores) +
                                      g.split * part.drain.shared_wavefronts);
    work.shared_conflicts = 0.0;
    // Rows and columns of tiles that reach beyond the image or into its padding are read in part.
    const std::int64_t block = g.columns * g.thread_pixels;
    const double row_bytes = 4.0 / static_cast<double>(o.column_blocks) *
                             covered(o.column_blocks, (block - 1) * s.stride_w + (s.s - 1) * s.dilation_w + 1,
                                     block * s.stride_w, s.pad_w, m.w);
    const Stride rows_apart{m.w * 4, m.h}, planes_apart{s.h * s.w * 4, s.c};
    const std::int64_t plane = s.h * s.w * 4, first_pixel = slice * (g.tile_k + 4) * 4;
    const std::initializer_list<Stride> runs_apart = {
        {(g.columns * g.thread_pixels - m.w) * 4, o.rows},
        {o.channel_floats * 4 - plane, g.slice_channels},
        next_buffer(stage_floats * 4, g.slice_channels * plane, g.stages, steps),
        next_turn(g.slice_channels * plane, g.stages, steps),
        {-s.c * plane, s.n},
        {-g.columns * g.thread_pixels * 4, o.column_blocks}};
    const double staged_row = m.aligned ? wide_copy_bytes(row_bytes, odd_halves(first_pixel, runs_apart),
                                                          odd_halves(0, {rows_apart, planes_apart}))
                                        : spanned_bytes(row_bytes);
    const std::int64_t image_rows = (m.p - 1) * m.stride_h + (s.r - 1) * s.dilation_h + 1;
    const std::int64_t last_row = (o.unit_tiles - 1) * tile_units / g.columns;
    const std::int64_t beyond = last_row / m.p * image_rows + last_row % m.p * m.stride_h + o.rows -
                                s.n * image_rows; // rows of the last tile
    const double inside = static_cast<double>(std::min(image_rows, m.h)) / static_cast<double>(image_rows);
    const double staged_rows = std::min(
        static_cast<double>(s.n * m.h),
        inside * (static_cast<double>(o.rows) - static_cast<double>(std::max<std::int64_t>(0, beyond)) /
                                                    static_cast<double>(o.unit_tiles)));
    const double staged_bytes = // through L1, whole rows follow one another
        m.aligned
            ? staged_rows * staged_row
            : std::min(staged_rows * staged_row, spanned_bytes(staged_rows * static_cast<double>(m.w) * 4.0));
    const double pixel_reads = tiles * static_cast<double>(channels) * staged_bytes;
    // CTAs of a rank lie on the same SMs.
    const double groups = static_cast<double>(s.groups),
                 of_rank = static_cast<double>(s.filter_bytes()) / groups / g.split;
    const double filter_reads =
        groups *
        read_through_l1(of_rank / static_cast<double>(filter_tiles), of_rank,
                        static_cast<double>(part.ctas) / groups, part, gpu, Again::in_turn,
                        part.drain.store_bytes +
                            (m.aligned ? 0.0 : static_cast<double>(channels) / g.split * staged_bytes));
    work.l2_read_bytes = filter_reads + pixel_reads;
    part.step.load_bytes = *work.l2_read_bytes / (tiles * static_cast<double>(steps));
    const double alike = m.aligned ? alike_in_lines(first_pixel, runs_apart) : 1.0;
    const double ranks = static_cast<double>(g.split), filter_tiles_d = static_cast<double>(filter_tiles);
    part.mergeable_reads =
        mergeable_reads(pixel_reads * alike, {filter_tiles_d, ranks}, part, gpu) +
        mergeable_reads(filter_reads, {static_cast<double>(pixel_tiles), ranks * filter_tiles_d}, part, gpu);
    work.l2_write_bytes = g.split * g.warp_split == 1 && m.q % 4 != 0
                              ? loosely_written_bytes(s, m, g)
                              : written_bytes(s, m.p == 1 ? StoredAlong::planes : StoredAlong::rows);
    fill_dram(work, s, gpu);

    Feasible out;
    out.rules = table1_rules(gpu.profile);
    out.paper_round_fmas = part.step.fmas;
    out.paper_round_bytes = part.step.load_bytes;
    out.plan.launches = {std::move(part)};
    return out;
}

} // namespace convcast
