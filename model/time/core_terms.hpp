// How long an SM's cores are busy with given work: issue slots and pipes, shared memory, tensor cores, and
// the chains of dependent instructions. Formulas F3, F5, F6, F10, F11, F14, F16, F17, F23, F24, F27 and F31
// of docs/equations.md. All times are in seconds.
#pragma once

#include "model/machine/machine.hpp"
#include "model/plan/plan.hpp"
#include "model/time/formula.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace convcast::launch_terms {

using namespace formula; // every formula below yields a tree or its value alone

inline Seconds s(double value) {
    return Seconds(value);
}

/// Thread-level FMAs of an SM at `rate` FMAs a clock.
template <Yield T> T fma_leaf(double fmas, double rate, const Machine &m) {
    return leaf<T>("FMA", s(fmas / rate / m.clock), "{:.0f} fma / {:.1f} fma/clk / {:.0f} MHz", fmas, rate,
                   m.clock / 1e6);
}

inline constexpr const char *tensor_name = "tensor cores";

/// TF32 products of an SM's tensor cores (F14).
template <Yield T> T tensor_leaf(double fmas, const Machine &m) {
    return leaf<T>(tensor_name, s(fmas / m.tensor_rate / m.clock), "{:.0f} fma / {:.1f} fma/clk / {:.0f} MHz",
                   fmas, m.tensor_rate, m.clock / 1e6);
}

/// Warp instructions of an SM, one a clock and scheduler (F3).
template <Yield T> T issue_leaf(double instructions, const Machine &m) {
    return leaf<T>("other instructions", s(instructions / m.schedulers / m.clock),
                   "{:.0f} warp instructions / {:.0f} per clk / {:.0f} MHz", instructions, m.schedulers,
                   m.clock / 1e6);
}

/// F10: warp instructions of integers and logic. They have lanes of their own, often fewer than a warp for
/// each scheduler; an instruction then keeps the pipe of its scheduler busy for longer than a clock.
template <Yield T> T alu_leaf(double instructions, const Machine &m) {
    const double clocks = m.integer_clocks;
    return leaf<T>("integers and logic", s(instructions * clocks / m.schedulers / m.clock),
                   "{:.0f} warp instructions * {:.0f} clk / {:.0f} / {:.0f} MHz", instructions, clocks,
                   m.schedulers, m.clock / 1e6);
}

/// Passes of an SM through its shared memory.
template <Yield T> T shared_leaf(double passes, const Machine &m) {
    return leaf<T>("shared memory", s(passes * m.pass_bytes / m.shared_bw / m.clock),
                   "{:.0f} passes * {:.0f} B / {:.1f} B/clk / {:.0f} MHz", passes, m.pass_bytes, m.shared_bw,
                   m.clock / 1e6);
}

inline constexpr double wavefront_bytes = 128.0; // that a warp copies, 4 bytes a lane

inline constexpr const char *core_name = "issue slots and shared memory";

inline double busy_warps(const Partition &part) {
    return static_cast<double>(std::max<std::int64_t>(1, part.busy_warps));
}

/// F11: load of the busiest scheduler over the mean, for `warps` of each of `ctas` CTAs. Warps go to the
/// schedulers in turn. If a CTA's warp count is a multiple of the schedulers, every CTA loads the same ones,
/// so the imbalance of one CTA is that of all. Otherwise the warps of a CTA go on where those of the last one
/// ended.
inline double imbalance(const Partition &part, double warps, double ctas, const Machine &m) {
    const double schedulers = m.schedulers;
    if (!m.has(Equation::F11))
        return 1.0;
    const bool aligned = part.threads % static_cast<std::int64_t>(32.0 * schedulers) == 0;
    const double dealt = aligned ? warps : warps * std::max(1.0, ctas);
    return std::ceil(dealt / schedulers) * schedulers / dealt;
}

/// F11 for the busy warps. Where the plan counts the warps of the busiest scheduler (map_stream), that count
/// is used for a lone CTA, and for several if they all load the same schedulers.
inline double busy_imbalance(const Partition &part, double ctas, const Machine &m) {
    const bool aligned = part.threads % static_cast<std::int64_t>(32.0 * m.schedulers) == 0;
    if (part.scheduler_warps && (aligned || ctas <= 1.0))
        return static_cast<double>(*part.scheduler_warps) * m.schedulers / busy_warps(part);
    return imbalance(part, busy_warps(part), ctas, m);
}

/// Busy warps of the busiest scheduler, which are the jobs of its queue: W.
inline double queued_warps(const Partition &part, double ctas, const Machine &m) {
    return ctas * busy_warps(part) * busy_imbalance(part, ctas, m) / m.schedulers;
}

