#include "model/strategies/parts/division.hpp"
#include "model/base/readable.hpp"

#include <cmath>

namespace convcast::division {

Tile choose_tile(const Banks &banks, std::int64_t rows, std::int64_t filters) {
    const std::int64_t row_tile = rows >= 4 ? 4 : rows >= 2 ? 2 : 1;
    // 64 registers have no room for 4 rows x 8 filters of sums; 4 x 4 needs fewer loads per FMA than 2 x 8.
    const std::int64_t group = filters >= 8 && row_tile < 4 ? 8 : filters >= 4 ? 4 : filters >= 2 ? 2 : 1;
    return {row_tile, group, banks};
}

namespace {

constexpr double warps_per_cta = 512.0 / 32.0; // papers::threads_per_cta
/// Warp instructions of all warps of a CTA before its first piece.
constexpr double cta_instructions = (instructions::warp + instructions::place) * warps_per_cta;
/// Warp instructions of all warps for the pipeline of one of `pieces` pieces, on average. The last piece
/// starts no copy of a next one. A single piece has no pipeline: it is copied at once.
constexpr double piece_instructions(std::int64_t pieces) {
    return (pieces > 1 ? instructions::step - instructions::loop / double(pieces) : instructions::loop) *
           warps_per_cta;
}

/// What one call of convolve_band costs all threads of a CTA, for `rows` output rows of `filters` filters. A
/// unit is what a thread computes at a time: tile.rows outputs below each other of tile.group filters.
/// Loaded bytes are left out.
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
    const double group_reads = tile.group > 4 ? double(tile.group) / 4.0 : 1.0; // 16 bytes each
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
    const Units lanes{.groups = ceil_div(filters, tile.group),
                      .positions = ceil_div(rows, tile.rows) * s.q(),
                      .row = s.q(),
                      .pitch = tile.rows * s.w};
    const int read_words = int(std::min<std::int64_t>(tile.group, 4));
    work.shared_wavefronts =
        pixel_loads * position_passes(tile.banks, lanes).taken +
        tap_loads * group_reads * group_passes(tile.banks, lanes, s.r * s.s * tile.group, read_words);
    work.store_bytes = double(rows * s.q() * filters * 4);
    return work;
}

/// Bytes of the sectors that one call of convolve_band writes. Its units are dealt out to the warps from lane
/// 0 on: all of the first group of filters, then those of the next.
double band_written_bytes(const ConvShape &s, Tile tile, std::int64_t rows, std::int64_t filters) {
    if (rows <= 0 || filters <= 0)
        return 0.0;
    // A thread stores each row of each filter by itself. A group of filters begins in any lane of a warp; the
    // mean of the first eight groups stands for all of them, so that many filters take no longer to count.
    constexpr std::int64_t most_groups = 8;
    const std::int64_t row_groups = ceil_div(rows, tile.rows), groups = ceil_div(filters, tile.group);
    const std::int64_t seen = std::min(groups, most_groups);
    double bytes = 0.0;
    // The last group of rows may be short: the rows of a tile that it lacks are stored by all others.
    const std::int64_t last_rows = rows - (row_groups - 1) * tile.rows;
    for (std::int64_t storing = row_groups; storing >= std::max<std::int64_t>(1, row_groups - 1); --storing) {
        const std::int64_t tile_rows = storing == row_groups ? last_rows : tile.rows - last_rows;
        if (tile_rows == 0)
            continue;
        double of_groups = 0.0;
        for (std::int64_t group = 0; group < seen; ++group)
            of_groups += stored_bytes({.lanes = s.q(),
                                       .columns = s.q(),
                                       .rows = storing,
                                       .pitch = tile.rows * s.q(),
                                       .first_lane = group * row_groups * s.q() % warp_lanes},
                                      s.q(), s.result_bytes());
        bytes += double(tile_rows) * of_groups / double(seen);
    }
    return bytes * double(filters);
}

/// Warp instructions of a CTA that copy to shared memory the pixels of `rows` rows of outputs.
double map_copies(const Tiling &t, std::int64_t rows) {
    // Copies with their addresses and iterations, and the start of the loop in each warp that copies.
    const double copies = double(ceil_div(t.map_floats(rows), t.wide ? 128 : 32));
    return instructions::copy * copies + instructions::copy * std::min(copies, warps_per_cta);
}

/// Warp instructions of a CTA that copy `filters` filters to shared memory.
double filter_copies(const Tiling &t, std::int64_t filters) {
    // The place of a value costs a division by its taps, where there are several; zeros fill the last group.
    const double per_copy = t.taps == 1 ? instructions::copy : instructions::divided_copy;
    const double copies = double(ceil_div(round_up(filters, t.tile.group) * t.taps, 32));
    return per_copy * copies + instructions::copy * std::min(copies, warps_per_cta);
}

constexpr std::int64_t register_cap = 64; // two CTAs of 512 threads fill a file of 65,536 registers

/// Registers of a thread of convolve_band, read off what NVRTC 13.0 compiles for sm_90: 40 where a thread has
/// few sums and taps, so that a third CTA fits on an SM, else the cap.
std::int64_t registers_of(const ConvShape &shape, Tile tile) {
    constexpr std::int64_t few = 40;
    const std::int64_t taps = shape.r * shape.s, sums = tile.rows * tile.group;
    const bool square = tile.rows == 2 && tile.group == 2;
    return (taps == 1 && sums <= 4 && !square) || (taps == 9 && sums == 1) ? few : register_cap;
}

/// The launch with two buffers, without its work. Whether two CTAs fit on an SM its caller has to ask (fits).
Partition launch(const Tiling &t) {
    const std::int64_t stages = t.pieces > 1 ? 2 : 1,
                       bank_floats = round_up(round_up(t.filters, t.tile.group) * t.taps, 4),
                       band_floats = round_up((round_up(t.rows, t.tile.rows) + t.s.r - 1) * t.s.w, 4);
    Partition part = launch_of_ctas(
        t.filters_in_pieces ? "map_split" : "filter_split",
        {papers::ctas_per_sm * std::int64_t{t.gpu.limits.sm_count}, t.s.n, 1},
        {papers::threads_per_cta, register_cap,
         4 * (t.filters_in_pieces ? stages * bank_floats + band_floats : bank_floats + stages * band_floats),
         registers_of(t.s, t.tile)},
        t.gpu);
    part.parts = t.gpu.limits.sm_count;
    part.pieces = t.pieces;
    part.sharing_ctas = double(part.grid[0]);
    part.stages = stages;
    part.filter_count = t.s.k;
    // Pieces are rounded up, so the last ones may be empty. They are no steps: they cost barriers only.
    part.steps = ceil_div(t.all, t.piece);
    part.bank_floats = bank_floats;
    part.band_floats = band_floats;
    part.template_arguments = {t.s.r, t.s.s, t.tile.rows, t.tile.group, part.stages, t.wide};
    part.copy_passes =
        copy_passes(t.wide && !t.filters_in_pieces, t.gpu); // filters are transposed, value by value
    return part;
}

/// Makes part.step, the step of a CTA with the first half of the pieces of a full share, that of an average
/// CTA that has a share (F18). FFMAs, and what grows with them, are scaled so that all steps add up to the
/// FMAs of the launch. `copying`: warp instructions of the copies of all steps of the launch.
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

/// Fills in part.step and part.drain for a CTA that has the first half of every piece of a full share, and
/// sets the work of the launch, which add_ctas sums up, to zero.
void fill_cta(Partition &part, const Tiling &t) {
    // CTAs with the second halves are not idle, even if these are empty: they have copies and barriers.
    part.idle_ctas = part.ctas - t.shares * 2 * t.s.n;
    if (part.idle_ctas > 0) // such a CTA makes two divisions to find that it has no share
        part.idle_instructions = instructions::place * warps_per_cta;
    const double of_map = map_copies(t, t.rows), of_filters = filter_copies(t, t.filters);
    part.step = band_work(t.s, t.tile, t.rows, t.filters);
    part.step.load_bytes = double((t.filters_in_pieces ? t.filters * t.taps : t.map_floats(t.rows)) * 4);
    part.step.copying = (t.filters_in_pieces ? of_filters : of_map) + piece_instructions(part.pieces);
    part.step.instructions += part.step.copying;
    part.drain.instructions = cta_instructions + (t.filters_in_pieces ? of_map : of_filters) +
                              double(part.pieces - part.steps) * piece_instructions(part.pieces);
    if (t.filters_in_pieces)
        part.drain.load_bytes = double(t.map_floats(t.rows) * 4);
    part.independent_sums = t.tile.rows * t.tile.group;
    // Warps that have outputs in a call of convolve_band. A piece of one row or filter leaves the second CTA
    // nothing, so that an average CTA has half of them.
    const std::int64_t units = ceil_div(t.rows, t.tile.rows) * t.s.q() * ceil_div(t.filters, t.tile.group);
    part.busy_warps = std::clamp<std::int64_t>(ceil_div(units, warp_lanes), 1, part.threads / warp_lanes);
    if (t.piece == 1)
        part.busy_warps = ceil_div(part.busy_warps, 2);
    Work &work = part.work;
    work.fmas = work.instructions = work.shared_wavefronts = work.shared_conflicts = 0.0;
    work.l2_write_bytes = 0.0;
}

/// Adds to part.work `times` CTAs that have half `half` (0 or 1) of every piece of a share of `size` rows or
/// filters, and to `copying` the warp instructions of their steps' copies.
void add_ctas(Partition &part, double &copying, const Tiling &t, std::int64_t half, std::int64_t size,
              double times) {
    Work &work = part.work;
    StepWork step;
    double written = 0.0;
    std::int64_t counted = -1; // what step and written were counted for: nearly all pieces are alike
    for (std::int64_t piece = 0; piece < part.pieces; ++piece) {
        const std::int64_t count = std::max<std::int64_t>(0, t.count_of(piece, half));
        if (count != counted) {
            const std::int64_t rows = t.filters_in_pieces ? size : count,
                               filters = t.filters_in_pieces ? count : size;
            step = band_work(t.s, t.tile, rows, filters);
            written = band_written_bytes(t.s, t.tile, rows, filters);
            counted = count;
        }
        *work.fmas += times * step.fmas;
        const double copies = (t.filters_in_pieces ? filter_copies(t, count) : map_copies(t, count)) +
                              piece_instructions(part.pieces);
        *work.instructions += times * (step.instructions + copies);
        copying += times * (piece < part.steps ? copies : 0.0);
        *work.shared_wavefronts += times * step.shared_wavefronts;
        *work.l2_write_bytes += times * written;
    }
    *work.instructions +=
        times * (cta_instructions + (t.filters_in_pieces ? map_copies(t, size) : filter_copies(t, size)));
}

/// The launch with two buffers, with its work.
Partition launch_with_work(const Tiling &t, CountReads count_reads) {
    Partition part = launch(t);
    fill_cta(part, t);
    // F32: how often a warp computes and stores in a step. CTAs of a single wave start in lockstep.
    if (!t.filters_in_pieces && part.waves == 1)
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
    // A step loads the sectors that its copies request (W4), which may be twice the map's bytes.
    if (!t.filters_in_pieces)
        part.step.load_bytes = reads.coming.bytes / double((part.ctas - part.idle_ctas) * part.steps);
    *part.work.instructions += double(part.idle_ctas) * part.idle_instructions.value_or(0.0);
    fill_writes(part, t.s, t.gpu);
    return part;
}

} // namespace

