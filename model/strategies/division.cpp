#include "model/strategies/division.hpp"

#include "model/work/instructions.hpp"
#include "model/work/l2_sectors.hpp"
#include "model/work/shared_access.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace convcast::division {

using papers::ceil_div;

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
    // Warp instructions beside arithmetic and loads, at the prices of instructions.hpp: a warp starts, a unit
    // finds its place with two divisions, loops over the filter's columns, where it has several, and stores
    // its outputs (address, comparison, store).
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

namespace {

constexpr std::int64_t register_cap = 64; // two CTAs of 512 threads fill a file of 65,536 registers

/// Registers of a thread as compiled for sm_90 (NVRTC 13.0): a third CTA fits an SM where a thread has few
/// sums and taps.
std::int64_t registers_of(const ConvShape &shape, Tile tile) {
    constexpr std::int64_t few = 40;
    const std::int64_t taps = shape.r * shape.s, sums = tile.rows * tile.group;
    const bool square = tile.rows == 2 && tile.group == 2;
    return (taps == 1 && sums <= 4 && !square) || (taps == 9 && sums == 1) ? few : register_cap;
}

} // namespace

Partition launch_of(const char *kernel, const ConvShape &s, const Gpu &gpu, std::int64_t pieces) {
    Partition part;
    part.kernel = kernel;
    part.parts = gpu.limits.sm_count;
    part.pieces = pieces;
    part.grid = {papers::ctas_per_sm * part.parts, s.n, 1};
    part.sharing_ctas = static_cast<double>(part.grid[0]);
    part.threads = papers::threads_per_cta;
    part.register_cap = register_cap;
    part.stages = pieces > 1 ? 2 : 1;
    part.filter_count = s.k;
    return part;
}

void fill_residency(Partition &part, const ConvShape &s, const Gpu &gpu, Tile tile,
                    std::int64_t shared_floats) {
    part.shared_bytes = shared_floats * 4;
    part.template_arguments = {s.r, s.s, tile.rows, tile.group, part.stages, copies_wide(s) ? 1 : 0};
    part.ctas_per_sm = resident_ctas(gpu, part.threads, registers_of(s, tile), part.shared_bytes);
}

namespace {

/// Warps of a CTA that have outputs in a call of convolve_band.
std::int64_t busy_warps(const ConvShape &s, Tile tile, std::int64_t rows, std::int64_t filters) {
    const std::int64_t units = ceil_div(rows, tile.rows) * s.q() * ceil_div(filters, tile.group);
    return std::clamp<std::int64_t>(ceil_div(units, papers::warp_threads), 1,
                                    papers::threads_per_cta / papers::warp_threads);
}

/// Makes the step of the first half of a full share that of an average CTA with a share (F18): its FFMAs and
/// what goes with them by the launch's, its copies by `copying`, the warp instructions of those of all steps.
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

} // namespace

void fill_cta(Partition &part, const ConvShape &s, const Gpu &gpu, std::int64_t shares,
              const FirstHalf &half) {
    fill_schedule(part, gpu.limits);
    // Second halves that have no part of a piece are not idle: they have their copies and barriers.
    part.idle_ctas = part.ctas - shares * 2 * s.n;
    if (part.idle_ctas > 0) // such a CTA makes two divisions to find that it has no share
        part.idle_instructions = instructions::place * warps_per_cta;
    part.step = band_work(s, half.tile, half.rows, half.filters);
    part.step.load_bytes = half.step_bytes;
    part.step.copying = half.step_copies + piece_instructions(part.pieces);
    part.step.instructions += part.step.copying;
    part.drain.instructions = cta_instructions + half.once_copies +
                              static_cast<double>(part.pieces - part.steps) * piece_instructions(part.pieces);
    part.independent_sums = half.tile.rows * half.tile.group;
    // Where second halves have none, of an average CTA half of the warps that the first has.
    part.busy_warps = busy_warps(s, half.tile, half.rows, half.filters);
    if (half.alone)
        part.busy_warps = ceil_div(part.busy_warps, 2);
    Work &work = part.work;
    work.fmas = work.instructions = work.shared_wavefronts = work.shared_conflicts = 0.0;
    work.l2_read_bytes = work.l2_write_bytes = 0.0;
}

void finish_work(Partition &part, const ConvShape &s, const Gpu &gpu, double copying) {
    average_step(part, copying);
    *part.work.instructions += static_cast<double>(part.idle_ctas) * part.idle_instructions.value_or(0.0);
    part.partial_write_bytes =
        written_in_part(*part.work.l2_write_bytes, static_cast<double>(s.output_bytes()));
    fill_dram(part.work, s, gpu);
}

namespace {

/// Why the divisions cannot do a shape; "" if they can.
std::string unsupported(const ConvShape &shape) {
    if (const std::string why = outside_papers(shape); !why.empty())
        return why;
    return shape.c == 1 ? "" : "the single-channel divisions need c = 1, got c = " + std::to_string(shape.c);
}

/// Remark when the pieces that run differ from the paper's.
void remark_pieces(Rules &rules, const char *letter, std::int64_t paper, std::int64_t run) {
    rules.run_pieces = run;
    if (paper != run)
        rules.remarks.push_back(std::string("runs ") + letter + " = " + std::to_string(run) +
                                ", the paper's rules give " + std::to_string(paper) +
                                ": two CTAs an SM with double buffers need more shared memory than D counts");
}

} // namespace

std::variant<Feasible, Infeasible> plan_of(const ConvShape &s, const Gpu &gpu, std::int64_t pieces,
                                           const Method &method) {
    if (const std::string why = unsupported(s); !why.empty())
        return Infeasible{why, true};
    Feasible out;
    out.rules = shape_rules(s, gpu.profile);
    const std::int64_t paper = (out.rules.*method.candidate).value_or(1);
    const std::int64_t first = pieces > 0 ? pieces : paper,
                       last = pieces > 0 ? pieces : std::min(method.most, most_pieces);
    if (first > method.most)
        return Infeasible{"pieces = " + std::to_string(first) + " exceeds the " +
                          std::to_string(method.most) + " " + method.cut};
    const auto fits = [&](std::int64_t count) {
        return method.launch(s, gpu, count).ctas_per_sm >= papers::ctas_per_sm;
    };
    if (const std::optional<std::int64_t> count = smallest_fitting(first, last, fits)) {
        remark_pieces(out.rules, method.letter, paper, *count);
        out.paper_round_fmas = static_cast<double>(method.round_fmas(s, gpu.limits.sm_count, *count));
        out.paper_round_bytes = static_cast<double>(method.round_bytes(s, gpu.limits.sm_count, *count));
        out.plan.launches = {method.launch_with_work(s, gpu, *count)};
        return out;
    }
    return Infeasible{
        "two CTAs of an SM do not fit its shared memory of " +
        std::to_string(gpu.limits.shared_bytes_per_sm) + " bytes with " +
        (pieces > 0 ? "pieces = " + std::to_string(pieces) : std::string("any number of pieces"))};
}

} // namespace convcast::division
