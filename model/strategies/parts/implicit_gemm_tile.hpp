// What the kernels of implicit GEMM have in common: a tile of filters by pixels for each CTA.
#pragma once

#include "model/strategies/strategy.hpp"

#include <numeric>

namespace convcast {

/// A CTA computes `tile_k` filters for `tile_pixels` pixels, counted over n, p and q; a thread `thread_k` x
/// `thread_pixels` of them in registers. Every pipeline step brings `slice_channels` channels of both. Any
/// stride, padding, dilation and groups. Small maps are spread over the SMs by `split` (the CTAs of a cluster
/// take shares of the channels and add up through each other's shared memory) and `warp_split` (the warps of
/// a CTA take shares of a step).
struct ImplicitGemm {
    static constexpr About about{"implicit_gemm",
                                 "Matrix product of filters and pixels over (c, r, s); every shape", 5};
    int tile_k = 0, tile_pixels = 0, thread_k = 0, thread_pixels = 0, slice_channels = 0, stages = 0,
        warp_split = 0, split = 0, filters = 0, staging = 0, columns = 0;

    void knobs(const EachKnob &each) {
        each(tile_k, "tile_k", 0, 256, {32, 64, 128}, "filters of a CTA: 16, 32, 64, 128 or 256");
        each(tile_pixels, "tile_pixels", 0, 256, {32, 64, 128}, "pixels of a CTA, a multiple of 16");
        each(thread_k, "thread_k", 0, 16, {}, "filters of a thread: 4, 8 or 16");
        each(thread_pixels, "thread_pixels", 0, 16, {}, "pixels of a thread: 4, 8 or 16");
        each(slice_channels, "slice_channels", 0, 64, {}, "channels of a pipeline step");
        each(stages, "stages", 0, 6, {}, "buffers of the prefetch pipeline, 2 at least");
        each(warp_split, "warp_split", 0, 8, {}, "parts of a step, each with warps of its own: 1, 2, 4 or 8");
        each(split, "split", 0, 8, {1, 2, 4, 8}, "CTAs of a cluster that share the channels: 1, 2, 4 or 8");
        each(filters, "filters", 0, 2, {},
             "1: the filters are read as they are stored; 2: a launch of its own transposes them once");
        each(staging, "staging", 0, 2, {},
             "1: shared memory has a copy of the pixels for each tap; 2: it has whole rows, which the taps "
             "share");
        each(columns, "columns", 0, 64, {},
             "with staging 2: pixels of a tile in one row, in units of thread_pixels");
    }
    SettingsOf<ImplicitGemm> settings(const ConvShape &s, const Gpu &gpu) const;
    static std::string outside(const ConvShape &s);
    Planned plan(const ConvShape &s, const Gpu &gpu);
};

/// The first template arguments of each kernel of implicit GEMM: the shape, with images of h by w, which are
/// the shape's or, where the kernel takes an image as one long row, 1 by h * w.
inline std::vector<std::int64_t> shape_arguments(const ConvShape &s, std::int64_t h, std::int64_t w) {
    return {s.n, s.c / s.groups, h,          w,       s.k / s.groups, s.groups,     s.r,
            s.s, s.stride_h,     s.stride_w, s.pad_h, s.pad_w,        s.dilation_h, s.dilation_w};
}

/// Why no kernel of implicit GEMM ever does a shape; "" if one may.
inline std::string outside_tiles(const ConvShape &s) {
    if (s.dtype != DataType::f32)
        return "only FP32 is built for this strategy";
    if (s.fmas().value > 1e17)
        return "more than 1e17 multiply-adds: days on any GPU";
    constexpr std::int64_t most = std::int64_t{1} << 30;
    if (s.h * s.w > most || (s.h + 2 * s.pad_h) * (s.w + 2 * s.pad_w) > most || s.n * s.p() * s.q() > most ||
        s.products() > most || s.k > most || s.c * s.h * s.w > most || s.products() * s.k > 4 * most)
        return "an image, filter set or batch is too large for 32-bit indices inside an image";
    return s.groups > 65535 ? "more than 65535 groups" : "";
}

/// The launch of a kernel of implicit GEMM, without its work: a CTA for each tile, or a cluster of `split`
/// CTAs that share the tile's steps. Images are h by w, as for shape_arguments; `further` are the template
/// arguments behind the shape's. Tiling has s, gpu, steps and the numbers of tiles along pixels and filters.
template <class Tiling>
Partition tile_launch(const char *kernel, const Tiling &t, std::int64_t split, std::int64_t h, std::int64_t w,
                      std::initializer_list<std::int64_t> further, const CtaSize &cta) {
    Partition part =
        launch_of_ctas(kernel, {t.pixel_tiles * t.filter_tiles * split, t.s.groups, 1}, cta, t.gpu);
    part.template_arguments = shape_arguments(t.s, h, w);
    part.template_arguments.insert(part.template_arguments.end(), further);
    part.sharing_ctas = double(t.filter_tiles);
    part.steps = ceil_div(t.steps, split);
    part.filter_count = t.s.k;
    return part;
}

/// Fills in what a CTA reads of its cluster at its end: `threads` of its threads add up its share of the
/// tile from all CTAs of the cluster. Each CTA holds `copies` sums of every output, one a group of warps.
template <class Setting>
void set_cluster(Partition &part, const Setting &g, int copies, std::int64_t threads) {
    constexpr std::int64_t loads_under_way = 16; // of a thread, as the kernel unrolls them
    const std::int64_t of_thread = ceil_div(std::int64_t{g.tile_k} * g.tile_pixels / g.split, threads);
    part.cluster = g.split;
    part.cluster_bytes = 4.0 * g.tile_k * g.tile_pixels * copies * (g.split - 1) / g.split;
    part.cluster_waits = double(ceil_div(of_thread * g.split * copies, loads_under_way));
}

constexpr std::int64_t most_tiles = std::int64_t{1} << 30; ///< of a grid along x

/// Puts `prepare`, which lays the filters out in the workspace, before the only launch of a plan, which reads
/// them from there. The main launch finds them in L2, so that DRAM delivers the input only.
inline Planned with_filters(Feasible out, Partition prepare, const ConvShape &s) {
    if (prepare.grid[1] > 65535)
        return Infeasible{"the grid of the launch that prepares filters exceeds 65535 in y"};
    out.plan.workspace_bytes = static_cast<std::int64_t>(*prepare.work.l2_write_bytes);
    Partition &main = out.plan.launches.front();
    main.operands = {{Memory::input, 0}, {Memory::workspace, 0}, {Memory::output, 0}};
    main.early = true;
    *main.work.dram_read_bytes -= double(s.filter_bytes());
    out.plan.prepare = {std::move(prepare)};
    return out;
}

/// Pixels of the map that a tile of `pixels` outputs needs of a channel. A pixel under several taps counts
/// once, as L1 keeps it from tap to tap.
inline double channel_pixels(const ConvShape &s, std::int64_t pixels) {
    const double rows_out = double(pixels) / double(s.q());
    const double footprint =
        std::min((rows_out * double(s.stride_h) + double((s.r - 1) * s.dilation_h)) * double(s.w),
                 double(s.r * s.s * pixels));
    return std::min(footprint, double(s.n * s.h * s.w));
}

/// A number for the pixels that a launch reads, and one for the filters.
struct TileReads {
    double pixels, filters;
};
/// Fills in what a launch of tile_launch reads from L2. CTAs of other filters read the same pixels, and CTAs
/// of other pixels the same filters. `alike`: the shares, 0 to 1, whose requests can be coalesced (W6).
inline void set_tile_reads(Partition &part, const TileReads &bytes, const TileReads &alike, const Gpu &gpu) {
    const double ranks = double(part.cluster.value_or(1)), filter_tiles = *part.sharing_ctas,
                 pixel_tiles = double(part.grid[0]) / (ranks * filter_tiles);
    set_reads(part,
              {{bytes.pixels, {filter_tiles, ranks}, bytes.pixels * alike.pixels},
               {bytes.filters, {pixel_tiles, ranks * filter_tiles}, bytes.filters * alike.filters}},
              gpu);
}

/// Why so many CTAs cannot share the steps of a tile; "" if they can.
inline std::string check_split(std::int64_t split, std::int64_t steps) {
    return split > steps ? fmt::format("split = {} exceeds the {} steps there are", split, steps) : "";
}

/// Bytes of outputs that a CTA stores; the CTAs of a cluster share the outputs of a tile.
template <class Setting> double stored_by_cta(const ConvShape &s, const Setting &g) {
    return 4.0 * double(std::min<std::int64_t>(g.tile_pixels, s.n * s.p() * s.q())) *
           double(std::min<std::int64_t>(g.tile_k, s.k / s.groups)) / g.split;
}

/// Lanes of a warp that lie along the pixels of a tile; the others lie along its filters.
inline std::int64_t lanes_along_pixels(const ImplicitGemm &g) {
    return std::gcd(8, g.tile_pixels / g.thread_pixels);
}

/// Why threads of so many filters and pixels do not make up a tile; "" if they do.
inline std::string check_warps(const ImplicitGemm &g) {
    const std::int64_t lanes_n = lanes_along_pixels(g), lanes_m = 32 / lanes_n;
    if (g.tile_k % (g.thread_k * lanes_m) == 0 && g.tile_pixels % g.thread_pixels == 0 && lanes_n != 1)
        return "";
    return fmt::format("a tile of {} filters and {} pixels has no whole warps of threads with {} x {}",
                       g.tile_k, g.tile_pixels, g.thread_k, g.thread_pixels);
}

/// The register cap that a kernel is compiled with: `wanted`, or what an SM has for each of `threads`
/// threads if that is less. A multiple of 8, in which registers are given out, or 255.
inline std::int64_t register_cap_for(std::int64_t wanted, std::int64_t threads, const GpuLimits &limits) {
    const std::int64_t registers = std::clamp<std::int64_t>(round_up(wanted, 8), 64, 255);
    const std::int64_t most = limits.registers_per_sm / threads;
    return registers > most ? most / 8 * 8 : registers;
}

inline std::string too_few_registers(const ImplicitGemm &g, std::int64_t threads) {
    return fmt::format("{} threads of {} x {} sums need more registers than an SM has", threads, g.thread_k,
                       g.thread_pixels);
}

/// W3: wavefronts of a warp's loads of its filters and pixels for one value of the sum, that is a channel's
/// tap. `lanes_n` lanes lie along the pixels; only the first `taking_part` of these take part.
double row_load_passes(const Banks &banks, const ImplicitGemm &setting, std::int64_t lanes_n,
                       std::int64_t taking_part);

/// W3: wavefronts of a store by a warp, each lane the sums of four neighbouring pixels of a filter, to shared
/// memory, where they lie as [filter][pixel]. `lanes_n` lanes lie along the pixels, `pixels` pixels apart;
/// the others lie along the filters, `filters` filters apart.
double sum_store_passes(const Banks &banks, const ImplicitGemm &setting, std::int64_t lanes_n,
                        std::int64_t pixels, std::int64_t filters);

/// The plan of a setting with staging = 2 (kernel implicit_gemm_rows), whose steps stage whole rows of the
/// map in shared memory. If its `columns` is 0, it is chosen and filled in; no other knob may be left open.
Planned plan_of_rows(ImplicitGemm &setting, const ConvShape &shape, const Gpu &gpu);

} // namespace convcast
