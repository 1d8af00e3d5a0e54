// The time of one launch in seconds, as a tree of terms or as its value alone. Waves of CTAs follow each
// other; a wave is a fill, steps and a drain. Formulas F1 to F4, F15, F19, F22, F25, F26, F28 to F30, F32,
// F33, F36 and N12 of docs/equations.md; queues are those of F5. In every function `part` is the launch with
// the work that its plan counts, `m` the GPU with its rates and latencies, `round` how many CTAs run at once,
// and `traffic` how the launch's bytes meet L2 and DRAM.
#pragma once

#include "model/base/divide.hpp"
#include "model/paper/papers.hpp"
#include "model/plan/plan.hpp"
#include "model/time/memory_terms.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace convcast::launch_terms {

/// The part of a step that the copying warps do (F22).
inline StepWork copies_of(const StepWork &step) {
    StepWork copies;
    copies.instructions = copies.copying = step.copying;
    copies.turns = step.turns;
    return copies;
}

/// F3: one step of all CTAs of a round, which load and compute with a prefetch pipeline or without.
template <Yield T>
T step_term(const Partition &part, const Machine &m, const Round &round, const Traffic &traffic) {
    const double ctas_of_chip = round.ctas * round.sms;
    const double latency = step_latency(round, traffic, m);
    T memory = memory_term<T>(ctas_of_chip * part.step.load_bytes,
                              ctas_of_chip * part.step.store_bytes * traffic.store_factor, traffic, m);
    const bool has_barriers = part.barriers > 0; // the warps of a CTA wait for each other
    if (part.stages > 1 || part.steps == 1) {
        // The loads of a step are under way while the stages - 1 steps before it compute, so each step bears
        // that part of their latency. Few bytes in flight reach less than the bandwidth (M1). Some steps wait
        // for loads, others for arithmetic; CTAs of an SM even that out: the exponent grows with them.
        List<T> both = list_of<T>(core_term<T>("arithmetic", part, part.step, round.ctas, m));
        // Warps that only copy have filled a buffer one latency after the last of their copies (F22).
        const double filling = part.copy_warps > 0 && m.has(Equation::F22)
                                   ? value_of(chain_leaf<Seconds>(part, copies_of(part.step), m)).value
                                   : 0.0;
        if (part.stages > 1)
            both.push_back(
                pnorm<T>("loads", m.knee,
                         list_of<T>(latency_leaf<T>(filling + latency, static_cast<double>(part.stages - 1)),
                                    std::move(memory))));
        else
            both.push_back(std::move(memory));
        // Where warps of their own copy, no barrier stops all warps of a CTA at once: another exponent.
        const double overlap = part.copy_warps > 0 ? m.fitted.units_overlap : m.fitted.steps_overlap;
        List<T> step = list_of<T>(part.stages > 1 ? pnorm<T>("overlap", overlap * round.ctas, std::move(both))
                                                  : max_of<T>("overlap", std::move(both)));
        if (has_barriers)
            step.push_back(leaf<T>("barrier", s(m.barrier_s / round.ctas), "{:.0f} ns / {:.0f} CTAs an SM",
                                   m.barrier_s * 1e9, round.ctas));
        return sum<T>("step", std::move(step));
    }
    // Without a pipeline a CTA loads, waits and computes. Meanwhile other CTAs use the SM, or, where no
    // barrier makes warps wait for each other, other warps.
    const double jobs = has_barriers ? round.ctas : queued_warps(part, round.ctas, m);
    List<T> alone = list_of<T>(latency_leaf<T>(latency, 1.0),
                               has_barriers ? core_term<T>("arithmetic of one CTA", part, part.step, 1.0, m)
                                            : chain_leaf<T>(part, part.step, m));
    if (has_barriers) { // one behind the copies, one before the buffer is written again
        alone.push_back(barrier_leaf<T>(m));
        alone.push_back(barrier_leaf<T>(m));
    }
    T busy = max_of<T>("busy", list_of<T>(busy_term<T>(part, part.step, round.ctas, m), std::move(memory)));
    return queue<T>("step", jobs, list_of<T>(std::move(busy), sum<T>("one CTA", std::move(alone))));
}

