// Chang, Figure 2(d): the map divided over the SMs along y, all filters streamed by every SM.
#pragma once

#include "model/strategies/strategy.hpp"

namespace convcast {

/// A CTA keeps ceil(P / N_sm) output rows' pixels in shared memory, all channels or, in `pieces` pieces of
/// channels, as many as fit, while `tile_k` filters a step stream past it. A warp owns 8 filters, a lane
/// `columns` pixels 32 apart.
struct MapStream {
    static constexpr const char *name = "map_stream";
    static constexpr const char *doc =
        "Chang Fig. 2(d): its rows of the map stay on an SM, all filters stream";

    int tile_k = 0;
    int pieces = 0;
    int columns = 0;
    int stages = 2;

    static const std::vector<Knob<MapStream>> &knobs();
    PlanResult<MapStream> plan(const ConvShape &shape, const Gpu &gpu) const;
    bool operator==(const MapStream &) const = default;
};

} // namespace convcast
