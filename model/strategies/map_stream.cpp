#include "model/strategies/map_stream.hpp"

#include "model/paper/papers.hpp"
#include "model/strategies/division.hpp"
#include "model/work/instructions.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

using papers::ceil_div;
using papers::round_up;

namespace {

constexpr int knobs_most_pieces = 4096;
constexpr std::int64_t group = 8; // filters of a warp

} // namespace

const std::vector<Knob<MapStream>> &MapStream::knobs() {
    static const std::vector<Knob<MapStream>> list = {
        {"tile_k",
         &MapStream::tile_k,
         0,
         256,
         {16, 32, 64, 128},
         "filters of a step, a multiple of 8; 0: 32, or what there are"},
        {"pieces",
         &MapStream::pieces,
         0,
         knobs_most_pieces,
         {1, 2, 4, 8},
         "pieces of the channels, one resident at a time; 0: the fewest that fit"},
        {"columns", &MapStream::columns, 0, 4, {}, "pixels of a lane: 1, 2 or 4; 0: as the rows need"},
        {"stages", &MapStream::stages, 2, 4, {2, 3}, "buffers of the prefetch pipeline"},
    };
    return list;
}

namespace {

std::int64_t shared_floats(const ConvShape &s, const MapStream &knobs, std::int64_t tile_h,
                           std::int64_t pieces) {
    const std::int64_t channels = ceil_div(s.c, pieces), taps = s.r * s.s;
    const std::int64_t band_floats = round_up((tile_h + s.r - 1) * s.w, 4);
    // A lane past the last position reads on, into the next channel or past the last one.
    const std::int64_t spare = 32 * knobs.columns;
    return knobs.stages * knobs.tile_k * channels * taps + channels * band_floats + spare;
}

/// Replaces automatic knobs by what runs. Why there is no such launch, or "".
std::string choose(MapStream &knobs, const ConvShape &s, const GpuLimits &limits) {
    const std::int64_t tile_h = ceil_div(s.p(), limits.sm_count);
    const std::int64_t positions = (tile_h - 1) * s.w + s.q();
    if (knobs.columns == 0)
        knobs.columns = positions > 64 ? 4 : positions > 32 ? 2 : 1;
    if (knobs.columns == 3)
        return "columns must be 1, 2 or 4, got 3";
    if (knobs.tile_k == 0)
        knobs.tile_k = static_cast<int>(std::min<std::int64_t>(32, round_up(s.k, group)));
    if (knobs.tile_k % group != 0)
        return "tile_k = " + std::to_string(knobs.tile_k) + " is no multiple of 8";
    const auto fits = [&](std::int64_t pieces) {
        return shared_floats(s, knobs, tile_h, pieces) * 4 <= limits.shared_bytes_per_cta;
    };
    if (knobs.pieces > s.c)
        return "pieces = " + std::to_string(knobs.pieces) + " exceeds the " + std::to_string(s.c) +
               " channels";
    if (!fits(s.c) || (knobs.pieces > 0 && !fits(knobs.pieces)))
        return std::to_string(tile_h) + " rows of the map and " + std::to_string(knobs.stages) +
               " buffers of " + std::to_string(knobs.tile_k) + " filters do not fit in shared memory with " +
               (knobs.pieces > 0 ? "pieces = " + std::to_string(knobs.pieces) : "any number of pieces");
    const std::int64_t pieces = knobs.pieces > 0 ? knobs.pieces : *division::smallest_fitting(1, s.c, fits);
    if (pieces > knobs_most_pieces)
        return "more than " + std::to_string(knobs_most_pieces) + " pieces of channels";
    knobs.pieces = static_cast<int>(ceil_div(s.c, ceil_div(s.c, pieces)));
    return "";
}

/// What follows from the shape, the knobs and the GPU.
struct Tiling {
    const ConvShape &s;
    const MapStream &knobs;
    const GpuLimits &limits;
    std::int64_t tile_h = ceil_div(s.p(), limits.sm_count); ///< output rows of a CTA
    std::int64_t positions = (tile_h - 1) * s.w + s.q(), taps = s.r * s.s;
    std::int64_t channels = ceil_div(s.c, knobs.pieces); ///< of a piece
    std::int64_t filter_steps = ceil_div(s.k, knobs.tile_k), steps = knobs.pieces * filter_steps;
    bool wide = s.w % 4 == 0; ///< 16 bytes of the map in a copy
    // Sums, pixels, filter values; places of the copies, loads and stores.
    std::int64_t addresses = s.r * s.s == 1 && knobs.columns <= 2 ? 48 : 56;
    std::int64_t register_cap = round_up(group * knobs.columns + knobs.columns + 2 * group + addresses, 8);
    std::int64_t most_warps = std::min<std::int64_t>(limits.max_threads_per_cta,
                                                     limits.registers_per_sm / register_cap / 128 * 128) /
                              32;
    std::int64_t groups = knobs.tile_k / group;                        ///< of filters of a step
    std::int64_t real_groups = std::min(groups, ceil_div(s.k, group)); ///< of filters that there are
    std::int64_t blocks = ceil_div(positions, 32 * knobs.columns);
    std::int64_t position_warps = std::min(blocks, most_warps / groups), warps = groups * position_warps;
    std::int64_t last_rows = s.p() - (ceil_div(s.p(), tile_h) - 1) * tile_h; ///< of the last CTA
};

/// How evenly a CTA's schedulers share its work. A warp's number says which filters and blocks of positions
/// are its own: where there are fewer filters than groups of them, or no whole rounds of blocks, the work is
/// not dealt out evenly.
void deal_out(Partition &part, const Tiling &o) {
    std::vector<std::int64_t> busy(
        static_cast<std::size_t>(std::min<std::int64_t>(o.limits.schedulers_per_sm, o.warps))),
        done(busy);
    for (std::int64_t warp = 0; warp < o.warps; ++warp)
        if (warp % o.groups < o.real_groups) {
            const auto scheduler = static_cast<std::size_t>(warp % std::ssize(busy));
            busy[scheduler] += 1;
            done[scheduler] += ceil_div(o.blocks - warp / o.groups, o.position_warps);
        }
    part.scheduler_warps = *std::max_element(busy.begin(), busy.end());
    part.busiest_scheduler =
        static_cast<double>(*std::max_element(done.begin(), done.end()) * o.position_warps) /
        static_cast<double>(*part.scheduler_warps * o.blocks);
}

/// Grid, threads, shared memory, registers and how many CTAs an SM holds.
Partition launch_of(const Tiling &o, const Gpu &gpu) {
    const ConvShape &s = o.s;
    const MapStream &knobs = o.knobs;
    Partition part;
    part.kernel = MapStream::name;
    part.template_arguments = {s.r, s.s, s.w, knobs.columns, group, knobs.stages, o.wide ? 1 : 0};
    part.parts = o.limits.sm_count;
    part.tile_h = o.tile_h;
    part.tile_k = knobs.tile_k;
    part.pieces = knobs.pieces;
    part.band_floats = round_up((o.tile_h + s.r - 1) * s.w, 4);
    part.bank_floats = knobs.tile_k * o.channels * o.taps;
    part.shared_bytes = round_up(shared_floats(s, knobs, o.tile_h, knobs.pieces), 4) * 4;
    part.grid = {ceil_div(s.p(), o.tile_h), s.n, 1};
    part.sharing_ctas = 1.0;
    part.register_cap = o.register_cap;
    part.threads = 32 * o.warps;
    part.stages = o.filter_steps > 1 ? knobs.stages : 1; // each piece starts anew
    part.steps = o.steps;
    part.filter_count = s.k;
    part.busy_warps = o.real_groups * o.position_warps;
    deal_out(part, o);
    part.copy_passes = gpu.architecture.narrow_copy_passes->value; // of filters, which it transposes
    part.independent_sums = group * knobs.columns;
    part.ctas_per_sm = resident_ctas(gpu, part.threads, part.register_cap, part.shared_bytes);
    return part;
}

/// Loads of a lane's pixels, of a channel: pixel (r, s) of position j lies at r * W + s + 32 j, and what is
/// unrolled together (all taps of a channel, else a row of them) is loaded once where several of these are
/// the same.
double pixel_loads_of(const ConvShape &s, std::int64_t columns, bool unrolled) {
    if (!unrolled)
        return static_cast<double>(s.r * s.s * columns);
    // Whether an earlier row has met the pixel at a later position.
    const auto met_before = [&](std::int64_t r, std::int64_t x, std::int64_t j) {
        for (std::int64_t i = j + 1; i < columns; ++i)
            for (std::int64_t up = 1; up <= r && up * s.w + x <= warp_lanes * (i - j) + s.s - 1; ++up)
                if (up * s.w + x >= warp_lanes * (i - j))
                    return true;
        return false;
    };
    std::int64_t loads = 0;
    for (std::int64_t r = 0; r < s.r; ++r)
        for (std::int64_t j = 0; j < columns; ++j)
            for (std::int64_t x = 0; x < s.s; ++x)
                loads += met_before(r, x, j) ? 0 : 1;
    return static_cast<double>(loads);
}

/// What a block of positions of one warp's filters costs. Neighbouring lanes read neighbouring words.
struct Block {
    double fmas = 0.0, passes = 0.0; ///< of a lane, of the warp; for one channel
    double turns = 0.0;              ///< of the loop over rows of taps, for one channel
    double channel_ends = 0.0;       ///< warp instructions beside FMAs, for one channel
    double ends = 0.0;               ///< and once
    double stored = 0.0; ///< for 32 positions that follow one another and one filter, on average over pieces
};
/// Warp instructions beside arithmetic and loads, at the prices of instructions.hpp: a channel and, where
/// they are a loop, a row of taps; a block of positions and 32 of them (their place by division), an output
/// stored, one of an earlier piece read again.
Block block_of(const Tiling &o, const Gpu &gpu) {
    const double t = static_cast<double>(o.taps), columns = static_cast<double>(o.knobs.columns);
    const double pieces = static_cast<double>(o.knobs.pieces), rows = static_cast<double>(o.s.r);
    constexpr double most_unrolled = 1024.0; // FFMAs, as the kernel does
    Block b;
    b.fmas = t * columns * static_cast<double>(group);
    const bool whole = b.fmas <= most_unrolled;
    const double pixel_loads = pixel_loads_of(o.s, o.knobs.columns, whole);
    const double loads = pixel_loads + t * static_cast<double>(group) / 4.0;
    b.passes =
        pixel_loads + t * static_cast<double>(group) / 4.0 * gpu.architecture.uniform_wide_wavefronts->value;
    b.turns = whole ? 1.0 : rows;
    b.channel_ends = loads + instructions::iteration + (whole ? 0.0 : rows * instructions::iteration);
    b.ends = instructions::place + columns * instructions::divided_copy;
    b.stored = (pieces - 1.0) / pieces * instructions::store;
    return b;
}

/// Runs of 32 positions that `count` of them make.
double runs_of(std::int64_t count) {
    return static_cast<double>(ceil_div(count, warp_lanes));
}

/// Warp instructions of a CTA, as compiled for sm_90: a copy of filter values and the start on a filter; past
/// the last filter zeros.
double filter_copies(const Tiling &o, double filters) {
    const double values = static_cast<double>(o.channels) * static_cast<double>(o.taps); // of a filter
    return filters * (std::ceil(values / 32.0) * instructions::copy + instructions::loop);
}
/// A copy from a channel of the map and the start on it.
double map_copies(const Tiling &o, double channels, std::int64_t rows) {
    return channels * (instructions::copy * std::ceil(static_cast<double>((rows + o.s.r - 1) * o.s.w) /
                                                      (o.wide ? 128.0 : 32.0)) +
                       static_cast<double>(o.warps) * instructions::loop);
}

/// What the warp copies that copies most in a step, over what an average one does. A warp copies whole
/// filters; of a channel's rows the first warps copy what is left of whole rounds.
double longest_copier_of(const Tiling &o, double copying) {
    const std::int64_t threads = 32 * o.warps;
    const std::int64_t map_floats = (std::min(o.tile_h, o.s.p()) + o.s.r - 1) * o.s.w;
    const double most_copied =
        filter_copies(o, static_cast<double>(ceil_div(o.knobs.tile_k, threads / warp_lanes))) +
        instructions::warp +
        (static_cast<double>(o.channels) *
             (instructions::copy * static_cast<double>(ceil_div(map_floats, threads * (o.wide ? 4 : 1))) +
              instructions::loop) +
         instructions::loop) /
            static_cast<double>(o.filter_steps);
    return most_copied * static_cast<double>(o.warps) / copying;
}

/// Sets what a CTA does in a step and once; beside its blocks and copies a step of a warp, the start of a
/// piece and of the CTA. The launch's l2_write_bytes count the stores of every piece.
void fill_cta(Partition &part, const Tiling &o, const Block &block) {
    const ConvShape &s = o.s;
    const MapStream &knobs = o.knobs;
    const double warps = static_cast<double>(o.warps), pieces = static_cast<double>(knobs.pieces);
    const double here = static_cast<double>(o.channels), steps = static_cast<double>(o.steps);
    const double step_blocks = static_cast<double>(o.blocks * o.real_groups);
    const auto filters = std::min<std::int64_t>(knobs.tile_k, s.k);
    part.step.fmas = step_blocks * here * block.fmas * 32.0;
    part.step.turns = step_blocks * here * block.turns;
    part.step.copying = filter_copies(o, static_cast<double>(knobs.tile_k)) + warps * instructions::warp +
                        (map_copies(o, here, std::min(o.tile_h, s.p())) + warps * instructions::loop) /
                            static_cast<double>(o.filter_steps);
    part.longest_copier = longest_copier_of(o, part.step.copying);
    part.drain.instructions = warps * instructions::warp;
    part.step.instructions = step_blocks * (here * (block.fmas + block.channel_ends) + block.ends) +
                             runs_of(o.positions) * static_cast<double>(filters) * block.stored +
                             part.step.copying;
    part.step.shared_wavefronts = step_blocks * here * block.passes;
    // A piece's rows are there before its first filters are used; nothing of a piece is fetched while another
    // is computed.
    const double map_floats = static_cast<double>((std::min(o.tile_h, s.p()) + s.r - 1) * s.w);
    const double map_bytes = static_cast<double>(s.c) * map_floats * 4.0;
    part.step.load_bytes = here * static_cast<double>(o.taps) * static_cast<double>(filters) * 4.0 +
                           map_bytes * (pieces - 1.0) / pieces / steps;
    part.drain.load_bytes = map_bytes / pieces;
    // A warp stores after each block, and nothing covers the last.
    const double step_bytes = static_cast<double>(o.tile_h * s.q() * filters) * 4.0 / pieces;
    part.drain.store_bytes = step_bytes / static_cast<double>(ceil_div(o.blocks, o.position_warps));
    part.step.store_bytes = step_bytes - part.drain.store_bytes / steps;
}

/// What the cores and shared memory do in the whole launch. The last CTA may have fewer rows.
Work core_work_of(const Tiling &o, const Block &block, const Partition &part) {
    const ConvShape &s = o.s;
    const std::int64_t last_positions = (o.last_rows - 1) * s.w + s.q();
    const double all_blocks =
        static_cast<double>((part.grid[0] - 1) * o.blocks + ceil_div(last_positions, 32 * o.knobs.columns)) *
        static_cast<double>(ceil_div(s.k, group) * s.n);
    const double ctas = static_cast<double>(part.ctas), images = static_cast<double>(s.n);
    const double full_ctas = static_cast<double>((part.grid[0] - 1) * s.n);
    const double all_channels = static_cast<double>(s.c), pieces = static_cast<double>(part.pieces);
    const double warps = static_cast<double>(o.warps);
    Work work;
    work.fmas = all_blocks * all_channels * block.fmas * 32.0;
    work.shared_wavefronts = all_blocks * all_channels * block.passes;
    work.shared_conflicts = 0.0;
    work.instructions =
        all_blocks * (all_channels * (block.fmas + block.channel_ends) + pieces * block.ends) +
        (full_ctas * runs_of(o.positions) + images * runs_of(last_positions)) * static_cast<double>(s.k) *
            pieces * block.stored +
        full_ctas * map_copies(o, all_channels, o.tile_h) +
        images * map_copies(o, all_channels, o.last_rows) +
        ctas * (static_cast<double>(part.steps) *
                    (filter_copies(o, static_cast<double>(o.knobs.tile_k)) + warps * instructions::warp) +
                pieces * warps * instructions::loop + warps * instructions::warp);
    return work;
}

/// Bytes of the map that the CTAs of a launch request from L2: of a CTA and channel, and how many of their
/// runs can be coalesced with those of a neighbour, which has rows of the map in common, each at another
/// place of its copies: of 16 bytes they come to them soon enough after each other, by 4 bytes not, as
/// counted.
struct MapReads {
    double bytes, alike;
};
MapReads map_reads_of(const Tiling &o, const Partition &part) {
    const ConvShape &s = o.s;
    const double bands = static_cast<double>(part.grid[0]);
    const double band_bytes =
        (static_cast<double>(s.p()) / bands + static_cast<double>(s.r - 1)) * static_cast<double>(s.w) * 4.0;
    if (!o.wide)
        return {spanned_bytes(band_bytes), 0.0};
    const std::int64_t plane = s.h * s.w * 4, band_step = part.tile_h * s.w * 4, channels = o.channels;
    const Stride bands_apart{band_step, part.grid[0]}, images_apart{s.c * plane, s.n};
    return {wide_copy_bytes(band_bytes,
                            odd_halves(0, {{part.band_floats * 4 - plane, channels},
                                           {channels * plane, part.pieces},
                                           bands_apart,
                                           images_apart}),
                            odd_halves(0, {{plane, s.c}, bands_apart, images_apart})),
            alike_in_lines(part.stages * part.bank_floats * 4, {{part.band_floats * 4 - plane, channels},
                                                                {-channels * plane, part.pieces},
                                                                {-band_step, part.grid[0]},
                                                                {-s.c * plane, s.n}})};
}

/// Bytes of filters, and of sums of the piece before, that the SMs request from L2: all CTAs go through all
/// filters, and read their sums from L1 if it has room. Of the map, `map_of_cta` bytes pass through it.
struct StreamReads {
    double filters, sums;
};
StreamReads stream_reads_of(const Tiling &o, double map_of_cta, const Partition &part, const Gpu &gpu) {
    const ConvShape &s = o.s;
    const double pieces = static_cast<double>(part.pieces), bands = static_cast<double>(part.grid[0]);
    const double filters = static_cast<double>(s.filter_bytes());
    const double filter_run = static_cast<double>(s.c) / pieces * static_cast<double>(o.taps) * 4.0;
    // A piece reads a run of each filter; what lies in its sectors of other pieces L1 keeps if it has room.
    const double of_piece =
        std::min(spanned_bytes(filters), static_cast<double>(s.k) * spanned_bytes(filter_run));
    const double resident =
        static_cast<double>(std::min(part.ctas_per_sm, ceil_div(part.ctas, gpu.limits.sm_count)));
    const double sums_of_cta = static_cast<double>(part.tile_h * s.q() * s.k * 4);
    // Between a sum's store and its next read all others pass, and a piece's rows and filters, in lines.
    constexpr double line = 128.0;
    const double lines_of_piece =
        std::min(filters, static_cast<double>(s.k) * lines_touched(filter_run, 1.0, 0.0) * line);
    const double lost_sums =
        lost_from_l1(resident * (sums_of_cta + map_of_cta / pieces) + lines_of_piece, part, gpu);
    // A CTA's rows of an output follow one another; warps side by side find a common sector in L1.
    const double sums_run = static_cast<double>(s.p() * s.q() * 4) / bands;
    const double read_again = static_cast<double>(s.output_bytes()) * spanned_bytes(sums_run) / sums_run;
    const double once = spanned_bytes(filters);
    const double of_filters = once + std::max(0.0, pieces * of_piece - once) * lost_sums;
    return {read_through_l1(of_filters, of_filters, static_cast<double>(part.ctas), part, gpu, Again::in_turn,
                            sums_of_cta + map_of_cta),
            (pieces - 1.0) * read_again * lost_sums};
}

/// Adds what L2 and DRAM see of the whole launch to its work.
void add_traffic(Partition &part, const Tiling &o, const Gpu &gpu) {
    const ConvShape &s = o.s;
    const double images = static_cast<double>(s.n), all_channels = static_cast<double>(s.c);
    const double pieces = static_cast<double>(part.pieces), ctas = static_cast<double>(part.ctas);
    const double output_bytes = static_cast<double>(s.output_bytes());
    const MapReads map = map_reads_of(o, part);
    const double map_reads = images * all_channels * static_cast<double>(part.grid[0]) * map.bytes;
    const StreamReads stream = stream_reads_of(o, o.wide ? 0.0 : all_channels * map.bytes, part, gpu);
    const double rows_at_once = static_cast<double>(std::min(part.tile_h, s.p()));
    part.mergeable_reads =
        mergeable_reads(stream.filters, {ctas, 1.0}, part, gpu) +
        mergeable_reads(map_reads * map.alike,
                        {(rows_at_once + static_cast<double>(s.r - 1)) / rows_at_once, 1.0}, part, gpu);
    part.work.l2_read_bytes = map_reads + stream.filters + stream.sums;
    part.work.l2_write_bytes = pieces * written_bytes_of_flat_rows(s, part.tile_h);
    part.partial_write_bytes = written_in_part(*part.work.l2_write_bytes, pieces * output_bytes);
    fill_dram(part.work, s, gpu);
    // The sums of a piece are read again by the next, when all that is resident has stored its own.
    const double at_once = std::min(1.0, static_cast<double>(part.ctas_per_sm * gpu.limits.sm_count) / ctas);
    const double again_bytes = (pieces - 1.0) * output_bytes * lost_from_l2(at_once * output_bytes, gpu);
    *part.work.dram_read_bytes += again_bytes;
    *part.work.dram_write_bytes += again_bytes;
}

} // namespace

