// Chang, section 3.1, division 1: filters over SMs, the map streamed through every SM in P pieces.
#include "model/strategies/parts/division.hpp"
#include "model/strategies/strategy.hpp"

namespace convcast {

using namespace division;

namespace {

/// Each SM holds ceil(k / N_sm) filters. The map comes in `pieces` bands of rows, of which the next is
/// prefetched while the present one is computed. Each SM has two CTAs of 512 threads. With two buffers they
/// halve the rows of every piece. With one buffer, a ring of one piece, they halve its columns (kernel
/// split_walk). With several `map_shares` the map is divided over the SMs as well. One input channel only.
struct FilterSplit : Knobs {
    static constexpr About about{"filter_split",
                                 "Chang method 1 (C = 1): filters over SMs, the map in P pieces", 1};

    void knobs(const EachKnob &each) {
        each(pieces, "pieces", 0, most_pieces, {1, 2, 4, 8, 16, 32, 64, 128},
             "P, pieces that the rows of the map come in; 0: by Chang's rules, raised until two CTAs fit "
             "on an SM");
        each(buffers, "buffers", 0, 2, {}, buffers_doc);
        each(map_shares, "map_shares", 0, 1024, {},
             "SMs that share a map: its rows are divided into so many parts, the filters into N_sm / "
             "map_shares; "
             "above 1 only with one buffer; 1: every SM reads the whole map; 0: by Chang's rules (step 4 of "
             "section 2.2), above 1 where an SM would have too few multiply-adds to hide the latency of "
             "memory");
    }
    Planned plan(const ConvShape &s, const Gpu &gpu);
    void walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const;
};

/// Bytes that a CTA requests from L2 for the pixels of `rows` output rows from row `begin` on, which are
/// copied to buffer number `buffer`.
double band_read(const Tiling &t, const Partition &part, std::int64_t begin, std::int64_t rows,
                 std::int64_t buffer) {
    const double bytes = double(t.map_floats(rows)) * 4.0;
    if (!t.wide)
        return spanned_bytes(bytes);
    const std::int64_t row_bytes = t.s.w * 4;
    const Stride images{t.s.h * row_bytes, t.s.n};
    return wide_copy_bytes(
        bytes,
        share_at_odd_16_bytes(part.bank_floats * 4 + buffer * part.band_floats * 4 - begin * row_bytes,
                              {images}),
        share_at_odd_16_bytes(begin * row_bytes, {images}));
}

/// Bytes that all CTAs request from L2: each its filters once, and piece after piece of the map.
PieceReads count_reads(const Tiling &t, const Partition &part) {
    double staying = 0.0, coming = 0.0;
    over_ctas(t, [&](std::int64_t half, std::int64_t filters, double times) {
        for (std::int64_t piece = 0; piece < part.pieces; ++piece)
            if (const std::int64_t rows = t.count_of(piece, half); rows > 0)
                coming += times * band_read(t, part, t.begin_of(piece, half), rows, piece % part.stages);
        staying += times * spanned_bytes(double(filters * t.taps) * 4.0);
    });
    // Copies of 16 bytes bypass L1. Narrower ones find in L1 the rows that a piece has in common with the
    // one before and with the other CTA of the SM, if L1 keeps four bands: an SM requests the map once.
    if (!t.wide && l1_bytes(part, t.gpu) >= 4.0 * double(part.band_floats) * 4.0)
        coming = double(t.shares * t.s.n * (t.s.h * t.s.w * 4));
    const std::int64_t row_bytes = t.s.w * 4, piece_bytes = t.piece * row_bytes;
    if (!t.wide)
        return {{staying}, {coming}};
    // The share that can be coalesced with requests of SMs that hold other filters: all read the same map.
    const double alike = alike_in_lines(
        part.bank_floats * 4, {{-t.s.h * row_bytes, t.s.n},
                               {-t.half * row_bytes, 2},
                               next_buffer(part.band_floats * 4, piece_bytes, part.stages, part.steps),
                               next_turn(piece_bytes, part.stages, part.steps)});
    return {{staying}, {coming, {}, coming * alike}};
}

} // namespace

Planned FilterSplit::plan(const ConvShape &s, const Gpu &gpu) {
    return plan_of(*this, s, gpu, /*filters_in_pieces=*/false, count_reads);
}

void FilterSplit::walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const {
    walk = walk_of(*this, s, gpu, /*filters_in_pieces=*/false, launch);
}

const StrategyKind &strategies::filter_split() {
    return kind_of<FilterSplit>();
}

} // namespace convcast
