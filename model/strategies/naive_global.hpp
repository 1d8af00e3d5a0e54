// The baseline that the CNN papers start from: one thread per output, everything from global memory.
#pragma once

#include "model/strategies/strategy.hpp"

namespace convcast {

/// Outputs are counted through (n, k, p, q); thread i computes output i with c / groups * r * s multiply-adds
/// straight from global memory, so L1 alone gives reuse. Does every FP32 shape: stride, padding, dilation,
/// groups, R != S, and outputs of more than 2^31 elements.
struct NaiveGlobal {
    static constexpr const char *name = "naive_global";
    static constexpr const char *doc = "one thread per output, everything from global memory; any shape";

    int threads = 256;

    static const std::vector<Knob<NaiveGlobal>> &knobs();
    PlanResult<NaiveGlobal> plan(const ConvShape &shape, const Gpu &gpu) const;
    bool operator==(const NaiveGlobal &) const = default;
};

} // namespace convcast
