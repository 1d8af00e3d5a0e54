// Depthwise convolutions: a filter for each channel. Patches of outputs are computed from pixels that go
// straight from global memory into registers.
#include "model/strategies/strategy.hpp"

#include <cmath>
#include <limits>
#include <set>

namespace convcast {
namespace {

// What is compiled in and unrolled, so that NVRTC needs two seconds at most: taps of a filter, which stay in
// registers, and products of a thread.
constexpr std::int64_t most_taps = 49, most_products = 2048;
constexpr std::int64_t most_outputs = 64; // of a thread
// Also unrolled are the rows of pixels under a patch, with the gaps that strides and dilations leave, and the
// loads of all those rows.
constexpr std::int64_t most_window = 512, most_loads = 4096;

/// A thread computes a patch of `rows` x `columns` outputs of one plane. It holds its filter in registers and
/// walks down the rows of pixels under its patch, each of which it loads from global memory as wide as rows
/// are aligned. L1 has what neighbouring patches share.
struct DepthwiseRegister {
    static constexpr About about{"depthwise_register",
                                 "g = c: patches of outputs in registers, pixels straight from global memory",
                                 16};
    int rows = 0, columns = 0, threads = 0;

    void knobs(const EachKnob &each) {
        each(rows, "rows", 0, 32, {}, "output rows of a thread's patch; 0: 8, or as the map needs");
        each(columns, "columns", 0, 4, {},
             "output columns of a thread's patch, 1, 2 or 4; 0: the most that divide the outputs of a row");
        each(threads, "threads", 0, 1024, {}, "threads of a CTA, a multiple of 32; 0: 64");
    }
    SettingsOf<DepthwiseRegister> settings(const ConvShape &s, const Gpu &gpu) const;
    Planned plan(const ConvShape &s, const Gpu &gpu);
    Walk walk(const ConvShape &s, const Gpu &gpu, const Partition &launch) const;
};

std::string outside(const ConvShape &s) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    if (s.groups != s.c)
        return "only depthwise shapes, whose groups are as many as their channels; this one has " +
               std::to_string(s.groups) + " groups of " + std::to_string(s.c) + " channels";
    if (s.r * s.s > most_taps)
        return "a filter of more than " + std::to_string(most_taps) + " taps";
    for (const std::int64_t size :
         {s.h + 2 * s.pad_h, s.w + 2 * s.pad_w, s.stride_h, s.stride_w, s.dilation_h, s.dilation_w, s.k})
        if (size > most)
            return "a size of " + std::to_string(size) + " exceeds 32 bits";
    const std::int64_t reach_h = (s.r - 1) * s.dilation_h + 1, reach_w = (s.s - 1) * s.dilation_w + 1;
    if (reach_h > most_window || reach_h * reach_w > most_loads)
        return "a filter that reaches over " + std::to_string(reach_h) + " x " + std::to_string(reach_w) +
               " pixels: at most " + std::to_string(most_window) + " rows and " + std::to_string(most_loads) +
               " pixels are built";
    if (s.r * s.dilation_h > most || s.s * s.dilation_w > most ||
        (s.h + 2 * s.pad_h + s.r * s.dilation_h) * (s.w + 2 * s.pad_w) > most ||
        s.k * s.p() * s.q() > most / 2)
        return "an image exceeds 32 bits";
    return "";
}

/// Rows of a patch, `most` or down to half as many: those with the fewest surplus ones below the map.
std::int64_t rows_of_patch(const ConvShape &s, std::int64_t most) {
    most = std::min(most, s.p());
    return least_surplus(s.p(), most);
}

/// What follows from the shape and settled knobs.
struct Tiling {
    const ConvShape &s;
    const DepthwiseRegister &knobs;
    std::int64_t bytes = s.element_bytes(), taps = s.r * s.s, multiplier = s.k / s.c;
    std::int64_t rows = knobs.rows, columns = knobs.columns;
    std::int64_t reach_h = (s.r - 1) * s.dilation_h + 1, reach_w = (s.s - 1) * s.dilation_w + 1;
    std::int64_t row_patches = s.q() / columns, row_groups = ceil_div(s.p(), rows);
    std::int64_t plane_patches = row_patches * row_groups, image_patches = s.k * plane_patches;
    std::int64_t vector = widest(); ///< elements that are loaded as one
    bool whole = row_groups == 1;   ///< rows above and below the map are left out

