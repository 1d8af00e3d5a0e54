#include "model/base/readable.hpp"
#include "model/strategies/parts/division.hpp"

#include <array>
#include <cmath>

namespace convcast::split_walk {

namespace {

// A thread holds r x s pixels in registers, beside the taps of a filter, a sum and addresses: 64 registers,
// of which two CTAs of 512 threads fill an SM's 65,536, have room for a filter of 5 x 5.
constexpr std::int64_t most_taps = 25;
constexpr std::int64_t register_cap = 64;
constexpr double warps_per_cta = double(papers::threads_per_cta / papers::warp_threads);

/// What follows from the shape and its shares. A slot of a ring holds a row of the map or a filter.
struct Tiling {
    const ConvShape &s;
    const Gpu &gpu;
    const Shares &shares;
    bool wide = s.w % 4 == 0; ///< rows are copied 16 bytes a lane
    std::int64_t unit = wide ? 4 : 1;
    std::int64_t taps = s.r * s.s,
                 tap_floats = round_up(taps, 4); ///< of a filter's slot, which is read 16 bytes at a time
    std::int64_t half_columns =
        round_up(ceil_div(s.q(), 2), unit); ///< outputs of a row that the first CTA of an SM computes
    std::int64_t pitch = round_up(half_columns + s.s - 1, unit); ///< floats from row to row in shared memory
    std::int64_t all =
        shares.filters_in_pieces ? shares.filters : shares.rows; ///< of a share, that come in pieces
    std::int64_t piece = ceil_div(all, shares.pieces);
    std::int64_t round = shares.pieces == 1 ? piece : std::max<std::int64_t>(1, piece / rounds_per_piece);
    // Rows of the map, and filters, that shared memory has room for.
    std::int64_t map_slots = (shares.filters_in_pieces ? shares.rows : piece) + s.r - 1;
    std::int64_t bank_slots = shares.filters_in_pieces ? piece : shares.filters;
};

/// One CTA's part of the output, in numbers of outputs.
struct Area {
    std::int64_t rows, columns, filters;
};

/// What computing an area costs all threads of a CTA. A thread walks down a column of it; where there are
/// more threads than columns, the rows are divided into strips, and a unit is a column of a strip.
StepWork compute_work(const Tiling &t, const Area &area) {
    StepWork work;
    const std::int64_t strips =
        std::clamp<std::int64_t>(papers::threads_per_cta / area.columns, 1, area.rows);
    const std::int64_t height = ceil_div(area.rows, strips);
    const std::int64_t units = ceil_div(area.rows, height) * area.columns;
    const double warps = std::ceil(double(units) / 32.0);
    const double rows = double(height), filters = double(area.filters);
    const double taps = double(t.taps), tap_loads = double(t.tap_floats / 4);
    // Taps are read four at a time, with more wavefronts than narrower reads. If the last four are one tap or
    // two, the compiler reads only these, by one wavefront.
    const double narrow_loads = t.taps % 4 == 1 || t.taps % 4 == 2 ? 1.0 : 0.0;
    const double row_loads = double(t.s.s) * (rows + double(t.s.r - 1));
    work.fmas = double(area.rows * area.columns * area.filters * t.taps);
    work.turns = warps * rows * filters;
    // Warp instructions at the prices of instructions.hpp: the place of a thread's column, a row of pixels
    // (its slot in the ring, whether it is there, the loop over filters), a filter (its slot in the ring, its
    // taps and sum, its store).
    const double per_row = instructions::iteration + instructions::guard + instructions::loop,
                 per_filter = instructions::iteration + instructions::guard + instructions::unrolled_copy;
    work.instructions = warps * (instructions::place + row_loads + rows * per_row +
                                 rows * filters * (taps + tap_loads + per_filter));
    work.shared_wavefronts =
        warps *
        (row_loads +
         rows * filters * (tap_loads * t.gpu.architecture.uniform_wide_wavefronts->value - narrow_loads));
    work.store_bytes = double(area.rows * area.columns * area.filters * 4);
    return work;
}

/// Warp instructions of a CTA that copy `rows` rows of the map to their slots, each found by a division.
double row_copies(const Tiling &t, std::int64_t rows) {
    const double more = double(ceil_div(t.pitch, t.wide ? 128 : 32) - 1);
    return double(rows) * (instructions::divided_copy + instructions::copy * more);
}
/// Warp instructions of a CTA that copy `filters` filters to their slots.
double filter_copies(const Tiling &t, std::int64_t filters) {
    return instructions::divided_copy * double(ceil_div(filters * t.taps, 32));
}

/// Bytes of the sectors that copies of `rows` rows of the map request for `columns` outputs a row (W4).
double read_bytes(const Tiling &t, std::int64_t rows, std::int64_t columns) {
    const double row = double(std::min(t.pitch, columns + t.s.s - 1) * 4);
    const double of_row =
        t.wide ? wide_copy_bytes(row, share_at_odd_16_bytes(0, {{(t.pitch - t.s.w) * 4, t.map_slots}}),
                                 share_at_odd_16_bytes(0, {{t.s.w * 4, t.map_slots}}))
               : spanned_bytes(row);
    return double(rows) * of_row;
}

/// Bytes of the sectors that the rows of an area are written to.
double written_bytes(const ConvShape &s, const Area &area) {
    const std::int64_t runs = ceil_div(area.columns, warp_lanes);
    const double of_run = s.q() % 8 == 0 ? double(round_up(area.columns, 8)) * 4.0 / double(runs)
                                         : spanned_bytes(double(area.columns) * 4.0 / double(runs));
    return double(area.rows * area.filters * runs) * of_run;
}

/// Adds `times` CTAs that compute an area: what each does before its first round to part.drain, all its
/// rounds to `steps`, and their traffic with L2 to part.work.
void add_ctas(Partition &part, StepWork &steps, const Tiling &t, const Area &area, double times) {
    const ConvShape &s = t.s;
    const Shares &shares = t.shares;
    const std::int64_t all = shares.filters_in_pieces ? area.filters : area.rows; // that come in pieces
    StepWork once;
    const std::int64_t first_rows = std::min(t.map_slots, area.rows + s.r - 1),
                       first_filters = std::min(t.bank_slots, area.filters);
    // A warp's start takes four divisions, for its share, its piece and its slots; a `place` has two.
    once.instructions = warps_per_cta * (instructions::warp + 2.0 * instructions::place) +
                        row_copies(t, first_rows) + filter_copies(t, first_filters);
    once.load_bytes = read_bytes(t, first_rows, area.columns) + double(first_filters * t.taps * 4);
    add(part.drain, once, times);
    *part.work.l2_read_bytes += times * once.load_bytes;
    *part.work.l2_write_bytes += times * written_bytes(s, area);
    for (std::int64_t begin = 0; begin < all; begin += t.round) {
        const std::int64_t now = std::min(t.round, all - begin);
        StepWork step = shares.filters_in_pieces ? compute_work(t, {area.rows, area.columns, now})
                                                 : compute_work(t, {now, area.columns, area.filters});
        // What this round has used makes room for as much of what the ring does not hold yet.
        const std::int64_t held = shares.filters_in_pieces ? t.bank_slots : t.map_slots,
                           needed = shares.filters_in_pieces ? area.filters : area.rows + s.r - 1;
        const std::int64_t fetched = std::clamp<std::int64_t>(needed - begin - held, 0, now);
        step.copying = warps_per_cta * instructions::step +
                       (shares.filters_in_pieces ? filter_copies(t, fetched) : row_copies(t, fetched));
        step.instructions += step.copying;
        step.load_bytes =
            shares.filters_in_pieces ? double(fetched * t.taps * 4) : read_bytes(t, fetched, area.columns);
        add(steps, step, times);
        *part.work.l2_read_bytes += times * step.load_bytes;
    }
}

/// `all` cut in parts of `share`: the full ones, and the last with the rest, `times` 0 if nothing is left.
struct Share {
    std::int64_t size;
    double times;
};
std::array<Share, 2> cut(std::int64_t all, std::int64_t share) {
    const std::int64_t full = all / share, rest = all % share;
    return {Share{share, double(full)}, Share{rest, rest > 0 ? 1.0 : 0.0}};
}

StepWork average(const StepWork &sum, double count) {
    StepWork mean;
    add(mean, sum, 1.0 / count);
    return mean;
}

} // namespace

Shares shares_of(const ConvShape &s, std::int64_t filter_shares, std::int64_t map_shares, std::int64_t pieces,
                 bool filters_in_pieces) {
    const std::int64_t filters = ceil_div(s.k, filter_shares), rows = ceil_div(s.p(), map_shares);
    return {.rows = rows,
            .filters = filters,
            .map_shares = ceil_div(s.p(), rows),
            .filter_shares = ceil_div(s.k, filters),
            .pieces = pieces,
            .filters_in_pieces = filters_in_pieces};
}

std::string too_wide(const ConvShape &s) {
    return s.r * s.s <= most_taps ? ""
                                  : fmt::format("one buffer needs a filter of {} values at most, whose "
                                                "window a thread keeps in registers; got {}",
                                                most_taps, s.r * s.s);
}

Partition launch(const ConvShape &s, const Gpu &gpu, const Shares &shares) {
    const Tiling t{s, gpu, shares};
    // The ring of rows begins at a line of 128 bytes, as rows of the map do where they are whole lines: a
    // copy whose source and destination lie 16 bytes apart in a sector requests the sector twice (W4).
    constexpr std::int64_t line_floats = 32;
    const std::int64_t parts = round_up(shares.map_shares * shares.filter_shares, gpu.limits.sm_count),
                       bank_floats = round_up(t.bank_slots * t.tap_floats, line_floats),
                       band_floats = round_up(t.map_slots * t.pitch, 4);
    Partition part =
        launch_of_ctas("split_walk", {papers::ctas_per_sm * parts, s.n, 1},
                       {papers::threads_per_cta, register_cap, (bank_floats + band_floats) * 4}, gpu);
    part.parts = parts;
    part.pieces = shares.pieces;
    part.tile_h = shares.rows;
    part.tile_k = shares.filters;
    part.sharing_ctas = double(part.grid[0]);
    part.stages = shares.pieces > 1 ? rounds_per_piece : 1;
    part.steps = ceil_div(t.all, t.round);
    part.filter_count = s.k;
    part.bank_floats = bank_floats;
    part.band_floats = band_floats;
    part.template_arguments = {s.r, s.s, rounds_per_piece, shares.filters_in_pieces, t.wide};
    return part;
}

Partition launch_with_work(const ConvShape &s, const Gpu &gpu, const Shares &shares) {
    const Tiling t{s, gpu, shares};
    Partition part = launch(s, gpu, shares);
    Work &work = part.work;
    work.l2_read_bytes = work.l2_write_bytes = work.shared_conflicts = 0.0;
    StepWork steps;    // all steps of all CTAs
    double busy = 0.0; // CTAs that have outputs
    for (const Share &columns : cut(s.q(), t.half_columns))
        for (const Share &rows : cut(s.p(), shares.rows))
            for (const Share &filters : cut(s.k, shares.filters)) {
                const double times = double(s.n) * columns.times * rows.times * filters.times;
                if (times == 0.0)
                    continue;
                add_ctas(part, steps, t, {rows.size, columns.size, filters.size}, times);
                busy += times;
            }
    part.idle_ctas = part.ctas - static_cast<std::int64_t>(busy);
    if (part.idle_ctas > 0)
        part.idle_instructions = instructions::place * warps_per_cta;
    work.fmas = steps.fmas;
    work.instructions = part.drain.instructions + steps.instructions +
                        double(part.idle_ctas) * part.idle_instructions.value_or(0.0);
    work.shared_wavefronts = steps.shared_wavefronts;
    // F18: a step, and what comes before the first, of the average CTA.
    part.step = average(steps, busy * double(part.steps));
    part.drain = average(part.drain, busy);
    const Area first{
        .rows = shares.filters_in_pieces ? shares.rows : t.round, .columns = t.half_columns, .filters = 1};
    part.busy_warps = std::clamp<std::int64_t>(ceil_div(first.rows * first.columns, papers::warp_threads), 1,
                                               papers::threads_per_cta / papers::warp_threads);
    part.copy_passes = copy_passes(t.wide, gpu);
    part.independent_sums = 1;
    // All shares of the map read the same filters, in both CTAs of an SM, by copies that coalesce.
    part.mergeable_reads = mergeable_reads(double(shares.map_shares * s.n) * 2.0 * double(s.filter_bytes()),
                                           {.ctas = double(shares.map_shares)}, part, gpu);
    fill_writes(part, s, gpu);
    return part;
}

Walk walk_of(const ConvShape &s, const Gpu &gpu, const Partition &launch) {
    const bool filters_in_pieces = launch.template_arguments[3] == 1; // as launch() put them
    const Shares shares{.rows = launch.tile_h,
                        .filters = launch.tile_k,
                        .map_shares = ceil_div(s.p(), launch.tile_h),
                        .filter_shares = ceil_div(s.k, launch.tile_k),
                        .pieces = launch.pieces,
                        .filters_in_pieces = filters_in_pieces};
    const Tiling t{s, gpu, shares};
    Walk walk(s, launch);
    walk.grid = {launch.parts, launch.grid[0] / launch.parts, launch.grid[1]};
    walk.cuts = {
        {.axis = &OutputBox::images, .share = 1, .along = 2},
        {.axis = &OutputBox::filters, .share = launch.tile_k, .along = 0, .apart = shares.map_shares},
        {.axis = &OutputBox::rows, .share = launch.tile_h, .along = 0, .shares = shares.map_shares},
        {.axis = &OutputBox::columns, .share = t.half_columns, .along = 1},
        {.axis = filters_in_pieces ? &OutputBox::filters : &OutputBox::rows, .share = t.round}};
    walk.buffers = {{"filters", CopiedTensor::filters, launch.bank_floats * 4, 1},
                    {"map", CopiedTensor::map, launch.band_floats * 4, 1}};
    walk.threads = {launch.threads, 1, 1, 1, 1};
    const std::int64_t rows = filters_in_pieces ? launch.tile_h : t.piece,
                       columns = std::min(t.half_columns, s.q());
    walk.pixels = {rows + s.r - 1, columns + s.s - 1, rows, columns};
    if (launch.pieces == 1) {
        walk.remark = "All that an SM needs moves at once and lies there once: the two CTAs of an SM halve "
                      "its columns.";
        return walk;
    }
    walk.rounds_resident = rounds_per_piece;
    const std::string stays = filters_in_pieces ? "rows of the map" : "filters",
                      comes = filters_in_pieces ? "filters" : "rows of the map";
    walk.remark = "The " + stays + " stay on the SM. The " + comes + " come in " +
                  count_text(launch.pieces, "piece") + " (" + (filters_in_pieces ? "Q" : "P") +
                  ") through a ring that has room for one: what a round has used makes room for data of the "
                  "next piece. The two CTAs of an SM halve its columns.";
    return walk;
}

} // namespace convcast::split_walk
