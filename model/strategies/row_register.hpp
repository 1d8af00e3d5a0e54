// Chen, Algorithm 1 (the special case): K rows of the image kept in registers, filters in constant memory.
#pragma once

#include "model/strategies/strategy.hpp"

namespace convcast {

/// A CTA walks down a tile of `tile_w` x `tile_h` outputs; a thread owns units of `unit` neighbouring pixels
/// (the paper's n, matched to the bank width) and computes `tile_k` filters for them row by row. C = 1 only.
struct RowRegister {
    static constexpr const char *name = "row_register";
    static constexpr const char *doc =
        "Chen special case (C = 1): K rows in registers, filters in constant memory";

    int tile_w = 0;
    int tile_h = 0;
    int unit = 0;
    int units = 0;
    int tile_k = 0;

    static const std::vector<Knob<RowRegister>> &knobs();
    PlanResult<RowRegister> plan(const ConvShape &shape, const Gpu &gpu) const;
    bool operator==(const RowRegister &) const = default;
};

} // namespace convcast
