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
             "filters in shared memory at a time, a multiple of 4; 0: all, or what half of it holds");
        each(stages, "stages", 2, 4, {2, 3}, "buffers of the map's bands");
    }
    static std::string outside(const ConvShape &s);
    std::string settle(const ConvShape &s, const Gpu &gpu);
    Planned plan(const ConvShape &s, const Gpu &gpu);
    void walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const;
};

constexpr std::int64_t group = 4; // filters of a thread at a time
constexpr std::int64_t cta_threads = 512;
constexpr std::int64_t sum_threads = 256;
constexpr std::int64_t most_workspace = std::int64_t{8} << 30;

/// What of `bytes`, just written, L2 does not keep for the launch that reads them.
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
    const double ctas = double(part.ctas), bytes = double(s.output_bytes());
    part.work.fmas = part.work.shared_wavefronts = part.work.shared_conflicts = 0.0;
    part.work.instructions = ctas * (steps * part.step.instructions + part.drain.instructions);
    part.work.l2_read_bytes = parts_d * bytes;
    part.work.l2_write_bytes = bytes;
    part.work.dram_read_bytes = beyond_l2(parts_d * bytes, gpu);
    part.work.dram_write_bytes = beyond_l2(bytes, gpu);
    return part;
}

/// How the channels are divided over the SMs.
struct Division {
    const ConvShape &s;
    const Gpu &gpu;
    Banks banks = banks_of(gpu.profile);
    std::int64_t channels = ceil_div(s.c, std::int64_t{gpu.limits.sm_count}),
                 parts = ceil_div(s.c, channels); ///< C' of a part
    std::int64_t taps = s.r * s.s;
    std::int64_t rows = s.p() >= 4 ? 4 : s.p() >= 2 ? 2 : 1; ///< of a thread
    std::int64_t bank_floats(std::int64_t tile_k) const { return round_up(tile_k * channels * taps, 4); }
    std::int64_t band_floats(std::int64_t height) const {
        return round_up((round_up(height, rows) + s.r - 1) * s.w, 4);
    }
};

std::string ChannelSplit::outside(const ConvShape &s) {
    const std::string why = outside_papers(s);
    return why.empty() && s.c == 1 ? "there is one channel: nothing to divide" : why;
}

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

/// What follows from the division and the knobs. A unit is what a thread computes at a time.
struct Tiling : Division {
    const ChannelSplit &knobs;
    std::int64_t band = knobs.tile_h, pieces = ceil_div(s.p(), band);
    std::int64_t tile_k = knobs.tile_k, filter_pieces = ceil_div(s.k, tile_k);
    std::int64_t filters = std::min(tile_k, s.k); ///< of a full piece, or all if there are fewer
    std::int64_t units = ceil_div(band, rows) * s.q() * ceil_div(filters, group); ///< of a step
    bool wide = s.w % 4 == 0; ///< 16 bytes of the map in a copy
    // The last of each may be smaller.
    std::int64_t last_band = s.p() - (pieces - 1) * band, last_filters = s.k - (filter_pieces - 1) * tile_k;
    std::int64_t last_channels = s.c - (parts - 1) * channels;
};

/// Registers of a thread at most, as compiled for sm_90 (NVRTC 13.0, 120 settings): a column of three pixels
/// and fewer leaves some below the cap, so that an SM holds two CTAs.
std::int64_t registers_of(const Tiling &o, std::int64_t register_cap) {
    constexpr std::int64_t short_column = 3, of_short_column = 64;
    return o.rows + o.s.r - 1 <= short_column ? of_short_column : register_cap;
}

/// Grid, threads, shared memory, registers and how many CTAs an SM holds.
Partition launch_of(const Tiling &o) {
    const ConvShape &s = o.s;
    const std::int64_t stages = o.knobs.stages, bank = o.bank_floats(o.tile_k), band = o.band_floats(o.band);
    const std::int64_t register_cap =
        std::clamp<std::int64_t>(round_up(o.rows * group + o.rows + s.r - 1 + 2 * group + 36, 8), 96, 128);
    Partition part = launch_of_ctas(
        ChannelSplit::about.name, {o.parts, s.n, 1},
        {cta_threads, register_cap, (bank + stages * o.channels * band) * 4, registers_of(o, register_cap)},
        o.gpu);
    part.template_arguments = {s.r, s.s, s.w, o.rows, group, stages, o.wide ? 1 : 0};
    part.operands = {{Memory::input, 0}, {Memory::filters, 0}, {Memory::workspace, 0}};
    part.parts = o.parts;
    part.pieces = o.pieces;
    part.tile_h = o.band;
    part.tile_k = o.tile_k;
    part.bank_floats = bank;
    part.band_floats = band;
    part.sharing_ctas = 1.0;
    part.stages = stages;
    part.steps = o.filter_pieces * o.pieces;
    part.filter_count = 0; // it writes partial sums: memory of its own, not the output
    part.independent_sums = o.rows * group;
    part.busy_warps = std::clamp<std::int64_t>(ceil_div(o.units, 32), 1, cta_threads / 32);
    part.copy_passes = copy_passes(o.wide, o.gpu);
    return part;
}