/// `drain`, which a CTA does once at its start and its end, as work of all its warps: all instructions count
/// as copying, which all warps share. Loads that wait for each other belong to the fill (F26).
inline StepWork of_all_warps(StepWork drain) {
    drain.copying = drain.instructions;
    drain.line_waits = 0.0;
    return drain;
}

/// How the CTAs of a wave start.
struct Start {
    bool follows;     ///< the launch started early, while the launch before it still ran (F30)
    bool waits_first; ///< all its warps wait for the end of that launch first, and fetch their code meanwhile
    double latency;   ///< seconds until its first loads arrive
    double cold;      ///< clocks that its first warps wait for code (F15, N12); below 0 only by N12
};

/// N12: clocks that the first warps of a launch of a network wait for code, if its kernel has no loops.
/// `new_code` is how often another kernel ran just before (0 to 1), so that the code is not cached. Then the
/// warps wait for the code as for data, and 4 clocks for each of at most 350 instructions. Two latencies of
/// L2 are taken off, since the early period of empty kernels contains them, so that the clocks may be
/// negative. All three numbers were read off times of `depthwise_register` in networks.
inline double code_in_a_network(const Partition &part, double new_code, const Machine &m) {
    constexpr double clocks = 4.0, most_instructions = 350.0, in_the_period = 2.0;
    const double warps = busy_warps(part), latency = m.l2_latency_s * m.clock;
    return new_code * (latency + clocks * std::min(most_instructions, part.step.instructions / warps)) -
           in_the_period * latency;
}

/// How the CTAs of one wave start. In the first wave all of them request new data at the same time: one
/// fetches the data from DRAM, and all wait for DRAM. If the launch started early and its first operand lies
/// in the workspace, the launch before has written it and it is in L2 (F30).
inline Start start_of(const Partition &part, const Machine &m, const Round &round, const Traffic &traffic) {
    Start start{};
    start.follows =
        round.first && part.early.value_or(false) && !part.beside.value_or(false) && m.has(Equation::F30);
    start.waits_first = start.follows && part.copy_warps == 0;
    const bool in_l2 =
        start.follows && !part.operands.empty() && part.operands.front().memory == Memory::workspace;
    start.latency = mean_latency(round.first && !in_l2 ? cold_start(m) : traffic.dram_share, m);
    if (round.first && m.new_code)
        start.cold = code_in_a_network(part, *m.new_code, m);
    else if (round.first && !start.waits_first && m.has(Equation::F15))
        start.cold = m.fitted.cold_share * part.cold_clocks.value_or(0.0) *
                     (mean_latency(cold_start(m), m) / m.latency_s); // F35: code comes from where data do
    return start;
}

/// Whether a CTA has no barriers and a single step. Then each warp computes and stores as soon as its own
/// loads are there, while others still wait for theirs (F28).
inline bool as_they_come(const Partition &part, const Machine &m) {
    return part.barriers == 0 && part.steps == 1 && m.has(Equation::F28);
}

/// Whether all copies of a CTA belong to its fill: it has a single step, and the first data arrive while its
/// other copies are still being started (F4).
inline bool copies_fill(const Partition &part, const Machine &m) {
    return part.steps == 1 && copies_in_turn(part) && m.has(Equation::F4);
}

/// Bytes that all CTAs of a round load before they can compute: for their first step, and once per CTA.
inline double first_load_bytes(const Partition &part, const Round &round) {
    return round.ctas * round.sms * (part.step.load_bytes + part.drain.load_bytes);
}

/// F26: the wait for loads that need the result of the first ones, or the registers that these leave: one
/// latency for each round of them.
template <Yield T> T one_by_one_leaf(const Partition &part, const Start &start) {
    return leaf<T>("loads one by one", s(part.drain.line_waits * start.latency), "{:.1f} * {:.0f} ns",
                   part.drain.line_waits, start.latency * 1e9);
}

