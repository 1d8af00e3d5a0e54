// Implicit GEMM: the convolution as a product of matrices, filters by pixels, over (c, r, s).
#pragma once

#include "model/strategies/strategy.hpp"

namespace convcast {

/// A CTA computes `tile_k` filters for `tile_pixels` pixels, counted over n, p and q; a thread `thread_k` x
/// `thread_pixels` of them in registers. Every pipeline step brings `slice_channels` channels of both. Any
/// stride, padding, dilation and groups. Small maps are spread over the SMs by `split` (the CTAs of a cluster
/// take shares of the channels and add up through each other's shared memory) and `warp_split` (the warps of
/// a CTA take shares of a step).
struct ImplicitGemm {
    static constexpr const char *name = "implicit_gemm";
    static constexpr const char *doc = "Matrix product of filters and pixels over (c, r, s); every shape";

    int tile_k = 0;
    int tile_pixels = 0;
    int thread_k = 0;
    int thread_pixels = 0;
    int slice_channels = 0;
    int stages = 0;
    int warp_split = 0;
    int split = 0;
    int filters = 0;
    int staging = 0;
    int columns = 0;

    static const std::vector<Knob<ImplicitGemm>> &knobs();
    /// The settings to compare, each with every knob: of a knob that is 0 the values that fit, others as they
    /// stand.
    Settings<ImplicitGemm> settings(const ConvShape &shape, const Gpu &gpu) const;
    /// The plan of one of these settings.
    PlanResult<ImplicitGemm> plan(const ConvShape &shape, const Gpu &gpu) const;
    bool operator==(const ImplicitGemm &) const = default;
};

} // namespace convcast
