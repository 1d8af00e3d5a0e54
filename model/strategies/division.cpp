#include "model/strategies/division.hpp"

#include "model/work/instructions.hpp"
#include "model/work/l2_sectors.hpp"
#include "model/work/shared_access.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

namespace convcast::division {

using papers::ceil_div;

std::int64_t registers_of(const ConvShape &shape, Tile tile) {
    constexpr std::int64_t few = 40;
    const std::int64_t taps = shape.r * shape.s, sums = tile.rows * tile.group;
    const bool square = tile.rows == 2 && tile.group == 2;
    return (taps == 1 && sums <= 4 && !square) || (taps == 9 && sums == 1) ? few : register_cap;
}

Tile choose_tile(std::int64_t rows, std::int64_t filters) {
    const std::int64_t row_tile = rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
    // 4 x 8 accumulators do not fit beside their operands in 64 registers; 4 x 4 loads less per FMA than 2
    // x 8.
    const std::int64_t group = filters >= 8 && row_tile < 4 ? 8 : filters >= 4 ? 4 : filters >= 2 ? 2 : 1;
    return {row_tile, group};
}

StepWork band_work(const ConvShape &s, Tile tile, std::int64_t rows, std::int64_t filters) {
    StepWork work;
    if (rows <= 0 || filters <= 0)
        return work;
    const double units =
        static_cast<double>(ceil_div(rows, tile.rows) * s.q() * ceil_div(filters, tile.group));
    const double warps = std::ceil(units / 32.0);
    const double taps = static_cast<double>(s.r * s.s);
    const double pixel_loads = static_cast<double>(s.s * (tile.rows + s.r - 1));
    const double tap_loads = taps; // one load brings the tap of a whole group
    const double outputs = static_cast<double>(tile.rows * tile.group);
    // A group of eight is read as two halves.
    const double group_reads = tile.group > 4 ? static_cast<double>(tile.group) / 4.0 : 1.0;
    // Warp instructions beside arithmetic and loads, as compiled for sm_90: a warp starts, a unit finds its
    // place with two divisions, loops over the filter's columns, where it has several, and stores its outputs
    // (address, comparison, store).
    const double columns = static_cast<double>(s.s),
                 per_column = instructions::iteration + static_cast<double>(s.r);
    work.fmas = units * outputs * taps;
    work.turns = warps * static_cast<double>(s.s); // a column of taps
    work.instructions =
        warps * (outputs * taps + pixel_loads + tap_loads * group_reads + instructions::store * outputs +
                 (s.s > 1 ? instructions::loop + per_column * columns : 0.0) + instructions::place) +
        std::min(warps, warps_per_cta) * instructions::copy;
    const Units its{ceil_div(filters, tile.group), ceil_div(rows, tile.rows) * s.q(), s.q(), tile.rows * s.w};
    work.shared_wavefronts = pixel_loads * position_passes(its).taken +
                             tap_loads * group_reads *
                                 group_passes(its, s.r * s.s * tile.group,
                                              static_cast<int>(std::min<std::int64_t>(tile.group, 4)));
    work.store_bytes = static_cast<double>(rows * s.q() * filters * 4);
    return work;
}

double band_written_bytes(const ConvShape &s, Tile tile, std::int64_t rows, std::int64_t filters) {
    if (rows <= 0 || filters <= 0)
        return 0.0;
    // Of a thread's outputs each row and filter is a store of its own. Groups begin in any lane of a warp;
    // a few stand for many.
    constexpr std::int64_t most_groups = 8;
    const std::int64_t row_groups = ceil_div(rows, tile.rows), groups = ceil_div(filters, tile.group);
    const std::int64_t seen = std::min(groups, most_groups);
    double bytes = 0.0;
    for (std::int64_t with = row_groups; with >= std::max<std::int64_t>(1, row_groups - 1); --with) {
        // Rows of the tile that `with` of the groups of rows have.
        const std::int64_t full = rows - (row_groups - 1) * tile.rows;
        const std::int64_t tile_rows = with == row_groups ? full : tile.rows - full;
        if (tile_rows == 0)
            continue;
        double of_groups = 0.0;
        for (std::int64_t group = 0; group < seen; ++group)
            of_groups +=
                stored_bytes({s.q(), s.q(), with, tile.rows * s.q(), group * row_groups * s.q() % warp_lanes},
                             s.q(), s.result_bytes());
        bytes += static_cast<double>(tile_rows) * of_groups / static_cast<double>(seen);
    }
    return bytes * static_cast<double>(filters);
}

void average_step(Partition &part, double copying) {
    const double steps = static_cast<double>((part.ctas - part.idle_ctas) * part.steps);
    StepWork &step = part.step;
    if (!(step.fmas > 0.0))
        return;
    const double share = std::min(1.0, part.work.fmas.value_or(0.0) / (steps * step.fmas));
    const double computing = step.instructions - step.copying;
    step.copying = copying / steps;
    step.instructions = share * computing + step.copying;
    for (double *value :
         {&step.fmas, &step.shared_wavefronts, &step.turns, &step.load_bytes, &step.store_bytes})
        *value *= share;
}

std::int64_t busy_warps(const ConvShape &s, Tile tile, std::int64_t rows, std::int64_t filters) {
    const std::int64_t units = ceil_div(rows, tile.rows) * s.q() * ceil_div(filters, tile.group);
    return std::clamp<std::int64_t>(ceil_div(units, papers::warp_threads), 1,
                                    papers::threads_per_cta / papers::warp_threads);
}

double copy_instructions(std::int64_t floats, bool wide) {
    // The copy with what keeps it behind loads of shared memory, address steps, the loop; a warp's start.
    const double copies = static_cast<double>(ceil_div(floats, wide ? 128 : 32));
    return instructions::copy * copies + instructions::copy * std::min(copies, warps_per_cta);
}

double filter_copy_instructions(std::int64_t filters, std::int64_t taps, std::int64_t group) {
    // The place of a value costs a division by its taps, where there are several; zeros fill the last group.
    const double per_copy = taps == 1 ? instructions::copy : instructions::divided_copy;
    const double copies = static_cast<double>(ceil_div(ceil_div(filters, group) * group * taps, 32));
    return per_copy * copies + instructions::copy * std::min(copies, warps_per_cta);
}

Rules rules(const ConvShape &shape, const GpuProfile &profile) {
    Rules rules = table1_rules(profile);
    if (!rules.n_fma)
        return rules;
    const papers::Division d = papers::divide_single_channel(shape, profile);
    rules.method = d.method;
    rules.pieces_p = d.pieces_p;
    rules.pieces_q = d.pieces_q;
    rules.candidate_p = d.p.chosen;
    rules.candidate_q = d.q.chosen;
    rules.d1_bytes = d.d1;
    rules.d2_bytes = d.d2;
    rules.th1 = d.th1;
    rules.th2 = d.th2;
    for (const papers::PieceChoice *choice : {&d.p, &d.q})
        if (!choice->in_range)
            rules.remarks.push_back("out of range, so 1: " + choice->why);
    if (d.overruns_shared)
        rules.remarks.push_back(
            "the paper's pieces overrun S_shared = " + std::to_string(profile.limits.shared_bytes_per_sm) +
            " bytes by part of a row: its bounds divide real numbers");
    return rules;
}

std::string unsupported(const ConvShape &shape) {
    if (const std::string why = outside_papers(shape); !why.empty())
        return why;
    return shape.c == 1 ? "" : "the single-channel divisions need c = 1, got c = " + std::to_string(shape.c);
}

void remark_pieces(Rules &rules, const char *letter, std::int64_t paper, std::int64_t run) {
    rules.run_pieces = run;
    if (paper != run)
        rules.remarks.push_back(std::string("runs ") + letter + " = " + std::to_string(run) +
                                ", the paper's rules give " + std::to_string(paper) +
                                ": two CTAs an SM with double buffers need more shared memory than D counts");
}

} // namespace convcast::division
