#include "model/strategies/stride_fixed_block.hpp"

#include "model/paper/papers.hpp"
#include "model/work/instructions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

using papers::ceil_div;
using papers::round_up;

namespace {

constexpr std::int64_t largest_tile_k = 128; // beyond, a CTA's accumulators leave one CTA an SM
constexpr int largest_channel_bytes = 512;   // a step's FMAs are unrolled

} // namespace

const std::vector<Knob<StrideFixedBlock>> &StrideFixedBlock::knobs() {
    static const std::vector<Knob<StrideFixedBlock>> list = {
        {"segment_bytes",
         &StrideFixedBlock::segment_bytes,
         0,
         largest_channel_bytes,
         {1, 32, 64, 128},
         "S, bytes of each filter a step: 32, 64, 128 or r * s * 4, a channel's, as 1 also says; 0: 64"},
        {"tile_w",
         &StrideFixedBlock::tile_w,
         0,
         256,
         {32, 64, 128},
         "W'x, pixels of a CTA, a multiple of 32; 0: the paper's 128, or what the map needs"},
        {"tile_k",
         &StrideFixedBlock::tile_k,
         0,
         256,
         {16, 32, 64, 128},
         "M', filters of a CTA, a multiple of filters_per_thread; 0: the least that rule 3 allows and fits"},
        {"stages",
         &StrideFixedBlock::stages,
         2,
         4,
         {4},
         "buffers of the prefetch pipeline; the paper's is 2"},
        {"filters_per_thread",
         &StrideFixedBlock::filters_per_thread,
         0,
         16,
         {},
         "filters of a warp: 4, 8 or 16; 0: 8, or 4 for a small tile_k"},
    };
    return list;
}

namespace {

std::int64_t stage_floats(const ConvShape &s, std::int64_t segment, std::int64_t tile_w,
                          std::int64_t tile_k) {
    const std::int64_t lines = papers::lines_touched(segment * 4, s.s);
    return (tile_k + 1) * round_up(segment, 4) + lines * (tile_w + round_up(s.s - 1, 4));
}

} // namespace