Walk walk_of(const Knobs &knobs, const ConvShape &s, const Gpu &gpu, bool filters_in_pieces,
             const Partition &launch) {
    if (knobs.buffers == one_buffer)
        return split_walk::walk_of(s, gpu, launch);
    const Tiling t{s, gpu, filters_in_pieces, knobs.pieces};
    Walk walk(s, launch);
    walk.grid = {launch.parts, launch.grid[0] / launch.parts, launch.grid[1]};
    const OutputAxis stays = t.filters_in_pieces ? &OutputBox::rows : &OutputBox::filters,
                     comes = t.filters_in_pieces ? &OutputBox::filters : &OutputBox::rows;
    walk.cuts = {{.axis = &OutputBox::images, .share = 1, .along = 2},
                 {.axis = stays, .share = t.share, .along = 0},
                 {.axis = comes, .share = t.piece},
                 {.axis = comes, .share = t.half, .along = 1}};
    walk.buffers = {
        {"filters", CopiedTensor::filters, launch.bank_floats * 4, t.filters_in_pieces ? launch.stages : 1},
        {"map", CopiedTensor::map, launch.band_floats * 4, t.filters_in_pieces ? 1 : launch.stages}};
    walk.threads = {launch.threads, 1, t.tile.rows, 1, t.tile.group};
    walk.pixels = band_pixels(t.s, t.rows);
    walk.remark = std::string(t.filters_in_pieces ? "The rows of the map stay on the SM; the filters"
                                                  : "The filters stay on the SM; the rows of the map") +
                  " come in " + count_text(launch.pieces, "piece") + (t.filters_in_pieces ? " (Q)" : " (P)") +
                  ", and the " + count_text(walk.grid[1], "CTA") + " of an SM share each piece.";
    return walk;
}

