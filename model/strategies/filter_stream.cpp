// Chang, Figure 2(c): filters divided over the SMs, the whole map streamed by every SM.
#include "model/base/readable.hpp"
#include "model/strategies/strategy.hpp"

namespace convcast {
namespace {
/// FMAs of a thread in a step, where the plan chooses its channels; so it never chooses more channels than
/// this.
constexpr int wanted_fmas = 512;
/// A CTA keeps M' = ceil(M / N_sm) filters of all channels in shared memory while the map streams past it: a
/// step brings `channels` channels of a band of `tile_h` output rows. A thread owns `rows` pixels below each
/// other.
struct FilterStream {
    static constexpr About about{
        "filter_stream", "Chang Fig. 2(c): M' filters of all channels stay on an SM, the map streams", 8};
    int tile_h = 0, rows = 0, channels = 0, stages = 3;

    void knobs(const EachKnob &each) {
        each(tile_h, "tile_h", 0, 65536, {},
             "output rows of a band, a multiple of rows; 0: as many as the threads of a CTA own");
        each(rows, "rows", 0, 8, {1, 2, 4, 8},
             "pixels of a thread, below each other: 1, 2, 4 or 8; 0: 4 or 8");
        each(channels, "channels", 0, wanted_fmas, {1, 2, 4, 8},
             "channels of a step; 0: what gives a thread work");
        each(stages, "stages", 2, 4, {2, 3, 4}, "buffers of the prefetch pipeline");
    }
    Planned plan(const ConvShape &s, const Gpu &gpu);
    Walk walk(const ConvShape &s, const Gpu &gpu, const Partition &launch) const;
};
/// Filters of a CTA, all channels, in groups that a thread computes together.
struct Bank {
    const ConvShape &s;
    const Gpu &gpu;
    const GpuLimits &limits = gpu.limits;
    Banks banks = banks_of(gpu.profile); ///< of shared memory
    std::int64_t filters = ceil_div(s.k, std::int64_t{limits.sm_count}),
                 taps = s.r * s.s; ///< M', of a filter and channel
    std::int64_t group = filters > 4 ? 8 : filters > 2 ? 4 : filters, groups = ceil_div(filters, group);
    std::int64_t floats = round_up(groups * group * s.c * taps, 4);
    std::int64_t shared_floats = limits.shared_bytes_per_cta / 4; ///< that a CTA can have
    std::int64_t map_floats(std::int64_t rows) const { return (rows + s.r - 1) * s.w; } ///< of a channel
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

/// Chooses tile_h and channels, where a band has at most `row_groups` groups of rows. Why none fit, or "".
std::string choose_band(FilterStream &knobs, const Bank &bank, std::int64_t row_groups) {
    const ConvShape &s = bank.s;
    const std::int64_t chosen = knobs.tile_h, thread_rows = knobs.rows;
    std::int64_t channels =
        knobs.channels > 0
            ? knobs.channels
            : std::min(s.c, std::max<std::int64_t>(1, wanted_fmas / (thread_rows * bank.group * bank.taps)));
    const auto fits = [&](std::int64_t height) {
        return bank.floats + knobs.stages * channels * round_up(bank.map_floats(height), 4) <=
               bank.shared_floats;
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
    knobs.tile_h = int(band), knobs.channels = int(channels);
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
    const std::int64_t threads = most_threads(bank.limits, cap_for(bank, knobs.rows));
    const std::int64_t row_groups = threads / (bank.groups * s.q());
    if (registers_for(bank, knobs.rows) > 255 || row_groups < 1)
        return "a row of " + std::to_string(s.q()) + " outputs times " + std::to_string(bank.groups) +
               " groups of filters needs more threads or registers than a CTA has";
    if (knobs.tile_h % knobs.rows != 0)
        return "tile_h = " + std::to_string(knobs.tile_h) +
               " is no multiple of rows = " + std::to_string(knobs.rows);
    if (knobs.tile_h > row_groups * knobs.rows)
        return "tile_h = " + std::to_string(knobs.tile_h) + " rows need more than the " +
               std::to_string(threads) + " threads there can be";
    if (knobs.channels > s.c)
        return "channels = " + std::to_string(knobs.channels) + " exceeds the " + std::to_string(s.c) +
               " there are";
    return choose_band(knobs, bank, row_groups);
}

/// What follows from the filters of a CTA and the knobs. A band's last rows and the last CTA's filters may be
/// fewer: their threads do nothing.
struct Tiling : Bank {
    const FilterStream &knobs;
    Loop shares{s.k, filters}, bands{s.p(), knobs.tile_h}; ///< of filters, CTA by CTA; of rows of outputs
    std::int64_t chunks = ceil_div(s.c, knobs.channels);   ///< of channels, a step each
    std::int64_t positions = ceil_div(knobs.tile_h, knobs.rows) * s.q(); ///< of threads, of a band
    std::int64_t warps = ceil_div(positions * groups, 32);
    bool wide = s.w % 4 == 0; ///< 16 bytes of the map in a copy
};

/// Grid, threads, shared memory, registers and how many CTAs an SM holds.
Partition launch_of(const Tiling &o) {
    const ConvShape &s = o.s;
    const FilterStream &knobs = o.knobs;
    Partition part;
    part.kernel = FilterStream::about.name;
    part.template_arguments = {s.r,          s.s,           s.w, knobs.rows, o.group, knobs.channels,
                               knobs.stages, o.wide ? 1 : 0};
    part.variant = o.warps <= 2  ? "two warps at most" // each copies many times a step
                   : o.taps == 1 ? "1 x 1" // nothing between the loads of one channel and the next
                                 : "";
    part.parts = o.limits.sm_count;
    part.pieces = o.bands.turns();
    part.tile_h = knobs.tile_h;
    part.bank_floats = o.floats;
    part.band_floats = round_up(o.map_floats(knobs.tile_h), 4);
    part.shared_bytes = (o.floats + knobs.stages * knobs.channels * part.band_floats) * 4;
    part.register_cap = cap_for(o, knobs.rows);
    part.grid = {o.shares.turns(), s.n, 1};
    part.sharing_ctas = double(part.grid[0]);
    part.threads = 32 * o.warps;
    part.stages = knobs.stages;
    part.steps = part.pieces * o.chunks;
    part.filter_count = s.k;
    part.busy_warps = o.warps;
    part.copy_passes =
        o.wide ? o.gpu.architecture.wide_copy_passes->value : o.gpu.architecture.narrow_copy_passes->value;
    part.independent_sums = knobs.rows * o.group;
    part.ctas_per_sm = resident_ctas(o.gpu, part.threads, part.register_cap, part.shared_bytes);
    return part;
}

/// What the warps of a CTA with so many filters do in a band of so many rows, in so many channels, steps and
/// ends of the band. A thread's place is that of a whole band; of a lower one those of the missing rows do
/// nothing.
Activity band_of(const Tiling &o, std::int64_t filters, std::int64_t rows, std::int64_t channels,
                 std::int64_t steps, double ends) {
    constexpr std::int64_t most_unrolled = 512; // FFMAs, as the kernel does: all taps or a column of them
    const std::int64_t q = o.s.q(), pitch = o.knobs.rows * o.s.w, bank = o.s.c * o.taps * o.group;
    const std::int64_t groups = ceil_div(filters, o.group), there = ceil_div(rows, o.knobs.rows) * q;
    const std::int64_t threads = groups * o.positions, sums = o.knobs.rows * o.group, fmas = sums * o.taps;
    const auto of_lane = [&](auto word) {
        return [&, word](std::int64_t thread) {
            const std::int64_t position = thread % o.positions;
            return position < there ? word(thread / o.positions, position) : std::int64_t{-1};
        };
    };
    const Passes pixel =
        shared_passes(o.banks, threads, 1,
                      of_lane([&](auto, auto position) { return position / q * pitch + position % q; }));
    const int width = int(std::min<std::int64_t>(o.group, 4));
    const Passes tap =
        shared_passes(o.banks, threads, width, of_lane([&](auto group, auto) { return group * bank; }));
    const auto warps = static_cast<std::int64_t>(pixel.least); // that compute: without conflicts a pass each
    const std::int64_t copies = ceil_div(o.map_floats(rows), o.wide ? 128 : 32);
    return double(channels) * (does::ffmas(groups * there, warps, fmas) +
                               does::loads(o.s.s * (o.knobs.rows + o.s.r - 1), pixel, warps) +
                               does::loads(o.taps * ceil_div(o.group, width), tap, warps) +
                               does::iterations(warps, fmas <= most_unrolled ? 0 : o.s.s) +
                               does::copies(o.warps, copies, std::min(o.warps, copies)) +
                               does::fetched(o.map_floats(rows))) +
           does::starts(steps * o.warps) +
           ends * (does::placed_stores(warps * sums) + does::stored(rows * q * filters));
}

/// Counts a full step, what a CTA does once, and the launch.
void fill_counts(Partition &part, const Tiling &o) {
    const std::int64_t slots = o.groups * o.group, copies = ceil_div(o.s.c * o.taps, 32); // of a filter
    const Activity once = does::starts(o.warps) + does::fetched(o.filters * o.s.c * o.taps) +
                          does::copies(slots * o.warps, slots * copies, slots * std::min(o.warps, copies));
    set_core_work(part,
                  double(part.ctas) * once +
                      double(o.s.n) * over(o.shares, o.bands, [&](std::int64_t filters, std::int64_t rows) {
                          return band_of(o, filters, rows, o.s.c, o.chunks, 1.0);
                      }));
    // A band's outputs come with its last channels; those of the last band, at the end.
    const std::int64_t rows = std::min<std::int64_t>(o.knobs.tile_h, o.s.p());
    const double ends = double(part.pieces - 1) / double(part.steps);
    part.step = band_of(o, o.filters, rows, o.knobs.channels, 1, ends).work;
    part.drain = (once + band_of(o, o.filters, rows, 0, 0, 1.0)).work;
    // Lanes copy filter values a group apart, so that as many meet in a bank.
    part.drain.shared_wavefronts =
        double(o.filters * copies) * std::max(0.0, double(o.group) - part.copy_passes);
}

/// What L2 sees of the copies of a channel of an image by one CTA.
CopiedBytes map_reads_of(const Tiling &o, const Partition &part) {
    const std::int64_t plane = o.s.h * o.s.w * 4, bands = part.pieces, channels = o.knobs.channels;
    const double run_bytes = band_bytes(o.s, bands), runs = double(bands);
    if (!o.wide) { // rows that bands have in common lie in L1 as far as it keeps them while a band passes
        const double kept = kept_by_l1(spanned_bytes(double(plane)), runs * spanned_bytes(run_bytes),
                                       double(o.s.c) * run_bytes, part, o.gpu);
        return {kept, kept};
    }
    return copied({true,
                   runs,
                   run_bytes,
                   part.bank_floats * 4,
                   {{channels, plane, part.band_floats * 4},
                    {o.chunks, channels * plane, channels * part.band_floats * 4, part.stages},
                    {bands, part.tile_h * o.s.w * 4},
                    {o.s.n, o.s.c * plane}}});
}

/// Adds what L2 and DRAM see of the whole launch to its work.
void add_traffic(Partition &part, const Tiling &o) {
    const ConvShape &s = o.s;
    const double parts = double(part.grid[0]), ctas = double(part.ctas);
    const CopiedBytes map = map_reads_of(o, part);
    part.work.l2_read_bytes =
        ctas * (double(s.c) * map.requested + spanned_bytes(double(s.filter_bytes()) / parts));
    // All CTAs of an image pass over the same map, each on an SM of its own.
    part.mergeable_reads = mergeable_reads(ctas * double(s.c) * map.alike, {parts, 1.0}, part, o.gpu);
    part.work.l2_write_bytes = written_bytes_of_columns(s, o.knobs.rows);
    part.partial_write_bytes = written_in_part(*part.work.l2_write_bytes, double(s.output_bytes()));
    fill_dram(part.work, s, o.gpu);
}

} // namespace

Planned FilterStream::plan(const ConvShape &s, const Gpu &gpu) {
    if (const std::string why = outside_papers(s); !why.empty())
        return Infeasible{why, true};
    const Bank bank{s, gpu};
    if (const std::string why = choose(*this, bank); !why.empty())
        return Infeasible{why};
    const Tiling o{bank, *this};
    Partition part = launch_of(o);
    if (const std::string why = does_not_fit(part); !why.empty())
        return Infeasible{why};
    fill_schedule(part, gpu.limits);
    fill_counts(part, o);
    add_traffic(part, o);
    Feasible out = plan_of_launch(std::move(part), gpu);
    out.rules.remarks.push_back(cached_remark("the filters'", s.filter_bytes(), gpu.limits));
    average_step(out.plan.launches.front());
    return out;
}

Walk FilterStream::walk(const ConvShape &s, const Gpu &gpu, const Partition &launch) const {
    const Tiling o{Bank{s, gpu}, *this};
    Walk walk(s, launch);
    walk.cuts = {{&OutputBox::images, 1, 1},
                 {&OutputBox::filters, o.shares.tile, 0},
                 {&OutputBox::rows, o.bands.tile}};
    walk.step_channels = channels;
    walk.filters_stay = true;
    walk.buffers = {{"filters", CopiedTensor::filters, launch.bank_floats * 4, 1},
                    {"map", CopiedTensor::map, channels * launch.band_floats * 4, stages}};
    walk.threads = {o.positions, std::max<std::int64_t>(1, launch.threads / o.positions), rows, 1, o.group};
    walk.pixels = band_pixels(s, tile_h);
    walk.remark = "M' = " + count_text(o.filters, "filter") +
                  " of all channels stay on the SM. The map streams past, " +
                  count_text(channels, "channel") + " of " + count_text(walk.pixels.rows, "row") + " a step.";
    return walk;
}

namespace strategies {
const StrategyKind &filter_stream() {
    return kind_of<FilterStream>();
}
} // namespace strategies

} // namespace convcast