constexpr double cta_warps = double(cta_threads) / 32.0;

/// Loads of a column of taps, of a thread's pixels.
double column_loads(const Tiling &o) {
    return double(o.rows + o.s.r - 1);
}

/// Warp instructions beside FMAs of all units of a band: for a unit, its place by divisions; for a column of
/// taps, its loads and an iteration; for an output, its store. Rows and filters past the last are not stored.
double units_of_band(const Tiling &o, std::int64_t band_rows, std::int64_t filters, std::int64_t channels) {
    const std::int64_t filled_rows = round_up(band_rows, o.rows), filled = round_up(filters, group);
    const double there = double(band_rows * filters) / double(filled_rows * filled);
    const double outputs = double(o.rows * group), columns = double(o.s.s);
    return double(ceil_div(filled_rows / o.rows * o.s.q() * (filled / group), warp_lanes)) *
           (instructions::place + there * outputs * instructions::placed_store +
            double(channels) * (columns * (column_loads(o) + instructions::iteration) + double(o.taps)));
}

/// Warp instructions of a CTA's copies of a band: its copies of pixels, and for each warp an iteration a
/// channel and the pipeline step.
double copying_of_band(const Tiling &o, std::int64_t band_rows, std::int64_t channels) {
    const std::int64_t copies =
        ceil_div((band_rows + o.s.r - 1) * o.s.w, o.wide ? 4 * warp_lanes : warp_lanes);
    return double(channels) * (double(copies) * instructions::copy + cta_warps * instructions::iteration) +
           cta_warps * instructions::step;
}

/// Warp instructions of a CTA's copies of a piece of filters: for a filter, its copies of 32 values and the
/// start of their loop; for each warp, the start of the loop over filters.
double copying_of_filters(const Tiling &o, std::int64_t filters, std::int64_t channels) {
    return double(round_up(filters, group)) *
               (double(ceil_div(channels * o.taps, warp_lanes)) * instructions::copy + instructions::loop) +
           cta_warps * instructions::loop;
}

/// Passes of a band through shared memory.
double band_passes(const Tiling &o, std::int64_t band_rows, std::int64_t filters, std::int64_t channels) {
    const Units its{ceil_div(filters, group), ceil_div(band_rows, o.rows) * o.s.q(), o.s.q(), o.rows * o.s.w};
    return double(channels) * (double(o.s.s) * column_loads(o) * position_passes(o.banks, its).taken +
                               double(o.taps) * group_passes(o.banks, its, channels * o.taps * group, group));
}

/// Sum over all CTAs: of_band(rows, filters, channels) of all bands of a piece of filters, and
/// of_piece(filters, channels).
template <class OfBand, class OfPiece>
double sum_over(const Tiling &o, const OfBand &of_band, const OfPiece &of_piece) {
    const auto piece = [&](std::int64_t filters, std::int64_t channels) {
        return (double(o.pieces) - 1.0) * of_band(o.band, filters, channels) +
               of_band(o.last_band, filters, channels) + of_piece(filters, channels);
    };
    const auto cta = [&](std::int64_t channels) {
        return double(o.filter_pieces - 1) * piece(o.tile_k, channels) + piece(o.last_filters, channels);
    };
    return double(o.s.n) * (double(o.parts - 1) * cta(o.channels) + cta(o.last_channels));
}

