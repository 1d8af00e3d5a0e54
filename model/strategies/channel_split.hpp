// Chang, Figure 2(b): channels divided over the SMs, partial sums added through global memory.
#pragma once

#include "model/strategies/strategy.hpp"

namespace convcast {

/// A CTA takes C' = ceil(C / N_sm) channels of the map and of all filters and writes its part of every
/// output's sum to a workspace; a second launch adds the parts in their order. `tile_k` filters are in shared
/// memory at a time, the map passes in bands of `tile_h` output rows. C > 1 only.
struct ChannelSplit {
    static constexpr const char *name = "channel_split";
    static constexpr const char *doc =
        "Chang Fig. 2(b): C' channels an SM, partial sums through global memory";

    int tile_h = 0;
    int tile_k = 0;
    int stages = 2;

    static const std::vector<Knob<ChannelSplit>> &knobs();
    PlanResult<ChannelSplit> plan(const ConvShape &shape, const Gpu &gpu) const;
    bool operator==(const ChannelSplit &) const = default;
};

} // namespace convcast
