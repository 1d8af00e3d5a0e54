// What an SM's cores take for work: issue slots and pipes, shared memory, tensor cores and chains of
// dependent instructions. Formulas F3, F5, F6, F10, F11, F14, F23, F27 and F31 of docs/model.md; seconds.
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

template <Yield T> T fma_leaf(double fmas, double rate, const Machine &m) {
    return leaf<T>("FMA", s(fmas / rate / m.clock), "{:.0f} fma / {:.1f} fma/clk / {:.0f} MHz", fmas, rate,
                   m.clock / 1e6);
}

inline constexpr const char *tensor_name = "tensor cores";

template <Yield T> T tensor_leaf(double fmas, const Machine &m) {
    return leaf<T>(tensor_name, s(fmas / m.tensor_rate / m.clock), "{:.0f} fma / {:.1f} fma/clk / {:.0f} MHz",
                   fmas, m.tensor_rate, m.clock / 1e6);
}

template <Yield T> T issue_leaf(double instructions, const Machine &m) {
    return leaf<T>("other issue", s(instructions / m.schedulers / m.clock),
                   "{:.0f} warp instructions / {:.0f} per clk / {:.0f} MHz", instructions, m.schedulers,
                   m.clock / 1e6);
}

/// Integers and logic have lanes of their own, often fewer than a warp for each scheduler: an instruction
/// keeps the pipe of its scheduler busy for longer than a clock then.
template <Yield T> T alu_leaf(double instructions, const Machine &m) {
    const double clocks = m.integer_clocks;
    return leaf<T>("integers and logic", s(instructions * clocks / m.schedulers / m.clock),
                   "{:.0f} warp instructions * {:.0f} clk / {:.0f} / {:.0f} MHz", instructions, clocks,
                   m.schedulers, m.clock / 1e6);
}

inline constexpr double wavefront_bytes = 128.0; // of a pass through shared memory

inline constexpr const char *core_name = "issue slots and shared memory";

inline double busy_warps(const Partition &part) {
    return static_cast<double>(std::max<std::int64_t>(1, part.busy_warps));
}

/// Warps of the busiest scheduler over those of an average one, of `warps` of each of `ctas` CTAs. Warps are
/// dealt out to the schedulers in turn; where a CTA has a whole number of them for each, its busy ones, the
/// first, meet those of the other CTAs; otherwise the next CTA's follow where its own end.
inline double imbalance(const Partition &part, double warps, double ctas, const Machine &m) {
    const double schedulers = m.schedulers;
    const bool aligned = part.threads % static_cast<std::int64_t>(32.0 * schedulers) == 0;
    const double dealt = aligned ? warps : warps * std::max(1.0, ctas);
    return std::ceil(dealt / schedulers) * schedulers / dealt;
}

/// Of the busy warps: those of other CTAs, if there are any, meet the same schedulers, where a CTA has a
/// whole number for each.
inline double busy_imbalance(const Partition &part, double ctas, const Machine &m) {
    const bool aligned = part.threads % static_cast<std::int64_t>(32.0 * m.schedulers) == 0;
    if (part.scheduler_warps && (aligned || ctas <= 1.0))
        return static_cast<double>(*part.scheduler_warps) * m.schedulers / busy_warps(part);
    return imbalance(part, busy_warps(part), ctas, m);
}

/// Jobs in the queue of that scheduler.
inline double queued_warps(const Partition &part, double ctas, const Machine &m) {
    return ctas * busy_warps(part) * busy_imbalance(part, ctas, m) / m.schedulers;
}

/// How well two resources overlap that each of `warps` warps of a scheduler uses in turn (F5): a closed queue
/// of two stations takes (warps + 1) / warps of the time of the longer where both take as long. As a p-norm:
/// one warp adds the times, many hide the shorter.
inline double overlap_exponent(double warps) {
    return std::log(2.0) / std::log1p(1.0 / std::max(1.0, warps));
}

/// Who does a work: each warp what its role is, or all of them alike, as at a CTA's start and end.
enum class By : std::uint8_t { roles, all };

