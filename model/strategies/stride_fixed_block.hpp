// Chang, section 3.2: stride-fixed blocks. S bytes of each of M' filters and W'x pixels of the lines they
// need.
#pragma once

#include "model/strategies/strategy.hpp"

namespace convcast {

/// A CTA computes `tile_k` filters (M') for `tile_w` pixels (W'x); every pipeline step brings the next
/// `segment_bytes` (S) of each filter along (c, r, s) and the image lines that those values touch. Pixels are
/// counted along the flattened image, so that a tile spans rows of a small map. C > 1 only.
struct StrideFixedBlock {
    static constexpr const char *name = "stride_fixed_block";
    static constexpr const char *doc = "Chang multi-channel: S bytes of M' filters against W'x pixels a step";

    int segment_bytes = 0;
    int tile_w = 0;
    int tile_k = 0;
    int stages = 2;
    int filters_per_thread = 0;

    static const std::vector<Knob<StrideFixedBlock>> &knobs();
    PlanResult<StrideFixedBlock> plan(const ConvShape &shape, const Gpu &gpu) const;
    bool operator==(const StrideFixedBlock &) const = default;
};

} // namespace convcast
