#include "model/strategies/filter_split.hpp"

#include "model/strategies/division.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

using namespace division;
using papers::ceil_div;
using papers::round_up;

const std::vector<Knob<FilterSplit>> &FilterSplit::knobs() {
    static const std::vector<Knob<FilterSplit>> list = {
        {"pieces",
         &FilterSplit::pieces,
         0,
         most_pieces,
         {1, 2, 4, 8, 16, 32, 64, 128},
         "P, pieces of the map along y; 0: the paper's, or the next that fits"},
    };
    return list;
}

namespace {

/// The launch for a number of pieces; ctas_per_sm < 2 where the paper's two CTAs an SM do not fit. Its work
/// is counted on request only: that walks over the pieces.
Partition partition_for(const ConvShape &s, const Gpu &gpu, std::int64_t pieces, bool with_work) {
    Partition part;
    part.kernel = FilterSplit::name;
    part.parts = gpu.limits.sm_count;
    part.pieces = pieces;
    part.grid = {papers::ctas_per_sm * part.parts, s.n, 1};
    part.sharing_ctas = static_cast<double>(part.grid[0]);
    part.threads = papers::threads_per_cta;
    part.register_cap = register_cap;
    part.stages = pieces > 1 ? 2 : 1;
    part.filter_count = s.k;

    const std::int64_t filters = ceil_div(s.k, part.parts);
    const std::int64_t piece_rows = ceil_div(s.p(), pieces), half_rows = ceil_div(piece_rows, 2);
    // Pieces are whole rows: the last ones may have none left, which costs their barriers only.
    part.steps = ceil_div(s.p(), piece_rows);
    const Tile tile = choose_tile(half_rows, filters);
    const bool wide = s.w % 4 == 0;
    part.bank_floats = round_up(ceil_div(filters, tile.group) * tile.group * s.r * s.s, 4);
    part.band_floats = round_up((round_up(half_rows, tile.rows) + s.r - 1) * s.w, 4);
    part.shared_bytes = (part.bank_floats + part.stages * part.band_floats) * 4;
    part.template_arguments = {s.r, s.s, tile.rows, tile.group, part.stages, wide ? 1 : 0};
    part.ctas_per_sm = resident_ctas(gpu, part.threads, registers_of(s, tile), part.shared_bytes);
    if (!with_work)
        return part;
    fill_schedule(part, gpu.limits);
    // Of pieces of a single row the second half has none, but its copies of filters and its barriers.
    part.idle_ctas = part.ctas - ceil_div(s.k, filters) * 2 * s.n;
    if (part.idle_ctas > 0)
        part.idle_instructions = idle_cta_instructions;

    const auto fetch_floats = [&](std::int64_t rows) { return rows > 0 ? (rows + s.r - 1) * s.w : 0; };
    part.step = band_work(s, tile, half_rows, filters);
    part.step.load_bytes = static_cast<double>(fetch_floats(half_rows) * 4);
    part.step.copying = copy_instructions(fetch_floats(half_rows), wide) + piece_instructions(pieces);
    part.step.instructions += part.step.copying;
    part.drain.instructions = cta_instructions + filter_copy_instructions(filters, s.r * s.s, tile.group) +
                              static_cast<double>(pieces - part.steps) * piece_instructions(pieces);
    part.independent_sums = tile.rows * tile.group;
    // Where second halves have none, of an average CTA half of the warps that the first has.
    part.busy_warps = busy_warps(s, tile, half_rows, filters);
    if (piece_rows == 1)
        part.busy_warps = ceil_div(part.busy_warps, 2);
    part.copy_passes =
        wide ? gpu.architecture.wide_copy_passes->value : gpu.architecture.narrow_copy_passes->value;

    Work &work = part.work;
    work.fmas = work.instructions = work.shared_wavefronts = work.l2_read_bytes = 0.0;
    work.shared_conflicts = 0.0;
    work.l2_write_bytes = 0.0;
    // Copies of 16 bytes pass L1. Others find there what the CTA's other pieces and the other half, on the
    // same SM, have read, as far as L1 reaches back to their common rows.
    const std::int64_t row_bytes = s.w * 4, image_bytes = s.h * row_bytes;
    const bool kept = !wide && l1_bytes(part, gpu) >= 4.0 * static_cast<double>(part.band_floats) * 4.0;
    const auto band_read = [&](std::int64_t begin, std::int64_t buffer, double bytes) {
        const Stride images{image_bytes, s.n};
        return wide ? wide_copy_bytes(
                          bytes,
                          odd_halves(part.bank_floats * 4 + buffer * part.band_floats * 4 - begin * row_bytes,
                                     {images}),
                          odd_halves(begin * row_bytes, {images}))
                    : spanned_bytes(bytes);
    };
    double copying = 0.0; // of all steps
    double map_reads = 0.0;
    const auto add_cta = [&](std::int64_t half, std::int64_t count, double times) {
        StepWork step;
        double written = 0.0;
        std::int64_t rows_before = -1;
        for (std::int64_t piece = 0; piece < pieces; ++piece) {
            const std::int64_t begin = piece * piece_rows + half * half_rows;
            const std::int64_t end = std::min({(piece + 1) * piece_rows, s.p(), begin + half_rows});
            if (end - begin != rows_before) {
                step = band_work(s, tile, end - begin, count);
                written = band_written_bytes(s, tile, end - begin, count);
                rows_before = end - begin;
            }
            *work.fmas += times * step.fmas;
            const double copies =
                copy_instructions(fetch_floats(end - begin), wide) + piece_instructions(pieces);
            *work.instructions += times * (step.instructions + copies);
            copying += times * (piece < part.steps ? copies : 0.0);
            *work.shared_wavefronts += times * step.shared_wavefronts;
            *work.l2_write_bytes += times * written;
            if (end > begin && !kept)
                map_reads += times * band_read(begin, piece % part.stages,
                                               static_cast<double>(fetch_floats(end - begin)) * 4.0);
        }
        *work.instructions +=
            times * (cta_instructions + filter_copy_instructions(count, s.r * s.s, tile.group));
        *work.l2_read_bytes += times * spanned_bytes(static_cast<double>(count * s.r * s.s) * 4.0);
    };
    const std::int64_t full_parts = s.k / filters, rest = s.k % filters;
    for (const std::int64_t half : {0, 1}) {
        add_cta(half, filters, static_cast<double>(full_parts * s.n));
        if (rest > 0)
            add_cta(half, rest, static_cast<double>(s.n));
    }
    average_step(part, copying);
    *work.instructions += static_cast<double>(part.idle_ctas) * part.idle_instructions.value_or(0.0);
    if (kept)
        map_reads = static_cast<double>(ceil_div(s.k, filters) * s.n * image_bytes);
    *work.l2_read_bytes += map_reads;
    // The parts of an image pass over the same map.
    const double alike = wide ? alike_in_lines(part.bank_floats * 4,
                                               {{-image_bytes, s.n},
                                                {-half_rows * row_bytes, 2},
                                                next_buffer(part.band_floats * 4, piece_rows * row_bytes,
                                                            part.stages, part.steps),
                                                next_turn(piece_rows * row_bytes, part.stages, part.steps)})
                              : 1.0;
    part.mergeable_reads =
        mergeable_reads(map_reads * alike, {static_cast<double>(ceil_div(s.k, filters)), 1.0}, part, gpu);
    part.partial_write_bytes = written_in_part(*work.l2_write_bytes, static_cast<double>(s.output_bytes()));
    fill_dram(work, s, gpu);
    return part;
}

} // namespace