    /// A load of neighbouring pixels of a row: from where, counted from where the patch's first output would
    /// lie without padding, and how many.
    struct Load {
        std::int64_t at = 0, elements = 1;
    };
    std::vector<Load> row_loads() const {
        std::set<std::int64_t> read;
        for (std::int64_t column = 0; column < columns; ++column)
            for (std::int64_t tap = 0; tap < s.s; ++tap)
                read.insert(column * s.stride_w + tap * s.dilation_w - s.pad_w);
        const std::int64_t low = *read.begin(), high = *read.rbegin() + 1;
        std::vector<Load> loads;
        for (std::int64_t at = -round_up(s.pad_w, vector); at < high; at += vector) {
            const auto next = read.lower_bound(at);
            if (next == read.end() || *next >= at + vector)
                continue;
            std::int64_t from = at, elements = vector;
            for (std::int64_t part : {vector / 4, vector / 2}) {
                if (part == 0)
                    continue;
                if (low >= at + vector - part) {
                    from = at + vector - part, elements = part;
                    break;
                }
                if (high <= at + part) {
                    elements = part;
                    break;
                }
            }
            loads.push_back({from, elements});
        }
        return loads;
    }
    /// The rows of pixels that the taps of a patch read, and its multiply-adds of a column of the filter.
    std::int64_t loaded_rows() const {
        std::set<std::int64_t> read;
        each_product([&](std::int64_t row) { read.insert(row); });
        return std::ssize(read);
    }
    std::int64_t column_fmas() const {
        std::int64_t fmas = 0;
        each_product([&](std::int64_t) { ++fmas; });
        return fmas;
    }

  private:
    template <class Body> void each_product(const Body &body) const {
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t tap = 0; tap < s.r; ++tap) {
                const std::int64_t y = row * s.stride_h + tap * s.dilation_h;
                if (!whole || (y >= s.pad_h && y < s.pad_h + s.h))
                    body(y);
            }
    }
    std::int64_t widest() const {
        std::int64_t elements = 1;
        while (elements * 2 * bytes <= 16 && s.w % (elements * 2) == 0 &&
               columns * s.stride_w % (elements * 2) == 0)
            elements *= 2;
        return elements;
    }
};

/// Why the loads of a patch are too many to be unrolled; "" if they are not.
std::string too_many_loads(const Tiling &t) {
    const std::int64_t window = (t.rows - 1) * t.s.stride_h + t.reach_h,
                       pixels = (t.columns - 1) * t.s.stride_w + t.reach_w,
                       loads = window * (ceil_div(pixels, t.vector) + 1);
    if (window <= most_window && loads <= most_loads)
        return "";
    return "patches of " + std::to_string(t.rows) + " x " + std::to_string(t.columns) +
           " outputs reach over " + std::to_string(window) + " rows and " + std::to_string(loads) +
           " loads: at most " + std::to_string(most_window) + " and " + std::to_string(most_loads) +
           " are built";
}

/// Gives the free knobs their values. Returns why a given one is wrong, or "".
std::string settle(DepthwiseRegister &knobs, const ConvShape &s) {
    if (knobs.columns == 0)
        knobs.columns = s.q() % 4 == 0 ? 4 : s.q() % 2 == 0 ? 2 : 1;
    if (!power_of_two_in(knobs.columns, 1, 4))
        return "columns must be 1, 2 or 4, got " + std::to_string(knobs.columns);
    if (s.q() % knobs.columns != 0)
        return "columns = " + std::to_string(knobs.columns) + " does not divide the " +
               std::to_string(s.q()) + " outputs of a row";
    constexpr std::int64_t usual_rows = 8;
    if (knobs.rows == 0)
        knobs.rows = int(
            rows_of_patch(s, std::max<std::int64_t>(1, std::min(usual_rows, most_window / 2 / s.stride_h))));
    knobs.rows = int(std::min<std::int64_t>(knobs.rows, s.p()));
    if (knobs.threads == 0)
        knobs.threads = 64;
    if (knobs.threads % warp_lanes != 0)
        return "threads must be a multiple of 32, got " + std::to_string(knobs.threads);
    const std::int64_t outputs = std::int64_t{knobs.rows} * knobs.columns;
    if (outputs > most_outputs || outputs * s.r * s.s > most_products)
        return "patches of " + std::to_string(outputs) + " outputs are too large: at most " +
               std::to_string(std::min(most_outputs, most_products / (s.r * s.s))) + " are built";
    return too_many_loads({s, knobs});
}

/// Registers of a thread: its sums, its filter, some rows of pixels on their way, places.
std::int64_t registers_of(const Tiling &t) {
    constexpr std::int64_t places = 24, on_their_way = 48;
    std::int64_t row = 0;
    for (const Tiling::Load &load : t.row_loads())
        row += load.elements;
    const std::int64_t pixels = std::min(t.loaded_rows() * row, std::max(on_their_way, 2 * row));
    return std::clamp<std::int64_t>(round_up(t.rows * t.columns + t.taps + pixels + places, 8), 48, 200);
}

