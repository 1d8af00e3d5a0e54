// Chang, section 3.1, division 1: filters over SMs, the map streamed through every SM in P pieces.
#include "model/strategies/parts/division.hpp"
#include "model/strategies/strategy.hpp"

namespace convcast {

using namespace division;

namespace {

/// Each SM holds ceil(k / N_sm) filters; the map comes in `pieces` bands of rows along y, the next one
/// prefetched while the present one is computed. 2 * N_sm CTAs of 512 threads. With two buffers the two CTAs
/// of an SM halve the rows of every piece, with one its columns, in a ring of one piece (split_walk).
/// With `map_shares` the map is divided over SMs as well. C = 1 only.
struct FilterSplit : Knobs {
    static constexpr About about{"filter_split",
                                 "Chang method 1 (C = 1): filters over SMs, the map in P pieces", 1};

    void knobs(const EachKnob &each) {
        each(pieces, "pieces", 0, most_pieces, {1, 2, 4, 8, 16, 32, 64, 128},
             "P, pieces of the map along y; 0: the paper's, or the next that fits");
        each(buffers, "buffers", 0, 2, {},
             "2: two buffers for each CTA's half of a piece; 1: a ring of one piece for both CTAs of an SM, "
             "what the paper's D counts, and Chen's loop; 0: 2 where the pieces fit, else 1");
        each(map_shares, "map_shares", 0, 1024, {},
             "parts of the map over SMs, for which the filters have fewer, with one buffer; 1: division 1; "
             "0: step 4 of section 2.2, which redivides until more than V_s bytes move");
    }
    Planned plan(const ConvShape &s, const Gpu &gpu);
    void walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const;
};

/// What CTAs ask L2 for of `rows` rows that begin with row `begin` and go to one of the buffers.
double band_read(const Tiling &t, const Partition &part, std::int64_t begin, std::int64_t rows,
                 std::int64_t buffer) {
    const double bytes = double(t.map_floats(rows)) * 4.0;
    if (!t.wide)
        return spanned_bytes(bytes);
    const std::int64_t row_bytes = t.s.w * 4;
    const Stride images{t.s.h * row_bytes, t.s.n};
    return wide_copy_bytes(
        bytes, odd_halves(part.bank_floats * 4 + buffer * part.band_floats * 4 - begin * row_bytes, {images}),
        odd_halves(begin * row_bytes, {images}));
}

/// What all CTAs ask L2 for: each its filters once, and piece after piece of the map.
PieceReads count_reads(const Tiling &t, const Partition &part) {
    double staying = 0.0, coming = 0.0;
    over_ctas(t, [&](std::int64_t half, std::int64_t filters, double times) {
        for (std::int64_t piece = 0; piece < part.pieces; ++piece)
            if (const std::int64_t rows = t.count_of(piece, half); rows > 0)
                coming += times * band_read(t, part, t.begin_of(piece, half), rows, piece % part.stages);
        staying += times * spanned_bytes(double(filters * t.taps) * 4.0);
    });
    // Copies of 16 bytes pass L1. Others find there what the CTA's other pieces and the other half, on the
    // same SM, have read, as far as L1 reaches back to their common rows.
    if (!t.wide && l1_bytes(part, t.gpu) >= 4.0 * double(part.band_floats) * 4.0)
        coming = double(t.shares * t.s.n * (t.s.h * t.s.w * 4));
    const std::int64_t row_bytes = t.s.w * 4, piece_bytes = t.piece * row_bytes;
    if (!t.wide)
        return {{staying}, {coming}};
    // With those of other parts of the filters, which pass over the same map.
    const double alike = alike_in_lines(
        part.bank_floats * 4, {{-t.s.h * row_bytes, t.s.n},
                               {-t.half * row_bytes, 2},
                               next_buffer(part.band_floats * 4, piece_bytes, part.stages, part.steps),
                               next_turn(piece_bytes, part.stages, part.steps)});
    return {{staying}, {coming, {}, coming * alike}};
}

} // namespace

Planned FilterSplit::plan(const ConvShape &s, const Gpu &gpu) {
    return plan_of(*this, s, gpu, false, count_reads);
}

void FilterSplit::walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const {
    walk = walk_of(*this, s, gpu, false, launch);
}

const StrategyKind &strategies::filter_split() {
    return kind_of<FilterSplit>();
}

} // namespace convcast
