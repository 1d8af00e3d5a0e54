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

/// Sums over CTAs, beside the launch's work.
struct Sums {
    double copying = 0.0;   ///< warp instructions of all steps' copies
    double map_reads = 0.0; ///< bytes that L1 does not have
};

/// Adds `times` CTAs that have one half of every piece for `count` filters.
void add_ctas(Partition &part, Sums &sums, const Tiling &t, std::int64_t half, std::int64_t count,
              double times) {
    Work &work = part.work;
    StepWork step;
    double written = 0.0;
    std::int64_t rows_before = -1;
    for (std::int64_t piece = 0; piece < part.pieces; ++piece) {
        const std::int64_t rows = t.count_of(piece, half);
        if (rows != rows_before) {
            step = band_work(t.s, t.tile, rows, count);
            written = band_written_bytes(t.s, t.tile, rows, count);
            rows_before = rows;
        }
        *work.fmas += times * step.fmas;
        const double copies = t.map_copies(rows) + piece_instructions(part.pieces);
        *work.instructions += times * (step.instructions + copies);
        sums.copying += times * (piece < part.steps ? copies : 0.0);
        *work.shared_wavefronts += times * step.shared_wavefronts;
        *work.l2_write_bytes += times * written;
        if (rows > 0)
            sums.map_reads += times * band_read(t, part, t.begin_of(piece, half), rows, piece % part.stages);
    }
    *work.instructions += times * (cta_instructions + t.filter_copies(count));
    *work.l2_read_bytes += times * spanned_bytes(double(count * t.taps) * 4.0);
}

/// The share of the map's reads that those of other parts of the filters, which pass over the same map, can
/// be coalesced with.
double alike_reads(const Tiling &t, const Partition &part) {
    if (!t.wide)
        return 1.0;
    const std::int64_t row_bytes = t.s.w * 4, piece_bytes = t.piece * row_bytes;
    return alike_in_lines(part.bank_floats * 4,
                          {{-t.s.h * row_bytes, t.s.n},
                           {-t.half * row_bytes, 2},
                           next_buffer(part.band_floats * 4, piece_bytes, part.stages, part.steps),
                           next_turn(piece_bytes, part.stages, part.steps)});
}

Partition launch_with_work(const Tiling &t) {
    Partition part = launch(t);
    fill_cta(part, t);
    // CTAs of one wave start in lockstep, and with them their first units.
    if (part.waves == 1)
        part.store_rounds = std::max(
            1.0, double(ceil_div(t.half, t.tile.rows) * t.s.q() * ceil_div(t.filters, t.tile.group)) /
                     double(part.threads));
    Sums sums;
    over_ctas(t, [&](std::int64_t half, std::int64_t count, double times) {
        add_ctas(part, sums, t, half, count, times);
    });
    // Copies of 16 bytes pass L1. Others find there what the CTA's other pieces and the other half, on the
    // same SM, have read, as far as L1 reaches back to their common rows.
    if (!t.wide && l1_bytes(part, t.gpu) >= 4.0 * double(part.band_floats) * 4.0)
        sums.map_reads = double(t.shares * t.s.n * (t.s.h * t.s.w * 4));
    *part.work.l2_read_bytes += sums.map_reads;
    part.mergeable_reads =
        mergeable_reads(sums.map_reads * alike_reads(t, part), {double(t.shares), 1.0}, part, t.gpu);
    finish_work(part, t, sums.copying);
    // What a step moves from L2 are the sectors that its copies request: twice the map's where source and
    // destination lie 16 bytes apart in a sector.
    part.step.load_bytes = sums.map_reads / double((part.ctas - part.idle_ctas) * part.steps);
    return part;
}

} // namespace

Planned FilterSplit::plan(const ConvShape &s, const Gpu &gpu) {
    return plan_of(*this, s, gpu, false, launch_with_work);
}

void FilterSplit::walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const {
    walk =
        buffers == one_buffer ? split_walk::walk(s, gpu, launch) : walk_of({s, gpu, false, pieces}, launch);
}

namespace strategies {
const StrategyKind &filter_split() {
    return kind_of<FilterSplit>();
}
} // namespace strategies

} // namespace convcast
