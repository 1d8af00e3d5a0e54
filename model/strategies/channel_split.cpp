#include "model/strategies/channel_split.hpp"

#include "model/paper/papers.hpp"
#include "model/work/instructions.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

using papers::ceil_div;
using papers::round_up;

const std::vector<Knob<ChannelSplit>> &ChannelSplit::knobs() {
    static const std::vector<Knob<ChannelSplit>> list = {
        {"tile_h",
         &ChannelSplit::tile_h,
         0,
         65536,
         {4, 8, 16, 32},
         "output rows of a band; 0: as many as fit, 32 at most"},
        {"tile_k",
         &ChannelSplit::tile_k,
         0,
         65536,
         {32, 128, 512},
         "filters in shared memory at a time, a multiple of 4; 0: all, or what half of it holds"},
        {"stages", &ChannelSplit::stages, 2, 4, {2, 3}, "buffers of the map's bands"},
    };
    return list;
}

namespace {

constexpr std::int64_t group = 4;         // filters of a thread at a time
constexpr std::int64_t cta_threads = 512; // one CTA an SM
constexpr std::int64_t sum_threads = 256;
constexpr std::int64_t most_workspace = std::int64_t{8} << 30;

/// What of `bytes`, just written, L2 does not keep for the launch that reads them.
double beyond_l2(double bytes, const Gpu &gpu) {
    return std::max(0.0,
                    bytes - static_cast<double>(gpu.limits.l2_bytes) / gpu.architecture.l2_copies->value);
}

/// The launch that adds `parts` partial sums of every output.
Partition sum_launch(const ConvShape &s, std::int64_t parts, const Gpu &gpu) {
    const std::int64_t outputs = s.output_elements(), width = outputs % 4 == 0 ? 4 : 1;
    Partition part;
    part.kernel = "channel_split_sum";
    part.template_arguments = {width};
    part.operands = {{Memory::workspace, 0}, {Memory::output, 0}};
    part.parts = parts;
    part.grid = {ceil_div(outputs, sum_threads * width), 1, 1};
    part.threads = sum_threads;
    part.register_cap = 32;
    part.filter_count = s.k;
    part.busy_warps = sum_threads / 32;
    part.independent_sums = width;
    part.ctas_per_sm = resident_ctas(gpu, part.threads, part.register_cap, 0);
    fill_schedule(part, gpu.limits);
    const double warps = static_cast<double>(part.busy_warps), parts_d = static_cast<double>(parts);
    constexpr std::int64_t parts_at_once = 4; // as the kernel unrolls: their loads are under way together
    part.steps = ceil_div(parts, parts_at_once);
    const double steps = static_cast<double>(part.steps);
    part.step.instructions = warps * parts_d / steps * instructions::guard;
    part.step.load_bytes = static_cast<double>(sum_threads * width * 4) * parts_d / steps;
    part.drain.instructions = warps * instructions::place;
    part.drain.store_bytes = static_cast<double>(sum_threads * width * 4);
    const double ctas = static_cast<double>(part.ctas), bytes = static_cast<double>(s.output_bytes());
    part.work.fmas = part.work.shared_wavefronts = part.work.shared_conflicts = 0.0;
    part.work.instructions = ctas * (steps * part.step.instructions + part.drain.instructions);
    part.work.l2_read_bytes = parts_d * bytes;
    part.work.l2_write_bytes = bytes;
    part.work.dram_read_bytes = beyond_l2(parts_d * bytes, gpu);
    part.work.dram_write_bytes = beyond_l2(bytes, gpu);
    return part;
}

} // namespace

