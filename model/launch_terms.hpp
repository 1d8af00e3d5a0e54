// The time of one launch, as a tree of terms or as its value alone: formulas F2 to F11 of docs/model.md. Work
// and counts come from its Partition, rates and latencies from the Machine; seconds.
#pragma once

#include "model/forecast.hpp"
#include "model/formula.hpp"
#include "model/machine.hpp"
#include "model/papers.hpp"

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
    return leaf<T>("other issue", s(instructions / m.issue_rate / m.clock),
                   "{:.0f} warp instructions / {:.0f} per clk / {:.0f} MHz", instructions, m.issue_rate,
                   m.clock / 1e6);
}

/// Integers and logic have half the lanes of FFMAs (CUDA C++ Programming Guide, throughput of native
/// arithmetic instructions): an instruction keeps the pipe of its scheduler busy for two clocks.
template <Yield T> T alu_leaf(double instructions, const Machine &m) {
    constexpr double clocks = 2.0;
    return leaf<T>("integers and logic", s(instructions * clocks / m.issue_rate / m.clock),
                   "{:.0f} warp instructions * {:.0f} clk / {:.0f} / {:.0f} MHz", instructions, clocks,
                   m.issue_rate, m.clock / 1e6);
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

/// Jobs in the queue of that scheduler.
inline double queued_warps(const Partition &part, double ctas, const Machine &m) {
    const double warps = busy_warps(part);
    return ctas * warps * imbalance(part, warps, ctas, m) / m.schedulers;
}

/// SMs that a launch's CTAs can use at once. The CTAs of a cluster share a GPC, and the GPCs have different
/// numbers of SMs, not whole clusters of them.
inline std::int64_t usable_sms(const Partition &part, const Machine &m) {
    const std::int64_t cluster = part.cluster.value_or(1);
    constexpr std::int64_t pair = 2, four = 4; // SMs come in pairs, which share a cluster always
    if (cluster <= pair)
        return m.sm_count;
    const std::int64_t sms = cluster <= four ? m.clusters_of_4_sms : m.clusters_of_8_sms;
    return std::max<std::int64_t>(1, sms / cluster) * cluster;
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
/// other within a sum; of addresses, loads and their uses every second waits for the one before. What the
/// busy warps compute, and what all warps, or others beside them, copy.
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
    const double chain =
        copies_apart
            ? std::max(computing, (copying * copy_clocks + looks_up) / static_cast<double>(part.copy_warps))
            : computing + copying * copy_clocks / all_warps + work.line_waits * m.l2_latency_s * m.clock;
    return leaf<T>("dependent instructions", s(chain / m.clock), "{:.0f} clk of one warp / {:.0f} MHz", chain,
                   m.clock / 1e6);
}

/// What the cores of an SM need for the work of `ctas` CTAs that they can do in any order. With 128 lanes
/// an SM, an FFMA takes an issue slot of its scheduler like any other instruction, so their times add (F3);
/// beside an integer multiply-add, which keeps its pipe busy for two clocks, another instruction issues.
/// Shared memory works beside them as far as there are warps to use both.
template <Yield T>
T mixed_term(const Partition &part, const StepWork &work, double ctas, const Machine &m, By by = By::roles) {
    const double uneven = imbalance(part, busy_warps(part), ctas, m) * part.busiest_scheduler.value_or(1.0);
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
            issue = pnorm<T>("issue slots and pipes", m.units_overlap,
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

template <Yield T> T bandwidth_leaf(const char *name, double bytes, double bandwidth) {
    return leaf<T>(name, s(bytes / bandwidth), "{:.0f} B / {:.1f} GB/s", bytes, bandwidth / 1e9);
}

/// A round on the whole chip: every one of `ctas` CTAs of an SM on `sms` SMs takes one step.
struct Round {
    double ctas; ///< resident on the busiest SM
    double sms;  ///< that have work
    bool first;  ///< of a launch: L2 has nothing of it yet
};

/// How a launch's bytes meet the memory system, beside what a step counts.
struct Traffic {
    double dram_share;   ///< of its reads that L2 does not have
    double store_factor; ///< time to write a byte of output over that of a whole sector's: rows that are not
                         ///< aligned share sectors, and such a sector takes longer (F21)
    double new_share;    ///< of a CTA's steps that read what it has not read before (F8)
    double together; ///< of a later wave's CTAs, those that read new data as they start, as in a first one
    double dram_write_share; ///< of its writes that L2 cannot keep
};

/// Those that read the same pixels start one after another in the grid's order. In later waves, where others
/// end one by one, they are spread over as much of a CTA's time as they are of the CTAs that run at once:
/// whoever is late finds in L2 what the first have fetched (F8).
inline double together(const Partition &part, const Machine &m) {
    const double slots = static_cast<double>(part.ctas_per_sm * usable_sms(part, m));
    return part.sharing_ctas ? std::max(0.0, 1.0 - *part.sharing_ctas / slots) : 0.0;
}

inline Traffic traffic_of(const Partition &part, const ConvShape &shape, const Machine &m) {
    const double reads = part.work.l2_read_bytes.value_or(0.0);
    const double dram = part.work.dram_read_bytes.value_or(reads);
    const double dram_share = reads > 0.0 ? std::min(1.0, dram / reads) : 0.0;
    // What a sector written in part takes more than a whole one.
    const double parts = part.partial_write_bytes.value_or(0.0) * (m.partial_sector - 1.0);
    const double fresh = part.new_share.value_or(1.0);
    const double writes = part.work.l2_write_bytes.value_or(0.0),
                 to_dram =
                     writes > 0.0 ? std::min(1.0, part.work.dram_write_bytes.value_or(writes) / writes) : 1.0;
    if (part.filter_count == 0) // prepares filters, or counts the sectors in its steps
        return {dram_share, 1.0 + (parts > 0.0 ? parts / part.work.l2_write_bytes.value_or(parts) : 0.0),
                fresh, together(part, m), to_dram};
    const double output = static_cast<double>(shape.output_bytes()) * static_cast<double>(part.filter_count) /
                          static_cast<double>(shape.k);
    return {dram_share, std::max(1.0, (part.work.l2_write_bytes.value_or(output) + parts) / output), fresh,
            together(part, m), to_dram};
}

/// The memory's share of a step: L2 passes every byte, DRAM's bus carries reads and what L2 cannot keep of
/// the writes in turn.
template <Yield T> T memory_term(double loads, double stores, const Traffic &traffic, const Machine &m) {
    return max_of<T>(
        "memory",
        {bandwidth_leaf<T>("L2 reads", loads, m.l2_bw), bandwidth_leaf<T>("L2 writes", stores, m.l2_write_bw),
         sum<T>("DRAM", {bandwidth_leaf<T>("DRAM reads", loads * traffic.dram_share, m.read_bw),
                         bandwidth_leaf<T>("writes", stores * traffic.dram_write_share, m.write_bw)})});
}

/// Bytes a second that so many SMs store: each a sector a clock at most (30 bytes on an H200, where few CTAs
/// of patch_register do nothing else).
inline double store_bandwidth(double sms, const Traffic &traffic, const Machine &m) {
    constexpr double sector_bytes = 32.0;
    const double most = std::min(m.l2_write_bw, sms * sector_bytes * m.clock);
    return traffic.dram_write_share > 0.0 ? std::min(most, m.write_bw / traffic.dram_write_share) : most;
}

template <Yield T> T latency_leaf(double latency, double depth) {
    if (depth == 1.0)
        return leaf<T>("load latency", s(latency / depth), "{:.0f} ns", latency * 1e9);
    return leaf<T>("load latency", s(latency / depth), "{:.0f} ns / {:.0f} steps under way", latency * 1e9,
                   depth);
}

template <Yield T> T barrier_leaf(const Machine &m) {
    return leaf<T>("barrier", s(m.barrier_s), "{:.0f} ns", m.barrier_s * 1e9);
}

/// In the first wave all CTAs pass through the same channels at once: what they share was asked of DRAM by
/// the first of them a moment ago, and all wait for it (F8). In later waves some do; a CTA finds in L2 what
/// it has read before.
inline double step_latency(const Round &round, const Traffic &traffic, const Machine &m) {
    const double together = round.first ? 1.0 : traffic.together;
    const double miss = std::max(traffic.dram_share, m.first_wave_miss * traffic.new_share * together);
    return miss * m.latency_s + std::max(0.0, 1.0 - miss) * m.l2_latency_s;
}

/// From the last CTA of a launch until the CTAs of one that started early go on: 0.83 to 0.96 us between
/// their stamps on an H200 (data/recorded/h200/timelines.json.gz). No probe measures it.
inline constexpr double early_gap_s = 0.9e-6;

/// Of a step, what the warps do that copy.
inline StepWork copies_of(const StepWork &step) {
    StepWork copies;
    copies.instructions = copies.copying = step.copying;
    copies.turns = step.turns;
    return copies;
}

/// One step of all CTAs of a round.
template <Yield T>
T step_term(const Partition &part, const Machine &m, const Round &round, const Traffic &traffic) {
    const double chip = round.ctas * round.sms;
    const double latency = step_latency(round, traffic, m);
    T memory = memory_term<T>(chip * part.step.load_bytes,
                              chip * part.step.store_bytes * traffic.store_factor, traffic, m);
    const bool together = part.barriers > 0; // its warps wait for each other
    if (part.stages > 1 || part.steps == 1) {
        // The loads of a step are under way for `depth` steps: moderate bytes in flight reach less than the
        // bandwidth. Some steps wait for their loads and others take longer to compute; the CTAs of an SM
        // even that out.
        List<T> both = {core_term<T>("arithmetic", part, part.step, round.ctas, m)};
        // A buffer that warps of their own fill again is full when the last of their copies is there.
        const double filling =
            part.copy_warps > 0 ? value_of(chain_leaf<Seconds>(part, copies_of(part.step), m)).value : 0.0;
        if (part.stages > 1)
            both.push_back(pnorm<T>("loads", m.knee,
                                    {latency_leaf<T>(filling + latency, static_cast<double>(part.stages - 1)),
                                     std::move(memory)}));
        else
            both.push_back(std::move(memory));
        // Where warps of their own copy, no barrier holds up all of them at once.
        const double overlap = part.copy_warps > 0 ? m.units_overlap : m.steps_overlap;
        List<T> step = {part.stages > 1 ? pnorm<T>("overlap", overlap * round.ctas, std::move(both))
                                        : max_of<T>("overlap", std::move(both))};
        if (together)
            step.push_back(leaf<T>("barrier", s(m.barrier_s / round.ctas), "{:.0f} ns / {:.0f} CTAs an SM",
                                   m.barrier_s * 1e9, round.ctas));
        return sum<T>("step", std::move(step));
    }
    // Without a pipeline a CTA loads, waits and computes; other CTAs, or other warps where none waits for
    // another, use the SM meanwhile.
    const double jobs = together ? round.ctas : queued_warps(part, round.ctas, m);
    List<T> alone = {latency_leaf<T>(latency, 1.0),
                     together ? core_term<T>("arithmetic of one CTA", part, part.step, 1.0, m)
                              : chain_leaf<T>(part, part.step, m)};
    if (together) {
        alone.push_back(barrier_leaf<T>(m));
        alone.push_back(barrier_leaf<T>(m));
    }
    return queue<T>("step", jobs,
                    max_of<T>("busy", {busy_term<T>(part, part.step, round.ctas, m), std::move(memory)}),
                    sum<T>("one CTA", std::move(alone)));
}

/// What a CTA does once, at its start and its end, all its warps share.
inline StepWork of_all_warps(StepWork work) {
    work.copying = work.instructions;
    work.line_waits = 0.0; // of loads behind each other, which the fill has
    return work;
}

template <Yield T> T wave_term(const Partition &part, const Machine &m, Round round, const Traffic &traffic) {
    const double chip = round.ctas * round.sms;
    // In the first round all CTAs ask for new data at once: whoever is first fetches them from DRAM, and all
    // wait for that.
    const bool follows = round.first && part.early.value_or(false) && !part.beside.value_or(false);
    // What the launch before has written lies in L2.
    const bool in_l2 = follows && !part.operands.empty() && part.operands.front().memory == Memory::workspace;
    const double latency = round.first && !in_l2 ? m.latency_s
                                                 : traffic.dram_share * m.latency_s +
                                                       (1.0 - traffic.dram_share) * m.l2_latency_s;
    // The launch floor is that of a CTA on each SM; further ones start one after another, while the first
    // wait for their data.
    const double slots = static_cast<double>(part.ctas_per_sm) * m.sm_count;
    const double starts = part.idle_ctas > 0 && round.first
                              ? std::max(chip, std::min(static_cast<double>(part.ctas), slots))
                              : chip; // those without work among them
    const double further = std::max(0.0, starts - m.sm_count);
    // A launch that starts early and then waits for the one before finds its code meanwhile.
    const bool waits_first = follows && part.copy_warps == 0;
    const double cold = round.first && part.pace && !waits_first ? m.cold_share * part.pace->cold_clocks : 0.0;
    StepWork once = of_all_warps(part.drain);
    once.load_bytes = 0.0;
    const double first_loads = chip * (part.step.load_bytes + part.drain.load_bytes);
    // What stays on the SM is written to shared memory while the rest is under way.
    const double kept_passes = round.ctas * part.drain.load_bytes / wavefront_bytes * part.copy_passes;
    // Where no warp waits for another, the first compute and store while others wait for what passes DRAM and
    // L2.
    const bool as_they_come = part.barriers == 0 && part.steps == 1;
    T first_data = leaf<T>("load latency", s(latency), "{:.0f} ns to the first data", latency * 1e9);
    if (!as_they_come)
        first_data =
            pnorm<T>("first loads", m.knee,
                     {std::move(first_data),
                      bandwidth_leaf<T>("DRAM reads", first_loads * traffic.dram_share, m.read_bw),
                      bandwidth_leaf<T>("L2 reads", first_loads, m.l2_bw),
                      leaf<T>("shared memory", s(kept_passes * wavefront_bytes / m.shared_bw / m.clock),
                              "{:.0f} passes * 128 B / {:.1f} B/clk / {:.0f} MHz", kept_passes, m.shared_bw,
                              m.clock / 1e6)});
    // Between its first copies and their use a warp has others to start and the loop's preparations, about
    // half of the code, which is cold as well.
    const double behind = copies_in_turn(part) ? 0.5 : 0.0;
    const auto code = [&](double share) {
        return leaf<T>("cold code", s(share * cold / m.clock),
                       "{:.0f} clk until a warp's code is cached / {:.0f} MHz", share * cold, m.clock / 1e6);
    };
    StepWork last_step = part.step;
    // Of a single step the first data come while its other copies are started (F4).
    if (part.steps == 1 && copies_in_turn(part)) {
        StepWork copies = copies_of(part.step);
        copies.turns = 0.0, copies.load_bytes = part.step.load_bytes;
        first_data = max_of<T>(
            "data and copies",
            {std::move(first_data),
             sum<T>("copies", {leaf<T>("load latency", s(latency), "{:.0f} ns to the last", latency * 1e9),
                               core_term<T>("all copies", part, copies, round.ctas, m)})});
        last_step.instructions -= part.step.copying;
        last_step.copying = last_step.load_bytes = 0.0;
    }
    List<T> filled = {std::move(first_data), code(1.0 - behind)};
    if (behind > 0.0)
        filled.front() = max_of<T>("first data and code", {std::move(filled.front()), code(behind)});
    if (part.drain.line_waits > 0.0)
        filled.push_back(leaf<T>("loads one by one", s(part.drain.line_waits * latency), "{:.0f} * {:.0f} ns",
                                 part.drain.line_waits, latency * 1e9));
    // Warps of their own copy a step while others compute the one before: at first nothing can be computed,
    // at last nothing is left to copy (F22).
    if (part.copy_warps > 0) {
        filled.push_back(core_term<T>("first copies", part, copies_of(part.step), round.ctas, m));
        last_step.instructions -= part.step.copying;
        last_step.copying = last_step.turns = 0.0;
    }
    T fill = sum<T>("fill", std::move(filled));
    if (follows) {
        T gap = leaf<T>("early launch", s(early_gap_s), "{:.2f} us behind the last CTA of the launch before",
                        early_gap_s * 1e6);
        fill = waits_first ? sum<T>("fill", {std::move(gap), std::move(fill)})
                           : max_of<T>("fill beside the launch before", {std::move(gap), std::move(fill)});
    }
    const double stored = store_bandwidth(round.sms, traffic, m);
    const auto last = [&]<Yield Y>(double ctas) {
        return pnorm<Y>( // each warp computes and stores in turn (F32)
            "last step", m.units_overlap * ctas,
            {core_term<Y>("arithmetic", part, last_step, ctas, m),
             bandwidth_leaf<Y>("writes", ctas * round.sms * part.step.store_bytes * traffic.store_factor,
                               stored)});
    };
    const auto ends = [&]<Yield Y>(double ctas) {
        return max_of<Y>(
            "start and store",
            {core_term<Y>("arithmetic", part, once, ctas, m, By::all),
             bandwidth_leaf<Y>("writes", ctas * round.sms * part.drain.store_bytes * traffic.store_factor,
                               stored)});
    };
    // While one CTA of an SM stores, another computes its last step (F28): one after another they take no
    // longer than all of them in step.
    const double all_last = value_of(last.template operator()<Seconds>(round.ctas)).value,
                 all_ends = value_of(ends.template operator()<Seconds>(round.ctas)).value,
                 alone = value_of(last.template operator()<Seconds>(1.0)).value +
                         value_of(ends.template operator()<Seconds>(1.0)).value;
    const double further_share = (round.ctas - 1.0) / round.ctas;
    T in_turn =
        alone + further_share * std::max(all_last, all_ends) < all_last + all_ends
            ? schedule<T>(
                  "last steps and stores in turn", further_share,
                  max_of<T>("busy", {last.template operator()<T>(round.ctas),
                                     ends.template operator()<T>(round.ctas)}),
                  sum<T>("one CTA", {last.template operator()<T>(1.0), ends.template operator()<T>(1.0)}))
            : sum<T>("last steps and stores",
                     {last.template operator()<T>(round.ctas), ends.template operator()<T>(round.ctas)});
    if (as_they_come) {
        in_turn = max_of<T>("loads, arithmetic and stores",
                            {std::move(in_turn),
                             bandwidth_leaf<T>("DRAM reads", first_loads * traffic.dram_share, m.read_bw),
                             bandwidth_leaf<T>("L2 reads", first_loads, m.l2_bw)});
    }
    List<T> drained = {std::move(in_turn),
                       leaf<T>("store latency", s(m.l2_latency_s), "{:.0f} ns until L2 has the last store",
                               m.l2_latency_s * 1e9)};
    if (part.cluster.value_or(1) > 1) {
        // Its CTAs wait for each other before and after they read the others' sums; each time what they
        // stored must be seen first. Each turn of reads waits for the way there and back, the reads of all
        // CTAs of an SM share its bandwidth.
        const double waits = part.cluster_waits.value_or(1.0), bytes = part.cluster_bytes.value_or(0.0);
        const auto reads = [&](double ctas) {
            return leaf<T>("reads in the cluster", s(ctas * bytes / m.cluster_bw / m.clock),
                           "{:.0f} B / {:.1f} B/clk / {:.0f} MHz", ctas * bytes, m.cluster_bw, m.clock / 1e6);
        };
        drained.push_back(leaf<T>("cluster meets", s(2.0 * m.cluster_barrier_s), "two barriers of {:.0f} ns",
                                  m.cluster_barrier_s * 1e9));
        drained.push_back(queue<T>(
            "sums of the cluster", round.ctas, reads(round.ctas),
            sum<T>("one CTA",
                   {leaf<T>("waits in the cluster", s(waits * m.cluster_latency / m.clock),
                            "{:.0f} * {:.0f} clk / {:.0f} MHz", waits, m.cluster_latency, m.clock / 1e6),
                    reads(1.0)})));
    }
    T drain = sum<T>("drain", std::move(drained));
    T together = pipeline<T>("CTA pipeline", static_cast<double>(part.steps), std::move(fill),
                             step_term<T>(part, m, round, traffic), std::move(drain));
    if (further <= 0.0)
        return together;
    // The last one still has its own way to go, where the others were before: code and what they share is
    // cached.
    const Round last_one{1.0, round.sms, false};
    return max_of<T>(
        "wave", {std::move(together),
                 sum<T>("the last CTA", {leaf<T>("CTA starts", s(further * m.cta_s),
                                                 "{:.0f} further CTAs * {:.2f} ns", further, m.cta_s * 1e9),
                                         wave_term<T>(part, m, last_one, traffic)})});
}

/// Clocks from a CTA's end until the next one runs in its place. Assumed, as no probe tells them apart from
/// the rate of starts: where filter_split and map_split do little but start CTAs without work, a place turns
/// over every 1,230 to 1,390 clk, of which its warps live 650 to 700 (sm__warps_active) whether an SM has two
/// places or three.
inline constexpr double turnover_clocks = 600.0;

template <Yield T> T turnover_leaf(const Machine &m) {
    return leaf<T>("turnover", s(turnover_clocks / m.clock), "{:.0f} clk / {:.0f} MHz", turnover_clocks,
                   m.clock / 1e6);
}

/// A full wave behind the first: CTAs no longer start together, so that one fills while another computes.
template <Yield T>
T further_wave_term(const Partition &part, const Machine &m, Round round, const Traffic &traffic) {
    const double chip = round.ctas * round.sms, steps = static_cast<double>(part.steps);
    StepWork whole = of_all_warps(part.drain);
    whole.fmas += steps * part.step.fmas;
    whole.instructions += steps * part.step.instructions;
    whole.copying += steps * part.step.copying;
    whole.shared_wavefronts += steps * part.step.shared_wavefronts;
    whole.line_waits += steps * part.step.line_waits;
    whole.turns += steps * part.step.turns;
    whole.constant_lines += steps * part.step.constant_lines;
    whole.load_bytes += steps * part.step.load_bytes;
    whole.store_bytes += steps * part.step.store_bytes;
    if (part.step.tensor_fmas)
        whole.tensor_fmas = whole.tensor_fmas.value_or(0.0) + steps * *part.step.tensor_fmas;
    T busy = max_of<T>("busy", {busy_term<T>(part, whole, round.ctas, m),
                                memory_term<T>(chip * whole.load_bytes,
                                               chip * whole.store_bytes * traffic.store_factor, traffic, m)});
    Round one = round;
    one.ctas = 1.0;
    one.first = false;
    return queue<T>("further wave", round.ctas, std::move(busy),
                    sum<T>("one CTA", {wave_term<T>(part, m, one, traffic), turnover_leaf<T>(m)}));
}

/// CTAs without work behind those that the SMs hold at first: each finds that out with all its warps, and
/// leaves its place to the next.
template <Yield T> T idle_term(const Partition &part, double sms, double rounds, const Machine &m) {
    StepWork asks;
    asks.instructions = asks.copying = part.idle_instructions.value_or(0.0);
    const double ctas = static_cast<double>(part.ctas_per_sm),
                 warps = static_cast<double>(part.threads) / 32.0 / m.schedulers;
    T alone = sum<T>("one CTA", {queue<T>("asks for work", warps, busy_term<T>(part, asks, 1.0, m),
                                          chain_leaf<T>(part, asks, m)),
                                 turnover_leaf<T>(m)});
    T round = max_of<T>("round without work",
                        {queue<T>("CTAs of an SM", ctas, busy_term<T>(part, asks, ctas, m), std::move(alone)),
                         leaf<T>("CTA starts", s(ctas * sms * m.cta_s), "{:.0f} CTAs * {:.2f} ns", ctas * sms,
                                 m.cta_s * 1e9)});
    return schedule<T>("CTAs without work", rounds, std::move(round),
                       leaf<T>("tail", s(0.0), "no partial round"));
}

/// CTAs of a grid's second round that start on other SMs than those of the first: so a call of filter_split
/// that was recorded on an H200 (data/recorded/h200/timelines.json.gz), the others in the same order again.
inline constexpr std::int64_t elsewhere = 8;

/// Of the SM clock, what is left while wgmma runs, on an H200: recorded calls of implicit_gemm_3xtf32 of 30
/// us and more have sm__cycles_active over time at 1,746 to 1,767 MHz, those of implicit_gemm at 1,923 to
/// 1,960. No probe measures it.
inline constexpr double wgmma_clock_share = 0.889;

/// The machine while a launch runs.
inline Machine running(const Partition &part, Machine m) {
    if (part.step.tensor_fmas)
        m.clock *= wgmma_clock_share;
    return m;
}

template <Yield T> T partition_term(const Partition &part, const ConvShape &shape, const Machine &idle) {
    const Machine m = running(part, idle);
    const Traffic traffic = traffic_of(part, shape, m);
    const std::int64_t sms = usable_sms(part, m);
    const std::int64_t slots = part.ctas_per_sm * sms, busy = part.ctas - part.idle_ctas;
    const std::int64_t full = busy / slots, rest = busy % slots;
    const Round full_round{static_cast<double>(part.ctas_per_sm), static_cast<double>(sms), true};
    List<T> waves;
    if (full > 0)
        waves.push_back(wave_term<T>(part, m, full_round, traffic));
    T tail = leaf<T>("tail", s(0.0), "no partial wave");
    if (rest > 0) {
        // Halves of a share lie a whole number of SMs apart in the grid: those with work meet on the same
        // SMs, but for the first of the second round, which start on others.
        const bool pairs = part.idle_ctas > 0 && part.grid[0] == 2 * part.parts && full == 0;
        constexpr std::int64_t halves = 2;
        const std::int64_t images = std::max<std::int64_t>(1, part.grid[1]);
        const std::int64_t shares = papers::ceil_div(rest, halves * images),
                           alone = std::min(shares, elsewhere);
        const std::int64_t most = std::max(!pairs               ? std::int64_t{1}
                                           : shares > elsewhere ? halves
                                                                : std::int64_t{1},
                                           papers::ceil_div(rest, sms));
        const Round last{
            static_cast<double>(most),
            static_cast<double>(std::min<std::int64_t>(pairs ? images * (shares + alone) : rest, sms)),
            full == 0};
        tail = wave_term<T>(part, m, last, traffic);
    }
    T further = full > 1 ? further_wave_term<T>(part, m, full_round, traffic)
                         : leaf<T>("further wave", s(0.0), "no further wave");
    waves.push_back(schedule<T>("waves", std::max(0.0, static_cast<double>(full - 1)), std::move(further),
                                std::move(tail)));
    // Those without work among the first start and end beside the others (F4).
    const std::int64_t further_idle = std::clamp<std::int64_t>(part.ctas - slots, 0, part.idle_ctas);
    if (further_idle > 0)
        waves.push_back(idle_term<T>(part, static_cast<double>(sms),
                                     static_cast<double>(further_idle) / static_cast<double>(slots), m));
    if (part.constant_bytes > 0)
        waves.insert(waves.begin(), leaf<T>("filters to constant memory", s(m.launch_s + m.gap_s),
                                            "one copy of {} B: launch floor and gap", part.constant_bytes));
    return sum<T>(part.kernel, std::move(waves));
}

} // namespace convcast::launch_terms
