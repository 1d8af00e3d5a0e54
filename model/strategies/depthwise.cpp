// Depthwise convolutions: a filter for each channel. Bands of planes go through shared memory, with zeros
// around them.
#include "model/strategies/parts/patch_rows.hpp"

#include <cmath>
#include <limits>
#include <numeric>

namespace convcast {
namespace {

constexpr std::int64_t sector_bytes = 32;
// What is compiled in and unrolled, so that NVRTC needs two seconds at most: filters of a channel, rows of a
// filter, rows of pixels under a thread's outputs, and of those under a whole column of outputs.
constexpr std::int64_t most_multiplier = 64, most_filter_rows = 64, most_window = 512, most_whole_window = 48;
constexpr std::int64_t most_rows = 16;     // outputs of a thread that are tried
constexpr std::int64_t most_tile_h = 4096; // what the knob takes
constexpr std::int64_t most_planes = 256;  // what the knob takes

/// A CTA copies to shared memory the pixels of a band of `tile_h` output rows of one plane or, of small maps,
/// `planes` whole planes. A thread computes `rows` outputs below each other and loads each column of pixels
/// once for all rows of the filter. Outputs whose rows are no whole sectors leave through shared memory too.
struct Depthwise {
    static constexpr About about{"depthwise",
                                 "g = c: bands of planes in shared memory, rows of outputs in registers", 15};
    int rows = 0, tile_h = 0, planes = 0, threads = 0;

    void knobs(const EachKnob &each) {
        each(rows, "rows", 0, 32, {0, 2, 4, 8, 14},
             "outputs of a thread, below each other; 0: as the filter and the map need");
        each(tile_h, "tile_h", 0, most_tile_h, {}, "output rows of a CTA; 0: the best of several bands");
        each(planes, "planes", 0, most_planes, {},
             "planes of a CTA, which has all their rows if they are several; 0: the "
             "best of several numbers");
        each(threads, "threads", 0, 1024, {}, "threads of a CTA, a multiple of 32; 0: as its outputs need");
    }
    static std::string outside(const ConvShape &s) {
        constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
        if (s.groups != s.c)
            return fmt::format(
                "only depthwise shapes, whose groups are as many as their channels; this one has "
                "{} groups of {} channels",
                s.groups, s.c);
        if (s.k / s.c > most_multiplier)
            return fmt::format("more than {} filters a channel", most_multiplier);
        for (const std::int64_t size :
             {s.h + 2 * s.pad_h, s.w + 2 * s.pad_w, s.stride_h, s.stride_w, s.dilation_h, s.dilation_w})
            if (size > most)
                return fmt::format("a size of {} exceeds 32 bits", size);
        if (s.r > most_filter_rows || s.r * s.s > 4096)
            return fmt::format("a filter of more than {} rows or 4096 taps", most_filter_rows);
        if ((s.r - 1) * s.dilation_h + 1 > most_window)
            return fmt::format("a filter that reaches over more than {} rows", most_window);
        if ((s.h + 2 * s.pad_h) * s.w > most || s.p() * s.q() > most || s.n * s.k > most ||
            s.filter_elements() + most_planes * s.r * s.s * (s.k / s.c) > most)
            return "a plane or a number of planes exceeds 32 bits";
        return "";
    }
    SettingsOf<Depthwise> settings(const ConvShape &s, const Gpu &gpu) const;
    static constexpr std::int64_t usual_outputs = 1024; ///< of a CTA where knobs are left open; chosen
    std::string settle(const ConvShape &s, const Gpu &) { return settle_for(usual_outputs, s); }
    std::string settle_for(std::int64_t outputs, const ConvShape &s);
    Planned plan(const ConvShape &s, const Gpu &gpu);
    void walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const;
};

/// Outputs of a thread below each other: `most` or down to half, with the fewest surplus ones.
std::int64_t rows_of_thread(const ConvShape &s, std::int64_t most) {
    const std::int64_t reach = (s.r - 1) * s.dilation_h + 1;
    most = std::min({most, s.p(), (most_window - reach) / s.stride_h + 1});
    return least_surplus(s.p(), most);
}

/// What follows from the shape and settled knobs.
struct Tiling : Depthwise {
    const ConvShape &s;
    std::int64_t bytes = s.element_bytes();
    std::int64_t taps = s.r * s.s, multiplier = s.k / s.c;
    std::int64_t reach_h = (s.r - 1) * s.dilation_h + 1;
    std::int64_t window = (rows - 1) * s.stride_h + reach_h; ///< rows of pixels that a thread's outputs reach
    /// A thread has a whole column of outputs, and taps above and below the map are left out.
    bool whole = rows == s.p() && tile_h == rows && window <= most_whole_window && s.h <= most_whole_window;
    std::int64_t column_taps = s.r <= 2 ? s.r : round_up(s.r, 4);
    std::int64_t rows_in = whole ? s.h : (round_up(tile_h, rows) - 1) * s.stride_h + reach_h;
    std::int64_t copied = elements_of_copy();
    bool by_sixteen = copied * bytes == 16;
    /// Zeros behind each row in shared memory, and before the first: the padding, rounded up. Source and
    /// destination of a 16-byte copy then lie in the same half of a sector (W4).
    std::int64_t margin = round_up(s.pad_w, by_sixteen ? 2 * copied : copied), pitch = s.w + margin;
    /// Outputs go through shared memory: if rows are no whole sectors and a CTA's outputs are one run.
    bool staged =
        s.q() * s.result_bytes() % sector_bytes != 0 && (tile_h == s.p() || (planes == 1 && multiplier == 1));

