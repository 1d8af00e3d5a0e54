#include "model/strategies/filter_stream.hpp"

#include "model/paper/papers.hpp"
#include "model/work/instructions.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

using papers::ceil_div;
using papers::round_up;

namespace {
/// FMAs of a thread in a step, where the plan chooses its channels; so it never chooses more channels than
/// this.
constexpr int wanted_fmas = 512;
} // namespace

const std::vector<Knob<FilterStream>> &FilterStream::knobs() {
    static const std::vector<Knob<FilterStream>> list = {
        {"tile_h",
         &FilterStream::tile_h,
         0,
         65536,
         {},
         "output rows of a band, a multiple of rows; 0: as many as the threads of a CTA own"},
        {"rows",
         &FilterStream::rows,
         0,
         8,
         {1, 2, 4, 8},
         "pixels of a thread, below each other: 1, 2, 4 or 8; 0: 4 or 8"},
        {"channels",
         &FilterStream::channels,
         0,
         wanted_fmas,
         {1, 2, 4, 8},
         "channels of a step; 0: what gives a thread work"},
        {"stages", &FilterStream::stages, 2, 4, {2, 3, 4}, "buffers of the prefetch pipeline"},
    };
    return list;
}

PlanResult<FilterStream> FilterStream::plan(const ConvShape &s, const Gpu &gpu) const {
    if (const std::string why = outside_papers(s); !why.empty())
        return Infeasible{why, true};
    Planned<FilterStream> planned;
    FilterStream &knobs = planned.strategy;
    knobs = *this;
    Feasible &out = planned.feasible;
    out.rules = table1_rules(gpu.profile);
    out.rules.remarks.push_back(cached_remark("the filters'", s.filter_bytes(), gpu.limits));
    const GpuLimits &limits = gpu.limits;

    Partition part;
    part.kernel = name;
    part.parts = limits.sm_count;
    const std::int64_t filters = ceil_div(s.k, part.parts), taps = s.r * s.s;
    const std::int64_t group = filters > 4 ? 8 : filters > 2 ? 4 : filters;
    const std::int64_t groups = ceil_div(filters, group);
    part.bank_floats = round_up(groups * group * s.c * taps, 4);
    const std::int64_t shared_floats = limits.shared_bytes_per_cta / 4;
    if (part.bank_floats >= shared_floats)
        return Infeasible{"M' = " + std::to_string(filters) + " filters of all channels need " +
                          std::to_string(part.bank_floats * 4) + " bytes of shared memory, a CTA has " +
                          std::to_string(limits.shared_bytes_per_cta)};

    if (knobs.rows == 0)
        for (knobs.rows = group == 8 ? 4 : 8; knobs.rows > s.p(); knobs.rows /= 2) {
        }
    const std::int64_t thread_rows = knobs.rows;
    if ((thread_rows & (thread_rows - 1)) != 0)
        return Infeasible{"rows must be 1, 2, 4 or 8, got " + std::to_string(thread_rows)};
    // Sums, a column of pixels, filter values; places of the copies and of the loads.
    const std::int64_t addresses = s.r == 1 ? 44 : 36;
    const std::int64_t registers =
        round_up(thread_rows * group + thread_rows + s.r - 1 + 2 * group + addresses, 8);
    part.register_cap = std::clamp<std::int64_t>(registers, 48, 255);
    const std::int64_t most_threads = std::min<std::int64_t>(
        limits.max_threads_per_cta, limits.registers_per_sm / part.register_cap / 128 * 128);
    const std::int64_t row_groups = most_threads / (groups * s.q());
    if (registers > 255 || row_groups < 1)
        return Infeasible{"a row of " + std::to_string(s.q()) + " outputs times " + std::to_string(groups) +
                          " groups of filters needs more threads or registers than a CTA has"};

    const std::int64_t chosen = knobs.tile_h;
    if (chosen % thread_rows != 0)
        return Infeasible{"tile_h = " + std::to_string(chosen) +
                          " is no multiple of rows = " + std::to_string(thread_rows)};
    if (chosen > row_groups * thread_rows)
        return Infeasible{"tile_h = " + std::to_string(chosen) + " rows need more than the " +
                          std::to_string(most_threads) + " threads there can be"};
    if (knobs.channels > s.c)
        return Infeasible{"channels = " + std::to_string(knobs.channels) + " exceeds the " +
                          std::to_string(s.c) + " there are"};
    std::int64_t step_channels =
        knobs.channels > 0
            ? knobs.channels
            : std::min(s.c, std::max<std::int64_t>(1, wanted_fmas / (thread_rows * group * taps)));
    std::int64_t band = 0;
    const auto fits = [&](std::int64_t height) {
        part.band_floats = round_up((height + s.r - 1) * s.w, 4);
        return part.bank_floats + knobs.stages * step_channels * part.band_floats <= shared_floats;
    };
    for (;;) {
        band = chosen > 0 ? chosen : std::min(row_groups, ceil_div(s.p(), thread_rows)) * thread_rows;
        while (chosen == 0 && band > thread_rows && !fits(band))
            band -= thread_rows;
        if (fits(band) || knobs.channels > 0 || step_channels == 1)
            break;
        step_channels /= 2;
    }
    if (!fits(band))
        return Infeasible{"beside the filters' " + std::to_string(part.bank_floats * 4) + " bytes, " +
                          std::to_string(knobs.stages) + " buffers of " + std::to_string(step_channels) +
                          " channels by " + std::to_string(band) + " rows do not fit in shared memory"};
    part.pieces = ceil_div(s.p(), band);
    if (chosen == 0) // bands of equal height
        band = round_up(ceil_div(s.p(), part.pieces), thread_rows);
    fits(band);
    knobs.tile_h = static_cast<int>(band), knobs.channels = static_cast<int>(step_channels);
    part.tile_h = band;
    part.pieces = ceil_div(s.p(), band);

    const bool wide = s.w % 4 == 0;
    part.template_arguments = {s.r, s.s, s.w, thread_rows, group, step_channels, knobs.stages, wide ? 1 : 0};
    part.grid = {ceil_div(s.k, filters), s.n, 1};
    part.sharing_ctas = static_cast<double>(part.grid[0]);
    const std::int64_t positions = band / thread_rows * s.q();
    part.threads = round_up(positions * groups, 32);
    part.stages = knobs.stages;
    const std::int64_t chunks = ceil_div(s.c, step_channels);
    part.steps = part.pieces * chunks;
    part.filter_count = s.k;
    part.busy_warps = part.threads / 32;
    part.variant = part.threads <= 64 ? "two warps at most" // each copies many times a step
                   : s.r * s.s == 1   ? "1 x 1" // nothing between the loads of one channel and the next
                                      : "";
    part.copy_passes =
        wide ? gpu.architecture.wide_copy_passes->value : gpu.architecture.narrow_copy_passes->value;
    part.independent_sums = thread_rows * group;
    part.shared_bytes = (part.bank_floats + knobs.stages * step_channels * part.band_floats) * 4;
    part.ctas_per_sm = resident_ctas(gpu, part.threads, part.register_cap, part.shared_bytes);
    if (part.ctas_per_sm < 1)
        return Infeasible{"a CTA of " + std::to_string(part.threads) + " threads with " +
                          std::to_string(part.shared_bytes) + " bytes of shared memory does not fit an SM"};
    fill_schedule(part, limits);

    const double warps = static_cast<double>(part.busy_warps);
    const double t = static_cast<double>(taps);
    // Of a channel; a filter value is the same for a warp.
    const double pixel_loads = static_cast<double>(s.s * (thread_rows + s.r - 1));
    const double tap_loads = t * std::ceil(static_cast<double>(group) / 4.0);
    // Passes of a channel, where a band has so many groups of rows and a CTA so many of filters: a thread's
    // place is that of a whole band, and in a lower one those of the missing rows do nothing.
    const auto channel_passes = [&](std::int64_t rows_of_threads, std::int64_t filter_groups) {
        const std::int64_t there = rows_of_threads * s.q(), pitch = thread_rows * s.w;
        const std::int64_t distance = s.c * taps * group;
        const int width = static_cast<int>(std::min<std::int64_t>(group, 4));
        if (there == positions || filter_groups == 1) {
            const Units its{filter_groups, there, s.q(), pitch};
            const double of_taps = tap_loads * group_passes(its, distance, width);
            Passes all = pixel_loads * position_passes(its);
            return all += Passes{of_taps, of_taps};
        }
        const auto of_thread = [&](auto word) {
            return [&, word](std::int64_t i) {
                const std::int64_t position = i % positions;
                return position < there ? word(i / positions, position) : std::int64_t{-1};
            };
        };
        const std::int64_t threads = filter_groups * positions;
        Passes all =
            pixel_loads * shared_passes(threads, 1, of_thread([&](std::int64_t, std::int64_t position) {
                                            return position / s.q() * pitch + position % s.q();
                                        }));
        return all += tap_loads * shared_passes(threads, width, of_thread([&](std::int64_t g, std::int64_t) {
                                                    return g * distance;
                                                }));
    };
    // Warp instructions beside arithmetic and loads, as counted on sm_90: a warp's copy from a channel, its
    // start where it has any and on a channel, a channel that it computes, a column of taps of a loop; a
    // step; a copy of filter values, the start of a warp that has any, and of all on a filter; an output, the
    // start.
    constexpr double most_unrolled = 512.0; // as the kernel does: all taps of a channel, or a column of them
    const double outputs = static_cast<double>(thread_rows * group),
                 here = static_cast<double>(step_channels);
    const double copies = // of all warps
        std::ceil(static_cast<double>((std::min(band, s.p()) + s.r - 1) * s.w) / (wide ? 128.0 : 32.0));
    const bool whole = outputs * t <= most_unrolled;
    const double channel_instructions = outputs * t + pixel_loads + tap_loads + instructions::iteration +
                                        (whole ? 0.0 : static_cast<double>(s.s) * instructions::iteration);
    const double channel_copying = copies * instructions::copy +
                                   std::min(copies, warps) * instructions::iteration +
                                   warps * instructions::loop;
    part.step.fmas = static_cast<double>(positions * groups) * outputs * t * here;
    part.step.turns = part.step.fmas / 32.0 / (outputs * (whole ? t : static_cast<double>(s.r)));
    part.step.copying = here * channel_copying + warps * instructions::warp;
    // A band's outputs come with its last channels; those of the last band, at the end.
    const double stores = outputs * instructions::placed_store * static_cast<double>(part.pieces - 1) /
                          static_cast<double>(part.steps);
    part.step.instructions = warps * (here * channel_instructions + stores) + part.step.copying;
    part.step.shared_wavefronts = here * channel_passes(band / thread_rows, groups).taken;
    part.step.load_bytes = here * static_cast<double>((std::min(band, s.p()) + s.r - 1) * s.w) * 4.0;
    // A band is stored after its last channels; nothing covers the last band's stores.
    const double band_bytes = static_cast<double>(std::min(band, s.p()) * s.q() * filters) * 4.0;
    part.step.store_bytes =
        band_bytes * static_cast<double>(part.pieces - 1) / static_cast<double>(part.steps);
    part.drain.store_bytes = band_bytes;
    part.drain.load_bytes = static_cast<double>(filters * s.c * taps) * 4.0;
    const double bank_copies = std::ceil(static_cast<double>(s.c * taps) / 32.0); // of a filter
    const double bank_copying =
        static_cast<double>(groups * group) *
        (bank_copies * instructions::copy + std::min(bank_copies, warps) * instructions::loop +
         warps * instructions::loop);
    part.drain.instructions =
        warps * (instructions::warp + outputs * instructions::placed_store) + bank_copying;

    // Lanes copy filter values a group apart, so that as many meet in a bank.
    part.drain.shared_wavefronts = static_cast<double>(filters) * bank_copies *
                                   std::max(0.0, static_cast<double>(group) - part.copy_passes);

    // A band's last rows and the last CTA's filters may be fewer: their threads do nothing.
    const std::int64_t last_band = s.p() - (part.pieces - 1) * band;
    const double all_row_groups =
        static_cast<double>((part.pieces - 1) * (band / thread_rows) + ceil_div(last_band, thread_rows));
    const double all_groups = static_cast<double>(s.k / filters * groups + ceil_div(s.k % filters, group));
    const double images = static_cast<double>(s.n), ctas = static_cast<double>(part.ctas);
    const double channels_d = static_cast<double>(s.c);
    const double active =
        images * all_groups * all_row_groups * static_cast<double>(s.q()); // threads, over all bands
    Work &work = part.work;
    work.fmas = active * outputs * t * channels_d;
    const auto cta_passes = [&](std::int64_t filter_groups) { // of all bands, of a channel
        Passes all = static_cast<double>(part.pieces - 1) * channel_passes(band / thread_rows, filter_groups);
        return all += channel_passes(ceil_div(last_band, thread_rows), filter_groups);
    };
    const std::int64_t last_filters = s.k - (part.grid[0] - 1) * filters;
    Passes passes = static_cast<double>(part.grid[0] - 1) * cta_passes(groups);
    passes += cta_passes(ceil_div(last_filters, group));
    work.shared_wavefronts = images * channels_d * passes.taken;
    work.shared_conflicts = images * channels_d * passes.conflicts();
    // Warps with a thread that has work; of a band.
    const auto computing_warps = [&](std::int64_t rows_of_threads, std::int64_t filter_groups) {
        const std::int64_t there = rows_of_threads * s.q(), all = ceil_div(positions * filter_groups, 32);
        return static_cast<double>(there == positions ? all
                                                      : std::min(all, filter_groups * ceil_div(there, 32)));
    };
    const auto cta_warps = [&](std::int64_t filter_groups) { // of all bands
        return static_cast<double>(part.pieces - 1) * computing_warps(band / thread_rows, filter_groups) +
               computing_warps(ceil_div(last_band, thread_rows), filter_groups);
    };
    const double all_warps = images * (static_cast<double>(part.grid[0] - 1) * cta_warps(groups) +
                                       cta_warps(ceil_div(s.k - (part.grid[0] - 1) * filters, group)));
    work.instructions =
        all_warps * (channels_d * channel_instructions + outputs * instructions::placed_store) +
        ctas * (static_cast<double>(part.pieces) * channels_d * channel_copying +
                static_cast<double>(part.steps) * warps * instructions::warp + bank_copying +
                warps * instructions::warp);
    const double run_bytes =
        (static_cast<double>(s.p()) / static_cast<double>(part.pieces) + static_cast<double>(s.r - 1)) *
        static_cast<double>(s.w) * 4.0;
    const std::int64_t plane = s.h * s.w * 4, buffer = part.band_floats * 4;
    const Stride bands_apart{band * s.w * 4, part.pieces}, images_apart{s.c * plane, s.n};
    const double map_runs = images * channels_d * static_cast<double>(part.pieces);
    const double parts = static_cast<double>(part.grid[0]);
    const double bank_bytes = images * parts * spanned_bytes(static_cast<double>(s.filter_bytes()) / parts);
    // All CTAs of an image pass over the same map, each on an SM of its own.
    // Rows that bands have in common lie in L1 as far as it keeps them while a band passes.
    const double again = lost_from_l1(channels_d * run_bytes, part, gpu);
    const double bands_read = 1.0 + static_cast<double>(part.pieces - 1) * again;
    const double common_rows = static_cast<double>(part.pieces - 1) * static_cast<double>(s.r - 1);
    double map_reads = images * channels_d * parts *
                       ((static_cast<double>(s.h) + common_rows * again) * static_cast<double>(s.w) * 4.0 +
                        bands_read * spanned_bytes(0.0)),
           alike = 1.0;
    if (wide) { // past L1
        const std::initializer_list<Stride> runs_apart = {
            {buffer - plane, step_channels},
            next_buffer(step_channels * buffer, step_channels * plane, knobs.stages, chunks),
            next_turn(step_channels * plane, knobs.stages, chunks),
            {-band * s.w * 4, part.pieces},
            {-s.c * plane, s.n}};
        const double crossed = odd_halves(part.bank_floats * 4, runs_apart);
        const double odd = odd_halves(0, {{plane, s.c}, bands_apart, images_apart});
        map_reads = map_runs * parts * wide_copy_bytes(run_bytes, crossed, odd);
        alike = alike_in_lines(part.bank_floats * 4, runs_apart);
    }
    work.l2_read_bytes = map_reads + bank_bytes;
    part.mergeable_reads = mergeable_reads(map_reads * alike, {parts, 1.0}, part, gpu);
    work.l2_write_bytes = written_bytes_of_columns(s, thread_rows);
    part.partial_write_bytes = written_in_part(*work.l2_write_bytes, static_cast<double>(s.output_bytes()));
    fill_dram(work, s, gpu);
    out.paper_round_fmas = part.step.fmas;
    out.paper_round_bytes = part.step.load_bytes;
    average_step(part);
    out.plan.launches = {std::move(part)};
    return planned;
}

} // namespace convcast
