// Chen, Algorithm 2 (the general case): blocks of pixels of all channels against a tile of filters, an outer
// product of pixels and filters in registers.
#pragma once

#include "model/strategies/strategy.hpp"

namespace convcast {

/// A CTA computes `tile_k` filters (F_TB) for `tile_w` x `tile_h` outputs (W x H); a thread owns
/// `pixels_per_thread` neighbouring pixels of a row (W_T) times `filters_per_thread` filters (F_T).
/// `channels` channels (C_SH) are in shared memory at a time, the next ones under way. Reads of shared memory
/// are `unit` elements wide (n).
struct BlockRegister {
    static constexpr const char *name = "block_register";
    static constexpr const char *doc =
        "Chen general case: W x H pixels by F_TB filters a CTA, W_T by F_T in registers";

    int tile_w = 0;
    int tile_h = 0;
    int tile_k = 0;
    int pixels_per_thread = 0;
    int filters_per_thread = 0;
    int channels = 0;
    int unit = 0;

    static const std::vector<Knob<BlockRegister>> &knobs();
    PlanResult<BlockRegister> plan(const ConvShape &shape, const Gpu &gpu) const;
    bool operator==(const BlockRegister &) const = default;
};

} // namespace convcast
