// Chang, section 3.1, division 2: the map over SMs, the filters streamed through every SM in Q pieces.
#include "model/strategies/parts/division.hpp"
#include "model/strategies/strategy.hpp"

namespace convcast {

using namespace division;

namespace {

/// Each SM holds ceil(p / N_sm) output rows' worth of the map; the filters come in `pieces`, the next one
/// prefetched while the present one is computed. 2 * N_sm CTAs of 512 threads. With two buffers the two CTAs
/// of an SM halve the filters of every piece, with one the columns of the map, and the filters pass through a
/// ring of one piece (split_walk). C = 1 only.
struct MapSplit : Knobs {
    static constexpr About about{"map_split",
                                 "Chang method 2 (C = 1): map rows over SMs, the filters in Q pieces", 2};

    void knobs(const EachKnob &each) {
        each(pieces, "pieces", 0, most_pieces, {1, 2, 4, 8, 16, 32, 64},
             "Q, pieces of the filters; 0: the paper's, or the next that fits");
        each(buffers, "buffers", 0, 2, {},
             "2: two buffers for each CTA's half of a piece; 1: a ring of one piece for both CTAs of an SM, "
             "what the paper's D counts, and Chen's loop; 0: 2 where the pieces fit, else 1");
    }
    Planned plan(const ConvShape &s, const Gpu &gpu);
    void walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const;
};

/// The part of an image's `shares` whose two halves run on the same SM (F19). The halves lie N_SM apart in
/// the grid. The first shares have their halves on different SMs (halves_apart), and so has every share
/// behind those that follow (halves_together).
double halves_meet(std::int64_t shares, const Architecture &architecture) {
    const auto alone = static_cast<std::int64_t>(architecture.halves_apart->value),
               together = static_cast<std::int64_t>(architecture.halves_together->value);
    const std::int64_t meet = shares <= alone ? 0 : shares - alone < together ? shares - alone : together;
    return double(meet) / double(shares);
}

/// What a CTA asks L2 for of the map behind `rows` rows. Copies of 16 bytes pass L1; of others the two
/// halves, on the same SM, find there what the other has read.
double band_read(const Tiling &t, const Partition &part, std::int64_t rows) {
    const double bytes = double(t.map_floats(rows)) * 4.0;
    const std::int64_t row_bytes = t.s.w * 4;
    if (!t.wide)
        return spanned_bytes(bytes) * (1.0 - 0.5 * halves_meet(t.shares, t.gpu.architecture));
    const Stride images{t.s.h * row_bytes, t.s.n}, parts{t.rows * row_bytes, t.shares};
    return wide_copy_bytes(bytes, odd_halves(part.stages * part.bank_floats * 4, {images, parts}),
                           odd_halves(0, {images, parts}));
}

/// What all CTAs ask L2 for of the filters: all parts of the map go through all of them at the same time.
double filter_reads(const Tiling &t, const Partition &part) {
    const auto halves = double(t.piece > 1 ? 2 : 1);
    const double of_image = halves * spanned_bytes(double(t.s.filter_bytes()) / halves);
    // L1 keeps them from one image to the next as far as the lines that are stored leave it.
    constexpr double line = 128.0;
    const double stored = double(t.s.k) * (double(t.rows * t.s.q()) * 4.0 + line);
    const double lost = lost_from_l1(double(t.s.filter_bytes()) + stored, part, t.gpu),
                 all_bands = double(t.shares) * double(t.s.n),
                 first_bands = std::min(all_bands, double(part.parts));
    return (first_bands + (all_bands - first_bands) * lost) * of_image;
}

PieceReads count_reads(const Tiling &t, const Partition &part) {
    double staying = 0.0;
    over_ctas(t, [&](std::int64_t, std::int64_t rows, double times) {
        staying += times * band_read(t, part, rows);
    });
    return {{staying}, {filter_reads(t, part)}};
}

} // namespace

Planned MapSplit::plan(const ConvShape &s, const Gpu &gpu) {
    return plan_of(*this, s, gpu, true, count_reads);
}

void MapSplit::walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const {
    walk = walk_of(*this, s, gpu, true, launch);
}

const StrategyKind &strategies::map_split() {
    return kind_of<MapSplit>();
}

} // namespace convcast
