// What the two single-channel divisions share: the rules of section 3.1, the plan, and what a CTA costs.
#pragma once

#include "model/strategies/strategy.hpp"

namespace convcast::division {

inline constexpr std::int64_t most_pieces = 65536;

/// Rows and filters that a thread computes at a time (kernel convolve_band).
struct Tile {
    std::int64_t rows, group;
    Banks banks; ///< that it is read from
};
Tile choose_tile(const Banks &banks, std::int64_t rows, std::int64_t filters);

/// Whether rows of the map are copied 16 bytes a lane.
inline bool copies_wide(const ConvShape &shape) {
    return shape.w % 4 == 0;
}

/// What one call of convolve_band costs for a band of `rows` rows and `filters` filters.
StepWork band_work(const ConvShape &shape, Tile tile, std::int64_t rows, std::int64_t filters);

/// Bytes of the sectors that such a call writes: warps begin anew in each band and go on from one group of
/// filters to the next.
double band_written_bytes(const ConvShape &shape, Tile tile, std::int64_t rows, std::int64_t filters);

/// What copying `floats` floats of map, or `filters` filters, to shared memory costs in warp instructions.
double copy_instructions(std::int64_t floats, bool wide);
double filter_copy_instructions(std::int64_t filters, std::int64_t taps, std::int64_t group);

/// Warp instructions of a CTA's warps before the first piece, and of every piece, as compiled for sm_90.
inline constexpr double warps_per_cta = 512.0 / 32.0;
inline constexpr double cta_instructions = (instructions::warp + instructions::place) * warps_per_cta;
/// The last piece fetches none after it; a single one, copied at once, is simpler.
constexpr double piece_instructions(std::int64_t pieces) {
    return (pieces > 1 ? instructions::step - instructions::loop / double(pieces) : instructions::loop) *
           warps_per_cta;
}

/// The launch of a division, without what depends on its tiles.
Partition launch_of(const char *kernel, const ConvShape &shape, const Gpu &gpu, std::int64_t pieces);

/// Its tiles, shared memory and resident CTAs: two CTAs an SM, which the paper's division needs, may not fit.
void fill_residency(Partition &part, const ConvShape &shape, const Gpu &gpu, Tile tile,
                    std::int64_t shared_floats);

/// The CTA that has the first half of every piece of a full share.
struct FirstHalf {
    Tile tile;
    std::int64_t rows, filters;     ///< of a step
    bool alone;                     ///< the second half has none
    double step_bytes, step_copies; ///< of a step's copies to shared memory: bytes, warp instructions
    double once_copies;             ///< warp instructions of those before the first piece
};

/// What its steps and its start cost, of `shares` shares an image; the work of the launch starts at zero.
void fill_cta(Partition &part, const ConvShape &shape, const Gpu &gpu, std::int64_t shares,
              const FirstHalf &half);

/// Goes over the CTAs of a division. `all` rows or filters are cut into shares of `share`; the last share has
/// the rest if it is no multiple. Two CTAs have a share, one for each half (0 and 1). For each kind of CTA it
/// calls add_cta(half, size of the share, number of such CTAs over all images).
template <class Add>
void over_ctas(std::int64_t all, std::int64_t share, std::int64_t images, const Add &add_cta) {
    const std::int64_t full = all / share, rest = all % share;
    for (const std::int64_t half : {0, 1}) {
        add_cta(half, share, double(full * images));
        if (rest > 0)
            add_cta(half, rest, double(images));
    }
}

/// Fills in what follows from the work of all CTAs that have a share: the average step, the idle CTAs, and
/// the traffic of DRAM. `copying`: warp instructions of the copies of all steps.
void finish_work(Partition &part, const ConvShape &shape, const Gpu &gpu, double copying);

/// What the knobs of a division say; 0 leaves a number to the rules.
struct Asked {
    std::int64_t pieces = 0;
    std::int64_t buffers = 0; ///< 2: each CTA has two of its own half of a piece; 1: kernel split_walk
    std::int64_t map_shares =
        1; ///< of division 1: parts of the map, for which there are fewer of the filters
};

/// The two ways to hold a piece; see Asked::buffers.
inline constexpr std::int64_t one_buffer = 1, two_buffers = 2;

/// How the plan of one division differs from that of the other.
struct Method {
    const char *letter; ///< the paper's, of its pieces
    const char *cut;    ///< what is cut into pieces, `most` of them at most
    std::int64_t most;
    bool by_filters; ///< the filters are cut, and the map's rows lie over the SMs
    std::optional<std::int64_t> Rules::*candidate;
    std::int64_t (*round_fmas)(const ConvShape &, std::int64_t n_sm, std::int64_t pieces);
    std::int64_t (*round_bytes)(const ConvShape &, std::int64_t n_sm, std::int64_t pieces);
    /// The launch without and with its work, which walks over the pieces.
    Partition (*launch)(const ConvShape &, const Gpu &, std::int64_t pieces);
    Partition (*launch_with_work)(const ConvShape &, const Gpu &, std::int64_t pieces);
};

/// A plan, and the numbers that it runs with.
struct Found {
    Feasible feasible;
    Asked runs;
};

/// The plan with as many pieces as asked or, of 0, the paper's or the next number of which two CTAs fit an
/// SM.
std::variant<Found, Infeasible> plan_of(const ConvShape &shape, const Gpu &gpu, const Asked &asked,
                                        const Method &method);

/// The same, as the plan of strategy S.
template <class S>
Planned planned_by(S &strategy, const ConvShape &shape, const Gpu &gpu, const Method &method) {
    Asked asked{strategy.pieces, strategy.buffers};
    if constexpr (requires { strategy.map_shares; })
        asked.map_shares = strategy.map_shares;
    std::variant<Found, Infeasible> plan = plan_of(shape, gpu, asked, method);
    if (const auto *infeasible = std::get_if<Infeasible>(&plan))
        return *infeasible;
    Found &found = std::get<Found>(plan);
    strategy.pieces = int(found.runs.pieces);
    strategy.buffers = int(found.runs.buffers);
    if constexpr (requires { strategy.map_shares; })
        strategy.map_shares = int(found.runs.map_shares);
    return std::move(found.feasible);
}

/// How the CTAs of a launch walk, but for what its cuts and its pixels are: two halves of a piece an SM.
Walk walk_of(const ConvShape &shape, const Partition &launch, Tile tile, bool by_filters);

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
