// How long an SM's cores are busy with given work: issue slots and pipes, shared memory, tensor cores, and
// the chains of dependent instructions. Formulas F3, F5, F6, F10, F11, F14, F16, F17, F23, F24, F27 and F31
// of docs/equations.md. All times are in seconds. A leaf is the time of one unit for some work, a term puts
// several together; each is written once for T = Term (a tree to read) and T = Seconds (its value alone).
#pragma once

#include "model/machine/machine.hpp"
#include "model/plan/plan.hpp"
#include "model/time/formula.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace convcast::launch_terms {

using namespace formula;

inline Seconds s(double value) {
    return Seconds(value);
}

/// Time in which an SM does `fmas` thread-level FMAs, `rate` of them a clock.
template <Yield T> T fma_leaf(double fmas, double rate, const Machine &m) {
    return leaf<T>("FMA", s(fmas / rate / m.clock), "{:.0f} fma / {:.1f} fma/clk / {:.0f} MHz", fmas, rate,
                   m.clock / 1e6);
}

inline constexpr const char *tensor_name = "tensor cores";

/// Time in which the tensor cores of an SM do `fmas` multiply-adds of TF32 (F14).
template <Yield T> T tensor_leaf(double fmas, const Machine &m) {
    return leaf<T>(tensor_name, s(fmas / m.tensor_rate / m.clock), "{:.0f} fma / {:.1f} fma/clk / {:.0f} MHz",
                   fmas, m.tensor_rate, m.clock / 1e6);
}

/// Time in which the schedulers of an SM issue `instructions` warp instructions, each one a clock (F3).
template <Yield T> T issue_leaf(double instructions, const Machine &m) {
    return leaf<T>("other instructions", s(instructions / m.schedulers / m.clock),
                   "{:.0f} warp instructions / {:.0f} per clk / {:.0f} MHz", instructions, m.schedulers,
                   m.clock / 1e6);
}

/// F10: time in which an SM executes `instructions` warp instructions of integers and logic. Each scheduler
/// has a pipe for them, often with fewer lanes than a warp; an instruction then keeps the pipe busy for more
/// than one clock (Machine::integer_clocks).
template <Yield T> T alu_leaf(double instructions, const Machine &m) {
    const double clocks = m.integer_clocks;
    return leaf<T>("integers and logic", s(instructions * clocks / m.schedulers / m.clock),
                   "{:.0f} warp instructions * {:.0f} clk / {:.0f} / {:.0f} MHz", instructions, clocks,
                   m.schedulers, m.clock / 1e6);
}

/// Time that the shared memory of an SM needs for `passes` wavefronts.
template <Yield T> T shared_leaf(double passes, const Machine &m) {
    return leaf<T>("shared memory", s(passes * m.pass_bytes / m.shared_bw / m.clock),
                   "{:.0f} passes * {:.0f} B / {:.1f} B/clk / {:.0f} MHz", passes, m.pass_bytes, m.shared_bw,
                   m.clock / 1e6);
}

/// Bytes that a warp copies by one instruction of 4 bytes a lane. Partition::copy_passes counts by them.
inline constexpr double wavefront_bytes = 128.0;

inline constexpr const char *core_name = "issue slots and shared memory";

/// Warps of a CTA that compute; at least 1, since formulas divide by it.
inline double busy_warps(const Partition &part) {
    return static_cast<double>(std::max<std::int64_t>(1, part.busy_warps));
}

/// F11: load of the busiest scheduler over the mean load, where `ctas` CTAs of an SM have `warps` busy warps
/// each. The hardware deals warps to the schedulers in turn. If a CTA's number of warps is a multiple of the
/// schedulers, the first warp of every CTA goes to the same scheduler, so all CTAs together are as uneven as
/// one. Otherwise dealing goes on where the CTA before ended, and all CTAs even each other out.
inline double imbalance(const Partition &part, double warps, double ctas, const Machine &m) {
    const double schedulers = m.schedulers;
    if (!m.has(Equation::F11))
        return 1.0;
    const bool aligned = part.threads % static_cast<std::int64_t>(32.0 * schedulers) == 0;
    const double dealt = aligned ? warps : warps * std::max(1.0, ctas);
    return std::ceil(dealt / schedulers) * schedulers / dealt;
}

/// F11 for the busy warps of `ctas` CTAs of an SM. Where the plan counts the warps of the busiest scheduler
/// (map_stream, whose busy warps are not the first ones of a CTA), that count holds for a lone CTA, and for
/// several if the first warps of all go to the same scheduler.
inline double busy_imbalance(const Partition &part, double ctas, const Machine &m) {
    const bool aligned = part.threads % static_cast<std::int64_t>(32.0 * m.schedulers) == 0;
    if (part.scheduler_warps && (aligned || ctas <= 1.0))
        return static_cast<double>(*part.scheduler_warps) * m.schedulers / busy_warps(part);
    return imbalance(part, busy_warps(part), ctas, m);
}

