// What a strategy's file is made of: a struct S of knobs, which are ints, and the line that registers it.
// S has
//
//   about           name, what `list` says of it, its place in lists
//   knobs(each)     calls each(knob, name, low, high, candidates, doc) for every knob (EachKnob)
//   outside(s)      static: why it never does a shape, on any GPU; "" if it may
//   plan(s, gpu)    the plan of such a shape, as std::variant<Feasible, Infeasible>
//
// and, where it has them,
//
//   settle(s, gpu)  before the plan: gives knobs that are 0 their values; why a given one is wrong, or ""
//   settings(s, gpu)  those to compare; settled where S has settle(), wrong and repeated ones left out
//   walk(walk, s, gpu, launch)  how the CTAs of a launch of its plan walk; the walk has all outputs already
//   tensor_cores    whether it multiplies on them
//
// A number of gpu.architecture is an optional, but it is there: architecture_for fills in all of them.
#pragma once

#include "every_strategy.hpp"
#include "model/base/divide.hpp"
#include "model/paper/papers.hpp"
#include "model/plan/occupancy.hpp"
#include "model/strategies/list.hpp"
#include "model/work/activity.hpp"
#include "model/work/instructions.hpp"
#include "model/work/l2_sectors.hpp"
#include "model/work/shared_access.hpp"
#include "model/work/tensors.hpp"
#include "model/work/totals.hpp"

// IWYU pragma: begin_exports
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>
// IWYU pragma: end_exports

