// The CNN papers' second step (Vadlamudi): a CTA per filter, the filter and the input tile in shared memory.
#pragma once

#include "model/strategies/strategy.hpp"

namespace convcast {

/// A CTA computes `tile_w` x `tile_h` outputs of one filter, a thread each. The filter is in shared memory;
/// so is the input tile of all channels where it fits. Stride 1 or 2, padding; no dilation, no groups.
struct NaiveShared {
    static constexpr const char *name = "naive_shared";
    static constexpr const char *doc =
        "one thread per output, a CTA per filter: filter and input tile in shared memory";

    int tile_w = 0;
    int tile_h = 0;
    int map = 0;

    static const std::vector<Knob<NaiveShared>> &knobs();
    PlanResult<NaiveShared> plan(const ConvShape &shape, const Gpu &gpu) const;
    bool operator==(const NaiveShared &) const = default;
};

} // namespace convcast
