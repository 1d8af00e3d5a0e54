// Chang, Figure 2(b): channels divided over the SMs, partial sums added through global memory.
#include "model/base/readable.hpp"
#include "model/strategies/strategy.hpp"

namespace convcast {
namespace {

/// A CTA takes C' = ceil(C / N_sm) channels of the map and of all filters and writes its part of every
/// output's sum to a workspace; a second launch adds the parts in their order. `tile_k` filters are in shared
/// memory at a time, the map passes in bands of `tile_h` output rows. C > 1 only.
struct ChannelSplit {
    static constexpr About about{"channel_split",
                                 "Chang Fig. 2(b): C' channels an SM, partial sums through global memory", 7};
    int tile_h = 0, tile_k = 0, stages = 2;

    void knobs(const EachKnob &each) {
        each(tile_h, "tile_h", 0, 65536, {4, 8, 16, 32},
             "output rows of a band; 0: as many as fit, 32 at most");
        each(tile_k, "tile_k", 0, 65536, {32, 128, 512},
             "filters in shared memory at a time, a multiple of 4; 0: all, or as many as half of shared "
             "memory holds");
        each(stages, "stages", 2, 4, {2, 3}, "buffers of the map's bands");
    }
    static std::string outside(const ConvShape &s) {
        const std::string why = outside_papers(s);
        return why.empty() && s.c == 1 ? "there is one channel: nothing to divide" : why;
    }
    std::string settle(const ConvShape &s, const Gpu &gpu);
    Planned plan(const ConvShape &s, const Gpu &gpu);
    void walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const;
};

constexpr std::int64_t group = 4;         // filters of a thread at a time
constexpr std::int64_t cta_threads = 512; // chosen, as sum_threads of the second launch
constexpr std::int64_t sum_threads = 256;
constexpr std::int64_t most_workspace = std::int64_t{8} << 30; // bytes, chosen

/// How many of `bytes`, just written, L2 does not keep for the launch that reads them.
double beyond_l2(double bytes, const Gpu &gpu) {
    return std::max(0.0, bytes - double(gpu.limits.l2_bytes) / gpu.architecture.l2_copies->value);
}

/// The launch that adds `parts` partial sums of every output.
Partition sum_launch(const ConvShape &s, std::int64_t parts, const Gpu &gpu) {
    const std::int64_t outputs = s.output_elements(), width = outputs % 4 == 0 ? 4 : 1;
    Partition part = side_launch("channel_split_sum", {ceil_div(outputs, sum_threads * width), 1, 1},
                                 {sum_threads, 32}, gpu);
    part.template_arguments = {width};
    part.operands = {{Memory::workspace, 0}, {Memory::output, 0}};
    part.parts = parts;
    part.filter_count = s.k;
    part.independent_sums = width;
    const double warps = double(part.busy_warps), parts_d = double(parts);
    constexpr std::int64_t parts_at_once = 4; // as the kernel unrolls: their loads are under way together
    part.steps = ceil_div(parts, parts_at_once);
    const double steps = double(part.steps);
    part.step.instructions = warps * parts_d / steps * instructions::guard;
    part.step.load_bytes = double(sum_threads * width * 4) * parts_d / steps;
    part.drain.instructions = warps * instructions::place;
    part.drain.store_bytes = double(sum_threads * width * 4);
    const double bytes = double(s.output_bytes());
    set_core_work(part);
    part.work.l2_read_bytes = parts_d * bytes;
    part.work.l2_write_bytes = bytes;
    part.work.dram_read_bytes = beyond_l2(parts_d * bytes, gpu);
    part.work.dram_write_bytes = beyond_l2(bytes, gpu);
    return part;
}

/// How the channels are divided over the SMs: `parts` CTAs an image, each with C' = `channels` channels.
struct Division {
    const ConvShape &s;
    const Gpu &gpu;
    Banks banks = banks_of(gpu.profile);
    std::int64_t channels = ceil_div(s.c, std::int64_t{gpu.limits.sm_count}), parts = ceil_div(s.c, channels);
    std::int64_t taps = s.r * s.s;
    std::int64_t rows = s.p() >= 4 ? 4 : s.p() >= 2 ? 2 : 1; ///< outputs of a thread below each other
    /// Floats of shared memory for tile_k filters, and for one channel's band of `height` output rows.
    std::int64_t bank_floats(std::int64_t tile_k) const { return round_up(tile_k * channels * taps, 4); }
    std::int64_t band_floats(std::int64_t height) const {
        return round_up((round_up(height, rows) + s.r - 1) * s.w, 4);
    }
};

/// Gives the free knobs their values. Returns why a given one is wrong or does not fit, or "".
std::string ChannelSplit::settle(const ConvShape &s, const Gpu &gpu) {
    const Division d{s, gpu};
    if (s.output_bytes() > most_workspace / d.parts)
        return fmt::format("{} partial sums of every output need more than 8 GiB of workspace", d.parts);
    const std::int64_t shared_floats = gpu.limits.shared_bytes_per_cta / 4,
                       filter_floats = d.channels * d.taps;
    if (tile_k == 0)
        tile_k = int(std::clamp<std::int64_t>(shared_floats / 2 / filter_floats / group * group, group,
                                              std::min<std::int64_t>(65536, round_up(s.k, group))));
    if (tile_k % group != 0)
        return fmt::format("tile_k = {} is no multiple of 4", tile_k);
    tile_k = int(std::min<std::int64_t>(tile_k, round_up(s.k, group)));
    const auto fits = [&](std::int64_t height) {
        return d.bank_floats(tile_k) + stages * d.channels * d.band_floats(height) <= shared_floats;
    };
    std::int64_t band = tile_h;
    if (band == 0)
        for (band = std::min<std::int64_t>(32, s.p()); band > 1 && !fits(band); band = (band + 1) / 2) {
        }
    band = std::min(band, s.p());
    if (!fits(band))
        return fmt::format(
            "C' = {} channels of {} filters and {} bands of {} rows do not fit in shared memory", d.channels,
            tile_k, stages, band);
    tile_h = int(band);
    return "";
}

/// What follows from the division and the knobs. A unit is what a thread computes at a time: `rows` outputs
/// below each other of `group` filters.
struct Tiling : Division {
    const ChannelSplit &knobs;
    Loop bands{s.p(), knobs.tile_h}, bank{s.k, knobs.tile_k}; ///< of rows of outputs; of filters
    std::int64_t filters = std::min(bank.tile, s.k);          ///< of a full tile, or all if there are fewer
    std::int64_t units = ceil_div(bands.tile, rows) * s.q() * ceil_div(filters, group); ///< of a step
    bool wide = s.w % 4 == 0; ///< 16 bytes of the map in a copy
};

/// Grid, threads, shared memory, registers and how many CTAs an SM holds.
Partition launch_of(const Tiling &o) {
    const ConvShape &s = o.s;
    const std::int64_t stages = o.knobs.stages, bank = o.bank_floats(o.bank.tile),
                       band = o.band_floats(o.bands.tile);
    const std::int64_t register_cap =
        std::clamp<std::int64_t>(round_up(o.rows * group + o.rows + s.r - 1 + 2 * group + 36, 8), 96, 128);
    // Read off 120 settings for sm_90 (NVRTC 13.0): with columns of up to three pixels an SM holds two CTAs.
    constexpr std::int64_t short_column = 3, of_short_column = 64;
    const std::int64_t registers = o.rows + s.r - 1 <= short_column ? of_short_column : register_cap;
    Partition part = launch_of_ctas(
        ChannelSplit::about.name, {o.parts, s.n, 1},
        {cta_threads, register_cap, (bank + stages * o.channels * band) * 4, registers}, o.gpu);
    part.template_arguments = {s.r, s.s, s.w, o.rows, group, stages, o.wide};
    part.operands = {{Memory::input, 0}, {Memory::filters, 0}, {Memory::workspace, 0}};
    part.parts = o.parts;
    part.pieces = o.bands.turns();
    part.tile_h = o.bands.tile;
    part.tile_k = o.bank.tile;
    part.bank_floats = bank;
    part.band_floats = band;
    part.sharing_ctas = 1.0;
    part.stages = stages;
    part.steps = o.bank.turns() * o.bands.turns();
    part.filter_count = 0; // it writes partial sums: memory of its own, not the output
    part.independent_sums = o.rows * group;
    part.busy_warps = std::clamp<std::int64_t>(ceil_div(o.units, 32), 1, cta_threads / 32);
    part.copy_passes = copy_passes(o.wide, o.gpu);
    return part;
}

constexpr double cta_warps = double(cta_threads) / 32.0;

/// What a CTA does in a band of so many rows, filters and channels. Beside FMAs and copies a unit takes
/// divisions for its place, loads and an iteration for each column of taps, and a store for each output. Rows
/// and filters past the last are not stored. A copy of pixels is one instruction of a warp; each warp has an
/// iteration a channel and the pipeline step.
Activity band_of(const Tiling &o, std::int64_t rows, std::int64_t filters, std::int64_t channels) {
    const ConvShape &s = o.s;
    const Units lanes{ceil_div(filters, group), ceil_div(rows, o.rows) * s.q(), s.q(), o.rows * s.w};
    const std::int64_t map = (rows + s.r - 1) * s.w, copies = ceil_div(map, o.wide ? 128 : 32);
    const double column_loads = double(o.rows + s.r - 1), columns = double(s.s), taps = double(o.taps),
                 of_channels = double(channels), units = double(lanes.count()),
                 stored = // outputs of a unit, on average
                 double(rows * filters) / double(ceil_div(rows, o.rows) * lanes.groups);
    Activity all;
    StepWork &work = all.work;
    work.fmas = units * double(o.rows * group) * taps * of_channels;
    work.turns = units / 32.0 * of_channels * columns;
    work.copying = of_channels * (double(copies) * instructions::copy + cta_warps * instructions::iteration) +
                   cta_warps * instructions::step;
    work.instructions = work.fmas / 32.0 +
                        double(ceil_div(lanes.count(), warp_lanes)) *
                            (instructions::place + stored * instructions::placed_store +
                             of_channels * (columns * (column_loads + instructions::iteration) + taps)) +
                        work.copying;
    work.shared_wavefronts = all.least_wavefronts =
        of_channels * (columns * column_loads * position_passes(o.banks, lanes).taken +
                       taps * group_passes(o.banks, lanes, channels * o.taps * group, group));
    work.load_bytes = of_channels * double(map) * 4.0;
    return all;
}

/// A CTA's copies of a tile of filters: a loop for each filter, 32 values a copy, and one a warp.
Activity filters_of(const Tiling &o, std::int64_t filters, std::int64_t channels) {
    const std::int64_t slots = round_up(filters, group);
    return does::copies(slots + cta_threads / warp_lanes, slots * ceil_div(channels * o.taps, warp_lanes));
}

/// Fills in part.step, part.drain and the core work of the launch.
void fill_counts(Partition &part, const Tiling &o) {
    const ConvShape &s = o.s;
    Activity once;
    once.work.instructions = cta_warps * instructions::warp;
    once.work.load_bytes = double(s.k * o.channels * o.taps) * 4.0;
    set_core_work(
        part,
        double(s.n) * over(Loop{s.c, o.channels}, o.bank, [&](std::int64_t channels, std::int64_t filters) {
            return over(o.bands, [&](std::int64_t rows) { return band_of(o, rows, filters, channels); }) +
                   filters_of(o, filters, channels);
        }) + double(part.ctas) * once);
    part.step = (band_of(o, o.bands.tile, o.filters, o.channels) +
                 1.0 / double(part.pieces) * filters_of(o, o.filters, o.channels))
                    .work;
    part.step.store_bytes = written_bytes_of_columns(s, o.rows) / double(s.output_bytes()) *
                            double(o.filters * o.bands.tile * s.q()) * 4.0;
    part.drain = once.work;
}

/// Bytes that a CTA requests from L2 for a band of a channel, on average.
double map_bytes_of(const Tiling &o, const Partition &part) {
    const ConvShape &s = o.s;
    const double run_bytes = band_bytes(s, part.pieces);
    if (!o.wide) // bands of whole planes share the sectors at their ends
        return std::min(spanned_bytes(run_bytes), channel_of_run_bytes(s, o.channels));
    const std::int64_t plane = s.h * s.w * 4, buffer = part.band_floats * 4;
    const Stride bands_apart{part.tile_h * s.w * 4, part.pieces}, parts_apart{o.channels * plane, o.parts},
        images_apart{s.c * plane, s.n};
    return wide_copy_bytes(
        run_bytes,
        share_at_odd_16_bytes(part.bank_floats * 4, {{buffer - plane, o.channels},
                                                     {o.channels * buffer, o.knobs.stages},
                                                     parts_apart,
                                                     bands_apart,
                                                     images_apart}),
        share_at_odd_16_bytes(0, {{plane, o.channels}, parts_apart, bands_apart, images_apart}));
}

/// Fills in the traffic of the launch with L2 and DRAM.
void add_traffic(Partition &part, const Tiling &o) {
    const ConvShape &s = o.s;
    const double parts = double(o.parts), bytes = double(s.output_bytes());
    const double filter_run = double(o.channels) * double(o.taps) * 4.0;
    Work &work = part.work;
    work.l2_read_bytes =
        double(s.n) * double(s.c) * double(o.bank.turns()) * double(part.pieces) * map_bytes_of(o, part) +
        double(part.ctas) * double(s.k) * spanned_bytes(filter_run);
    work.l2_write_bytes = parts * written_bytes_of_columns(s, o.rows);
    part.partial_write_bytes = written_in_part(*work.l2_write_bytes, parts * bytes);
    work.dram_read_bytes = double(s.input_bytes() + s.filter_bytes());
    work.dram_write_bytes = beyond_l2(parts * bytes, o.gpu);
}

} // namespace

Planned ChannelSplit::plan(const ConvShape &s, const Gpu &gpu) {
    const Tiling o{Division{s, gpu}, *this};
    Partition part = launch_of(o);
    if (const std::string why = does_not_fit(part, gpu.limits); !why.empty())
        return Infeasible{why};
    fill_counts(part, o);
    add_traffic(part, o);
    Feasible out = plan_of_launch(std::move(part), gpu);
    out.plan.workspace_bytes = o.parts * s.output_bytes();
    out.rules.remarks.push_back(
        fmt::format("C' = {}: {} partial sums of every output, {} bytes, are written and "
                    "read again",
                    o.channels, o.parts, out.plan.workspace_bytes));
    average_step(out.plan.launches.front());
    out.plan.launches.push_back(sum_launch(s, o.parts, gpu));
    return out;
}

void ChannelSplit::walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const {
    const Tiling o{Division{s, gpu}, *this};
    walk.cuts = {{.axis = &OutputBox::images, .share = 1, .along = 1},
                 {.axis = &OutputBox::channels, .share = o.channels, .along = 0},
                 {.axis = &OutputBox::filters, .share = o.bank.tile},
                 {.axis = &OutputBox::rows, .share = o.bands.tile}};
    walk.buffers = {{"filters", CopiedTensor::filters, launch.bank_floats * 4, 1},
                    {"map", CopiedTensor::map, o.channels * launch.band_floats * 4, stages}};
    walk.threads = {launch.threads, 1, o.rows, 1, group};
    walk.pixels = band_pixels(s, o.bands.tile);
    walk.remark =
        fmt::format("C' = {} an SM. The {} partial sums of each output go through global memory; a second "
                    "launch adds them.",
                    count_text(o.channels, "channel"), o.parts);
}

const StrategyKind &strategies::channel_split() {
    return kind_of<ChannelSplit>();
}

} // namespace convcast