PlanResult<MapStream> MapStream::plan(const ConvShape &s, const Gpu &gpu) const {
    if (const std::string why = outside_papers(s); !why.empty())
        return Infeasible{why, true};
    Planned<MapStream> planned;
    MapStream &knobs = planned.strategy;
    knobs = *this;
    if (const std::string why = choose(knobs, s, gpu.limits); !why.empty())
        return Infeasible{why};
    const Tiling o{s, knobs, gpu.limits};
    if (o.groups > o.most_warps)
        return Infeasible{"tile_k = " + std::to_string(knobs.tile_k) + " needs " + std::to_string(o.groups) +
                          " warps, a CTA has at most " + std::to_string(o.most_warps)};

    Partition part = launch_of(o, gpu);
    if (part.ctas_per_sm < 1)
        return Infeasible{"a CTA of " + std::to_string(part.threads) + " threads with " +
                          std::to_string(part.shared_bytes) + " bytes of shared memory does not fit an SM"};
    fill_schedule(part, gpu.limits);
    const Block block = block_of(o, gpu);
    fill_cta(part, o, block);
    part.work = core_work_of(o, block, part);
    add_traffic(part, o, gpu);

    Feasible &out = planned.feasible;
    out.rules = table1_rules(gpu.profile);
    out.rules.remarks.push_back(cached_remark("the map's", s.input_bytes() / s.n, gpu.limits));
    if (part.pieces > 1)
        out.rules.remarks.push_back("not all channels fit: " + std::to_string(part.pieces) +
                                    " pieces of them, whose sums are added in the output");
    out.paper_round_fmas = part.step.fmas;
    out.paper_round_bytes = part.step.load_bytes;
    out.plan.launches = {std::move(part)};
    return planned;
}

} // namespace convcast