PlanResult<FilterSplit> FilterSplit::plan(const ConvShape &s, const Gpu &gpu) const {
    if (const std::string why = unsupported(s); !why.empty())
        return Infeasible{why, true};
    Planned<FilterSplit> planned;
    Feasible &out = planned.feasible;
    out.rules = rules(s, gpu.profile);
    const std::int64_t paper = out.rules.candidate_p.value_or(1);
    const std::int64_t first = pieces > 0 ? pieces : paper,
                       last = pieces > 0 ? pieces : std::min(s.p(), most_pieces);
    if (first > s.p())
        return Infeasible{"pieces = " + std::to_string(first) + " exceeds the " + std::to_string(s.p()) +
                          " output rows"};
    const auto fits = [&](std::int64_t count) {
        return partition_for(s, gpu, count, false).ctas_per_sm >= papers::ctas_per_sm;
    };
    if (const std::optional<std::int64_t> count = smallest_fitting(first, last, fits)) {
        remark_pieces(out.rules, "P", paper, *count);
        out.paper_round_fmas = static_cast<double>(papers::th1_fmas(s, gpu.limits.sm_count, *count));
        out.paper_round_bytes = static_cast<double>(papers::d1_bytes(s, gpu.limits.sm_count, *count));
        planned.strategy.pieces = static_cast<int>(*count);
        out.plan.launches = {partition_for(s, gpu, *count, true)};
        return planned;
    }
    return Infeasible{
        "two CTAs of an SM do not fit its shared memory of " +
        std::to_string(gpu.limits.shared_bytes_per_sm) + " bytes with " +
        (pieces > 0 ? "pieces = " + std::to_string(pieces) : std::string("any number of pieces"))};
}

} // namespace convcast