/// W: busy warps of `ctas` CTAs that the busiest scheduler has. They are the jobs of its queue (F5).
inline double queued_warps(const Partition &part, double ctas, const Machine &m) {
    return ctas * busy_warps(part) * busy_imbalance(part, ctas, m) / m.schedulers;
}

/// F5: how far two resources overlap that each of `warps` warps of a scheduler uses in turn, as the exponent
/// of the p-norm of their times. If both need equally long, a closed queue takes (warps + 1) / warps of that
/// time, and so does the norm: one warp adds the two times, many hide the shorter.
inline double overlap_exponent(double warps) {
    return std::log(2.0) / std::log1p(1.0 / std::max(1.0, warps));
}

/// Which warps do the work.
enum class By : std::uint8_t {
    roles, ///< busy warps compute and copy warps copy, as in a step
    all,   ///< every warp has the same share, as at the start and the end of a CTA
};

/// F6: lower bound of one warp's time, its longest chain of dependent instructions. An FFMA waits for the
/// previous one of the same accumulator (latency / independent accumulators). Every other instruction costs
/// the cycles of a lone warp (W2). On top come waits for shared memory at each iteration of an innermost loop
/// (F16), for lines new to L1 (F17) and for constants (F24). The busy warps share what is computed; all warps
/// share what is copied, unless warps of their own copy: then the longer role counts.
template <Yield T>
T chain_leaf(const Partition &part, const StepWork &work, const Machine &m, By by = By::roles) {
    const double ffmas = work.fmas / 32.0;
    const double others = std::max(0.0, work.instructions - ffmas), copying = std::min(others, work.copying);
    const double sums = static_cast<double>(std::max<std::int64_t>(1, part.independent_sums));
    // Without facts of the kernel each address, load and use is taken to wait for the instruction before it.
    const Pace pace = part.pace.value_or(Pace{.other_clocks = m.ffma_latency});
    // Warps that only copy run a loop of their own. So their instructions cost what those of a step do, and
    // it is they who wait for shared memory at each iteration, for the addresses that they look up there.
    const bool copies_apart = part.copy_warps > 0 && by == By::roles;
    const double clocks = pace.other_clocks,
                 copy_clocks = copies_apart ? clocks : part.once_clocks.value_or(m.ffma_latency);
    const double constant_clocks =
        pace.constant_clocks > 0.0 ? pace.constant_clocks : m.constant_latency; // not counted: as probed
    const double loop_waits = m.has(Equation::F16) ? work.turns * m.shared_latency : 0.0;
    const double computing = (ffmas * std::max(pace.ffma_clocks, m.ffma_latency / sums) +
                              (others - copying) * clocks + (copies_apart ? 0.0 : loop_waits) +
                              (m.has(Equation::F24) ? work.constant_lines * constant_clocks : 0.0)) /
                             busy_warps(part);
    const double all_warps = std::max(busy_warps(part), static_cast<double>(part.threads) / 32.0);
    const double longest_copier = by == By::roles ? part.longest_copier.value_or(1.0) : 1.0;
    const double chain =
        copies_apart
            ? std::max(computing, (copying * copy_clocks + loop_waits) / static_cast<double>(part.copy_warps))
            : computing + copying * copy_clocks * longest_copier / all_warps +
                  (m.has(Equation::F17) ? work.line_waits * m.l2_latency_s * m.clock : 0.0);
    return leaf<T>("dependent instructions", s(chain / m.clock), "{:.0f} clk of one warp / {:.0f} MHz", chain,
                   m.clock / 1e6);
}

/// What the cores of an SM need for `ctas` CTAs that each do `work`, in any order (F3). With 128 lanes an SM,
/// an FFMA takes an issue slot of its scheduler for a clock like any other instruction, and their times add.
/// Integers have a pipe of their own, beside which other instructions issue (F10). Shared memory overlaps
/// with issue as far as there are warps to use both (F5). Tensor cores overlap with both (F14).
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
    // The serpentine rate was measured on an outer product of 8 by 4, which is 32 accumulators.
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
    if (work.tensor_fmas) { // tensor cores read shared memory themselves; the busy warps only start them
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

/// Whether all warps of a CTA copy and then, behind a barrier, compute (F27).
inline bool copies_in_turn(const Partition &part) {
    return part.barriers > 0 && part.copy_warps == 0 && part.step.copying > 0.0 && !part.step.tensor_fmas;
}

/// What the cores of an SM need for `ctas` CTAs that each do `work`. Where all warps of a CTA copy and then,
/// behind a barrier, compute, only another CTA can use what it leaves idle (F27).
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

/// Time of one step, or of what a CTA does once, for `ctas` CTAs of an SM whose data are there (F3): a closed
/// queue of a scheduler's warps, which share the cores and are each held up by their own chain (F6).
template <Yield T>
T core_term(const char *name, const Partition &part, const StepWork &work, double ctas, const Machine &m,
            By by = By::roles) {
    T alone = chain_leaf<T>(part, work, m, by);
    if (work.tensor_fmas) {
        // Four warps start a product together. While the tensor cores do it, they split the pixels of the
        // next row into TF32 parts, and then wait for the product.
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
