// What filter_split and map_split share, Chang's two divisions of a convolution of one channel (section 3.1).
// Division 1 (filter_split): each SM keeps its share of the filters, and the rows of the map come in P
// pieces. Division 2 (map_split): each SM keeps its share of the map's rows, and the filters come in Q
// pieces. With two buffers a CTA the kernels filter_split and map_split run them, whose loop is
// convolve_band; with one buffer for both CTAs of an SM the kernel split_walk does. `bank` is the shared
// memory for filters, `band` that for rows of the map.
#pragma once

#include "model/strategies/strategy.hpp"

// The kernel split_walk. The two CTAs of an SM halve the columns of its share, so that together they hold
// the bytes D of equations D1 and D2. What comes in pieces passes through a ring of one piece.
namespace convcast::split_walk {

/// A piece is computed in so many rounds. While a round computes, data of the next piece replace what the
/// rounds before have used. Chosen; compiled into the kernel as a template argument.
inline constexpr std::int64_t rounds_per_piece = 4;

/// How the outputs are divided: a share is a range of output rows times a range of filters, and each pair of
/// one of the map's shares with one of the filters' is computed by one SM.
struct Shares {
    std::int64_t rows, filters;             ///< of a share, the last one perhaps fewer
    std::int64_t map_shares, filter_shares; ///< how many there are
    std::int64_t pieces;                    ///< of what a share has of the rows, or of the filters
    bool filters_in_pieces;                 ///< as in division::Tiling
};

/// Division 1 has one share of the map, division 2 one share of the filters; step 4 of Chang's section 2.2
/// lies between them. There may be fewer shares than asked for, as the size of a share is rounded up.
Shares shares_of(const ConvShape &shape, std::int64_t filter_shares, std::int64_t map_shares,
                 std::int64_t pieces, bool filters_in_pieces);

/// Why a thread cannot hold r x s pixels in registers; "" if it can.
std::string too_wide(const ConvShape &shape);

/// The launch without its work, which is enough to know whether two CTAs fit on an SM.
Partition launch(const ConvShape &shape, const Gpu &gpu, const Shares &shares);
Partition launch_with_work(const ConvShape &shape, const Gpu &gpu, const Shares &shares);

/// Which outputs the CTAs of such a launch compute, for diagrams.
Walk walk_of(const ConvShape &shape, const Gpu &gpu, const Partition &launch);

} // namespace convcast::split_walk

namespace convcast::division {

/// The knob `pieces` takes no more, and the search for a number that fits ends here. Chosen as plenty.
inline constexpr std::int64_t most_pieces = 65536;

/// Output rows and filters that a thread of convolve_band computes at a time.
struct Tile {
    std::int64_t rows, group; ///< `group` filters
    Banks banks;              ///< of the shared memory that pixels and taps are read from
};
/// The tile for a CTA's share of a piece, `rows` output rows by `filters` filters.
Tile choose_tile(const Banks &banks, std::int64_t rows, std::int64_t filters);

/// The division as convolve_band runs it, with two buffers. Each SM keeps a share of what stays (filters or
/// output rows) and takes piece after piece of the other. Its two CTAs halve each piece.
struct Tiling {
    const ConvShape &s;
    const Gpu &gpu;
    /// Division 2 (map_split): the rows of the map stay on an SM and the filters come in Q pieces. False:
    /// division 1 (filter_split): the filters stay and the rows come in P pieces.
    bool filters_in_pieces;
    std::int64_t pieces;
    // Filters, or output rows: of the launch, those that come in pieces and those that stay.
    std::int64_t all = filters_in_pieces ? s.k : s.p(), staying = filters_in_pieces ? s.p() : s.k;
    std::int64_t share = ceil_div(staying, std::int64_t{gpu.limits.sm_count}), ///< what stays on an SM
        shares = ceil_div(staying, share);
    std::int64_t piece = ceil_div(all, pieces), half = ceil_div(piece, 2);
    std::int64_t rows = filters_in_pieces ? share : half, ///< of outputs, that a CTA computes of a piece
        filters = filters_in_pieces ? half : share;
    std::int64_t taps = s.r * s.s;
    Tile tile = choose_tile(banks_of(gpu.profile), rows, filters);
    bool wide = s.w % 4 == 0; ///< rows of the map are copied 16 bytes a lane

    /// The first output row or filter of half `which` (0 or 1) of piece number `of_piece`.
    std::int64_t begin_of(std::int64_t of_piece, std::int64_t which) const {
        return of_piece * piece + which * half;
    }
    /// How many output rows or filters that half has; below 1 if none are left.
    std::int64_t count_of(std::int64_t of_piece, std::int64_t which) const {
        const std::int64_t begin = begin_of(of_piece, which);
        return std::min({(of_piece + 1) * piece, all, begin + half}) - begin;
    }
    /// Floats of the map that `of_rows` rows of outputs are computed from.
    std::int64_t map_floats(std::int64_t of_rows) const {
        return of_rows > 0 ? (of_rows + s.r - 1) * s.w : 0;
    }
};

/// Calls add_cta(half, size, times) for each kind of CTA. `half`: 0 or 1, which half of every piece it
/// computes. `size`: rows or filters of its share; the last share may be smaller. `times`: how many such
/// CTAs there are.
template <class Add> void over_ctas(const Tiling &t, const Add &add_cta) {
    const std::int64_t full = t.staying / t.share, rest = t.staying % t.share;
    for (const std::int64_t half : {0, 1}) {
        add_cta(half, t.share, double(full * t.s.n));
        if (rest > 0)
            add_cta(half, rest, double(t.s.n));
    }
}

/// Values of the knob `buffers`. One: the kernel split_walk, a ring of one piece for both CTAs of an SM. Two:
/// the kernels filter_split and map_split, where each CTA has two buffers for its half of a piece.
inline constexpr int one_buffer = 1, two_buffers = 2;
inline constexpr const char *buffers_doc =
    "2: each CTA has two buffers for its half of a piece; 1: a ring of one piece for both CTAs of an SM, "
    "which takes the shared memory that Chang's paper counts; 0: 2 if that does not take more pieces, else 1";

/// The knobs of a division; 0 leaves a number to the rules.
struct Knobs {
    int pieces = 0;
    int buffers = 0;
    int map_shares = 1; ///< of division 1: SMs that share a map, for which the filters are cut in fewer parts
    /// Why the strategy never does the shape; "" if it may.
    static std::string outside(const ConvShape &s);
};

/// What the SMs request from L2 of what stays in shared memory, and of the pieces, which all shares read.
struct PieceReads {
    Reads staying, coming;
};
/// Counts the reads of a launch. Its grid, buffers and steps are filled in already.
using CountReads = PieceReads (*)(const Tiling &, const Partition &);

/// The plan of a division. The number of pieces is knobs.pieces where that is not 0. Else it starts at the
/// number that the paper's rules give and is raised until two CTAs fit on an SM, as Chang's section 4
/// launches them. On return `knobs` has the values that run, unless it returns Infeasible.
Planned plan_of(Knobs &knobs, const ConvShape &shape, const Gpu &gpu, bool filters_in_pieces,
                CountReads count_reads);

/// Which outputs the CTAs of the plan's launch compute, for diagrams. `knobs`: as plan_of left them.
Walk walk_of(const Knobs &knobs, const ConvShape &shape, const Gpu &gpu, bool filters_in_pieces,
             const Partition &launch);

/// The smallest integer in [first, last] for which `fits` holds, by bisection: `fits` must hold for every
/// integer above one for which it holds. Nothing if it does not hold for `last`.
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
