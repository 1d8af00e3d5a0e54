#include "model/strategies/row_register.hpp"

#include "model/paper/papers.hpp"
#include "model/work/instructions.hpp"
#include "model/work/l2_sectors.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

using papers::ceil_div;
using papers::round_up;

namespace {

constexpr std::int64_t constant_bank_bytes = 65536; // of a kernel

std::int64_t registers_needed(const ConvShape &s, std::int64_t unit, std::int64_t units,
                              std::int64_t threads) {
    const std::int64_t window = s.r * units * (unit + s.s - 1);
    const std::int64_t fetches = ceil_div(units * unit * threads + s.s - 1, threads);
    // Filter values of halves are widened ahead of their use.
    const std::int64_t addresses = s.dtype == DataType::f16 ? 48 : 24;
    return std::clamp<std::int64_t>(round_up(window + 2 * units * unit + fetches + addresses, 8), 32, 255);
}

/// Whether filter values are loaded into registers instead of being operands of the FFMAs: as compiled for
/// sm_90 (NVRTC 13.0), by the counters of loads' waits.
bool loads_filter_values(const ConvShape &s, std::int64_t thread_pixels) {
    const std::int64_t taps = s.r * s.s;
    return (thread_pixels == 1 && (taps == 1 || taps >= 35)) || (thread_pixels == 2 && taps == 9);
}

} // namespace

const std::vector<Knob<RowRegister>> &RowRegister::knobs() {
    static const std::vector<Knob<RowRegister>> list = {
        {"tile_w",
         &RowRegister::tile_w,
         0,
         1024,
         {64, 256},
         "W, outputs of a CTA along x, a multiple of 32 * unit * units; 0: the paper's 256, or what the map "
         "needs"},
        {"tile_h", &RowRegister::tile_h, 0, 4096, {2, 4, 8}, "H, output rows of a CTA; 0: the paper's 8"},
        {"unit",
         &RowRegister::unit,
         0,
         4,
         {1, 4},
         "n, neighbouring pixels a thread reads and computes as one (1, 2 or 4); 0: bank width / element "
         "width"},
        {"units",
         &RowRegister::units,
         0,
         8,
         {},
         "units a thread owns, each a CTA's threads apart: reuse of a filter value; 0: 4 pixels a thread"},
        {"tile_k",
         &RowRegister::tile_k,
         0,
         16384,
         {8, 16, 32, 64},
         "filters of a CTA; 0: all of a launch, as in the paper"},
    };
    return list;
}

