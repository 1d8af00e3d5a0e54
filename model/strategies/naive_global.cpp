// The baseline that the CNN papers start from: one thread per output, everything from global memory.
#include "model/strategies/strategy.hpp"

#include <cmath>
#include <limits>

namespace convcast {
namespace {

constexpr std::int64_t int_max = std::numeric_limits<std::int32_t>::max();

/// Outputs are counted through (n, k, p, q); thread i computes output i with c / groups * r * s multiply-adds
/// straight from global memory, so L1 alone gives reuse. Does every FP32 shape: stride, padding, dilation,
/// groups, R != S, and outputs of more than 2^31 elements.
struct NaiveGlobal {
    static constexpr About about{"naive_global",
                                 "one thread per output, everything from global memory; any shape", 10};
    int threads = 256;

    void knobs(const EachKnob &each) {
        each(threads, "threads", 32, 1024, {64, 128, 256, 512, 1024},
             "threads of a CTA, a multiple of 32; neighbours compute neighbouring outputs");
    }
    static std::string outside(const ConvShape &s) {
        if (s.dtype != DataType::f32)
            return "only FP32 is built for this strategy";
        if (s.fmas().value > 1e17)
            return "more than 1e17 multiply-adds: days on any GPU";
        for (const std::int64_t size : {s.n, s.c, s.h + 2 * s.pad_h, s.w + 2 * s.pad_w, s.k, s.r * s.s,
                                        s.stride_h, s.stride_w, s.dilation_h * s.r, s.dilation_w * s.s})
            if (size > int_max)
                return fmt::format("a size of {} exceeds 32 bits", size);
        return "";
    }
    Planned plan(const ConvShape &s, const Gpu &gpu);
    void walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const;
};

/// Wavefronts through L1 of a warp's load of the pixels of one tap (F12), on average over 32 warps.
double pixel_passes_of(const ConvShape &s) {
    const std::int64_t warps = std::min(ceil_div(s.p() * s.q(), warp_lanes), warp_lanes);
    return gathered(warps * warp_lanes, 1,
                    [&](std::int64_t i) {
                        const std::int64_t at = i % (s.p() * s.q());
                        return at / s.q() * s.stride_h * s.w + at % s.q() * s.stride_w;
                    }) /
           double(warps);
}

/// Wavefronts through L1 of a warp's load of one tap (F12): a word for each plane among its lanes.
double filter_passes_of(const ConvShape &s) {
    const std::int64_t plane = s.p() * s.q(), warps = std::min(ceil_div(plane, warp_lanes), warp_lanes);
    return gathered(warps * warp_lanes, 1, [&](std::int64_t i) { return i / plane * s.products(); }) /
           double(warps);
}

/// The share, 0 to 1, of the steps, a channel each, in which a warp reaches a sector that it has not loaded
/// yet (F8). The planes of small maps lie several in a sector, and so do the taps of small filters.
double sector_share_of(const ConvShape &s) {
    const std::int64_t map = s.h * s.w * 4, filter = s.r * s.s * 4, plane = s.p() * s.q();
    const double images = std::min(double(s.n), row_runs(warp_lanes, s.k * plane)),
                 filters = std::min(double(s.n * s.k), row_runs(warp_lanes, plane));
    return std::max(new_sector_share(map, images, s.c * map),
                    new_sector_share(filter, filters, s.c / s.groups * filter));
}

/// Registers of a thread as NVRTC 13.0 compiles for sm_90: by how many pixels are loaded at once.
std::int64_t registers_of(std::int64_t taps, bool padded, bool unrolled) {
    if (!unrolled)
        return taps > 64 ? 56 : 40; // a loop of rows holds a whole row of taps
    if (padded)
        return taps <= 3 ? 32 : taps <= 5 ? 48 : taps <= 7 ? 56 : 64;
    const bool even = taps > 3 && taps <= 10 && taps % 2 == 0; // 2 x 2, 3 x 2 and alike
    return even ? 40 : taps <= 7 ? 32 : taps <= 14 ? 56 : 64;
}

} // namespace

Planned NaiveGlobal::plan(const ConvShape &s, const Gpu &gpu) {
    if (threads % 32 != 0)
        return Infeasible{fmt::format("threads must be a multiple of 32, got {}", threads)};
    const std::int64_t outputs = s.output_elements(), channels = s.c / s.groups;
    const bool padded = s.pad_h > 0 || s.pad_w > 0;
    // As the kernel does: up to 64 taps are unrolled, or 16 where each is compared with the map's edges.
    const bool unrolled = s.r * s.s <= (padded ? 16 : 64);
    Partition part = launch_of_ctas(
        about.name, {ceil_div(outputs, threads), 1, 1},
        {threads, s.r * s.s == 1 ? 32 : 64, 0, registers_of(s.r * s.s, padded, unrolled)}, gpu);
    part.variant = std::string(padded ? "padded" : "") + (unrolled ? ""
                                                          : padded ? ", a loop of taps"
                                                                   : "a loop of taps");
    part.template_arguments = {s.r, s.s, threads, padded, outputs + threads > int_max};
    part.sharing_ctas = double(part.grid[0]) / double(s.n);
    if (part.grid[0] > int_max)
        return Infeasible{
            fmt::format("{} outputs need more than 2^31 - 1 CTAs of {} threads", outputs, threads)};
    part.steps = channels;
    part.filter_count = s.k;
    part.busy_warps = ceil_div(std::min<std::int64_t>(threads, outputs), 32);
    part.barriers = 0;
    if (const std::string why = does_not_fit(part, gpu.limits); !why.empty())
        return Infeasible{why};

    // A tap is two loads, an FMA and an iteration of its loop; with padding each of its coordinates is
    // compared. A thread finds its output with three divisions, of 64 bits if outputs exceed 32.
    const double per_tap =
                     instructions::iteration + (padded ? (unrolled ? 1.0 : 2.0) * instructions::guard : 0.0),
                 per_channel = 2.0 * instructions::iteration,
                 per_thread = (outputs + threads > int_max ? 2.0 : 1.0) * 3.0 * instructions::place,
                 per_idle = instructions::loop;
    const double taps = double(s.r * s.s),
                 warps = std::ceil(double(std::min<std::int64_t>(threads, outputs)) / 32.0);
    const double planes = std::min(double(s.n * s.k), row_runs(threads, s.p() * s.q()));
    const double channel_bytes = channel_of_run_bytes(s, channels);
    const double map_bytes =
        std::min(channel_bytes, footprint_bytes(s, std::min<std::int64_t>(threads, s.p() * s.q())));
    const double filter_bytes = spanned_bytes(planes * taps * double(channels) * 4.0);
    part.step.fmas = 32.0 * warps * taps; // also of the lanes past the last output
    part.step.instructions = warps * (taps * per_tap + per_channel);
    part.step.shared_wavefronts = warps * taps * (pixel_passes_of(s) + filter_passes_of(s));
    part.step.loads = warps * taps * 2.0;
    part.step.line_waits = unrolled ? 0.0 : double(s.r - 1); // a row of taps at a time
    part.step.load_bytes = map_bytes + filter_bytes / double(channels);
    part.sector_share = sector_share_of(s);
    part.drain.instructions = warps * per_thread;
    part.drain.store_bytes = double(threads) * 4.0;

    const double ctas = double(part.ctas), steps = double(channels);
    Work &work = part.work;
    work.fmas = s.fmas().value; // also of taps in the padding: they multiply zeros
    const double all_warps = double(ceil_div(outputs, papers::warp_threads));
    work.instructions = all_warps * (steps * (taps * per_tap + per_channel) + per_thread) +
                        (ctas * double(threads) / 32.0 - all_warps) * per_idle;
    work.shared_wavefronts = work.shared_conflicts = 0.0;
    const double image_bytes = steps * std::min(channel_bytes, footprint_bytes(s, s.p() * s.q()));
    const double images = double(s.n);
    const double all_filters = spanned_bytes(double(s.filter_bytes()));
    // The last CTA counts as the part of a full one that its outputs are.
    const double full_ctas = double(outputs) / double(threads);
    const double pixel_reads =
        images * read_through_l1(std::min(image_bytes, steps * map_bytes), image_bytes,
                                 std::max(1.0, full_ctas / images), part, gpu, Again::anywhere);
    const double filter_reads = read_through_l1(std::min(filter_bytes, all_filters), all_filters,
                                                std::max(1.0, full_ctas), part, gpu, Again::in_turn);
    const double plane_ctas = // neighbours that have the outputs of one filter and image
        std::max(1.0, double(s.p() * s.q()) / double(threads));
    set_reads(part,
              {{pixel_reads, {ctas / images / plane_ctas / double(s.groups), plane_ctas}},
               {filter_reads, {plane_ctas, 1.0}}},
              gpu);
    work.l2_write_bytes = double(s.output_bytes()); // a warp's outputs follow one another
    // A filter's outputs are neighbours in the grid. The filters that are resident at once share the pixels.
    const double resident = double(std::min(part.ctas_per_sm * gpu.limits.sm_count, part.ctas) * threads);
    const double planes_at_once = std::max(1.0, resident / double(s.p() * s.q()));
    fill_dram(work, s, gpu, double(s.k) / planes_at_once);
    Feasible out = plan_of_launch(std::move(part), gpu, Round::of_sm);
    out.assumptions.emplace_back("what a CTA reads of a channel stays in L1 while the filter passes over it");
    return out;
}

void NaiveGlobal::walk(Walk &walk, const ConvShape &s, const Gpu &, const Partition &) const {
    walk.cuts = {{.axis = nullptr, .share = threads, .along = 0}};
    walk.flat = {{&OutputBox::columns, s.q()},
                 {&OutputBox::rows, s.p()},
                 {&OutputBox::filters, s.k},
                 {&OutputBox::images, s.n}};
    walk.positions = s.output_elements();
    walk.threads = {threads, 1, 1, 1, 1};
    walk.draws_memory = false;
    walk.remark = "Each multiply-add takes two loads: nothing is reused in registers.";
}

const StrategyKind &strategies::naive_global() {
    return kind_of<NaiveGlobal>();
}

} // namespace convcast
