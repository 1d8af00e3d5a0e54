// Winograd's minimal filtering: fewer multiplications, for additions and more data in between.
#include "model/strategies/strategy.hpp"

#include <cmath>
#include <iterator>
#include <numeric>

namespace convcast {
namespace {

/// F(tile x tile, r x r) for r = s = 3 or 5 and stride 1. A tile is tile x tile outputs. The launches: the
/// pixels under each tile, which overlap, are transformed to (tile + r - 1)^2 points; filters likewise, once
/// per filter set; at every point a matrix product of filters and tiles over the channels; the products are
/// transformed back. A CTA of the product computes `tile_k` filters for `tile_pixels` tiles, a thread
/// `thread_k` x `thread_pixels` of them in registers. `chunks` divides the batch's tiles, so that what lies
/// between the launches stays in L2.
struct Winograd {
    static constexpr About about{
        "winograd", "Winograd's F(2x2), F(4x4), F(6x6) of 3x3 and F(2x2), F(4x4) of 5x5 filters; stride 1",
        13};
    int tile = 0, tile_k = 0, tile_pixels = 0, thread_k = 0, thread_pixels = 0, slice_channels = 0,
        stages = 0, chunks = 0;

    void knobs(const EachKnob &each) {
        each(tile, "tile", 0, 6, {2, 4, 6},
             "rows and columns of outputs of a tile: 2, 4, or 6 for 3x3 filters");
        each(tile_k, "tile_k", 0, 128, {64, 128}, "filters of a CTA: 32, 64 or 128");
        each(tile_pixels, "tile_pixels", 0, 256, {32, 128}, "tiles of a CTA: 16, 32, 64, 128 or 256");
        each(thread_k, "thread_k", 0, 8, {}, "filters of a thread: 4 or 8");
        each(thread_pixels, "thread_pixels", 0, 8, {}, "tiles of a thread: 4 or 8");
        each(slice_channels, "slice_channels", 0, 32, {}, "channels of a pipeline step: 4, 8, 16 or 32");
        each(stages, "stages", 0, 6, {}, "buffers of the prefetch pipeline, 2 at least");
        each(chunks, "chunks", 0, 4096, {},
             "parts of the batch; each goes through all launches before the next part starts");
    }
    static std::string outside(const ConvShape &s) {
        if (s.dtype != DataType::f32)
            return "only FP32 is built for this strategy";
        if (s.r != s.s || (s.r != 3 && s.r != 5))
            return "winograd does 3x3 and 5x5 filters";
        if (s.stride_h != 1 || s.stride_w != 1 || s.dilation_h != 1 || s.dilation_w != 1 || s.groups != 1)
            return "winograd has stride 1, no dilation and no groups";
        if (s.c == 1)
            return "there is one channel: the products at a point are no sums, so transforms cost more than "
                   "they save";
        constexpr std::int64_t most = std::int64_t{1} << 30;
        if (s.h * s.w > most || s.p() * s.q() > most || s.n > most || s.c > most || s.k > most)
            return "an image, batch or filter set is too large for 32-bit indices";
        return "";
    }
    SettingsOf<Winograd> settings(const ConvShape &s, const Gpu &gpu) const;
    Planned plan(const ConvShape &s, const Gpu &gpu);
};

constexpr std::int64_t transform_threads = 128; // of pixels and outputs, of a CTA
constexpr std::int64_t line_floats = 32;        ///< rows of transformed data start at lines of 128 bytes

/// A setting, and numbers that several parts of a plan need. Transformed data lie as [point][channel][tile
/// or filter]; a plane is those of one point.
struct Sizes : Winograd {
    const ConvShape &s;
    const Gpu &gpu;
    std::int64_t points = tile + s.r - 1, tiles = s.n * ceil_div(s.p(), tile) * ceil_div(s.q(), tile);
    std::int64_t channels = round_up(s.c, slice_channels); ///< whole slices
    std::int64_t filter_pitch = round_up(s.k, line_floats);
    /// Tiles of a chunk. Chunks but the last are whole tiles of a CTA.
    std::int64_t chunk_tiles = chunks > 1 ? std::min(tiles, round_up(ceil_div(tiles, chunks), tile_pixels))
                                          : ceil_div(tiles, chunks);
    std::int64_t chunk_pitch = round_up(chunk_tiles, line_floats);
    std::int64_t planes = points * points,
                 filter_bytes = planes * 4 * channels * filter_pitch; ///< transformed
    std::int64_t pixel_bytes = planes * 4 * channels * chunk_pitch;   ///< of a chunk, transformed
    std::int64_t product_bytes = planes * 4 * s.k * chunk_pitch;      ///< of a chunk
    // A transform of one line of points, of pixels, of taps, and back to outputs, as
    // executor/kernels/winograd.cuh writes it: its multiply-adds (fmas), and all its instructions of
    // arithmetic (operations). Points are 0, infinity and pairs +-x, of which +-1 needs no multiplication.
    double pairs = double(points - 2) / 2.0, further_pairs = pairs - 1.0;
    double pixel_fmas = points == 4   ? 0.0
                        : points == 6 ? 8.0
                                      : 16.0,
           tap_fmas = further_pairs * double(s.r), back_fmas = further_pairs * (double(tile) - 1.0);
    double pixel_operations = points == 4 ? 4.0 : points == 6 ? 12.0 : 24.0;
    double back_operations =
        2.0 * pairs + double(tile) * further_pairs + 2.0; ///< even and odd parts, sums, ends
};

/// The share, 0 to 1, of the data of one launch that DRAM delivers to the next, which reads them after
/// `between` bytes have passed through L2 (F13).
double lost_after(double between, const Gpu &gpu) {
    return lost_at_random(between / double(l2_room(gpu)));
}

/// Sets the DRAM writes of all launches: what they write beyond the size of L2, shared in proportion to their
/// writes. Data that a later launch has read stay in L2 until others take their place, and go to DRAM then.
void share_out_dram_writes(Plan &plan, const Gpu &gpu) {
    double written = 0.0;
    each_launch(plan, [&](const Partition &part) { written += part.work.l2_write_bytes.value_or(0.0); });
    const double beyond = std::max(0.0, written - double(l2_room(gpu)));
    each_launch(plan, [&](Partition &part) {
        part.work.dram_write_bytes = beyond * part.work.l2_write_bytes.value_or(0.0) / std::max(1.0, written);
    });
}

/// Gives a launch of the transforms its instructions and pace: each of `units` threads runs `instructions`
/// of them once. `dependent` of these wait for each other: those that find the thread's place and addresses.
void count_instructions(Partition &part, std::int64_t units, double instructions, double dependent,
                        const Gpu &gpu) {
    const double dependent_clocks = gpu.architecture.dependent_instruction->value;
    part.pace = Pace{.other_clocks = 1.0 + (dependent_clocks - 1.0) * dependent / instructions};
    part.step.instructions = double(part.busy_warps) * instructions;
    part.work.instructions = double(ceil_div(units, 32)) * instructions;
    part.work.shared_wavefronts = part.work.shared_conflicts = 0.0;
}

/// Sets a CTA's FMAs and bytes to its part of those of the launch.
void share_out(Partition &part) {
    const double ctas = double(part.ctas);
    part.step.fmas = *part.work.fmas / ctas;
    part.step.load_bytes = *part.work.l2_read_bytes / ctas;
    part.drain.store_bytes = *part.work.l2_write_bytes / ctas;
}

/// The launch that transforms the filters.
Partition filters_launch(const Sizes &o) {
    constexpr std::int64_t tile_k = 32, tile_c = 8, threads = 256;
    const double p = double(o.points), taps = double(o.s.r * o.s.r);
    // Instructions of a thread: copies of its part of the taps, whose places cost divisions; the transforms
    // of its r columns and then p rows (lines); three for each store.
    const double lines = p + double(o.s.r);
    const double instructions =
        taps * (1.0 + instructions::copy) + lines * (o.tap_fmas + 2.0 * p) + 3.0 * p * p + instructions::warp;
    const std::int64_t registers = o.s.r == 5 ? (o.points == 8 ? 120 : 96) : o.points == 8 ? 72 : 64;
    Partition part = prepare_filters(
        "winograd_filters", {ceil_div(o.channels, tile_c), ceil_div(o.filter_pitch, tile_k), 1},
        {threads, registers, tile_k * (tile_c * o.s.r * o.s.r + 1) * 4}, o.filter_bytes, o.s, o.gpu);
    count_instructions(part, o.channels * o.filter_pitch, instructions,
                       taps * instructions::copy + 2.0 * p * p + instructions::warp, o.gpu);
    part.template_arguments = {o.points, o.s.r, o.slice_channels};
    Work &work = part.work;
    work.fmas = double(o.channels * o.filter_pitch) * lines * o.tap_fmas;
    // In shared memory filters lie a word further apart than they are long: a warp that copies the end of one
    // and the start of the next has two words in a bank. Then a warp reads a tap of 32 filters at a time.
    const std::int64_t filter_floats = tile_c * o.s.r * o.s.r;
    const Passes stores =
        shared_passes(banks_of(o.gpu.profile), threads * o.s.r * o.s.r, 1, [&](std::int64_t i) {
            return i / filter_floats * (filter_floats + 1) + i % filter_floats;
        });
    const double ctas = double(part.ctas);
    const double reads = taps * double(o.channels * o.filter_pitch / warp_lanes);
    work.shared_wavefronts = ctas * stores.taken + reads;
    work.shared_conflicts = ctas * stores.conflicts();
    part.step.shared_wavefronts = *work.shared_wavefronts / ctas;
    share_out(part);
    return part;
}

/// The share, 0 to 1, of warps one of whose 32 neighbouring tiles of m x m outputs reaches past the map.
double warps_at_edges(const ConvShape &s, std::int64_t m) {
    // Of the tiles along a row or column: counts those that reach past its ends, which are among the first
    // and the last two, and returns the share of `warp` neighbours that have any of them.
    const auto share = [&](std::int64_t outputs, std::int64_t pixels, std::int64_t pad, std::int64_t warp) {
        const std::int64_t tiles = ceil_div(outputs, m), reach = m + s.r - 1;
        std::int64_t past = 0;
        for (const std::int64_t tile : {std::int64_t{0}, tiles - 2, tiles - 1})
            if (tile >= 0 && (tile > 0 || past == 0) && (tile * m < pad || tile * m - pad + reach > pixels))
                ++past;
        return past == 0 ? 0.0 : std::min(1.0, double(past + warp - 1) / double(tiles));
    };
    const double across = share(s.q(), s.w, s.pad_w, warp_lanes);
    return 1.0 - (1.0 - across) * (1.0 - share(s.p(), s.h, s.pad_h, 1));
}

/// The launch that transforms the pixels of `tiles` tiles.
Partition input_launch(const Sizes &o, std::int64_t begin, std::int64_t tiles) {
    const std::int64_t units = o.channels * tiles, planes = o.planes;
    const double p = double(o.points), values = double(planes);
    // Instructions of a thread: for each value a load, a store and its address of two, and as many more where
    // the warp has a tile that reaches past the map; the transforms of 2 p lines; its start.
    const std::int64_t lanes = o.channels * round_up(tiles, line_floats);
    Partition part = side_launch("winograd_input", {ceil_div(lanes, transform_threads), 1, 1},
                                 {transform_threads, o.points == 8 ? 128 : 64}, o.gpu);
    count_instructions(part, lanes,
                       values * (instructions::guard + warps_at_edges(o.s, o.tile) * instructions::guard) +
                           2.0 * p * o.pixel_operations + instructions::warp,
                       2.0 * values + instructions::warp, o.gpu);
    part.template_arguments = {o.points, o.s.r, o.slice_channels, begin == 0};
    part.barriers = 0;
    Work &work = part.work;
    work.fmas = double(units) * 2.0 * p * o.pixel_fmas;
    const double share = double(tiles) / double(o.tiles);
    // Rows that two tiles share are read once for each; L1 keeps the columns.
    work.l2_read_bytes = share * double(o.s.input_bytes()) * p / double(o.tile);
    work.dram_read_bytes = share * double(o.s.input_bytes());
    const std::int64_t written = planes * o.channels * tiles * 4;
    work.l2_write_bytes = double(written);
    share_out(part);
    return part;
}

/// Reads of shared memory, each by a warp, with which winograd_output stores staged outputs of one filter of
/// `tiles` tiles of m x m outputs. A warp reads row after row of its 32 tiles, 32 neighbouring floats at a
/// time. A read without any output is left out: in the last tiles of an image, if these reach below the map.
double staged_reads(const ConvShape &s, std::int64_t m, std::int64_t tiles) {
    const std::int64_t tiles_w = ceil_div(s.q(), m), tiles_h = ceil_div(s.p(), m), image = tiles_w * tiles_h;
    const std::int64_t cut_off = m - (s.p() - (tiles_h - 1) * m); // rows that a last tile does not have
    const std::int64_t row_reads = tiles / warp_lanes * m +       // of one row of all tiles
                                   ceil_div(tiles % warp_lanes * m, warp_lanes);
    double reads = double(row_reads * m);
    if (cut_off == 0)
        return reads;
    if (tiles_h == 1)
        return double(row_reads * (m - cut_off));
    // of_last: reads of a row within the last tiles of an image. As images repeat, so do their warps.
    const std::int64_t images = ceil_div(tiles, image), repeat = warp_lanes / std::gcd(image, warp_lanes);
    const std::int64_t looked_at = std::min(images, repeat);
    double of_last = 0.0;
    for (std::int64_t n = 1; n <= looked_at; ++n) {
        const std::int64_t first = ceil_div((n * image - tiles_w) * m, warp_lanes), end = n * image * m;
        const std::int64_t behind =
            n * image < tiles ? end / warp_lanes : row_reads; // behind the last such read
        of_last += double(std::max<std::int64_t>(0, behind - first));
    }
    return reads - of_last * double(cut_off * images) / double(looked_at);
}

/// The launch that transforms the products of `tiles` tiles back. DRAM delivers a share `lost` of its reads.
Partition output_launch(const Sizes &o, std::int64_t tiles, double lost) {
    const std::int64_t planes = o.planes;
    const double p = double(o.points), m = double(o.tile);
    // Outputs go through shared memory if tiles are 6 wide or reach past the output.
    const bool staged = o.tile == 6 || o.s.q() % o.tile != 0 || o.s.p() % o.tile != 0;
    // Instructions of a thread: a load of each product with its address of two; the transforms; its start.
    // Where outputs are staged, 32 at a time find their tile by shuffles, and each row is read and stored.
    const std::int64_t lanes = o.s.k * round_up(tiles, line_floats);
    const std::int64_t registers = o.points == 8 ? 104 : o.points == 6 ? 56 : 40;
    Partition part = side_launch(
        "winograd_output", {ceil_div(lanes, transform_threads), 1, 1},
        {transform_threads, registers, staged ? transform_threads * o.tile * o.tile * 4 : 0}, o.gpu);
    count_instructions(part, lanes,
                       double(planes) * instructions::guard + (p + m) * o.back_operations +
                           instructions::warp +
                           (staged ? m * (instructions::copy + m * instructions::iteration) : 0.0),
                       2.0 * double(planes) + instructions::warp, o.gpu);
    part.template_arguments = {o.points, o.s.r, staged};
    part.barriers = 0;
    part.filter_count = o.s.k;
    Work &work = part.work;
    // Where outputs are staged, threads past the last tile compute as well, as a warp stores together.
    const std::int64_t units = staged ? part.ctas * part.threads : o.s.k * tiles;
    work.fmas = double(units) * (p + m) * o.back_fmas;
    if (staged) { // a lane puts the rows of its tile into shared memory; then warps read row after row
        const int width = o.tile % 4 == 0 ? 4 : 2;
        const Passes row = shared_passes(banks_of(o.gpu.profile), warp_lanes, width,
                                         [&](std::int64_t lane) { return lane * o.tile; });
        const double stores = m * m / width * row.taken;
        work.shared_wavefronts =
            double(part.ctas * part.busy_warps) * stores + double(o.s.k) * staged_reads(o.s, o.tile, tiles);
        work.shared_conflicts = double(part.ctas * part.busy_warps) * m * m / width * row.conflicts();
        part.step.shared_wavefronts = *work.shared_wavefronts / double(part.ctas);
    }
    const std::int64_t read = planes * o.s.k * tiles * 4;
    work.l2_read_bytes = double(read);
    work.dram_read_bytes = lost * double(read);
    const double share = double(tiles) / double(o.tiles);
    work.l2_write_bytes = share * written_bytes(o.s);
    share_out(part);
    return part;
}

/// The launch that multiplies at every point of `tiles` tiles. DRAM delivers a share `lost` of its reads.
std::variant<Partition, Infeasible> product_launch(const Sizes &o, std::int64_t tiles, double lost) {
    const std::int64_t pixel_tiles = ceil_div(tiles, o.tile_pixels), filter_tiles = ceil_div(o.s.k, o.tile_k);
    const std::int64_t planes = o.planes;
    if (pixel_tiles * filter_tiles > std::int64_t{1} << 30)
        return Infeasible{"more than 2^30 CTAs; take larger tiles or more chunks"};
    const std::int64_t sums = std::int64_t{o.thread_k} * o.thread_pixels;
    Partition part =
        launch_of_ctas(Winograd::about.name, {pixel_tiles * filter_tiles, planes, 1},
                       {std::int64_t{o.tile_k} / o.thread_k * (o.tile_pixels / o.thread_pixels),
                        // Accumulators, two buffers of fragments, addresses.
                        round_up(sums + 2 * (o.thread_k + o.thread_pixels) + 32, 8),
                        std::int64_t{o.stages} * o.slice_channels * (o.tile_k + o.tile_pixels) * 4},
                       o.gpu);
    part.template_arguments = {o.tile_k,        o.tile_pixels,    o.thread_k,
                               o.thread_pixels, o.slice_channels, o.stages};
    part.stages = o.stages;
    part.steps = o.channels / o.slice_channels;
    part.independent_sums = sums;
    part.snaked = true;
    if (const std::string why = does_not_fit(part, o.gpu.limits); !why.empty())
        return Infeasible{why};
    // CTAs that start while the launch before still runs crowd on the SMs that are free then. If all CTAs
    // can be resident at once, each asks for so much shared memory that no SM takes more than `even`.
    if (const std::int64_t even = ceil_div(part.grid[0] * part.grid[1], o.gpu.limits.sm_count);
        even < part.ctas_per_sm) {
        const auto unit = static_cast<std::int64_t>(o.gpu.architecture.shared_unit->value);
        const std::int64_t too_much = round_up(o.gpu.limits.shared_bytes_per_sm / (even + 1) + unit, unit) -
                                      o.gpu.limits.shared_bytes_reserved_per_cta;
        part.shared_bytes =
            std::max(part.shared_bytes, std::min<std::int64_t>(too_much, o.gpu.limits.shared_bytes_per_cta));
        part.ctas_per_sm = resident_ctas(o.gpu, part.threads, part.register_cap, part.shared_bytes);
    }
    fill_schedule(part, o.gpu.limits);

    const double warps = double(part.busy_warps), slice = o.slice_channels;
    const double loads = slice * (o.thread_k + o.thread_pixels) / 4.0;     // of a warp, 128 bits wide
    const double copies = slice * (o.tile_k + o.tile_pixels) / 4.0 / 32.0; // of the CTA
    // Copies that a thread makes of a slice: its rows over those that all threads copy at a time.
    const auto copies_of = [&](std::int64_t tile) {
        return double(ceil_div(o.slice_channels, part.threads / (tile / 4)));
    };
    const double warp_copies = copies_of(o.tile_k) + copies_of(o.tile_pixels);
    const double wide_copy = o.gpu.architecture.wide_copy_clocks->value,
                 most_merged = o.gpu.architecture.most_merged->value;
    part.step.fmas = slice * double(o.tile_k) * o.tile_pixels;
    part.step.instructions =
        part.step.fmas / 32.0 + warps * (loads + instructions::step + warp_copies * instructions::copy);
    part.step.shared_wavefronts =
        warps * loads * o.gpu.architecture.uniform_wide_wavefronts->value + copies * wide_copy;
    // The only tile along an axis may be wider than a row of transformed values. It then reads on into the
    // next channels' rows, which the CTA reads too: up to four such requests of an SM become one (W6).
    const auto own_readers = [&](std::int64_t tile, std::int64_t pitch, std::int64_t all_tiles) {
        return all_tiles > 1 ? 1.0 : std::clamp(double(tile) / double(pitch), 1.0, most_merged);
    };
    const double own_filters = own_readers(o.tile_k, o.filter_pitch, filter_tiles),
                 own_pixels = own_readers(o.tile_pixels, o.chunk_pitch, pixel_tiles);
    const double filter_bytes = slice * o.tile_k * 4.0 / own_filters,
                 pixel_bytes = slice * o.tile_pixels * 4.0 / own_pixels;
    part.step.load_bytes = filter_bytes + pixel_bytes;
    part.drain.instructions =
        warps * instructions::warp + double(o.tile_k) * o.tile_pixels / 4.0 / 32.0 * instructions::store;
    part.drain.store_bytes = double(std::min<std::int64_t>(o.tile_k, o.s.k)) *
                             double(std::min<std::int64_t>(o.tile_pixels, tiles)) * 4.0;

    const double all_steps = double(part.ctas * part.steps);
    set_core_work(part);
    Work &work = part.work;
    work.shared_wavefronts = all_steps * warps * loads * o.gpu.architecture.uniform_wide_wavefronts->value;
    work.l2_read_bytes = all_steps * part.step.load_bytes;
    const double filter_tiles_d = double(filter_tiles), pixel_tiles_d = double(pixel_tiles);
    part.mergeable_reads =
        mergeable_reads(own_filters > 1.0 ? 0.0 : all_steps * filter_bytes, {pixel_tiles_d, filter_tiles_d},
                        part, o.gpu) +
        mergeable_reads(own_pixels > 1.0 ? 0.0 : all_steps * pixel_bytes, {filter_tiles_d, 1.0}, part, o.gpu);
    const std::int64_t written = planes * o.s.k * tiles * 4;
    work.l2_write_bytes = double(written);
    work.dram_read_bytes = lost * double(planes * o.channels * tiles * 4 + o.filter_bytes);
    return part;
}

/// The tiles of a CTA and of a thread that settings() tries where these knobs are left open; chosen.
struct Tile {
    int k, pixels, thread_k, thread_pixels;
};
constexpr Tile tiles[] = {{128, 128, 8, 8}, {64, 256, 8, 8}, {64, 128, 8, 8}, {128, 64, 8, 8},
                          {64, 64, 8, 8},   {32, 128, 8, 8}, {64, 64, 8, 4},  {64, 32, 8, 4},
                          {128, 32, 8, 4},  {32, 64, 8, 4},  {32, 32, 4, 4},  {64, 16, 8, 4}};

} // namespace

/// Tiles of each size with each of the products' tiles above that agrees with the given knobs.
SettingsOf<Winograd> Winograd::settings(const ConvShape &s, const Gpu &) const {
    std::vector<Tile> products;
    const auto agrees = [](int given, int value) { return given == 0 || given == value; };
    if (tile_k != 0 && tile_pixels != 0 && thread_k != 0 && thread_pixels != 0)
        products = {{tile_k, tile_pixels, thread_k, thread_pixels}};
    else
        std::ranges::copy_if(tiles, std::back_inserter(products), [&](const Tile &product) {
            return agrees(tile_k, product.k) && agrees(tile_pixels, product.pixels) &&
                   agrees(thread_k, product.thread_k) && agrees(thread_pixels, product.thread_pixels);
        });
    constexpr int usual_slice = 8, usual_stages = 4; // chosen
    std::vector<Winograd> found;
    for (const int outputs : either(tile, {2, 4, 6}))
        for (const Tile &product : products)
            if (tile != 0 || outputs + s.r - 1 <= 8)
                found.push_back({outputs, product.k, product.pixels, product.thread_k, product.thread_pixels,
                                 slice_channels == 0 ? usual_slice : slice_channels,
                                 stages == 0 ? usual_stages : stages, chunks == 0 ? 1 : chunks});
    if (found.empty())
        return Infeasible{no_tile_tried};
    return found;
}

/// settings() has chosen all knobs. `chunks` becomes the number of chunks that there are, which may be fewer.
Planned Winograd::plan(const ConvShape &s, const Gpu &gpu) {
    const auto refused = [](std::string why) { return Infeasible{std::move(why)}; };
    if (tile % 2 != 0 || tile < 2 || tile + s.r - 1 > 8)
        return refused(fmt::format("F({}x{}, {}x{}) has other than 4, 6 or 8 points", tile, tile, s.r, s.s));
    if (!power_of_two_in(tile_k, 32, 128) || !power_of_two_in(tile_pixels, 16, 256))
        return refused("tile_k must be 32, 64 or 128 and tile_pixels 16, 32, 64, 128 or 256");
    if (!power_of_two_in(thread_k, 4, 8) || !power_of_two_in(thread_pixels, 4, 8))
        return refused("thread_k and thread_pixels must be 4 or 8");
    if (!power_of_two_in(slice_channels, 4, 32) || stages < 2)
        return refused("slice_channels must be 4, 8, 16 or 32, and stages at least 2");
    const std::int64_t lanes_n = std::min(8, tile_pixels / thread_pixels), lanes_m = 32 / lanes_n;
    const std::int64_t threads = std::int64_t{tile_k} / thread_k * (tile_pixels / thread_pixels);
    if (lanes_n < 4 || tile_k % (thread_k * lanes_m) != 0)
        return refused(
            fmt::format("a tile of {} filters and {} tiles has no whole warps of threads with {} x {}",
                        tile_k, tile_pixels, thread_k, thread_pixels));
    if (threads < std::max(tile_k, tile_pixels) / 4)
        return refused("a row of the slice has more 16-byte copies than a CTA has threads");
    const Sizes o{*this, s, gpu};
    constexpr std::int64_t most_floats = std::int64_t{1} << 31;
    if (o.tiles >= most_floats || o.pixel_bytes / 4 >= most_floats || o.product_bytes / 4 >= most_floats ||
        o.filter_bytes / 4 >= most_floats || s.k * o.chunk_pitch >= most_floats ||
        o.channels * o.chunk_pitch >= most_floats)
        return refused("transformed data of a launch exceed 2^31 floats; take more chunks");
    chunks = int(ceil_div(o.tiles, o.chunk_tiles));

    Feasible out;
    out.rules = table1_rules(gpu.profile);
    const std::int64_t pixels_at = o.filter_bytes, products_at = pixels_at + o.pixel_bytes;
    out.plan.workspace_bytes = products_at + o.product_bytes;
    out.plan.transformed_fmas = double(o.points * o.points * o.tiles) * double(s.c) * double(s.k);
    out.plan.prepare = {filters_launch(o)};
    if (out.plan.prepare[0].grid[1] > 65535)
        return refused("the grid of the launch that transforms filters exceeds 65535 in y");
    // The workspace has transformed filters, then a chunk's transformed pixels, then its products. Between
    // the store of a transformed value and its load all transformed pixels and filters pass through L2.
    // Between those of a product all products pass and, on average, half of what is read beside them.
    const double transformed_bytes = double(o.pixel_bytes + o.filter_bytes),
                 product_bytes = double(o.product_bytes),
                 lost_transformed = lost_after(transformed_bytes, gpu),
                 lost_products = lost_after(product_bytes + transformed_bytes / 2.0, gpu);
    for (std::int64_t begin = 0; begin < o.tiles; begin += o.chunk_tiles) {
        const std::int64_t count = std::min(o.chunk_tiles, o.tiles - begin);
        auto product = product_launch(o, count, lost_transformed);
        if (auto *why = std::get_if<Infeasible>(&product))
            return std::move(*why);
        Partition input = input_launch(o, begin, count);
        Partition output = output_launch(o, count, lost_products);
        input.operands = {{Memory::input, 0}, {Memory::workspace, pixels_at}};
        if (begin == 0) // while the filters are transformed
            input.beside = true;
        Partition &multiply = std::get<Partition>(product);
        multiply.operands = {
            {Memory::workspace, pixels_at}, {Memory::workspace, 0}, {Memory::workspace, products_at}};
        output.operands = {{Memory::workspace, products_at}, {Memory::output, 0}};
        for (Partition *part : {&input, &multiply, &output}) {
            part->tile_begin = begin;
            part->tile_count = count;
            part->early = true;
            out.plan.launches.push_back(std::move(*part));
        }
    }
    share_out_dram_writes(out.plan, gpu);
    out.paper_round_fmas = out.plan.launches[1].step.fmas;
    out.paper_round_bytes = out.plan.launches[1].step.load_bytes;
    return out;
}

const StrategyKind &strategies::winograd() {
    return kind_of<Winograd>();
}

} // namespace convcast
