#include "model/strategies/parts/division.hpp"
#include "model/base/readable.hpp"

#include <cmath>

namespace convcast::division {

Tile choose_tile(const Banks &banks, std::int64_t rows, std::int64_t filters) {
    const std::int64_t row_tile = rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
    // 4 x 8 accumulators do not fit beside their operands in 64 registers; 4 x 4 loads less per FMA than 2
    // x 8.
    const std::int64_t group = filters >= 8 && row_tile < 4 ? 8 : filters >= 4 ? 4 : filters >= 2 ? 2 : 1;
    return {row_tile, group, banks};
}

namespace {

/// Warp instructions of a CTA's warps before the first piece, and of every piece, as compiled for sm_90.
constexpr double warps_per_cta = 512.0 / 32.0;
constexpr double cta_instructions = (instructions::warp + instructions::place) * warps_per_cta;
/// The last piece fetches none after it; a single one, copied at once, is simpler.
constexpr double piece_instructions(std::int64_t pieces) {
    return (pieces > 1 ? instructions::step - instructions::loop / double(pieces) : instructions::loop) *
           warps_per_cta;
}

/// What one call of convolve_band costs for a band of `rows` rows and `filters` filters.
StepWork band_work(const ConvShape &s, Tile tile, std::int64_t rows, std::int64_t filters) {
    StepWork work;
    if (rows <= 0 || filters <= 0)
        return work;
    const double units = double(ceil_div(rows, tile.rows) * s.q() * ceil_div(filters, tile.group));
    const double warps = std::ceil(units / 32.0);
    const double taps = double(s.r * s.s);
    const double pixel_loads = double(s.s * (tile.rows + s.r - 1));
    const double tap_loads = taps; // one load brings the tap of a whole group
    const double outputs = double(tile.rows * tile.group);
    // A group of eight is read as two halves.
    const double group_reads = tile.group > 4 ? double(tile.group) / 4.0 : 1.0;
    // Warp instructions beside arithmetic and loads, at the prices of instructions.hpp: a warp starts, a unit
    // finds its place with two divisions, loops over the filter's columns, where it has several, and stores
    // its outputs (address, comparison, store).
    const double columns = double(s.s), per_column = instructions::iteration + double(s.r);
    work.fmas = units * outputs * taps;
    work.turns = warps * double(s.s); // a column of taps
    work.instructions =
        warps * (outputs * taps + pixel_loads + tap_loads * group_reads + instructions::store * outputs +
                 instructions::guard * double(tile.rows) +
                 (s.s > 1 ? instructions::loop + per_column * columns : 0.0) + instructions::place) +
        std::min(warps, warps_per_cta) * instructions::copy;
    const Units its{ceil_div(filters, tile.group), ceil_div(rows, tile.rows) * s.q(), s.q(), tile.rows * s.w};
    work.shared_wavefronts =
        pixel_loads * position_passes(tile.banks, its).taken +
        tap_loads * group_reads *
            group_passes(tile.banks, its, s.r * s.s * tile.group, int(std::min<std::int64_t>(tile.group, 4)));
    work.store_bytes = double(rows * s.q() * filters * 4);
    return work;
}

/// Bytes of the sectors that such a call writes: warps begin anew in each band and go on from one group of
/// filters to the next.
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
        bytes += double(tile_rows) * of_groups / double(seen);
    }
    return bytes * double(filters);
}

/// Warp instructions of copying to shared memory the map behind `rows` rows of outputs.
double map_copies(const Tiling &t, std::int64_t rows) {
    // The copy with what keeps it behind loads of shared memory, address steps, the loop; a warp's start.
    const double copies = double(ceil_div(t.map_floats(rows), t.wide ? 128 : 32));
    return instructions::copy * copies + instructions::copy * std::min(copies, warps_per_cta);
}

/// The same of so many filters.
double filter_copies(const Tiling &t, std::int64_t filters) {
    // The place of a value costs a division by its taps, where there are several; zeros fill the last group.
    const double per_copy = t.taps == 1 ? instructions::copy : instructions::divided_copy;
    const double copies = double(ceil_div(round_up(filters, t.tile.group) * t.taps, 32));
    return per_copy * copies + instructions::copy * std::min(copies, warps_per_cta);
}

