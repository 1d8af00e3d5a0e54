// Chang, Figure 2(d): the map divided over the SMs along y, all filters streamed by every SM.
#include "model/base/readable.hpp"
#include "model/strategies/parts/division.hpp"
#include "model/strategies/strategy.hpp"

namespace convcast {
namespace {

constexpr int most_pieces = 4096; // of the channels, chosen
constexpr std::int64_t group = 8; // filters of a warp

/// A CTA keeps the pixels of ceil(p / N_sm) output rows in shared memory while `tile_k` filters a step stream
/// past it. If not all channels fit, they come in `pieces` pieces, and all filters stream past each piece. A
/// warp computes 8 filters, a lane `columns` pixels 32 apart.
struct MapStream {
    static constexpr About about{"map_stream",
                                 "Chang Fig. 2(d): its rows of the map stay on an SM, all filters stream", 9};
    int tile_k = 0, pieces = 0, columns = 0, stages = 2;

    void knobs(const EachKnob &each) {
        each(tile_k, "tile_k", 0, 256, {16, 32, 64, 128},
             "filters of a step, a multiple of 8; 0: 32, or fewer if there are fewer");
        each(pieces, "pieces", 0, most_pieces, {1, 2, 4, 8},
             "pieces of the channels, one resident at a time; 0: the fewest that fit");
        each(columns, "columns", 0, 4, {}, "pixels of a lane: 1, 2 or 4; 0: as the rows need");
        each(stages, "stages", 2, 4, {2, 3}, "buffers of the prefetch pipeline");
    }
    static std::string outside(const ConvShape &s) { return outside_papers(s); }
    std::string settle(const ConvShape &s, const Gpu &gpu);
    /// Floats of shared memory that a CTA of `tile_h` output rows needs; columns and tile_k must be settled.
    std::int64_t shared_floats(const ConvShape &s, std::int64_t tile_h, std::int64_t of_pieces) const;
    Planned plan(const ConvShape &s, const Gpu &gpu);
    void walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const;
};

std::int64_t MapStream::shared_floats(const ConvShape &s, std::int64_t tile_h, std::int64_t of_pieces) const {
    const std::int64_t channels = ceil_div(s.c, of_pieces),
                       band_floats = round_up((tile_h + s.r - 1) * s.w, 4);
    // A lane past the last position reads on, into the next channel or past the last one.
    const std::int64_t spare = 32 * columns;
    return stages * tile_k * channels * (s.r * s.s) + channels * band_floats + spare;
}

/// Gives the free knobs their values. Returns why there is no such launch, or "".
std::string MapStream::settle(const ConvShape &s, const Gpu &gpu) {
    const GpuLimits &limits = gpu.limits;
    const std::int64_t tile_h = ceil_div(s.p(), limits.sm_count);
    const std::int64_t positions = (tile_h - 1) * s.w + s.q();
    if (columns == 0)
        columns = positions > 64 ? 4 : positions > 32 ? 2 : 1;
    if (columns == 3)
        return "columns must be 1, 2 or 4, got 3";
    if (tile_k == 0)
        tile_k = int(std::min<std::int64_t>(32, round_up(s.k, group)));
    if (tile_k % group != 0)
        return fmt::format("tile_k = {} is no multiple of 8", tile_k);
    const auto fits = [&](std::int64_t count) {
        return shared_floats(s, tile_h, count) * 4 <= limits.shared_bytes_per_cta;
    };
    if (pieces > s.c)
        return fmt::format("pieces = {} exceeds the {} channels", pieces, s.c);
    if (!fits(s.c) || (pieces > 0 && !fits(pieces)))
        return fmt::format(
            "{} rows of the map and {} buffers of {} filters do not fit in shared memory with {}", tile_h,
            stages, tile_k, pieces > 0 ? fmt::format("pieces = {}", pieces) : "any number of pieces");
    const std::int64_t found = pieces > 0 ? pieces : *division::smallest_fitting(1, s.c, fits);
    if (found > most_pieces)
        return fmt::format("more than {} pieces of channels", most_pieces);
    pieces = int(ceil_div(s.c, ceil_div(s.c, found)));
    return "";
}

/// What follows from the shape, settled knobs and the GPU. Positions run along the rows of the map, of which
/// the last s - 1 pixels have no output; a block is what a warp computes at a time, 32 * columns positions.
struct Tiling : MapStream {
    const ConvShape &s;
    const Gpu &gpu;
    std::int64_t taps = s.r * s.s;
    Loop rows{s.p(), ceil_div(s.p(), gpu.limits.sm_count)}; ///< of outputs, CTA by CTA
    Loop channels{s.c, ceil_div(s.c, pieces)}, filters{s.k, tile_k};
    bool wide = s.w % 4 == 0; ///< 16 bytes of the map in a copy
    // Registers of a thread: sums, pixels, filter values; addresses, read off the machine code for sm_90.
    std::int64_t addresses = taps == 1 && columns <= 2 ? 48 : 56;
    std::int64_t register_cap = round_up(group * columns + columns + 2 * group + addresses, 8);
    std::int64_t most_warps = most_threads(gpu.limits, register_cap) / 32;
    std::int64_t groups = tile_k / group;                              ///< of filters of a step
    std::int64_t real_groups = std::min(groups, ceil_div(s.k, group)); ///< of filters that there are
    std::int64_t blocks = ceil_div(positions(rows.tile), 32 * columns);
    std::int64_t position_warps = std::min(blocks, most_warps / groups), warps = groups * position_warps;

