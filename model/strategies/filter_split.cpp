// Chang, section 3.1, division 1: filters over SMs, the map streamed through every SM in P pieces.
#include "model/strategies/parts/division.hpp"
#include "model/strategies/parts/split_walk.hpp"
#include "model/strategies/strategy.hpp"

namespace convcast {

using namespace division;

namespace {

/// Each SM holds ceil(k / N_sm) filters; the map comes in `pieces` bands of rows along y, the next one
/// prefetched while the present one is computed. 2 * N_sm CTAs of 512 threads. With two buffers the two CTAs
/// of an SM halve the rows of every piece, with one its columns, in a ring of one piece (split_walk.hpp).
/// With `map_shares` the map is divided over SMs as well. C = 1 only.
struct FilterSplit {
    static constexpr About about{"filter_split",
                                 "Chang method 1 (C = 1): filters over SMs, the map in P pieces", 1};
    int pieces = 0, buffers = 0, map_shares = 1;

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
    Walk walk(const ConvShape &s, const Gpu &gpu, const Partition &launch) const;
};

/// What follows from the shape and a number of pieces, which are whole rows.
struct Tiling {
    std::int64_t filters;               ///< of a share
    std::int64_t piece_rows, half_rows; ///< of a piece and of the first CTA's half of it
    Tile tile;
};

Tiling tiling_of(const ConvShape &s, const Gpu &gpu, std::int64_t pieces) {
    const std::int64_t filters = ceil_div(s.k, std::int64_t{gpu.limits.sm_count});
    const std::int64_t piece_rows = ceil_div(s.p(), pieces), half_rows = ceil_div(piece_rows, 2);
    return {filters, piece_rows, half_rows, choose_tile(banks_of(gpu.profile), half_rows, filters)};
}

Partition launch(const ConvShape &s, const Gpu &gpu, std::int64_t pieces) {
    const Tiling t = tiling_of(s, gpu, pieces);
    Partition part = launch_of(FilterSplit::about.name, s, gpu, pieces);
    // The last pieces may have no rows left, which costs their barriers only.
    part.steps = ceil_div(s.p(), t.piece_rows);
    part.bank_floats = round_up(ceil_div(t.filters, t.tile.group) * t.tile.group * s.r * s.s, 4);
    part.band_floats = round_up((round_up(t.half_rows, t.tile.rows) + s.r - 1) * s.w, 4);
    fill_residency(part, s, gpu, t.tile, part.bank_floats + part.stages * part.band_floats);
    return part;
}

/// Of the map, to compute `rows` rows.
std::int64_t fetch_floats(const ConvShape &s, std::int64_t rows) {
    return rows > 0 ? (rows + s.r - 1) * s.w : 0;
}

/// What CTAs ask L2 for of `rows` rows that begin with row `begin` and go to one of the buffers.
double band_read(const ConvShape &s, const Partition &part, std::int64_t begin, std::int64_t rows,
                 std::int64_t buffer) {
    const double bytes = double(fetch_floats(s, rows)) * 4.0;
    if (!copies_wide(s))
        return spanned_bytes(bytes);
    const std::int64_t row_bytes = s.w * 4;
    const Stride images{s.h * row_bytes, s.n};
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
void add_ctas(Partition &part, Sums &sums, const ConvShape &s, const Tiling &t, std::int64_t half,
              std::int64_t count, double times) {
    Work &work = part.work;
    const std::int64_t taps = s.r * s.s;
    StepWork step;
    double written = 0.0;
    std::int64_t rows_before = -1;
    for (std::int64_t piece = 0; piece < part.pieces; ++piece) {
        const std::int64_t begin = piece * t.piece_rows + half * t.half_rows;
        const std::int64_t rows = std::min({(piece + 1) * t.piece_rows, s.p(), begin + t.half_rows}) - begin;
        if (rows != rows_before) {
            step = band_work(s, t.tile, rows, count);
            written = band_written_bytes(s, t.tile, rows, count);
            rows_before = rows;
        }
        *work.fmas += times * step.fmas;
        const double copies =
            copy_instructions(fetch_floats(s, rows), copies_wide(s)) + piece_instructions(part.pieces);
        *work.instructions += times * (step.instructions + copies);
        sums.copying += times * (piece < part.steps ? copies : 0.0);
        *work.shared_wavefronts += times * step.shared_wavefronts;
        *work.l2_write_bytes += times * written;
        if (rows > 0)
            sums.map_reads += times * band_read(s, part, begin, rows, piece % part.stages);
    }
    *work.instructions += times * (cta_instructions + filter_copy_instructions(count, taps, t.tile.group));
    *work.l2_read_bytes += times * spanned_bytes(double(count * taps) * 4.0);
}

/// The share of the map's reads that those of other parts of the filters, which pass over the same map, can
/// be coalesced with.
double alike_reads(const ConvShape &s, const Tiling &t, const Partition &part) {
    if (!copies_wide(s))
        return 1.0;
    const std::int64_t row_bytes = s.w * 4, piece_bytes = t.piece_rows * row_bytes;
    return alike_in_lines(part.bank_floats * 4,
                          {{-s.h * row_bytes, s.n},
                           {-t.half_rows * row_bytes, 2},
                           next_buffer(part.band_floats * 4, piece_bytes, part.stages, part.steps),
                           next_turn(piece_bytes, part.stages, part.steps)});
}

Partition launch_with_work(const ConvShape &s, const Gpu &gpu, std::int64_t pieces) {
    const Tiling t = tiling_of(s, gpu, pieces);
    const bool wide = copies_wide(s);
    const std::int64_t shares = ceil_div(s.k, t.filters), fetched = fetch_floats(s, t.half_rows);
    Partition part = launch(s, gpu, pieces);
    part.copy_passes =
        wide ? gpu.architecture.wide_copy_passes->value : gpu.architecture.narrow_copy_passes->value;
    fill_cta(part, s, gpu, shares,
             {.tile = t.tile,
              .rows = t.half_rows,
              .filters = t.filters,
              .alone = t.piece_rows == 1,
              .step_bytes = double(fetched * 4),
              .step_copies = copy_instructions(fetched, wide),
              .once_copies = filter_copy_instructions(t.filters, s.r * s.s, t.tile.group)});
    // CTAs of one wave start in lockstep, and with them their first units.
    if (part.waves == 1)
        part.store_rounds = std::max(
            1.0, double(ceil_div(t.half_rows, t.tile.rows) * s.q() * ceil_div(t.filters, t.tile.group)) /
                     double(part.threads));
    Sums sums;
    over_ctas(s.k, t.filters, s.n, [&](std::int64_t half, std::int64_t count, double times) {
        add_ctas(part, sums, s, t, half, count, times);
    });
    // Copies of 16 bytes pass L1. Others find there what the CTA's other pieces and the other half, on the
    // same SM, have read, as far as L1 reaches back to their common rows.
    if (!wide && l1_bytes(part, gpu) >= 4.0 * double(part.band_floats) * 4.0)
        sums.map_reads = double(shares * s.n * (s.h * s.w * 4));
    const double requested = sums.map_reads;
    *part.work.l2_read_bytes += requested;
    part.mergeable_reads =
        mergeable_reads(sums.map_reads * alike_reads(s, t, part), {double(shares), 1.0}, part, gpu);
    finish_work(part, s, gpu, sums.copying);
    // What a step moves from L2 are the sectors that its copies request: twice the map's where source and
    // destination lie 16 bytes apart in a sector.
    part.step.load_bytes = requested / double((part.ctas - part.idle_ctas) * part.steps);
    return part;
}

} // namespace

Planned FilterSplit::plan(const ConvShape &s, const Gpu &gpu) {
    return planned_by(*this, s, gpu,
                      {.letter = "P",
                       .cut = "output rows",
                       .most = s.p(),
                       .by_filters = false,
                       .candidate = &Rules::candidate_p,
                       .round_fmas = papers::th1_fmas,
                       .round_bytes = papers::d1_bytes,
                       .launch = launch,
                       .launch_with_work = launch_with_work});
}

Walk FilterSplit::walk(const ConvShape &s, const Gpu &gpu, const Partition &launch) const {
    if (buffers == one_buffer)
        return split_walk::walk(s, launch);
    const Tiling t = tiling_of(s, gpu, pieces);
    Walk walk = walk_of(s, launch, t.tile, false);
    walk.cuts = {{&OutputBox::images, 1, 2},
                 {&OutputBox::filters, t.filters, 0},
                 {&OutputBox::rows, t.piece_rows},
                 {&OutputBox::rows, t.half_rows, 1}};
    walk.pixels = band_pixels(s, t.half_rows);
    return walk;
}

const StrategyKind &strategies::filter_split() {
    return kind_of<FilterSplit>();
}

} // namespace convcast