/// Sets what a CTA does in a step and once.
void fill_cta(Partition &part, const Tiling &o) {
    const ConvShape &s = o.s;
    const double t = double(o.taps), here = double(o.channels);
    part.step.fmas = double(o.units) * double(o.rows * group) * t * here;
    part.step.turns = double(o.units) / 32.0 * here * double(s.s);
    part.step.copying = copying_of_band(o, o.band, o.channels) +
                        copying_of_filters(o, o.filters, o.channels) / double(o.pieces);
    part.step.instructions =
        part.step.fmas / 32.0 + units_of_band(o, o.band, o.filters, o.channels) + part.step.copying;
    part.step.shared_wavefronts = band_passes(o, o.band, o.filters, o.channels);
    part.step.load_bytes = here * double((o.band + s.r - 1) * s.w) * 4.0;
    part.step.store_bytes = written_bytes_of_columns(s, o.rows) / double(s.output_bytes()) *
                            double(o.filters * o.band * s.q()) * 4.0;
    part.drain.load_bytes = double(s.k) * here * t * 4.0;
    part.drain.instructions = cta_warps * instructions::warp;
}

/// What the cores and shared memory do in the whole launch.
Work core_work_of(const Tiling &o, const Partition &part) {
    const ConvShape &s = o.s;
    const double all_units =
        double((o.pieces - 1) * ceil_div(o.band, o.rows) + ceil_div(o.last_band, o.rows)) *
        double(s.q() * ceil_div(s.k, group) * s.n); // of one channel part
    const double fmas = all_units * double(s.c) * double(o.rows * group) * double(o.taps);
    const auto of_band = [&](std::int64_t band_rows, std::int64_t filters, std::int64_t channels) {
        return units_of_band(o, band_rows, filters, channels) + copying_of_band(o, band_rows, channels);
    };
    Work work;
    work.fmas = fmas;
    work.shared_wavefronts = sum_over(
        o, [&](auto... of) { return band_passes(o, of...); }, [](auto...) { return 0.0; });
    work.shared_conflicts = 0.0;
    work.instructions = fmas / 32.0 +
                        sum_over(o, of_band, [&](auto... of) { return copying_of_filters(o, of...); }) +
                        double(part.ctas) * part.drain.instructions;
    return work;
}

/// Bytes that a CTA requests from L2 for a band of a channel, on average.
double map_bytes_of(const Tiling &o, const Partition &part) {
    const ConvShape &s = o.s;
    const double band_bytes = (double(s.p()) / double(o.pieces) + double(s.r - 1)) * double(s.w) * 4.0;
    if (!o.wide) // bands of whole planes share the sectors at their ends
        return std::min(spanned_bytes(band_bytes), channel_of_run_bytes(s, o.channels));
    const std::int64_t plane = s.h * s.w * 4, buffer = part.band_floats * 4;
    const Stride bands_apart{o.band * s.w * 4, o.pieces}, parts_apart{o.channels * plane, o.parts},
        images_apart{s.c * plane, s.n};
    return wide_copy_bytes(band_bytes,
                           odd_halves(part.bank_floats * 4, {{buffer - plane, o.channels},
                                                             {o.channels * buffer, o.knobs.stages},
                                                             parts_apart,
                                                             bands_apart,
                                                             images_apart}),
                           odd_halves(0, {{plane, o.channels}, parts_apart, bands_apart, images_apart}));
}

/// Adds what L2 and DRAM see of the whole launch to its work.
void add_traffic(Partition &part, const Tiling &o) {
    const ConvShape &s = o.s;
    const double parts = double(o.parts), bytes = double(s.output_bytes());
    const double filter_run = double(o.channels) * double(o.taps) * 4.0;
    Work &work = part.work;
    work.l2_read_bytes =
        double(s.n) * double(s.c) * double(o.filter_pieces) * double(o.pieces) * map_bytes_of(o, part) +
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
    if (const std::string why = schedule(part, gpu); !why.empty())
        return Infeasible{why};
    fill_cta(part, o);
    part.work = core_work_of(o, part);
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
    walk.cuts = {{&OutputBox::images, 1, 1},
                 {&OutputBox::channels, o.channels, 0},
                 {&OutputBox::filters, o.tile_k},
                 {&OutputBox::rows, o.band}};
    walk.buffers = {{"filters", CopiedTensor::filters, launch.bank_floats * 4, 1},
                    {"map", CopiedTensor::map, o.channels * launch.band_floats * 4, stages}};
    walk.threads = {launch.threads, 1, o.rows, 1, group};
    walk.pixels = band_pixels(s, o.band);
    walk.remark =
        fmt::format("C' = {} an SM. The {} partial sums of each output go through global memory; a second "
                    "launch adds them.",
                    count_text(o.channels, "channel"), o.parts);
}

namespace strategies {
const StrategyKind &channel_split() {
    return kind_of<ChannelSplit>();
}
} // namespace strategies

} // namespace convcast
