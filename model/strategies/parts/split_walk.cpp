#include "model/base/readable.hpp"
#include "model/strategies/parts/division.hpp"

#include <array>
#include <cmath>

namespace convcast::split_walk {

namespace {

constexpr std::int64_t most_taps = 25; // of a window in registers, beside taps, sum and addresses
constexpr std::int64_t register_cap = 64;
constexpr double warps_per_cta = double(papers::threads_per_cta / papers::warp_threads);

/// What follows from the shape and its shares.
struct Tiling {
    const ConvShape &s;
    const Gpu &gpu;
    const Shares &shares;
    bool wide = s.w % 4 == 0; ///< rows are copied 16 bytes a lane
    std::int64_t unit = wide ? 4 : 1;
    std::int64_t taps = s.r * s.s,
                 tap_floats = round_up(taps, 4); ///< of a filter; with what fills its last four
    std::int64_t half_columns =
        round_up(ceil_div(s.q(), 2), unit);                      ///< outputs of a row, of an SM's first CTA
    std::int64_t pitch = round_up(half_columns + s.s - 1, unit); ///< floats from row to row in shared memory
    std::int64_t all = shares.by_filters ? shares.filters : shares.rows; ///< of a share, in pieces, in rounds
    std::int64_t piece = ceil_div(all, shares.pieces);
    std::int64_t round = shares.pieces == 1 ? piece : std::max<std::int64_t>(1, piece / rounds_per_piece);
    std::int64_t map_slots = (shares.by_filters ? shares.rows : piece) + s.r - 1;
    std::int64_t bank_slots = shares.by_filters ? piece : shares.filters;
};

/// One CTA's part of the output.
struct Area {
    std::int64_t rows, columns, filters;
};

/// What a call of the kernel's walk() costs, all threads together.
StepWork walk_work(const Tiling &t, const Area &area) {
    StepWork work;
    const std::int64_t strips =
        std::clamp<std::int64_t>(papers::threads_per_cta / area.columns, 1, area.rows);
    const std::int64_t height = ceil_div(area.rows, strips);
    const std::int64_t units = ceil_div(area.rows, height) * area.columns;
    const double warps = std::ceil(double(units) / 32.0);
    const double rows = double(height), filters = double(area.filters);
    const double taps = double(t.taps), tap_loads = double(t.tap_floats / 4);
    // Of the last four taps the compiler reads no more than there are: one or two by one pass.
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

/// Warp instructions of copying rows of the map, whose slot costs a division each, and filters.
double row_copies(const Tiling &t, std::int64_t rows) {
    const double more = double(ceil_div(t.pitch, t.wide ? 128 : 32) - 1);
    return double(rows) * (instructions::divided_copy + instructions::copy * more);
}
double filter_copies(const Tiling &t, std::int64_t filters) {
    return instructions::divided_copy * double(ceil_div(filters * t.taps, 32));
}

/// Bytes of the sectors that copies of `rows` rows request. Rows lie t.pitch floats apart in shared memory.
double read_bytes(const Tiling &t, std::int64_t rows, std::int64_t columns) {
    const double row = double(std::min(t.pitch, columns + t.s.s - 1) * 4);
    const double of_row =
        t.wide ? wide_copy_bytes(row, odd_halves(0, {{(t.pitch - t.s.w) * 4, t.map_slots}}), // W4
                                 odd_halves(0, {{t.s.w * 4, t.map_slots}}))
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

/// Adds to the launch `times` CTAs that compute an area.
void add_ctas(Partition &part, StepWork &steps, const Tiling &t, const Area &area, double times) {
    const ConvShape &s = t.s;
    const Shares &shares = t.shares;
    const std::int64_t all = shares.by_filters ? area.filters : area.rows;
    StepWork once; // before the first round
    const std::int64_t first_rows = std::min(t.map_slots, area.rows + s.r - 1),
                       first_filters = std::min(t.bank_slots, area.filters);
    // A warp's start divides four times: shares, pieces, slots.
    once.instructions = warps_per_cta * (instructions::warp + 2.0 * instructions::place) +
                        row_copies(t, first_rows) + filter_copies(t, first_filters);
    once.load_bytes = read_bytes(t, first_rows, area.columns) + double(first_filters * t.taps * 4);
    add(part.drain, once, times);
    *part.work.l2_read_bytes += times * once.load_bytes;
    *part.work.l2_write_bytes += times * written_bytes(s, area);
    for (std::int64_t begin = 0; begin < all; begin += t.round) {
        const std::int64_t now = std::min(t.round, all - begin);
        StepWork step = shares.by_filters ? walk_work(t, {area.rows, area.columns, now})
                                          : walk_work(t, {now, area.columns, area.filters});
        // What is fetched behind this round.
        const std::int64_t held = shares.by_filters ? t.bank_slots : t.map_slots,
                           there = shares.by_filters ? area.filters : area.rows + s.r - 1;
        const std::int64_t fetched = std::clamp<std::int64_t>(there - begin - held, 0, now);
        step.copying = warps_per_cta * instructions::step +
                       (shares.by_filters ? filter_copies(t, fetched) : row_copies(t, fetched));
        step.instructions += step.copying;
        step.load_bytes =
            shares.by_filters ? double(fetched * t.taps * 4) : read_bytes(t, fetched, area.columns);
        add(steps, step, times);
        *part.work.l2_read_bytes += times * step.load_bytes;
    }
}

/// A quantity in `parts` shares: the full ones, and the last with the rest.
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

Shares shares_of(const ConvShape &s, std::int64_t bank, std::int64_t map, std::int64_t pieces,
                 bool by_filters) {
    const std::int64_t filters = ceil_div(s.k, bank), rows = ceil_div(s.p(), map);
    return {rows, filters, ceil_div(s.p(), rows), ceil_div(s.k, filters), pieces, by_filters};
}

std::string too_wide(const ConvShape &s) {
    return s.r * s.s <= most_taps ? ""
                                  : fmt::format("one buffer needs a filter of {} values at most, whose "
                                                "window a thread keeps in registers; got {}",
                                                most_taps, s.r * s.s);
}

Partition launch(const ConvShape &s, const Gpu &gpu, const Shares &shares) {
    const Tiling t{s, gpu, shares};
    // The ring of rows begins with a line, as the map's rows do if they are whole lines: a copy whose source
    // and destination lie 16 bytes apart in a sector requests it twice.
    constexpr std::int64_t line_floats = 32;
    const std::int64_t parts = round_up(shares.map * shares.bank, gpu.limits.sm_count),
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
    part.template_arguments = {s.r, s.s, rounds_per_piece, shares.by_filters, t.wide};
    return part;
}

Partition launch_with_work(const ConvShape &s, const Gpu &gpu, const Shares &shares) {
    const Tiling t{s, gpu, shares};
    Partition part = launch(s, gpu, shares);
    Work &work = part.work;
    work.l2_read_bytes = work.l2_write_bytes = work.shared_conflicts = 0.0;
    StepWork steps;
    double busy = 0.0;
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
    // The step of an average CTA (F18). What comes before the first round is loaded once.
    part.step = average(steps, busy * double(part.steps));
    part.drain = average(part.drain, busy);
    const Area first{shares.by_filters ? shares.rows : t.round, t.half_columns, 1};
    part.busy_warps = std::clamp<std::int64_t>(ceil_div(first.rows * first.columns, papers::warp_threads), 1,
                                               papers::threads_per_cta / papers::warp_threads);
    part.copy_passes = copy_passes(t.wide, gpu);
    part.independent_sums = 1;
    // All shares of the map read the same filters, by copies that coalesce.
    part.mergeable_reads = mergeable_reads(double(shares.map * s.n) * 2.0 * double(s.filter_bytes()),
                                           {double(shares.map), 1.0}, part, gpu);
    fill_writes(part, s, gpu);
    return part;
}

Walk walk(const ConvShape &s, const Gpu &gpu, const Partition &launch) {
    const bool by_filters = launch.template_arguments[3] == 1;
    const std::int64_t map = ceil_div(s.p(), launch.tile_h), bank = ceil_div(s.k, launch.tile_k);
    const Shares shares{launch.tile_h, launch.tile_k, map, bank, launch.pieces, by_filters};
    const Tiling t{s, gpu, shares};
    Walk walk(s, launch);
    walk.grid = {launch.parts, launch.grid[0] / launch.parts, launch.grid[1]};
    walk.cuts = {{&OutputBox::images, 1, 2},
                 {&OutputBox::filters, launch.tile_k, 0, map},
                 {&OutputBox::rows, launch.tile_h, 0, 1, map},
                 {&OutputBox::columns, t.half_columns, 1},
                 {by_filters ? &OutputBox::filters : &OutputBox::rows, t.round}};
    walk.buffers = {{"filters", CopiedTensor::filters, launch.bank_floats * 4, 1},
                    {"map", CopiedTensor::map, launch.band_floats * 4, 1}};
    walk.threads = {launch.threads, 1, 1, 1, 1};
    const std::int64_t rows = by_filters ? launch.tile_h : t.piece, columns = std::min(t.half_columns, s.q());
    walk.pixels = {rows + s.r - 1, columns + s.s - 1, rows, columns};
    if (launch.pieces == 1) {
        walk.remark = "All that an SM needs moves at once and lies there once: the two CTAs of an SM halve "
                      "its columns.";
        return walk;
    }
    walk.rounds_resident = rounds_per_piece;
    const std::string stays = by_filters ? "rows of the map" : "filters",
                      comes = by_filters ? "filters" : "rows of the map";
    walk.remark = "The " + stays + " stay on the SM. The " + comes + " come in " +
                  count_text(launch.pieces, "piece") + " (" + (by_filters ? "Q" : "P") +
                  ") through a ring that has room for one: what a round has used makes room for data of the "
                  "next piece. The two CTAs of an SM halve its columns.";
    return walk;
}

} // namespace convcast::split_walk