namespace {

/// One way to run a division: the values of all knobs, and with one buffer how the outputs are divided.
struct Variant {
    Knobs knobs;
    std::optional<split_walk::Shares> one_buffer_shares; ///< absent: two buffers
};

/// Chang's section 4 launches two CTAs for each SM, all of which have to be resident.
bool fits(const Partition &part) {
    return part.ctas_per_sm >= papers::ctas_per_sm;
}

/// A division that is asked for, and the words and formulas in which the two divisions differ.
struct Method {
    const ConvShape &s;
    const Gpu &gpu;
    bool filters_in_pieces; ///< division 2, as in Tiling
    Knobs asked;            ///< its map_shares is not 0
    std::int64_t n_sm = gpu.limits.sm_count;
    const char *piece_symbol = filters_in_pieces ? "Q" : "P";        ///< the paper's number of pieces
    const char *cut = filters_in_pieces ? "filters" : "output rows"; ///< what comes in pieces
    std::int64_t most = filters_in_pieces ? s.k : s.p(); ///< so many of them, and pieces, there are at most

    /// FMAs on an SM, and bytes that it holds, in a round of the paper, which is a piece.
    std::int64_t round_fmas(std::int64_t pieces) const {
        return filters_in_pieces ? papers::th2_fmas(s, n_sm, pieces) : papers::th1_fmas(s, n_sm, pieces);
    }
    std::int64_t round_bytes(std::int64_t pieces) const {
        return filters_in_pieces ? papers::d2_bytes(s, n_sm, pieces) : papers::d1_bytes(s, n_sm, pieces);
    }
    /// Division 1: parts of the filters, so that each of the map's parts with each of these has an SM.
    std::int64_t filter_shares() const { return std::max<std::int64_t>(1, n_sm / asked.map_shares); }
    /// The shares with one buffer. In division 2 an SM may have `times` shares of rows, one after another.
    split_walk::Shares shares(std::int64_t pieces, std::int64_t times = 1) const {
        return split_walk::shares_of(s, filters_in_pieces ? 1 : filter_shares(),
                                     filters_in_pieces ? times * n_sm : asked.map_shares, pieces,
                                     filters_in_pieces);
    }
};

/// Notes the number of pieces that runs in the rules and, where the paper's rules give another one, why.
void remark_pieces(Rules &rules, const Method &m, std::int64_t rules_pieces, std::int64_t run) {
    rules.run_pieces = run;
    if (rules_pieces == run)
        return;
    const std::int64_t bytes = m.round_bytes(rules_pieces), room = m.gpu.limits.shared_bytes_per_sm;
    rules.remarks.push_back(fmt::format(
        "runs {} = {}, the paper's rules give {}: {}", m.piece_symbol, run, rules_pieces,
        bytes > room ? "D = " + std::to_string(bytes) + " exceeds S_shared = " + std::to_string(room)
        : m.asked.pieces > 0
            ? "so many were asked for"
            : "two CTAs an SM do not fit with them: each has halves and filters of its own"));
}

/// The variant with the fewest pieces, from `first` to `last`, of those that the knobs allow and of which two
/// CTAs fit on an SM; of equals the one with two buffers. Nothing if none fits.
std::optional<Variant> variant_with_fewest_pieces(const Method &m, std::int64_t first, std::int64_t last) {
    std::optional<std::int64_t> two, one; // pieces by buffers; absent: not allowed, or none fit
    if (m.asked.buffers != one_buffer && m.asked.map_shares == 1)
        two = smallest_fitting(first, last, [&](std::int64_t pieces) {
            return fits(launch(Tiling{m.s, m.gpu, m.filters_in_pieces, pieces}));
        });
    const auto shares_fit = [&](const split_walk::Shares &shares) {
        return fits(split_walk::launch(m.s, m.gpu, shares));
    };
    const bool one_allowed = m.asked.buffers != two_buffers && split_walk::too_wide(m.s).empty();
    if (one_allowed)
        one =
            smallest_fitting(first, last, [&](std::int64_t pieces) { return shares_fit(m.shares(pieces)); });
    if (two && (!one || *two <= *one))
        return Variant{{.pieces = int(*two), .buffers = two_buffers, .map_shares = 1}, std::nullopt};
    if (one)
        return Variant{{.pieces = int(*one), .buffers = one_buffer, .map_shares = m.asked.map_shares},
                       m.shares(*one)};
    // Division 2 keeps the rows of a share on an SM, however many the pieces. If they do not fit, the SM
    // takes several shares of fewer rows, one after another.
    for (std::int64_t times = 2; one_allowed && m.filters_in_pieces && times * m.n_sm <= m.s.p(); ++times)
        if (shares_fit(m.shares(first, times)))
            return Variant{{.pieces = int(first), .buffers = one_buffer, .map_shares = 1},
                           m.shares(first, times)};
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

/// Fills in the FMAs and bytes of a round on an SM as the paper counts them. With several shares of the map
/// and a single piece the round is the whole share (step 4 of section 2.2).
void count_round(Feasible &out, const Method &m, const Knobs &run) {
    if (run.map_shares > 1 && run.pieces == 1) {
        out.paper_round_fmas = double(papers::share_fmas(m.s, m.filter_shares(), run.map_shares));
        out.paper_round_bytes = double(papers::share_bytes(m.s, m.filter_shares(), run.map_shares));
        return;
    }
    out.paper_round_fmas = double(m.round_fmas(run.pieces));
    out.paper_round_bytes = double(m.round_bytes(run.pieces));
}

} // namespace

std::string Knobs::outside(const ConvShape &s) {
    const std::string why = outside_papers(s);
    return !why.empty() || s.c == 1 ? why
                                    : fmt::format("the single-channel divisions need c = 1, got c = {}", s.c);
}

Planned plan_of(Knobs &knobs, const ConvShape &s, const Gpu &gpu, bool filters_in_pieces,
                CountReads count_reads) {
    Feasible out;
    out.rules = shape_rules(s, gpu.profile);
    // Chang's step 4 of section 2.2 divides the map over several SMs if one would have too few FMAs to hide
    // the latency of memory (D5). It is absent where they are enough.
    if (knobs.map_shares == 0)
        knobs.map_shares = int(out.rules.redivided_map.value_or(1));
    const Method m{s, gpu, filters_in_pieces, knobs};
    if (const std::string why = contradiction(m); !why.empty())
        return Infeasible{.why = why, .rules = std::move(out.rules)};
    const std::int64_t division_pieces =
        (filters_in_pieces ? out.rules.candidate_q : out.rules.candidate_p).value_or(1);
    const std::int64_t rules_pieces = knobs.map_shares > 1 ? 1 : division_pieces; // step 4 has no pieces
    const bool pieces_given = knobs.pieces > 0;
    const std::int64_t start_pieces = std::min(pieces_given ? knobs.pieces : rules_pieces, m.most),
                       last_pieces = pieces_given ? knobs.pieces : std::min(m.most, most_pieces);
    const std::optional<Variant> variant = variant_with_fewest_pieces(m, start_pieces, last_pieces);
    if (!variant)
        return Infeasible{
            .why = fmt::format("two CTAs of an SM do not fit its shared memory of {} bytes with {}",
                               gpu.limits.shared_bytes_per_sm,
                               pieces_given ? "pieces = " + std::to_string(knobs.pieces)
                                            : std::string("any number of pieces")),
            .rules = std::move(out.rules)};
    knobs = variant->knobs; // from here on what runs; what was asked for is in m.asked
    remark_pieces(out.rules, m, rules_pieces, knobs.pieces);
    const std::optional<split_walk::Shares> &shares = variant->one_buffer_shares;
    if (shares && shares->map_shares > m.n_sm)
        out.rules.remarks.push_back(
            fmt::format("the rows of an SM do not fit with any {}: they run as {} shares, several an SM",
                        m.piece_symbol, shares->map_shares));
    count_round(out, m, knobs);
    out.plan.launches = {
        shares ? split_walk::launch_with_work(s, gpu, *shares)
               : launch_with_work(Tiling{s, gpu, filters_in_pieces, knobs.pieces}, count_reads)};
    return out;
}

} // namespace convcast::division
