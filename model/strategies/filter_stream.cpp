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

namespace {

/// Filters of a CTA, all channels, in groups that a thread computes together.
struct Bank {
    const ConvShape &s;
    const GpuLimits &limits;
    std::int64_t filters = ceil_div(s.k, limits.sm_count), taps = s.r * s.s; ///< M', of a filter and channel
    std::int64_t group = filters > 4 ? 8 : filters > 2 ? 4 : filters, groups = ceil_div(filters, group);
    std::int64_t floats = round_up(groups * group * s.c * taps, 4);
    std::int64_t shared_floats = limits.shared_bytes_per_cta / 4; ///< that a CTA can have
};

/// Registers of a thread with `rows` pixels: sums, a column of pixels, filter values; places of the copies
/// and of the loads.
std::int64_t registers_for(const Bank &bank, std::int64_t rows) {
    const std::int64_t addresses = bank.s.r == 1 ? 44 : 36;
    return round_up(rows * bank.group + rows + bank.s.r - 1 + 2 * bank.group + addresses, 8);
}
std::int64_t cap_for(const Bank &bank, std::int64_t rows) {
    return std::clamp<std::int64_t>(registers_for(bank, rows), 48, 255);
}

/// Floats of a channel's pixels that a band of `height` output rows needs.
std::int64_t band_floats_of(const ConvShape &s, std::int64_t height) {
    return round_up((height + s.r - 1) * s.w, 4);
}

/// Chooses tile_h and channels, where a band has at most `row_groups` groups of rows. Why none fit, or "".
std::string choose_band(FilterStream &knobs, const Bank &bank, std::int64_t row_groups) {
    const ConvShape &s = bank.s;
    const std::int64_t chosen = knobs.tile_h, thread_rows = knobs.rows;
    std::int64_t channels =
        knobs.channels > 0
            ? knobs.channels
            : std::min(s.c, std::max<std::int64_t>(1, wanted_fmas / (thread_rows * bank.group * bank.taps)));
    const auto fits = [&](std::int64_t height) {
        return bank.floats + knobs.stages * channels * band_floats_of(s, height) <= bank.shared_floats;
    };
    std::int64_t band = 0;
    for (;;) {
        band = chosen > 0 ? chosen : std::min(row_groups, ceil_div(s.p(), thread_rows)) * thread_rows;
        while (chosen == 0 && band > thread_rows && !fits(band))
            band -= thread_rows;
        if (fits(band) || knobs.channels > 0 || channels == 1)
            break;
        channels /= 2;
    }
    if (!fits(band))
        return "beside the filters' " + std::to_string(bank.floats * 4) + " bytes, " +
               std::to_string(knobs.stages) + " buffers of " + std::to_string(channels) + " channels by " +
               std::to_string(band) + " rows do not fit in shared memory";
    if (chosen == 0) // bands of equal height
        band = round_up(ceil_div(s.p(), ceil_div(s.p(), band)), thread_rows);
    knobs.tile_h = static_cast<int>(band), knobs.channels = static_cast<int>(channels);
    return "";
}

/// Replaces automatic knobs by what runs. Why there is no such launch, or "".
std::string choose(FilterStream &knobs, const Bank &bank) {
    const ConvShape &s = bank.s;
    if (bank.floats >= bank.shared_floats)
        return "M' = " + std::to_string(bank.filters) + " filters of all channels need " +
               std::to_string(bank.floats * 4) + " bytes of shared memory, a CTA has " +
               std::to_string(bank.limits.shared_bytes_per_cta);
    if (knobs.rows == 0)
        for (knobs.rows = bank.group == 8 ? 4 : 8; knobs.rows > s.p(); knobs.rows /= 2) {
        }
    if ((knobs.rows & (knobs.rows - 1)) != 0)
        return "rows must be 1, 2, 4 or 8, got " + std::to_string(knobs.rows);
    const std::int64_t most_threads =
        std::min<std::int64_t>(bank.limits.max_threads_per_cta,
                               bank.limits.registers_per_sm / cap_for(bank, knobs.rows) / 128 * 128);
    const std::int64_t row_groups = most_threads / (bank.groups * s.q());
    if (registers_for(bank, knobs.rows) > 255 || row_groups < 1)
        return "a row of " + std::to_string(s.q()) + " outputs times " + std::to_string(bank.groups) +
               " groups of filters needs more threads or registers than a CTA has";
    if (knobs.tile_h % knobs.rows != 0)
        return "tile_h = " + std::to_string(knobs.tile_h) +
               " is no multiple of rows = " + std::to_string(knobs.rows);
    if (knobs.tile_h > row_groups * knobs.rows)
        return "tile_h = " + std::to_string(knobs.tile_h) + " rows need more than the " +
               std::to_string(most_threads) + " threads there can be";
    if (knobs.channels > s.c)
        return "channels = " + std::to_string(knobs.channels) + " exceeds the " + std::to_string(s.c) +
               " there are";
    return choose_band(knobs, bank, row_groups);
}

/// What follows from the filters of a CTA and the knobs.
struct Tiling : Bank {
    const FilterStream &knobs;
    std::int64_t thread_rows = knobs.rows, band = knobs.tile_h, pieces = ceil_div(s.p(), band);
    std::int64_t chunks = ceil_div(s.c, knobs.channels), steps = pieces * chunks; ///< chunks of channels
    std::int64_t row_groups = band / thread_rows, positions = row_groups * s.q(); ///< of threads, of a band
    std::int64_t warps = ceil_div(positions * groups, 32);
    bool wide = s.w % 4 == 0; ///< 16 bytes of the map in a copy
    // A band's last rows and the last CTA's filters may be fewer: their threads do nothing.
    std::int64_t ctas = ceil_div(s.k, filters); ///< of an image
    std::int64_t last_row_groups = ceil_div(s.p() - (pieces - 1) * band, thread_rows);
    std::int64_t last_groups = ceil_div(s.k - (ctas - 1) * filters, group);
    std::int64_t band_map_floats = (std::min(band, s.p()) + s.r - 1) * s.w; ///< of a channel
};

/// Grid, threads, shared memory, registers and how many CTAs an SM holds.
Partition launch_of(const Tiling &o, const Gpu &gpu) {
    const ConvShape &s = o.s;
    Partition part;
    part.kernel = FilterStream::name;
    part.template_arguments = {
        s.r, s.s, s.w, o.thread_rows, o.group, o.knobs.channels, o.knobs.stages, o.wide ? 1 : 0};
    part.variant = o.warps <= 2     ? "two warps at most" // each copies many times a step
                   : s.r * s.s == 1 ? "1 x 1" // nothing between the loads of one channel and the next
                                    : "";
    part.parts = o.limits.sm_count;
    part.pieces = o.pieces;
    part.tile_h = o.band;
    part.bank_floats = o.floats;
    part.band_floats = band_floats_of(s, o.band);
    part.shared_bytes = (o.floats + o.knobs.stages * o.knobs.channels * part.band_floats) * 4;
    part.register_cap = cap_for(o, o.thread_rows);
    part.grid = {o.ctas, s.n, 1};
    part.sharing_ctas = static_cast<double>(o.ctas);
    part.threads = 32 * o.warps;
    part.stages = o.knobs.stages;
    part.steps = o.steps;
    part.filter_count = s.k;
    part.busy_warps = o.warps;
    part.copy_passes =
        o.wide ? gpu.architecture.wide_copy_passes->value : gpu.architecture.narrow_copy_passes->value;
    part.independent_sums = o.thread_rows * o.group;
    part.ctas_per_sm = resident_ctas(gpu, part.threads, part.register_cap, part.shared_bytes);
    return part;
}

/// What a channel costs. Warp instructions beside arithmetic and loads, at the prices of instructions.hpp: of
/// a warp a channel and a column of taps of a loop; of a CTA's copies one, the start of a warp that has any
/// and of all.
struct Channel {
    double outputs = 0.0;                      ///< sums of a thread
    double pixel_loads = 0.0, tap_loads = 0.0; ///< of a warp; a filter value is the same for a warp
    double taps_at_once = 0.0;                 ///< that the kernel unrolls
    double instructions = 0.0, copying = 0.0;  ///< of a warp, with FMAs and loads; of a CTA's copies
};
Channel channel_of(const Tiling &o) {
    constexpr double most_unrolled = 512.0; // as the kernel does: all taps of a channel, or a column of them
    const double t = static_cast<double>(o.taps), warps = static_cast<double>(o.warps);
    Channel c;
    c.outputs = static_cast<double>(o.thread_rows * o.group);
    c.pixel_loads = static_cast<double>(o.s.s * (o.thread_rows + o.s.r - 1));
    c.tap_loads = t * std::ceil(static_cast<double>(o.group) / 4.0);
    const bool whole = c.outputs * t <= most_unrolled;
    c.taps_at_once = whole ? t : static_cast<double>(o.s.r);
    c.instructions = c.outputs * t + c.pixel_loads + c.tap_loads + instructions::iteration +
                     (whole ? 0.0 : static_cast<double>(o.s.s) * instructions::iteration);
    const double copies = // of all warps
        std::ceil(static_cast<double>(o.band_map_floats) / (o.wide ? 128.0 : 32.0));
    c.copying = copies * instructions::copy + std::min(copies, warps) * instructions::iteration +
                warps * instructions::loop;
    return c;
}

/// Passes of a channel, where a band has so many groups of rows and a CTA so many of filters: a thread's
/// place is that of a whole band, and in a lower one those of the missing rows do nothing.
Passes channel_passes(const Banks &banks, const Tiling &o, const Channel &c, std::int64_t row_groups,
                      std::int64_t filter_groups) {
    const std::int64_t row = o.s.q(), there = row_groups * row, pitch = o.thread_rows * o.s.w;
    const std::int64_t distance = o.s.c * o.taps * o.group;
    const int width = static_cast<int>(std::min<std::int64_t>(o.group, 4));
    if (there == o.positions || filter_groups == 1) {
        const Units its{filter_groups, there, row, pitch};
        const double of_taps = c.tap_loads * group_passes(banks, its, distance, width);
        Passes all = c.pixel_loads * position_passes(banks, its);
        return all += Passes{of_taps, of_taps};
    }
    const auto of_thread = [&](auto word) {
        return [&, word](std::int64_t i) {
            const std::int64_t position = i % o.positions;
            return position < there ? word(i / o.positions, position) : std::int64_t{-1};
        };
    };
    const std::int64_t threads = filter_groups * o.positions;
    const auto pixel = [&](std::int64_t, std::int64_t position) {
        return position / row * pitch + position % row;
    };
    const auto tap = [&](std::int64_t g, std::int64_t) { return g * distance; };
    Passes all = c.pixel_loads * shared_passes(banks, threads, 1, of_thread(pixel));
    return all += c.tap_loads * shared_passes(banks, threads, width, of_thread(tap));
}

/// Warps of a band with a thread that has work.
double computing_warps(const Tiling &o, std::int64_t row_groups, std::int64_t filter_groups) {
    const std::int64_t there = row_groups * o.s.q(), all = ceil_div(o.positions * filter_groups, 32);
    return static_cast<double>(there == o.positions ? all
                                                    : std::min(all, filter_groups * ceil_div(there, 32)));
}

/// Sum over all bands of all CTAs of an image: of count(groups of rows, groups of filters that there are).
template <class Count> auto over_bands(const Tiling &o, const Count &count) {
    const auto of_cta = [&](std::int64_t filter_groups) {
        auto sum = static_cast<double>(o.pieces - 1) * count(o.row_groups, filter_groups);
        return sum += count(o.last_row_groups, filter_groups);
    };
    auto sum = static_cast<double>(o.ctas - 1) * of_cta(o.groups);
    return sum += of_cta(o.last_groups);
}

/// A CTA's copies of its filters: of a filter, and the warp instructions of all: a copy of filter values, the
/// start of a warp that has any, and of all on a filter.
struct BankCopies {
    double of_filter, instructions;
};
BankCopies bank_copies_of(const Tiling &o) {
    const double warps = static_cast<double>(o.warps);
    const double copies = std::ceil(static_cast<double>(o.s.c * o.taps) / 32.0);
    return {copies, static_cast<double>(o.groups * o.group) *
                        (copies * instructions::copy + std::min(copies, warps) * instructions::loop +
                         warps * instructions::loop)};
}

/// Sets what a CTA does in a step and once.
void fill_cta(Partition &part, const Banks &banks, const Tiling &o, const Channel &c) {
    const double warps = static_cast<double>(o.warps), steps = static_cast<double>(o.steps);
    const double here = static_cast<double>(o.knobs.channels), t = static_cast<double>(o.taps);
    part.step.fmas = static_cast<double>(o.positions * o.groups) * c.outputs * t * here;
    part.step.turns = part.step.fmas / 32.0 / (c.outputs * c.taps_at_once);
    part.step.copying = here * c.copying + warps * instructions::warp;
    // A band's outputs come with its last channels; those of the last band, at the end.
    const double stores = c.outputs * instructions::placed_store * static_cast<double>(o.pieces - 1) / steps;
    part.step.instructions = warps * (here * c.instructions + stores) + part.step.copying;
    part.step.shared_wavefronts = here * channel_passes(banks, o, c, o.row_groups, o.groups).taken;
    part.step.load_bytes = here * static_cast<double>(o.band_map_floats) * 4.0;
    // A band is stored after its last channels; nothing covers the last band's stores.
    const double band_bytes = static_cast<double>(std::min(o.band, o.s.p()) * o.s.q() * o.filters) * 4.0;
    part.step.store_bytes = band_bytes * static_cast<double>(o.pieces - 1) / steps;
    part.drain.store_bytes = band_bytes;
    part.drain.load_bytes = static_cast<double>(o.filters * o.s.c * o.taps) * 4.0;
    const BankCopies bank = bank_copies_of(o);
    part.drain.instructions =
        warps * (instructions::warp + c.outputs * instructions::placed_store) + bank.instructions;
    // Lanes copy filter values a group apart, so that as many meet in a bank.
    part.drain.shared_wavefronts = static_cast<double>(o.filters) * bank.of_filter *
                                   std::max(0.0, static_cast<double>(o.group) - part.copy_passes);
}

/// What the cores and shared memory do in the whole launch.
Work core_work_of(const Banks &banks, const Tiling &o, const Channel &c, const Partition &part) {
    const ConvShape &s = o.s;
    const double images = static_cast<double>(s.n), channels = static_cast<double>(s.c);
    const double warps = static_cast<double>(o.warps);
    const double all_row_groups = static_cast<double>((o.pieces - 1) * o.row_groups + o.last_row_groups);
    const double all_groups =
        static_cast<double>(s.k / o.filters * o.groups + ceil_div(s.k % o.filters, o.group));
    const double active =
        images * all_groups * all_row_groups * static_cast<double>(s.q()); // threads, over all bands
    Work work;
    work.fmas = active * c.outputs * static_cast<double>(o.taps) * channels;
    const Passes passes = over_bands(o, [&](std::int64_t row_groups, std::int64_t filter_groups) {
        return channel_passes(banks, o, c, row_groups, filter_groups);
    });
    work.shared_wavefronts = images * channels * passes.taken;
    work.shared_conflicts = images * channels * passes.conflicts();
    const double all_warps = images * over_bands(o, [&](std::int64_t row_groups, std::int64_t filter_groups) {
                                 return computing_warps(o, row_groups, filter_groups);
                             });
    work.instructions =
        all_warps * (channels * c.instructions + c.outputs * instructions::placed_store) +
        static_cast<double>(part.ctas) * (static_cast<double>(o.pieces) * channels * c.copying +
                                          static_cast<double>(o.steps) * warps * instructions::warp +
                                          bank_copies_of(o).instructions + warps * instructions::warp);
    return work;
}

/// Bytes of the map that the SMs request from L2, and the share of them that can be coalesced: all CTAs of an
/// image pass over the same map, each on an SM of its own.
struct MapReads {
    double bytes, alike;
};
MapReads map_reads_of(const Tiling &o, const Partition &part, const Gpu &gpu) {
    const ConvShape &s = o.s;
    const double images = static_cast<double>(s.n), channels = static_cast<double>(s.c);
    const double parts = static_cast<double>(o.ctas);
    const double run_bytes =
        (static_cast<double>(s.p()) / static_cast<double>(o.pieces) + static_cast<double>(s.r - 1)) *
        static_cast<double>(s.w) * 4.0;
    if (!o.wide) {
        // Rows that bands have in common lie in L1 as far as it keeps them while a band passes.
        const double again = lost_from_l1(channels * run_bytes, part, gpu);
        const double bands_read = 1.0 + static_cast<double>(o.pieces - 1) * again;
        const double common_rows = static_cast<double>(o.pieces - 1) * static_cast<double>(s.r - 1);
        const double rows = static_cast<double>(s.h) + common_rows * again;
        return {images * channels * parts *
                    (rows * static_cast<double>(s.w) * 4.0 + bands_read * spanned_bytes(0.0)),
                1.0};
    }
    // Past L1.
    const std::int64_t plane = s.h * s.w * 4, buffer = part.band_floats * 4, step = o.knobs.channels * plane;
    const std::initializer_list<Stride> runs_apart = {
        {buffer - plane, o.knobs.channels},
        next_buffer(o.knobs.channels * buffer, step, o.knobs.stages, o.chunks),
        next_turn(step, o.knobs.stages, o.chunks),
        {-o.band * s.w * 4, o.pieces},
        {-s.c * plane, s.n}};
    const double crossed = odd_halves(part.bank_floats * 4, runs_apart);
    const double odd = odd_halves(0, {{plane, s.c}, {o.band * s.w * 4, o.pieces}, {s.c * plane, s.n}});
    const double map_runs = images * channels * static_cast<double>(o.pieces);
    return {map_runs * parts * wide_copy_bytes(run_bytes, crossed, odd),
            alike_in_lines(part.bank_floats * 4, runs_apart)};
}

/// Adds what L2 and DRAM see of the whole launch to its work.
void add_traffic(Partition &part, const Tiling &o, const Gpu &gpu) {
    const ConvShape &s = o.s;
    const double parts = static_cast<double>(o.ctas);
    const double bank_bytes =
        static_cast<double>(s.n) * parts * spanned_bytes(static_cast<double>(s.filter_bytes()) / parts);
    const MapReads map = map_reads_of(o, part, gpu);
    part.work.l2_read_bytes = map.bytes + bank_bytes;
    part.mergeable_reads = mergeable_reads(map.bytes * map.alike, {parts, 1.0}, part, gpu);
    part.work.l2_write_bytes = written_bytes_of_columns(s, o.thread_rows);
    part.partial_write_bytes =
        written_in_part(*part.work.l2_write_bytes, static_cast<double>(s.output_bytes()));
    fill_dram(part.work, s, gpu);
}

} // namespace

