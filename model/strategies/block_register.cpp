#include "model/strategies/block_register.hpp"

#include "model/paper/papers.hpp"
#include "model/work/instructions.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

using papers::ceil_div;
using papers::round_up;

const std::vector<Knob<BlockRegister>> &BlockRegister::knobs() {
    static const std::vector<Knob<BlockRegister>> list = {
        {"tile_w",
         &BlockRegister::tile_w,
         0,
         256,
         {16, 32},
         "W, outputs of a CTA along x, a multiple of 4 and of pixels_per_thread; 0: the paper's, or what the "
         "map needs"},
        {"tile_h",
         &BlockRegister::tile_h,
         0,
         64,
         {4, 8},
         "H, output rows of a CTA; 0: the paper's, or what the map needs"},
        {"tile_k",
         &BlockRegister::tile_k,
         0,
         256,
         {32, 64, 128},
         "F_TB, filters of a CTA, a multiple of filters_per_thread; 0: the paper's, or what there are"},
        {"pixels_per_thread",
         &BlockRegister::pixels_per_thread,
         0,
         32,
         {8, 16},
         "W_T, neighbouring pixels of a thread; 0: the paper's"},
        {"filters_per_thread",
         &BlockRegister::filters_per_thread,
         0,
         16,
         {4, 8},
         "F_T, filters of a thread; 0: the paper's"},
        {"channels",
         &BlockRegister::channels,
         0,
         64,
         {},
         "C_SH, channels of a step; 0: the paper's, more for small filters"},
        {"unit",
         &BlockRegister::unit,
         0,
         4,
         {},
         "n, neighbouring elements of one read of shared memory (1, 2 or 4); 0: the widest that fits the "
         "tile"},
    };
    return list;
}