/// F4: the time until the first data of a wave are there. They come by L2 and DRAM, and what a CTA loads only
/// once is written to shared memory meanwhile. A CTA of a single step waits for its other copies too.
template <Yield T>
T first_data_term(const Partition &part, const Machine &m, const Round &round, const Traffic &traffic,
                  const Start &start) {
    T first_data =
        leaf<T>("load latency", s(start.latency), "{:.0f} ns to the first data", start.latency * 1e9);
    if (as_they_come(part, m))
        return first_data;
    const double bytes = first_load_bytes(part, round);
    const double kept_passes = round.ctas * part.drain.load_bytes / wavefront_bytes * part.copy_passes;
    first_data =
        pnorm<T>("first loads", m.knee,
                 list_of<T>(std::move(first_data),
                            bandwidth_leaf<T>("DRAM reads", bytes * traffic.dram_share, m.read_bw),
                            bandwidth_leaf<T>("L2 reads", bytes, m.l2_bw), shared_leaf<T>(kept_passes, m)));
    if (!copies_fill(part, m))
        return first_data;
    StepWork copies = copies_of(part.step);
    copies.turns = 0.0, copies.load_bytes = part.step.load_bytes;
    return max_of<T>(
        "data and copies",
        list_of<T>(std::move(first_data),
                   sum<T>("copies", list_of<T>(leaf<T>("load latency", s(start.latency),
                                                       "{:.0f} ns to the last", start.latency * 1e9),
                                               core_term<T>("all copies", part, copies, round.ctas, m)))));
}

/// F4: the time from the start of a wave until its CTAs can compute their first step.
template <Yield T>
T fill_term(const Partition &part, const Machine &m, const Round &round, const Traffic &traffic) {
    const Start start = start_of(part, m, round, traffic);
    // A warp that copies and then computes starts its other copies and prepares its loop while the first data
    // are under way. That is about half of its code (assumed), and not cached either (F15), so that half of
    // the wait for code is hidden.
    const double behind = copies_in_turn(part) ? 0.5 : 0.0;
    const auto code = [&](double share) {
        return leaf<T>("cold code", s(share * start.cold / m.clock),
                       "{:.0f} clk until a warp's code is cached / {:.0f} MHz", share * start.cold,
                       m.clock / 1e6);
    };
    List<T> filled = list_of<T>(first_data_term<T>(part, m, round, traffic, start), code(1.0 - behind));
    if (behind > 0.0)
        filled.front() =
            max_of<T>("first data and code", list_of<T>(std::move(filled.front()), code(behind)));
    if (part.drain.line_waits > 0.0 && m.has(Equation::F26) && !as_they_come(part, m))
        filled.push_back(one_by_one_leaf<T>(part, start));
    // Copying warps fill a buffer while others compute the one before. At first there is nothing to compute,
    // so the first copies are part of the fill (F22).
    if (part.copy_warps > 0 && m.has(Equation::F22))
        filled.push_back(core_term<T>("first copies", part, copies_of(part.step), round.ctas, m));
    T fill = sum<T>("fill", std::move(filled));
    if (!start.follows)
        return fill;
    T gap = leaf<T>("dependent launch", s(m.early_gap_s),
                    "{:.2f} us behind the last CTA of the launch before", m.early_gap_s * 1e6);
    return start.waits_first
               ? sum<T>("fill", list_of<T>(std::move(gap), std::move(fill)))
               : max_of<T>("fill beside the launch before", list_of<T>(std::move(gap), std::move(fill)));
}

/// The work of a CTA's last step. It has no copies left where they belong to the fill (F4), or to warps that
/// only copy, which have nothing more to fetch (F22).
inline StepWork last_step_of(const Partition &part, const Machine &m) {
    StepWork last = part.step;
    if (copies_fill(part, m)) {
        last.instructions -= part.step.copying;
        last.copying = last.load_bytes = 0.0;
    }
    if (part.copy_warps > 0 && m.has(Equation::F22)) {
        last.instructions -= part.step.copying;
        last.copying = last.turns = 0.0;
    }
    return last;
}