constexpr std::int64_t register_cap = 64; // two CTAs of 512 threads fill a file of 65,536 registers

/// Registers of a thread as compiled for sm_90 (NVRTC 13.0): a third CTA fits an SM where a thread has few
/// sums and taps.
std::int64_t registers_of(const ConvShape &shape, Tile tile) {
    constexpr std::int64_t few = 40;
    const std::int64_t taps = shape.r * shape.s, sums = tile.rows * tile.group;
    const bool square = tile.rows == 2 && tile.group == 2;
    return (taps == 1 && sums <= 4 && !square) || (taps == 9 && sums == 1) ? few : register_cap;
}

/// Its launch, without its work: two CTAs an SM, which the paper's division needs, may not fit.
Partition launch(const Tiling &t) {
    const std::int64_t stages = t.pieces > 1 ? 2 : 1,
                       bank_floats = round_up(round_up(t.filters, t.tile.group) * t.taps, 4),
                       band_floats = round_up((round_up(t.rows, t.tile.rows) + t.s.r - 1) * t.s.w, 4);
    Partition part = launch_of_ctas(
        t.by_filters ? "map_split" : "filter_split",
        {papers::ctas_per_sm * std::int64_t{t.gpu.limits.sm_count}, t.s.n, 1},
        {papers::threads_per_cta, register_cap,
         4 * (t.by_filters ? stages * bank_floats + band_floats : bank_floats + stages * band_floats),
         registers_of(t.s, t.tile)},
        t.gpu);
    part.parts = t.gpu.limits.sm_count;
    part.pieces = t.pieces;
    part.sharing_ctas = double(part.grid[0]);
    part.stages = stages;
    part.filter_count = t.s.k;
    // The last pieces may have nothing left, which costs their barriers only.
    part.steps = ceil_div(t.all, t.piece);
    part.bank_floats = bank_floats;
    part.band_floats = band_floats;
    part.template_arguments = {t.s.r, t.s.s, t.tile.rows, t.tile.group, part.stages, t.wide};
    part.copy_passes = copy_passes(t.wide && !t.by_filters, t.gpu); // filters are transposed, value by value
    return part;
}

