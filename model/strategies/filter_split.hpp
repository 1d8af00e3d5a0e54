// Chang, section 3.1, division 1: filters over SMs, the map streamed through every SM in P pieces.
#pragma once

#include "model/strategies/strategy.hpp"

namespace convcast {

/// Each SM holds ceil(k / N_sm) filters; the map comes in `pieces` bands of rows along y, the next one
/// prefetched while the present one is computed. 2 * N_sm CTAs of 512 threads. With two buffers the two CTAs
/// of an SM halve the rows of every piece, with one its columns, in a ring of one piece (split_walk.hpp).
/// With `map_shares` the map is divided over SMs as well. C = 1 only.
struct FilterSplit {
    static constexpr const char *name = "filter_split";
    static constexpr const char *doc = "Chang method 1 (C = 1): filters over SMs, the map in P pieces";

    int pieces = 0;
    int buffers = 0;
    int map_shares = 1;

    static const std::vector<Knob<FilterSplit>> &knobs();
    PlanResult<FilterSplit> plan(const ConvShape &shape, const Gpu &gpu) const;
    bool operator==(const FilterSplit &) const = default;
};

} // namespace convcast