/// F28: how far the work of warps that begin together overlaps with the memory that brings their loads, as
/// the exponent of a p-norm. Read off times of `depthwise_register`, for which 4 and 6 do as well.
inline constexpr double lockstep_overlap = 5.0;

/// The last step of a wave, and what a CTA does once at its start and its end (F28, F32). `last` is the time
/// of that step with its stores and `ends` of the rest, each for so many CTAs of an SM.
template <Yield T>
T last_step_term(const Partition &part, const Machine &m, const Round &round, const Traffic &traffic) {
    const StepWork last_step = last_step_of(part, m);
    StepWork once = of_all_warps(part.drain);
    once.load_bytes = 0.0;
    const double stored = store_bandwidth(round.sms, traffic, m);
    const auto last = [&](double ctas) {
        const double bytes = ctas * round.sms * part.step.store_bytes * traffic.store_factor;
        T computed = evaluated(core_term<T>("arithmetic", part, last_step, ctas, m));
        const double arithmetic_s = value_of(computed).value;
        // Without F32 an exponent of 100, with which the p-norm is the longer of both.
        T both = pnorm<T>("last step", m.has(Equation::F32) ? m.fitted.units_overlap * ctas : 100.0,
                          list_of<T>(std::move(computed), bandwidth_leaf<T>("stores", bytes, stored)));
        // Each warp computes and stores in turn (F32). Warps that start in lockstep all compute first, so the
        // first arithmetic and the last stores lie beside nothing.
        if (!part.store_rounds || !m.has(Equation::F32))
            return evaluated(std::move(both));
        const double alone = std::min(arithmetic_s, bytes / stored) / *part.store_rounds;
        T behind =
            leaf<T>("stores behind arithmetic", s(alone), "{:.2f} us in one of {:.1f} rounds of each warp",
                    alone * *part.store_rounds * 1e6, *part.store_rounds);
        return evaluated(sum<T>("last step", list_of<T>(std::move(both), std::move(behind))));
    };
    const auto ends = [&](double ctas) {
        const double bytes = ctas * round.sms * part.drain.store_bytes * traffic.store_factor;
        return evaluated(
            max_of<T>("start and store", list_of<T>(core_term<T>("arithmetic", part, once, ctas, m, By::all),
                                                    bandwidth_leaf<T>("stores", bytes, stored))));
    };
    // While one CTA of an SM stores, another computes its last step (F28). The CTAs end one after another if
    // that is faster than all of them computing and then all storing.
    const bool single = round.ctas == 1.0;
    T all_last = last(round.ctas), all_ends = ends(round.ctas), one_last = single ? all_last : last(1.0),
      one_ends = single ? all_ends : ends(1.0);
    const double last_s = value_of(all_last).value, ends_s = value_of(all_ends).value,
                 alone = value_of(one_last).value + value_of(one_ends).value;
    const double further_share = (round.ctas - 1.0) / round.ctas;
    List<T> all = list_of<T>(std::move(all_last), std::move(all_ends));
    T in_turn =
        m.has(Equation::F28) && alone + further_share * std::max(last_s, ends_s) < last_s + ends_s
            ? schedule<T>("last steps and stores in turn", further_share, max_of<T>("busy", std::move(all)),
                          sum<T>("one CTA", list_of<T>(std::move(one_last), std::move(one_ends))))
            : sum<T>("last steps and stores", std::move(all));
    if (!as_they_come(part, m))
        return in_turn;
    // While some warps wait, others keep the memory busy.
    if (part.drain.line_waits > 0.0 && m.has(Equation::F26))
        in_turn =
            sum<T>("loads in turn", list_of<T>(one_by_one_leaf<T>(part, start_of(part, m, round, traffic)),
                                               std::move(in_turn)));
    const double loads = first_load_bytes(part, round),
                 stores = round.ctas * round.sms * (part.step.store_bytes + part.drain.store_bytes) *
                          traffic.store_factor;
    // Warps that wait for earlier loads, or for registers that these leave, all wait together: what is loaded
    // before their last loads lies beside no stores.
    const double before = m.has(Equation::F26) ? part.drain.line_waits / (part.drain.line_waits + 1.0) : 0.0;
    T moved = memory_term<T>((1.0 - before) * loads, stores, traffic, m);
    if (before > 0.0)
        moved = sum<T>("earlier loads, then the last and stores",
                       list_of<T>(memory_term<T>(before * loads, 0.0, traffic, m), std::move(moved)));
    return pnorm<T>("loads, arithmetic and stores", lockstep_overlap,
                    list_of<T>(std::move(in_turn), std::move(moved)));
}

