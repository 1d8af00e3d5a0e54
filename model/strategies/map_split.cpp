// Chang, section 3.1, division 2: the map over SMs, the filters streamed through every SM in Q pieces.
#include "model/strategies/parts/division.hpp"
#include "model/strategies/strategy.hpp"

namespace convcast {

using namespace division;

namespace {

/// Each SM holds the pixels of ceil(p / N_sm) output rows. The filters come in `pieces`, of which the next is
/// prefetched while the present one is computed. Each SM has two CTAs of 512 threads. With two buffers they
/// halve the filters of every piece. With one buffer, a ring of one piece, they halve the columns of the map
/// (kernel split_walk). One input channel only.
struct MapSplit : Knobs {
    static constexpr About about{"map_split",
                                 "Chang method 2 (C = 1): map rows over SMs, the filters in Q pieces", 2};

    void knobs(const EachKnob &each) {
        each(pieces, "pieces", 0, most_pieces, {1, 2, 4, 8, 16, 32, 64},
             "Q, pieces that the filters come in; 0: by Chang's rules, raised until two CTAs fit on an SM");
        each(buffers, "buffers", 0, 2, {}, buffers_doc);
    }
    Planned plan(const ConvShape &s, const Gpu &gpu);
    void walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const;
};

/// The part, 0 to 1, of an image's `shares` whose two CTAs run on the same SM (F19). The CTAs of a share lie
/// N_SM apart in the grid. Those of the first shares run on different SMs (halves_apart of the architecture,
/// measured), those of the next halves_together shares on the same SM, and all further ones on different SMs.
double halves_on_one_sm(std::int64_t shares, const Architecture &architecture) {
    const auto alone = static_cast<std::int64_t>(architecture.halves_apart->value),
               together = static_cast<std::int64_t>(architecture.halves_together->value);
    const std::int64_t on_one = shares <= alone ? 0 : shares - alone < together ? shares - alone : together;
    return double(on_one) / double(shares);
}

/// Bytes that a CTA requests from L2 for the pixels of `rows` output rows. Copies of 16 bytes bypass L1. With
/// narrower ones, two CTAs of a share that run on the same SM request the pixels once together.
double band_read(const Tiling &t, const Partition &part, std::int64_t rows) {
    const double bytes = double(t.map_floats(rows)) * 4.0;
    const std::int64_t row_bytes = t.s.w * 4;
    if (!t.wide)
        return spanned_bytes(bytes) * (1.0 - 0.5 * halves_on_one_sm(t.shares, t.gpu.architecture));
    const Stride images{t.s.h * row_bytes, t.s.n}, parts{t.rows * row_bytes, t.shares};
    return wide_copy_bytes(bytes, share_at_odd_16_bytes(part.stages * part.bank_floats * 4, {images, parts}),
                           share_at_odd_16_bytes(0, {images, parts}));
}

/// Bytes that all CTAs request from L2 for the filters. Every share of every image reads all filters.
double filter_reads(const Tiling &t, const Partition &part) {
    const auto halves = double(t.piece > 1 ? 2 : 1);
    const double of_image = halves * spanned_bytes(double(t.s.filter_bytes()) / halves);
    // Shares of later images find in L1 the filters that stores of the image before have not evicted.
    constexpr double line = 128.0;
    const double stored = double(t.s.k) * (double(t.rows * t.s.q()) * 4.0 + line);
    const double lost = lost_from_l1(double(t.s.filter_bytes()) + stored, part, t.gpu),
                 all_bands = double(t.shares) * double(t.s.n),
                 first_bands = std::min(all_bands, double(part.parts));
    return (first_bands + (all_bands - first_bands) * lost) * of_image;
}

/// Bytes that all CTAs request from L2: each its rows of the map once, and piece after piece of the filters.
PieceReads count_reads(const Tiling &t, const Partition &part) {
    double staying = 0.0;
    over_ctas(t, [&](std::int64_t, std::int64_t rows, double times) {
        staying += times * band_read(t, part, rows);
    });
    return {{staying}, {filter_reads(t, part)}};
}

} // namespace

Planned MapSplit::plan(const ConvShape &s, const Gpu &gpu) {
    return plan_of(*this, s, gpu, /*filters_in_pieces=*/true, count_reads);
}

void MapSplit::walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const {
    walk = walk_of(*this, s, gpu, /*filters_in_pieces=*/true, launch);
}

const StrategyKind &strategies::map_split() {
    return kind_of<MapSplit>();
}

} // namespace convcast