    /// For a column of the filter: a thread's multiply-adds, and the pixels that it loads.
    std::int64_t column_fmas() const { return std::ssize(column_reads(s, rows, whole)); }
    std::int64_t window_loads() const { return distinct(column_reads(s, rows, whole)); }
    /// Units of so many planes and output rows: a unit is what a thread computes at a time.
    std::int64_t units(std::int64_t of_planes, std::int64_t of_rows) const {
        return of_planes * multiplier * ceil_div(of_rows, rows) * s.q();
    }
    std::int64_t shared_bytes() const {
        const std::int64_t map = round_up((margin + copied + planes * rows_in * pitch) * bytes, 16),
                           values = round_up(planes * multiplier * s.s * column_taps, 4) * 4,
                           outputs = planes * multiplier * tile_h * s.q() * s.result_bytes();
        return round_up(map + values + (staged ? outputs + 16 : 0), 16);
    }
    /// Rows of the map that a band reads, on average over all bands.
    double band_rows() const {
        const std::int64_t bands = ceil_div(s.p(), tile_h);
        return covered(bands, (tile_h - 1) * s.stride_h + reach_h, tile_h * s.stride_h, s.pad_h, s.h) /
               double(bands);
    }
    double band_bytes() const { return band_rows() * double(s.w * bytes); }

