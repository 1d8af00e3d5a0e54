// The kernel split_walk as both single-channel divisions launch it: the two CTAs of an SM halve the columns
// of its share, so that they hold what the paper's D counts, and what comes in pieces passes through a ring
// of one piece.
#pragma once

#include "model/strategies/strategy.hpp"

namespace convcast::split_walk {

/// Rounds of a piece: what a round has used, a later piece's data replace while the next rounds compute.
inline constexpr std::int64_t rounds_per_piece = 4;

/// How the output is shared out and what comes in pieces.
struct Shares {
    std::int64_t rows, filters; ///< of a share, the last one perhaps less
    std::int64_t map, bank;     ///< shares of the map's rows and of the filters
    std::int64_t pieces;
    bool by_filters; ///< the filters come in pieces and the map stays, or the other way round
};

/// Division 1 and 2 of section 3.1, and what lies between them: the filters in `bank` parts, the map's rows
/// in `map` parts.
Shares shares_of(const ConvShape &shape, std::int64_t bank, std::int64_t map, std::int64_t pieces,
                 bool by_filters);

/// Why a thread cannot hold the window of the shape's filter; "" if it can.
std::string too_wide(const ConvShape &shape);

/// The launch, without and with its work.
Partition launch(const ConvShape &shape, const Gpu &gpu, const Shares &shares);
Partition launch_with_work(const ConvShape &shape, const Gpu &gpu, const Shares &shares);

/// How the CTAs of such a launch walk.
Walk walk(const ConvShape &shape, const Gpu &gpu, const Partition &launch);

} // namespace convcast::split_walk
