// Chang, section 3.1, division 2: the map over SMs, the filters streamed through every SM in Q pieces.
#include "model/strategies/parts/division.hpp"
#include "model/strategies/parts/split_walk.hpp"
#include "model/strategies/strategy.hpp"

namespace convcast {

using namespace division;

namespace {

/// Each SM holds ceil(p / N_sm) output rows' worth of the map; the filters come in `pieces`, the next one
/// prefetched while the present one is computed. 2 * N_sm CTAs of 512 threads. With two buffers the two CTAs
/// of an SM halve the filters of every piece, with one the columns of the map, and the filters pass through a
/// ring of one piece (split_walk.hpp). C = 1 only.
struct MapSplit {
    static constexpr About about{"map_split",
                                 "Chang method 2 (C = 1): map rows over SMs, the filters in Q pieces", 2};
    int pieces = 0, buffers = 0;

    void knobs(const EachKnob &each) {
        each(pieces, "pieces", 0, most_pieces, {1, 2, 4, 8, 16, 32, 64},
             "Q, pieces of the filters; 0: the paper's, or the next that fits");
        each(buffers, "buffers", 0, 2, {},
             "2: two buffers for each CTA's half of a piece; 1: a ring of one piece for both CTAs of an SM, "
             "what the paper's D counts, and Chen's loop; 0: 2 where the pieces fit, else 1");
    }
    Planned plan(const ConvShape &s, const Gpu &gpu);
    Walk walk(const ConvShape &s, const Gpu &gpu, const Partition &launch) const;
};

/// What follows from the shape and a number of pieces, which are whole filters.
struct Tiling {
    std::int64_t rows;                        ///< of a share
    std::int64_t piece_filters, half_filters; ///< of a piece and of the first CTA's half of it
    Tile tile;
};

Tiling tiling_of(const ConvShape &s, const Gpu &gpu, std::int64_t pieces) {
    const std::int64_t rows = ceil_div(s.p(), std::int64_t{gpu.limits.sm_count});
    const std::int64_t piece_filters = ceil_div(s.k, pieces), half_filters = ceil_div(piece_filters, 2);
    return {rows, piece_filters, half_filters, choose_tile(banks_of(gpu.profile), rows, half_filters)};
}

Partition launch(const ConvShape &s, const Gpu &gpu, std::int64_t pieces) {
    const Tiling t = tiling_of(s, gpu, pieces);
    Partition part = launch_of(MapSplit::about.name, s, gpu, pieces);
    // The last pieces may have no filters left, which costs their barriers only.
    part.steps = ceil_div(s.k, t.piece_filters);
    part.bank_floats = round_up(ceil_div(t.half_filters, t.tile.group) * t.tile.group * s.r * s.s, 4);
    part.band_floats = round_up((round_up(t.rows, t.tile.rows) + s.r - 1) * s.w, 4);
    fill_residency(part, s, gpu, t.tile, part.stages * part.bank_floats + part.band_floats);
    return part;
}

/// Floats of the map behind `rows` rows.
std::int64_t band_floats_of(const ConvShape &s, std::int64_t rows) {
    return (rows + s.r - 1) * s.w;
}

/// The part of an image's `shares` whose two halves run on the same SM (F19). The halves lie N_SM apart in
/// the grid. The first shares have their halves on different SMs (halves_apart), and so has every share
/// behind those that follow (halves_together).
double halves_meet(std::int64_t shares, const Architecture &architecture) {
    const auto alone = static_cast<std::int64_t>(architecture.halves_apart->value),
               together = static_cast<std::int64_t>(architecture.halves_together->value);
    const std::int64_t meet = shares <= alone ? 0 : shares - alone < together ? shares - alone : together;
    return double(meet) / double(shares);
}

/// What a CTA asks L2 for of the map behind `band_rows` rows. Copies of 16 bytes pass L1; of others the two
/// halves, on the same SM, find there what the other has read.
double band_read(const ConvShape &s, const Gpu &gpu, const Tiling &t, const Partition &part,
                 std::int64_t band_rows) {
    const double bytes = double(band_floats_of(s, band_rows)) * 4.0;
    const std::int64_t shares = ceil_div(s.p(), t.rows), row_bytes = s.w * 4;
    if (!copies_wide(s))
        return spanned_bytes(bytes) * (1.0 - 0.5 * halves_meet(shares, gpu.architecture));
    const Stride images{s.h * row_bytes, s.n}, parts{t.rows * row_bytes, shares};
    return wide_copy_bytes(bytes, odd_halves(part.stages * part.bank_floats * 4, {images, parts}),
                           odd_halves(0, {images, parts}));
}

/// Adds `times` CTAs that have one half of every piece for `band_rows` rows, and to `copying` the warp
/// instructions of their steps' copies.
void add_ctas(Partition &part, double &copying, const ConvShape &s, const Tiling &t, std::int64_t half,
              std::int64_t band_rows, double times) {
    Work &work = part.work;
    StepWork step;
    double written = 0.0;
    std::int64_t count_before = -1;
    *work.instructions +=
        times * (cta_instructions + copy_instructions(band_floats_of(s, band_rows), copies_wide(s)));
    for (std::int64_t piece = 0; piece < part.pieces; ++piece) {
        const std::int64_t begin = piece * t.piece_filters + half * t.half_filters;
        const std::int64_t count =
            std::min({(piece + 1) * t.piece_filters, s.k, begin + t.half_filters}) - begin;
        *work.instructions += times * piece_instructions(part.pieces);
        copying += times * (piece < part.steps ? piece_instructions(part.pieces) : 0.0);
        if (count <= 0)
            continue;
        if (count != count_before) {
            step = band_work(s, t.tile, band_rows, count);
            written = band_written_bytes(s, t.tile, band_rows, count);
            count_before = count;
        }
        *work.fmas += times * step.fmas;
        const double copies = filter_copy_instructions(count, s.r * s.s, t.tile.group);
        *work.instructions += times * (step.instructions + copies);
        copying += times * copies;
        *work.shared_wavefronts += times * step.shared_wavefronts;
        *work.l2_write_bytes += times * written;
    }
}

/// What all CTAs ask L2 for of the filters: all parts of the map go through all of them at the same time.
double filter_reads(const ConvShape &s, const Gpu &gpu, const Tiling &t, const Partition &part) {
    const auto halves = double(t.piece_filters > 1 ? 2 : 1);
    const double of_image = halves * spanned_bytes(double(s.filter_bytes()) / halves);
    // L1 keeps them from one image to the next as far as the lines that are stored leave it.
    constexpr double line = 128.0;
    const double stored = double(s.k) * (double(t.rows * s.q()) * 4.0 + line);
    const double lost = lost_from_l1(double(s.filter_bytes()) + stored, part, gpu),
                 all_bands = double(ceil_div(s.p(), t.rows)) * double(s.n),
                 first_bands = std::min(all_bands, double(part.parts));
    return (first_bands + (all_bands - first_bands) * lost) * of_image;
}

Partition launch_with_work(const ConvShape &s, const Gpu &gpu, std::int64_t pieces) {
    const Tiling t = tiling_of(s, gpu, pieces);
    const std::int64_t shares = ceil_div(s.p(), t.rows), taps = s.r * s.s;
    Partition part = launch(s, gpu, pieces);
    part.copy_passes = gpu.architecture.narrow_copy_passes->value; // of filters, which it transposes
    fill_cta(part, s, gpu, shares,
             {.tile = t.tile,
              .rows = t.rows,
              .filters = t.half_filters,
              .alone = t.piece_filters == 1,
              .step_bytes = double(t.half_filters * taps * 4),
              .step_copies = filter_copy_instructions(t.half_filters, taps, t.tile.group),
              .once_copies = copy_instructions(band_floats_of(s, t.rows), copies_wide(s))});
    part.drain.load_bytes = double(band_floats_of(s, t.rows) * 4);
    double copying = 0.0;
    over_ctas(s.p(), t.rows, s.n, [&](std::int64_t half, std::int64_t band_rows, double times) {
        *part.work.l2_read_bytes += times * band_read(s, gpu, t, part, band_rows);
        add_ctas(part, copying, s, t, half, band_rows, times);
    });
    const double of_filters = filter_reads(s, gpu, t, part);
    *part.work.l2_read_bytes += of_filters;
    part.mergeable_reads = mergeable_reads(of_filters, {double(shares), 1.0}, part, gpu);
    finish_work(part, s, gpu, copying);
    return part;
}

} // namespace

Planned MapSplit::plan(const ConvShape &s, const Gpu &gpu) {
    return planned_by(*this, s, gpu,
                      {.letter = "Q",
                       .cut = "filters",
                       .most = s.k,
                       .by_filters = true,
                       .candidate = &Rules::candidate_q,
                       .round_fmas = papers::th2_fmas,
                       .round_bytes = papers::d2_bytes,
                       .launch = launch,
                       .launch_with_work = launch_with_work});
}

Walk MapSplit::walk(const ConvShape &s, const Gpu &gpu, const Partition &launch) const {
    if (buffers == one_buffer)
        return split_walk::walk(s, launch);
    const Tiling t = tiling_of(s, gpu, pieces);
    Walk walk = walk_of(s, launch, t.tile, true);
    walk.cuts = {{&OutputBox::images, 1, 2},
                 {&OutputBox::rows, t.rows, 0},
                 {&OutputBox::filters, t.piece_filters},
                 {&OutputBox::filters, t.half_filters, 1}};
    walk.pixels = band_pixels(s, t.rows);
    return walk;
}

const StrategyKind &strategies::map_split() {
    return kind_of<MapSplit>();
}

} // namespace convcast