/// F5: the exponent of the p-norm of two resources that each of `warps` warps of a scheduler uses in turn. If
/// both need equally long, a closed queue takes (warps + 1) / warps of that time. So one warp adds the two
/// times, and many warps hide the shorter.
inline double overlap_exponent(double warps) {
    return std::log(2.0) / std::log1p(1.0 / std::max(1.0, warps));
}

/// Which warps do the work. roles: busy warps compute and copy warps copy, as in a step. all: every warp has
/// the same share, as at the start and the end of a CTA.
enum class By : std::uint8_t { roles, all };

/// F6: lower bound of one warp's time, its longest chain of dependent instructions. An FFMA waits for the
/// previous one of the same accumulator (latency / independent accumulators). Every other instruction costs
/// the cycles of a lone warp (W2). On top come waits for shared memory at each iteration of an innermost loop
/// (F16), for lines new to L1 (F17) and for constants (F24). The busy warps share what is computed; all warps
/// share what is copied, unless warps of their own copy: then the longer of the two roles counts.
template <Yield T>
T chain_leaf(const Partition &part, const StepWork &work, const Machine &m, By by = By::roles) {
    const double ffmas = work.fmas / 32.0;
    const double others = std::max(0.0, work.instructions - ffmas), copying = std::min(others, work.copying);
    const double sums = static_cast<double>(std::max<std::int64_t>(1, part.independent_sums));
    // Where no kernel was counted, every address, load and use is taken to wait for the instruction before
    // it.
    const Pace pace = part.pace.value_or(Pace{.other_clocks = m.ffma_latency});
    // Warps that only copy have instructions like those of steps, and are the ones that look addresses up.
    const bool copies_apart = part.copy_warps > 0 && by == By::roles;
    const double clocks = pace.other_clocks,
                 copy_clocks = copies_apart ? clocks : part.once_clocks.value_or(m.ffma_latency);
    const double constant_clocks =
        pace.constant_clocks > 0.0 ? pace.constant_clocks : m.constant_latency; // not counted: as probed
    const double looks_up = m.has(Equation::F16) ? work.turns * m.shared_latency : 0.0;
    const double computing = (ffmas * std::max(pace.ffma_clocks, m.ffma_latency / sums) +
                              (others - copying) * clocks + (copies_apart ? 0.0 : looks_up) +
                              (m.has(Equation::F24) ? work.constant_lines * constant_clocks : 0.0)) /
                             busy_warps(part);
    const double all_warps = std::max(busy_warps(part), static_cast<double>(part.threads) / 32.0);
    const double longest_copier = by == By::roles ? part.longest_copier.value_or(1.0) : 1.0;
    const double chain =
        copies_apart
            ? std::max(computing, (copying * copy_clocks + looks_up) / static_cast<double>(part.copy_warps))
            : computing + copying * copy_clocks * longest_copier / all_warps +
                  (m.has(Equation::F17) ? work.line_waits * m.l2_latency_s * m.clock : 0.0);
    return leaf<T>("dependent instructions", s(chain / m.clock), "{:.0f} clk of one warp / {:.0f} MHz", chain,
                   m.clock / 1e6);
}

