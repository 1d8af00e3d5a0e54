// What the two single-channel divisions share: the rules of section 3.1, the plan, and what a CTA costs.
#pragma once

#include "model/strategies/strategy.hpp"

// The kernel split_walk as both single-channel divisions launch it: the two CTAs of an SM halve the columns
// of its share, so that they hold what the paper's D counts, and what comes in pieces passes through a ring
// of one piece.
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

namespace convcast::division {

inline constexpr std::int64_t most_pieces = 65536;

/// Rows and filters that a thread computes at a time (kernel convolve_band).
struct Tile {
    std::int64_t rows, group;
    Banks banks; ///< that it is read from
};
Tile choose_tile(const Banks &banks, std::int64_t rows, std::int64_t filters);

/// What follows from the shape and a number of pieces: rows or filters lie over the SMs, a share each, and of
/// the others each SM takes piece after piece, one of its two CTAs the first half of each and the other the
/// rest.
struct Tiling {
    const ConvShape &s;
    const Gpu &gpu;
    bool by_filters; ///< the filters come in pieces and the rows stay, or the other way round
    std::int64_t pieces;
    std::int64_t all = by_filters ? s.k : s.p(), staying = by_filters ? s.p() : s.k;
    std::int64_t share = ceil_div(staying, std::int64_t{gpu.limits.sm_count}),
                 shares = ceil_div(staying, share);
    std::int64_t piece = ceil_div(all, pieces), half = ceil_div(piece, 2);
    std::int64_t rows = by_filters ? share : half, filters = by_filters ? half : share; ///< of a step
    std::int64_t taps = s.r * s.s;
    Tile tile = choose_tile(banks_of(gpu.profile), rows, filters);
    bool wide = s.w % 4 == 0; ///< rows of the map are copied 16 bytes a lane

    std::int64_t begin_of(std::int64_t of_piece, std::int64_t which) const {
        return of_piece * piece + which * half;
    }
    /// Rows or filters of a CTA's half of a piece; below 1 if none are left.
    std::int64_t count_of(std::int64_t of_piece, std::int64_t which) const {
        const std::int64_t begin = begin_of(of_piece, which);
        return std::min({(of_piece + 1) * piece, all, begin + half}) - begin;
    }
    /// Floats of the map that `of_rows` rows of outputs need.
    std::int64_t map_floats(std::int64_t of_rows) const {
        return of_rows > 0 ? (of_rows + s.r - 1) * s.w : 0;
    }
};

/// Calls add_cta(half, size of the share, number of such CTAs over all images) for each kind of CTA. Two CTAs
/// have a share, one for each half of the pieces (0 and 1). The last share has the rest if it is smaller.
template <class Add> void over_ctas(const Tiling &t, const Add &add_cta) {
    const std::int64_t full = t.staying / t.share, rest = t.staying % t.share;
    for (const std::int64_t half : {0, 1}) {
        add_cta(half, t.share, double(full * t.s.n));
        if (rest > 0)
            add_cta(half, rest, double(t.s.n));
    }
}

/// The two ways to hold a piece: kernel split_walk, and two buffers of each CTA's half of a piece.
inline constexpr int one_buffer = 1, two_buffers = 2;

/// What a division can be asked for; 0 leaves a number to the rules.
struct Knobs {
    int pieces = 0;
    int buffers = 0;
    int map_shares = 1; ///< of division 1: parts of the map, for which there are fewer of the filters
    static std::string outside(const ConvShape &s);
};

/// What the SMs request from L2: of what stays in shared memory, and of what comes in pieces, which all
/// shares read in common.
struct PieceReads {
    Reads staying, coming;
};
/// Counts the reads of a launch whose CTAs are counted already.
using CountReads = PieceReads (*)(const Tiling &, const Partition &);

/// The plan with as many pieces as asked or, of 0, the paper's or the next number of which two CTAs fit an
/// SM. The knobs become the numbers that run.
Planned plan_of(Knobs &knobs, const ConvShape &shape, const Gpu &gpu, bool by_filters, CountReads reads);

/// How the CTAs of its launch walk.
Walk walk_of(const Knobs &knobs, const ConvShape &shape, const Gpu &gpu, bool by_filters,
             const Partition &launch);

/// The smallest integer in [first, last] for which `fits` holds, if more pieces never need more room.
template <class Fits>
std::optional<std::int64_t> smallest_fitting(std::int64_t first, std::int64_t last, const Fits &fits) {
    if (first > last || !fits(last))
        return std::nullopt;
    while (first < last) {
        const std::int64_t middle = first + (last - first) / 2;
        if (fits(middle))
            last = middle;
        else
            first = middle + 1;
    }
    return first;
}

} // namespace convcast::division