/// F4: the time from the last step of a wave to the end of its CTAs. The CTAs of a cluster wait for each
/// other before and after they read each other's sums, and each barrier waits until earlier stores are
/// visible. Each wait for reads costs a latency; the reads of all CTAs of an SM share its bandwidth (F5).
template <Yield T>
T drain_term(const Partition &part, const Machine &m, const Round &round, const Traffic &traffic) {
    List<T> drained = list_of<T>(last_step_term<T>(part, m, round, traffic),
                                 leaf<T>("store latency", s(m.l2_latency_s),
                                         "{:.0f} ns until L2 has the last store", m.l2_latency_s * 1e9));
    if (part.cluster.value_or(1) > 1) {
        const double waits = part.cluster_waits.value_or(1.0), bytes = part.cluster_bytes.value_or(0.0);
        const auto reads = [&](double ctas) {
            return leaf<T>("reads in the cluster", s(ctas * bytes / m.cluster_bw / m.clock),
                           "{:.0f} B / {:.1f} B/clk / {:.0f} MHz", ctas * bytes, m.cluster_bw, m.clock / 1e6);
        };
        T one_cta = sum<T>(
            "one CTA",
            list_of<T>(leaf<T>("waits in the cluster", s(waits * m.cluster_latency / m.clock),
                               "{:.0f} * {:.0f} clk / {:.0f} MHz", waits, m.cluster_latency, m.clock / 1e6),
                       reads(1.0)));
        drained.push_back(leaf<T>("cluster meets", s(2.0 * m.cluster_barrier_s), "two barriers of {:.0f} ns",
                                  m.cluster_barrier_s * 1e9));
        // The barriers of the probe follow stores to shared memory only. Here the last one follows stores of
        // outputs, which are visible when L2 has them: a latency more.
        drained.push_back(leaf<T>("outputs seen", s(m.l2_latency_s),
                                  "{:.0f} ns more until the last barrier's stores are",
                                  m.l2_latency_s * 1e9));
        drained.push_back(
            queue<T>("sums of the cluster", round.ctas, list_of<T>(reads(round.ctas), std::move(one_cta))));
    }
    return sum<T>("drain", std::move(drained));
}

/// F2: the time of a wave, whose CTAs start together and go through their steps.
template <Yield T> T wave_term(const Partition &part, const Machine &m, Round round, const Traffic &traffic) {
    return pipeline<T>("CTA pipeline", static_cast<double>(part.steps), fill_term<T>(part, m, round, traffic),
                       step_term<T>(part, m, round, traffic), drain_term<T>(part, m, round, traffic));
}

/// F25: the time from a CTA's end until the next one runs in its slot. It was read off launches with many
/// CTAs without work; no probe tells it from the rate at which CTAs start.
template <Yield T> T turnover_leaf(const Machine &m) {
    return leaf<T>("turnover", s(m.turnover_clocks / m.clock), "{:.0f} clk / {:.0f} MHz", m.turnover_clocks,
                   m.clock / 1e6);
}

