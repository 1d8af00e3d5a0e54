#include "model/strategies/parts/implicit_gemm_tile.hpp"

#include <bit>
#include <compare>
#include <map>
#include <numeric>

namespace convcast {
namespace {

/// A convolution as the kernel sees it: for a 1 x 1 filter of stride 1 an image is one row (flat).
struct Map {
    const ConvShape &s;
    bool flat = s.r * s.s == 1 && s.stride_h * s.stride_w == 1 && s.pad_h == 0 && s.pad_w == 0;
    std::int64_t h = flat ? 1 : s.h, w = flat ? s.h * s.w : s.w;
    std::int64_t p = flat ? 1 : s.p(), q = flat ? s.h * s.w : s.q();
    /// Staged rows from one row of outputs to the next. A filter of one row needs no others.
    std::int64_t stride_h = s.r == 1 ? 1 : s.stride_h;
    /// Rows come by 16-byte copies.
    bool aligned = s.s == 1 && s.stride_w == 1 && s.pad_w == 0 && w % 4 == 0;
    /// Staged rows that all outputs of an image need, those in the padding included.
    std::int64_t image_rows = (p - 1) * stride_h + (s.r - 1) * s.dilation_h + 1;
};

/// What a tile stages. Rows of outputs are cut into blocks of `columns` units, a unit being the thread_pixels
/// neighbours that a thread computes. The units of a block, then those of the block below, are numbered
/// through all images; a tile has tile_units that follow one another. The kernel has the same formulas.
struct Staged {
    const ConvShape &s;
    const Map &m;
    const ImplicitGemm &g;
    std::int64_t columns;
    std::int64_t tile_units = g.tile_pixels / g.thread_pixels;
    std::int64_t unit_tiles = ceil_div(s.n * m.p * columns, tile_units),
                 column_blocks = ceil_div(m.q, columns *g.thread_pixels);
    std::int64_t unit_grid = std::gcd(tile_units, columns); ///< tiles begin at multiples of it in a row
    /// Rows of outputs that a tile has a part of, at most, and the multiples of rows at which tiles begin.
    std::int64_t out_rows = std::min(s.n * m.p, ceil_div(columns - unit_grid + tile_units, columns));
    std::int64_t row_grid = tile_units % columns == 0 ? std::gcd(out_rows, m.p) : 1;
    std::int64_t further_images = ///< beyond the first, at most
        std::min(s.n - 1, (m.p - row_grid + out_rows - 1) / m.p);
    /// Staged rows of a channel, at most. Then floats of a channel, of one tap of a row and of all.
    std::int64_t rows = (out_rows - 1) * m.stride_h + (s.r - 1) * s.dilation_h + 1 +
                        further_images * std::max<std::int64_t>(0, m.image_rows - m.p * m.stride_h);
    std::int64_t copy_floats = rows * columns * g.thread_pixels, channel_floats = s.s * copy_floats;
};

/// The knob `columns`, the width of a block in units, where it is left open: the one with which arithmetic
/// and copies of all tiles together take the fewest clocks by a rough count.
int columns_for(const ConvShape &s, const Map &m, const ImplicitGemm &g, const Gpu &gpu) {
    constexpr std::int64_t most = 64; // what the knob takes
    const double lanes = gpu.limits.cores_per_sm, wide_copy = gpu.architecture.wide_copy_clocks->value,
                 row_copy = gpu.architecture.row_copy_clocks->value;
    int best = 1;
    double least = 0.0;
    for (std::int64_t columns = 1; columns <= std::min(most, ceil_div(m.q, std::int64_t{g.thread_pixels}));
         ++columns) {
        const Staged o{s, m, g, columns};
        const double tiles = double(o.unit_tiles * o.column_blocks);
        // Rows shorter than a warp begin more sectors, where they are copied and where outputs are stored: on
        // an H200, 3 x 3 on a map of 224 took 8 % less time by rows of 32 pixels than by rows of 8.
        const double row_bytes = 4.0 * double(columns * g.thread_pixels);
        constexpr double wide_floats = 128.0, floats = 32.0; // that a warp's copy brings
        const double copy =
            (m.aligned ? wide_copy / wide_floats : row_copy / floats) * (1.0 + 32.0 / row_bytes);
        const double time =
            tiles * (double(g.tile_k * g.tile_pixels * s.r * s.s) / lanes + double(o.channel_floats) * copy);
        if (columns == 1 || time < least)
            best = int(columns), least = time;
    }
    return best;
}

/// A lane's place among the lanes_n lanes along the pixels (n), and among those along the filters (m).
std::int64_t lane_n_of(std::int64_t lane, std::int64_t lanes_n) {
    return lanes_n == 2 ? lane & 1 : (lane & 1) | (lane >> 1 & 2) | (lanes_n == 8 ? lane >> 2 & 4 : 0);
}
std::int64_t lane_m_of(std::int64_t lane, std::int64_t lanes_n) {
    return lanes_n == 2 ? lane >> 1 : (lane >> 1 & 1) | (lane >> 2 & 2) | (lanes_n == 4 ? lane >> 2 & 4 : 0);
}

/// What pixel_load_passes depends on: units as in Staged, rows_of_image of outputs, image_rows as in Map.
struct PixelLoads {
    std::int64_t bank_words, lanes_n, warps, units, columns, rows_of_image, image_rows, stride_h,
        thread_pixels;
    auto operator<=>(const PixelLoads &) const = default;
};

/// Wavefronts of a warp's 128-bit load of pixels, on average over the first `of.warps` warps.
double counted_passes(const Banks &banks, const PixelLoads &of) {
    double passes = 0.0;
    for (std::int64_t warp = 0; warp < of.warps; ++warp)
        passes += shared_passes(banks, warp_lanes, 4, [&](std::int64_t lane) {
                      const std::int64_t unit =
                          std::min(warp * of.lanes_n + lane_n_of(lane, of.lanes_n), of.units - 1);
                      const std::int64_t row = unit / of.columns;
                      const std::int64_t staged =
                          row / of.rows_of_image * of.image_rows + row % of.rows_of_image * of.stride_h;
                      return (staged * of.columns + unit % of.columns) * of.thread_pixels;
                  }).taken;
    return passes / double(of.warps);
}

/// Wavefronts of a warp's 128-bit load of pixels, on average over warps of the first 64 tiles.
double pixel_load_passes(const Banks &banks, const ConvShape &s, const Map &m, const ImplicitGemm &g,
                         std::int64_t lanes_n) {
    constexpr std::int64_t most_tiles = 64;
    const std::int64_t tile_units = g.tile_pixels / g.thread_pixels, units = s.n * m.p * g.columns;
    const std::int64_t warps = std::min(most_tiles, ceil_div(units, tile_units)) * (tile_units / lanes_n);
    const PixelLoads of{banks.words, lanes_n,      warps,      units,          g.columns,
                        m.p,         m.image_rows, m.stride_h, g.thread_pixels};
    // Remembered, as many settings of a shape agree in all of it. At 4096, chosen, all are forgotten.
    constexpr std::size_t most_kept = 4096;
    thread_local std::map<PixelLoads, double> counted;
    if (const auto found = counted.find(of); found != counted.end())
        return found->second;
    if (counted.size() >= most_kept)
        counted.clear();
    return counted.emplace(of, counted_passes(banks, of)).first->second;
}

/// Bytes of the sectors written by CTAs that add up no sums, where rows of outputs are no multiple of four. A
/// run is what a block has of a row, cut where a warp's 32 lanes end.
double loosely_written_bytes(const ConvShape &s, const Map &m, const ImplicitGemm &g) {
    constexpr std::int64_t sector_floats = 8;
    const std::int64_t pitch = std::int64_t{g.columns} * g.thread_pixels, blocks = ceil_div(m.q, pitch);
    const double grain = double(std::gcd(m.q, sector_floats));
    const auto run = [&](std::int64_t floats) {
        // Warps start at multiples of gcd(pitch, 32).
        const double pieces = double(floats - std::gcd(pitch, warp_lanes)) / warp_lanes + 1.0;
        return 4.0 * (double(floats) + std::max(1.0, pieces) * (double(sector_floats) - grain));
    };
    return double(s.n * s.k * m.p) * (double(blocks - 1) * run(pitch) + run(m.q - (blocks - 1) * pitch));
}

/// Bytes of the sectors written where neighbouring lanes store `run` bytes of a row. Short runs end within
/// sectors.
double fours_written_bytes(const ConvShape &s, const Map &m, double run) {
    constexpr std::int64_t sector = 32;
    const auto bytes = static_cast<std::int64_t>(run);
    return double(s.output_bytes()) * spanned_bytes(run, std::gcd(std::gcd(m.q * 4, bytes), sector)) / run;
}

/// Bytes of the sectors written where sums of several warps or CTAs met in shared memory. A thread stores
/// four neighbours of a row, at once if rows are multiples of four, else one after another. Lanes side by
/// side store what a block has of a row.
double met_written_bytes(const ConvShape &s, const Map &m, const ImplicitGemm &g) {
    const std::int64_t run = std::int64_t{g.columns} * g.thread_pixels; // floats
    if (run >= m.q || (m.q % 4 == 0 && run >= warp_lanes))              // whole rows follow each other
        return written_bytes(s, m.p == 1 ? StoredAlong::planes : StoredAlong::rows);
    const double at_once = fours_written_bytes(s, m, double(4 * run));
    if (m.q % 4 == 0)
        return at_once;
    // One after another: a sector of eight floats gets two of each store at most. L1 gathers the four stores
    // of a warp to a line, the less the more lines the warp stores to (W5).
    const double apart = double(s.output_bytes()) * (4.0 + 16.0 / double(run)), lines = 128.0 / double(run);
    return at_once + std::min(1.0, lines / warp_lanes) * (apart - at_once);
}

} // namespace

double row_load_passes(const Banks &banks, const ImplicitGemm &g, std::int64_t lanes_n,
                       std::int64_t taking_part) {
    const auto passes = [&](const auto &first_word) {
        return shared_passes(banks, warp_lanes, 4,
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

double sum_store_passes(const Banks &banks, const ImplicitGemm &g, std::int64_t lanes_n, std::int64_t pixels,
                        std::int64_t filters) {
    return shared_passes(banks, warp_lanes, 4,
                         [&](std::int64_t lane) {
                             return lane_m_of(lane, lanes_n) * filters * g.tile_pixels +
                                    lane_n_of(lane, lanes_n) * pixels;
                         })
        .taken;
}

namespace {

/// What follows from shape and knobs, and several parts of a plan need. A slice is what a step brings of a
/// filter or pixel: all taps of slice_channels channels.
struct Tiling {
    const ConvShape &s;
    const ImplicitGemm &g;
    const Gpu &gpu;
    const Map &map;
    Banks banks = banks_of(gpu.profile);
    Staged staged{s, map, g, g.columns};
    std::int64_t channels = s.c / s.groups, filters = s.k / s.groups, taps = s.r * s.s; ///< of a group
    std::int64_t slice = g.slice_channels * taps, steps = channels / g.slice_channels;
    std::int64_t tile_units = g.tile_pixels / g.thread_pixels, lanes_n = lanes_along_pixels(g);
    std::int64_t threads = g.tile_k / g.thread_k * tile_units * g.warp_split;
    std::int64_t sums = g.thread_k * g.thread_pixels;
    std::int64_t stage_floats = slice * (g.tile_k + 4) + g.slice_channels * staged.channel_floats;
    std::int64_t pixel_tiles = staged.unit_tiles * staged.column_blocks;
    std::int64_t filter_tiles = ceil_div(filters, std::int64_t{g.tile_k});
    std::int64_t group_channels = g.slice_channels / g.warp_split; ///< of a step, for one group of warps
    bool several = steps > g.split;                                ///< a CTA has several steps
    bool meets = g.split * g.warp_split > 1 || map.q % 4 != 0;     ///< sums go through shared memory
};

/// Why no width of a row block lets these knobs stage rows; "" if one may.
std::string check_knobs(const ImplicitGemm &g, const ConvShape &s) {
    if (g.filters == 2)
        return "staged rows read the filters as they lie; filters must be 1";
    if (g.stages != 2)
        return "staged rows have two buffers; stages must be 2";
    if (s.n * s.c * s.h * s.w >= std::int64_t{1} << 31)
        return "staged rows count the input with 32 bits";
    if (const std::string why = check_warps(g); !why.empty())
        return why;
    const std::int64_t channels = s.c / s.groups;
    if (channels % g.slice_channels != 0 || g.slice_channels % g.warp_split != 0)
        return fmt::format(
            "staged rows need slice_channels that divide the {} channels and that warp_split divides",
            channels);
    return check_split(g.split, channels / g.slice_channels);
}

/// What a thread copies in a step, as the kernel deals the copies out.
struct ThreadCopies {
    const Tiling &t;
    /// Threads that copy filters: a power of two.
    std::int64_t copiers = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(t.threads)));
    bool wide_filters = t.s.products() % 4 == 0 && t.slice % 4 == 0;
    std::int64_t quad = wide_filters ? 4 : 1; ///< values of a copy of filters
    /// Neighbouring threads that copy the same filter, filters that all threads copy at once, and how often
    /// they could have all filters of a tile side by side.
    std::int64_t side = wide_filters ? 2 : 8, at_once = copiers / side,
                 beside = std::max<std::int64_t>(1, at_once / t.g.tile_k);
    std::int64_t turns = std::max<std::int64_t>(1, t.g.tile_k / at_once);     ///< over a tile's filters
    std::int64_t filters = ceil_div(t.slice / quad, side *beside) * turns;    ///< copies of a thread
    std::int64_t of_channel = t.staged.copy_floats / (t.map.aligned ? 4 : 1); ///< copies of its pixels
    std::int64_t places = ceil_div(of_channel, t.threads);                    ///< of these, a thread's
    std::int64_t sharers = ///< channels that the threads copy at once
        std::max<std::int64_t>(1, std::min(std::int64_t{t.g.slice_channels}, t.threads / of_channel));
    std::int64_t pixels =
        places * ceil_div(t.g.slice_channels, sharers) * t.s.s; ///< a thread's, all channels
};

/// Why a GPU cannot have such CTAs, or the kernel so many; "" if they can.
std::string check_tiling(const Tiling &t, const ThreadCopies &copies) {
    if (t.threads > t.gpu.limits.max_threads_per_cta)
        return fmt::format("a CTA would have {} threads", t.threads);
    constexpr std::int64_t most_places = 16, most_kept = 96; // registers for both, chosen
    if (copies.places > most_places || copies.filters * copies.quad > most_kept)
        return "a step would have more copies of a thread than registers hold; take fewer slice_channels";
    if (t.pixel_tiles * t.filter_tiles * t.g.split > std::int64_t{1} << 30)
        return "more than 2^30 CTAs; take larger tiles";
    return "";
}

/// Filters of the next step pass through registers. They come in parts, and the threads multiply between two
/// parts, so that only one part is in registers at a time.
struct Parts {
    std::int64_t count;
    std::int64_t kept; ///< values of a part, in registers of a thread
};

/// The fewest parts that divide a group's channels and keep up to 20 values, or 12 beside many sums; chosen.
Parts parts_of(const Tiling &t, const ThreadCopies &copies) {
    if (!t.several)
        return {1, 0};
    const std::int64_t kept_at_most = t.sums >= 64 ? 12 : 20;
    const auto kept = [&](std::int64_t parts) { return ceil_div(copies.filters, parts) * copies.quad; };
    std::int64_t parts = 1;
    while (parts < t.group_channels && kept(parts) > kept_at_most) {
        do
            ++parts;
        while (t.group_channels % parts != 0);
    }
    return {parts, kept(parts)};
}

/// Registers that the compiler may use for a thread; 0 where an SM has too few for the threads of a CTA. The
/// numbers beside sums and operands were read off the machine code for sm_90.
std::int64_t registers_for(const Tiling &t, const ThreadCopies &copies, std::int64_t kept) {
    // Sums, operands and the next ones, filters on their way, addresses.
    const std::int64_t operands = t.g.thread_k + t.g.thread_pixels;
    constexpr std::int64_t few_taps = 9;
    std::int64_t wanted = t.sums + 2 * operands + kept + 3 * copies.places + (t.taps > few_taps ? 40 : 32);
    constexpr std::int64_t warp = 32, of_all_copies = 16;
    if (t.threads == warp) // a single warp makes all copies, and keeps the places of all
        wanted += of_all_copies;
    if (constexpr std::int64_t three_warps = 3 * warp; t.threads % three_warps == 0)
        wanted += 8; // a copy's lane and row are found by division
    const std::int64_t registers = register_cap_for(wanted, t.threads, t.gpu.limits);
    return registers < t.sums + operands + kept + 2 * copies.places + 28 ? 0 : registers;
}

/// Bytes of shared memory to ask for a CTA of a cluster that needs `bytes`. Clusters fill one SM before the
/// next, so that some SMs would have two CTAs and others none. With so much shared memory that no more CTAs
/// fit on an SM than are needed to have all resident, they spread. The SMs of a GPC beyond whole clusters
/// stay empty: on an H200, with one CTA an SM, 24 clusters of 5 did not run at once, and 12 of 8 did.
std::int64_t spreading_bytes(std::int64_t bytes, std::int64_t ctas, std::int64_t split, const Gpu &gpu) {
    const auto sms_of_gpc = static_cast<std::int64_t>(gpu.architecture.sms_of_small_gpc->value),
               sms_of_gpcs = static_cast<std::int64_t>(gpu.architecture.sms_of_large_gpc->value);
    const std::int64_t usable_sms = gpu.limits.sm_count / sms_of_gpcs * (sms_of_gpc / split * split);
    const std::int64_t needed = ceil_div(ctas, std::max<std::int64_t>(1, usable_sms)); // CTAs an SM
    const std::int64_t too_much = round_up(                                            // for one CTA more
        gpu.limits.shared_bytes_per_sm / (needed + 1) - gpu.limits.shared_bytes_reserved_per_cta + 1,
        static_cast<std::int64_t>(gpu.architecture.shared_unit->value));
    return std::max(bytes, std::min<std::int64_t>(too_much, gpu.limits.shared_bytes_per_cta));
}

/// Grid, threads, shared memory and registers, and the CTAs that an SM holds.
Partition launch_of(const Tiling &t, std::int64_t parts, std::int64_t registers) {
    const ImplicitGemm &g = t.g;
    const std::int64_t tile = std::int64_t{g.tile_k} * g.tile_pixels;
    const std::int64_t needed = 4 * std::max((t.several ? 2 : 1) * t.stage_floats,
                                             t.meets ? tile * g.warp_split : 0),
                       ctas = t.pixel_tiles * t.filter_tiles * g.split * t.s.groups;
    // A kernel of a single step keeps nothing for a next one: most registers of a thread, as compiled for
    // sm_90 (NVRTC 13.0, 50 settings).
    const std::int64_t further = t.sums < 64 ? (g.slice_channels == 1 ? 24 : 48) : t.taps == 1 ? 48 : 56;
    Partition part = tile_launch("implicit_gemm_rows", t, g.split, t.map.h, t.map.w,
                                 {g.tile_k, g.tile_pixels, g.thread_k, g.thread_pixels, g.slice_channels,
                                  g.columns, parts, g.warp_split, g.split},
                                 {t.threads, registers,
                                  g.split > 1 ? spreading_bytes(needed, ctas, g.split, t.gpu) : needed,
                                  t.several ? registers : std::min(registers, t.sums + further)});
    // Where sums of several warps or CTAs meet, rows that are no multiple of four are stored one float of
    // four at a time, each into a sector of its own.
    part.variant = g.split * g.warp_split == 1 ? ""
                   : t.map.q % 4 == 0          ? "sums meet"
                                               : "sums meet, loose stores";
    part.stages = 2;
    part.independent_sums = t.sums;
    part.snaked = true;
    if (g.split > 1) { // sums of each CTA, four at a time
        part.cluster = g.split;
        part.cluster_bytes = 4.0 * g.tile_k * g.tile_pixels * (g.split - 1) / g.split;
        part.cluster_waits = double(ceil_div(tile / 4, part.threads * g.split));
    }
    return part;
}

/// Wavefronts of a warp's loads from shared memory in a step.
double load_passes_of(const Tiling &t) {
    // Neighbouring lanes have neighbouring units, whose rows of the map may lie in the same banks.
    const double pixel_passes = pixel_load_passes(banks_of(t.gpu.profile), t.s, t.map, t.g, t.lanes_n);
    return double(t.group_channels * t.taps) / 4.0 *
           (double(t.g.thread_k) * t.gpu.architecture.uniform_wide_wavefronts->value +
            double(t.g.thread_pixels) * pixel_passes);
}

/// Iterations of a warp's loops in a step, as the kernel unrolls them.
std::int64_t loop_iterations_of(const Tiling &t, std::int64_t parts) {
    constexpr std::int64_t most_row_fmas = 640, most_fmas = 128, most_unrolled = 4;
    const std::int64_t row_fmas = t.s.s * t.sums, part_channels = t.group_channels / parts;
    std::int64_t channels_an_iteration = 1;
    if (t.taps == 1)
        for (channels_an_iteration =
                 std::min(part_channels, std::clamp<std::int64_t>(most_fmas / row_fmas, 1, most_unrolled));
             part_channels % channels_an_iteration != 0;)
            --channels_an_iteration;
    return t.group_channels / channels_an_iteration * (t.s.r * row_fmas <= most_row_fmas ? 1 : t.s.r);
}

/// Wavefronts of a warp's copies of filters in a step: a load through L1 to registers (F12), and a store.
double filter_passes_of(const Tiling &t, const ThreadCopies &copies) {
    // A warp loads `side` pieces side by side of each of its filters, which lie apart.
    const auto first_word = [&](std::int64_t lane) {
        return lane / copies.side * t.channels * t.taps + lane % copies.side * copies.quad;
    };
    return double(copies.filters) *
           (gather_passes(warp_lanes, int(copies.quad), first_word) + double(copies.quad));
}

/// Wavefronts of a warp's asynchronous copy of pixels (F12). Neighbouring threads copy neighbours of a row.
double pixel_copy_passes(const Tiling &t, const ThreadCopies &copies) {
    const std::int64_t pitch = t.g.columns * t.g.thread_pixels, w = t.map.w,
                       lanes = std::min(warp_lanes, copies.of_channel);
    if (t.map.aligned)
        return copy_passes_of(lanes, 4,
                              [&](std::int64_t lane) { return lane * 4 / pitch * w + lane * 4 % pitch; });
    return copy_passes_of(lanes, 1,
                          [&](std::int64_t lane) { return lane / pitch * w + lane % pitch * t.s.stride_w; });
}

/// What a CTA does in a step, but for the bytes that it loads.
StepWork step_of(const Tiling &t, const ThreadCopies &copies, std::int64_t parts, double load_passes) {
    StepWork step;
    const double warps = double(t.threads / 32);
    step.fmas = double(t.slice * t.g.tile_k * t.g.tile_pixels);
    step.shared_wavefronts = warps * (load_passes + filter_passes_of(t, copies) +
                                      double(copies.pixels) * pixel_copy_passes(t, copies));
    // Warp instructions beside arithmetic: loads of operands; copies of filter values, which are loaded and
    // stored one by one, and of pixels; the pipeline, if there are several steps; iterations of its loop.
    const double loads = double(t.group_channels * t.taps) * double(t.g.thread_k + t.g.thread_pixels) / 4.0;
    const double filter_instructions =
        double(copies.filters) * (instructions::unrolled_copy + double(copies.quad));
    step.instructions =
        step.fmas / 32.0 +
        warps * (loads + filter_instructions + instructions::unrolled_copy * double(copies.pixels) +
                 (t.several ? instructions::step : 0.0) +
                 double(loop_iterations_of(t, parts)) * instructions::iteration);
    return step;
}

/// Instructions of a warp for its results. Four ways, in the order below: several warps or CTAs have sums, of
/// which a thread adds up four at a time from all of them; rows are no multiple of four, and all sums pass
/// through shared memory; neighbouring lanes exchange halves of their eight pixels, filter by filter; a
/// thread stores four pixels right away.
double result_instructions(const Tiling &t) {
    const auto turns_of_all = [&](std::int64_t count) { return double(ceil_div(count, t.threads)); };
    if (t.g.split * t.g.warp_split > 1)
        return turns_of_all(std::int64_t{t.g.tile_k} * t.g.tile_pixels / 4 / t.g.split) *
               (instructions::place + (t.g.split > 1 ? t.g.split * instructions::store : 0.0));
    if (t.meets)
        return double(t.sums) * instructions::unrolled_copy +
               turns_of_all(t.g.tile_pixels) * instructions::place;
    return t.g.thread_pixels == 8 ? t.g.thread_k * instructions::loop
                                  : double(t.sums) / 4.0 * instructions::store;
}

/// Wavefronts of a CTA's sums that meet in shared memory. Warps store all sums and read those of outputs.
/// The CTAs of a cluster first add up what their own warps have; reads of other CTAs' memory count nowhere.
double meeting_passes(const Tiling &t) {
    const double tile_warps = double(t.g.tile_k * t.g.tile_pixels / 4) * 4.0 / 32.0;
    const double there = double(t.filters) / double(t.filter_tiles * t.g.tile_k); // of a tile's filters
    const double stores = double(t.threads / 32) * double(t.sums) / 4.0 *
                          sum_store_passes(t.banks, t.g, t.lanes_n, t.g.thread_pixels, 4);
    const double reads = t.g.split == 1
                             ? there * tile_warps * t.g.warp_split
                             : there * tile_warps / t.g.split +
                                   (t.g.warp_split > 1 ? tile_warps * (t.g.warp_split + 1.0) : 0.0);
    return stores + reads;
}

/// What a CTA does once: its start, the places that its threads copy from, tests of the edge, results.
StepWork drain_of(const Tiling &t, const ThreadCopies &copies) {
    StepWork drain;
    drain.store_bytes = stored_by_cta(t.s, t.g);
    drain.instructions =
        double(t.threads / 32) * (instructions::warp + double(copies.places * t.s.s) * instructions::copy +
                                  (t.g.split > 1 ? instructions::loop : 0.0) + result_instructions(t));
    drain.shared_wavefronts = t.meets ? meeting_passes(t) : 0.0;
    return drain;
}

/// Warp instructions that store filters to shared memory in a step; a warp without values left has none.
double filter_stores_of(const Tiling &t, const ThreadCopies &copies) {
    double stores = 0.0;
    for (std::int64_t thread = 0; thread < copies.copiers; thread += warp_lanes)
        if (const std::int64_t left = t.slice / copies.quad - thread / copies.side / t.g.tile_k * copies.side;
            left > 0)
            stores += double(ceil_div(left, copies.side * copies.beside) * copies.turns * copies.quad);
    return stores;
}

/// `share` (share_at_odd_16_bytes or alike_in_lines) of destination minus source of a block's rows.
double share_of_runs(double (*share)(std::int64_t, std::initializer_list<Stride>), const Tiling &t) {
    const std::int64_t plane = t.s.h * t.s.w * 4, first_pixel = t.slice * (t.g.tile_k + 4) * 4;
    return share(first_pixel,
                 {{(t.g.columns * t.g.thread_pixels - t.map.w) * 4, t.staged.rows},
                  {t.staged.channel_floats * 4 - plane, t.g.slice_channels},
                  next_buffer(t.stage_floats * 4, t.g.slice_channels * plane, t.g.stages, t.steps),
                  next_turn(t.g.slice_channels * plane, t.g.stages, t.steps),
                  {-t.s.c * plane, t.s.n},
                  {-t.g.columns * t.g.thread_pixels * 4, t.staged.column_blocks}});
}

/// Rows of a channel that a tile reads from the map, without padding, on average over all tiles.
double staged_rows(const Tiling &t) {
    const Map &m = t.map;
    const std::int64_t last_row = (t.staged.unit_tiles - 1) * t.tile_units / t.g.columns;
    const std::int64_t beyond = last_row / m.p * m.image_rows + last_row % m.p * m.stride_h + t.staged.rows -
                                t.s.n * m.image_rows; // rows of the last tile
    const double inside = double(std::min(m.image_rows, m.h)) / double(m.image_rows);
    return std::min(double(t.s.n * m.h),
                    inside * (double(t.staged.rows) -
                              double(std::max<std::int64_t>(0, beyond)) / double(t.staged.unit_tiles)));
}

/// Bytes that a CTA requests from L2 for the pixels of a channel (W4), on average over all CTAs.
double staged_bytes(const Tiling &t) {
    const Map &m = t.map;
    const std::int64_t block = t.g.columns * t.g.thread_pixels, blocks = t.staged.column_blocks;
    const double row_bytes = 4.0 / double(blocks) *
                             covered(blocks, (block - 1) * t.s.stride_w + (t.s.s - 1) * t.s.dilation_w + 1,
                                     block * t.s.stride_w, t.s.pad_w, m.w);
    const double rows = staged_rows(t);
    if (m.aligned)
        return rows * wide_copy_bytes(row_bytes, share_of_runs(share_at_odd_16_bytes, t),
                                      share_at_odd_16_bytes(0, {{m.w * 4, m.h}, {t.s.h * t.s.w * 4, t.s.c}}));
    return std::min(rows * spanned_bytes(row_bytes), // through L1, whole rows follow one another
                    spanned_bytes(rows * double(m.w) * 4.0));
}

/// Fills in what the launch, and so a step, reads from L2, and what SMs have in common of it.
void count_reads(Partition &part, const Tiling &t) {
    const double of_channel = staged_bytes(t);
    const double tiles = double(t.pixel_tiles * t.filter_tiles * t.s.groups);
    const double pixel_reads = tiles * double(t.channels) * of_channel;
    // CTAs of the same rank in their clusters run on the same SMs, and read the same share of the channels.
    const double groups = double(t.s.groups), of_rank = double(t.s.filter_bytes()) / groups / t.g.split;
    const double filter_reads =
        groups * read_through_l1(of_rank / double(t.filter_tiles), of_rank, double(part.ctas) / groups, part,
                                 t.gpu, Again::in_turn,
                                 part.drain.store_bytes +
                                     (t.map.aligned ? 0.0 : double(t.channels) / t.g.split * of_channel));
    const double alike = t.map.aligned ? share_of_runs(alike_in_lines, t) : 1.0;
    set_tile_reads(part, {pixel_reads, filter_reads}, {alike, 1.0}, t.gpu);
    part.step.load_bytes = *part.work.l2_read_bytes / (tiles * double(t.steps));
}

/// Fills in the work of the whole launch.
void count_work(Partition &part, const Tiling &t, const ThreadCopies &copies, double load_passes) {
    const double tiles = double(t.pixel_tiles * t.filter_tiles * t.s.groups), steps = double(t.steps),
                 warps = double(part.busy_warps);
    Work &work = part.work;
    // In a single step of four pixels a thread the compiler puts arithmetic under the store's condition.
    const bool stored_alone = t.steps == 1 && !t.meets && t.g.thread_pixels == 4;
    const double units_there =
        double(t.s.n * t.map.p * (t.map.q / t.g.thread_pixels)) / double(t.pixel_tiles * t.tile_units);
    work.fmas = tiles * steps * part.step.fmas * (stored_alone ? units_there : 1.0);
    work.instructions = tiles * (steps * part.step.instructions + t.g.split * part.drain.instructions);
    work.shared_wavefronts = tiles * (steps * (warps * load_passes + filter_stores_of(t, copies)) +
                                      t.g.split * part.drain.shared_wavefronts);
    work.shared_conflicts = 0.0;
    count_reads(part, t);
    const double stored_at_once =
        16.0 * double(std::min<std::int64_t>(t.g.columns, t.lanes_n)) * t.g.thread_pixels / 4.0;
    const bool alone = t.g.split * t.g.warp_split == 1;
    work.l2_write_bytes = !alone             ? met_written_bytes(t.s, t.map, t.g)
                          : t.map.q % 4 != 0 ? loosely_written_bytes(t.s, t.map, t.g)
                          : stored_at_once < warp_lanes * 4.0
                              ? fours_written_bytes(t.s, t.map, stored_at_once)
                              : written_bytes(t.s, t.map.p == 1 ? StoredAlong::planes : StoredAlong::rows);
    fill_writes(part, t.s, t.gpu);
}

} // namespace

Planned plan_of_rows(ImplicitGemm &g, const ConvShape &s, const Gpu &gpu) {
    if (const std::string why = check_knobs(g, s); !why.empty())
        return Infeasible{why};
    const Map m{s};
    if (g.columns == 0)
        g.columns = columns_for(s, m, g, gpu);
    if (g.columns > ceil_div(m.q, std::int64_t{g.thread_pixels}))
        return Infeasible{fmt::format("columns = {} exceeds the units of a row", g.columns)};
    const Tiling t{s, g, gpu, m};
    const ThreadCopies copies{t};
    if (const std::string why = check_tiling(t, copies); !why.empty())
        return Infeasible{why};
    const Parts parts = parts_of(t, copies);
    const std::int64_t registers = registers_for(t, copies, parts.kept);
    if (registers == 0)
        return Infeasible{too_few_registers(g, t.threads)};
    Partition part = launch_of(t, parts.count, registers);
    if (const std::string why = does_not_fit(part, gpu.limits); !why.empty())
        return Infeasible{why};
    const double load_passes = load_passes_of(t);
    part.step = step_of(t, copies, parts.count, load_passes);
    part.drain = drain_of(t, copies);
    count_work(part, t, copies, load_passes);

    return plan_of_launch(std::move(part), gpu);
}

} // namespace convcast