PlanResult<FilterStream> FilterStream::plan(const ConvShape &s, const Gpu &gpu) const {
    if (const std::string why = outside_papers(s); !why.empty())
        return Infeasible{why, true};
    Planned<FilterStream> planned;
    FilterStream &knobs = planned.strategy;
    knobs = *this;
    const Bank bank{s, gpu.limits};
    if (const std::string why = choose(knobs, bank); !why.empty())
        return Infeasible{why};
    const Tiling o{bank, knobs};

    Partition part = launch_of(o, gpu);
    if (part.ctas_per_sm < 1)
        return Infeasible{"a CTA of " + std::to_string(part.threads) + " threads with " +
                          std::to_string(part.shared_bytes) + " bytes of shared memory does not fit an SM"};
    fill_schedule(part, gpu.limits);
    const Channel channel = channel_of(o);
    const Banks banks = banks_of(gpu.profile);
    fill_cta(part, banks, o, channel);
    part.work = core_work_of(banks, o, channel, part);
    add_traffic(part, o, gpu);

    Feasible &out = planned.feasible;
    out.rules = table1_rules(gpu.profile);
    out.rules.remarks.push_back(cached_remark("the filters'", s.filter_bytes(), gpu.limits));
    out.paper_round_fmas = part.step.fmas;
    out.paper_round_bytes = part.step.load_bytes;
    average_step(part);
    out.plan.launches = {std::move(part)};
    return planned;
}

} // namespace convcast
