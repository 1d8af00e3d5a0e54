// Chen, Algorithm 1 (the special case): K rows of the image kept in registers, filters in constant memory.
#include "model/base/readable.hpp"
#include "model/strategies/strategy.hpp"

#include <cmath>

namespace convcast {
namespace {

constexpr std::int64_t constant_bank_bytes = 65536; // of constant memory a kernel can have

/// A CTA walks down a tile of `tile_w` x `tile_h` outputs; a thread owns units of `unit` neighbouring pixels
/// (the paper's n, matched to the bank width) and computes `tile_k` filters for them row by row. C = 1 only.
struct RowRegister {
    static constexpr About about{
        "row_register", "Chen special case (C = 1): K rows in registers, filters in constant memory", 3};
    int tile_w = 0, tile_h = 0, unit = 0, units = 0, tile_k = 0;

    void knobs(const EachKnob &each) {
        each(tile_w, "tile_w", 0, 1024, {64, 256},
             "W, outputs of a CTA along x, a multiple of 32 * unit * units; 0: 256 as in Chen's paper, or "
             "less if the map needs less");
        each(tile_h, "tile_h", 0, 4096, {2, 4, 8}, "H, output rows of a CTA; 0: 8 as in Chen's paper");
        each(unit, "unit", 0, 4, {1, 4},
             "n, neighbouring pixels that a thread reads as one and computes, a unit: 1, 2 or 4; 0: as many "
             "as a bank of shared memory is wide");
        each(units, "units", 0, 8, {},
             "units of a thread, for all of which it uses a filter value that it has loaded; they lie as "
             "many units apart as a CTA has threads; 0: as many as make 4 pixels");
        each(tile_k, "tile_k", 0, 16384, {8, 16, 32, 64},
             "filters of a CTA; 0: all of a launch, as in Chen's paper");
    }
    static std::string outside(const ConvShape &s) {
        if (const std::string why = outside_papers(s, Elements::floats_and_short); !why.empty())
            return why;
        if (s.c != 1)
            return fmt::format("Chen's special case needs c = 1, got c = {}", s.c);
        return s.r * s.s > constant_bank_bytes / s.element_bytes()
                   ? "one filter exceeds the 64 KB of constant memory"
                   : "";
    }
    std::string settle(const ConvShape &s, const Gpu &gpu);
    Planned plan(const ConvShape &s, const Gpu &gpu);
    void walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const;
};

/// The width of a bank of shared memory; 4 bytes if the profile has none.
Bytes bank_width_of(const Gpu &gpu) {
    return gpu.profile.bank_width ? gpu.profile.bank_width->value : Bytes(4.0);
}

/// Filters of a launch: as many as constant memory holds.
std::int64_t launch_filters(const ConvShape &s) {
    return std::min(s.k, constant_bank_bytes / s.element_bytes() / (s.r * s.s));
}

/// Gives the free knobs their values, `unit` the bank width over an element's. Returns why a given one is
/// wrong, or "".
std::string RowRegister::settle(const ConvShape &s, const Gpu &gpu) {
    if (unit == 0)
        unit = int(papers::bank_ratio(bank_width_of(gpu), s.element_bytes()));
    if (unit != 1 && unit != 2 && unit != 4)
        return fmt::format("unit must be 1, 2 or 4, got {}", unit);
    if (tile_w == 0)
        tile_w = int(std::min<std::int64_t>(256, round_up(s.q(), 32 * unit)));
    if (units == 0)
        for (units = std::max(1, 4 / unit); units > 1 && tile_w % (32 * unit * units) != 0; units /= 2) {
        }
    if (tile_w % (32 * unit * units) != 0)
        return fmt::format("tile_w = {} is no multiple of 32 * unit * units = {}", tile_w, 32 * unit * units);
    if (tile_h == 0)
        tile_h = 8;
    const std::int64_t filters = launch_filters(s);
    if (tile_k == 0 || tile_k > filters)
        tile_k = int(filters);
    constexpr std::int64_t most_launches = 256; // chosen
    if (ceil_div(s.k, filters) > most_launches)
        return fmt::format("{} filters need more than {} launches of 64 KB of constant memory each", s.k,
                           most_launches);
    return "";
}

/// What follows from the shape and settled knobs.
struct Tiling : RowRegister {
    const ConvShape &s;
    const Gpu &gpu;
    Banks banks = banks_of(gpu.profile);
    std::int64_t bytes = s.element_bytes(), taps = s.r * s.s;
    std::int64_t pixels = std::int64_t{unit} * units, threads = tile_w / pixels; ///< of a thread; of a CTA
    std::int64_t window_units = ceil_div(unit + s.s - 1, unit);                  ///< that a unit's taps reach
    std::int64_t row_pixels = tile_w + s.s - 1; ///< of the input, behind a row of a tile
    std::int64_t tiles_x = ceil_div(s.q(), tile_w), tiles_y = ceil_div(s.p(), tile_h);
    bool whole_units = unit > 1 && s.q() % unit == 0; ///< units are stored whole
    /// Whether filter values are loaded into registers instead of being operands of the FFMAs: as compiled
    /// for sm_90 (NVRTC 13.0), by the counters of loads' waits.
    bool loads_values = (pixels == 1 && (taps == 1 || taps >= 35)) || (pixels == 2 && taps == 9);
    // Registers of a thread: its window of pixels, sums, pixels on their way (fetches), addresses as
    // compiled. Filter values of halves are widened ahead of their use and take more.
    std::int64_t window = s.r * units * (unit + s.s - 1), fetches = ceil_div(tile_w + s.s - 1, threads);
    std::int64_t addresses = s.dtype == DataType::f16 ? 48 : 24;
    std::int64_t registers =
        std::clamp<std::int64_t>(round_up(window + 2 * pixels + fetches + addresses, 8), 32, 255);
};

/// The launch of as many filters from `begin` on as constant memory holds, `tile_k` of them a CTA.
Partition launch_of(const Tiling &t, std::int64_t begin, std::int64_t tile_k) {
    const std::int64_t filters = std::min(launch_filters(t.s), t.s.k - begin);
    tile_k = std::min(tile_k, filters);
    const std::int64_t tiles_k = ceil_div(filters, tile_k);
    Partition part = launch_of_ctas(
        RowRegister::about.name, {t.tiles_x, t.tiles_y, t.s.n * tiles_k},
        {t.threads, t.registers, round_up((t.tile_w + (t.window_units - 1) * t.unit) * t.bytes, 16)}, t.gpu);
    part.template_arguments = {t.s.r, t.s.s, t.threads, t.unit, t.units, t.whole_units};
    add_element_type(part, t.s);
    part.variant = t.loads_values ? "filter values loaded" : "";
    part.filter_begin = begin;
    part.filter_count = filters;
    part.constant_bytes = filters * t.taps * t.bytes;
    part.tile_h = t.tile_h;
    part.tile_k = tile_k;
    part.sharing_ctas = double(t.tiles_x * t.tiles_y * tiles_k);
    part.stages = 2;
    part.steps = std::min<std::int64_t>(t.tile_h, t.s.p());
    // The loop over filters is unrolled twice.
    part.independent_sums = 2 * t.pixels;
    return part;
}

/// What a row of a tile costs, once and for each filter: instructions of one warp, as counted on sm_90.
struct Row {
    const Tiling &t;
    std::int64_t unit_bytes = t.unit * t.bytes;
    Passes read = shared_passes(t.banks, t.threads, int(std::max<std::int64_t>(1, unit_bytes / 4)),
                                [this](std::int64_t thread) { return thread * unit_bytes / 4; });
    // Short elements are widened: a pixel on its way into the window, a filter value for every row.
    bool widens_filters = t.s.dtype == DataType::f16,
         widens_pixels = widens_filters || (t.s.dtype == DataType::i8 && t.unit > 1);
    // Units that are stored whole are computed only by warps that have any.
    std::int64_t unit_warp = warp_lanes * t.unit, last_q = t.s.q() - (t.tiles_x - 1) * t.tile_w;
    double computing = ///< share of the warps that compute
        t.whole_units ? double((t.tiles_x - 1) * (t.tile_w / unit_warp) + ceil_div(last_q, unit_warp)) /
                            double(t.tiles_x * (t.tile_w / unit_warp))
                      : 1.0;
    double stores = t.whole_units ? double(t.units) : double(t.pixels);
    double window = double(t.units * t.window_units); ///< reads of a thread
    // For a row, fetches and reads of the window; for a filter, FFMAs, loads of values, stores, its loop.
    double instructions = double(ceil_div(t.row_pixels, t.threads)) * instructions::loop +
                          window * (widens_pixels ? 1.0 + double(t.unit) : 1.0);
    double of_filter =
        instructions::placed_store +
        computing * (double(t.taps) * (double(t.pixels) + (widens_filters ? 2.0 : 1.0)) + stores);
    /// Of all warps of a CTA, for a row. In the last fetch only warps that have pixels of the row store any.
    double wavefronts = double(ceil_div(t.row_pixels, warp_lanes)) + window * read.taken;
};

/// Fills in a step, which is one output row of the tile for all filters of the CTA.
void fill_step(Partition &part, const Tiling &t, const Row &row) {
    const double warps = double(t.threads) / 32.0, taps = double(t.taps);
    const double filters = double(part.tile_k);
    part.step.fmas = row.computing * double(t.tile_w) * taps * filters;
    part.step.instructions = warps * (row.instructions + filters * row.of_filter);
    part.step.shared_wavefronts = row.wavefronts;
    // FFMAs take filter values right from constant memory. All filters pass in every row, line after line,
    // which the cache of operands does not keep until the next row.
    constexpr double line_bytes = 64.0;
    if (!t.loads_values)
        part.step.constant_lines = warps * std::ceil(filters * taps * double(t.bytes) / line_bytes);
    part.step.load_bytes = double(std::min(t.row_pixels, t.s.w) * t.bytes);
    part.step.store_bytes = double(std::min<std::int64_t>(t.tile_w, t.s.q()) * t.s.result_bytes()) * filters;
}

/// Rows of the input that the tiles of all images walk down, summed over the tiles, for one tile of filters.
double passed_rows(const Tiling &t) {
    const double images = double(t.s.n);
    return double(t.s.p() * t.tiles_x) * images + double((t.s.r - 1) * t.tiles_y * t.tiles_x) * images;
}

/// Fills in what the SMs request from L2: rows of the map, through L1, and the filters' copy to constant
/// memory. CTAs of other filters read the same pixels. If there are none, neighbouring tiles below each other
/// share the rows that both their filters reach.
void fill_reads(Partition &part, const Tiling &t) {
    const double images = double(t.s.n), tiles = double(t.tiles_x * t.tiles_y);
    const double tiles_k = double(ceil_div(part.filter_count, part.tile_k));
    const std::int64_t columns = ceil_div(t.s.w + (t.tiles_x - 1) * (t.s.s - 1), t.tiles_x);
    const double rows_of_cta = passed_rows(t) / (images * tiles),
                 row_bytes = double(std::min(t.row_pixels, columns) * t.bytes);
    const double of_cta = t.tiles_x == 1 ? spanned_bytes(rows_of_cta * row_bytes, t.bytes)
                                         : rows_of_cta * spanned_bytes(row_bytes, t.bytes);
    const double pixel_reads = image_reads(t.s, of_cta, tiles * tiles_k, part, t.gpu);
    const Readers readers = tiles_k > 1.0
                                ? Readers{tiles_k, tiles}
                                : Readers{double(t.tile_h + t.s.r - 1) / double(t.tile_h), double(t.tiles_x)};
    set_reads(part, {{pixel_reads, readers}, {double(part.constant_bytes)}}, t.gpu);
}

/// The work of the whole launch.
void fill_work(Partition &part, const Tiling &t, const Row &row) {
    const double warps = double(t.threads) / 32.0, count = double(part.filter_count);
    const double tiles_k = double(ceil_div(part.filter_count, part.tile_k));
    const double rows = double(t.s.p() * t.tiles_x) * double(t.s.n);
    const double passed = passed_rows(t);
    Work &work = part.work;
    // Outputs past the edge are left out if a thread has a single pixel, a single unit that is stored whole,
    // or one tap: the compiler then puts the sum under the store's condition. Otherwise they are computed
    // with the others, as counted on sm_90.
    const bool edge_left_out =
        t.pixels == 1 || (t.whole_units && t.units == 1) || (t.unit == 1 && t.taps == 1);
    const double outputs = edge_left_out ? double(t.s.n * t.s.p() * t.s.q()) : rows * double(t.tile_w);
    work.fmas = outputs * double(t.taps) * count;
    work.instructions = warps * (passed * row.instructions * tiles_k + rows * (count * row.of_filter));
    work.shared_wavefronts = passed * tiles_k * row.wavefronts;
    work.shared_conflicts = passed * tiles_k * row.window * row.read.conflicts();
    fill_reads(part, t);
    // Units that are not stored whole are stored pixel by pixel: each of the `unit` stores writes the same
    // sectors. With units of one pixel a warp stores a part of one row.
    const double of_rows =
        double(t.s.n * t.s.k) *
        stored_bytes({round_up(t.s.q(), 32), t.s.q(), t.s.p(), t.s.q()}, t.s.q(), t.s.result_bytes());
    work.l2_write_bytes = (t.unit == 1 ? of_rows : written_bytes(t.s)) * count / double(t.s.k) *
                          (t.whole_units ? 1.0 : double(t.unit));
    fill_dram(work, t.s, t.gpu);
    *work.dram_write_bytes *= count / double(t.s.k);
    if (part.filter_begin > 0) // the first launch brought the input
        work.dram_read_bytes = 0.0;
}

} // namespace

Planned RowRegister::plan(const ConvShape &s, const Gpu &gpu) {
    const Tiling tiling{*this, s, gpu};
    const Row row{tiling};
    std::vector<Partition> launches;
    for (std::int64_t begin = 0; begin < s.k; begin += launch_filters(s)) {
        Partition part = launch_of(tiling, begin, tile_k);
        if (part.grid[1] > 65535 || part.grid[2] > 65535)
            return Infeasible{"the grid exceeds 65535 in y or z; take a larger tile_h or tile_k"};
        if (const std::string why = does_not_fit(part, gpu.limits); !why.empty())
            return Infeasible{why};
        fill_step(part, tiling, row);
        fill_work(part, tiling, row);
        launches.push_back(std::move(part));
    }
    Feasible out = plan_of_launch(launches.front(), gpu, Round::of_sm);
    out.plan.launches = std::move(launches);
    if (!gpu.profile.bank_width)
        out.assumptions.push_back("bank width 4 B: the profile has none");
    out.rules.bank_ratio = bank_width_of(gpu).value / double(s.element_bytes());
    out.rules.pixel_uses = papers::pixel_uses(s.r, s.s, s.k);
    return out;
}

void RowRegister::walk(Walk &walk, const ConvShape &s, const Gpu &gpu, const Partition &launch) const {
    const Tiling t{*this, s, gpu};
    const std::int64_t filter_tiles = ceil_div(launch.filter_count, launch.tile_k);
    walk.outputs.filters = {launch.filter_begin, launch.filter_begin + launch.filter_count};
    walk.cuts = {{.axis = &OutputBox::images, .share = 1, .along = 2, .apart = filter_tiles},
                 {.axis = &OutputBox::filters, .share = launch.tile_k, .along = 2, .shares = filter_tiles},
                 {.axis = &OutputBox::rows, .share = tile_h, .along = 1},
                 {.axis = &OutputBox::columns, .share = tile_w, .along = 0}};
    walk.buffers = {{"a row of the map", CopiedTensor::map, launch.shared_bytes, 1}};
    walk.threads = {t.threads, 1, 1, t.pixels, 1};
    walk.threads.unit = unit;
    walk.threads.apart = units > 1 ? t.threads * unit : 1;
    walk.pixels = {tile_h + s.r - 1, t.row_pixels, tile_h, tile_w};
    walk.draws_banks = true;
    walk.remark = "The CTA walks down: K = " + count_text(s.r, "row") +
                  " of the map are in registers, the next one comes through shared memory. " +
                  count_text(launch.filter_count, "filter") + " in constant memory (" +
                  grouped(launch.constant_bytes) + " bytes) are used one after another.";
}

const StrategyKind &strategies::row_register() {
    return kind_of<RowRegister>();
}

} // namespace convcast