    std::int64_t positions(std::int64_t of_rows) const { return (of_rows - 1) * s.w + s.q(); }
    std::int64_t map_floats(std::int64_t of_rows) const { return (of_rows + s.r - 1) * s.w; }
};

/// Grid, threads, shared memory, registers and how many CTAs an SM holds.
Partition launch_of(const Tiling &o) {
    const ConvShape &s = o.s;
    Partition part = launch_of_ctas(
        MapStream::about.name, {o.rows.turns(), s.n, 1},
        {32 * o.warps, o.register_cap, round_up(o.shared_floats(s, o.rows.tile, o.pieces), 4) * 4}, o.gpu);
    part.template_arguments = {s.r, s.s, s.w, o.columns, group, o.stages, o.wide};
    part.parts = o.gpu.limits.sm_count;
    part.tile_h = o.rows.tile;
    part.tile_k = o.tile_k;
    part.pieces = o.pieces;
    part.band_floats = round_up(o.map_floats(o.rows.tile), 4);
    part.bank_floats = o.tile_k * o.channels.tile * o.taps;
    part.sharing_ctas = 1.0;
    part.stages = o.filters.turns() > 1 ? o.stages : 1; // each piece starts anew
    part.steps = o.pieces * o.filters.turns();
    part.filter_count = s.k;
    part.busy_warps = o.real_groups * o.position_warps;
    // A warp's number says which filters and blocks of positions are its own.
    deal_out(part, o.gpu, o.warps, [&](std::int64_t warp) {
        return warp % o.groups < o.real_groups ? ceil_div(o.blocks - warp / o.groups, o.position_warps) : 0;
    });
    part.copy_passes = copy_passes(false, o.gpu); // of filters, which it transposes
    part.independent_sums = group * o.columns;
    return part;
}

/// The copies of a step by `warps` of the CTA's warps: the step's filters, with zeros past the last one, and
/// a part of the piece's pixels, which the steps of a piece share. A warp copies whole filters.
Activity copies_of(const Tiling &o, std::int64_t rows, std::int64_t channels, std::int64_t filters,
                   std::int64_t warps) {
    const std::int64_t slots = ceil_div(o.tile_k * warps, o.warps), map = o.map_floats(rows),
                       together = o.warps / warps * (o.wide ? 128 : 32); // floats of a copy of all of them
    const double of_piece = 1.0 / double(o.filters.turns());
    return does::starts(warps) + does::copies(slots, slots * ceil_div(channels * o.taps, 32)) +
           does::fetched(channels * o.taps * filters) +
           of_piece * (does::copies(warps * (channels + 1), channels * ceil_div(map, together)) +
                       does::fetched(channels * map));
}

/// What a CTA does in a step of so many output rows, channels and filters: its copies, and a block of
/// positions for each eight filters. Neighbouring lanes read neighbouring pixels and the same filter values.
Activity step_of(const Tiling &o, std::int64_t rows, std::int64_t channels, std::int64_t filters) {
    const std::int64_t columns = o.columns, fmas = o.taps * columns * group;
    const std::int64_t blocks = ceil_div(o.positions(rows), 32 * columns) * ceil_div(filters, group),
                       turns = blocks * channels;
    constexpr std::int64_t most_unrolled = 1024; // FFMAs, as the kernel does
    const bool whole = fmas <= most_unrolled;
    const auto pixel = [&](std::int64_t i) { // word of tap i % taps of column i / taps
        return i / o.s.s % o.s.r * o.s.w + i % o.s.s + i / o.taps * warp_lanes;
    };
    const std::int64_t all = o.taps * columns, pixels = whole ? distinct_loads(all, pixel) : all;
    const double uniform = o.gpu.architecture.uniform_wide_wavefronts->value;
    // All pieces but the first read the sums of the piece before, 32 neighbours of a filter at a time.
    const std::int64_t sums = ceil_div(o.positions(rows), warp_lanes) * filters;
    const double pieces = double(o.pieces);
    return copies_of(o, rows, channels, filters, o.warps) + does::ffmas(warp_lanes * turns, turns, fmas) +
           does::loads(turns * pixels, {1.0, 1.0}) +
           does::loads(turns * o.taps * group / 4, {uniform, uniform}) +
           does::iterations(turns, whole ? 0 : o.s.r) + does::priced(blocks, instructions::place) +
           does::priced(blocks * columns, instructions::divided_copy) +
           (pieces - 1.0) / pieces * does::priced(sums, instructions::store) +
           1.0 / pieces * does::stored(rows * o.s.q() * filters);
}

/// Fills in part.step, part.drain and the core work of the launch.
void fill_counts(Partition &part, const Tiling &o) {
    const Activity once = does::starts(o.warps);
    set_core_work(part, double(part.ctas) * once +
                            double(o.s.n) * over(o.rows, o.channels, o.filters,
                                                 [&](auto... things) { return step_of(o, things...); }));
    const std::int64_t filters = std::min(o.filters.tile, o.s.k);
    part.step = step_of(o, o.rows.tile, o.channels.tile, filters).work;
    part.longest_copier = copies_of(o, o.rows.tile, o.channels.tile, filters, 1).work.copying *
                          double(o.warps) / part.step.copying;
    // The first piece's pixels are copied before the first step. Nothing overlaps with a warp's last stores.
    const double steps = double(part.steps);
    part.drain = (once + does::fetched(o.channels.tile * o.map_floats(o.rows.tile))).work;
    part.drain.store_bytes = part.step.store_bytes / double(ceil_div(o.blocks, o.position_warps));
    part.step.load_bytes -= part.drain.load_bytes / steps;
    part.step.store_bytes -= part.drain.store_bytes / steps;
}

/// What all CTAs request from L2 of the map.
Reads map_reads_of(const Tiling &o, const Partition &part) {
    const std::int64_t plane = o.s.h * o.s.w * 4, bands = part.grid[0];
    return copied({.wide = o.wide,
                   .runs = double(o.s.n * o.s.c * bands),
                   .run_bytes = band_bytes(o.s, bands),
                   .to = part.stages * part.bank_floats * 4,
                   .loops = {{o.channels.tile, plane, part.band_floats * 4},
                             {part.pieces, o.channels.tile * plane},
                             {bands, part.tile_h * o.s.w * 4},
                             {o.s.n, o.s.c * plane}}});
}

/// What the SMs request from L2 of filters, and of sums of the piece before. All CTAs read all filters. They
/// find their own sums in L1 if it has kept them. `map_of_cta`: bytes of the map that a CTA reads through L1.
std::array<Reads, 2> stream_reads_of(const Tiling &o, double map_of_cta, const Partition &part) {
    const ConvShape &s = o.s;
    const double pieces = double(part.pieces), bands = double(part.grid[0]);
    const double ctas = double(part.ctas), count = double(s.k);
    const double filters = double(s.filter_bytes()), once = spanned_bytes(filters);
    const double filter_run = double(s.c) / pieces * double(o.taps) * 4.0;
    const double resident = double(std::min(part.ctas_per_sm, ceil_div(part.ctas, o.gpu.limits.sm_count)));
    const double sums_of_cta = double(part.tile_h * s.q() * s.k * 4);
    // Bytes through L1 between a sum's store and its next read: other sums, a piece's pixels and filters.
    constexpr double line = 128.0;
    const double between = resident * (sums_of_cta + map_of_cta / pieces) +
                           std::min(filters, count * lines_touched(filter_run, 1.0, 0.0) * line);
    // A piece reads a run of each filter. L1 may keep what the sectors at its ends hold of other pieces.
    const double all = pieces * std::min(once, count * spanned_bytes(filter_run));
    const double of_filters = kept_by_l1(once, all, between, part, o.gpu);
    // A CTA's rows of a plane of sums are one run. Neighbouring warps find the sector that they share in L1.
    const double sums_run = double(s.p() * s.q() * 4) / bands;
    const double read_again = double(s.output_bytes()) * spanned_bytes(sums_run) / sums_run;
    const double read =
        read_through_l1(of_filters, of_filters, ctas, part, o.gpu, Again::in_turn, sums_of_cta + map_of_cta);
    return {Reads{read, {ctas, 1.0}},
            Reads{kept_by_l1(0.0, (pieces - 1.0) * read_again, between, part, o.gpu)}};
}

/// Fills in the traffic of the launch with L2 and DRAM.
void add_traffic(Partition &part, const Tiling &o) {
    const ConvShape &s = o.s;
    const Gpu &gpu = o.gpu;
    const double pieces = double(part.pieces), ctas = double(part.ctas);
    const double output_bytes = double(s.output_bytes());
    Reads map = map_reads_of(o, part);
    const auto [filters, sums] = stream_reads_of(o, o.wide ? 0.0 : map.bytes / ctas, part);
    // Neighbouring CTAs read common rows of the map at different times. Counters say that copies of 16 bytes
    // come close enough for their requests to coalesce, and copies of 4 bytes do not.
    map.readers = {double(o.map_floats(part.tile_h)) / double(part.tile_h * s.w), 1.0};
    if (!o.wide)
        map.alike = 0.0;
    set_reads(part, {filters, map, sums}, gpu);
    part.work.l2_write_bytes = pieces * written_bytes_of_flat_rows(s, part.tile_h); // each stores its sums
    fill_writes(part, s, gpu, pieces);
    // The next piece reads the sums of a piece after all resident CTAs have stored theirs.
    const double at_once = std::min(1.0, double(part.ctas_per_sm * gpu.limits.sm_count) / ctas);
    const double again_bytes = (pieces - 1.0) * output_bytes * lost_from_l2(at_once * output_bytes, gpu);
    *part.work.dram_read_bytes += again_bytes;
    *part.work.dram_write_bytes += again_bytes;
}

} // namespace

Planned MapStream::plan(const ConvShape &s, const Gpu &gpu) {
    const Tiling o{*this, s, gpu};
    if (o.groups > o.most_warps)
        return Infeasible{
            fmt::format("tile_k = {} needs {} warps, a CTA has at most {}", tile_k, o.groups, o.most_warps)};
    Partition part = launch_of(o);
    if (const std::string why = does_not_fit(part, gpu.limits); !why.empty())
        return Infeasible{why};
    fill_counts(part, o);
    add_traffic(part, o);
    Feasible out = plan_of_launch(std::move(part), gpu);
    out.rules.remarks.push_back(cached_remark("the map's", s.input_bytes() / s.n, gpu.limits));
    if (pieces > 1)
        out.rules.remarks.push_back(fmt::format(
            "not all channels fit: {} pieces of them, whose sums are added in the output", pieces));
    return out;
}

void MapStream::walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const {
    const Tiling o{*this, s, gpu};
    walk.cuts = {{.axis = &OutputBox::images, .share = 1, .along = 1},
                 {.axis = &OutputBox::rows, .share = o.rows.tile, .along = 0},
                 {.axis = &OutputBox::channels, .share = o.channels.tile},
                 {.axis = &OutputBox::filters, .share = o.filters.tile}};
    walk.buffers = {{"filters", CopiedTensor::filters, launch.bank_floats * 4, stages},
                    {"map", CopiedTensor::map, o.channels.tile * launch.band_floats * 4, 1}};
    walk.threads = {32 * o.position_warps, o.groups, 1, columns, group, 32};
    walk.pixels = band_pixels(s, o.rows.tile);
    walk.remark =
        fmt::format("Its rows of the map stay on the SM, in {} of channels. All filters stream past, {} "
                    "a step.",
                    count_text(pieces, "piece"), tile_k);
}

const StrategyKind &strategies::map_stream() {
    return kind_of<MapStream>();
}

} // namespace convcast