PlanResult<StrideFixedBlock> StrideFixedBlock::plan(const ConvShape &s, const Gpu &gpu) const {
    if (const std::string why = outside_papers(s); !why.empty())
        return Infeasible{why, true};
    if (s.c == 1)
        return Infeasible{
            "stride-fixed blocks are the multi-channel method; c = 1 has filter_split and map_split", true};
    Planned<StrideFixedBlock> planned;
    Feasible &out = planned.feasible;
    StrideFixedBlock &knobs = planned.strategy;
    knobs = *this;
    out.rules = table1_rules(gpu.profile);

    const std::int64_t flat = (s.p() - 1) * s.w + s.q(); // positions along the flattened image
    if (knobs.segment_bytes == 0)
        knobs.segment_bytes = 64;
    const std::int64_t channel_bytes = s.r * s.s * 4;
    if (knobs.segment_bytes == 1 && channel_bytes <= largest_channel_bytes)
        knobs.segment_bytes = static_cast<int>(channel_bytes);
    if (knobs.segment_bytes != 32 && knobs.segment_bytes != 64 && knobs.segment_bytes != 128 &&
        knobs.segment_bytes != channel_bytes)
        return Infeasible{"segment_bytes must be 32, 64, 128 or, up to " +
                          std::to_string(largest_channel_bytes) + ", r * s * 4 = " +
                          std::to_string(channel_bytes) + "; got " + std::to_string(knobs.segment_bytes)};
    if (knobs.tile_w == 0)
        knobs.tile_w = static_cast<int>(std::min<std::int64_t>(128, round_up(flat, 32)));
    if (knobs.tile_w % 32 != 0)
        return Infeasible{"tile_w must be a multiple of 32, got " + std::to_string(knobs.tile_w)};
    std::optional<std::int64_t> least_tile_k;
    if (out.rules.n_fma)
        least_tile_k = papers::tile_k_min(*out.rules.n_fma, knobs.segment_bytes, knobs.tile_w);
    if (knobs.tile_k == 0) {
        const std::int64_t wanted = round_up(least_tile_k.value_or(64), 16);
        knobs.tile_k = static_cast<int>(std::min({wanted, round_up(s.k, 16), largest_tile_k}));
        while (knobs.tile_k > 16 &&
               papers::step_bytes(knobs.segment_bytes, s.s, knobs.tile_w, knobs.tile_k) * 2 >
                   gpu.limits.shared_bytes_per_cta)
            knobs.tile_k -= 16;
    }
    if (knobs.filters_per_thread == 0)
        knobs.filters_per_thread = knobs.tile_k >= 64 ? 8 : 4;
    const std::int64_t per_thread = knobs.filters_per_thread;
    if (per_thread != 4 && per_thread != 8 && per_thread != 16)
        return Infeasible{"filters_per_thread must be 4, 8 or 16, got " + std::to_string(per_thread)};
    if (knobs.tile_k % per_thread != 0)
        return Infeasible{"tile_k = " + std::to_string(knobs.tile_k) +
                          " is no multiple of filters_per_thread = " + std::to_string(per_thread)};

    const std::int64_t segment = knobs.segment_bytes / 4, columns = knobs.tile_w / 32;
    const std::int64_t values = s.c * s.r * s.s;
    const bool wide_lines = s.w % 4 == 0, wide_filters = values % 4 == 0 && segment % 4 == 0;
    Partition part;
    part.kernel = name;
    part.template_arguments = {s.r,
                               s.s,
                               segment,
                               knobs.tile_w,
                               knobs.tile_k,
                               knobs.stages,
                               per_thread,
                               wide_lines ? 1 : 0,
                               wide_filters ? 1 : 0};
    part.grid = {ceil_div(flat, knobs.tile_w), ceil_div(s.k, knobs.tile_k), s.n};
    part.sharing_ctas = static_cast<double>(part.grid[0] * part.grid[1]);
    if (part.grid[1] > 65535)
        return Infeasible{"the grid exceeds 65535 in y; take a larger tile_k"};
    part.threads = 32 * knobs.tile_k / per_thread;
    part.stages = knobs.stages;
    part.steps = ceil_div(values, segment);
    part.filter_count = s.k;
    part.busy_warps = part.threads / 32;
    part.copy_passes = wide_lines && wide_filters ? gpu.architecture.wide_copy_passes->value
                                                  : gpu.architecture.narrow_copy_passes->value;
    part.independent_sums = per_thread * columns;
    part.shared_bytes = stage_floats(s, segment, knobs.tile_w, knobs.tile_k) * 4 * knobs.stages;
    part.variant = std::to_string(per_thread) + " filters a thread";
    constexpr std::int64_t addresses = 60;
    part.register_cap = std::clamp<std::int64_t>(
        round_up(per_thread * columns + 4 * per_thread + columns + addresses, 8), 64, 255);
    if (const std::int64_t most = gpu.limits.registers_per_sm / std::max<std::int64_t>(part.threads, 1);
        part.register_cap > most)
        part.register_cap = most / 8 * 8;
    // Of a single value nothing is kept for a next one, as compiled for sm_90 (NVRTC 13.0).
    constexpr std::int64_t kept = 24;
    part.ctas_per_sm =
        resident_ctas(gpu, part.threads, part.register_cap - (segment == 1 ? kept : 0), part.shared_bytes);
    if (part.threads > gpu.limits.max_threads_per_cta ||
        part.register_cap < per_thread * columns + 4 * per_thread + columns + 24)
        return Infeasible{"tile_k = " + std::to_string(knobs.tile_k) + " with filters_per_thread = " +
                          std::to_string(per_thread) + " and tile_w = " + std::to_string(knobs.tile_w) +
                          " needs more registers or threads than a CTA has"};
    if (part.ctas_per_sm < 1)
        return Infeasible{"a CTA needs " + std::to_string(part.shared_bytes) +
                          " bytes of shared memory, the GPU gives " +
                          std::to_string(gpu.limits.shared_bytes_per_cta)};
    fill_schedule(part, gpu.limits);

    // Lines as moved: the kernel always brings as many as a segment can touch.
    const std::int64_t lines = papers::lines_touched(knobs.segment_bytes, s.s);
    const std::int64_t line_floats =
        wide_lines ? knobs.tile_w + round_up(s.s - 1, 4) : knobs.tile_w + s.s - 1;
    double clipped_floats = 0.0; // of one line, summed over the tiles and averaged over the filter's rows
    const std::int64_t plane = s.h * s.w;
    for (std::int64_t r = 0; r < s.r; ++r) {
        const std::int64_t start = r * s.w;
        const std::int64_t whole =
            std::clamp<std::int64_t>((plane - start - line_floats) / knobs.tile_w + 1, 0,
                                     plane < start + line_floats ? 0 : part.grid[0]);
        clipped_floats += static_cast<double>(whole * line_floats);
        for (std::int64_t tile = whole; tile < part.grid[0]; ++tile)
            clipped_floats += static_cast<double>(
                std::clamp<std::int64_t>(plane - start - tile * knobs.tile_w, 0, line_floats));
    }
    clipped_floats /= static_cast<double>(s.r);

    const double warps = static_cast<double>(part.threads) / 32.0;
    const double seg = static_cast<double>(segment), col = static_cast<double>(columns);
    const double wide_loads =
        std::ceil(seg / 4.0) * static_cast<double>(per_thread + 1); // four values, or offsets
    // Of a segment's last four values the compiler reads no more than there are: one or two by one pass.
    const double narrow_loads =
        segment % 4 == 1 || segment % 4 == 2 ? static_cast<double>(per_thread + 1) : 0.0;
    const double wavefronts =
        seg * col + wide_loads * gpu.architecture.uniform_wide_wavefronts->value - narrow_loads;
    // Warp instructions beside arithmetic and loads, as counted on sm_90: a value of the segment (its pixels'
    // address), a filter copy, a line copy (divisions of the line index), the offset of a value, a step
    // (loop, barrier), the start, a column of pixels (its place by division), an output of a filter that is
    // there.
    // A warp that has nothing left to copy leaves the loop: all together make a turn for 32 copies.
    const auto turns_of = [](std::int64_t copies) {
        return static_cast<double>(ceil_div(copies, warp_lanes));
    };
    const double copying = turns_of(knobs.tile_k * segment / (wide_filters ? 4 : 1)) * instructions::copy +
                           turns_of(lines * line_floats / (wide_lines ? 4 : 1)) * instructions::divided_copy +
                           turns_of(segment) * instructions::divided_copy;
    part.step.fmas = seg * static_cast<double>(knobs.tile_w * knobs.tile_k);
    part.step.shared_wavefronts = warps * wavefronts + turns_of(segment); // and the offsets' stores
    part.step.instructions =
        part.step.fmas / 32.0 +
        warps * (seg * col + wide_loads + seg * instructions::unrolled_copy + instructions::step) + copying;
    part.step.load_bytes = static_cast<double>(knobs.tile_k * segment + lines * line_floats) * 4.0;
    part.drain.store_bytes = static_cast<double>(std::min<std::int64_t>(knobs.tile_w, flat)) *
                             static_cast<double>(std::min<std::int64_t>(knobs.tile_k, s.k)) * 4.0;
    part.drain.instructions =
        warps * (instructions::warp + col * instructions::divided_copy) +
        col * instructions::placed_store * static_cast<double>(s.k) / static_cast<double>(part.grid[1]);

    const double ctas = static_cast<double>(part.ctas), steps = static_cast<double>(part.steps);
    Work &work = part.work;
    work.fmas = ctas * steps * part.step.fmas;
    work.instructions = ctas * (steps * part.step.instructions + part.drain.instructions);
    work.shared_wavefronts = ctas * steps * part.step.shared_wavefronts;
    work.shared_conflicts = 0.0;
    // A line past the last channel moves nothing: only the last step has any.
    const double moved_lines = steps * static_cast<double>(lines);
    const std::int64_t step_floats = stage_floats(s, segment, knobs.tile_w, knobs.tile_k),
                       pitch = round_up(segment, 4);
    const double filter_reads = static_cast<double>(part.grid[0] * s.n),
                 tile_reads = static_cast<double>(part.grid[1] * s.n);
    // Wide copies pass L1; others meet there what an earlier step has read, or a line that overlaps theirs.
    const double filter_tiles = static_cast<double>(part.grid[1]);
    const std::initializer_list<Stride> filters_apart = {
        {(pitch - values) * 4, knobs.tile_k},
        next_buffer(step_floats * 4, segment * 4, knobs.stages, part.steps),
        next_turn(segment * 4, knobs.stages, part.steps),
        {-knobs.tile_k * values * 4, part.grid[1]}};
    const double filter_bytes =
        wide_filters
            ? wide_copy_bytes(1.0, odd_halves(0, filters_apart), 0.0) * static_cast<double>(s.filter_bytes())
            : filter_tiles * filter_run_bytes(static_cast<double>(s.k) / filter_tiles,
                                              static_cast<double>(values) * 4.0, part, gpu);
    const double line_bytes = clipped_floats * 4.0;
    const std::int64_t buffered_line = round_up(s.s - 1, 4) + knobs.tile_w;
    const double clipped_tiles = static_cast<double>(part.grid[0]);
    const std::int64_t first_line = (knobs.tile_k + 1) * pitch * 4;
    // Destination less source of a step's lines, of as many steps as tell all there is.
    constexpr std::int64_t enough_steps = 128;
    std::array<double, 8> lines_at{}; // by 16 bytes of a line of 128
    for (std::int64_t step = 0; step < std::min(part.steps, enough_steps); ++step)
        for (std::int64_t l = 0; l < lines; ++l) {
            const std::int64_t line = step * segment / s.s + l;
            const std::int64_t apart =
                step % knobs.stages * step_floats + l * buffered_line - line / s.r * plane - line % s.r * s.w;
            lines_at[static_cast<std::size_t>(((first_line / 4 + apart) / 4 % 8 + 8) % 8)] += 1.0;
        }
    const double all_at = std::accumulate(lines_at.begin(), lines_at.end(), 0.0);
    const double lines_crossed = (lines_at[1] + lines_at[3] + lines_at[5] + lines_at[7]) / all_at,
                 lines_alike = lines_at[0] / all_at;
    const double all_lines =
        wide_lines ? clipped_tiles * wide_copy_bytes(line_bytes / clipped_tiles, lines_crossed,
                                                     odd_halves(0, {{s.w * 4, s.r}, {plane * 4, s.c}}))
                   : line_bytes + clipped_tiles * spanned_bytes(0.0);
    const double rows = static_cast<double>(s.r), span = static_cast<double>(knobs.tile_w + s.s - 1);
    const double apart = std::min(1.0, ((rows - 1.0) * static_cast<double>(s.w) + span) / (rows * span));
    double map_reads =
        tile_reads * all_lines * (wide_lines ? moved_lines : static_cast<double>(s.c) * rows * apart);
    const double images = static_cast<double>(s.n), of_image = static_cast<double>(s.input_bytes()) / images;
    const double of_images = static_cast<double>(part.grid[0] * part.grid[1]),
                 of_cta = map_reads / images / of_images;
    if (!wide_lines) // CTAs of other filters may read on the same SM what is still in L1
        map_reads = images * read_through_l1(of_cta, std::max(of_cta, of_image), of_images, part, gpu,
                                             Again::anywhere);
    // The CTAs of a row of the grid read the same filters.
    const double of_tile = filter_bytes / filter_tiles;
    const double all_filter_reads =
        wide_filters
            ? filter_bytes * filter_reads
            : std::min(tile_reads * read_through_l1(of_tile, of_tile, static_cast<double>(part.grid[0]), part,
                                                    gpu, Again::in_turn),
                       read_through_l1(of_tile, filter_bytes, ctas, part, gpu, Again::in_turn));
    work.l2_read_bytes = all_filter_reads + map_reads;
    const double tiles_d = static_cast<double>(part.grid[0]);
    part.mergeable_reads =
        mergeable_reads(
            all_filter_reads *
                (wide_filters && !inside_lines(segment * 4, {pitch * 4, step_floats * 4, values * 4})
                     ? alike_in_lines(0, filters_apart)
                     : 1.0),
            tiles_d > 1.0 ? Readers{tiles_d, 1.0} : Readers{images, filter_tiles}, part, gpu) +
        mergeable_reads(map_reads * (wide_lines ? lines_alike : 1.0), {filter_tiles, tiles_d}, part, gpu);
    work.l2_write_bytes = written_bytes_of_flat_rows(s, s.p());
    part.partial_write_bytes = written_in_part(*work.l2_write_bytes, static_cast<double>(s.output_bytes()));
    fill_dram(work, s, gpu);

    out.rules.segment_bytes = knobs.segment_bytes;
    out.rules.tile_w = knobs.tile_w;
    out.rules.tile_k_min = least_tile_k;
    out.rules.step_fma = papers::step_fmas(knobs.segment_bytes, knobs.tile_w, knobs.tile_k);
    if (knobs.segment_bytes % 32 != 0)
        out.rules.remarks.push_back("rule 1: S = " + std::to_string(knobs.segment_bytes) +
                                    " is no multiple of 32 bytes");
    if (least_tile_k && knobs.tile_k < *least_tile_k)
        out.rules.remarks.push_back("M' = " + std::to_string(knobs.tile_k) + " is below rule 3's " +
                                    std::to_string(*least_tile_k));
    if (papers::step_bytes(knobs.segment_bytes, s.s, knobs.tile_w, knobs.tile_k) * 2 >
        gpu.limits.shared_bytes_per_sm)
        out.rules.remarks.push_back("rule 4: a step's bytes exceed S_shared / 2");
    out.paper_round_fmas = static_cast<double>(*out.rules.step_fma);
    out.paper_round_bytes =
        static_cast<double>(papers::step_bytes(knobs.segment_bytes, s.s, knobs.tile_w, knobs.tile_k));
    out.plan.launches = {std::move(part)};
    return planned;
}

} // namespace convcast
