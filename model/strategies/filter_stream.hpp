// Chang, Figure 2(c): filters divided over the SMs, the whole map streamed by every SM.
#pragma once

#include "model/strategies/strategy.hpp"

namespace convcast {

/// A CTA keeps M' = ceil(M / N_sm) filters of all channels in shared memory while the map streams past it: a
/// step brings `channels` channels of a band of `tile_h` output rows. A thread owns `rows` pixels below each
/// other.
struct FilterStream {
    static constexpr const char *name = "filter_stream";
    static constexpr const char *doc =
        "Chang Fig. 2(c): M' filters of all channels stay on an SM, the map streams";

    int tile_h = 0;
    int rows = 0;
    int channels = 0;
    int stages = 3;

    static const std::vector<Knob<FilterStream>> &knobs();
    PlanResult<FilterStream> plan(const ConvShape &shape, const Gpu &gpu) const;
    bool operator==(const FilterStream &) const = default;
};

} // namespace convcast
