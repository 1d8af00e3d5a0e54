// What the kernels of implicit GEMM have in common: a tile of filters by pixels for each CTA.
#pragma once

#include "model/base/divide.hpp"
#include "model/paper/papers.hpp"
#include "model/strategies/implicit_gemm.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace convcast {

/// The first template arguments of each kernel: the shape, its images as h by w.
inline std::vector<std::int64_t> shape_arguments(const ConvShape &s, std::int64_t h, std::int64_t w) {
    return {s.n, s.c / s.groups, h,          w,       s.k / s.groups, s.groups,     s.r,
            s.s, s.stride_h,     s.stride_w, s.pad_h, s.pad_w,        s.dilation_h, s.dilation_w};
}

/// Pixels that a tile of `pixels` needs of a channel: once if its taps overlap, as L1 keeps them from tap to
/// tap.
inline double channel_pixels(const ConvShape &s, std::int64_t pixels) {
    const double rows_out = static_cast<double>(pixels) / static_cast<double>(s.q());
    const double footprint = std::min(
        (rows_out * static_cast<double>(s.stride_h) + static_cast<double>((s.r - 1) * s.dilation_h)) *
            static_cast<double>(s.w),
        static_cast<double>(s.r * s.s * pixels));
    return std::min(footprint, static_cast<double>(s.n * s.h * s.w));
}

/// What SMs have in common of a launch's reads: of `pixels` bytes, which the CTAs of other filters read as
/// well, and of `filters` bytes, which those of other pixels do.
inline MergeableReads mergeable_tiles(double pixels, double filters, const Partition &part, const Gpu &gpu) {
    const double ranks = static_cast<double>(part.cluster.value_or(1)), filter_tiles = *part.sharing_ctas,
                 pixel_tiles = static_cast<double>(part.grid[0]) / (ranks * filter_tiles);
    return mergeable_reads(pixels, {filter_tiles, ranks}, part, gpu) +
           mergeable_reads(filters, {pixel_tiles, ranks * filter_tiles}, part, gpu);
}

/// Why so many CTAs cannot share the steps of a tile; "" if they can.
inline std::string check_split(std::int64_t split, std::int64_t steps) {
    return split > steps ? "split = " + std::to_string(split) + " exceeds the " + std::to_string(steps) +
                               " steps there are"
                         : "";
}

/// Bytes of outputs that a CTA stores, of a tile that it shares with the other CTAs of its cluster.
template <class Setting> double stored_by_cta(const ConvShape &s, const Setting &g) {
    return 4.0 * static_cast<double>(std::min<std::int64_t>(g.tile_pixels, s.n * s.p() * s.q())) *
           static_cast<double>(std::min<std::int64_t>(g.tile_k, s.k / s.groups)) / g.split;
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
    return "a tile of " + std::to_string(g.tile_k) + " filters and " + std::to_string(g.tile_pixels) +
           " pixels has no whole warps of threads with " + std::to_string(g.thread_k) + " x " +
           std::to_string(g.thread_pixels);
}

/// The cap that a kernel is compiled with where a thread could use `wanted` registers: as many, or what an SM
/// has for each of `threads` threads.
inline std::int64_t register_cap_for(std::int64_t wanted, std::int64_t threads, const GpuLimits &limits) {
    const std::int64_t registers = std::clamp<std::int64_t>(round_up(wanted, 8), 64, 255);
    const std::int64_t most = limits.registers_per_sm / threads;
    return registers > most ? most / 8 * 8 : registers;
}

inline std::string too_few_registers(const ImplicitGemm &g, std::int64_t threads) {
    return std::to_string(threads) + " threads of " + std::to_string(g.thread_k) + " x " +
           std::to_string(g.thread_pixels) + " sums need more registers than an SM has";
}

inline std::string too_little_shared_memory(const Partition &part, const GpuLimits &limits) {
    return "a CTA needs " + std::to_string(part.shared_bytes) + " bytes of shared memory, the GPU gives " +
           std::to_string(limits.shared_bytes_per_cta);
}

} // namespace convcast
