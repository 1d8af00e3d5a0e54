// Convolutions of few channels a group. Patches of outputs of several filters are computed from pixels that
// go straight from global memory into registers.
#include "model/strategies/parts/patch_rows.hpp"
#include "model/strategies/strategy.hpp"

#include <limits>

namespace convcast {
namespace {

// What is compiled in and unrolled, so that NVRTC needs two seconds at most: products of a thread with a
// channel, and outputs, which stay in registers.
constexpr std::int64_t most_products = 2304, most_outputs = 96;
// Pixels that are in registers at once, chosen: under a patch of one channel, and of several.
constexpr std::int64_t most_pixels = 96, most_pixels_at_once = 48;

/// A thread computes patches of `rows` x `columns` outputs of `filters` filters of a group. For each channel
/// of the group it loads the rows of pixels under the patch from global memory, as wide as rows are aligned.
/// The filters lie in shared memory. L1 has what neighbouring patches share.
struct GroupedRegister {
    static constexpr About about{
        "grouped_register",
        "1 < g < c: patches of several filters in registers, pixels straight from global "
        "memory, filters in shared memory",
        17};
    int rows = 0, columns = 0, filters = 0, channels = 0, threads = 0;

    void knobs(const EachKnob &each) {
        each(rows, "rows", 0, 32, {0, 1, 2, 4, 8},
             "output rows of a thread's patch; 0: 2, or as the map needs");
        each(columns, "columns", 0, 4, {},
             "output columns of a thread's patch, 1, 2 or 4; 0: the most that divide the outputs of a row");
        each(filters, "filters", 0, 8, {},
             "filters of a thread, 1, 2, 4 or 8; 0: the most that divide the filters of a group");
        each(channels, "channels", 0, 4, {},
             "channels whose pixels a thread loads at once, 1, 2 or 4; 0: the most for which there are "
             "registers");
        each(threads, "threads", 0, 1024, {}, "threads of a CTA, a multiple of 32; 0: 128");
    }
    static std::string outside(const ConvShape &s) {
        if (s.groups == 1)
            return "only shapes of several groups; this one has one";
        if (s.groups == s.c)
            return "not depthwise shapes, whose groups are as many as their channels";
        return outside_patches(s);
    }
    SettingsOf<GroupedRegister> settings(const ConvShape &s, const Gpu &gpu) const;
    std::string settle(const ConvShape &s, const Gpu &gpu);
    Planned plan(const ConvShape &s, const Gpu &gpu);
    void walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const;
};

/// What follows from the shape and settled knobs.
struct Tiling {
    const ConvShape &s;
    const GroupedRegister &knobs;
    PatchRows patch{s, knobs.rows, knobs.columns};
    // Channels that a thread loads at once, channels and filters of a group, filters of a thread.
    std::int64_t at_once = knobs.channels, channels = s.c / s.groups, group_filters = s.k / s.groups,
                 filters = knobs.filters;
    std::int64_t blocks = group_filters / filters; ///< of filters, of a group
    std::int64_t values = channels * s.r * s.s;    ///< of a filter
    std::int64_t patches = s.n * patch.plane_patches;
    std::int64_t tiles = ceil_div(patches, std::int64_t{knobs.threads}); ///< CTAs with the same filters
    std::int64_t outputs = patch.rows * patch.columns * filters;         ///< of a thread
};

/// Why the kernel is not built for such patches with `outputs` outputs of a thread, or "".
std::string too_large(const PatchRows &patch, std::int64_t outputs) {
    const std::int64_t taps = patch.s.r * patch.s.s, pixels = patch.window_h * patch.window_w;
    if (outputs > most_outputs || outputs * taps > most_products)
        return fmt::format("{} outputs of a thread are too many: at most {} are built", outputs,
                           std::min(most_outputs, most_products / taps));
    if (pixels > most_pixels)
        return fmt::format("{} pixels under a patch are too many: at most {} are built", pixels, most_pixels);
    return patch.too_many_loads();
}

/// Whether a thread can load the pixels of so many channels at once: they divide the channels of a group,
/// there are registers for them, and the kernel's place in them has 32 bits.
bool loads_together(const PatchRows &patch, std::int64_t outputs, std::int64_t channels) {
    const ConvShape &s = patch.s;
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    return s.c / s.groups % channels == 0 &&
           (channels == 1 || (channels * patch.window_h * patch.window_w <= most_pixels_at_once &&
                              channels * outputs * s.r * s.s <= most_products &&
                              channels * (s.h + 2 * s.pad_h + patch.reach_h) * (s.w + 2 * s.pad_w) <= most));
}

/// Gives the free knobs their values, smaller ones where a patch would be too large. Returns why a given one
/// is wrong, or "".
std::string GroupedRegister::settle(const ConvShape &s, const Gpu &) {
    const GroupedRegister given = *this;
    const std::int64_t group_filters = s.k / s.groups;
    constexpr std::int64_t usual_rows = 2;
    if (const std::string why = settle_patch(rows, columns, threads, s, usual_rows, 128); !why.empty())
        return why;
    if (filters == 0)
        filters = widest_divisor(group_filters, 8);
    if (!power_of_two_in(filters, 1, 8))
        return fmt::format("filters must be 1, 2, 4 or 8, got {}", filters);
    if (group_filters % filters != 0)
        return fmt::format("filters = {} does not divide the {} filters of a group", filters, group_filters);
    const auto outputs = [&] { return std::int64_t{rows} * columns * filters; };
    const auto refused = [&] { return too_large({s, rows, columns}, outputs()); };
    for (std::string why = refused(); !why.empty(); why = refused())
        if (given.rows == 0 && rows > 1)
            rows /= 2;
        else if (given.columns == 0 && columns > 1)
            columns /= 2;
        else if (given.filters == 0 && filters > 1)
            filters /= 2;
        else
            return why;
    const PatchRows patch{s, rows, columns};
    if (channels == 0)
        channels = loads_together(patch, outputs(), 4) ? 4 : loads_together(patch, outputs(), 2) ? 2 : 1;
    if (!power_of_two_in(channels, 1, 4) || !loads_together(patch, outputs(), channels))
        return fmt::format("channels must be 1, 2 or 4 and divide the {} channels of a group, with at most "
                           "{} pixels and {} products of a thread at once, got {}",
                           s.c / s.groups, most_pixels_at_once, most_products, channels);
    return "";
}

/// Grid, threads, shared memory and registers, and the CTAs that an SM holds.
Partition launch_of(const Tiling &t, const Gpu &gpu) {
    // Registers of a thread: sums, pixels under its patch, a tap of each filter, places.
    constexpr std::int64_t places = 24;
    const std::int64_t pixels = t.at_once * t.patch.loaded_rows() * t.patch.row_pixels(),
                       registers = round_up(t.outputs + pixels + t.filters + places, 8);
    Partition part = patch_launch(
        GroupedRegister::about.name, t.patch, {t.tiles * t.blocks, t.s.groups, 1},
        {t.knobs.threads, std::clamp<std::int64_t>(registers, 48, 232), t.filters * t.values * 4},
        {t.filters, t.at_once, t.channels, t.group_filters}, t.patches, gpu);
    part.sharing_ctas = double(t.blocks);
    part.steps = t.channels / t.at_once;
    part.tile_k = t.filters;
    part.independent_sums = t.outputs;
    return part;
}

/// What `threads` threads of a CTA do for the channels that they load at once.
Activity step_of(const Tiling &t, const Gpu &gpu, std::int64_t threads) {
    const ConvShape &s = t.s;
    const std::int64_t warps = ceil_div(threads, warp_lanes), rows = t.patch.loaded_rows();
    const double uniform = t.filters % 4 == 0 ? gpu.architecture.uniform_wide_wavefronts->value : 1.0;
    const std::int64_t tap_loads = s.r * s.s * ceil_div(t.filters, std::int64_t{4});
    Activity all = does::ffmas(threads, warps, s.s * t.patch.columns * t.patch.column_fmas() * t.filters) +
                   does::loads(warps * tap_loads, {uniform, uniform});
    all.work.instructions += double(warps) * t.patch.load_instructions();
    all.work.loads = double(warps * rows * std::ssize(t.patch.row_loads()));
    return double(t.at_once) * all + does::iterations(warps);
}

/// Wavefronts of the stores that lay a CTA's filters out in shared memory, value by value: neighbouring
/// threads store neighbouring values of a filter, which lie `filters` words apart.
Passes staging_passes(const Tiling &t, const Gpu &gpu) {
    return shared_passes(banks_of(gpu.profile), t.filters * t.values, 1,
                         [&](std::int64_t i) { return i % t.values * t.filters + i / t.values; });
}

/// What a CTA does once: copies its filters, finds its patches, stores them.
Activity once_of(const Tiling &t, std::int64_t threads, const Passes &staging) {
    const std::int64_t warps = ceil_div(threads, warp_lanes), all_warps = t.knobs.threads / warp_lanes;
    Activity all = does::starts(all_warps) +
                   does::copies(all_warps, ceil_div(t.filters * t.values, warp_lanes)) +
                   does::priced(warps, instructions::place) +
                   does::priced(warps * t.filters * t.patch.rows, instructions::store);
    all.work.store_bytes = double(threads * t.outputs * t.s.result_bytes());
    all.work.shared_wavefronts = staging.taken;
    all.least_wavefronts = staging.least;
    return all;
}

/// Fills in the traffic of the launch with L2 and DRAM.
void add_traffic(Partition &part, const Tiling &t, const Gpu &gpu) {
    const ConvShape &s = t.s;
    const double planes = double(s.n * t.channels), plane = double(s.h * s.w * t.patch.bytes);
    const double cta = double(t.channels) * t.patch.bytes_under(double(t.knobs.threads)),
                 filter_bytes = spanned_bytes(double(t.filters * t.values * t.patch.bytes), t.patch.bytes);
    // The CTAs of a group's further filters read the same pixels on other SMs.
    const double maps = double(s.groups * t.blocks) *
                        read_through_l1(std::min(cta, planes * plane), planes * plane, double(t.tiles), part,
                                        gpu, Again::anywhere, part.drain.store_bytes);
    set_reads(part, {{maps, {double(t.blocks), 1.0}}, {double(part.ctas) * filter_bytes}}, gpu);
    fill_patch_traffic(part, t.patch, gpu);
    part.step.load_bytes = maps / double(part.ctas * part.steps);
    part.drain.load_bytes = filter_bytes;
}

} // namespace

/// Patches, filters of a thread and CTAs of several sizes, chosen.
SettingsOf<GroupedRegister> GroupedRegister::settings(const ConvShape &s, const Gpu &) const {
    std::vector<GroupedRegister> found;
    for (const int of_row : either(columns, {1, 2, 4}))
        for (const int wanted : either(filters, {2, 4, 8}))
            for (const std::int64_t most : {8, 4, 2, 1})
                for (const int of_cta : either(threads, {64, 128}))
                    if (columns != 0 || s.q() % of_row == 0)
                        found.push_back({rows == 0 ? int(rows_of_patch(s, most)) : rows, of_row,
                                         filters == 0 ? widest_divisor(s.k / s.groups, wanted) : filters,
                                         channels, of_cta});
    return found;
}

Planned GroupedRegister::plan(const ConvShape &s, const Gpu &gpu) {
    const Tiling t{s, *this};
    constexpr std::int64_t most_groups = 65535, most_index = std::int64_t{1} << 31;
    if (s.groups > most_groups)
        return Infeasible{"more than 65535 groups, each of which is a place along y of the grid"};
    if (t.patches + threads >= most_index || t.tiles * t.blocks >= most_index)
        return Infeasible{"more than 2^31 patches of outputs, or CTAs along x of the grid"};
    Partition part = launch_of(t, gpu);
    if (const std::string why = does_not_fit(part, gpu.limits); !why.empty())
        return Infeasible{why};
    const std::int64_t full = std::min<std::int64_t>(threads, t.patches);
    part.step = step_of(t, gpu, full).work;
    const Passes staging = staging_passes(t, gpu);
    part.drain = once_of(t, full, staging).work;
    // Wavefronts of L1 take the data path of shared memory; only its counters leave them out.
    part.step.shared_wavefronts += double(ceil_div(full, warp_lanes) * t.at_once * t.patch.loaded_rows()) *
                                   t.patch.row_passes(t.patches, s.c * s.h * s.w);
    part.drain.shared_wavefronts += double(ceil_div(full, warp_lanes) * t.filters * t.patch.rows) *
                                    t.patch.store_passes(t.patches, s.k * s.p() * s.q());
    set_core_work(part, double(s.groups * t.blocks) * over(Loop{t.patches, threads}, [&](std::int64_t some) {
                            return double(part.steps) * step_of(t, gpu, some) + once_of(t, some, staging);
                        }));
    // A thread loads filter values eight at a time, each group after the one before, then pixels.
    constexpr std::int64_t copies_at_once = 8; // of a thread
    part.drain.line_waits =
        double(ceil_div(ceil_div(t.filters * t.values, std::int64_t{threads}), copies_at_once));
    add_traffic(part, t, gpu);
    return plan_of_launch(std::move(part), gpu, Round::of_sm);
}

void GroupedRegister::walk(Walk &walk, const ConvShape &s, const Gpu &, const Partition &launch) const {
    const Tiling t{s, *this};
    walk.grid = {t.blocks, t.tiles, s.groups};
    walk.cuts = {{.axis = &OutputBox::filters, .share = t.group_filters, .along = 2},
                 {.axis = &OutputBox::filters, .share = t.filters, .along = 0},
                 {.axis = nullptr, .share = threads * rows * columns, .along = 1}};
    walk.flat = {{&OutputBox::columns, s.q()}, {&OutputBox::rows, s.p()}, {&OutputBox::images, s.n}};
    walk.positions = s.n * s.p() * s.q();
    walk.buffers = {{"filters", CopiedTensor::filters, launch.shared_bytes, 1}};
    walk.threads = {threads, 1, rows, columns, filters};
    walk.remark = "Pixels go from global memory into registers, where all filters of a thread use them; what "
                  "neighbouring patches share lies in L1.";
}

const StrategyKind &strategies::grouped_register() {
    return kind_of<GroupedRegister>();
}

} // namespace convcast
