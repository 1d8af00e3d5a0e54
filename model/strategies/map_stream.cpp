#include "model/strategies/map_stream.hpp"

#include "model/paper/papers.hpp"
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

/// Loads of a lane's pixels, of a channel: pixel (r, s) of position j lies at r * W + s + 32 j, and what is
/// unrolled together is loaded once where several of these are the same.
double pixel_loads_of(const ConvShape &s, std::int64_t columns, std::int64_t group) {
    constexpr std::int64_t most_unrolled = 1024; // FFMAs, as the kernel does: else a filter row at a time
    if (s.r * s.s * columns * group > most_unrolled)
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

PlanResult<MapStream> MapStream::plan(const ConvShape &s, const Gpu &gpu) const {
    if (const std::string why = outside_papers(s); !why.empty())
        return Infeasible{why, true};
    Planned<MapStream> planned;
    MapStream &knobs = planned.strategy;
    knobs = *this;
    Feasible &out = planned.feasible;
    out.rules = table1_rules(gpu.profile);
    out.rules.remarks.push_back(cached_remark("the map's", s.input_bytes() / s.n, gpu.limits));
    const GpuLimits &limits = gpu.limits;

    constexpr std::int64_t group = 8; // filters of a warp
    Partition part;
    part.kernel = name;
    part.parts = limits.sm_count;
    part.tile_h = ceil_div(s.p(), part.parts);
    const std::int64_t positions = (part.tile_h - 1) * s.w + s.q(), taps = s.r * s.s;
    if (knobs.columns == 0)
        knobs.columns = positions > 64 ? 4 : positions > 32 ? 2 : 1;
    if (knobs.columns == 3)
        return Infeasible{"columns must be 1, 2 or 4, got 3"};
    if (knobs.tile_k == 0)
        knobs.tile_k = static_cast<int>(std::min<std::int64_t>(32, round_up(s.k, group)));
    if (knobs.tile_k % group != 0)
        return Infeasible{"tile_k = " + std::to_string(knobs.tile_k) + " is no multiple of 8"};
    part.tile_k = knobs.tile_k;
    part.band_floats = round_up((part.tile_h + s.r - 1) * s.w, 4);
    // A lane past the last position reads on, into the next channel or past the last one.
    const std::int64_t spare = 32 * knobs.columns;
    const std::int64_t groups = knobs.tile_k / group;
    const auto shared_floats = [&](std::int64_t count) {
        const std::int64_t channels = ceil_div(s.c, count);
        return knobs.stages * knobs.tile_k * channels * taps + channels * part.band_floats + spare;
    };
    const auto fits = [&](std::int64_t count) {
        return shared_floats(count) * 4 <= limits.shared_bytes_per_cta;
    };
    if (knobs.pieces > s.c)
        return Infeasible{"pieces = " + std::to_string(knobs.pieces) + " exceeds the " + std::to_string(s.c) +
                          " channels"};
    if (!fits(s.c) || (knobs.pieces > 0 && !fits(knobs.pieces)))
        return Infeasible{
            std::to_string(part.tile_h) + " rows of the map and " + std::to_string(knobs.stages) +
            " buffers of " + std::to_string(knobs.tile_k) + " filters do not fit in shared memory with " +
            (knobs.pieces > 0 ? "pieces = " + std::to_string(knobs.pieces) : "any number of pieces")};
    if (knobs.pieces == 0) {
        std::int64_t low = 1, high = s.c; // the smallest that fits: more pieces never need more room
        while (low < high) {
            const std::int64_t middle = low + (high - low) / 2;
            if (fits(middle))
                high = middle;
            else
                low = middle + 1;
        }
        if (low > knobs_most_pieces)
            return Infeasible{"more than " + std::to_string(knobs_most_pieces) + " pieces of channels"};
        knobs.pieces = static_cast<int>(low);
    }
    const std::int64_t channels = ceil_div(s.c, knobs.pieces);
    part.pieces = ceil_div(s.c, channels);
    knobs.pieces = static_cast<int>(part.pieces);
    part.bank_floats = knobs.tile_k * channels * taps;
    part.shared_bytes = round_up(shared_floats(part.pieces), 4) * 4;

    const bool wide = s.w % 4 == 0;
    part.template_arguments = {s.r, s.s, s.w, knobs.columns, group, knobs.stages, wide ? 1 : 0};
    part.grid = {ceil_div(s.p(), part.tile_h), s.n, 1};
    part.sharing_ctas = 1.0;
    // Sums, pixels, filter values; places of the copies, loads and stores.
    const std::int64_t addresses = s.r * s.s == 1 && knobs.columns <= 2 ? 48 : 56;
    part.register_cap = round_up(group * knobs.columns + knobs.columns + 2 * group + addresses, 8);
    const std::int64_t blocks = ceil_div(positions, 32 * knobs.columns);
    const std::int64_t most_warps =
        std::min<std::int64_t>(limits.max_threads_per_cta,
                               limits.registers_per_sm / part.register_cap / 128 * 128) /
        32;
    if (groups > most_warps)
        return Infeasible{"tile_k = " + std::to_string(knobs.tile_k) + " needs " + std::to_string(groups) +
                          " warps, a CTA has at most " + std::to_string(most_warps)};
    const std::int64_t position_warps = std::min(blocks, most_warps / groups);
    part.threads = 32 * groups * position_warps;
    const std::int64_t filter_steps = ceil_div(s.k, knobs.tile_k);
    part.stages = filter_steps > 1 ? knobs.stages : 1; // each piece starts anew
    part.steps = part.pieces * filter_steps;
    part.filter_count = s.k;
    const std::int64_t real_groups = std::min(groups, ceil_div(s.k, group)); // of filters that there are
    part.busy_warps = real_groups * position_warps;
    // A warp's number says which filters and blocks of positions are its own: where there are fewer filters
    // than groups of them, or no whole rounds of blocks, the work is not dealt out evenly.
    const std::int64_t all_warps = groups * position_warps;
    std::vector<std::int64_t> busy(
        static_cast<std::size_t>(std::min<std::int64_t>(limits.schedulers_per_sm, all_warps))),
        done(busy);
    for (std::int64_t warp = 0; warp < all_warps; ++warp)
        if (warp % groups < real_groups) {
            const auto scheduler = static_cast<std::size_t>(warp % std::ssize(busy));
            busy[scheduler] += 1;
            done[scheduler] += ceil_div(blocks - warp / groups, position_warps);
        }
    part.scheduler_warps = *std::max_element(busy.begin(), busy.end());
    part.busiest_scheduler =
        static_cast<double>(*std::max_element(done.begin(), done.end()) * position_warps) /
        static_cast<double>(*part.scheduler_warps * blocks);
    part.copy_passes = gpu.architecture.narrow_copy_passes->value; // of filters, which it transposes
    part.independent_sums = group * knobs.columns;
    part.ctas_per_sm = resident_ctas(gpu, part.threads, part.register_cap, part.shared_bytes);
    if (part.ctas_per_sm < 1)
        return Infeasible{"a CTA of " + std::to_string(part.threads) + " threads with " +
                          std::to_string(part.shared_bytes) + " bytes of shared memory does not fit an SM"};
    fill_schedule(part, limits);

    // One block of positions of one warp's filters, one channel. Neighbouring lanes read neighbouring words.
    const double t = static_cast<double>(taps), columns_d = static_cast<double>(knobs.columns);
    const double block_fmas = t * columns_d * static_cast<double>(group);
    const double pixel_loads = pixel_loads_of(s, knobs.columns, group);
    const double block_loads = pixel_loads + t * static_cast<double>(group) / 4.0;
    const double block_passes =
        pixel_loads + t * static_cast<double>(group) / 4.0 * gpu.architecture.uniform_wide_wavefronts->value;
    // Warp instructions beside arithmetic and loads, as compiled for sm_90: a channel and, where they are a
    // loop, a row of taps; a block of positions and 32 of them (their place by division), an output stored,
    // one of an earlier piece read again; a copy of filter values and the start on a filter, a step of a
    // warp; a copy from a channel of the map and the start on it, the start of a piece, of a CTA.
    constexpr double most_unrolled = 1024.0; // as the kernel does: all taps of a channel, or a row of them
    const bool whole = block_fmas <= most_unrolled;
    const double here = static_cast<double>(channels), all_channels = static_cast<double>(s.c);
    const double pieces_d = static_cast<double>(part.pieces);
    const double channel_ends = block_loads + instructions::iteration +
                                (whole ? 0.0 : static_cast<double>(s.r) * instructions::iteration);
    const double block_ends = instructions::place + columns_d * instructions::divided_copy;
    const double warps = static_cast<double>(part.threads) / 32.0;
    // Of 32 positions that follow one another, for one filter, on average over the pieces.
    const double stored = (pieces_d - 1.0) / pieces_d * instructions::store;
    const auto runs_of = [&](std::int64_t count) { // of positions
        return static_cast<double>(ceil_div(count, warp_lanes));
    };
    const auto filter_copies = [&](double filters) { // warp instructions; past the last filter zeros
        return filters * (std::ceil(here * t / 32.0) * instructions::copy + instructions::loop);
    };
    const auto map_copies = [&](double count, std::int64_t rows) {
        return count * (instructions::copy *
                            std::ceil(static_cast<double>((rows + s.r - 1) * s.w) / (wide ? 128.0 : 32.0)) +
                        warps * instructions::loop);
    };
    const double step_blocks = static_cast<double>(blocks * real_groups);
    part.step.fmas = step_blocks * here * block_fmas * 32.0;
    part.step.turns = step_blocks * here * (whole ? 1.0 : static_cast<double>(s.r));
    part.step.copying = filter_copies(static_cast<double>(knobs.tile_k)) + warps * instructions::warp +
                        (map_copies(here, std::min(part.tile_h, s.p())) + warps * instructions::loop) /
                            static_cast<double>(filter_steps);
    // A warp copies whole filters; of a channel's rows the first warps copy what is left of whole rounds.
    const double most_copied =
        filter_copies(static_cast<double>(ceil_div(knobs.tile_k, part.threads / warp_lanes))) +
        instructions::warp +
        (here * (instructions::copy *
                     static_cast<double>(ceil_div((std::min(part.tile_h, s.p()) + s.r - 1) * s.w,
                                                  part.threads * (wide ? 4 : 1))) +
                 instructions::loop) +
         instructions::loop) /
            static_cast<double>(filter_steps);
    part.longest_copier = most_copied * warps / part.step.copying;
    part.drain.instructions = warps * instructions::warp;
    part.step.instructions =
        step_blocks * (here * (block_fmas + channel_ends) + block_ends) +
        runs_of(positions) * static_cast<double>(std::min<std::int64_t>(knobs.tile_k, s.k)) * stored +
        part.step.copying;
    part.step.shared_wavefronts = step_blocks * here * block_passes;
    // A piece's rows are there before its first filters are used; nothing of a piece is fetched while another
    // is computed.
    const double map_floats = static_cast<double>((std::min(part.tile_h, s.p()) + s.r - 1) * s.w);
    const double map_bytes_of_cta = all_channels * map_floats * 4.0;
    part.step.load_bytes = here * t * static_cast<double>(std::min<std::int64_t>(knobs.tile_k, s.k)) * 4.0 +
                           map_bytes_of_cta * (pieces_d - 1.0) / pieces_d / static_cast<double>(part.steps);
    part.drain.load_bytes = map_bytes_of_cta / pieces_d;
    // The launch's l2_write_bytes count the stores of every piece; a warp stores after each block, and
    // nothing covers the last.
    const double step_bytes =
        static_cast<double>(part.tile_h * s.q() * std::min<std::int64_t>(knobs.tile_k, s.k)) * 4.0 /
        static_cast<double>(part.pieces);
    part.drain.store_bytes = step_bytes / static_cast<double>(ceil_div(blocks, position_warps));
    part.step.store_bytes = step_bytes - part.drain.store_bytes / static_cast<double>(part.steps);

    // The last CTA may have fewer rows.
    const std::int64_t last_rows = s.p() - (part.grid[0] - 1) * part.tile_h;
    const double all_blocks =
        static_cast<double>((part.grid[0] - 1) * blocks +
                            ceil_div((last_rows - 1) * s.w + s.q(), 32 * knobs.columns)) *
        static_cast<double>(ceil_div(s.k, group) * s.n);
    const double ctas = static_cast<double>(part.ctas);
    const double images = static_cast<double>(s.n);
    Work &work = part.work;
    work.fmas = all_blocks * all_channels * block_fmas * 32.0;
    work.shared_wavefronts = all_blocks * all_channels * block_passes;
    work.shared_conflicts = 0.0;
    const double full_ctas = static_cast<double>((part.grid[0] - 1) * s.n);
    work.instructions =
        all_blocks * (all_channels * (block_fmas + channel_ends) + pieces_d * block_ends) +
        (full_ctas * runs_of(positions) + images * runs_of((last_rows - 1) * s.w + s.q())) *
            static_cast<double>(s.k) * pieces_d * stored +
        full_ctas * map_copies(all_channels, part.tile_h) + images * map_copies(all_channels, last_rows) +
        ctas * (static_cast<double>(part.steps) *
                    (filter_copies(static_cast<double>(knobs.tile_k)) + warps * instructions::warp) +
                pieces_d * warps * instructions::loop + warps * instructions::warp);
    const double bands = static_cast<double>(part.grid[0]);
    const double band_bytes =
        (static_cast<double>(s.p()) / bands + static_cast<double>(s.r - 1)) * static_cast<double>(s.w) * 4.0;
    const std::int64_t plane = s.h * s.w * 4, band_step = part.tile_h * s.w * 4;
    const Stride bands_apart{band_step, part.grid[0]}, images_apart{s.c * plane, s.n};
    const double map_bytes = wide ? wide_copy_bytes(band_bytes,
                                                    odd_halves(0, {{part.band_floats * 4 - plane, channels},
                                                                   {channels * plane, part.pieces},
                                                                   bands_apart,
                                                                   images_apart}),
                                                    odd_halves(0, {{plane, s.c}, bands_apart, images_apart}))
                                  : spanned_bytes(band_bytes);
    // All CTAs go through all filters, and read their sums of the piece before from L1 if it has room.
    const double filters = static_cast<double>(s.filter_bytes());
    const double filter_run = all_channels / pieces_d * t * 4.0;
    // A piece reads a run of each filter; what lies in its sectors of other pieces L1 keeps if it has room.
    const double of_piece =
        std::min(spanned_bytes(filters), static_cast<double>(s.k) * spanned_bytes(filter_run));
    const double resident =
        static_cast<double>(std::min(part.ctas_per_sm, ceil_div(part.ctas, limits.sm_count)));
    const double sums_of_cta = static_cast<double>(part.tile_h * s.q() * s.k * 4),
                 map_of_cta = wide ? 0.0 : all_channels * map_bytes; // through L1
    // Between a sum's store and its next read all others pass, and a piece's rows and filters, in lines.
    constexpr double line = 128.0;
    const double lines_of_piece =
        std::min(filters, static_cast<double>(s.k) * lines_touched(filter_run, 1.0, 0.0) * line);
    const double lost_sums =
        lost_from_l1(resident * (sums_of_cta + map_of_cta / pieces_d) + lines_of_piece, part, gpu);
    // A CTA's rows of an output follow one another; warps side by side find a common sector in L1.
    const double sums_run = static_cast<double>(s.p() * s.q() * 4) / bands;
    const double read_again = static_cast<double>(s.output_bytes()) * spanned_bytes(sums_run) / sums_run;
    const double once = spanned_bytes(filters);
    const double of_filters = once + std::max(0.0, pieces_d * of_piece - once) * lost_sums;
    const double filter_reads =
        read_through_l1(of_filters, of_filters, ctas, part, gpu, Again::in_turn, sums_of_cta + map_of_cta);
    // And neighbouring CTAs have rows of the map in common, each at another place of its copies: of 16 bytes
    // they come to them soon enough after each other, by 4 bytes not, as counted.
    const double alike =
        wide ? alike_in_lines(part.stages * part.bank_floats * 4, {{part.band_floats * 4 - plane, channels},
                                                                   {-channels * plane, part.pieces},
                                                                   {-band_step, part.grid[0]},
                                                                   {-s.c * plane, s.n}})
             : 0.0;
    const double rows_at_once = static_cast<double>(std::min(part.tile_h, s.p()));
    part.mergeable_reads =
        mergeable_reads(filter_reads, {ctas, 1.0}, part, gpu) +
        mergeable_reads(images * all_channels * bands * map_bytes * alike,
                        {(rows_at_once + static_cast<double>(s.r - 1)) / rows_at_once, 1.0}, part, gpu);
    work.l2_read_bytes =
        images * all_channels * bands * map_bytes + filter_reads + (pieces_d - 1.0) * read_again * lost_sums;
    work.l2_write_bytes = pieces_d * written_bytes_of_flat_rows(s, part.tile_h);
    part.partial_write_bytes =
        written_in_part(*work.l2_write_bytes, pieces_d * static_cast<double>(s.output_bytes()));
    fill_dram(work, s, gpu);
    // The sums of a piece are read again by the next, when all that is resident has stored its own.
    const double at_once = std::min(1.0, static_cast<double>(part.ctas_per_sm * limits.sm_count) / ctas);
    const double again_bytes = (pieces_d - 1.0) * static_cast<double>(s.output_bytes()) *
                               lost_from_l2(at_once * static_cast<double>(s.output_bytes()), gpu);
    *work.dram_read_bytes += again_bytes;
    *work.dram_write_bytes += again_bytes;
    if (part.pieces > 1)
        out.rules.remarks.push_back("not all channels fit: " + std::to_string(part.pieces) +
                                    " pieces of them, whose sums are added in the output");
    out.paper_round_fmas = part.step.fmas;
    out.paper_round_bytes = part.step.load_bytes;
    out.plan.launches = {std::move(part)};
    return planned;
}

} // namespace convcast
