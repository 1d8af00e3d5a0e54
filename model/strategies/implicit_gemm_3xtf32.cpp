// Implicit GEMM on tensor cores with the accuracy of FP32: three TF32 products for one.
#include "model/strategies/parts/implicit_gemm_tile.hpp"
#include "model/strategies/strategy.hpp"

#include <cmath>

namespace convcast {
namespace {

/// A CTA computes `tile_k` filters for `tile_pixels` pixels, counted over n, p and q, by wgmma. Each 64
/// pixels have a warpgroup that multiplies (a consumer), and one more warpgroup copies (the producer). Each
/// factor is split in two TF32 parts; three products of parts are added up in FP32. A pipeline step brings
/// `depth` rows, each of 8 values of (c, r, s). `split` CTAs of a cluster take shares of the steps. Filters
/// are split and laid out once by a launch of their own. Any stride, padding, dilation and groups; compute
/// capability 9.0 only.
struct ImplicitGemm3xTf32 {
    static constexpr About about{"implicit_gemm_3xtf32",
                                 "Implicit GEMM on tensor cores, three TF32 products for one of FP32", 14};
    static constexpr bool tensor_cores = true;
    int tile_k = 0, tile_pixels = 0, depth = 0, stages = 0, split = 0;

    void knobs(const EachKnob &each) {
        each(tile_k, "tile_k", 0, 128, {32, 64, 128}, "filters of a CTA: 32, 64 or 128");
        each(tile_pixels, "tile_pixels", 0, 256, {64, 128, 192, 256}, "pixels of a CTA: 64, 128, 192 or 256");
        each(depth, "depth", 0, 8, {}, "rows of 8 values of a pipeline step: 2, 4 or 8");
        each(stages, "stages", 0, 8, {}, "buffers of the prefetch pipeline, 2 at least");
        each(split, "split", 0, 8, {1, 2, 4, 8}, "CTAs of a cluster that share the values: 1, 2, 4 or 8");
    }
    static std::string outside(const ConvShape &s) {
        if (const std::string why = outside_tiles(s); !why.empty())
            return why;
        // The product of the low parts, 2^-22 of a product, is left out. That is lost in the rounding of a
        // sum of many products; eight are chosen as enough.
        constexpr std::int64_t least_products = 8;
        if (s.products() < least_products)
            return fmt::format("a sum of {} products, fewer than 8, would be less accurate than FP32",
                               s.products());
        return "";
    }
    SettingsOf<ImplicitGemm3xTf32> settings(const ConvShape &s, const Gpu &gpu) const;
    Planned plan(const ConvShape &s, const Gpu &gpu);
};

constexpr std::int64_t row_values = 8;      // of (c, r, s) in one wgmma: 32 bytes of TF32
constexpr std::int64_t group_threads = 128; // of a warpgroup

/// What follows from shape and knobs, and several parts of a plan need.
struct Tiling : ImplicitGemm3xTf32 {
    /// With rows of channels: the launch that prepares filters turns eight of eight filters in 33 KB then.
    static constexpr std::int64_t most_taps = 128;
    // Limits and sizes of the table of places (tabled), and of a stage's barriers.
    static constexpr std::int64_t most_places = 2048, most_distance = 32767, place_bytes = 8,
                                  barrier_bytes = 16;
    const ConvShape &s;
    const Gpu &gpu;
    std::int64_t channels = s.c / s.groups, filters = s.k / s.groups, taps = s.r * s.s; ///< of a group
    /// A row is eight channels of a tap, else eight successive values.
    bool by_channel = channels % row_values == 0 && s.r * s.s <= most_taps;
    std::int64_t rows = ceil_div(channels * s.r * s.s, row_values), steps = ceil_div(rows, depth);
    std::int64_t padded_rows = steps * depth, places = padded_rows * row_values; ///< of all steps; of values
    std::int64_t pitch = tile_pixels + 8; ///< floats from one value's pixels to the next's
    std::int64_t stage_bytes = 4 * depth * row_values * (2 * tile_k + pitch);
    std::int64_t pixels = s.n * s.p() * s.q(), pixel_tiles = ceil_div(pixels, tile_pixels);
    std::int64_t filter_tiles = ceil_div(filters, tile_k);
    std::int64_t groups_of_warps = tile_pixels / 64, threads = (groups_of_warps + 1) * group_threads;
    double warps = double(groups_of_warps * 4); ///< that multiply
    /// Of a step: a consumer warp reads its pixels by two 64-bit loads a row, two wavefronts each.
    double load_wavefronts = double(depth) * warps * 2.0 * 2.0;
    bool wide_pixels = by_channel && s.r * s.s == 1 && s.stride_h * s.stride_w == 1 &&
                       s.pad_h + s.pad_w == 0 && s.h * s.w % 4 == 0;
    /// Whether a table in shared memory says where a row's values lie; else divisions find them.
    bool tabled = !by_channel && places <= most_places && (s.r - 1) * s.dilation_h <= most_distance &&
                  (s.s - 1) * s.dilation_w <= most_distance;
    std::int64_t extra_bytes =
        stages * barrier_bytes + (tabled ? places * place_bytes : 0); ///< beside stages
    // Registers, read off the machine code: a consumer's accumulators and sums, two buffers of split pixels,
    // addresses. A CTA starts with `cap` for each thread; then producers give some of theirs to consumers.
    static constexpr std::int64_t eight = 8, beside_sums = 56, least_producer = 32, two_pixels_producer = 64;
    static constexpr std::int64_t many_taps = 25; // whose places do not stay in registers
    std::int64_t usual_producer = by_channel || taps <= many_taps ? 40 : 48;
    std::int64_t wanted = round_up(tile_k + beside_sums, eight);
    std::int64_t wanted_cap =
        round_up(ceil_div(wanted * groups_of_warps + usual_producer, groups_of_warps + 1), eight);
    std::int64_t most = gpu.limits.registers_per_sm / threads / eight * eight;
    bool enough = wanted_cap * threads <= gpu.limits.registers_per_sm;
    std::int64_t producer = enough                               ? usual_producer
                            : groups_of_warps < 4 || !by_channel ? least_producer
                                                                 : two_pixels_producer;
    std::int64_t consumer =
        enough ? wanted : (most * (groups_of_warps + 1) - producer) / groups_of_warps / eight * eight;
    std::int64_t cap = enough ? wanted_cap : most;
};

/// What a producer thread copies of a row: `values` of its values, each for `pixels` pixels, or fours of
/// pixels where copies are wide. `lanes` threads side by side copy the same value for different pixels;
/// further threads copy other values.
struct Copying {
    const Tiling &t;
    std::int64_t units = t.tile_pixels / (t.wide_pixels ? 4 : 1);
    std::int64_t lanes = std::min(units == 48 ? 32 : units, group_threads);
    double values = double(row_values) * double(lanes) / group_threads,
           pixels = double(ceil_div(units, lanes));
};

/// Bytes that the CTAs of a cluster together request from L2 for the pixels of a tile of `pixels`. Each
/// reads what its share of the rows needs. A channel whose taps lie in two shares is read by both.
double tile_pixel_bytes(const Tiling &t, std::int64_t pixels) {
    if (t.wide_pixels) // they bypass L1
        return double(t.channels) * wide_copy_bytes(4.0 * double(pixels),
                                                    share_at_odd_16_bytes(0, {{t.s.h * t.s.w * 4, t.s.c}}),
                                                    share_at_odd_16_bytes(0, {{t.s.h * t.s.w * 4, t.s.c}}));
    const double whole =
        footprint_bytes(t.s, pixels); // of a channel with all taps, or with taps [begin, end)
    const auto of_taps = [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t rows = (end - 1) / t.s.s - begin / t.s.s + 1;
        return end - begin == t.taps ? whole
                                     : footprint_bytes(t.s, pixels, rows, rows > 1 ? t.s.s : end - begin);
    };
    const std::int64_t of_row = t.by_channel ? 1 : row_values, at_once = t.by_channel ? row_values : 1,
                       all = t.channels / at_once * t.taps; // taps of all channels, or of eight at once
    double bytes = 0.0;
    for (std::int64_t rank = 0; rank < t.split; ++rank) {
        const auto first_tap = [&](std::int64_t share) {
            return std::min(all, t.steps * share / t.split * t.depth * of_row);
        };
        // A part of a channel, whole channels, a part of the last one.
        const std::int64_t begin = first_tap(rank), end = first_tap(rank + 1);
        const std::int64_t whole_from = std::min(end, round_up(begin, t.taps)),
                           whole_to = std::max(whole_from, end / t.taps * t.taps);
        const auto within = [&](std::int64_t at) { return at - begin / t.taps * t.taps; };
        if (begin < whole_from)
            bytes += of_taps(within(begin), within(whole_from));
        bytes += double((whole_to - whole_from) / t.taps) * whole;
        if (whole_to < end)
            bytes += of_taps(0, end - whole_to);
    }
    return double(at_once) * bytes;
}

/// What a CTA of the launch that prepares filters has: eight filters and `rows` rows. It transposes them in
/// shared memory, where a filter lies `pitch` floats from the next.
struct Block {
    static constexpr std::int64_t filters = 8, usual_rows = 16;
    const Tiling &t;
    /// 16 rows (chosen) or, with rows of channels, the next number that is eight whole channels.
    std::int64_t rows = t.by_channel ? t.taps * ceil_div(usual_rows, t.taps) : usual_rows;
    std::int64_t values = rows * row_values, pitch = values + 1;
};

/// Wavefronts of the loads of `rows` rows: a thread reads four values of its filter, one by one.
double block_read_passes(const Tiling &t, const Block &block, std::int64_t rows) {
    constexpr std::int64_t eight = Block::filters;
    return 4.0 * shared_passes(Banks{}, rows * 2 * eight, 1, [&](std::int64_t i) {
                     const std::int64_t row = i / (2 * eight), half = i / eight % 2;
                     return i % eight * block.pitch +
                            (t.by_channel ? (row / t.taps * eight + half * 4) * t.taps + row % t.taps
                                          : row * eight + half * 4);
                 }).taken;
}

/// The launch that splits the filters and lays them out.
Partition prepare_launch(const Tiling &t) {
    const Block block{t};
    Partition part = prepare_filters(
        "implicit_gemm_3xtf32_filters",
        {ceil_div(t.padded_rows, block.rows), t.filter_tiles * t.tile_k / Block::filters, t.s.groups},
        {128, 40, Block::filters * block.pitch * 4},
        t.s.groups * t.filter_tiles * t.padded_rows * t.tile_k * row_values * 8, // two floats a value
        t.s, t.gpu);
    part.template_arguments = {t.channels,    t.filters,  t.taps,      t.tile_k,
                               t.padded_rows, block.rows, t.by_channel};
    // In a step a thread reads eight values and then stores them to shared memory, as the kernel does.
    constexpr std::int64_t under_way = 8;
    part.steps = ceil_div(Block::filters * block.values, part.threads * under_way);
    const double values = double(Block::filters * block.values), steps = double(part.steps),
                 ctas = double(part.ctas);
    // Warp instructions that load values, of all groups and filters; padding is not loaded.
    const double loads = double(t.s.groups * round_up(t.filters, Block::filters) *
                                ceil_div(t.channels * t.taps, papers::warp_threads));
    // For 32 values a warp finds the places by divisions and stores them to shared memory. In the drain, for
    // 128 values it splits them and writes the parts.
    part.step.instructions =
        (values / 32.0 * instructions::divided_copy + loads / ctas * instructions::copy) / steps;
    const double write_passes = // of the stores of a block to shared memory
        shared_passes(Banks{}, Block::filters * block.values, 1, [&](std::int64_t i) {
            return i / block.values * block.pitch + i % block.values;
        }).taken;
    part.step.shared_wavefronts = write_passes / steps;
    part.step.load_bytes /= steps;
    // The last block has only the rows that are left.
    const double blocks = double(part.grid[0]),
                 rows_there = double(t.padded_rows) / (blocks * double(block.rows));
    part.drain.instructions = rows_there * values / 128.0 * instructions::divided_copy;
    part.drain.shared_wavefronts =
        over(Loop{t.padded_rows, block.rows},
             [&](std::int64_t rows) { return block_read_passes(t, block, rows); }) /
        blocks;
    set_core_work(part);
    part.work.shared_conflicts.reset(); // reads of two halves of a row meet in banks, which nobody counts
    return part;
}

/// Why the kernel is not built for these knobs; "" if it is.
std::string check_knobs(const ImplicitGemm3xTf32 &g) {
    if (g.tile_k != 32 && g.tile_k != 64 && g.tile_k != 128)
        return "tile_k must be 32, 64 or 128";
    if (g.tile_pixels < 64 || g.tile_pixels % 64 != 0)
        return "tile_pixels must be 64, 128, 192 or 256";
    if (g.depth != 2 && g.depth != 4 && g.depth != 8)
        return "depth must be 2, 4 or 8";
    if (g.split != 1 && g.split != 2 && g.split != 4 && g.split != 8)
        return "split must be 1, 2, 4 or 8";
    if (g.stages < 2)
        return "stages must be at least 2";
    return "";
}

/// Why a CTA cannot have such tiles, or a grid so many; "" if they can.
std::string check_tiling(const Tiling &t) {
    if (const std::string why = check_split(t.split, t.steps); !why.empty())
        return why;
    constexpr std::int64_t least_beside_sums = 32;
    if (t.consumer < t.tile_k + least_beside_sums)
        return fmt::format("the sums of {} pixels by {} filters need more registers than an SM has",
                           t.tile_pixels, t.tile_k);
    if (t.pixel_tiles * t.filter_tiles * t.split > std::int64_t{1} << 30)
        return "more than 2^30 CTAs; take larger tiles";
    return "";
}

/// Grid, threads, shared memory and registers, and the CTAs that an SM holds.
Partition launch_of(const Tiling &t) {
    const std::int64_t sums = t.split > 1 ? std::int64_t{t.tile_k} * (t.tile_pixels + 4) * 4 : 0;
    Partition part = tile_launch(
        ImplicitGemm3xTf32::about.name, t, t.split, t.s.h, t.s.w,
        {t.tile_k, t.tile_pixels, t.depth, t.stages, t.split, t.by_channel, t.tabled, t.producer, t.consumer},
        {t.threads, t.cap, std::max(t.stages * t.stage_bytes, sums) + t.extra_bytes});
    part.variant = t.split > 1 ? "clusters" : "";
    constexpr std::int64_t consumers = 128;
    if (t.split > 1)
        set_cluster(part, t, 1, t.groups_of_warps * consumers);
    part.stages = t.stages;
    part.busy_warps = t.groups_of_warps * 4;
    part.copy_warps = 4;
    part.architecture_features = true; // wgmma
    return part;
}

/// F12: wavefronts of the asynchronous copies of one value for all pixels of a tile. A lane without a pixel
/// reads nothing; it writes a zero.
double value_copy_passes(const Tiling &t) {
    const std::int64_t width = t.wide_pixels ? 4 : 1, units = t.tile_pixels / width,
                       lanes = std::min(warp_lanes, units), // that copy the same value
        with_pixels = ceil_div(std::min<std::int64_t>(t.pixels, t.tile_pixels), width);
    const auto passes = [&](std::int64_t active) {
        return t.wide_pixels
                   ? copy_passes_of(active, 4, [](std::int64_t lane) { return 4 * lane; })
                   : copy_passes_of(active, 1, [&](std::int64_t lane) { return first_tap_of(t.s, lane); });
    };
    const Loop warps{with_pixels, lanes};
    const double of_warps = over(warps, passes) + double(ceil_div(units, lanes) - warps.turns()) * passes(0);
    return of_warps * double(lanes) / double(warp_lanes);
}

/// Warp instructions of a producer warp for a row, as its loops are written. If a row is eight channels, a
/// copy takes its address and the copy itself. If not, the place of each value is looked up or found by
/// divisions as well. With padding a thread compares: once for all channels of a pixel, else for every copy.
double row_copying_of(const Tiling &t, const Copying &its) {
    const bool padded = t.s.pad_h + t.s.pad_w > 0;
    const double copies = its.values * its.pixels;
    return t.by_channel
               ? copies * instructions::unrolled_copy + (padded ? its.pixels * instructions::guard : 0.0)
               : its.values * (t.tabled ? instructions::unrolled_copy : instructions::store) +
                     copies * (instructions::iteration + (padded ? instructions::guard : 0.0));
}

/// What a CTA does in a step.
StepWork step_of(const Tiling &t) {
    StepWork step;
    const double depth = t.depth;
    const Copying its{t};
    step.tensor_fmas = depth * row_values * products_of_parts * t.tile_k * t.tile_pixels;
    // wgmma reads a row's filters for each of the three products and each 64 pixels. Copies of filters and
    // pixels pass through the same pipe (F12).
    constexpr double wavefront_bytes = 128.0;
    step.shared_wavefronts =
        t.load_wavefronts +
        depth * products_of_parts * double(t.groups_of_warps) * t.tile_k * 32.0 / wavefront_bytes +
        depth * 2.0 * t.tile_k * 32.0 / wavefront_bytes + depth * row_values * value_copy_passes(t);
    step.copying = 4.0 * (instructions::place + instructions::step + depth * row_copying_of(t, its));
    // A producer warp waits for the table's answer before it copies a value.
    step.turns = t.tabled ? 4.0 * depth * its.values : 0.0;
    step.instructions = depth * t.warps * instructions::divided_copy + step.copying;
    const double step_channels = depth * row_values / double(t.s.r * t.s.s);
    step.load_bytes =
        depth * row_values * 8.0 * t.tile_k + 4.0 * channel_pixels(t.s, t.tile_pixels) * step_channels;
    return step;
}

/// What a CTA does once: its start, the table of places, its results. Without a cluster, a store has 16
/// pixels by 4 filters, or two stores if planes of outputs are odd. In a cluster, a CTA stores its sums to
/// shared memory and adds up its share: in each iteration a consumer thread reads a sum of every CTA.
StepWork drain_of(const Tiling &t) {
    StepWork drain;
    drain.store_bytes = stored_by_cta(t.s, t);
    const double places = t.tabled ? double(t.padded_rows * row_values) : 0.0;
    drain.instructions = (t.warps + 4.0) * instructions::copy + places / 32.0 * instructions::copy;
    if (t.split > 1) {
        const std::int64_t share = std::int64_t{t.tile_k} * t.tile_pixels / t.split;
        drain.instructions += (t.warps + 4.0) * instructions::warp +
                              t.warps * double(ceil_div(share, t.groups_of_warps * group_threads)) *
                                  (instructions::loop + instructions::store * t.split);
    } else {
        const double stores = double(ceil_div(t.pixels, 16) * ceil_div(t.filters, 4)) /
                              double(t.pixel_tiles * t.filter_tiles) *
                              (t.s.p() * t.s.q() % 2 == 0 ? 1.0 : 2.0);
        drain.instructions += stores * instructions::store;
    }
    // The table takes two wavefronts for 32 places. A CTA of a cluster writes its sums by two wavefronts for
    // 32 pairs, and reads its share of its own sums; reads of other CTAs' memory are in no counter.
    const double tile_warps = double(t.tile_k * t.tile_pixels) / 32.0;
    drain.shared_wavefronts = places * 2.0 / 32.0 + (t.split > 1 ? tile_warps * (1.0 + 1.0 / t.split) : 0.0);
    return drain;
}

/// Fills in what the launch reads from L2 in `all_steps` steps of CTAs. Filters are copied as they are
/// prepared. L1 keeps pixels from tap to tap, unless copies of 16 bytes bypass it.
void count_reads(Partition &part, const Tiling &t, double all_steps) {
    const std::int64_t last_pixels = t.pixels - (t.pixel_tiles - 1) * t.tile_pixels;
    const double pixel_reads =
        double(t.filter_tiles * t.s.groups) *
        (double(t.pixel_tiles - 1) * tile_pixel_bytes(t, t.tile_pixels) + tile_pixel_bytes(t, last_pixels));
    const double filter_reads = all_steps * t.depth * row_values * 8.0 * t.tile_k;
    const double alike = t.wide_pixels ? alike_in_lines(0, {{t.s.h * t.s.w * 4, t.s.c}}) : 1.0;
    set_tile_reads(part, {pixel_reads, filter_reads}, {alike, 1.0}, t.gpu);
}

/// Fills in the work of the whole launch.
void count_work(Partition &part, const Tiling &t) {
    const double ctas = double(part.ctas);
    const double all_steps = ctas / t.split * double(t.steps);
    // Wavefronts of a step's reads of the table by producer warps.
    const double lookups =
        t.tabled ? double(t.depth) * row_values * 4.0 * std::min(1.0, double(t.tile_pixels) / 128.0) : 0.0;
    Work &work = part.work;
    work.fmas = 0.0;
    work.tensor_fmas = all_steps * *part.step.tensor_fmas;
    work.instructions = all_steps * part.step.instructions + ctas * part.drain.instructions;
    work.shared_wavefronts = all_steps * (t.load_wavefronts + lookups) + ctas * part.drain.shared_wavefronts;
    count_reads(part, t, all_steps);
    // F8: the taps of a channel read nearly the same pixels, and prepared filters are in L2.
    part.new_share = std::min(1.0, t.depth * (t.by_channel ? 1.0 : double(row_values)) / double(t.taps));
    work.l2_write_bytes = written_bytes(t.s, StoredAlong::planes);
    // Two warps whose runs share a sector write their parts of it at different times (F21).
    fill_writes(part, t.s, t.gpu);
}

/// The buffers of a CTA if the knob is left open: as many, from two to four, as leave room for all CTAs of
/// an SM that registers allow, since one multiplies while another waits at its start or end. If these cannot
/// have two each, there are fewer CTAs.
int stages_for(const ImplicitGemm3xTf32 &g, const ConvShape &s, const Gpu &gpu) {
    constexpr std::int64_t least = 2, most = 4;
    ImplicitGemm3xTf32 largest = g;
    largest.stages = most;
    const Tiling t{largest, s, gpu};
    std::int64_t stages = least;
    for (std::int64_t ctas = resident_ctas(gpu, t.threads, t.cap, 0); ctas > 0; --ctas) {
        stages = (gpu.limits.shared_bytes_per_sm / ctas - gpu.limits.shared_bytes_reserved_per_cta -
                  t.extra_bytes) /
                 t.stage_bytes;
        if (stages >= least)
            break;
    }
    return int(std::clamp(stages, least, most));
}

} // namespace

/// All combinations of tiles and split; depth and stages have one value each.
SettingsOf<ImplicitGemm3xTf32> ImplicitGemm3xTf32::settings(const ConvShape &s, const Gpu &gpu) const {
    if (gpu.profile.compute_capability != "9.0")
        return Infeasible{"wgmma needs compute capability 9.0, " + gpu.profile.id + " has " +
                              gpu.profile.compute_capability,
                          true};
    std::vector<ImplicitGemm3xTf32> found;
    for (const int k : either(tile_k, {128, 64, 32}))
        for (const int width : either(tile_pixels, {128, 192, 256, 64}))
            for (const int parts : either(split, {1, 2, 4, 8})) {
                ImplicitGemm3xTf32 setting{k, width, depth, stages, parts};
                constexpr int usual_depth = 4;
                if (depth == 0)
                    setting.depth = usual_depth;
                if (stages == 0)
                    setting.stages = stages_for(setting, s, gpu);
                found.push_back(setting);
            }
    return found;
}

/// settings() has chosen all knobs.
Planned ImplicitGemm3xTf32::plan(const ConvShape &s, const Gpu &gpu) {
    if (const std::string why = check_knobs(*this); !why.empty())
        return Infeasible{why};
    const Tiling t{*this, s, gpu};
    if (const std::string why = check_tiling(t); !why.empty())
        return Infeasible{why};
    Partition part = launch_of(t);
    if (part.ctas_per_sm < 1)
        return Infeasible{
            fmt::format("a CTA needs {} bytes of shared memory and {} registers, the GPU gives {} and {}",
                        part.shared_bytes, part.register_cap * part.threads, gpu.limits.shared_bytes_per_cta,
                        gpu.limits.registers_per_sm)};
    part.step = step_of(t);
    part.drain = drain_of(t);
    count_work(part, t);

    Feasible out = plan_of_launch(std::move(part), gpu);
    out.paper_round_fmas = *out.plan.launches[0].step.tensor_fmas / products_of_parts;
    return with_filters(std::move(out), prepare_launch(t), s);
}

const StrategyKind &strategies::implicit_gemm_3xtf32() {
    return kind_of<ImplicitGemm3xTf32>();
}

} // namespace convcast