/// F1: the time of a full wave behind the first one. CTAs no longer start together, so one fills while
/// another computes: a closed queue of the resident CTAs (F5).
template <Yield T>
T further_wave_term(const Partition &part, const Machine &m, Round round, const Traffic &traffic) {
    const double ctas_of_chip = round.ctas * round.sms, steps = static_cast<double>(part.steps);
    StepWork whole_cta = of_all_warps(part.drain);
    add(whole_cta, part.step, steps);
    T cores = busy_term<T>(part, whole_cta, round.ctas, m);
    T memory = memory_term<T>(ctas_of_chip * whole_cta.load_bytes,
                              ctas_of_chip * whole_cta.store_bytes * traffic.store_factor, traffic, m);
    Round one = round;
    one.ctas = 1.0;
    one.first = false;
    List<T> one_cta = list_of<T>(wave_term<T>(part, m, one, traffic));
    if (m.has(Equation::F25))
        one_cta.push_back(turnover_leaf<T>(m));
    T alone = sum<T>("one CTA", std::move(one_cta));
    // A CTA of a single step loads, then computes, then stores. While it does the one, others do the other:
    // cores and memory are two resources of the queue (F33).
    if (part.steps == 1 && part.step.store_bytes == 0.0 && m.has(Equation::F33))
        return alike<T>("further wave", round.ctas,
                        list_of<T>(std::move(cores), std::move(memory), std::move(alone)));
    T busy = max_of<T>("busy", list_of<T>(std::move(cores), std::move(memory)));
    return alike<T>("further wave", round.ctas, list_of<T>(std::move(busy), std::move(alone)));
}

/// F25: the time of CTAs without work, behind those that the SMs hold at first: `rounds` times as many as fit
/// `sms` SMs. All warps of such a CTA find out that there is no work, and its slot goes to the next.
template <Yield T> T idle_term(const Partition &part, double sms, double rounds, const Machine &m) {
    StepWork asks; // whether there is work
    asks.instructions = asks.copying = part.idle_instructions.value_or(0.0);
    const double ctas = static_cast<double>(part.ctas_per_sm),
                 warps = static_cast<double>(part.threads) / 32.0 / m.schedulers;
    List<T> one_cta = list_of<T>(queue<T>(
        "asks for work", warps, list_of<T>(busy_term<T>(part, asks, 1.0, m), chain_leaf<T>(part, asks, m))));
    if (m.has(Equation::F25))
        one_cta.push_back(turnover_leaf<T>(m));
    T alone = sum<T>("one CTA", std::move(one_cta));
    T round = max_of<T>("round without work",
                        list_of<T>(queue<T>("CTAs of an SM", ctas,
                                            list_of<T>(busy_term<T>(part, asks, ctas, m), std::move(alone))),
                                   leaf<T>("CTA starts", s(ctas * sms * m.cta_s), "{:.0f} CTAs * {:.2f} ns",
                                           ctas * sms, m.cta_s * 1e9)));
    return schedule<T>("CTAs without work", rounds, std::move(round),
                       leaf<T>("tail", s(0.0), "no partial round"));
}

/// The machine while a launch runs: tensor cores slow its clock (F29).
inline Machine running(const Partition &part, Machine m) {
    if (part.step.tensor_fmas && m.has(Equation::F29))
        m.clock *= m.tensor_clock_share;
    return m;
}

/// F1: seconds that a launch takes longer than its `waves`, 0 or more, because the GPU starts one CTA after
/// another (`cta_s` each): the last CTA starts after all others and then takes its own time. Only where there
/// are more CTAs than slots. Starts that take less than half of the waves' time are not what is waited for.
template <Yield T>
Seconds missing_for_starts(const Partition &part, const T &waves, double sms, const Traffic &traffic,
                           const Machine &m) {
    const double starts = static_cast<double>(part.ctas) * m.cta_s, of_waves = value_of(waves).value;
    if (part.ctas <= part.ctas_per_sm * static_cast<std::int64_t>(sms) || starts < 0.5 * of_waves)
        return Seconds(0.0);
    const Seconds one = wave_term<Seconds>(part, m, Round{.ctas = 1.0, .sms = sms, .first = false}, traffic);
    return Seconds(std::max(0.0, starts + one.value - of_waves));
}