namespace {

/// The paper's best on a K40m (its table of configurations). Filters between take the next larger's.
struct Best {
    int w, h, filters, pixels_per_thread, filters_per_thread, channels;
};
Best papers_best(std::int64_t rows) {
    if (rows <= 3)
        return {32, 4, 64, 16, 4, 2};
    if (rows <= 5)
        return {32, 8, 32, 8, 8, 1};
    return {64, 4, 32, 8, 8, 1};
}

/// `size`, halved while half of it covers `needed` and is no less than `least`.
int shrunk(int size, std::int64_t needed, int least) {
    while (size % 2 == 0 && size / 2 >= needed && size / 2 >= least)
        size /= 2;
    return size;
}

void choose_automatic(BlockRegister &knobs, const ConvShape &s) {
    const Best best = papers_best(s.r);
    if (knobs.tile_w == 0)
        knobs.tile_w = std::max(shrunk(best.w, s.q(), 8), knobs.pixels_per_thread);
    if (knobs.pixels_per_thread == 0)
        knobs.pixels_per_thread = std::min(best.pixels_per_thread, knobs.tile_w);
    if (knobs.tile_h == 0)
        knobs.tile_h = shrunk(best.h, s.p(), 1);
    if (knobs.channels == 0) {
        constexpr std::int64_t enough_taps = 16; // the paper's 18 at 3 x 3; it has no 1 x 1
        knobs.channels = static_cast<int>(std::min<std::int64_t>(
            s.c, std::max<std::int64_t>(best.channels, ceil_div(enough_taps, s.r * s.s))));
    }
    if (knobs.tile_k == 0) {
        // Short elements are copied a row and all values of a filter at a time.
        const std::int64_t least = s.dtype == DataType::f32
                                       ? papers::warp_threads
                                       : std::max({static_cast<std::int64_t>(papers::warp_threads),
                                                   knobs.tile_w + s.s - 1, knobs.channels * s.r * s.s});
        const int strips = std::max(1, knobs.tile_w / std::max(1, knobs.pixels_per_thread)) * knobs.tile_h;
        const int group = knobs.filters_per_thread == 0 ? best.filters_per_thread : knobs.filters_per_thread;
        const int whole_warp = static_cast<int>(ceil_div(least, strips)) * group;
        knobs.tile_k = std::max(shrunk(best.filters, s.k, 8), whole_warp);
    }
    if (knobs.filters_per_thread == 0)
        knobs.filters_per_thread = std::min(best.filters_per_thread, knobs.tile_k);
    if (knobs.unit == 0)
        for (knobs.unit = 4;
             knobs.pixels_per_thread % knobs.unit != 0 || knobs.filters_per_thread % knobs.unit != 0;
             knobs.unit /= 2) {
        }
}

/// What a CTA copies in a step.
struct Copies {
    std::int64_t threads, taps, rows, row_copies; ///< taps of a filter, rows of a channel, copies of a row
};

/// Registers of a thread at most, as compiled for sm_90 (NVRTC 13.0, 182 settings): large filters, whose rows
/// of taps pass through a few, and single taps leave some below the cap.
std::int64_t registers_of(const ConvShape &s, const BlockRegister &knobs, std::int64_t threads) {
    const std::int64_t taps = s.r * s.s, width = knobs.pixels_per_thread,
                       sums = width * knobs.filters_per_thread;
    const bool narrow = taps == 1 && knobs.channels == 16 && knobs.tile_w == 16 && width == 16;
    if (narrow || (taps == 1 && knobs.channels == 1))
        return sums + (narrow ? 40 : 48);
    const bool square = s.r == 3 && s.s == 3, many_warps = threads >= 128;
    const bool single = taps == 1 && (sums < 64 || (sums == 64 && knobs.channels == 16 && many_warps) ||
                                      (sums == 64 && knobs.channels < 16 && knobs.tile_k < 64));
    const bool nine = square && ((sums == 64 && (width == 8 || (knobs.channels == 2 && !many_warps))) ||
                                 (sums < 64 && knobs.channels == 2 && knobs.tile_w == 8));
    const bool several = (taps >= 21 || (taps == 5 && knobs.channels >= 4)) && (s.s >= 5 || sums >= 64);
    if (single || nine || several)
        return sums + 64;
    return 255;
}

/// Warp instructions of a CTA's copies of a step, on average over the grid. Each warp turns as often as the
/// kernel's loops have work for any of its threads; what lies past the last filter or row takes the turn's
/// comparison only. As compiled for sm_90: a turn (its place; by divisions where a thread's copies do not
/// stay in one column), a copy.
double copying_of(const ConvShape &s, const BlockRegister &knobs, const Copies &c) {
    const std::int64_t filters_a_pass = c.threads / c.taps, rows_a_pass = c.threads / c.row_copies;
    // Of a loop over `all` by `a_pass` side by side, each `copies` wide: turns of all warps that meet one of
    // the first `there`.
    const auto turns = [&](std::int64_t all, std::int64_t a_pass, std::int64_t copies, std::int64_t there) {
        double sum = 0.0;
        for (std::int64_t thread = 0; thread < std::min(c.threads, a_pass * copies); thread += warp_lanes)
            if (const std::int64_t left = std::min(all, there) - thread / copies; left > 0)
                sum += static_cast<double>(ceil_div(left, a_pass));
        return sum;
    };
    const auto flat_turns = [](std::int64_t copies) {
        return static_cast<double>(ceil_div(std::max<std::int64_t>(0, copies), warp_lanes));
    };
    const auto of_filters = [&](std::int64_t there) {
        return filters_a_pass > 0
                   ? turns(knobs.tile_k, filters_a_pass, c.taps, knobs.tile_k) *
                             (2.0 * instructions::iteration) +
                         turns(knobs.tile_k, filters_a_pass, c.taps, there) * instructions::copy
                   : flat_turns(knobs.tile_k * c.taps) * (2.0 * instructions::iteration) +
                         flat_turns(std::min<std::int64_t>(there, knobs.tile_k) * c.taps) *
                             instructions::divided_copy;
    };
    const auto of_pixels = [&](std::int64_t there) {
        const auto channels = static_cast<double>(knobs.channels);
        return rows_a_pass > 0
                   ? channels *
                         (turns(c.rows, rows_a_pass, c.row_copies, c.rows) * (2.0 * instructions::iteration) +
                          turns(c.rows, rows_a_pass, c.row_copies, there) * instructions::copy)
                   : flat_turns(knobs.channels * c.rows * c.row_copies) * instructions::divided_copy +
                         channels * flat_turns(std::min(there, c.rows) * c.row_copies) * instructions::copy;
    };
    // All tiles but the last are full.
    const std::int64_t full_k = ceil_div(s.k, std::int64_t{knobs.tile_k}) - 1,
                       full_y = ceil_div(s.p(), std::int64_t{knobs.tile_h}) - 1;
    const auto average = [](double of_full, double of_last, std::int64_t full) {
        return (static_cast<double>(full) * of_full + of_last) / static_cast<double>(full + 1);
    };
    return average(of_filters(knobs.tile_k), of_filters(s.k - full_k * knobs.tile_k), full_k) +
           average(of_pixels(c.rows), of_pixels(s.h - full_y * knobs.tile_h), full_y);
}

} // namespace