Partition launch_of(const Tiling &t, const Gpu &gpu) {
    const ConvShape &s = t.s;
    Partition part;
    part.kernel = DepthwiseRegister::about.name;
    part.template_arguments = {s.r,     s.s,          s.h,          s.w,    s.stride_h, s.stride_w,  s.pad_h,
                               s.pad_w, s.dilation_h, s.dilation_w, t.rows, t.columns,  t.multiplier};
    if (s.dtype != DataType::f32)
        part.template_arguments.push_back(static_cast<std::int64_t>(s.dtype));
    part.grid = {ceil_div(t.image_patches, t.knobs.threads), s.n, 1};
    part.sharing_ctas = 1.0;
    part.threads = t.knobs.threads;
    part.register_cap = registers_of(t);
    part.ctas_per_sm = resident_ctas(gpu, part.threads, part.register_cap, 0);
    part.steps = 1;
    part.barriers = 0;
    part.filter_count = s.k;
    part.independent_sums = t.rows * t.columns;
    part.busy_warps = ceil_div(std::min(part.threads, t.image_patches), warp_lanes);
    return part;
}

/// Passes through L1 of a warp's loads, on average over warps: those of a row of pixels, and those of a tap.
struct LoadPasses {
    double row = 0.0, tap = 0.0;
};
LoadPasses load_passes(const Tiling &t) {
    const ConvShape &s = t.s;
    constexpr std::int64_t most_warps = 16; // that are looked at
    const std::int64_t warps = std::clamp<std::int64_t>(t.image_patches / warp_lanes, 1, most_warps),
                       lanes = std::min(t.image_patches, warps * warp_lanes);
    const auto pixel = [&](std::int64_t patch) {
        const std::int64_t x = patch % t.row_patches, y = patch / t.row_patches % t.row_groups;
        return patch / t.plane_patches / t.multiplier * s.h * s.w + y * t.rows * s.stride_h * s.w +
               x * t.columns * s.stride_w;
    };
    LoadPasses passes;
    for (const Tiling::Load &load : t.row_loads())
        passes.row += gathered(lanes, int(std::max<std::int64_t>(1, load.elements * t.bytes / 4)),
                               [&](std::int64_t patch) {
                                   return (pixel(patch) + load.at + s.w * s.pad_h + s.pad_w) * t.bytes / 4;
                               });
    passes.tap = gathered(lanes, 1,
                          [&](std::int64_t patch) { return patch / t.plane_patches * t.taps * t.bytes / 4; });
    passes.row /= double(warps), passes.tap /= double(warps);
    return passes;
}

/// What a warp does beside multiply-adds, as the source says it: its loads and stores, each of which is one
/// instruction at a constant offset; zeros of loads that may leave the map, and the comparisons for them.
double further_instructions(const Tiling &t) {
    const ConvShape &s = t.s;
    const std::int64_t rows = t.loaded_rows(), last_y = (t.row_groups - 1) * t.rows * s.stride_h - s.pad_h,
                       guarded_rows =
                           t.whole ? 0 : rows - std::clamp<std::int64_t>(s.h - last_y - s.pad_h, 0, rows);
    double all = double(t.taps + t.rows * (s.p() % t.rows == 0 ? 1 : 2));
    for (const Tiling::Load &load : t.row_loads()) {
        const bool beside =
            load.at < 0 || (t.row_patches - 1) * t.columns * s.stride_w + load.at + load.elements > s.w;
        const double guards = 1.0 + double(ceil_div(load.elements * t.bytes, 4));
        all += double(rows) +
               (beside ? double(rows) * (guards - 1.0) : double(guarded_rows) * (guards - 1.0)) +
               double(guarded_rows);
    }
    return all;
}

/// What `threads` threads of a CTA do.
Activity cta_of(const Tiling &t, std::int64_t threads, const LoadPasses &passes) {
    const ConvShape &s = t.s;
    const std::int64_t warps = ceil_div(threads, warp_lanes), rows = t.loaded_rows();
    Activity all = does::starts(warps) + does::ffmas(threads, warps, s.s * t.columns * t.column_fmas());
    all.work.instructions += double(warps) * further_instructions(t);
    all.work.copying = 0.0;
    all.work.loads = double(warps * (rows * std::ssize(t.row_loads()) + t.taps));
    all.work.shared_wavefronts = double(warps) * (double(rows) * passes.row + double(t.taps) * passes.tap);
    all.work.store_bytes = double(threads * t.rows * t.columns * s.result_bytes());
    return all;
}

