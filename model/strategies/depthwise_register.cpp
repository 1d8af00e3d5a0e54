// Depthwise convolutions: a filter for each channel. Patches of outputs are computed from pixels that go
// straight from global memory into registers.
#include "model/strategies/parts/patch_rows.hpp"
#include "model/strategies/strategy.hpp"

namespace convcast {
namespace {

// What is compiled in and unrolled, so that NVRTC needs two seconds at most: taps of a filter, which stay in
// registers, and products of a thread.
constexpr std::int64_t most_taps = 49, most_products = 2048;
constexpr std::int64_t most_outputs = 64; // of a thread, chosen

/// A thread computes a patch of `rows` x `columns` outputs of one plane. It holds its filter in registers and
/// walks down the rows of pixels under its patch, each of which it loads from global memory as wide as rows
/// are aligned. L1 has what neighbouring patches share.
struct DepthwiseRegister {
    static constexpr About about{"depthwise_register",
                                 "g = c: patches of outputs in registers, pixels straight from global memory",
                                 16};
    int rows = 0, columns = 0, threads = 0;

    void knobs(const EachKnob &each) {
        each(rows, "rows", 0, 32, {0, 1, 2, 4, 7, 8, 14},
             "output rows of a thread's patch; 0: 8, or as the map needs");
        each(columns, "columns", 0, 4, {},
             "output columns of a thread's patch, 1, 2 or 4; 0: the most that divide the outputs of a row");
        each(threads, "threads", 0, 1024, {}, "threads of a CTA, a multiple of 32; 0: 64");
    }
    static std::string outside(const ConvShape &s) {
        if (s.groups != s.c)
            return fmt::format(
                "only depthwise shapes, whose groups are as many as their channels; this one has "
                "{} groups of {} channels",
                s.groups, s.c);
        if (s.r * s.s > most_taps)
            return fmt::format("a filter of more than {} taps", most_taps);
        return outside_patches(s);
    }
    SettingsOf<DepthwiseRegister> settings(const ConvShape &s, const Gpu &gpu) const;
    std::string settle(const ConvShape &s, const Gpu &gpu);
    Planned plan(const ConvShape &s, const Gpu &gpu);
    void walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const;
};

/// What follows from the shape and settled knobs.
struct Tiling {
    const ConvShape &s;
    const DepthwiseRegister &knobs;
    PatchRows patch{s, knobs.rows, knobs.columns};
    std::int64_t taps = s.r * s.s, multiplier = s.k / s.c;
    std::int64_t image_patches = s.k * patch.plane_patches;
    // Registers of a thread: that its pixels fill as they arrive, and that places in memory take as compiled.
    std::int64_t words = patch.loaded_rows() * patch.row_words();
    static constexpr std::int64_t places = 13;
    /// Pixels that the cap has room for: all, up to 48 or two rows, whichever are more.
    std::int64_t pixels = std::min(patch.loaded_rows() * patch.row_pixels(),
                                   std::max<std::int64_t>(48, 2 * patch.row_pixels()));
    /// Sums, filter, pixels, and 24 for places, for which 13 are used and the rest is left to the compiler.
    std::int64_t register_cap =
        std::clamp<std::int64_t>(round_up(patch.rows * patch.columns + taps + pixels + 24, 8), 48, 200);
    /// As compiled: all loads come first, and sums take the registers of pixels that were used up. Of 539
    /// settings compiled for sm_90 (NVRTC 13.0) 411 have exactly so many, rounded up to multiples of 8. Other
    /// architectures are assumed to be alike.
    std::int64_t registers = std::min(register_cap, round_up(words + taps + places, 8));
    /// Words of pixels that are on their way at once, for which there are registers.
    std::int64_t at_once =
        std::clamp<std::int64_t>(register_cap - taps - places, 1, std::max<std::int64_t>(1, words));
};

/// Gives the free knobs their values. Returns why a given one is wrong, or "".
std::string DepthwiseRegister::settle(const ConvShape &s, const Gpu &) {
    constexpr std::int64_t usual_rows = 8;
    const std::int64_t most_rows = PatchRows::most_window / 2 / s.stride_h;
    if (const std::string why =
            settle_patch(rows, columns, threads, s, std::clamp<std::int64_t>(most_rows, 1, usual_rows), 64);
        !why.empty())
        return why;
    const std::int64_t outputs = std::int64_t{rows} * columns;
    if (outputs > most_outputs || outputs * s.r * s.s > most_products)
        return fmt::format("patches of {} outputs are too large: at most {} are built", outputs,
                           std::min(most_outputs, most_products / (s.r * s.s)));
    return PatchRows{s, rows, columns}.too_many_loads();
}

/// Grid, threads and registers, and the CTAs that an SM holds.
Partition launch_of(const Tiling &t, const Gpu &gpu) {
    Partition part = patch_launch(
        DepthwiseRegister::about.name, t.patch, {ceil_div(t.image_patches, t.knobs.threads), t.s.n, 1},
        {t.knobs.threads, t.register_cap, 0, t.registers}, {t.multiplier}, t.image_patches, gpu);
    part.sharing_ctas = 1.0;
    part.independent_sums = t.patch.rows * t.patch.columns;
    return part;
}

/// Wavefronts through L1 of a warp, on average over warps (F12): of its loads of a row of pixels, of its load
/// of a tap, and of its stores of a row of outputs.
struct WarpPasses {
    double row = 0.0, tap = 0.0, stored = 0.0;
};
WarpPasses passes_of(const Tiling &t) {
    const auto [warps, lanes] = looked_at(t.image_patches);
    const auto tap = [&](std::int64_t patch) {
        return patch / t.patch.plane_patches * t.taps * t.patch.bytes / 4;
    };
    return {t.patch.row_passes(t.image_patches, t.s.h * t.s.w, t.multiplier),
            gathered(lanes, 1, tap) / double(warps),
            t.patch.store_passes(t.image_patches, t.s.p() * t.s.q())};
}

/// All that `threads` threads of a CTA do; `passes` may be left at 0 where only counters are forecast.
Activity cta_of(const Tiling &t, std::int64_t threads, const WarpPasses &passes) {
    const ConvShape &s = t.s;
    const PatchRows &patch = t.patch;
    const std::int64_t warps = ceil_div(threads, warp_lanes), rows = patch.loaded_rows();
    Activity all =
        does::starts(warps) + does::ffmas(threads, warps, s.s * patch.columns * patch.column_fmas());
    all.work.instructions += double(warps) * (patch.load_instructions() + double(t.taps) +
                                              double(patch.rows * (s.p() % patch.rows == 0 ? 1 : 2)));
    all.work.copying = 0.0;
    all.work.loads = double(warps * (rows * std::ssize(patch.row_loads()) + t.taps));
    all.work.shared_wavefronts = double(warps) * (double(rows) * passes.row + double(t.taps) * passes.tap +
                                                  double(patch.rows) * passes.stored);
    all.work.store_bytes = double(threads * patch.rows * patch.columns * s.result_bytes());
    return all;
}

/// Fills in the traffic of the launch with L2 and DRAM.
void add_traffic(Partition &part, const Tiling &t, const Gpu &gpu) {
    const ConvShape &s = t.s;
    // Threads of a channel's further filters read the same plane.
    const double threads = double(t.knobs.threads), plane_patches = double(t.patch.plane_patches),
                 readers = std::max(threads / double(t.multiplier), std::min(threads, plane_patches)),
                 planes = std::max(1.0, threads / plane_patches),
                 image = double(s.c * s.h * s.w * t.patch.bytes), images = double(s.n),
                 ctas = double(part.grid[0]);
    const double maps = images * read_through_l1(std::min(t.patch.bytes_under(readers), image), image, ctas,
                                                 part, gpu, Again::anywhere, part.drain.store_bytes);
    part.work.l2_read_bytes = maps + images * ctas * spanned_bytes(planes * double(t.taps * t.patch.bytes));
    fill_patch_traffic(part, t.patch, gpu);
}

} // namespace

/// Patches and CTAs of several sizes, chosen.
SettingsOf<DepthwiseRegister> DepthwiseRegister::settings(const ConvShape &s, const Gpu &) const {
    std::vector<DepthwiseRegister> found;
    for (const int of_row : either(columns, {1, 2, 4}))
        for (const std::int64_t most : {14, 8, 4, 2, 1})
            for (const int of_cta : either(threads, {64, 128}))
                if (columns != 0 || s.q() % of_row == 0)
                    found.push_back({rows == 0 ? int(rows_of_patch(s, most)) : rows, of_row, of_cta});
    return found;
}

Planned DepthwiseRegister::plan(const ConvShape &s, const Gpu &gpu) {
    if (s.n > 65535)
        return Infeasible{"more than 65535 images, of which each has CTAs of its own"};
    const Tiling t{s, *this};
    Partition part = launch_of(t, gpu);
    if (const std::string why = does_not_fit(part, gpu.limits); !why.empty())
        return Infeasible{why};
    set_core_work(part, double(s.n) * over(Loop{t.image_patches, threads},
                                           [&](std::int64_t some) { return cta_of(t, some, {}); }));
    // Wavefronts of L1 take the data path of shared memory; only its counters leave them out.
    part.step = cta_of(t, std::min<std::int64_t>(threads, t.image_patches), passes_of(t)).work;
    part.drain.store_bytes = part.step.store_bytes;
    part.step.store_bytes = 0.0;
    part.drain.line_waits = double(std::max<std::int64_t>(1, ceil_div(t.words, t.at_once)) - 1);
    add_traffic(part, t, gpu);
    part.step.load_bytes = *part.work.l2_read_bytes / double(part.ctas);
    return plan_of_launch(std::move(part), gpu, Round::of_sm);
}

void DepthwiseRegister::walk(Walk &walk, const ConvShape &s, const Gpu &, const Partition &) const {
    walk.cuts = {{.axis = &OutputBox::images, .share = 1, .along = 1},
                 {.axis = nullptr, .share = threads * rows * columns, .along = 0}};
    walk.flat = {{&OutputBox::columns, s.q()}, {&OutputBox::rows, s.p()}, {&OutputBox::filters, s.k}};
    walk.positions = s.k * s.p() * s.q();
    walk.threads = {threads, 1, rows, columns, 1};
    walk.draws_memory = false;
    walk.remark = "Pixels go from global memory into registers; what neighbouring patches share lies in L1.";
}

const StrategyKind &strategies::depthwise_register() {
    return kind_of<DepthwiseRegister>();
}

} // namespace convcast