  private:
    /// Elements of a copy: the largest power of two that divides a row, 16 bytes at most.
    std::int64_t elements_of_copy() const {
        std::int64_t elements = 16 / bytes;
        while (s.w % elements != 0)
            elements /= 2;
        return elements;
    }
};

/// Gives the free knobs values for CTAs of `outputs` outputs or so. Returns why a given one is wrong, or "".
std::string Depthwise::settle_for(std::int64_t outputs, const ConvShape &s) {
    if (rows == 0)
        rows = int(rows_of_thread(s, s.r <= 9 ? 8 : most_rows));
    const std::int64_t plane = s.p() * s.q();
    if (planes > s.c)
        return fmt::format("planes = {} exceeds the {} channels", planes, s.c);
    rows = int(std::min<std::int64_t>(rows, s.p()));
    if (planes > 1 && (s.p() > most_tile_h || (tile_h != 0 && tile_h < s.p())))
        return fmt::format("several planes of a CTA have all their rows, {} at most: give tile_h or planes",
                           most_tile_h);
    if (planes == 0) {
        const std::int64_t fit = outputs / (plane * (s.k / s.c));
        const bool bands = s.p() > most_tile_h || (tile_h != 0 && tile_h < s.p());
        planes = bands ? 1 : int(std::clamp<std::int64_t>(fit, 1, std::min(s.c, most_planes)));
        if (planes > 4) // floats of a CTA begin at whole vectors
            planes -= planes % 4;
    }
    if (tile_h == 0 && planes > 1) {
        tile_h = int(s.p());
    } else if (tile_h == 0) { // bands alike, of whole threads
        const std::int64_t bands = ceil_div(s.p(), round_up(ceil_div(outputs, s.q()), rows));
        tile_h = int(std::min(round_up(ceil_div(s.p(), bands), rows), most_tile_h / rows * rows));
    }
    tile_h = int(std::min<std::int64_t>(tile_h, s.p()));
    const Tiling t{*this, s};
    if (threads == 0) { // all units in as few rounds as 256 threads need, evenly
        constexpr std::int64_t most_threads = 256;
        const std::int64_t units = t.units(planes, tile_h);
        threads = int(round_up(ceil_div(units, ceil_div(units, most_threads)), warp_lanes));
    }
    if (t.window > most_window)
        return fmt::format("rows = {} reach over {} rows of pixels, at most {} are built", rows, t.window,
                           most_window);
    if (threads % 32 != 0)
        return fmt::format("threads must be a multiple of 32, got {}", threads);
    return "";
}

/// Grid, threads, shared memory and registers, and the CTAs that an SM holds.
Partition launch_of(const Tiling &t, const Gpu &gpu) {
    const ConvShape &s = t.s;
    // Registers of a thread: its sums, pixels and taps of the columns that are under way, places. For sm_90
    // NVRTC 13.0 keeps one column of filters 3 wide, two of wider ones, a few pixels of the widest.
    constexpr std::int64_t places = 32;
    const std::int64_t pixels = s.s <= 3 ? t.window_loads() : s.s <= 7 ? 2 * t.window_loads() : t.rows;
    const std::int64_t register_cap = std::clamp<std::int64_t>(
        round_up(pixels + t.rows + std::min<std::int64_t>(t.column_taps, 8) + places, 8), 48, 232);
    Partition part =
        launch_of_ctas(Depthwise::about.name, {ceil_div(s.n * s.c, t.planes), ceil_div(s.p(), t.tile_h), 1},
                       {t.threads, register_cap, t.shared_bytes()}, gpu);
    const std::int64_t whole_h = t.whole ? s.h : 0, whole_pad_h = t.whole ? s.pad_h : 0;
    part.template_arguments = {s.r,        s.s,         whole_h,      s.w,          s.stride_h,
                               s.stride_w, whole_pad_h, s.pad_w,      s.dilation_h, s.dilation_w,
                               t.rows,     t.planes,    t.multiplier, t.threads,    t.staged};
    part.variant = t.whole ? "whole columns" : "";
    add_element_type(part, s);
    part.sharing_ctas = 1.0;
    part.tile_h = t.tile_h;
    part.steps = 1;
    part.barriers = t.staged ? 2 : 1;
    part.filter_count = s.k;
    part.copy_passes = copy_passes(t.by_sixteen, gpu);
    part.independent_sums = t.rows;
    part.busy_warps = ceil_div(std::min(part.threads, t.units(t.planes, t.tile_h)), warp_lanes);
    return part;
}

/// Wavefronts of a warp's load of one pixel of the window, on average over the first 32 warps.
Passes pixel_passes(const Tiling &t, const Banks &banks, std::int64_t units) {
    constexpr std::int64_t most_warps = 32;
    const std::int64_t looked_at = std::min(units, most_warps * warp_lanes), q = t.s.q(),
                       groups = ceil_div(t.tile_h, t.rows);
    const Passes all = shared_passes(banks, looked_at, 1, [&](std::int64_t unit) {
        const std::int64_t row_group = unit / q;
        const std::int64_t element = row_group / groups / t.multiplier * t.rows_in * t.pitch +
                                     row_group % groups * t.rows * t.s.stride_h * t.pitch +
                                     unit % q * t.s.stride_w;
        return element * t.bytes / 4;
    });
    return 1.0 / double(ceil_div(looked_at, warp_lanes)) * all;
}

/// All that a CTA of so many planes and output rows does.
Activity cta_of(const Tiling &t, const Gpu &gpu, std::int64_t planes, std::int64_t rows) {
    const ConvShape &s = t.s;
    const std::int64_t units = t.units(planes, rows), turns = ceil_div(units, warp_lanes);
    const std::int64_t warps = t.threads / warp_lanes, out_vector = 16 / s.result_bytes();
    const double plane_pixels = t.band_rows() * double(s.w), // inside the map; other rows are zeros
        zeros = double(t.rows_in * s.w) - plane_pixels;
    const std::int64_t values = planes * t.multiplier * t.taps;
    const auto copies_of = [&](double elements) {
        return std::int64_t(std::ceil(elements / double(warp_lanes)));
    };
    const std::int64_t outputs = planes * t.multiplier * rows * s.q();
    const double uniform = gpu.architecture.uniform_wide_wavefronts->value;
    const std::int64_t tap_loads = s.s * (t.column_taps % 4 == 0 ? t.column_taps / 4 : t.column_taps);
    Activity all =
        does::starts(warps) +
        does::copies((2 + (t.margin > 0 ? 1 : 0) + (t.whole ? 0 : 1)) * warps,
                     copies_of(double(planes) * plane_pixels / double(t.copied)) +
                         copies_of(double(planes * t.rows_in * t.margin)) +
                         copies_of(double(planes) * zeros) + copies_of(double(values))) +
        does::ffmas(units, turns, s.s * t.column_fmas()) +
        does::loads(turns * s.s * t.window_loads(), pixel_passes(t, banks_of(gpu.profile), units)) +
        does::loads(turns * tap_loads, {uniform, uniform}) + does::iterations(turns, s.s <= 7 ? 0 : s.s) +
        (t.whole ? does::priced(turns, instructions::divided_copy)
                 : does::priced(turns, instructions::place));
    if (t.staged)
        all += does::loads(turns * t.rows, {1.0, 1.0}) +
               does::copies(warps, ceil_div(outputs, out_vector * warp_lanes)) +
               does::loads(ceil_div(outputs, out_vector * warp_lanes), {4.0, 4.0});
    else
        all += does::priced(turns * t.rows, instructions::store);
    all.work.load_bytes = double(planes) * t.band_bytes() + double(values * t.bytes);
    all.work.store_bytes = double(outputs * s.result_bytes());
    return all;
}

/// Fills in the traffic of the launch with L2 and DRAM.
void add_traffic(Partition &part, const Tiling &t, const Gpu &gpu) {
    const ConvShape &s = t.s;
    const double bands = double(part.grid[1]), planes = double(s.n * s.c);
    const std::int64_t grain =
        std::gcd(std::gcd(s.h * s.w, t.tile_h * s.stride_h * s.w) * t.bytes, sector_bytes);
    part.work.l2_read_bytes = planes * bands * spanned_bytes(t.band_bytes(), grain) +
                              double(part.grid[0]) * bands *
                                  spanned_bytes(double(t.planes * t.multiplier * t.taps * t.bytes), t.bytes);
    const double outputs = double(s.output_bytes());
    if (t.staged) {
        const std::int64_t run = t.planes * t.multiplier * t.tile_h * s.q() * s.result_bytes(),
                           plane = s.p() * s.q() * s.result_bytes(),
                           start = std::gcd(std::gcd(run, t.planes > 1 ? run : plane), sector_bytes);
        part.work.l2_write_bytes = outputs * spanned_bytes(double(run), start) / double(run);
    } else {
        part.work.l2_write_bytes = written_bytes_of_columns(s, t.rows);
    }
    fill_writes(part, s, gpu);
}

} // namespace

/// Threads of several heights, each with CTAs of several sizes; both chosen.
SettingsOf<Depthwise> Depthwise::settings(const ConvShape &s, const Gpu &) const {
    std::vector<Depthwise> found;
    for (const std::int64_t most : {most_rows, std::int64_t{8}, std::int64_t{4}, std::int64_t{2}})
        for (const std::int64_t outputs : {256, 512, 1024, 2048, 4096}) {
            Depthwise &setting = found.emplace_back(*this);
            if (rows == 0)
                setting.rows = int(rows_of_thread(s, most));
            setting.settle_for(outputs, s);
        }
    return found;
}

Planned Depthwise::plan(const ConvShape &s, const Gpu &gpu) {
    const Tiling t{*this, s};
    Partition part = launch_of(t, gpu);
    if (part.grid[1] > 65535)
        return Infeasible{"more than 65535 bands of rows: take a larger tile_h"};
    if (const std::string why = does_not_fit(part, gpu.limits); !why.empty())
        return Infeasible{why};
    set_core_work(part,
                  over(Loop{s.n * s.c, t.planes}, Loop{s.p(), t.tile_h},
                       [&](std::int64_t some, std::int64_t band) { return cta_of(t, gpu, some, band); }));
    part.step = cta_of(t, gpu, t.planes, t.tile_h).work;
    part.drain.store_bytes = part.step.store_bytes;
    part.step.store_bytes = 0.0;
    add_traffic(part, t, gpu);
    return plan_of_launch(std::move(part), gpu, Round::of_sm);
}

void Depthwise::walk(Walk &walk, const ConvShape &s, const Gpu &, const Partition &) const {
    const Tiling t{*this, s};
    if (t.planes > 1) {
        walk.cuts = {{.axis = nullptr, .share = t.planes * t.multiplier * s.p() * s.q(), .along = 0}};
        walk.flat = {{&OutputBox::columns, s.q()},
                     {&OutputBox::rows, s.p()},
                     {&OutputBox::filters, s.k},
                     {&OutputBox::images, s.n}};
        walk.positions = s.output_elements();
    } else {
        walk.cuts = {{.axis = &OutputBox::images, .share = 1, .along = 0, .apart = s.c},
                     {.axis = &OutputBox::filters, .share = t.multiplier, .along = 0, .shares = s.c},
                     {.axis = &OutputBox::rows, .share = t.tile_h, .along = 1}};
    }
    walk.buffers = {{"planes of the map", CopiedTensor::map, t.planes * t.rows_in * t.pitch * t.bytes, 1},
                    {"filters", CopiedTensor::filters, t.planes * t.multiplier * s.s * t.column_taps * 4, 1}};
    walk.threads = {t.threads, 1, t.rows, 1, 1};
    walk.pixels = {t.rows_in, s.w, t.tile_h, s.q()};
    walk.remark =
        "The rows of the map under a CTA's outputs lie in shared memory, with zeros around them. A thread "
        "computes outputs below each other.";
}

const StrategyKind &strategies::depthwise() {
    return kind_of<Depthwise>();
}

} // namespace convcast