namespace convcast {

/// What a strategy is: its name, what `list` prints of it, and its place in lists, which no other one has.
struct About {
    const char *name, *doc;
    int place;
};

/// What S::knobs calls once for each knob, always in the same order: the visitor reads or sets it. The
/// default is the value that the member has in S{}. `candidates`: the values that `choose` tries, in every
/// combination with those of the other knobs. The default is among them only if it is listed; without any,
/// the knob keeps its default. Besides, `choose` always tries the setting in which all knobs have their
/// default. `doc`: what the knob means, with its unit, as `list` prints it.
using EachKnob = std::function<void(int &knob, const char *name, int low, int high,
                                    std::initializer_list<int> candidates, const char *doc)>;

/// What S::plan returns: a plan without its setting, which kind_of puts beside it (PlannedStrategy).
using Planned = std::variant<Feasible, Infeasible>;

/// The settings of S to compare, or why there is none.
template <class S> using SettingsOf = std::variant<std::vector<S>, Infeasible>;

/// The knobs of an S as a list, in the order of S::knobs; setting_of is the inverse.
template <class S> Strategy strategy_of(const StrategyKind &kind, S setting) {
    Strategy strategy{&kind, {}};
    strategy.knobs.reserve(kind.knobs.size());
    setting.knobs([&](int value, auto...) { strategy.knobs.push_back(value); });
    return strategy;
}

template <class S> S setting_of(const Strategy &strategy) {
    S setting;
    std::size_t i = 0;
    setting.knobs([&](int &value, auto...) { value = strategy.knobs[i++]; });
    return setting;
}

/// Whether S has settle().
template <class S> inline constexpr bool settles = requires(S setting, const ConvShape &s, const Gpu &gpu) {
    setting.settle(s, gpu);
};

/// What S registers: its names and texts, and its functions as ones that take the knobs as a list.
template <class S> const StrategyKind &kind_of() {
    static const StrategyKind kind = [] {
        StrategyKind made;
        made.name = S::about.name, made.doc = S::about.doc, made.place = S::about.place;
        S{}.knobs([&](int usual, const char *name, int low, int high, std::initializer_list<int> candidates,
                      const char *doc) {
            made.knobs.push_back({name, doc, low, high, candidates});
            made.usual.push_back(usual);
        });
        if constexpr (requires { S::tensor_cores; })
            made.tensor_cores = S::tensor_cores;
        made.settings = [](const Strategy &strategy, [[maybe_unused]] const ConvShape &s,
                           [[maybe_unused]] const Gpu &gpu) -> Settings {
            std::vector<Strategy> settings;
            if constexpr (requires(S setting) { setting.settings(s, gpu); }) {
                if (std::string why = S::outside(s); !why.empty())
                    return Infeasible{.why = std::move(why), .unsupported = true};
                SettingsOf<S> found = setting_of<S>(strategy).settings(s, gpu);
                if (auto *why = std::get_if<Infeasible>(&found))
                    return std::move(*why);
                std::string why; // why the last wrong setting is wrong: told if no setting is left
                for (S setting : std::get<0>(found)) {
                    if constexpr (settles<S>)
                        if (std::string wrong = setting.settle(s, gpu); !wrong.empty()) {
                            why = std::move(wrong);
                            continue;
                        }
                    Strategy one = strategy_of(*strategy.kind, setting);
                    if (!settles<S> || std::ranges::find(settings, one) == settings.end())
                        settings.push_back(std::move(one));
                }
                if (settings.empty())
                    return Infeasible{std::move(why)};
            } else {
                settings.push_back(strategy);
            }
            return settings;
        };
        made.plan = [](const Strategy &strategy, const ConvShape &s, const Gpu &gpu) -> PlanResult {
            if (std::string why = S::outside(s); !why.empty())
                return Infeasible{.why = std::move(why), .unsupported = true};
            S setting = setting_of<S>(strategy);
            if constexpr (settles<S>)
                if (std::string why = setting.settle(s, gpu); !why.empty())
                    return Infeasible{std::move(why)};
            Planned planned = setting.plan(s, gpu);
            if (auto *why = std::get_if<Infeasible>(&planned))
                return std::move(*why);
            return PlannedStrategy{strategy_of(*strategy.kind, setting),
                                   std::move(std::get<Feasible>(planned))};
        };
        if constexpr (requires { &S::walk; })
            made.walk = [](const Strategy &strategy, const ConvShape &s, const Gpu &gpu,
                           const Partition &launch) {
                Walk walk(s, launch);
                setting_of<S>(strategy).walk(walk, s, gpu, launch);
                return walk;
            };
        return made;
    }();
    return kind;
}

/// Kernels that are built for short elements too take the type as a last template argument, else float.
inline void add_element_type(Partition &part, const ConvShape &s) {
    if (s.dtype != DataType::f32)
        part.template_arguments.push_back(static_cast<std::int64_t>(s.dtype));
}

/// Sets FMAs, instructions and shared wavefronts of a launch whose CTAs all do the same: each part.steps
/// times part.step and once part.drain. Bank conflicts are taken to be none.
inline void set_core_work(Partition &part) {
    const double ctas = double(part.ctas), steps = double(part.steps);
    const StepWork &step = part.step, &drain = part.drain;
    part.work.fmas = ctas * steps * step.fmas;
    part.work.instructions = ctas * (steps * step.instructions + drain.instructions);
    part.work.shared_wavefronts = ctas * (steps * step.shared_wavefronts + drain.shared_wavefronts);
    part.work.shared_conflicts = 0.0;
}

/// Fills in the sectors that stores write only in part (F21), and the DRAM traffic (W7). part.work must have
/// the L2 bytes. `times`: how often the launch stores each output, or a partial sum of it.
inline void fill_writes(Partition &part, const ConvShape &s, const Gpu &gpu, double times = 1.0) {
    part.partial_write_bytes = written_in_part(*part.work.l2_write_bytes, times * double(s.output_bytes()));
    fill_dram(part.work, s, gpu);
}

/// What a CTA needs of an SM.
struct CtaSize {
    std::int64_t threads = 0, register_cap = 0; ///< the cap is that of a thread
    std::int64_t shared_bytes = 0;              ///< dynamic
    /// Of a thread as compiled, where they are fewer than the cap: they decide how many CTAs an SM holds.
    std::int64_t registers = register_cap;
};

/// The launch of a grid of such CTAs, all warps busy, without its work; without waves too if no CTA fits.
inline Partition launch_of_ctas(const char *kernel, const std::array<std::int64_t, 3> &grid,
                                const CtaSize &cta, const Gpu &gpu) {
    Partition part;
    part.kernel = kernel;
    part.grid = grid;
    part.threads = cta.threads;
    part.register_cap = cta.register_cap;
    part.shared_bytes = cta.shared_bytes;
    part.busy_warps = ceil_div(cta.threads, warp_lanes);
    part.ctas_per_sm = resident_ctas(gpu, cta.threads, cta.registers, cta.shared_bytes);
    if (part.ctas_per_sm > 0)
        fill_schedule(part, gpu.limits);
    return part;
}

/// What the SMs request from L2 of the filters, through L1 (W4). The CTAs with the same place along y of the
/// grid read the same filters, and the grid has images along z.
inline Reads filter_tile_reads(const ConvShape &s, const Partition &part, const Gpu &gpu) {
    const double tiles = double(part.grid[1]),
                 of_tile = filter_run_bytes(double(s.k) / tiles, double(s.products() * s.element_bytes()),
                                            part, gpu);
    return {
        filter_reads(of_tile, of_tile * tiles, double(part.grid[1] * s.n), double(part.grid[0]), part, gpu)};
}

/// Fills in what a launch reads from L2 and which CTAs read the same. Its grid has tiles of the map along x,
/// tiles of filters along y and images along z. The readers in `filters` and `map` are replaced.
inline void fill_tile_reads(Partition &part, Reads filters, Reads map, const ConvShape &s, const Gpu &gpu) {
    const double tiles = double(part.grid[0]), filter_tiles = double(part.grid[1]);
    filters.readers = filter_readers(s, tiles, filter_tiles);
    map.readers = {filter_tiles, tiles};
    set_reads(part, {filters, map}, gpu);
}

/// A launch that prepares what the main one reads, or finishes what it leaves. Its work is left out.
inline Partition side_launch(const char *kernel, const std::array<std::int64_t, 3> &grid, const CtaSize &cta,
                             const Gpu &gpu) {
    Partition part = launch_of_ctas(kernel, grid, cta, gpu);
    part.independent_sums = 4; // assumed: such launches wait for memory, not for sums
    return part;
}

/// Wavefronts of shared memory per 128 bytes that copies write; `wide`: 16 bytes a lane, else 4.
inline double copy_passes(bool wide, const Gpu &gpu) {
    return wide ? gpu.architecture.wide_copy_passes->value : gpu.architecture.narrow_copy_passes->value;
}

/// The launch that reads the filters and lays them out in the workspace, `written` bytes of them. Bytes read
/// and written are shared evenly among the CTAs, each of which has one step. Instructions are left out.
inline Partition prepare_filters(const char *kernel, const std::array<std::int64_t, 3> &grid,
                                 const CtaSize &cta, std::int64_t written, const ConvShape &s,
                                 const Gpu &gpu) {
    Partition part = side_launch(kernel, grid, cta, gpu);
    part.operands = {{Memory::filters, 0}, {Memory::workspace, 0}};
    part.work.fmas = 0.0;
    part.work.l2_read_bytes = part.work.dram_read_bytes = double(s.filter_bytes());
    part.work.l2_write_bytes = double(written);
    part.work.dram_write_bytes = 0.0;
    part.step.load_bytes = *part.work.l2_read_bytes / double(part.ctas);
    part.drain.store_bytes = double(written) / double(part.ctas);
    return part;
}

/// What counts as a round of the papers: a step of one CTA, or a step of all CTAs that an SM holds.
enum class Round { of_cta, of_sm };

/// A plan of one launch, with the papers' numbers of Table 1 and of a round.
inline Feasible plan_of_launch(Partition part, const Gpu &gpu, Round round = Round::of_cta) {
    const double ctas = round == Round::of_sm ? double(part.ctas_per_sm) : 1.0;
    Feasible out;
    out.rules = table1_rules(gpu.profile);
    out.paper_round_fmas = part.step.fmas * ctas;
    out.paper_round_bytes = part.step.load_bytes * ctas;
    out.plan.launches = {std::move(part)};
    return out;
}

/// The pixels in shared memory of a CTA that computes a band of `rows` rows of outputs, as wide as the map.
inline PixelTile band_pixels(const ConvShape &s, std::int64_t rows) {
    const std::int64_t own = std::min(rows, s.p());
    return {own + s.r - 1, s.w, own, s.q()};
}

constexpr bool power_of_two_in(int value, int low, int high) {
    return value >= low && value <= high && (value & (value - 1)) == 0;
}

/// The values of a knob to compare: the given one or, if that is 0, those of `tried`.
inline std::vector<int> either(int given, std::initializer_list<int> tried) {
    return given != 0 ? std::vector<int>{given} : std::vector<int>(tried);
}

constexpr const char *no_tile_tried = "no tile that the model tries has these knobs; give all of "
                                      "tile_k, tile_pixels, thread_k and thread_pixels";

} // namespace convcast
