// Implicit GEMM on tensor cores with the accuracy of FP32: three TF32 products for one.
#pragma once

#include "model/strategies/strategy.hpp"

namespace convcast {

/// A CTA computes `tile_k` filters for `tile_pixels` pixels, counted over n, p and q, by wgmma: 64 pixels a
/// warpgroup, one more warpgroup copies. Each factor is split in two TF32 parts; three products of parts are
/// added up in FP32. A pipeline step brings `depth` rows of 8 values of (c, r, s). `split` CTAs of a cluster
/// take shares of the steps. Filters are split and laid out once by a launch of their own. Any stride,
/// padding, dilation and groups; compute capability 9.0 only.
struct ImplicitGemm3xTf32 {
    static constexpr const char *name = "implicit_gemm_3xtf32";
    static constexpr const char *doc = "Implicit GEMM on tensor cores, three TF32 products for one of FP32";
    static constexpr bool tensor_cores = true;

    int tile_k = 0;
    int tile_pixels = 0;
    int depth = 0;
    int stages = 0;
    int split = 0;

    static const std::vector<Knob<ImplicitGemm3xTf32>> &knobs();
    /// The settings to compare, each with every knob: of a knob that is 0 the values that fit, others as they
    /// stand.
    Settings<ImplicitGemm3xTf32> settings(const ConvShape &shape, const Gpu &gpu) const;
    /// The plan of one of these settings.
    PlanResult<ImplicitGemm3xTf32> plan(const ConvShape &shape, const Gpu &gpu) const;
    bool operator==(const ImplicitGemm3xTf32 &) const = default;
};

} // namespace convcast