/// F36: the waves of a launch beside a line of L2 that all its CTAs request. It serves one request after
/// another while the SMs do something else: the two times overlap in part. Requires `line_turns`.
template <Yield T> T beside_line_turns(const Partition &part, List<T> &&waves, const Machine &m) {
    constexpr double knee = 2.0; // assumed
    return pnorm<T>("SMs and a line of L2", knee,
                    list_of<T>(sum<T>("SMs", std::move(waves)),
                               leaf<T>("turns at a line of L2", s(*part.line_turns * m.line_turn / m.clock),
                                       "{:.0f} requests * {:.0f} clk / {:.0f} MHz", *part.line_turns,
                                       m.line_turn, m.clock / 1e6)));
}

/// F1: the time of a launch, from its first CTA's start to its last one's end: the first wave, further full
/// waves, and the CTAs of the last one. `idle` is the machine while nothing slows its clock.
template <Yield T> T partition_term(const Partition &part, const ConvShape &shape, const Machine &idle) {
    const Machine m = running(part, idle);
    const Traffic traffic = traffic_of(part, shape, m);
    const std::int64_t sms = usable_sms(part, m);
    const std::int64_t slots = part.ctas_per_sm * sms, busy = part.ctas - part.idle_ctas;
    const std::int64_t full = busy / slots, rest = busy % slots;
    const Round full_round{
        .ctas = static_cast<double>(part.ctas_per_sm), .sms = static_cast<double>(sms), .first = true};
    List<T> waves;
    if (full > 0)
        waves.push_back(wave_term<T>(part, m, full_round, traffic));
    T tail = leaf<T>("tail", s(0.0), "no partial wave");
    if (rest > 0) {
        // filter_split and map_split start two CTAs for the share of an SM, which lie a whole number of SMs
        // apart in the grid. So both run on the same SM, except those of the first shares, whose second
        // halves start on other SMs (F19).
        const bool pairs = part.idle_ctas > 0 && part.grid[0] == 2 * part.parts && full == 0;
        constexpr std::int64_t halves = 2;
        const std::int64_t images = std::max<std::int64_t>(1, part.grid[1]);
        const std::int64_t shares = ceil_div(rest, halves * images), elsewhere = m.second_round_elsewhere,
                           alone = std::min(shares, elsewhere);
        const std::int64_t most = std::max(!pairs               ? std::int64_t{1}
                                           : shares > elsewhere ? halves
                                                                : std::int64_t{1},
                                           ceil_div(rest, sms));
        const std::int64_t used = std::min<std::int64_t>(pairs ? images * (shares + alone) : rest, sms);
        const Round last{
            .ctas = static_cast<double>(most), .sms = static_cast<double>(used), .first = full == 0};
        tail = wave_term<T>(part, m, last, traffic);
    }
    T further = full > 1 ? further_wave_term<T>(part, m, full_round, traffic)
                         : leaf<T>("further wave", s(0.0), "no further wave");
    waves.push_back(schedule<T>("waves", std::max(0.0, static_cast<double>(full - 1)), std::move(further),
                                std::move(tail)));
    // CTAs without work in the first wave start and end beside the others; those behind it cost rounds (F25).
    const std::int64_t further_idle = std::clamp<std::int64_t>(part.ctas - slots, 0, part.idle_ctas);
    if (further_idle > 0)
        waves.push_back(idle_term<T>(part, static_cast<double>(sms),
                                     static_cast<double>(further_idle) / static_cast<double>(slots), m));
    if (part.constant_bytes > 0)
        waves.insert(waves.begin(), leaf<T>("filters to constant memory", s(m.launch_s + m.gap_s),
                                            "one copy of {} B: launch floor and gap", part.constant_bytes));
    if (part.line_turns && m.has(Equation::F36))
        waves = list_of<T>(beside_line_turns<T>(part, std::move(waves), m));
    T all = evaluated(sum<T>(part.kernel, std::move(waves)));
    const Seconds missing = missing_for_starts<T>(part, all, static_cast<double>(sms), traffic, m);
    if (missing.value <= 0.0)
        return all;
    return sum<T>(part.kernel,
                  list_of<T>(std::move(all), leaf<T>("CTA starts", missing,
                                                     "{} CTAs * {:.2f} ns and the last one, less the waves",
                                                     part.ctas, m.cta_s * 1e9)));
}

} // namespace convcast::launch_terms
