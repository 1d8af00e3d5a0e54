#include "model/strategies/map_split.hpp"

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

const std::vector<Knob<MapSplit>> &MapSplit::knobs() {
    static const std::vector<Knob<MapSplit>> list = {
        {"pieces",
         &MapSplit::pieces,
         0,
         most_pieces,
         {1, 2, 4, 8, 16, 32, 64},
         "Q, pieces of the filters; 0: the paper's, or the next that fits"},
    };
    return list;
}

namespace {

/// The launch for a number of pieces; ctas_per_sm < 2 where the paper's two CTAs an SM do not fit. Its work
/// is counted on request only: that walks over the pieces.
Partition partition_for(const ConvShape &s, const Gpu &gpu, std::int64_t pieces, bool with_work) {
    Partition part;
    part.kernel = MapSplit::name;
    part.parts = gpu.limits.sm_count;
    part.pieces = pieces;
    part.grid = {papers::ctas_per_sm * part.parts, s.n, 1};
    part.sharing_ctas = static_cast<double>(part.grid[0]);
    part.threads = papers::threads_per_cta;
    part.register_cap = register_cap;
    part.stages = pieces > 1 ? 2 : 1;
    part.filter_count = s.k;

    const std::int64_t rows = ceil_div(s.p(), part.parts);
    const std::int64_t piece_filters = ceil_div(s.k, pieces), half_filters = ceil_div(piece_filters, 2);
    // Pieces are whole filters: the last ones may have none left, which costs their barriers only.
    part.steps = ceil_div(s.k, piece_filters);
    const Tile tile = choose_tile(rows, half_filters);
    const bool wide = s.w % 4 == 0;
    part.bank_floats = round_up(ceil_div(half_filters, tile.group) * tile.group * s.r * s.s, 4);
    part.band_floats = round_up((round_up(rows, tile.rows) + s.r - 1) * s.w, 4);
    part.shared_bytes = (part.stages * part.bank_floats + part.band_floats) * 4;
    part.template_arguments = {s.r, s.s, tile.rows, tile.group, part.stages, wide ? 1 : 0};
    part.ctas_per_sm = resident_ctas(gpu, part.threads, registers_of(s, tile), part.shared_bytes);
    if (!with_work)
        return part;
    fill_schedule(part, gpu.limits);
    // Of pieces of a single filter the second half has none, but its copy of the map and its barriers.
    part.idle_ctas = part.ctas - ceil_div(s.p(), rows) * 2 * s.n;
    if (part.idle_ctas > 0)
        part.idle_instructions = idle_cta_instructions;

    const std::int64_t taps = s.r * s.s;
    part.step = band_work(s, tile, rows, half_filters);
    part.step.load_bytes = static_cast<double>(half_filters * taps * 4);
    part.step.copying = filter_copy_instructions(half_filters, taps, tile.group) + piece_instructions(pieces);
    part.step.instructions += part.step.copying;
    part.drain.instructions = cta_instructions + copy_instructions((rows + s.r - 1) * s.w, wide) +
                              static_cast<double>(pieces - part.steps) * piece_instructions(pieces);
    part.drain.load_bytes = static_cast<double>((rows + s.r - 1) * s.w * 4);
    part.independent_sums = tile.rows * tile.group;
    // Where second halves have none, of an average CTA half of the warps that the first has.
    part.busy_warps = busy_warps(s, tile, rows, half_filters);
    if (piece_filters == 1)
        part.busy_warps = ceil_div(part.busy_warps, 2);
    part.copy_passes = gpu.architecture.narrow_copy_passes->value; // of filters, which it transposes

    Work &work = part.work;
    work.fmas = work.instructions = work.shared_wavefronts = work.l2_read_bytes = 0.0;
    work.shared_conflicts = 0.0;
    work.l2_write_bytes = 0.0;
    // Copies of 16 bytes pass L1; of others the two halves, on the same SM, find there what the other has
    // read.
    const std::int64_t row_bytes = s.w * 4;
    const Stride images{s.h * row_bytes, s.n}, parts{rows * row_bytes, ceil_div(s.p(), rows)};
    const std::int64_t halves = piece_filters > 1 ? 2 : 1;
    const auto band_read = [&](double bytes) {
        return wide ? wide_copy_bytes(bytes, odd_halves(part.stages * part.bank_floats * 4, {images, parts}),
                                      odd_halves(0, {images, parts}))
                    : spanned_bytes(bytes) *
                          (1.0 - 0.5 * halves_meet(ceil_div(s.p(), rows), gpu.architecture));
    };
    const double filters = spanned_bytes(static_cast<double>(s.filter_bytes()) / static_cast<double>(halves));
    double copying = 0.0; // of all steps
    const auto add_cta = [&](std::int64_t half, std::int64_t band_rows, double times) {
        StepWork step;
        double written = 0.0;
        std::int64_t count_before = -1;
        const std::int64_t band = (band_rows + s.r - 1) * s.w;
        *work.l2_read_bytes += times * band_read(static_cast<double>(band) * 4.0);
        *work.instructions += times * (cta_instructions + copy_instructions(band, wide));
        for (std::int64_t piece = 0; piece < pieces; ++piece) {
            const std::int64_t begin = piece * piece_filters + half * half_filters;
            const std::int64_t count =
                std::min({(piece + 1) * piece_filters, s.k, begin + half_filters}) - begin;
            *work.instructions += times * piece_instructions(pieces);
            copying += times * (piece < part.steps ? piece_instructions(pieces) : 0.0);
            if (count <= 0)
                continue;
            if (count != count_before) {
                step = band_work(s, tile, band_rows, count);
                written = band_written_bytes(s, tile, band_rows, count);
                count_before = count;
            }
            *work.fmas += times * step.fmas;
            const double copies = filter_copy_instructions(count, taps, tile.group);
            *work.instructions += times * (step.instructions + copies);
            copying += times * copies;
            *work.shared_wavefronts += times * step.shared_wavefronts;
            *work.l2_write_bytes += times * written;
        }
    };
    const std::int64_t full_parts = s.p() / rows, rest = s.p() % rows;
    for (const std::int64_t half : {0, 1}) {
        add_cta(half, rows, static_cast<double>(full_parts * s.n));
        if (rest > 0)
            add_cta(half, rest, static_cast<double>(s.n));
    }
    average_step(part, copying);
    *work.instructions += static_cast<double>(part.idle_ctas) * part.idle_instructions.value_or(0.0);
    // All parts go through all filters at the same time.
    const double bands = static_cast<double>(ceil_div(s.p(), rows)),
                 of_image = static_cast<double>(halves) * filters;
    // L1 keeps them from one image to the next as far as the lines that are stored leave it.
    constexpr double line = 128.0;
    const double stored = static_cast<double>(s.k) * (static_cast<double>(rows * s.q()) * 4.0 + line);
    const double lost = lost_from_l1(static_cast<double>(s.filter_bytes()) + stored, part, gpu),
                 all_bands = bands * static_cast<double>(s.n),
                 first_bands = std::min(all_bands, static_cast<double>(part.parts));
    const double times = first_bands + (all_bands - first_bands) * lost;
    const double filter_reads = times * of_image;
    *work.l2_read_bytes += filter_reads;
    part.mergeable_reads = mergeable_reads(filter_reads, {bands, 1.0}, part, gpu);
    part.partial_write_bytes = written_in_part(*work.l2_write_bytes, static_cast<double>(s.output_bytes()));
    fill_dram(work, s, gpu);
    return part;
}

} // namespace

PlanResult<MapSplit> MapSplit::plan(const ConvShape &s, const Gpu &gpu) const {
    if (const std::string why = unsupported(s); !why.empty())
        return Infeasible{why, true};
    Planned<MapSplit> planned;
    Feasible &out = planned.feasible;
    out.rules = rules(s, gpu.profile);
    const std::int64_t paper = out.rules.candidate_q.value_or(1);
    const std::int64_t first = pieces > 0 ? pieces : paper,
                       last = pieces > 0 ? pieces : std::min(s.k, most_pieces);
    if (first > s.k)
        return Infeasible{"pieces = " + std::to_string(first) + " exceeds the " + std::to_string(s.k) +
                          " filters"};
    const auto fits = [&](std::int64_t count) {
        return partition_for(s, gpu, count, false).ctas_per_sm >= papers::ctas_per_sm;
    };
    if (const std::optional<std::int64_t> count = smallest_fitting(first, last, fits)) {
        remark_pieces(out.rules, "Q", paper, *count);
        out.paper_round_fmas = static_cast<double>(papers::th2_fmas(s, gpu.limits.sm_count, *count));
        out.paper_round_bytes = static_cast<double>(papers::d2_bytes(s, gpu.limits.sm_count, *count));
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