/// What the cores of an SM need for the work of `ctas` CTAs, done in any order (F3). With 128 lanes an
/// SM, an FFMA takes an issue slot of its scheduler for a clock like any other instruction, and their times
/// add. Integers have a pipe of their own, beside which other instructions issue (F10). Shared
/// memory overlaps with issue as far as there are warps to use both (F5). Tensor cores overlap with both
/// (F14).
template <Yield T>
T mixed_term(const Partition &part, const StepWork &work, double ctas, const Machine &m, By by = By::roles) {
    const double uneven =
        busy_imbalance(part, ctas, m) * (m.has(Equation::F31) ? part.busiest_scheduler.value_or(1.0) : 1.0);
    const double all_warps = std::max(busy_warps(part), std::ceil(static_cast<double>(part.threads) / 32.0));
    const double of_copies = part.copy_warps > 0 ? 1.0 : imbalance(part, all_warps, ctas, m);
    const double all_others = std::max(0.0, work.instructions - work.fmas / 32.0);
    const double copying = std::min(all_others, work.copying); // by all warps
    const double computing = (all_others - copying) * uneven, copies = copying * of_copies;
    const double others = computing + copies, fmas = work.fmas * uneven;
    const double fma_rate = !m.has(Equation::F3)                         ? m.ffma_rate
                            : part.snaked && part.independent_sums >= 32 ? m.snaked_rate
                                                                         : m.outer_rate;
    const double passes = work.shared_wavefronts + work.load_bytes / wavefront_bytes * part.copy_passes;
    T issue = sum<T>("issue slots",
                     list_of<T>(fma_leaf<T>(ctas * fmas, fma_rate, m), issue_leaf<T>(ctas * others, m)));
    if (!m.fills_issue)
        issue = max_of<T>("issue slots", list_of<T>(fma_leaf<T>(ctas * fmas, fma_rate, m),
                                                    issue_leaf<T>(ctas * (others + fmas / 32.0), m)));
    if (part.pace && m.has(Equation::F10)) {
        const double share = part.pace->alu_share, of_copying = part.pace->copy_alu_share.value_or(share);
        if (const double integers = computing * share + copies * of_copying; integers > 0.0)
            issue = pnorm<T>("issue slots and pipes", m.fitted.units_overlap,
                             list_of<T>(std::move(issue), alu_leaf<T>(ctas * integers, m)));
    }
    List<T> pipes = list_of<T>(std::move(issue), shared_leaf<T>(ctas * passes, m));
    if (work.tensor_fmas) { // which read shared memory themselves, beside the warps that only start them
        pipes.push_back(tensor_leaf<T>(ctas * *work.tensor_fmas, m));
        return max_of<T>("cores", std::move(pipes));
    }
    const double queued = queued_warps(part, ctas, m), exponent = overlap_exponent(queued);
    if (!part.pace || !m.has(Equation::F23))
        return pnorm<T>(core_name, exponent, std::move(pipes));
    // Within one warp reads of shared memory overlap with arithmetic as the compiler ordered them, which its
    // cycles per instruction include. So W warps take no longer than W chains one after another (F23).
    const double warps = std::max(1.0, queued);
    const double in_turn = warps * value_of(chain_leaf<Seconds>(part, work, m, by)).value;
    T both = evaluated<T>(pnorm<T>(core_name, exponent, List<T>(pipes)));
    if (value_of(both).value <= in_turn)
        return both;
    pipes.push_back(leaf<T>("warps in turn", s(in_turn), "{:.2f} warps of a scheduler, {:.2f} us each", warps,
                            in_turn / warps * 1e6));
    return max_of<T>(core_name, std::move(pipes));
}

/// F27: whether all warps of a CTA copy and then, behind a barrier, compute.
inline bool copies_in_turn(const Partition &part) {
    return part.barriers > 0 && part.copy_warps == 0 && part.step.copying > 0.0 && !part.step.tensor_fmas;
}

/// What the cores of an SM need for the work of `ctas` CTAs. Where all warps of a CTA copy and then, behind a
/// barrier, compute, the CTA cannot overlap the two; only another CTA can use what it leaves idle (F27).
template <Yield T>
T busy_term(const Partition &part, const StepWork &work, double ctas, const Machine &m, By by = By::roles) {
    T mixed = mixed_term<T>(part, work, ctas, m, by);
    const double others = std::max(0.0, work.instructions - work.fmas / 32.0);
    if (part.barriers == 0 || part.copy_warps > 0 || work.tensor_fmas || work.copying <= 0.0 ||
        work.copying >= others || !m.has(Equation::F27))
        return mixed;
    StepWork copies, computing = work;
    copies.instructions = copies.copying = work.copying;
    copies.load_bytes = work.load_bytes, copies.line_waits = work.line_waits;
    computing.instructions -= work.copying;
    computing.copying = computing.load_bytes = computing.line_waits = 0.0;
    T alone = sum<T>("copies, then arithmetic",
                     list_of<T>(mixed_term<T>(part, copies, 1.0, m), mixed_term<T>(part, computing, 1.0, m)));
    return queue<T>("cores", ctas, list_of<T>(std::move(mixed), std::move(alone)));
}

/// The arithmetic of one step, or of what a CTA does once, for `ctas` CTAs of an SM (F3): a closed queue of
/// the warps of a scheduler, which share the cores and are each held up by a chain of their own (F6).
template <Yield T>
T core_term(const char *name, const Partition &part, const StepWork &work, double ctas, const Machine &m,
            By by = By::roles) {
    T alone = chain_leaf<T>(part, work, m, by);
    if (work.tensor_fmas) { // four warps split the next row's pixels while a row is multiplied
        constexpr double warps_of_group = 4.0;
        alone =
            max_of<T>("four warps", list_of<T>(std::move(alone),
                                               tensor_leaf<T>(*work.tensor_fmas * warps_of_group /
                                                                  std::max(warps_of_group, busy_warps(part)),
                                                              m)));
    }
    return queue<T>(name, queued_warps(part, ctas, m),
                    list_of<T>(busy_term<T>(part, work, ctas, m, by), std::move(alone)));
}

} // namespace convcast::launch_terms