/// Makes the step of the first half of a full share that of an average CTA with a share (F18): its FFMAs and
/// what goes with them by the launch's, its copies by `copying`, the warp instructions of those of all steps.
void average_step(Partition &part, double copying) {
    const double steps = double((part.ctas - part.idle_ctas) * part.steps);
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

/// Fills in what the steps and the start of the CTA cost that has the first half of every piece of a full
/// share; the work of the launch starts at zero.
void fill_cta(Partition &part, const Tiling &t) {
    // Second halves that have no part of a piece are not idle: they have their copies and barriers.
    part.idle_ctas = part.ctas - t.shares * 2 * t.s.n;
    if (part.idle_ctas > 0) // such a CTA makes two divisions to find that it has no share
        part.idle_instructions = instructions::place * warps_per_cta;
    const double of_map = map_copies(t, t.rows), of_filters = filter_copies(t, t.filters);
    part.step = band_work(t.s, t.tile, t.rows, t.filters);
    part.step.load_bytes = double((t.by_filters ? t.filters * t.taps : t.map_floats(t.rows)) * 4);
    part.step.copying = (t.by_filters ? of_filters : of_map) + piece_instructions(part.pieces);
    part.step.instructions += part.step.copying;
    part.drain.instructions = cta_instructions + (t.by_filters ? of_map : of_filters) +
                              double(part.pieces - part.steps) * piece_instructions(part.pieces);
    if (t.by_filters)
        part.drain.load_bytes = double(t.map_floats(t.rows) * 4);
    part.independent_sums = t.tile.rows * t.tile.group;
    // Warps that have outputs in a call of convolve_band. Where second halves have none, of an average CTA
    // half of those that the first has.
    const std::int64_t units = ceil_div(t.rows, t.tile.rows) * t.s.q() * ceil_div(t.filters, t.tile.group);
    part.busy_warps = std::clamp<std::int64_t>(ceil_div(units, warp_lanes), 1, part.threads / warp_lanes);
    if (t.piece == 1)
        part.busy_warps = ceil_div(part.busy_warps, 2);
    Work &work = part.work;
    work.fmas = work.instructions = work.shared_wavefronts = work.shared_conflicts = 0.0;
    work.l2_write_bytes = 0.0;
}

/// Adds `times` CTAs that have one half of every piece for a share of `size`, and to `copying` the warp
/// instructions of their steps' copies.
void add_ctas(Partition &part, double &copying, const Tiling &t, std::int64_t half, std::int64_t size,
              double times) {
    Work &work = part.work;
    StepWork step;
    double written = 0.0;
    std::int64_t before = -1;
    for (std::int64_t piece = 0; piece < part.pieces; ++piece) {
        const std::int64_t count = std::max<std::int64_t>(0, t.count_of(piece, half));
        if (count != before) {
            const std::int64_t rows = t.by_filters ? size : count, filters = t.by_filters ? count : size;
            step = band_work(t.s, t.tile, rows, filters);
            written = band_written_bytes(t.s, t.tile, rows, filters);
            before = count;
        }
        *work.fmas += times * step.fmas;
        const double copies =
            (t.by_filters ? filter_copies(t, count) : map_copies(t, count)) + piece_instructions(part.pieces);
        *work.instructions += times * (step.instructions + copies);
        copying += times * (piece < part.steps ? copies : 0.0);
        *work.shared_wavefronts += times * step.shared_wavefronts;
        *work.l2_write_bytes += times * written;
    }
    *work.instructions +=
        times * (cta_instructions + (t.by_filters ? map_copies(t, size) : filter_copies(t, size)));
}

Partition launch_with_work(const Tiling &t, CountReads count_reads) {
    Partition part = launch(t);
    fill_cta(part, t);
    // CTAs of one wave start in lockstep, and with them their first units.
    if (!t.by_filters && part.waves == 1)
        part.store_rounds = std::max(
            1.0, double(ceil_div(t.half, t.tile.rows) * t.s.q() * ceil_div(t.filters, t.tile.group)) /
                     double(part.threads));
    double copying = 0.0;
    over_ctas(t, [&](std::int64_t half, std::int64_t size, double times) {
        add_ctas(part, copying, t, half, size, times);
    });
    PieceReads reads = count_reads(t, part);
    reads.coming.readers = {double(t.shares), 1.0};
    set_reads(part, {reads.staying, reads.coming}, t.gpu);
    average_step(part, copying);
    // What a step moves from L2 are the sectors that its copies request: twice the map's where source and
    // destination lie 16 bytes apart in a sector.
    if (!t.by_filters)
        part.step.load_bytes = reads.coming.bytes / double((part.ctas - part.idle_ctas) * part.steps);
    *part.work.instructions += double(part.idle_ctas) * part.idle_instructions.value_or(0.0);
    fill_writes(part, t.s, t.gpu);
    return part;
}

} // namespace

Walk walk_of(const Knobs &knobs, const ConvShape &s, const Gpu &gpu, bool by_filters,
             const Partition &launch) {
    if (knobs.buffers == one_buffer)
        return split_walk::walk(s, gpu, launch);
    const Tiling t{s, gpu, by_filters, knobs.pieces};
    Walk walk(s, launch);
    walk.grid = {launch.parts, launch.grid[0] / launch.parts, launch.grid[1]};
    const OutputAxis stays = t.by_filters ? &OutputBox::rows : &OutputBox::filters,
                     comes = t.by_filters ? &OutputBox::filters : &OutputBox::rows;
    walk.cuts = {{&OutputBox::images, 1, 2}, {stays, t.share, 0}, {comes, t.piece}, {comes, t.half, 1}};
    walk.buffers = {
        {"filters", CopiedTensor::filters, launch.bank_floats * 4, t.by_filters ? launch.stages : 1},
        {"map", CopiedTensor::map, launch.band_floats * 4, t.by_filters ? 1 : launch.stages}};
    walk.threads = {launch.threads, 1, t.tile.rows, 1, t.tile.group};
    walk.pixels = band_pixels(t.s, t.rows);
    walk.remark = std::string(t.by_filters ? "The rows of the map stay on the SM; the filters"
                                           : "The filters stay on the SM; the rows of the map") +
                  " come in " + count_text(launch.pieces, "piece") + (t.by_filters ? " (Q)" : " (P)") +
                  ", and the " + count_text(walk.grid[1], "CTA") + " of an SM share each piece.";
    return walk;
}

