// Chang, Figure 2(c): filters divided over the SMs, the whole map streamed by every SM.
#include "model/base/readable.hpp"
#include "model/strategies/strategy.hpp"

namespace convcast {
namespace {
/// FMAs of a thread in a step for which the plan chooses channels, chosen; so it never takes more channels.
constexpr int wanted_fmas = 512;
struct Bank;

/// A CTA keeps M' = ceil(k / N_sm) filters of all channels in shared memory while the map streams past it: a
/// step brings `channels` channels of a band of `tile_h` output rows. A thread computes `rows` outputs below
/// each other.
struct FilterStream {
    static constexpr About about{
        "filter_stream", "Chang Fig. 2(c): M' filters of all channels stay on an SM, the map streams", 8};
    int tile_h = 0, rows = 0, channels = 0, stages = 3;

    void knobs(const EachKnob &each) {
        each(tile_h, "tile_h", 0, 65536, {},
             "output rows of a band, a multiple of rows; 0: as many as the threads of a CTA can compute at "
             "once, if they fit");
        each(rows, "rows", 0, 8, {1, 2, 4, 8},
             "pixels of a thread, below each other: 1, 2, 4 or 8; 0: 4 or 8");
        each(channels, "channels", 0, wanted_fmas, {1, 2, 4, 8},
             "channels of a step; 0: as many as give a thread 512 multiply-adds, if they fit");
        each(stages, "stages", 2, 4, {2, 3, 4}, "buffers of the prefetch pipeline");
    }
    static std::string outside(const ConvShape &s) { return outside_papers(s); }
    std::string settle(const ConvShape &s, const Gpu &gpu);
    /// Chooses tile_h and channels for bands of at most `row_groups` groups of rows. Why none fit, or "".
    std::string settle_band(const Bank &bank, std::int64_t row_groups);
    Planned plan(const ConvShape &s, const Gpu &gpu);
    void walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const;
};

/// The filters of a CTA, all channels, in groups that a thread computes together.
struct Bank {
    const ConvShape &s;
    const Gpu &gpu;
    const GpuLimits &limits = gpu.limits;
    Banks banks = banks_of(gpu.profile); ///< of shared memory
    std::int64_t filters = ceil_div(s.k, std::int64_t{limits.sm_count}),
                 taps = s.r * s.s; ///< M'; of a channel
    std::int64_t group = filters > 4 ? 8 : filters > 2 ? 4 : filters, groups = ceil_div(filters, group);
    std::int64_t floats = round_up(groups * group * s.c * taps, 4);
    std::int64_t shared_floats = limits.shared_bytes_per_cta / 4; ///< that a CTA can have
    /// Floats of a channel that `rows` output rows are computed from.
    std::int64_t map_floats(std::int64_t rows) const { return (rows + s.r - 1) * s.w; }
};

/// Registers of a thread with `rows` pixels: sums, a column of pixels, filter values, addresses.
std::int64_t registers_for(const Bank &bank, std::int64_t rows) {
    const std::int64_t addresses = bank.s.r == 1 ? 44 : 36;
    return round_up(rows * bank.group + rows + bank.s.r - 1 + 2 * bank.group + addresses, 8);
}
std::int64_t cap_for(const Bank &bank, std::int64_t rows) {
    return std::clamp<std::int64_t>(registers_for(bank, rows), 48, 255);
}

/// Gives the free knobs their values. Returns why a given one is wrong or does not fit, or "".
std::string FilterStream::settle(const ConvShape &s, const Gpu &gpu) {
    const Bank bank{s, gpu};
    if (bank.floats >= bank.shared_floats)
        return fmt::format("M' = {} filters of all channels need {} bytes of shared memory besides room for "
                           "the map, a CTA has {}",
                           bank.filters, bank.floats * 4, bank.limits.shared_bytes_per_cta);
    if (rows == 0)
        for (rows = bank.group == 8 ? 4 : 8; rows > s.p(); rows /= 2) {
        }
    if ((rows & (rows - 1)) != 0)
        return fmt::format("rows must be 1, 2, 4 or 8, got {}", rows);
    const std::int64_t threads = most_threads(bank.limits, cap_for(bank, rows)),
                       row_groups = threads / (bank.groups * s.q());
    if (registers_for(bank, rows) > 255 || row_groups < 1)
        return fmt::format(
            "a row of {} outputs times {} groups of filters needs more threads or registers than a "
            "CTA has",
            s.q(), bank.groups);
    if (tile_h % rows != 0)
        return fmt::format("tile_h = {} is no multiple of rows = {}", tile_h, rows);
    if (tile_h > row_groups * rows)
        return fmt::format("tile_h = {} rows need more than the {} threads there can be", tile_h, threads);
    if (channels > s.c)
        return fmt::format("channels = {} exceeds the {} there are", channels, s.c);
    return settle_band(bank, row_groups);
}

std::string FilterStream::settle_band(const Bank &bank, std::int64_t row_groups) {
    const ConvShape &s = bank.s;
    std::int64_t together =
        channels > 0
            ? channels
            : std::min(s.c, std::max<std::int64_t>(1, wanted_fmas / (rows * bank.group * bank.taps)));
    const auto fits = [&](std::int64_t height) {
        return bank.floats + stages * together * round_up(bank.map_floats(height), 4) <= bank.shared_floats;
    };
    std::int64_t band = 0;
    for (;;) {
        band = tile_h > 0 ? tile_h : std::min(row_groups, ceil_div(s.p(), rows)) * rows;
        while (tile_h == 0 && band > rows && !fits(band))
            band -= rows;
        if (fits(band) || channels > 0 || together == 1)
            break;
        together /= 2;
    }
    if (!fits(band))
        return fmt::format(
            "beside the filters' {} bytes, {} buffers of {} channels by {} rows do not fit in shared "
            "memory",
            bank.floats * 4, stages, together, band);
    if (tile_h == 0) // bands of equal height
        band = round_up(ceil_div(s.p(), ceil_div(s.p(), band)), rows);
    tile_h = int(band), channels = int(together);
    return "";
}

/// What follows from the filters of a CTA and settled knobs. The last band may have fewer rows, and the last
/// CTA fewer filters: threads without any do nothing.
struct Tiling : Bank, FilterStream {
    Loop shares{s.k, filters}, bands{s.p(), tile_h};         ///< of filters, CTA by CTA; of rows of outputs
    std::int64_t chunks = ceil_div(s.c, channels);           ///< steps of a band
    std::int64_t positions = ceil_div(tile_h, rows) * s.q(); ///< threads of a band for each group of filters
    std::int64_t warps = ceil_div(positions * groups, 32);
    bool wide = s.w % 4 == 0; ///< 16 bytes of the map in a copy
};

/// Grid, threads, shared memory, registers and how many CTAs an SM holds.
Partition launch_of(const Tiling &o) {
    const ConvShape &s = o.s;
    const std::int64_t band_floats = round_up(o.map_floats(o.tile_h), 4);
    Partition part = launch_of_ctas(
        FilterStream::about.name, {o.shares.turns(), s.n, 1},
        {32 * o.warps, cap_for(o, o.rows), (o.floats + o.stages * o.channels * band_floats) * 4}, o.gpu);
    part.template_arguments = {s.r, s.s, s.w, o.rows, o.group, o.channels, o.stages, o.wide};
    part.variant = o.warps <= 2  ? "two warps at most" // each makes many copies in a step
                   : o.taps == 1 ? "1 x 1" // loads of a channel follow those of the one before at once
                                 : "";
    part.parts = o.limits.sm_count;
    part.pieces = o.bands.turns();
    part.tile_h = o.tile_h;
    part.bank_floats = o.floats;
    part.band_floats = band_floats;
    part.sharing_ctas = double(part.grid[0]);
    part.stages = o.stages;
    part.steps = part.pieces * o.chunks;
    part.filter_count = s.k;
    part.copy_passes = copy_passes(o.wide, o.gpu);
    part.independent_sums = o.rows * o.group;
    return part;
}

/// What the warps of a CTA with `filters` filters do in a band of `rows` output rows: for `channels` channels
/// and `steps` steps. `ends`: how many bands end and store their outputs. Threads have the places of a full
/// band; in a lower one those of the missing rows do nothing.
Activity band_of(const Tiling &o, std::int64_t filters, std::int64_t rows, std::int64_t channels,
                 std::int64_t steps, double ends) {
    constexpr std::int64_t most_unrolled = 512; // FFMAs, as the kernel does: all taps or a column of them
    const std::int64_t q = o.s.q(), pitch = o.rows * o.s.w, bank = o.s.c * o.taps * o.group;
    const std::int64_t groups = ceil_div(filters, o.group), active = ceil_div(rows, o.rows) * q;
    const std::int64_t threads = groups * o.positions, sums = o.rows * o.group, fmas = sums * o.taps;
    const auto of_lane = [&](auto word) {
        return [&, word](std::int64_t thread) {
            const std::int64_t position = thread % o.positions;
            return position < active ? word(thread / o.positions, position) : std::int64_t{-1};
        };
    };
    const Passes pixel =
        shared_passes(o.banks, threads, 1,
                      of_lane([&](auto, auto position) { return position / q * pitch + position % q; }));
    const int width = int(std::min<std::int64_t>(o.group, 4));
    const Passes tap =
        shared_passes(o.banks, threads, width, of_lane([&](auto group, auto) { return group * bank; }));
    const auto warps =
        static_cast<std::int64_t>(pixel.least); // that compute: a wavefront each without conflicts
    const std::int64_t copies = ceil_div(o.map_floats(rows), o.wide ? 128 : 32);
    return double(channels) * (does::ffmas(groups * active, warps, fmas) +
                               does::loads(o.s.s * (o.rows + o.s.r - 1), pixel, warps) +
                               does::loads(o.taps * ceil_div(o.group, width), tap, warps) +
                               does::iterations(warps, fmas <= most_unrolled ? 0 : o.s.s) +
                               does::copies(o.warps, copies, std::min(o.warps, copies)) +
                               does::fetched(o.map_floats(rows))) +
           does::starts(steps * o.warps) +
           ends * (does::priced(warps * sums, instructions::placed_store) + does::stored(rows * q * filters));
}

/// Fills in part.step, part.drain and the core work of the launch.
void fill_counts(Partition &part, const Tiling &o) {
    const std::int64_t slots = o.groups * o.group, copies = ceil_div(o.s.c * o.taps, 32); // of a filter
    const Activity once = does::starts(o.warps) + does::fetched(o.filters * o.s.c * o.taps) +
                          does::copies(slots * o.warps, slots * copies, slots * std::min(o.warps, copies));
    set_core_work(part,
                  double(part.ctas) * once +
                      double(o.s.n) * over(o.shares, o.bands, [&](std::int64_t filters, std::int64_t rows) {
                          return band_of(o, filters, rows, o.s.c, o.chunks, 1.0);
                      }));
    // A band's outputs are stored with its last channels. Those of the last band belong to the CTA's end.
    const std::int64_t rows = std::min<std::int64_t>(o.tile_h, o.s.p());
    const double ends = double(part.pieces - 1) / double(part.steps);
    part.step = band_of(o, o.filters, rows, o.channels, 1, ends).work;
    part.drain = (once + band_of(o, o.filters, rows, 0, 0, 1.0)).work;
    // Lanes copy filter values to places a group apart, so that as many words meet in a bank.
    part.drain.shared_wavefronts =
        double(o.filters * copies) * std::max(0.0, double(o.group) - part.copy_passes);
}

/// What one CTA requests from L2 of a channel of an image.
Reads map_reads_of(const Tiling &o, const Partition &part) {
    const std::int64_t plane = o.s.h * o.s.w * 4, bands = part.pieces, channels = o.channels;
    const double run_bytes = band_bytes(o.s, bands), runs = double(bands);
    if (!o.wide) // rows that two bands have in common are in L1, as far as it keeps them while a band passes
        return {kept_by_l1(spanned_bytes(double(plane)), runs * spanned_bytes(run_bytes),
                           double(o.s.c) * run_bytes, part, o.gpu)};
    return copied({.wide = true,
                   .runs = runs,
                   .run_bytes = run_bytes,
                   .to = part.bank_floats * 4,
                   .loops = {{channels, plane, part.band_floats * 4},
                             {o.chunks, channels * plane, channels * part.band_floats * 4, part.stages},
                             {bands, part.tile_h * o.s.w * 4},
                             {o.s.n, o.s.c * plane}}});
}

/// Fills in the traffic of the launch with L2 and DRAM.
void add_traffic(Partition &part, const Tiling &o) {
    const ConvShape &s = o.s;
    const double parts = double(part.grid[0]), ctas = double(part.ctas);
    const Reads map = map_reads_of(o, part);
    // All CTAs of an image pass over the same map, each on an SM of its own.
    set_reads(part,
              {{ctas * (double(s.c) * map.bytes + spanned_bytes(double(s.filter_bytes()) / parts)),
                {parts, 1.0},
                ctas * double(s.c) * map.alike}},
              o.gpu);
    part.work.l2_write_bytes = written_bytes_of_columns(s, o.rows);
    fill_writes(part, s, o.gpu);
}

} // namespace

Planned FilterStream::plan(const ConvShape &s, const Gpu &gpu) {
    const Tiling o{Bank{s, gpu}, *this};
    Partition part = launch_of(o);
    if (const std::string why = does_not_fit(part, gpu.limits); !why.empty())
        return Infeasible{why};
    fill_counts(part, o);
    add_traffic(part, o);
    Feasible out = plan_of_launch(std::move(part), gpu);
    out.rules.remarks.push_back(cached_remark("the filters'", s.filter_bytes(), gpu.limits));
    average_step(out.plan.launches.front());
    return out;
}

void FilterStream::walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const {
    const Tiling o{Bank{s, gpu}, *this};
    walk.cuts = {{.axis = &OutputBox::images, .share = 1, .along = 1},
                 {.axis = &OutputBox::filters, .share = o.shares.tile, .along = 0},
                 {.axis = &OutputBox::rows, .share = o.bands.tile}};
    walk.step_channels = channels;
    walk.filters_stay = true;
    walk.buffers = {{"filters", CopiedTensor::filters, launch.bank_floats * 4, 1},
                    {"map", CopiedTensor::map, channels * launch.band_floats * 4, stages}};
    walk.threads = {o.positions, std::max<std::int64_t>(1, launch.threads / o.positions), rows, 1, o.group};
    walk.pixels = band_pixels(s, tile_h);
    walk.remark =
        fmt::format("M' = {} of all channels stay on the SM. The map streams past, {} of {} a step.",
                    count_text(o.filters, "filter"), count_text(channels, "channel"),
                    count_text(walk.pixels.rows, "row"));
}

const StrategyKind &strategies::filter_stream() {
    return kind_of<FilterStream>();
}

} // namespace convcast