/// What L2 and DRAM see of the launch.
void add_traffic(Partition &part, const Tiling &t, const Gpu &gpu) {
    const ConvShape &s = t.s;
    // Of a plane a CTA reads the pixels under its patches, and those beside them that its neighbours read
    // too.
    const double threads = double(t.knobs.threads), row_patches = double(t.row_patches),
                 plane = double(s.h * s.w * t.bytes),
                 planes = std::max(1.0, threads / double(t.plane_patches));
    const double rows = std::max(1.0, threads / row_patches) * double(t.rows * s.stride_h) +
                        double(t.reach_h - s.stride_h),
                 width =
                     std::min(double(s.w), std::min(threads, row_patches) * double(t.columns * s.stride_w) +
                                               double(t.reach_w - s.stride_w));
    const double cta =
        std::min(rows * spanned_bytes(width * double(t.bytes), t.vector * t.bytes), planes * plane);
    const double images = double(s.n), image = double(s.c) * plane, ctas = double(part.grid[0]);
    const double maps =
        images * read_through_l1(std::min(cta, image), image, ctas, part, gpu, Again::anywhere,
                                 double(t.knobs.threads * t.rows * t.columns * s.result_bytes()));
    part.work.l2_read_bytes = maps + images * ctas * spanned_bytes(planes * double(t.taps * t.bytes));
    part.work.l2_write_bytes = written_bytes_of_columns(s, t.rows, t.columns);
    if (t.rows == 1) // otherwise the warp writes the rest of a sector right behind, with the next row
        part.partial_write_bytes = written_in_part(*part.work.l2_write_bytes, double(s.output_bytes()));
    fill_dram(part.work, s, gpu);
}

} // namespace

SettingsOf<DepthwiseRegister> DepthwiseRegister::settings(const ConvShape &s, const Gpu &) const {
    if (const std::string why = outside(s); !why.empty())
        return Infeasible{why, true};
    std::vector<DepthwiseRegister> found;
    std::string why;
    for (const int of_row : either(columns, {1, 2, 4})) {
        if (columns == 0 && s.q() % of_row != 0)
            continue;
        for (const std::int64_t most : {14, 8, 4, 2})
            for (const int of_cta : either(threads, {64, 128})) {
                DepthwiseRegister setting = *this;
                setting.columns = of_row;
                setting.threads = of_cta;
                if (setting.rows == 0)
                    setting.rows = int(rows_of_patch(s, most));
                if (const std::string wrong = settle(setting, s); !wrong.empty()) {
                    why = wrong;
                    continue;
                }
                add_new(found, setting);
            }
    }
    if (found.empty())
        return Infeasible{why};
    return found;
}

Planned DepthwiseRegister::plan(const ConvShape &s, const Gpu &gpu) {
    if (const std::string why = outside(s); !why.empty())
        return Infeasible{why, true};
    if (const std::string why = settle(*this, s); !why.empty())
        return Infeasible{why};
    if (s.n > 65535)
        return Infeasible{"more than 65535 images, of which each has CTAs of its own"};
    const Tiling t{s, *this};
    Partition part = launch_of(t, gpu);
    if (const std::string why = does_not_fit(part); !why.empty())
        return Infeasible{why};
    fill_schedule(part, gpu.limits);
    const LoadPasses passes = load_passes(t);
    set_core_work(part, double(s.n) * over(Loop{t.image_patches, threads},
                                           [&](std::int64_t some) { return cta_of(t, some, passes); }));
    part.step = cta_of(t, std::min<std::int64_t>(threads, t.image_patches), passes).work;
    part.drain.store_bytes = part.step.store_bytes;
    part.step.store_bytes = 0.0;
    add_traffic(part, t, gpu);
    part.step.load_bytes = *part.work.l2_read_bytes / double(part.ctas);
    const std::int64_t round_ctas = part.ctas_per_sm;
    return plan_of_launch(std::move(part), gpu, round_ctas);
}

Walk DepthwiseRegister::walk(const ConvShape &s, const Gpu &, const Partition &launch) const {
    Walk walk(s, launch);
    walk.cuts = {{&OutputBox::images, 1, 1}, {nullptr, threads * rows * columns, 0}};
    walk.flat = {{&OutputBox::columns, s.q()}, {&OutputBox::rows, s.p()}, {&OutputBox::filters, s.k}};
    walk.positions = s.k * s.p() * s.q();
    walk.threads = {threads, 1, rows, columns, 1};
    walk.draws_memory = false;
    walk.remark = "Pixels go from global memory into registers; what neighbouring patches share lies in L1.";
    return walk;
}

namespace strategies {
const StrategyKind &depthwise_register() {
    return kind_of<DepthwiseRegister>();
}
} // namespace strategies

} // namespace convcast