namespace {

/// One way to run a division: so many pieces, held in one of the two ways, over the SMs or over parts of them
/// in turn.
struct Way {
    Knobs runs;
    std::optional<split_walk::Shares> walk; ///< with one buffer
};

bool fits(const Partition &part) {
    return part.ctas_per_sm >= papers::ctas_per_sm;
}

/// A division that is asked for, and how its plan differs from that of the other.
struct Method {
    const ConvShape &s;
    const Gpu &gpu;
    bool by_filters;
    Knobs asked;
    std::int64_t n_sm = gpu.limits.sm_count;
    const char *letter = by_filters ? "Q" : "P"; ///< the paper's, of its pieces
    /// What is cut into pieces, so many of them at most.
    const char *cut = by_filters ? "filters" : "output rows";
    std::int64_t most = by_filters ? s.k : s.p();

    std::int64_t round_fmas(std::int64_t pieces) const {
        return by_filters ? papers::th2_fmas(s, n_sm, pieces) : papers::th1_fmas(s, n_sm, pieces);
    }
    std::int64_t round_bytes(std::int64_t pieces) const {
        return by_filters ? papers::d2_bytes(s, n_sm, pieces) : papers::d1_bytes(s, n_sm, pieces);
    }
    /// The filters in so many shares where the map has map_shares.
    std::int64_t filter_shares() const { return std::max<std::int64_t>(1, n_sm / asked.map_shares); }
    /// With one buffer. The rows of an SM may be several shares, `times` of them, one after another.
    split_walk::Shares shares(std::int64_t pieces, std::int64_t times = 1) const {
        return by_filters ? split_walk::shares_of(s, 1, times * n_sm, pieces, true)
                          : split_walk::shares_of(s, filter_shares(), asked.map_shares, pieces, false);
    }
};

/// What is said of the pieces that run where they are not the paper's.
void remark_pieces(Rules &rules, const Method &m, std::int64_t paper, std::int64_t run) {
    rules.run_pieces = run;
    if (paper == run)
        return;
    const std::int64_t bytes = m.round_bytes(paper), room = m.gpu.limits.shared_bytes_per_sm;
    rules.remarks.push_back(fmt::format(
        "runs {} = {}, the paper's rules give {}: {}", m.letter, run, paper,
        bytes > room ? "D = " + std::to_string(bytes) + " exceeds S_shared = " + std::to_string(room)
        : m.asked.pieces > 0
            ? "so many were asked for"
            : "two CTAs an SM do not fit with them: each has halves and filters of its own"));
}

/// The first number of pieces in [first, last] with which one of the ways that are allowed fits.
std::optional<Way> way_with_fewest(const Method &m, std::int64_t first, std::int64_t last) {
    std::optional<std::int64_t> two, one;
    if (m.asked.buffers != one_buffer && m.asked.map_shares == 1)
        two = smallest_fitting(first, last, [&](std::int64_t pieces) {
            return fits(launch(Tiling{m.s, m.gpu, m.by_filters, pieces}));
        });
    const auto walk_fits = [&](const split_walk::Shares &shares) {
        return fits(split_walk::launch(m.s, m.gpu, shares));
    };
    const bool may_walk = m.asked.buffers != two_buffers && split_walk::too_wide(m.s).empty();
    if (may_walk)
        one = smallest_fitting(first, last, [&](std::int64_t pieces) { return walk_fits(m.shares(pieces)); });
    if (two && (!one || *two <= *one))
        return Way{{int(*two), two_buffers, 1}, std::nullopt};
    if (one)
        return Way{{int(*one), one_buffer, m.asked.map_shares}, m.shares(*one)};
    // No number of pieces makes the rows of an SM fit: it has several shares of fewer rows, one after
    // another.
    for (std::int64_t times = 2; may_walk && m.by_filters && times * m.n_sm <= m.s.p(); ++times)
        if (walk_fits(m.shares(first, times)))
            return Way{{int(first), one_buffer, 1}, m.shares(first, times)};
    return std::nullopt;
}

/// Why the knobs contradict each other or the shape; "" if they do not.
std::string contradiction(const Method &m) {
    const Knobs &asked = m.asked;
    if (asked.pieces > m.most)
        return fmt::format("pieces = {} exceeds the {} {}", asked.pieces, m.most, m.cut);
    if (asked.buffers == one_buffer || asked.map_shares > 1)
        if (const std::string too_wide = split_walk::too_wide(m.s); !too_wide.empty())
            return too_wide;
    if (asked.map_shares > 1 && asked.buffers == two_buffers)
        return fmt::format("map_shares = {} needs buffers = 1", asked.map_shares);
    if (asked.map_shares > m.n_sm || asked.map_shares > m.s.p())
        return fmt::format("map_shares = {} exceeds the {} {}", asked.map_shares, std::min(m.n_sm, m.s.p()),
                           asked.map_shares > m.n_sm ? "SMs" : "output rows");
    return "";
}

/// The paper's FMAs and bytes of a round on an SM.
void count_round(Feasible &out, const Method &m, const Knobs &runs) {
    if (runs.map_shares > 1 && runs.pieces == 1) {
        out.paper_round_fmas = double(papers::share_fmas(m.s, m.filter_shares(), runs.map_shares));
        out.paper_round_bytes = double(papers::share_bytes(m.s, m.filter_shares(), runs.map_shares));
        return;
    }
    out.paper_round_fmas = double(m.round_fmas(runs.pieces));
    out.paper_round_bytes = double(m.round_bytes(runs.pieces));
}

} // namespace