/// A warp alone cannot issue faster than its chains of dependent instructions allow: FFMAs wait for each
/// other within a sum; how long it waits for others is its pace (W2). What the busy warps compute, and what
/// all warps, or others beside them, copy.
template <Yield T>
T chain_leaf(const Partition &part, const StepWork &work, const Machine &m, By by = By::roles) {
    const double ffmas = work.fmas / 32.0;
    const double others = std::max(0.0, work.instructions - ffmas), copying = std::min(others, work.copying);
    const double sums = static_cast<double>(std::max<std::int64_t>(1, part.independent_sums));
    // Where no kernel was counted: of addresses, loads and their uses each waits for the one before.
    const Pace pace = part.pace.value_or(Pace{.other_clocks = m.ffma_latency, .once_clocks = m.ffma_latency});
    // Warps of their own that copy do nothing else in their steps, and are those that look up where to.
    const bool copies_apart = part.copy_warps > 0 && by == By::roles;
    const double clocks = pace.other_clocks, copy_clocks = copies_apart ? clocks : pace.once_clocks;
    const double looks_up = work.turns * m.shared_latency;
    const double computing =
        (ffmas * std::max(pace.ffma_clocks, m.ffma_latency / sums) + (others - copying) * clocks +
         (copies_apart ? 0.0 : looks_up) + work.constant_lines * pace.constant_clocks) *
        part.longest_warp.value_or(1.0) / busy_warps(part);
    const double all_warps = std::max(busy_warps(part), static_cast<double>(part.threads) / 32.0);
    const double longest_copier = by == By::roles ? part.longest_copier.value_or(1.0) : 1.0;
    const double chain =
        copies_apart
            ? std::max(computing, (copying * copy_clocks + looks_up) / static_cast<double>(part.copy_warps))
            : computing + copying * copy_clocks * longest_copier / all_warps +
                  work.line_waits * m.l2_latency_s * m.clock;
    return leaf<T>("dependent instructions", s(chain / m.clock), "{:.0f} clk of one warp / {:.0f} MHz", chain,
                   m.clock / 1e6);
}

/// What the cores of an SM need for the work of `ctas` CTAs that they can do in any order. With 128 lanes
/// an SM, an FFMA takes an issue slot of its scheduler like any other instruction, so their times add (F3);
/// beside an integer multiply-add, which keeps its pipe busy for two clocks, another instruction issues.
/// Shared memory works beside them as far as there are warps to use both.
template <Yield T>
T mixed_term(const Partition &part, const StepWork &work, double ctas, const Machine &m, By by = By::roles) {
    const double uneven = busy_imbalance(part, ctas, m) * part.busiest_scheduler.value_or(1.0);
    const double all_warps = std::max(busy_warps(part), std::ceil(static_cast<double>(part.threads) / 32.0));
    const double of_copies = part.copy_warps > 0 ? 1.0 : imbalance(part, all_warps, ctas, m);
    const double all_others = std::max(0.0, work.instructions - work.fmas / 32.0);
    const double copying = std::min(all_others, work.copying); // by all warps
    const double computing = (all_others - copying) * uneven, copies = copying * of_copies;
    const double others = computing + copies, fmas = work.fmas * uneven;
    const double fma_rate = part.snaked && part.independent_sums >= 32 ? m.snaked_rate : m.outer_rate;
    const double passes = work.shared_wavefronts + work.load_bytes / wavefront_bytes * part.copy_passes;
    T issue = sum<T>("issue slots", {fma_leaf<T>(ctas * fmas, fma_rate, m), issue_leaf<T>(ctas * others, m)});
    if (!m.fills_issue)
        issue = max_of<T>("issue slots", {fma_leaf<T>(ctas * fmas, fma_rate, m),
                                          issue_leaf<T>(ctas * (others + fmas / 32.0), m)});
    if (part.pace) {
        const double share = part.pace->alu_share, of_copying = part.pace->copy_alu_share.value_or(share);
        if (const double integers = computing * share + copies * of_copying; integers > 0.0)
            issue = pnorm<T>("issue slots and pipes", m.fitted.units_overlap,
                             {std::move(issue), alu_leaf<T>(ctas * integers, m)});
    }
    List<T> pipes = {std::move(issue),
                     leaf<T>("shared memory", s(ctas * passes * wavefront_bytes / m.shared_bw / m.clock),
                             "{:.0f} passes * 128 B / {:.1f} B/clk / {:.0f} MHz", ctas * passes, m.shared_bw,
                             m.clock / 1e6)};
    if (work.tensor_fmas) { // which read shared memory themselves, beside the warps that only start them
        pipes.push_back(tensor_leaf<T>(ctas * *work.tensor_fmas, m));
        return max_of<T>("cores", std::move(pipes));
    }
    const double queued = queued_warps(part, ctas, m), exponent = overlap_exponent(queued);
    if (!part.pace)
        return pnorm<T>(core_name, exponent, std::move(pipes));
    // A warp's own instructions overlap as the compiler ordered them, which its pace tells: one after another
    // the warps take no longer than so much each (F23).
    const double warps = std::max(1.0, queued);
    const double in_turn = warps * value_of(chain_leaf<Seconds>(part, work, m, by)).value;
    T both = evaluated<T>(pnorm<T>(core_name, exponent, List<T>(pipes)));
    if (value_of(both).value <= in_turn)
        return both;
    pipes.push_back(leaf<T>("warps in turn", s(in_turn), "{:.2f} warps of a scheduler, {:.2f} us each", warps,
                            in_turn / warps * 1e6));
    return max_of<T>(core_name, std::move(pipes));
}

