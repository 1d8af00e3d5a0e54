// Chang, section 3.1, division 2: the map over SMs, the filters streamed through every SM in Q pieces.
#pragma once

#include "model/strategies/strategy.hpp"

namespace convcast {

/// Each SM holds ceil(p / N_sm) output rows' worth of the map; the filters come in `pieces`, the next one
/// prefetched while the present one is computed. 2 * N_sm CTAs of 512 threads. With two buffers the two CTAs
/// of an SM halve the filters of every piece, with one the columns of the map, and the filters pass through a
/// ring of one piece (split_walk.hpp). C = 1 only.
struct MapSplit {
    static constexpr const char *name = "map_split";
    static constexpr const char *doc = "Chang method 2 (C = 1): map rows over SMs, the filters in Q pieces";

    int pieces = 0;
    int buffers = 0;

    static const std::vector<Knob<MapSplit>> &knobs();
    PlanResult<MapSplit> plan(const ConvShape &shape, const Gpu &gpu) const;
    bool operator==(const MapSplit &) const = default;
};

} // namespace convcast