PlanResult<RowRegister> RowRegister::plan(const ConvShape &s, const Gpu &gpu) const {
    if (const std::string why = outside_papers(s, Elements::floats_and_short); !why.empty())
        return Infeasible{why, true};
    if (s.c != 1)
        return Infeasible{"Chen's special case needs c = 1, got c = " + std::to_string(s.c), true};
    const std::int64_t bytes = s.element_bytes(), constant_values = constant_bank_bytes / bytes;
    if (s.r * s.s > constant_values)
        return Infeasible{"one filter exceeds the 64 KB of constant memory", true};

    Planned<RowRegister> planned;
    Feasible &out = planned.feasible;
    RowRegister &knobs = planned.strategy;
    knobs = *this;
    const Bytes bank_width = gpu.profile.bank_width ? gpu.profile.bank_width->value : Bytes(4.0);
    const std::int64_t ratio = papers::bank_ratio(bank_width, s.element_bytes());
    if (!gpu.profile.bank_width)
        out.assumptions.push_back("bank width 4 B: the profile has none");
    if (knobs.unit == 0)
        knobs.unit = static_cast<int>(ratio);
    if (knobs.unit != 1 && knobs.unit != 2 && knobs.unit != 4)
        return Infeasible{"unit must be 1, 2 or 4, got " + std::to_string(knobs.unit)};
    if (knobs.tile_w == 0)
        knobs.tile_w = static_cast<int>(std::min<std::int64_t>(256, round_up(s.q(), 32 * knobs.unit)));
    if (knobs.units == 0)
        for (knobs.units = std::max(1, 4 / knobs.unit);
             knobs.units > 1 && knobs.tile_w % (32 * knobs.unit * knobs.units) != 0; knobs.units /= 2) {
        }
    if (knobs.tile_w % (32 * knobs.unit * knobs.units) != 0)
        return Infeasible{
            "tile_w = " + std::to_string(knobs.tile_w) +
            " is no multiple of 32 * unit * units = " + std::to_string(32 * knobs.unit * knobs.units)};
    if (knobs.tile_h == 0)
        knobs.tile_h = 8;

    const std::int64_t threads = knobs.tile_w / (knobs.unit * knobs.units);
    const std::int64_t taps = s.r * s.s;
    const std::int64_t launch_filters = std::min(s.k, constant_values / taps);
    if (knobs.tile_k == 0 || knobs.tile_k > launch_filters)
        knobs.tile_k = static_cast<int>(launch_filters);
    constexpr std::int64_t most_launches = 256;
    if (ceil_div(s.k, launch_filters) > most_launches)
        return Infeasible{std::to_string(s.k) + " filters need more than " + std::to_string(most_launches) +
                          " launches of 64 KB of constant memory each"};
    out.rules = table1_rules(gpu.profile);
    out.rules.bank_ratio = bank_width.value / static_cast<double>(s.element_bytes());

    const std::int64_t tiles_x = ceil_div(s.q(), knobs.tile_w), tiles_y = ceil_div(s.p(), knobs.tile_h);
    const std::int64_t row_pixels = knobs.tile_w + s.s - 1;
    for (std::int64_t begin = 0; begin < s.k; begin += launch_filters) {
        Partition part;
        part.kernel = name;
        const int thread_pixels = knobs.unit * knobs.units;
        const bool whole_units = knobs.unit > 1 && s.q() % knobs.unit == 0;
        part.template_arguments = {s.r, s.s, threads, knobs.unit, knobs.units, whole_units ? 1 : 0};
        if (s.dtype != DataType::f32)
            part.template_arguments.push_back(static_cast<std::int64_t>(s.dtype));
        const bool loads_values = loads_filter_values(s, thread_pixels);
        part.variant = loads_values ? "filter values loaded" : "";
        part.filter_begin = begin;
        part.filter_count = std::min(launch_filters, s.k - begin);
        part.constant_bytes = part.filter_count * taps * bytes;
        part.tile_h = knobs.tile_h;
        part.tile_k = std::min<std::int64_t>(knobs.tile_k, part.filter_count);
        const std::int64_t tiles_k = ceil_div(part.filter_count, part.tile_k);
        part.grid = {tiles_x, tiles_y, s.n * tiles_k};
        part.sharing_ctas = static_cast<double>(tiles_x * tiles_y * tiles_k);
        if (tiles_y > 65535 || part.grid[2] > 65535)
            return Infeasible{"the grid exceeds 65535 in y or z; take a larger tile_h or tile_k"};
        part.threads = threads;
        const std::int64_t window_units = ceil_div(knobs.unit + s.s - 1, knobs.unit);
        part.shared_bytes = round_up((knobs.tile_w + (window_units - 1) * knobs.unit) * bytes, 16);
        part.register_cap = registers_needed(s, knobs.unit, knobs.units, threads);
        part.ctas_per_sm = resident_ctas(gpu, threads, part.register_cap, part.shared_bytes);
        if (part.ctas_per_sm < 1)
            return Infeasible{"a CTA of " + std::to_string(threads) + " threads does not fit an SM"};
        part.stages = 2;
        part.steps = std::min<std::int64_t>(knobs.tile_h, s.p());
        fill_schedule(part, gpu.limits);

        // One step is one output row of the tile, all its filters.
        const double warps = static_cast<double>(threads) / 32.0;
        const double pixels = static_cast<double>(thread_pixels), t = static_cast<double>(taps);
        const double filters = static_cast<double>(part.tile_k);
        const double fetches = static_cast<double>(ceil_div(row_pixels, threads));
        const double window = static_cast<double>(knobs.units * window_units);
        const std::int64_t unit_bytes = knobs.unit * bytes;
        const Passes read =
            shared_passes(threads, static_cast<int>(std::max<std::int64_t>(1, unit_bytes / 4)),
                          [&](std::int64_t thread) { return thread * unit_bytes / 4; });
        // As counted on sm_90: a fetch (address, predicate), a filter (constant loads' addresses, loop,
        // pointers).
        // Short elements are widened: a pixel on its way into the window, a filter value for every row.
        const bool widens_filters = s.dtype == DataType::f16;
        const bool widens_pixels = widens_filters || (s.dtype == DataType::i8 && knobs.unit > 1);
        const double row_instructions =
            fetches * instructions::loop + window * (widens_pixels ? 1.0 + knobs.unit : 1.0);
        // Units that are stored whole are computed only by warps that have any, as counted on sm_90.
        const double stores = whole_units ? static_cast<double>(knobs.units) : pixels;
        const std::int64_t unit_warp = warp_lanes * knobs.unit, last_q = s.q() - (tiles_x - 1) * knobs.tile_w;
        const double computing = whole_units
                                     ? static_cast<double>((tiles_x - 1) * (knobs.tile_w / unit_warp) +
                                                           ceil_div(last_q, unit_warp)) /
                                           static_cast<double>(tiles_x * (knobs.tile_w / unit_warp))
                                     : 1.0;
        const auto filter_instructions = [&](double count) {
            return count * ((whole_units ? instructions::placed_store : instructions::placed_store) +
                            computing * (t * (pixels + (widens_filters ? 2.0 : 1.0)) + stores));
        };
        // Of the last fetch only warps that have pixels of the row store any.
        const double row_wavefronts =
            static_cast<double>(ceil_div(row_pixels, warp_lanes)) + window * read.taken;
        part.step.fmas = computing * static_cast<double>(knobs.tile_w) * t * filters;
        part.step.instructions = warps * (row_instructions + filter_instructions(filters));
        part.step.shared_wavefronts = row_wavefronts;
        // FFMAs take filter values right from constant memory: a row's filters pass line after line, which
        // the cache of operands does not keep until the next row.
        constexpr double line_bytes = 64.0;
        if (!loads_values)
            part.step.constant_lines =
                warps * std::ceil(filters * t * static_cast<double>(bytes) / line_bytes);
        part.busy_warps = threads / 32;
        // The loop over filters is unrolled twice.
        part.independent_sums = 2 * thread_pixels;
        part.step.load_bytes = static_cast<double>(std::min(row_pixels, s.w) * bytes);
        part.step.store_bytes =
            static_cast<double>(std::min<std::int64_t>(knobs.tile_w, s.q()) * s.result_bytes()) * filters;

        const double images = static_cast<double>(s.n), count = static_cast<double>(part.filter_count);
        const double rows = static_cast<double>(s.p() * tiles_x) * images;
        const double passed_rows = rows + static_cast<double>((s.r - 1) * tiles_y * tiles_x) * images;
        Work &work = part.work;
        // Of a single pixel a thread, of a single unit that is stored whole and of one tap, those past the
        // edge are not computed: the compiler puts the sum under the store's condition. Others are computed
        // together, as counted on sm_90.
        const bool edge_left_out =
            thread_pixels == 1 || (whole_units && knobs.units == 1) || (knobs.unit == 1 && taps == 1);
        const double outputs = edge_left_out ? static_cast<double>(s.n * s.p() * s.q())
                                             : rows * static_cast<double>(knobs.tile_w);
        work.fmas = outputs * t * count;
        work.instructions = warps * (passed_rows * row_instructions * static_cast<double>(tiles_k) +
                                     rows * filter_instructions(count));
        work.shared_wavefronts = passed_rows * static_cast<double>(tiles_k) * row_wavefronts;
        work.shared_conflicts =
            passed_rows * static_cast<double>(tiles_k) * window * (read.taken - read.least);
        // Rows come through L1, where whole ones follow one another. CTAs of other filters read the same
        // pixels, otherwise those below the rows that their filters share. And the filters are copied to
        // constant memory.
        const double tiles = static_cast<double>(tiles_x * tiles_y);
        const double rows_of_cta = passed_rows / (images * tiles),
                     row_bytes = static_cast<double>(
                         std::min(row_pixels, ceil_div(s.w + (tiles_x - 1) * (s.s - 1), tiles_x)) * bytes);
        const double of_cta = tiles_x == 1 ? spanned_bytes(rows_of_cta * row_bytes, bytes)
                                           : rows_of_cta * spanned_bytes(row_bytes, bytes);
        const double of_image = static_cast<double>(s.h * s.w * s.c * bytes);
        const double pixel_reads =
            images * read_through_l1(of_cta, std::max(of_cta, of_image), tiles * static_cast<double>(tiles_k),
                                     part, gpu, Again::anywhere);
        work.l2_read_bytes = pixel_reads + static_cast<double>(part.constant_bytes);
        const Readers readers =
            tiles_k > 1
                ? Readers{static_cast<double>(tiles_k), tiles}
                : Readers{static_cast<double>(knobs.tile_h + s.r - 1) / static_cast<double>(knobs.tile_h),
                          static_cast<double>(tiles_x)};
        part.mergeable_reads = mergeable_reads(pixel_reads, readers, part, gpu);
        // Single pixels of neighbouring units: every store meets the same sectors again. Of one pixel each a
        // warp stores a part of one row.
        const double of_rows =
            static_cast<double>(s.n * s.k) *
            stored_bytes({round_up(s.q(), 32), s.q(), s.p(), s.q()}, s.q(), s.result_bytes());
        work.l2_write_bytes = (knobs.unit == 1 ? of_rows : written_bytes(s)) * count /
                              static_cast<double>(s.k) *
                              (whole_units ? 1.0 : static_cast<double>(knobs.unit));
        fill_dram(work, s, gpu);
        *work.dram_write_bytes *= count / static_cast<double>(s.k);
        if (begin > 0) // the first launch brought the input
            work.dram_read_bytes = 0.0;
        out.plan.launches.push_back(std::move(part));
    }
    const Partition &first = out.plan.launches.front();
    out.paper_round_fmas = first.step.fmas * static_cast<double>(first.ctas_per_sm);
    out.paper_round_bytes = first.step.load_bytes * static_cast<double>(first.ctas_per_sm);
    return planned;
}

} // namespace convcast
