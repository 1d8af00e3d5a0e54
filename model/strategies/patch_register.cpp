#include "model/strategies/patch_register.hpp"

#include "model/papers.hpp"

#include <algorithm>
#include <cmath>

namespace convcast {

using papers::ceil_div;
using papers::round_up;

namespace {

/// What a thread computes at a time.
struct Outputs {
    std::int64_t rows, vector;
};

/// Neighbours share pixels where a vector never goes on in the next row.
bool whole_rows(const ConvShape &s, Outputs o) {
    return s.q() % o.vector == 0;
}

std::int64_t pixels_of(const ConvShape &s, Outputs o) {
    return whole_rows(s, o) ? (o.rows + s.r - 1) * (s.s + o.vector - 1) : o.vector * s.r * s.s;
}

std::int64_t positions_of(const ConvShape &s, Outputs o) {
    return whole_rows(s, o) ? ceil_div(s.p(), o.rows) * (s.q() / o.vector) : s.p() * s.q() / o.vector;
}

/// Counts of one warp, as the kernel's loops give them.
struct WarpCounts {
    double fmas_per_filter; ///< of a thread
    double instructions_per_filter;
    double instructions_once;
    double wavefronts_per_filter;
};

std::int64_t padded(std::int64_t taps) {
    return taps < 4 ? taps : round_up(taps, 4);
}

/// Filters whose taps are fetched together.
std::int64_t group_of(std::int64_t taps) {
    return taps == 1 ? 4 : taps <= 9 ? 2 : 1;
}

WarpCounts counts_of(const ConvShape &s, Outputs o, std::int64_t threads, std::int64_t tile_k) {
    const auto taps = static_cast<double>(s.r * s.s);
    const double loads = s.r * s.s == 1  ? 0.25
                         : s.r * s.s < 4 ? taps
                                         : static_cast<double>(padded(s.r * s.s)) / 4.0;
    const double copies = static_cast<double>(ceil_div(tile_k * padded(s.r * s.s), threads));
    // Beside arithmetic, loads and stores, as compiled for sm_90: a filter (pointer, loop), a copy of a tap
    // (its place, the load, the store), the start (place of the thread, pointers).
    constexpr double per_filter = 4.0, per_copy = 16.0, per_thread = 60.0;
    WarpCounts counts{};
    counts.fmas_per_filter = static_cast<double>(o.rows * o.vector) * taps;
    counts.instructions_per_filter =
        counts.fmas_per_filter + loads + static_cast<double>(o.rows) + per_filter;
    counts.instructions_once = static_cast<double>(pixels_of(s, o)) + copies * per_copy + per_thread;
    counts.wavefronts_per_filter = loads * (s.r * s.s == 2 || s.r * s.s == 3 ? 1.0 : uniform_wide_wavefronts);
    return counts;
}

std::int64_t registers_needed(const ConvShape &s, Outputs o) {
    constexpr std::int64_t addresses = 16;
    const std::int64_t taps = padded(s.r * s.s) * group_of(s.r * s.s);
    return std::clamp<std::int64_t>(round_up(pixels_of(s, o) + taps + o.rows * o.vector + addresses, 8), 32,
                                    255);
}

/// Clocks of the busiest SM's issue slots or of writing the output, whichever is longer, and the start of a
/// CTA: enough to rank the settings of one shape.
double cost(const ConvShape &s, const GpuProfile &profile, Outputs o, std::int64_t threads,
            std::int64_t tile_k) {
    const WarpCounts counts = counts_of(s, o, threads, tile_k);
    const std::int64_t ctas = ceil_div(positions_of(s, o), threads) * ceil_div(s.k, tile_k) * s.n;
    const double warps = static_cast<double>(threads) / 32.0;
    const double of_cta =
        warps * (counts.instructions_once + static_cast<double>(tile_k) * counts.instructions_per_filter);
    const std::int64_t resident =
        std::max<std::int64_t>(1, resident_ctas(profile.limits, threads, registers_needed(s, o), 4096));
    // Beyond what is resident at once come whole waves: CTAs of one size end together, and the last wave
    // takes as long as the others.
    const std::int64_t slots = profile.limits.sm_count * resident;
    const double busiest =
        of_cta * static_cast<double>(ctas <= slots ? ceil_div(ctas, profile.limits.sm_count)
                                                   : ceil_div(ctas, slots) * resident);
    const double alone = counts.instructions_once * 4.0 +
                         static_cast<double>(tile_k) * std::max(counts.instructions_per_filter, 40.0);
    double writes = 0.0;
    if (profile.sm_clock && profile.dram_write_bandwidth) {
        // Rows that do not start with a sector are stored in parts, which leave L2 before they meet: 64 us
        // against 42 for 32 filters of 3 x 3 on 1024 x 1024, H200.
        const double parts = o.vector == 1 && s.q() % 8 != 0 ? 1.5 : 1.0;
        writes = parts * static_cast<double>(s.output_bytes()) / profile.dram_write_bandwidth->value.value *
                 profile.sm_clock->value.value;
    }
    return std::max({busiest / profile.limits.schedulers_per_sm, alone, writes});
}

} // namespace

const std::vector<Knob<PatchRegister>> &PatchRegister::knobs() {
    static const std::vector<Knob<PatchRegister>> list = {
        {"rows",
         &PatchRegister::rows,
         0,
         16,
         {1, 2, 4, 8},
         "output rows of a thread; 1 where a vector may go on in the next row; 0: the model chooses"},
        {"vector",
         &PatchRegister::vector,
         0,
         4,
         {1, 4},
         "neighbouring outputs of a thread, stored at once; 4 needs p * q % 4 = 0; 0: the model chooses"},
        {"threads",
         &PatchRegister::threads,
         0,
         1024,
         {128, 256},
         "threads of a CTA, a multiple of 32, each a column of outputs; 0: the model chooses"},
        {"tile_k", &PatchRegister::tile_k, 0, 1024, {4, 8, 32}, "filters of a CTA; 0: the model chooses"},
    };
    return list;
}

PlanResult<PatchRegister> PatchRegister::plan(const ConvShape &s, const GpuProfile &profile) const {
    if (const std::string why = outside_papers(s); !why.empty())
        return Infeasible{why, true};
    if (s.c != 1)
        return Infeasible{"the single-channel kernels need c = 1, got c = " + std::to_string(s.c), true};
    if (s.r * s.s > 64)
        return Infeasible{"a patch of more than 64 taps does not stay in registers", true};
    if (s.q() > 65536)
        return Infeasible{"rows of more than 65536 outputs exceed the stores' offsets", true};

    Planned<PatchRegister> planned;
    Feasible &out = planned.feasible;
    PatchRegister &knobs = planned.strategy;
    knobs = *this;
    if (knobs.threads % 32 != 0)
        return Infeasible{"threads must be a multiple of 32, got " + std::to_string(knobs.threads)};
    if (vector != 0 && vector != 1 && vector != 4)
        return Infeasible{"vector must be 1 or 4, got " + std::to_string(vector)};
    if (vector == 4 && s.p() * s.q() % 4 != 0)
        return Infeasible{"planes of " + std::to_string(s.p() * s.q()) +
                          " outputs have no aligned vectors of 4"};
    // The knobs that are free take the values of the lowest cost; of equals the first.
    const auto free_or = [](int value, std::vector<int> values) {
        return value != 0 ? std::vector<int>{value} : values;
    };
    double best = 0.0;
    for (const int v : free_or(vector, {4, 1}))
        for (const int r : free_or(rows, {8, 4, 2, 1}))
            for (const int t : free_or(threads, {128, 256, 64}))
                for (const int k : free_or(tile_k, {32, 64, 16, 8, 4, 2, 1})) {
                    const Outputs o{r, v};
                    constexpr std::int64_t most_registers = 200;
                    const bool possible = s.p() * s.q() % v == 0 && r <= s.p() &&
                                          (r == 1 || whole_rows(s, o)) &&
                                          registers_needed(s, o) < most_registers;
                    if (!possible)
                        continue;
                    const double c = cost(s, profile, o, t, std::min<std::int64_t>(k, s.k));
                    if (best == 0.0 || c < best)
                        best = c, knobs.rows = r, knobs.vector = v, knobs.threads = t, knobs.tile_k = k;
                }
    if (best == 0.0)
        return Infeasible{
            "rows = " + std::to_string(rows) + ", vector = " + std::to_string(vector) +
            ": more rows than the map has, more registers than a thread has, or vectors that go on in "
            "the next row with rows > 1"};
    knobs.tile_k = static_cast<int>(std::min<std::int64_t>(knobs.tile_k, s.k));
    const Outputs outputs{knobs.rows, knobs.vector};

    const std::int64_t positions = positions_of(s, outputs);
    Partition part;
    part.kernel = name;
    part.template_arguments = {s.r, s.s, knobs.rows, knobs.vector, s.q()};
    part.grid = {ceil_div(positions, knobs.threads), ceil_div(s.k, knobs.tile_k), s.n};
    if (part.grid[1] > 65535 || positions > std::int64_t{1} << 30)
        return Infeasible{"the grid exceeds 65535 in y; take a larger tile_k"};
    part.threads = knobs.threads;
    part.tile_k = knobs.tile_k;
    part.filter_count = s.k;
    part.shared_bytes = round_up(knobs.tile_k, group_of(s.r * s.s)) * padded(s.r * s.s) * 4;
    part.register_cap = registers_needed(s, outputs);
    part.ctas_per_sm = resident_ctas(profile.limits, part.threads, part.register_cap, part.shared_bytes);
    if (part.ctas_per_sm < 1)
        return Infeasible{"a CTA of " + std::to_string(part.threads) + " threads does not fit an SM"};
    part.stages = 1;
    part.steps = 1;
    part.busy_warps = ceil_div(std::min(part.threads, positions), 32);
    part.independent_sums = knobs.rows * knobs.vector;
    fill_schedule(part, profile.limits);

    const WarpCounts counts = counts_of(s, outputs, part.threads, part.tile_k);
    // Of a small map a CTA has fewer positions than threads; warps without any end at once.
    const std::int64_t lanes = std::min(part.threads, positions);
    const double warps = static_cast<double>(ceil_div(lanes, 32)), filters = static_cast<double>(part.tile_k);
    // Of the input a CTA reads either a strip of its threads' columns or whole rows.
    const std::int64_t columns = lanes * knobs.vector;
    const double input_bytes =
        s.q() >= columns
            ? static_cast<double>(knobs.rows + s.r - 1) *
                  spanned_bytes(static_cast<double>(columns + s.s - 1) * 4.0)
            : spanned_bytes(static_cast<double>((ceil_div(columns, s.q()) * knobs.rows + s.r - 1) * s.w) *
                            4.0);
    part.step.fmas = static_cast<double>(lanes) * filters * counts.fmas_per_filter;
    part.step.instructions = warps * (counts.instructions_once + filters * counts.instructions_per_filter);
    part.step.shared_wavefronts = warps * filters * counts.wavefronts_per_filter;
    part.step.load_bytes = std::min(input_bytes, static_cast<double>(s.h * s.w) * 4.0) +
                           spanned_bytes(filters * static_cast<double>(s.r * s.s) * 4.0);
    part.step.store_bytes = static_cast<double>(columns * knobs.rows) * filters * 4.0;

    // Only whole warps past the last position are idle; a filter past the last one is not computed.
    const double busy = static_cast<double>(positions) * static_cast<double>(s.n * s.k);
    const double busy_warps = static_cast<double>(ceil_div(positions, 32) * s.n);
    const double tiles_k = static_cast<double>(part.grid[1]), all_filters = static_cast<double>(s.k);
    Work &work = part.work;
    work.fmas = busy * counts.fmas_per_filter;
    work.instructions =
        busy_warps * (tiles_k * counts.instructions_once + all_filters * counts.instructions_per_filter);
    work.shared_wavefronts = busy_warps * all_filters * counts.wavefronts_per_filter +
                             static_cast<double>(part.grid[0] * s.n) * all_filters *
                                 std::ceil(static_cast<double>(padded(s.r * s.s)) / 32.0);
    work.shared_conflicts = 0.0;
    work.l2_read_bytes = part.step.load_bytes * static_cast<double>(part.ctas);
    const double stored = static_cast<double>(positions * knobs.rows * knobs.vector * s.n * s.k) * 4.0;
    work.l2_write_bytes =
        knobs.vector == 1 ? stored * written_bytes(s) / static_cast<double>(s.output_bytes()) : stored;
    fill_dram(work, s, profile.limits);

    out.rules = table1_rules(profile);
    out.paper_round_fmas = part.step.fmas * static_cast<double>(part.ctas_per_sm);
    out.paper_round_bytes = part.step.load_bytes * static_cast<double>(part.ctas_per_sm);
    out.plan.launches = {std::move(part)};
    return planned;
}

} // namespace convcast
