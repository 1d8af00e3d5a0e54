// Chang, section 3.2: stride-fixed blocks. S bytes of each of M' filters and W'x pixels of the lines they
// need.
#include "model/base/readable.hpp"
#include "model/strategies/strategy.hpp"

#include <array>
#include <cmath>
#include <numeric>

namespace convcast {
namespace {

constexpr std::int64_t largest_tile_k = 128; // beyond, registers leave room for one CTA an SM
constexpr int largest_channel_bytes = 512;   // chosen: the kernel unrolls a step's FMAs

/// A CTA computes `tile_k` filters (M') for `tile_w` pixels (W'x); every pipeline step brings the next
/// `segment_bytes` (S) of each filter along (c, r, s) and the image lines that those values touch. Pixels are
/// counted along the flattened image, so that a tile spans rows of a small map. C > 1 only.
struct StrideFixedBlock {
    static constexpr About about{"stride_fixed_block",
                                 "Chang multi-channel: S bytes of M' filters against W'x pixels a step", 4};
    int segment_bytes = 0, tile_w = 0, tile_k = 0, stages = 2, filters_per_thread = 0;

    void knobs(const EachKnob &each) {
        each(segment_bytes, "segment_bytes", 0, largest_channel_bytes, {1, 32, 64, 128},
             "S, bytes of each filter that a step brings: 32, 64, 128 or one channel's, which are r * s * 4 "
             "or for short 1; 0: 64");
        each(tile_w, "tile_w", 0, 256, {32, 64, 128},
             "W'x, pixels of a CTA, a multiple of 32; 0: 128 as in Chang's paper, or less if the map needs "
             "less");
        each(tile_k, "tile_k", 0, 256, {16, 32, 64, 128},
             "M', filters of a CTA, a multiple of filters_per_thread; 0: the fewest with which a step has "
             "enough multiply-adds to hide the latency of memory (Chang's rule 3), if they fit");
        each(stages, "stages", 2, 4, {4}, "buffers of the prefetch pipeline; Chang's paper has 2");
        each(filters_per_thread, "filters_per_thread", 0, 16, {},
             "filters of a warp: 4, 8 or 16; 0: 8, or 4 for a small tile_k");
    }
    static std::string outside(const ConvShape &s) {
        const std::string why = outside_papers(s);
        return why.empty() && s.c == 1
                   ? "stride-fixed blocks are the multi-channel method; c = 1 has filter_split and map_split"
                   : why;
    }
    /// Bytes of a step as the paper counts them.
    std::int64_t step_bytes(const ConvShape &s) const {
        return papers::step_bytes(segment_bytes, s.s, tile_w, tile_k);
    }
    /// The least M' of rule 3, where the profile has the numbers for it.
    std::optional<std::int64_t> least_tile_k(const Rules &rules) const {
        if (!rules.n_fma)
            return std::nullopt;
        return papers::tile_k_min(*rules.n_fma, segment_bytes, tile_w);
    }
    void add_rules(Feasible &out, const ConvShape &s, const Gpu &gpu) const;
    std::string settle_by(const Rules &rules, const ConvShape &s, const Gpu &gpu);
    Planned plan(const ConvShape &s, const Gpu &gpu);
    void walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const;
};

/// Pixels of the flattened image from the first output's to the last's, with s - 1 a row that have none.
std::int64_t flat_positions(const ConvShape &s) {
    return (s.p() - 1) * s.w + s.q();
}

/// Gives the free knobs their values. Returns why a given one is wrong, or "".
std::string StrideFixedBlock::settle_by(const Rules &rules, const ConvShape &s, const Gpu &gpu) {
    if (segment_bytes == 0)
        segment_bytes = 64;
    const std::int64_t channel_bytes = s.r * s.s * 4;
    if (segment_bytes == 1 && channel_bytes <= largest_channel_bytes)
        segment_bytes = int(channel_bytes);
    if (const int bytes = segment_bytes; bytes != 32 && bytes != 64 && bytes != 128 && bytes != channel_bytes)
        return fmt::format("segment_bytes must be 32, 64, 128 or, up to {}, r * s * 4 = {}; got {}",
                           largest_channel_bytes, channel_bytes, bytes);
    if (tile_w == 0)
        tile_w = int(std::min<std::int64_t>(128, round_up(flat_positions(s), 32)));
    if (tile_w % 32 != 0)
        return fmt::format("tile_w must be a multiple of 32, got {}", tile_w);
    if (tile_k == 0) {
        const std::int64_t wanted = round_up(least_tile_k(rules).value_or(64), 16);
        tile_k = int(std::min({wanted, round_up(s.k, 16), largest_tile_k}));
        while (tile_k > 16 && step_bytes(s) * 2 > gpu.limits.shared_bytes_per_cta)
            tile_k -= 16;
    }
    if (filters_per_thread == 0)
        filters_per_thread = tile_k >= 64 ? 8 : 4;
    const int per_thread = filters_per_thread;
    if (per_thread != 4 && per_thread != 8 && per_thread != 16)
        return fmt::format("filters_per_thread must be 4, 8 or 16, got {}", per_thread);
    if (tile_k % per_thread != 0)
        return fmt::format("tile_k = {} is no multiple of filters_per_thread = {}", tile_k, per_thread);
    return "";
}

/// What follows from the shape and settled knobs.
struct Tiling : StrideFixedBlock {
    const ConvShape &s;
    const Gpu &gpu;
    std::int64_t per_thread = filters_per_thread;
    std::int64_t segment = segment_bytes / 4,
                 values = s.c * s.r * s.s; ///< of a filter: in a step, and all
    std::int64_t columns = tile_w / 32;    ///< pixels of a thread, 32 apart
    bool wide_lines = s.w % 4 == 0, wide_filters = values % 4 == 0 && segment % 4 == 0; ///< 16 bytes a lane
    /// Lines that a segment can touch: the kernel always brings as many.
    std::int64_t lines = papers::lines_touched(segment_bytes, s.s);
    /// Floats from one filter, and line, to the next in shared memory.
    std::int64_t pitch = round_up(segment, 4), buffered_line = tile_w + round_up(s.s - 1, 4);
    std::int64_t line_floats = wide_lines ? buffered_line : tile_w + s.s - 1; ///< of one as moved
    std::int64_t stage_floats = (tile_k + 1) * pitch + lines * buffered_line; ///< filters, offsets, lines
};

/// Grid, threads, shared memory and registers, and the CTAs that an SM holds.
Partition launch_of(const Tiling &t) {
    const std::int64_t threads = 32 * t.tile_k / t.per_thread;
    constexpr std::int64_t addresses = 60; // registers, read off the machine code for sm_90
    std::int64_t register_cap = std::clamp<std::int64_t>(
        round_up(t.per_thread * t.columns + 4 * t.per_thread + t.columns + addresses, 8), 64, 255);
    if (const std::int64_t most = t.gpu.limits.registers_per_sm / std::max<std::int64_t>(threads, 1);
        register_cap > most)
        register_cap = most / 8 * 8;
    // A segment of a single value keeps nothing for a next one, as compiled for sm_90 (NVRTC 13.0).
    constexpr std::int64_t kept = 24;
    Partition part = launch_of_ctas(
        StrideFixedBlock::about.name,
        {ceil_div(flat_positions(t.s), t.tile_w), ceil_div(t.s.k, t.tile_k), t.s.n},
        {threads, register_cap, t.stage_floats * 4 * t.stages, register_cap - (t.segment == 1 ? kept : 0)},
        t.gpu);
    part.template_arguments = {t.s.r,    t.s.s,        t.segment,    t.tile_w,      t.tile_k,
                               t.stages, t.per_thread, t.wide_lines, t.wide_filters};
    part.sharing_ctas = double(part.grid[0] * part.grid[1]);
    part.stages = t.stages;
    part.steps = ceil_div(t.values, t.segment);
    part.filter_count = t.s.k;
    part.copy_passes = copy_passes(t.wide_lines && t.wide_filters, t.gpu);
    part.independent_sums = t.per_thread * t.columns;
    part.variant = fmt::format("{} filters a thread", t.per_thread);
    return part;
}

/// Why the GPU cannot run the launch; "" if it can.
std::string cannot_run(const Partition &part, const Tiling &t) {
    if (part.grid[1] > 65535)
        return "the grid exceeds 65535 in y; take a larger tile_k";
    if (part.threads > t.gpu.limits.max_threads_per_cta ||
        part.register_cap < t.per_thread * t.columns + 4 * t.per_thread + t.columns + 24)
        return fmt::format("tile_k = {} with filters_per_thread = {} and tile_w = {} needs more registers or "
                           "threads than a CTA has",
                           t.tile_k, t.per_thread, t.tile_w);
    return does_not_fit(part, t.gpu.limits);
}

/// What a step costs, and what a CTA does once.
void fill_step(Partition &part, const Tiling &t) {
    const double warps = double(part.threads) / 32.0;
    const double seg = double(t.segment), col = double(t.columns);
    const double wide_loads = std::ceil(seg / 4.0) * double(t.per_thread + 1); // four values, or offsets
    // If the last four values of a segment are one or two, the compiler reads only these, by one wavefront.
    const double narrow_loads = t.segment % 4 == 1 || t.segment % 4 == 2 ? double(t.per_thread + 1) : 0.0;
    const double wavefronts =
        seg * col + wide_loads * t.gpu.architecture.uniform_wide_wavefronts->value - narrow_loads;
    // Warp instructions beside arithmetic and loads, at the prices of instructions.hpp. In a step: the
    // address of each value's pixels, and copies of filters, of lines and of the values' offsets, the latter
    // two with divisions. Once: the start, the place of each column of pixels, a store for each output. All
    // warps together make an iteration for 32 copies.
    const auto iterations_of = [](std::int64_t copies) { return double(ceil_div(copies, warp_lanes)); };
    const double copying =
        iterations_of(t.tile_k * t.segment / (t.wide_filters ? 4 : 1)) * instructions::copy +
        iterations_of(t.lines * t.line_floats / (t.wide_lines ? 4 : 1)) * instructions::divided_copy +
        iterations_of(t.segment) * instructions::divided_copy;
    part.step.fmas = seg * double(t.tile_w * t.tile_k);
    part.step.shared_wavefronts = warps * wavefronts + iterations_of(t.segment); // and the offsets' stores
    part.step.instructions =
        part.step.fmas / 32.0 +
        warps * (seg * col + wide_loads + seg * instructions::unrolled_copy + instructions::step) + copying;
    part.step.load_bytes = double(t.tile_k * t.segment + t.lines * t.line_floats) * 4.0;
    part.drain.store_bytes = double(std::min<std::int64_t>(t.tile_w, flat_positions(t.s))) *
                             double(std::min<std::int64_t>(t.tile_k, t.s.k)) * 4.0;
    part.drain.instructions = warps * (instructions::warp + col * instructions::divided_copy) +
                              col * instructions::placed_store * double(t.s.k) / double(part.grid[1]);
}

/// What all CTAs request from L2 of the filters. Who reads the same is left out.
Reads filter_reads_of(const Tiling &t, const Partition &part) {
    if (t.wide_filters) { // wide copies bypass L1
        const std::initializer_list<Stride> apart = {
            {(t.pitch - t.values) * 4, t.tile_k},
            next_buffer(t.stage_floats * 4, t.segment * 4, t.stages, part.steps),
            next_turn(t.segment * 4, t.stages, part.steps),
            {-t.tile_k * t.values * 4, part.grid[1]}};
        const double once = wide_copy_bytes(1.0, share_at_odd_16_bytes(0, apart), 0.0) *
                            double(t.s.filter_bytes()),
                     bytes = once * double(part.grid[0] * t.s.n);
        const bool inside = inside_lines(t.segment * 4, {t.pitch * 4, t.stage_floats * 4, t.values * 4});
        return {bytes, {}, bytes * (inside ? 1.0 : alike_in_lines(0, apart))};
    }
    return filter_tile_reads(t.s, part, t.gpu); // narrow copies find in L1 what an earlier step has read
}

/// Floats of one line that lie inside the image, summed over the tiles and averaged over the filter's rows.
/// A tile begins every tile_w pixels of the flattened image, its line for filter row r as many rows later.
double clipped_floats(const Tiling &t, std::int64_t tiles) {
    double floats = 0.0;
    const std::int64_t plane = t.s.h * t.s.w;
    for (std::int64_t r = 0; r < t.s.r; ++r) {
        const std::int64_t start = r * t.s.w;
        const std::int64_t whole = std::clamp<std::int64_t>((plane - start - t.line_floats) / t.tile_w + 1, 0,
                                                            plane < start + t.line_floats ? 0 : tiles);
        floats += double(whole * t.line_floats);
        for (std::int64_t tile = whole; tile < tiles; ++tile)
            floats += double(std::clamp<std::int64_t>(plane - start - tile * t.tile_w, 0, t.line_floats));
    }
    return floats / double(t.s.r);
}

/// Shares, 0 to 1, of the lines whose destination and source lie 16 bytes modulo 32 apart (crossed), and a
/// multiple of 128 bytes (alike).
struct Offsets {
    double crossed, alike;
};

Offsets line_offsets(const Tiling &t, std::int64_t steps) {
    const std::int64_t first_line = (t.tile_k + 1) * t.pitch * 4;
    // Counts the lines of the first 128 steps, which stand for all, by destination minus source modulo 128
    // bytes, in units of 16 bytes.
    constexpr std::int64_t enough_steps = 128;
    std::array<double, 8> lines_at{};
    for (std::int64_t step = 0; step < std::min(steps, enough_steps); ++step)
        for (std::int64_t l = 0; l < t.lines; ++l) {
            const std::int64_t line = step * t.segment / t.s.s + l;
            const std::int64_t apart = step % t.stages * t.stage_floats + l * t.buffered_line -
                                       line / t.s.r * (t.s.h * t.s.w) - line % t.s.r * t.s.w;
            lines_at[static_cast<std::size_t>(((first_line / 4 + apart) / 4 % 8 + 8) % 8)] += 1.0;
        }
    const double all_at = std::accumulate(lines_at.begin(), lines_at.end(), 0.0);
    return {(lines_at[1] + lines_at[3] + lines_at[5] + lines_at[7]) / all_at, lines_at[0] / all_at};
}

/// What all CTAs request from L2 of the map. Who reads the same is left out.
Reads map_reads_of(const Tiling &t, const Partition &part) {
    const double line_bytes = clipped_floats(t, part.grid[0]) * 4.0;
    const double tiles = double(part.grid[0]), readers = double(part.grid[1] * t.s.n), rows = double(t.s.r);
    if (t.wide_lines) {
        const Offsets offsets = line_offsets(t, part.steps);
        const double all_lines =
            tiles *
            wide_copy_bytes(line_bytes / tiles, offsets.crossed,
                            share_at_odd_16_bytes(0, {{t.s.w * 4, t.s.r}, {t.s.h * t.s.w * 4, t.s.c}}));
        // A line past the last channel moves nothing: only the last step has any.
        const double moved_lines = double(part.steps) * double(t.lines);
        const double bytes = readers * all_lines * moved_lines;
        return {bytes, {}, bytes * offsets.alike};
    }
    // Narrow copies find in L1 what an earlier step has read, and what overlapping lines have in common.
    const double all_lines = line_bytes + tiles * spanned_bytes(0.0);
    const double span = double(t.tile_w + t.s.s - 1);
    const double apart = std::min(1.0, ((rows - 1.0) * double(t.s.w) + span) / (rows * span));
    const double reads = readers * all_lines * (double(t.s.c) * rows * apart);
    // They find in L1 what CTAs of other filters have read on the same SM, as far as L1 has kept it.
    const double of_images = double(part.grid[0] * part.grid[1]), of_cta = reads / double(t.s.n) / of_images;
    return {image_reads(t.s, of_cta, of_images, part, t.gpu)};
}

/// Adds the paper's numbers of the setting to out.rules, with a remark for each rule that it breaks.
void StrideFixedBlock::add_rules(Feasible &out, const ConvShape &s, const Gpu &gpu) const {
    Rules &rules = out.rules;
    rules.segment_bytes = segment_bytes;
    rules.tile_w = tile_w;
    rules.tile_k_min = least_tile_k(rules);
    rules.step_fma = papers::step_fmas(segment_bytes, tile_w, tile_k);
    rules.step_lines = papers::lines_per_segment(segment_bytes, s.s);
    rules.step_bytes = step_bytes(s);
    if (segment_bytes % 32 != 0)
        rules.remarks.push_back(fmt::format("rule 1: S = {} is no multiple of 32 bytes", segment_bytes));
    if (rules.tile_k_min && tile_k < *rules.tile_k_min)
        rules.remarks.push_back(fmt::format("M' = {} is below rule 3's {}", tile_k, *rules.tile_k_min));
    if (step_bytes(s) * 2 > gpu.limits.shared_bytes_per_sm)
        rules.remarks.push_back("rule 4: a step's bytes exceed S_shared / 2");
    out.paper_round_fmas = double(*rules.step_fma);
    out.paper_round_bytes = double(step_bytes(s));
}

} // namespace

Planned StrideFixedBlock::plan(const ConvShape &s, const Gpu &gpu) {
    Feasible out;
    out.rules = table1_rules(gpu.profile);
    if (const std::string why = settle_by(out.rules, s, gpu); !why.empty())
        return Infeasible{.why = why, .rules = std::move(out.rules)};
    add_rules(out, s, gpu);
    const Tiling tiling{*this, s, gpu};
    Partition part = launch_of(tiling);
    if (const std::string why = cannot_run(part, tiling); !why.empty())
        return Infeasible{.why = why, .rules = std::move(out.rules)};
    fill_step(part, tiling);
    set_core_work(part);
    fill_tile_reads(part, filter_reads_of(tiling, part), map_reads_of(tiling, part), s, gpu);
    part.work.l2_write_bytes = written_bytes_of_flat_rows(s, s.p());
    fill_writes(part, s, gpu);
    out.plan.launches = {std::move(part)};
    return out;
}

void StrideFixedBlock::walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &) const {
    const Tiling t{*this, s, gpu};
    walk.cuts = {{.axis = &OutputBox::images, .share = 1, .along = 2},
                 {.axis = &OutputBox::filters, .share = tile_k, .along = 1},
                 {.axis = nullptr, .share = tile_w, .along = 0}};
    walk.flat = {{&OutputBox::columns, s.w}, {&OutputBox::rows, s.p()}};
    walk.positions = flat_positions(s);
    walk.step_values = t.segment;
    walk.buffers = {{"filters", CopiedTensor::filters, t.tile_k * t.pitch * 4, stages},
                    {"offsets", CopiedTensor::offsets, t.pitch * 4, stages},
                    {"map", CopiedTensor::map, t.lines * t.buffered_line * 4, stages}};
    walk.threads = {32, t.tile_k / t.per_thread, 1, t.columns, t.per_thread, 32};
    walk.pixels = {t.lines, t.tile_w + s.s - 1, t.lines, t.tile_w};
    walk.remark = fmt::format("A step brings S = {} bytes of each of M' = {} filters, and W'x = {} pixels of "
                              "the {} that they touch.",
                              segment_bytes, tile_k, tile_w, count_text(t.lines, "line"));
}

const StrategyKind &strategies::stride_fixed_block() {
    return kind_of<StrideFixedBlock>();
}

} // namespace convcast