PlanResult<BlockRegister> BlockRegister::plan(const ConvShape &s, const Gpu &gpu) const {
    if (const std::string why = outside_papers(s, Elements::floats_and_short); !why.empty())
        return Infeasible{why, true};
    Planned<BlockRegister> planned;
    BlockRegister &knobs = planned.strategy;
    knobs = *this;
    choose_automatic(knobs, s);
    Feasible &out = planned.feasible;
    out.rules = table1_rules(gpu.profile);
    out.rules.bank_ratio = gpu.profile.bank_width
                               ? gpu.profile.bank_width->value.value / static_cast<double>(s.element_bytes())
                               : std::optional<double>();
    const GpuLimits &limits = gpu.limits;

    const std::int64_t width = knobs.pixels_per_thread, group = knobs.filters_per_thread, n = knobs.unit;
    if (n != 1 && n != 2 && n != 4)
        return Infeasible{"unit must be 1, 2 or 4, got " + std::to_string(n)};
    if (knobs.tile_w % 4 != 0 || knobs.tile_w % width != 0)
        return Infeasible{"tile_w = " + std::to_string(knobs.tile_w) +
                          " is no multiple of 4 and of pixels_per_thread = " + std::to_string(width)};
    if (knobs.tile_k % group != 0)
        return Infeasible{"tile_k = " + std::to_string(knobs.tile_k) +
                          " is no multiple of filters_per_thread = " + std::to_string(group)};
    if ((width & (width - 1)) != 0)
        return Infeasible{"pixels_per_thread must be 1, 2, 4, 8, 16 or 32, got " + std::to_string(width)};
    if (width % n != 0 || group % n != 0)
        return Infeasible{"pixels_per_thread and filters_per_thread must be multiples of unit = " +
                          std::to_string(n)};
    if (knobs.channels > s.c)
        return Infeasible{"channels = " + std::to_string(knobs.channels) + " exceeds the " +
                          std::to_string(s.c) + " there are"};

    // Rows are copied 16 bytes at a time, those of short elements, which pass through registers, a word at a
    // time.
    const std::int64_t bytes = s.element_bytes(), word = 4 / bytes;
    const bool short_type = s.dtype != DataType::f32, wide = s.w % (short_type ? word : 4) == 0;
    const std::int64_t copy_width = !wide ? 1 : short_type ? word : 4;
    const std::int64_t threads_x = knobs.tile_k / group, strips = knobs.tile_w / width;
    const std::int64_t pitch = knobs.tile_w + round_up(s.s - 1, 4), rows = knobs.tile_h + s.r - 1;
    const std::int64_t taps = knobs.channels * s.r * s.s, filter_pitch = knobs.tile_k + n;
    const std::int64_t tile_pixels = static_cast<std::int64_t>(knobs.tile_w) * knobs.tile_h;
    const std::int64_t stage_elements = round_up(taps * filter_pitch, 4) + knobs.channels * rows * pitch;
    const std::int64_t result_pitch = tile_pixels + 4;
    Partition part;
    part.kernel = name;
    part.template_arguments = {
        s.r, s.s, knobs.tile_w, knobs.tile_h, knobs.tile_k, width, group, knobs.channels, n, wide ? 1 : 0};
    if (short_type)
        part.template_arguments.push_back(static_cast<std::int64_t>(s.dtype));
    const std::int64_t tiles_x = ceil_div(s.q(), knobs.tile_w), tiles_y = ceil_div(s.p(), knobs.tile_h);
    part.grid = {tiles_x * tiles_y, ceil_div(s.k, knobs.tile_k), s.n};
    part.sharing_ctas = static_cast<double>(part.grid[0] * part.grid[1]);
    if (part.grid[1] > 65535)
        return Infeasible{"the grid exceeds 65535 in y; take a larger tile_k"};
    part.threads = threads_x * strips * knobs.tile_h;
    if (part.threads < papers::warp_threads)
        return Infeasible{"a CTA would have " + std::to_string(part.threads) + " threads, less than a warp"};
    if (part.threads > limits.max_threads_per_cta)
        return Infeasible{"a CTA would have " + std::to_string(part.threads) + " threads, the GPU allows " +
                          std::to_string(limits.max_threads_per_cta)};
    part.stages = 2;
    part.steps = ceil_div(s.c, knobs.channels);
    part.filter_count = s.k;
    part.busy_warps = ceil_div(part.threads, 32);
    part.independent_sums = width * group;
    part.shared_bytes =
        round_up(std::max(part.stages * stage_elements * bytes, threads_x * result_pitch * 4), 16);
    // Elements of the next step that a thread holds while it computes this one.
    const std::int64_t row_copies = wide ? pitch / copy_width : knobs.tile_w + s.s - 1;
    if (short_type && part.threads < std::max(taps, row_copies))
        return Infeasible{std::to_string(part.threads) + " threads copy less at a time than the " +
                          std::to_string(taps) + " values of a filter in a step or the " +
                          std::to_string(row_copies) + " copies of a row"};
    const std::int64_t held_filters = short_type ? ceil_div(knobs.tile_k, part.threads / taps) : 0;
    const std::int64_t held_pixels =
        short_type ? knobs.channels * ceil_div(rows, part.threads / row_copies) : 0;
    const std::int64_t held = held_filters + held_pixels;
    constexpr std::int64_t most_held = 80; // beside the sums; the compiler spills beyond
    if (held > most_held)
        return Infeasible{"a thread would hold " + std::to_string(held) +
                          " elements of the next step in registers; take fewer channels or more threads"};
    // Sums, a row of pixels, filter values; places of the copies and of the loads. Of a long row the first
    // pixels have left when the last ones come.
    const bool long_row = s.s >= 5 && !short_type, in_parts = long_row && width == 8;
    const std::int64_t pixel_registers = round_up(width + (in_parts ? 3 : s.s) - 1, n);
    const std::int64_t addresses = (in_parts || (wide && !long_row) ? 36 : 44) + (width * group < 64 ? 8 : 0);
    const std::int64_t needed = width * group + pixel_registers + 2 * group + held;
    part.register_cap = std::clamp<std::int64_t>(round_up(needed + addresses, 8), 64, 255);
    if (const std::int64_t most = limits.registers_per_sm / round_up(part.threads, 128) / 8 * 8;
        part.register_cap > most)
        part.register_cap = most;
    if (part.register_cap < needed + 32)
        return Infeasible{std::to_string(part.threads) + " threads of " + std::to_string(width) + " x " +
                          std::to_string(group) + " sums need more registers than a thread or an SM has"};
    part.variant =
        std::string(part.threads <= 64 ? "two warps at most" : "") + // each copies many times a step
        (s.r * s.s > 1        ? ""
         : part.threads <= 64 ? ", 1 x 1"
                              : "1 x 1");
    const std::int64_t registers =
        short_type ? part.register_cap : std::min(part.register_cap, registers_of(s, knobs, part.threads));
    part.ctas_per_sm = resident_ctas(gpu, part.threads, registers, part.shared_bytes);
    if (part.ctas_per_sm < 1)
        return Infeasible{"a CTA needs " + std::to_string(part.shared_bytes) +
                          " bytes of shared memory, the GPU gives " +
                          std::to_string(limits.shared_bytes_per_cta)};
    fill_schedule(part, limits);

    // Neighbouring threads run along filters, then along x, then y.
    const auto strip_word = [&](std::int64_t t, std::int64_t row_pitch) {
        const std::int64_t y = t / threads_x;
        return y / strips * row_pitch + y % strips * width;
    };
    const int load_width = static_cast<int>(std::max<std::int64_t>(1, n * bytes / 4)),
              store_width = width % 4 == 0 ? 4 : static_cast<int>(width);
    const Passes pixel = shared_passes(part.threads, load_width,
                                       [&](std::int64_t t) { return strip_word(t, pitch) * bytes / 4; });
    const Passes weight = shared_passes(part.threads, load_width,
                                        [&](std::int64_t t) { return t % threads_x * n * bytes / 4; });
    const Passes result = shared_passes(part.threads, store_width, [&](std::int64_t t) {
        return t % threads_x * result_pitch + strip_word(t, knobs.tile_w);
    });
    // Of a row's last unit the compiler reads no more than what is used, one or two of four floats.
    const std::int64_t row_values = round_up(width + s.s - 1, n), used = width + s.s - 1 - (row_values - n);
    const Passes last_pixel = !short_type && n == 4 && used < 3
                                  ? shared_passes(part.threads, static_cast<int>(used),
                                                  [&](std::int64_t t) { return strip_word(t, pitch); })
                                  : pixel;
    const double channel_rows = static_cast<double>(knobs.channels * s.r);
    const double pixel_loads = channel_rows * static_cast<double>(row_values / n);
    const double pixel_passes = (pixel_loads - channel_rows) * pixel.taken + channel_rows * last_pixel.taken;
    const double weight_loads = channel_rows * static_cast<double>(s.s * group / n);
    const double result_stores = static_cast<double>(group * width / store_width);
    const double warps = static_cast<double>(part.busy_warps);
    // Warp instructions beside arithmetic and loads, as compiled for sm_90: a channel and, where they are a
    // loop, a filter row (addresses); a step (loop, barrier, pointers), the start, four sums of a thread on
    // their way out (place of each by divisions, comparisons), 32 outputs that are there (shared memory,
    // store).
    const double copying = copying_of(s, knobs, {part.threads, taps, rows, row_copies});
    // Short elements: one instruction more to widen what is read (a single byte is widened by its load), and
    // the copies' way from registers to shared memory.
    const bool widens = s.dtype == DataType::f16 || (s.dtype == DataType::i8 && n > 1);
    const double widened = widens ? channel_rows * static_cast<double>(row_values + s.s * group) : 0.0;
    const double puts = static_cast<double>(held);
    part.step.fmas = static_cast<double>(taps * knobs.tile_k * tile_pixels);
    constexpr std::int64_t most_unrolled =
        1024; // as the kernel does: all taps of a channel, or a row of them
    const bool whole = s.r * s.s * group * width <= most_unrolled;
    part.step.turns = warps * static_cast<double>(whole ? knobs.channels : knobs.channels * s.r);
    part.step.shared_wavefronts = pixel_passes + weight_loads * weight.taken + warps * puts;
    part.step.instructions =
        static_cast<double>(taps * width * group) * warps +
        warps * (pixel_loads + weight_loads + widened +
                 static_cast<double>(knobs.channels) * instructions::iteration +
                 (whole ? 0.0 : channel_rows * instructions::iteration) + puts + instructions::loop) +
        (short_type ? warps * puts * instructions::unrolled_copy : copying);
    part.step.load_bytes =
        static_cast<double>((taps * std::min<std::int64_t>(knobs.tile_k, s.k) +
                             knobs.channels * std::min(rows, s.h) * std::min(knobs.tile_w + s.s - 1, s.w)) *
                            bytes);
    const double outputs = static_cast<double>(group * width);
    const Passes result_read = position_passes({group, threads_x * tile_pixels, tile_pixels, result_pitch});
    // Results are read where there are outputs: warps of 32 neighbouring pixels of a tile's rows.
    const auto tile_reads = [&](std::int64_t columns, std::int64_t lines) {
        std::int64_t reads = 0;
        for (std::int64_t first = 0; first < tile_pixels; first += warp_lanes) {
            const std::int64_t y = first / knobs.tile_w, x = first % knobs.tile_w;
            const bool next_row = x + warp_lanes > knobs.tile_w && y + 1 < lines;
            reads += (y < lines && x < columns) || next_row ? 1 : 0;
        }
        return static_cast<double>(reads);
    };
    const double result_reads = tile_pixels % warp_lanes != 0 // a warp has pixels of several filters
                                    ? static_cast<double>(part.ctas) * result_read.taken
                                    : static_cast<double>(s.n * s.k) *
                                          over_tiles(s.q(), knobs.tile_w, s.p(), knobs.tile_h, tile_reads);
    part.drain.instructions = warps * (instructions::warp + outputs * instructions::placed_store) +
                              result_reads / static_cast<double>(part.ctas) * instructions::placed_store;
    part.drain.shared_wavefronts = result_stores * result.taken + result_read.taken;
    part.drain.store_bytes = static_cast<double>(
        std::min<std::int64_t>(knobs.tile_w, s.q()) * std::min<std::int64_t>(knobs.tile_h, s.p()) *
        std::min<std::int64_t>(knobs.tile_k, s.k) * s.result_bytes());

    const double ctas = static_cast<double>(part.ctas), steps = static_cast<double>(part.steps);
    Work &work = part.work;
    work.fmas = ctas * steps * part.step.fmas;
    work.instructions = ctas * (steps * part.step.instructions + part.drain.instructions);
    work.shared_wavefronts =
        ctas * (steps * part.step.shared_wavefronts + result_stores * result.taken) + result_reads;
    work.shared_conflicts =
        ctas * (steps * (pixel_loads * pixel.conflicts() + weight_loads * weight.conflicts()) +
                result_stores * result.conflicts());
    const double row_pixels = covered(tiles_x, wide ? pitch : knobs.tile_w + s.s - 1, knobs.tile_w, 0, s.w);
    const double tile_row = row_pixels * static_cast<double>(bytes) / static_cast<double>(tiles_x);
    const bool past_l1 = wide && !short_type;
    const std::int64_t plane = s.h * s.w * 4;
    const Stride tiles_apart{knobs.tile_w * 4, tiles_x}, rows_apart{s.w * 4, s.h}, planes_apart{plane, s.c};
    const std::int64_t bank_bytes = round_up(taps * filter_pitch, 4) * 4;
    const std::initializer_list<Stride> runs_apart = {
        {rows * pitch * 4 - plane, knobs.channels},
        {pitch * 4 - s.w * 4, rows},
        next_buffer(stage_elements * 4, knobs.channels * plane, part.stages, part.steps),
        next_turn(knobs.channels * plane, part.stages, part.steps),
        {-knobs.tile_h * s.w * 4, tiles_y},
        {-knobs.tile_w * 4, tiles_x}};
    const double alike = past_l1 ? alike_in_lines(bank_bytes, runs_apart) : 1.0;
    const double row_bytes = past_l1 ? wide_copy_bytes(tile_row, odd_halves(bank_bytes, runs_apart),
                                                       odd_halves(0, {tiles_apart, rows_apart, planes_apart}))
                                     : spanned_bytes(tile_row, copy_width * bytes);
    // The CTAs of a row of the grid read the same filters.
    const double filter_bytes = filter_run_bytes(static_cast<double>(s.k) / static_cast<double>(part.grid[1]),
                                                 static_cast<double>(s.c * s.r * s.s * bytes), part, gpu);
    const double filter_reads =
        std::min(static_cast<double>(part.grid[1] * s.n) * read_through_l1(filter_bytes, filter_bytes,
                                                                           static_cast<double>(part.grid[0]),
                                                                           part, gpu, Again::in_turn),
                 read_through_l1(filter_bytes, filter_bytes * static_cast<double>(part.grid[1]), ctas, part,
                                 gpu, Again::in_turn));
    const double tile_rows = covered(tiles_y, rows, knobs.tile_h, 0, s.h) / static_cast<double>(tiles_y);
    const double tile_bytes = // through L1, rows of a tile from edge to edge follow one another
        past_l1 ? tile_rows * row_bytes
                : std::min(tile_rows * row_bytes,
                           spanned_bytes(tile_rows * static_cast<double>(s.w * bytes), copy_width * bytes));
    // And those of an image the same pixels, for other filters.
    const double of_cta = static_cast<double>(s.c) * tile_bytes;
    const double of_image = static_cast<double>(s.input_bytes()) / static_cast<double>(s.n);
    const double of_images = static_cast<double>(part.grid[0] * part.grid[1]);
    const double pixel_reads =
        static_cast<double>(s.n) * (past_l1 ? of_images * of_cta
                                            : read_through_l1(of_cta, std::max(of_cta, of_image), of_images,
                                                              part, gpu, Again::anywhere));
    work.l2_read_bytes = filter_reads + pixel_reads;
    const double tiles_d = static_cast<double>(part.grid[0]),
                 filter_tiles = static_cast<double>(part.grid[1]);
    part.mergeable_reads = mergeable_reads(filter_reads,
                                           tiles_d > 1.0 ? Readers{tiles_d, 1.0}
                                                         : Readers{static_cast<double>(s.n), filter_tiles},
                                           part, gpu) +
                           mergeable_reads(pixel_reads * alike, {filter_tiles, tiles_d}, part, gpu);
    const std::int64_t grid =
        std::gcd(s.p() * s.q(), std::gcd(knobs.tile_h * s.q(), std::int64_t{knobs.tile_w}));
    work.l2_write_bytes =
        static_cast<double>(s.n * s.k) *
        over_tiles(s.q(), knobs.tile_w, s.p(), knobs.tile_h, [&](std::int64_t x, std::int64_t y) {
            return stored_bytes({knobs.tile_w, x, y, s.q()}, part.grid[0] > 1 ? grid : s.p() * s.q(),
                                s.result_bytes());
        });
    part.partial_write_bytes = written_in_part(*work.l2_write_bytes, static_cast<double>(s.output_bytes()));
    fill_dram(work, s, gpu);
    out.paper_round_fmas = part.step.fmas * static_cast<double>(part.ctas_per_sm);
    out.paper_round_bytes = part.step.load_bytes * static_cast<double>(part.ctas_per_sm);
    out.plan.launches = {std::move(part)};
    return planned;
}

} // namespace convcast