PlanResult<ChannelSplit> ChannelSplit::plan(const ConvShape &s, const Gpu &gpu) const {
    if (const std::string why = outside_papers(s); !why.empty())
        return Infeasible{why, true};
    if (s.c == 1)
        return Infeasible{"there is one channel: nothing to divide", true};
    Planned<ChannelSplit> planned;
    ChannelSplit &knobs = planned.strategy;
    knobs = *this;
    Feasible &out = planned.feasible;
    out.rules = table1_rules(gpu.profile);
    const GpuLimits &limits = gpu.limits;

    Partition part;
    part.kernel = name;
    part.operands = {{Memory::input, 0}, {Memory::filters, 0}, {Memory::workspace, 0}};
    const std::int64_t channels = ceil_div(s.c, limits.sm_count), taps = s.r * s.s; // C'
    part.parts = ceil_div(s.c, channels);
    if (s.output_bytes() > most_workspace / part.parts)
        return Infeasible{std::to_string(part.parts) +
                          " partial sums of every output need more than 8 GiB of workspace"};
    out.plan.workspace_bytes = part.parts * s.output_bytes();
    out.rules.remarks.push_back("C' = " + std::to_string(channels) + ": " + std::to_string(part.parts) +
                                " partial sums of every output, " + std::to_string(out.plan.workspace_bytes) +
                                " bytes, are written and read again");

    const std::int64_t rows = s.p() >= 4 ? 4 : s.p() >= 2 ? 2 : 1; // of a thread
    const std::int64_t shared_floats = limits.shared_bytes_per_cta / 4, filter_floats = channels * taps;
    if (knobs.tile_k == 0)
        knobs.tile_k = static_cast<int>(
            std::clamp<std::int64_t>(shared_floats / 2 / filter_floats / group * group, group,
                                     std::min<std::int64_t>(65536, round_up(s.k, group))));
    if (knobs.tile_k % group != 0)
        return Infeasible{"tile_k = " + std::to_string(knobs.tile_k) + " is no multiple of 4"};
    part.tile_k = std::min<std::int64_t>(knobs.tile_k, round_up(s.k, group));
    knobs.tile_k = static_cast<int>(part.tile_k);
    part.bank_floats = round_up(part.tile_k * filter_floats, 4);
    const auto fits = [&](std::int64_t height) {
        part.band_floats = round_up((round_up(height, rows) + s.r - 1) * s.w, 4);
        return part.bank_floats + knobs.stages * channels * part.band_floats <= shared_floats;
    };
    std::int64_t band = knobs.tile_h;
    if (band == 0)
        for (band = std::min<std::int64_t>(32, s.p()); band > 1 && !fits(band); band = (band + 1) / 2) {
        }
    band = std::min(band, s.p());
    if (!fits(band))
        return Infeasible{"C' = " + std::to_string(channels) + " channels of " + std::to_string(part.tile_k) +
                          " filters and " + std::to_string(knobs.stages) + " bands of " +
                          std::to_string(band) + " rows do not fit in shared memory"};
    knobs.tile_h = static_cast<int>(band);
    part.tile_h = band;
    part.pieces = ceil_div(s.p(), band);

    const bool wide = s.w % 4 == 0;
    part.template_arguments = {s.r, s.s, s.w, rows, group, knobs.stages, wide ? 1 : 0};
    part.grid = {part.parts, s.n, 1};
    part.sharing_ctas = 1.0;
    part.threads = cta_threads;
    part.register_cap =
        std::clamp<std::int64_t>(round_up(rows * group + rows + s.r - 1 + 2 * group + 36, 8), 96, 128);
    part.stages = knobs.stages;
    const std::int64_t filter_pieces = ceil_div(s.k, part.tile_k);
    part.steps = filter_pieces * part.pieces;
    part.filter_count = 0; // it writes partial sums: memory of its own, not the output
    part.independent_sums = rows * group;
    part.shared_bytes = (part.bank_floats + knobs.stages * channels * part.band_floats) * 4;
    const std::int64_t units = ceil_div(band, rows) * s.q() * ceil_div(std::min(part.tile_k, s.k), group);
    part.busy_warps = std::clamp<std::int64_t>(ceil_div(units, 32), 1, cta_threads / 32);
    part.copy_passes =
        wide ? gpu.architecture.wide_copy_passes->value : gpu.architecture.narrow_copy_passes->value;
    part.ctas_per_sm = resident_ctas(gpu, part.threads, part.register_cap, part.shared_bytes);
    if (part.ctas_per_sm < 1)
        return Infeasible{"a CTA of " + std::to_string(part.threads) + " threads with " +
                          std::to_string(part.shared_bytes) + " bytes of shared memory does not fit an SM"};
    fill_schedule(part, limits);

    // A unit is what a thread computes at a time. Warp instructions beside arithmetic and loads, as counted
    // on sm_90: a unit (its place by divisions), a column of taps, an output that is there; a copy of pixels,
    // a warp's start on a channel; a filter and 32 of its values copied, a warp's start on a piece of
    // filters; a step of a warp, its start.
    const double t = static_cast<double>(taps), outputs = static_cast<double>(rows * group);
    const double columns = static_cast<double>(s.s), column_loads = static_cast<double>(rows + s.r - 1);
    const double here = static_cast<double>(channels), all_channels = static_cast<double>(s.c);
    const double unit_warps = static_cast<double>(units) / 32.0,
                 warps = static_cast<double>(cta_threads) / 32.0;
    // Of a band, all units of 32 threads, beside FMAs; rows and filters that are not there are not stored.
    const auto units_of_band = [&](std::int64_t band_rows, std::int64_t filters, std::int64_t of_channels) {
        const std::int64_t filled_rows = round_up(band_rows, rows), filled = round_up(filters, group);
        const double there =
            static_cast<double>(band_rows * filters) / static_cast<double>(filled_rows * filled);
        return static_cast<double>(ceil_div(filled_rows / rows * s.q() * (filled / group), warp_lanes)) *
               (instructions::place + there * outputs * instructions::placed_store +
                static_cast<double>(of_channels) * (columns * (column_loads + instructions::iteration) + t));
    };
    const auto copying_of_band = [&](std::int64_t band_rows, std::int64_t of_channels) {
        return static_cast<double>(of_channels) *
                   (static_cast<double>(
                        ceil_div((band_rows + s.r - 1) * s.w, wide ? 4 * warp_lanes : warp_lanes)) *
                        instructions::copy +
                    warps * instructions::iteration) +
               warps * instructions::step;
    };
    const auto copying_of_filters = [&](std::int64_t filters, std::int64_t of_channels) {
        return static_cast<double>(round_up(filters, group)) *
                   (static_cast<double>(ceil_div(of_channels * taps, warp_lanes)) * instructions::copy +
                    instructions::loop) +
               warps * instructions::loop;
    };
    const double bands_d = static_cast<double>(part.pieces);
    part.step.fmas = static_cast<double>(units) * outputs * t * here;
    part.step.turns = unit_warps * here * columns;
    part.step.copying =
        copying_of_band(band, channels) + copying_of_filters(std::min(part.tile_k, s.k), channels) / bands_d;
    part.step.instructions =
        part.step.fmas / 32.0 + units_of_band(band, std::min(part.tile_k, s.k), channels) + part.step.copying;
    const auto band_passes = [&](std::int64_t band_rows, std::int64_t filters, std::int64_t of_channels) {
        const Units its{ceil_div(filters, group), ceil_div(band_rows, rows) * s.q(), s.q(), rows * s.w};
        return static_cast<double>(of_channels) * (columns * column_loads * position_passes(its).taken +
                                                   t * group_passes(its, of_channels * taps * group, group));
    };
    part.step.shared_wavefronts = band_passes(band, std::min(part.tile_k, s.k), channels);
    part.step.load_bytes = here * static_cast<double>((band + s.r - 1) * s.w) * 4.0;
    part.drain.load_bytes = static_cast<double>(s.k) * here * t * 4.0;
    part.step.store_bytes = written_bytes_of_columns(s, rows) / static_cast<double>(s.output_bytes()) *
                            static_cast<double>(std::min(part.tile_k, s.k) * band * s.q()) * 4.0;
    part.drain.instructions = warps * instructions::warp;

    const std::int64_t last_band = s.p() - (part.pieces - 1) * band;
    const double all_units =
        static_cast<double>((part.pieces - 1) * ceil_div(band, rows) + ceil_div(last_band, rows)) *
        static_cast<double>(s.q() * ceil_div(s.k, group) * s.n); // of one channel part
    const double parts_d = static_cast<double>(part.parts), ctas = static_cast<double>(part.ctas);
    const double images = static_cast<double>(s.n), bytes = static_cast<double>(s.output_bytes());
    Work &work = part.work;
    work.fmas = all_units * all_channels * outputs * t;
    const std::int64_t last_filters = s.k - (filter_pieces - 1) * part.tile_k,
                       last_channels = s.c - (part.parts - 1) * channels;
    // Of all bands of a piece of filters, all pieces and CTAs; the last of each may be smaller.
    const auto of_all = [&](const auto &of_band, const auto &of_piece) {
        const auto piece = [&](std::int64_t filters, std::int64_t of_channels) {
            return (bands_d - 1.0) * of_band(band, filters, of_channels) +
                   of_band(last_band, filters, of_channels) + of_piece(filters, of_channels);
        };
        const auto cta = [&](std::int64_t of_channels) {
            return static_cast<double>(filter_pieces - 1) * piece(part.tile_k, of_channels) +
                   piece(last_filters, of_channels);
        };
        return images * (static_cast<double>(part.parts - 1) * cta(channels) + cta(last_channels));
    };
    work.shared_wavefronts = of_all(band_passes, [](std::int64_t, std::int64_t) { return 0.0; });
    work.shared_conflicts = 0.0;
    work.instructions = work.fmas.value_or(0.0) / 32.0 +
                        of_all(
                            [&](std::int64_t band_rows, std::int64_t filters, std::int64_t of_channels) {
                                return units_of_band(band_rows, filters, of_channels) +
                                       copying_of_band(band_rows, of_channels);
                            },
                            copying_of_filters) +
                        ctas * part.drain.instructions;
    const double band_bytes = (static_cast<double>(s.p()) / bands_d + static_cast<double>(s.r - 1)) *
                              static_cast<double>(s.w) * 4.0;
    const std::int64_t plane = s.h * s.w * 4, buffer = part.band_floats * 4;
    const Stride bands_apart{band * s.w * 4, part.pieces}, parts_apart{channels * plane, part.parts},
        images_apart{s.c * plane, s.n};
    const double map_bytes =
        wide ? wide_copy_bytes(band_bytes,
                               odd_halves(part.bank_floats * 4, {{buffer - plane, channels},
                                                                 {channels * buffer, knobs.stages},
                                                                 parts_apart,
                                                                 bands_apart,
                                                                 images_apart}),
                               odd_halves(0, {{plane, channels}, parts_apart, bands_apart, images_apart}))
             : spanned_bytes(band_bytes);
    work.l2_read_bytes = images * all_channels * static_cast<double>(filter_pieces) * bands_d * map_bytes +
                         ctas * static_cast<double>(s.k) * spanned_bytes(here * t * 4.0);
    work.l2_write_bytes = parts_d * written_bytes_of_columns(s, rows);
    part.partial_write_bytes = written_in_part(*work.l2_write_bytes, parts_d * bytes);
    work.dram_read_bytes = static_cast<double>(s.input_bytes() + s.filter_bytes());
    work.dram_write_bytes = beyond_l2(parts_d * bytes, gpu);
    out.paper_round_fmas = part.step.fmas;
    out.paper_round_bytes = part.step.load_bytes;
    average_step(part);
    const Partition sum = sum_launch(s, part.parts, gpu);
    out.plan.launches = {std::move(part), sum};
    return planned;
}

} // namespace convcast