std::string Knobs::outside(const ConvShape &s) {
    const std::string why = outside_papers(s);
    return !why.empty() || s.c == 1 ? why
                                    : fmt::format("the single-channel divisions need c = 1, got c = {}", s.c);
}

Planned plan_of(Knobs &knobs, const ConvShape &s, const Gpu &gpu, bool by_filters, CountReads reads) {
    Feasible out;
    out.rules = shape_rules(s, gpu.profile);
    if (knobs.map_shares == 0) // step 4 of section 2.2 where it applies
        knobs.map_shares = int(out.rules.redivided_map.value_or(1));
    const Method m{s, gpu, by_filters, knobs};
    if (const std::string why = contradiction(m); !why.empty())
        return Infeasible{why, false, std::move(out.rules)};
    const std::int64_t papers_pieces =
        (by_filters ? out.rules.candidate_q : out.rules.candidate_p).value_or(1);
    const std::int64_t paper = knobs.map_shares > 1 ? 1 : papers_pieces;
    const std::int64_t first = std::min(knobs.pieces > 0 ? knobs.pieces : paper, m.most),
                       last = knobs.pieces > 0 ? knobs.pieces : std::min(m.most, most_pieces);
    const std::optional<Way> way = way_with_fewest(m, first, last);
    if (!way)
        return Infeasible{fmt::format("two CTAs of an SM do not fit its shared memory of {} bytes with {}",
                                      gpu.limits.shared_bytes_per_sm,
                                      knobs.pieces > 0 ? "pieces = " + std::to_string(knobs.pieces)
                                                       : std::string("any number of pieces")),
                          false, std::move(out.rules)};
    knobs = way->runs;
    remark_pieces(out.rules, m, paper, knobs.pieces);
    if (way->walk && way->walk->map > m.n_sm)
        out.rules.remarks.push_back(
            fmt::format("the rows of an SM do not fit with any {}: they run as {} shares, several an SM",
                        m.letter, way->walk->map));
    count_round(out, m, knobs);
    out.plan.launches = {way->walk ? split_walk::launch_with_work(s, gpu, *way->walk)
                                   : launch_with_work(Tiling{s, gpu, by_filters, knobs.pieces}, reads)};
    return out;
}

} // namespace convcast::division