/// Whether all warps of a CTA copy and then, behind a barrier, compute.
inline bool copies_in_turn(const Partition &part) {
    return part.barriers > 0 && part.copy_warps == 0 && part.step.copying > 0.0 && !part.step.tensor_fmas;
}

/// What the cores of an SM need for the work of `ctas` CTAs. Behind a barrier all warps of a CTA first copy
/// and then compute: what one of these leaves idle another CTA can use, but not the other one (F27).
template <Yield T>
T busy_term(const Partition &part, const StepWork &work, double ctas, const Machine &m, By by = By::roles) {
    T mixed = mixed_term<T>(part, work, ctas, m, by);
    const double others = std::max(0.0, work.instructions - work.fmas / 32.0);
    if (part.loads_first.value_or(false) && work.turns > 0.0) {
        StepWork loads, computing = work;
        loads.shared_wavefronts = work.shared_wavefronts * std::min(1.0, busy_warps(part) / part.step.turns);
        computing.shared_wavefronts -= loads.shared_wavefronts;
        computing.turns = 0.0;
        T alone = sum<T>("first loads, then arithmetic",
                         {mixed_term<T>(part, loads, 1.0, m), mixed_term<T>(part, computing, 1.0, m)});
        return queue<T>("cores", ctas, std::move(mixed), std::move(alone));
    }
    if (part.barriers == 0 || part.copy_warps > 0 || work.tensor_fmas || work.copying <= 0.0 ||
        work.copying >= others)
        return mixed;
    StepWork copies, computing = work;
    copies.instructions = copies.copying = work.copying;
    copies.load_bytes = work.load_bytes, copies.line_waits = work.line_waits;
    computing.instructions -= work.copying;
    computing.copying = computing.load_bytes = computing.line_waits = 0.0;
    T alone = sum<T>("copies, then arithmetic",
                     {mixed_term<T>(part, copies, 1.0, m), mixed_term<T>(part, computing, 1.0, m)});
    return queue<T>("cores", ctas, std::move(mixed), std::move(alone));
}

/// The arithmetic of one step, or of what a CTA does once, for `ctas` CTAs of an SM: their warps share its
/// issue slots and its shared memory, each is held up by its own chain.
template <Yield T>
T core_term(const char *name, const Partition &part, const StepWork &work, double ctas, const Machine &m,
            By by = By::roles) {
    T alone = chain_leaf<T>(part, work, m, by);
    if (work.tensor_fmas) { // four warps split the next row's pixels while a row is multiplied
        constexpr double warps_of_group = 4.0;
        alone = max_of<T>("four warps",
                          {std::move(alone), tensor_leaf<T>(*work.tensor_fmas * warps_of_group /
                                                                std::max(warps_of_group, busy_warps(part)),
                                                            m)});
    }
    return queue<T>(name, queued_warps(part, ctas, m), busy_term<T>(part, work, ctas, m, by),
                    std::move(alone));
}

} // namespace convcast::launch_terms
