#include "model/forecast.hpp"

#include "model/baselines_of_forecast.hpp"
#include "model/errors.hpp"
#include "model/facts.hpp"
#include "model/formula.hpp"
#include "model/papers.hpp"
#include "model/parallel.hpp"
#include "model/regimes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace convcast {
namespace {

using namespace formula; // every formula below yields a tree or its value alone

/// A hard knee overestimates what moderate bytes in flight reach; p = 2 is near what was fitted on Hopper
/// reads and is used where the profile has no fit of its own (docs/model.md, M1).
constexpr double assumed_knee_exponent = 2.0;

/// Clocks from an FFMA to one that needs its result, where the profile has none of its own: published for
/// Hopper (arXiv 2507.10789).
constexpr double assumed_ffma_latency = 4.0;

/// Clocks from a CTA's load of another one's shared memory to the value, where no probe measures it:
/// published for an H800 (HPMLL NVIDIA-Hopper-Benchmark, distributed shared memory).
constexpr double assumed_cluster_latency = 181.0;

/// Clocks of a load that hits L1, where the profile has none of its own: about what every GPU since Volta
/// takes.
constexpr double assumed_l1_latency = 32.0;

/// Multiply-adds of 32-bit integers against those of floats, per clock of an SM: 64 of 128 on compute
/// capability 8.6 to 9.0 (CUDA C++ Programming Guide, throughput of native arithmetic instructions). 8-bit
/// elements are summed by them.
constexpr double integer_share = 0.5;
constexpr double products_of_a_dot = 4.0; // at the same rate: what a kernel of dot products could reach

/// The numbers of a profile that tier 2 uses, unwrapped.
struct Machine {
    double schedulers, clock, latency_s, read_bw, write_bw, l2_bw, l2_latency_s, ffma_rate, outer_rate,
        snaked_rate, shared_bw, launch_s, gap_s, barrier_s, knee, issue_rate, cta_s, ffma_latency, l1_latency;
    double dependent_share, cold_start_s, first_wave_miss; ///< of the calibration
    int sm_count;
    bool fills_issue;   ///< multiply-adds take every issue slot at their peak rate
    double tensor_rate; ///< 0: not known; plans that need it have no time then
};

/// FFMAs per clock of an outer product of 8 by 4 that is walked back and forth, so that each FFMA has an
/// operand at hand from the one before; 0 where the profile has no sweep over outer products. Larger tiles
/// are made of such blocks.
double snaked_rate(const GpuProfile &p) {
    constexpr double products = 32.0;
    const auto found = p.curves.find("ffma_by_operands");
    if (found == p.curves.end())
        return 0.0;
    for (const CurveSeries &series : found->second.series)
        for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i)
            if (series.x[i] == products)
                return series.y[i];
    return 0.0;
}

/// For elements of `type`; halves are widened and multiplied as floats.
Machine machine_of(const GpuProfile &p, DataType type, const Calibration &calibration) {
    Machine m{};
    m.schedulers = p.limits.schedulers_per_sm;
    m.clock = p.sm_clock->value.value;
    m.latency_s = p.dram_latency->value.value / m.clock;
    m.read_bw = p.dram_read_bandwidth->value.value;
    m.write_bw = p.dram_write_bandwidth ? p.dram_write_bandwidth->value.value : m.read_bw;
    m.l2_bw = p.l2_read_bandwidth ? p.l2_read_bandwidth->value.value : 2.0 * m.read_bw;
    m.l2_latency_s = p.l2_latency ? p.l2_latency->value.value / m.clock : m.latency_s / 2.0;
    const double share = type == DataType::i8 ? integer_share : 1.0;
    m.fills_issue = type != DataType::i8;
    m.ffma_rate = p.ffma_rate->value.value * (type == DataType::i8 ? share * products_of_a_dot : 1.0);
    m.outer_rate = (p.ffma_outer_rate ? *p.ffma_outer_rate : *p.ffma_rate).value.value * share;
    m.snaked_rate = std::max(m.outer_rate, snaked_rate(p) * share);
    m.shared_bw = p.shared_bandwidth->value.value;
    m.launch_s = p.launch_floor->value.value;
    m.gap_s = p.launch_gap ? p.launch_gap->value.value : m.launch_s;
    m.barrier_s = p.barrier_latency ? p.barrier_latency->value.value / m.clock : 0.0;
    m.knee = p.knee_exponent ? p.knee_exponent->value.value : assumed_knee_exponent;
    m.issue_rate = p.limits.schedulers_per_sm * calibration.issue_efficiency;
    m.outer_rate *= calibration.issue_efficiency;
    m.snaked_rate *= calibration.issue_efficiency;
    m.dependent_share = calibration.dependent_share;
    m.cold_start_s = calibration.cold_start_s;
    m.first_wave_miss = calibration.first_wave_miss;
    m.sm_count = p.limits.sm_count;
    m.ffma_latency = p.ffma_latency ? p.ffma_latency->value.value : assumed_ffma_latency;
    m.l1_latency = p.l1_latency ? p.l1_latency->value.value : assumed_l1_latency;
    m.cta_s = p.cta_launch_time ? p.cta_launch_time->value.value : 0.0;
    m.tensor_rate = p.tf32_mma_rate ? p.tf32_mma_rate->value.value : 0.0;
    return m;
}

Seconds s(double value) {
    return Seconds(value);
}

template <Yield T> T fma_leaf(double fmas, double rate, const Machine &m) {
    return leaf<T>("FMA", s(fmas / rate / m.clock), "{:.0f} fma / {:.1f} fma/clk / {:.0f} MHz", fmas, rate,
                   m.clock / 1e6);
}

constexpr const char *tensor_name = "tensor cores";

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

constexpr const char *core_name = "issue slots and shared memory";

double busy_warps(const Partition &part) {
    return static_cast<double>(std::max<std::int64_t>(1, part.busy_warps));
}

/// Warps of the busiest scheduler over those of an average one. Warps are dealt out to the schedulers in
/// turn; where a CTA has a whole number of them for each, its busy ones, the first, meet those of the other
/// CTAs.
double imbalance(const Partition &part, const Machine &m) {
    const double schedulers = m.schedulers, warps = busy_warps(part);
    if (part.threads % static_cast<std::int64_t>(32.0 * schedulers) != 0)
        return 1.0;
    return std::ceil(warps / schedulers) * schedulers / warps;
}

/// Jobs in the queue of that scheduler.
double queued_warps(const Partition &part, double ctas, const Machine &m) {
    return ctas * busy_warps(part) * imbalance(part, m) / m.schedulers;
}

/// How well two resources overlap that each of `warps` warps of a scheduler uses in turn (F5): a closed queue
/// of two stations takes (warps + 1) / warps of the time of the longer where both take as long. As a p-norm:
/// one warp adds the times, many hide the shorter.
double overlap_exponent(double warps) {
    return std::log(2.0) / std::log1p(1.0 / std::max(1.0, warps));
}

/// What the cores of an SM need for the work of `ctas` CTAs. With 128 lanes an SM, an FFMA takes an issue
/// slot of its scheduler like any other instruction, so their times add (F3); beside an integer multiply-add,
/// which keeps its pipe busy for two clocks, another instruction issues. Shared memory works beside them as
/// far as there are warps to use both.
template <Yield T> T busy_term(const Partition &part, const StepWork &work, double ctas, const Machine &m) {
    const double uneven = imbalance(part, m);
    const double all_others = std::max(0.0, work.instructions - work.fmas / 32.0);
    const double copying = std::min(all_others, work.copying); // by all warps
    const double others = (all_others - copying) * uneven + copying, fmas = work.fmas * uneven;
    const double fma_rate = part.snaked && part.independent_sums >= 32 ? m.snaked_rate : m.outer_rate;
    constexpr double wavefront_bytes = 128.0;
    const double passes = work.shared_wavefronts + work.load_bytes / wavefront_bytes * part.copy_passes;
    T issue = sum<T>("issue slots", {fma_leaf<T>(ctas * fmas, fma_rate, m), issue_leaf<T>(ctas * others, m)});
    if (!m.fills_issue)
        issue = max_of<T>("issue slots", {fma_leaf<T>(ctas * fmas, fma_rate, m),
                                          issue_leaf<T>(ctas * (others + fmas / 32.0), m)});
    if (part.pace && part.pace->alu_share > 0.0)
        issue = pnorm<T>("issue slots and pipes", 3.0,
                         {std::move(issue), alu_leaf<T>(ctas * others * part.pace->alu_share, m)});
    List<T> pipes = {std::move(issue),
                     leaf<T>("shared memory", s(ctas * passes * wavefront_bytes / m.shared_bw / m.clock),
                             "{:.0f} passes * 128 B / {:.1f} B/clk / {:.0f} MHz", ctas * passes, m.shared_bw,
                             m.clock / 1e6)};
    T busy = pnorm<T>(core_name, overlap_exponent(queued_warps(part, ctas, m)), std::move(pipes));
    if (work.tensor_fmas) // beside the warps, which only start it
        return max_of<T>("cores", {std::move(busy), tensor_leaf<T>(ctas * *work.tensor_fmas, m)});
    return busy;
}

/// A warp alone cannot issue faster than its chains of dependent instructions allow: FFMAs wait for each
/// other within a sum; of addresses, loads and their uses every second waits for the one before. What the
/// busy warps compute, and what all warps, or others beside them, copy.
template <Yield T> T chain_leaf(const Partition &part, const StepWork &work, const Machine &m) {
    const bool once = &work != &part.step;
    const double ffmas = work.fmas / 32.0;
    const double others = std::max(0.0, work.instructions - ffmas), copying = std::min(others, work.copying);
    const double sums = static_cast<double>(std::max<std::int64_t>(1, part.independent_sums));
    // Where no kernel was counted: of addresses, loads and their uses each waits for the one before.
    const Pace pace = part.pace.value_or(Pace{1.0, m.ffma_latency, m.ffma_latency, 0.0});
    const auto waiting = [&](double its_clocks) { return 1.0 + (its_clocks - 1.0) * m.dependent_share; };
    const double copy_clocks = waiting(pace.once_clocks),
                 clocks = once ? copy_clocks : waiting(pace.other_clocks);
    const double computing =
        (ffmas * std::max(waiting(pace.ffma_clocks), m.ffma_latency / sums) + (others - copying) * clocks) /
        busy_warps(part);
    const double all_warps = std::max(busy_warps(part), static_cast<double>(part.threads) / 32.0);
    const double chain =
        part.copy_warps > 0
            ? std::max(computing, copying * copy_clocks / static_cast<double>(part.copy_warps))
            : computing + copying * copy_clocks / all_warps + work.l1_waits * m.l1_latency;
    return leaf<T>("dependent instructions", s(chain / m.clock), "{:.0f} clk of one warp / {:.0f} MHz", chain,
                   m.clock / 1e6);
}

/// The arithmetic of one step, or of what a CTA does once, for `ctas` CTAs of an SM: their warps share its
/// issue slots and its shared memory, each is held up by its own chain.
template <Yield T>
T core_term(const char *name, const Partition &part, const StepWork &work, double ctas, const Machine &m) {
    T alone = chain_leaf<T>(part, work, m);
    if (work.tensor_fmas) // a warp splits its pixels, then waits for the products of its CTA
        alone = sum<T>("one CTA", {std::move(alone), tensor_leaf<T>(*work.tensor_fmas, m)});
    return queue<T>(name, queued_warps(part, ctas, m), busy_term<T>(part, work, ctas, m), std::move(alone));
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
    double store_factor; ///< bytes of the sectors written per byte of output: rows that are not aligned share
                         ///< sectors
};

Traffic traffic_of(const Partition &part, const ConvShape &shape) {
    const double reads = part.work.l2_read_bytes.value_or(0.0);
    const double dram = part.work.dram_read_bytes.value_or(reads);
    if (part.filter_count == 0) // prepares filters: whole sectors
        return {reads > 0.0 ? std::min(1.0, dram / reads) : 0.0, 1.0};
    const double output = static_cast<double>(shape.output_bytes()) * static_cast<double>(part.filter_count) /
                          static_cast<double>(shape.k);
    return {reads > 0.0 ? std::min(1.0, dram / reads) : 0.0,
            std::max(1.0, part.work.l2_write_bytes.value_or(output) / output)};
}

/// The memory's share of a step: L2 passes every byte, DRAM's bus carries reads and writes in turn.
template <Yield T> T memory_term(double loads, double stores, const Traffic &traffic, const Machine &m) {
    return max_of<T>("memory",
                     {bandwidth_leaf<T>("L2 reads", loads, m.l2_bw),
                      sum<T>("DRAM", {bandwidth_leaf<T>("DRAM reads", loads * traffic.dram_share, m.read_bw),
                                      bandwidth_leaf<T>("writes", stores, m.write_bw)})});
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
/// the first of them a moment ago, and all wait for it (F8). Later ones find it in L2.
double step_latency(const Round &round, const Traffic &traffic, const Machine &m) {
    const double miss = round.first ? std::max(traffic.dram_share, m.first_wave_miss) : traffic.dram_share;
    return miss * m.latency_s + std::max(0.0, 1.0 - miss) * m.l2_latency_s;
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
        // bandwidth.
        List<T> both = {core_term<T>("arithmetic", part, part.step, round.ctas, m)};
        if (part.stages > 1)
            both.push_back(pnorm<T>(
                "loads", m.knee,
                {latency_leaf<T>(latency, static_cast<double>(part.stages - 1)), std::move(memory)}));
        else
            both.push_back(std::move(memory));
        List<T> step = {max_of<T>("overlap", std::move(both))};
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
StepWork of_all_warps(StepWork work) {
    work.copying = work.instructions;
    return work;
}

template <Yield T> T wave_term(const Partition &part, const Machine &m, Round round, const Traffic &traffic) {
    const double chip = round.ctas * round.sms;
    // In the first round all CTAs ask for new data at once: whoever is first fetches them from DRAM, and all
    // wait for that.
    const double latency =
        round.first ? m.latency_s
                    : traffic.dram_share * m.latency_s + (1.0 - traffic.dram_share) * m.l2_latency_s;
    const double first_loads = chip * (part.step.load_bytes + part.drain.load_bytes);
    // The launch floor is that of a CTA on each SM; further ones start one after another.
    const double further = std::max(0.0, chip - m.sm_count);
    T fill = sum<T>(
        "fill", {pnorm<T>("first loads", m.knee,
                          {leaf<T>("load latency", s(latency), "{:.0f} ns to the first data", latency * 1e9),
                           bandwidth_leaf<T>("DRAM reads", first_loads * traffic.dram_share, m.read_bw),
                           bandwidth_leaf<T>("L2 reads", first_loads, m.l2_bw)}),
                 leaf<T>("CTA starts", s(further * m.cta_s), "{:.0f} further CTAs * {:.2f} ns", further,
                         m.cta_s * 1e9)});
    T last = max_of<T>(
        "last step",
        {core_term<T>("arithmetic", part, part.step, round.ctas, m),
         bandwidth_leaf<T>("writes", chip * part.step.store_bytes * traffic.store_factor, m.write_bw)});
    T ends = max_of<T>(
        "start and store",
        {core_term<T>("arithmetic", part, of_all_warps(part.drain), round.ctas, m),
         bandwidth_leaf<T>("writes", chip * part.drain.store_bytes * traffic.store_factor, m.write_bw)});
    List<T> drained = {std::move(last), std::move(ends),
                       leaf<T>("store latency", s(m.l2_latency_s), "{:.0f} ns until L2 has the last store",
                               m.l2_latency_s * 1e9)};
    if (part.cluster.value_or(1) > 1) {
        // Its CTAs wait for each other before and after they read the others' sums; each time what they
        // stored must be seen first.
        const double meeting = m.l2_latency_s + assumed_cluster_latency / m.clock;
        drained.push_back(leaf<T>("cluster", s(2.0 * meeting + assumed_cluster_latency / m.clock),
                                  "two barriers of {:.0f} ns and a round of reads", meeting * 1e9));
    }
    T drain = sum<T>("drain", std::move(drained));
    return pipeline<T>("CTA pipeline", static_cast<double>(part.steps), std::move(fill),
                       step_term<T>(part, m, round, traffic), std::move(drain));
}

/// A full wave behind the first: CTAs no longer start together, so that one fills while another computes.
template <Yield T>
T further_wave_term(const Partition &part, const Machine &m, Round round, const Traffic &traffic) {
    const double chip = round.ctas * round.sms, steps = static_cast<double>(part.steps);
    StepWork whole = part.drain;
    whole.fmas += steps * part.step.fmas;
    whole.instructions += steps * part.step.instructions;
    whole.shared_wavefronts += steps * part.step.shared_wavefronts;
    whole.l1_waits += steps * part.step.l1_waits;
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
    return queue<T>("further wave", round.ctas, std::move(busy), wave_term<T>(part, m, one, traffic));
}

template <Yield T> T partition_term(const Partition &part, const ConvShape &shape, const Machine &m) {
    const Traffic traffic = traffic_of(part, shape);
    const std::int64_t sms = usable_sms(part, m.sm_count);
    const std::int64_t slots = part.ctas_per_sm * sms, busy = part.ctas - part.idle_ctas;
    const std::int64_t full = busy / slots, rest = busy % slots;
    const Round full_round{static_cast<double>(part.ctas_per_sm), static_cast<double>(sms), true};
    List<T> waves;
    if (full > 0)
        waves.push_back(wave_term<T>(part, m, full_round, traffic));
    T tail = leaf<T>("tail", s(0.0), "no partial wave");
    if (rest > 0) {
        // Halves of a share lie a whole number of SMs apart in the grid: those with work meet on the same
        // SMs.
        const bool pairs = part.idle_ctas > 0 && part.grid[0] == 2 * part.parts && part.ctas <= slots;
        constexpr std::int64_t halves = 2;
        const std::int64_t most = pairs ? halves : papers::ceil_div(rest, sms);
        const Round last{
            static_cast<double>(most),
            static_cast<double>(std::min<std::int64_t>(pairs ? papers::ceil_div(rest, most) : rest, sms)),
            full == 0};
        tail = wave_term<T>(part, m, last, traffic);
    }
    T further = full > 1 ? further_wave_term<T>(part, m, full_round, traffic)
                         : leaf<T>("further wave", s(0.0), "no further wave");
    waves.push_back(schedule<T>("waves", std::max(0.0, static_cast<double>(full - 1)), std::move(further),
                                std::move(tail)));
    if (part.idle_ctas > 0)
        waves.push_back(leaf<T>("CTA starts", s(static_cast<double>(part.idle_ctas) * m.cta_s),
                                "{} CTAs without work * {:.2f} ns", part.idle_ctas, m.cta_s * 1e9));
    if (part.constant_bytes > 0)
        waves.insert(waves.begin(), leaf<T>("filters to constant memory", s(m.launch_s + m.gap_s),
                                            "one copy of {} B: launch floor and gap", part.constant_bytes));
    return sum<T>(part.kernel, std::move(waves));
}

Work total_work(const Plan &plan) {
    Work total;
    const auto add = [&](std::optional<double> Work::*field) {
        for (const std::vector<Partition> *launches : {&plan.prepare, &plan.launches})
            for (const Partition &part : *launches)
                if (part.work.*field)
                    total.*field = (total.*field).value_or(0.0) + *(part.work.*field);
    };
    for (const auto field : {&Work::fmas, &Work::tensor_fmas, &Work::instructions, &Work::shared_wavefronts,
                             &Work::shared_conflicts, &Work::l2_read_bytes, &Work::l2_write_bytes,
                             &Work::dram_read_bytes, &Work::dram_write_bytes})
        add(field);
    return total;
}

/// Relative half-widths of the inputs' own spread do not say how wrong the model's structure is; until
/// residuals of recorded runs give an interval, the range is from the speed of light to the tree with nothing
/// overlapped.
Seconds without_overlap(const Term &term) {
    if (term.kind == TermKind::leaf)
        return term.value_s;
    std::vector<double> values;
    double total = 0.0;
    for (const Term &child : term.children) {
        values.push_back(without_overlap(child).value);
        total += values.back();
    }
    const double count = term.count.value_or(0.0);
    if (term.kind == TermKind::pipeline)
        return Seconds(values.at(0) + std::max(0.0, count - 1.0) * values.at(1) + values.at(2));
    if (term.kind == TermKind::schedule)
        return Seconds(count * values.at(0) + values.at(1));
    if (term.kind == TermKind::queue)
        return Seconds(values.at(0) + values.at(1));
    return Seconds(total);
}

/// No forecast is below the speed of light, also where a step's bytes were counted low.
template <Yield T> T bounded(T term, const T &bound) {
    const Seconds short_of_it = value_of(bound) - value_of(term);
    if (short_of_it.value > 0.0)
        return evaluated(
            sum<T>("time", {std::move(term), leaf<T>("speed of light", short_of_it,
                                                     "the bound of tier 0 exceeds the pipeline's sum")}));
    return term;
}

/// What a wave-quantised roofline makes of a plan (NeuSight's tile model without its learned utilisation):
/// the CTAs run in whole waves, each wave at the peak of its FMAs or of its bytes, whichever takes longer.
Seconds wave_roofline(const Plan &plan, const Machine &m) {
    double total = 0.0;
    for (const std::vector<Partition> *launches : {&plan.prepare, &plan.launches})
        for (const Partition &part : *launches) {
            const double steps = static_cast<double>(part.steps);
            const double chip = static_cast<double>(part.ctas_per_sm) * m.sm_count;
            const double fmas = steps * part.step.fmas + part.drain.fmas;
            const double bytes = steps * (part.step.load_bytes + part.step.store_bytes) +
                                 part.drain.load_bytes + part.drain.store_bytes;
            const double compute = static_cast<double>(part.ctas_per_sm) * fmas / m.ffma_rate / m.clock;
            total += m.launch_s + static_cast<double>(part.waves) * std::max(compute, chip * bytes / m.l2_bw);
        }
    return Seconds(total);
}

} // namespace

Plan with_work(Plan plan, const Work &counted) {
    const Work forecast = total_work(plan);
    const auto ratio = [&](std::optional<double> Work::*field) {
        const std::optional<double> &ours = forecast.*field, &theirs = counted.*field;
        return ours && theirs && *ours > 0.0 ? *theirs / *ours : 1.0;
    };
    // FFMAs are instructions too: what is scaled is the others.
    const double ffmas = forecast.fmas.value_or(0.0) / 32.0;
    const double others = forecast.instructions.value_or(0.0) - ffmas;
    const double other_ratio =
        others > 0.0 && counted.instructions
            ? std::max(0.0, *counted.instructions - ffmas * ratio(&Work::fmas)) / others
            : 1.0;
    const double wavefronts = ratio(&Work::shared_wavefronts), loads = ratio(&Work::l2_read_bytes);
    for (std::vector<Partition> *launches : {&plan.prepare, &plan.launches})
        for (Partition &part : *launches) {
            for (StepWork *work : {&part.step, &part.drain}) {
                const double its_ffmas = work->fmas / 32.0;
                const double its_others = std::max(0.0, work->instructions - its_ffmas);
                work->fmas *= ratio(&Work::fmas);
                work->instructions = work->fmas / 32.0 + its_others * other_ratio;
                work->copying *= other_ratio;
                work->shared_wavefronts *= wavefronts;
                work->load_bytes *= loads;
            }
            for (const auto field : {&Work::l2_read_bytes, &Work::l2_write_bytes, &Work::dram_read_bytes})
                if (part.work.*field)
                    part.work.*field = *(part.work.*field) * ratio(field);
        }
    return plan;
}

std::int64_t usable_sms(const Partition &part, std::int64_t sm_count) {
    const std::int64_t cluster = part.cluster.value_or(1);
    constexpr std::int64_t pair = 2; // SMs come in pairs, which share a cluster always
    constexpr double found = 0.94;
    return cluster <= pair
               ? sm_count
               : std::max<std::int64_t>(1, static_cast<std::int64_t>(found * static_cast<double>(sm_count)) /
                                               cluster) *
                     cluster;
}

std::string missing_for_forecast(const GpuProfile &p) {
    std::vector<std::string> missing;
    const auto need = [&](const char *name, bool there) {
        if (!there) {
            const auto why = p.missing.find(name);
            missing.push_back(name + (why == p.missing.end() ? "" : " (" + why->second + ")"));
        }
    };
    need("sm_clock", p.sm_clock.has_value());
    need("dram_latency", p.dram_latency.has_value());
    need("dram_read_bandwidth", p.dram_read_bandwidth.has_value());
    need("ffma_rate", p.ffma_rate.has_value());
    need("shared_bandwidth", p.shared_bandwidth.has_value());
    need("launch_floor", p.launch_floor.has_value());
    return join(missing);
}

std::string missing_for_forecast(const GpuProfile &p, const Plan &plan) {
    std::string missing = missing_for_forecast(p);
    if (uses_tensor_cores(plan) && !p.tf32_mma_rate) {
        const auto why = p.missing.find("tf32_mma_rate");
        missing += (missing.empty() ? "" : ", ") + std::string("tf32_mma_rate") +
                   (why == p.missing.end() ? "" : " (" + why->second + ")");
    }
    return missing;
}

Regime regime_by_rule(double fmas, double n_fma, double bytes, double v_s_bytes) {
    if (fmas >= n_fma)
        return Regime::compute_hidden;
    return bytes >= v_s_bytes ? Regime::bulk_hidden : Regime::exposed;
}

Regime measured_regime(double fma_share, double issue_share, double dram_share, double l2_share) {
    if (std::max(fma_share, issue_share) >= busy_fma_share)
        return Regime::compute_hidden;
    return std::max(dram_share, l2_share) >= busy_memory_share ? Regime::bulk_hidden : Regime::exposed;
}

const Partition &main_launch(const Plan &plan) {
    const auto products = [](const Partition &part) {
        return part.work.fmas.value_or(0.0) + part.work.tensor_fmas.value_or(0.0);
    };
    return *std::max_element(
        plan.launches.begin(), plan.launches.end(),
        [&](const Partition &a, const Partition &b) { return products(a) < products(b); });
}

namespace {

/// S1 with the time that the products take an SM.
template <Yield T> T bound_of(const ConvShape &shape, const Machine &m, T arithmetic) {
    const double reads = static_cast<double>(shape.input_bytes() + shape.filter_bytes());
    return evaluated(sum<T>(
        "speed of light",
        {leaf<T>("launch", s(m.launch_s), "{:.2f} us", m.launch_s * 1e6),
         max_of<T>("overlap",
                   {std::move(arithmetic),
                    pnorm<T>("compulsory reads", m.knee,
                             {leaf<T>("load latency", s(m.latency_s), "{:.0f} ns", m.latency_s * 1e9),
                              bandwidth_leaf<T>("DRAM reads", reads, m.read_bw)}),
                    bandwidth_leaf<T>("writes", static_cast<double>(shape.output_bytes()), m.write_bw)})}));
}

/// Of a plan: its tensor cores multiply the parts of the factors, so often as its work says; a transforming
/// algorithm has multiply-adds of its own.
template <Yield T> T bound_of(const Plan &plan, const ConvShape &shape, const Machine &m) {
    const double products = shape.fmas().value / m.sm_count;
    return bound_of<T>(
        shape, m,
        uses_tensor_cores(plan)
            ? tensor_leaf<T>(products_of_parts * products, m)
            : fma_leaf<T>(plan.transformed_fmas.value_or(shape.fmas().value) / m.sm_count, m.ffma_rate, m));
}

/// Tier 2 of a plan.
template <Yield T> T plan_term(const Plan &plan, const ConvShape &shape, const Machine &m) {
    List<T> parts = {leaf<T>("launch", s(m.launch_s), "{:.2f} us", m.launch_s * 1e6)};
    // The start of a launch that starts early is hidden behind the one before it.
    std::int64_t further = -1;
    for (const std::vector<Partition> *launches : {&plan.prepare, &plan.launches})
        further += std::count_if(launches->begin(), launches->end(),
                                 [](const Partition &part) { return !part.early.value_or(false); });
    if (further > 0)
        parts.push_back(leaf<T>("further launches", s(static_cast<double>(further) * m.gap_s),
                                "{} * {:.2f} us", further, m.gap_s * 1e6));
    if (m.cold_start_s > 0.0)
        parts.push_back(leaf<T>("cold start", s(static_cast<double>(further + 1) * m.cold_start_s),
                                "{} * {:.2f} us until instructions are cached", further + 1,
                                m.cold_start_s * 1e6));
    for (const std::vector<Partition> *launches : {&plan.prepare, &plan.launches})
        for (const Partition &part : *launches)
            parts.push_back(partition_term<T>(part, shape, m));
    return evaluated(sum<T>("time", std::move(parts)));
}

} // namespace

std::optional<Term> speed_of_light(const ConvShape &shape, const GpuProfile &p, std::optional<double> fmas) {
    if (!missing_for_forecast(p).empty())
        return std::nullopt;
    const Machine m = machine_of(p, shape.dtype, {});
    return bound_of<Term>(shape, m,
                          fma_leaf<Term>(fmas.value_or(shape.fmas().value) / m.sm_count, m.ffma_rate, m));
}

std::optional<Term> forecast_term(const Plan &plan, const ConvShape &shape, const GpuProfile &profile,
                                  const Calibration &calibration) {
    if (!missing_for_forecast(profile, plan).empty())
        return std::nullopt;
    return plan_term<Term>(plan, shape, machine_of(profile, shape.dtype, calibration));
}

std::optional<CallTimes> call_times(const Plan &plan, const ConvShape &shape, const GpuProfile &profile,
                                    const Calibration &calibration) {
    if (!missing_for_forecast(profile, plan).empty())
        return std::nullopt;
    const Machine m = machine_of(profile, shape.dtype, calibration);
    CallTimes times{s(m.launch_s), s(m.gap_s), s(m.cold_start_s), {}};
    for (const std::vector<Partition> *launches : {&plan.prepare, &plan.launches})
        for (const Partition &part : *launches) {
            const Traffic traffic = traffic_of(part, shape);
            const double sms =
                static_cast<double>(std::min(part.ctas - part.idle_ctas, usable_sms(part, m.sm_count)));
            CtaStay &stay = times.stays.emplace_back();
            stay.idle = s(m.l2_latency_s); // it looks at its arguments and leaves
            stay.before_s = part.constant_bytes > 0 ? s(m.launch_s + m.gap_s) : s(0.0);
            for (std::int64_t ctas = 1; ctas <= part.ctas_per_sm; ++ctas) {
                const Round round{static_cast<double>(ctas), sms, true};
                stay.first.push_back(wave_term<Seconds>(part, m, round, traffic));
                stay.later.push_back(further_wave_term<Seconds>(part, m, round, traffic));
            }
        }
    return times;
}

std::optional<Seconds> forecast_time(const Plan &plan, const ConvShape &shape, const GpuProfile &profile,
                                     const Calibration &calibration) {
    if (!missing_for_forecast(profile, plan).empty())
        return std::nullopt;
    return plan_term<Seconds>(plan, shape, machine_of(profile, shape.dtype, calibration));
}

namespace {

Case refused_case(const Strategy &strategy, const ConvShape &shape, Infeasible why) {
    Case out;
    out.shape = shape.id();
    out.strategy = to_text(strategy);
    out.status = why.unsupported ? Status::unsupported : Status::infeasible;
    out.reason = std::move(why.why);
    return out;
}

/// A plan as it is forecast: with what its kernels were counted to do.
std::variant<PlannedStrategy, Infeasible> counted_plan(const Strategy &strategy, const ConvShape &shape,
                                                       const GpuProfile &profile) {
    auto planned = plan(strategy, shape, profile);
    if (auto *good = std::get_if<PlannedStrategy>(&planned);
        good && shape.dtype == DataType::f32) // whose kernels were counted
        good->feasible.plan = with_facts(std::move(good->feasible.plan), shipped_facts());
    return planned;
}

/// What a prediction's time is, by the best calibration there is, without the prediction.
std::optional<Seconds> predicted_time(const Plan &plan, const ConvShape &shape, const GpuProfile &profile) {
    if (!missing_for_forecast(profile, plan).empty())
        return std::nullopt;
    const Calibration *fitted = shipped_calibration(profile.id);
    const Machine zero_fit = machine_of(profile, shape.dtype, {});
    const Machine m = fitted ? machine_of(profile, shape.dtype, *fitted) : zero_fit;
    return bounded(plan_term<Seconds>(plan, shape, m), bound_of<Seconds>(plan, shape, zero_fit));
}

Case predict(PlannedStrategy good, const ConvShape &shape, const GpuProfile &profile, const Work *given) {
    Case out;
    out.shape = shape.id();
    Feasible &feasible = good.feasible;
    out.strategy = to_text(good.strategy);
    out.status = Status::ok;

    Prediction prediction;
    prediction.assumptions = std::move(feasible.assumptions);
    prediction.work = total_work(feasible.plan);
    Regimes regimes;
    const Partition &main = main_launch(feasible.plan);
    if (feasible.rules.n_fma) {
        regimes.paper = regime_by_rule(feasible.paper_round_fmas, static_cast<double>(*feasible.rules.n_fma),
                                       feasible.paper_round_bytes * profile.limits.sm_count,
                                       static_cast<double>(*feasible.rules.v_s_bytes));
    }
    if (const std::string missing = missing_for_forecast(profile, feasible.plan); missing.empty()) {
        const Machine m = machine_of(profile, shape.dtype, {});
        // The physical rule: FMAs that one SM retires during one latency, and bytes that are really under
        // way.
        const double resident =
            static_cast<double>(std::min(main.ctas_per_sm, papers::ceil_div(main.ctas, m.sm_count)));
        const double active = static_cast<double>(std::min<std::int64_t>(main.ctas, m.sm_count));
        regimes.physical = regime_by_rule(resident * main.step.tensor_fmas.value_or(main.step.fmas),
                                          profile.dram_latency->value.value *
                                              (main.step.tensor_fmas ? m.tensor_rate : m.ffma_rate),
                                          resident * active * main.step.load_bytes *
                                              static_cast<double>(std::max<std::int64_t>(1, main.stages - 1)),
                                          m.read_bw * m.latency_s);
        if (!profile.knee_exponent)
            prediction.assumptions.push_back(fmt::format("knee exponent {}: the profile has none", m.knee));
        if (!profile.ffma_outer_rate)
            prediction.assumptions.push_back(
                "FFMAs of three registers at full rate: the profile has no outer rate");
        if (!profile.l2_read_bandwidth)
            prediction.assumptions.push_back("L2 bandwidth twice DRAM's: the profile has none");
        if (!profile.l2_latency)
            prediction.assumptions.push_back("L2 latency half of DRAM's: the profile has none");
        if (!profile.barrier_latency)
            prediction.assumptions.push_back("barriers free: the profile has no barrier latency");
        const Plan worked = given ? with_work(feasible.plan, *given) : feasible.plan;
        if (given)
            prediction.assumptions.push_back("time of the work that was counted");
        const Term bound = bound_of<Term>(feasible.plan, shape, m);
        prediction.times.tier0_s = bound.value_s;
        prediction.times.roofline_s = wave_roofline(worked, m);
        prediction.times.mwp_cwp_s = mwp_cwp_time(worked, profile);
        const Calibration *fitted = shipped_calibration(profile.id);
        prediction.times.tier2_s = bounded(plan_term<Seconds>(worked, shape, m), bound.value_s);
        const Utilisation busy = utilisation_of(worked, *prediction.work, *prediction.times.tier2_s, profile);
        regimes.tier2 = measured_regime(busy.fma, busy.issue, busy.dram, busy.l2);
        Term term = bounded(
            plan_term<Term>(worked, shape, fitted ? machine_of(profile, shape.dtype, *fitted) : m), bound);
        if (fitted)
            prediction.times.fitted_s = term.value_s;
        prediction.time_s = term.value_s;
        // Nine of ten of the training part lie inside; without one, the structure's own bounds.
        prediction.time_low_s =
            fitted ? std::max(bound.value_s, term.value_s * fitted->ratio_p05) : bound.value_s;
        prediction.time_high_s = fitted ? std::max(*prediction.time_low_s, term.value_s * fitted->ratio_p95)
                                        : without_overlap(term);
        prediction.limiter = limiter(term);
        prediction.term = std::move(term);
    } else {
        prediction.reason =
            "no time: the profile " + profile.id + " lacks " + missing +
            (missing.find('(') == std::string::npos ? "; `convcast measure` finds it on a GPU at hand" : "");
    }
    prediction.regimes = regimes;
    feasible.rules.round_fmas = feasible.paper_round_fmas;
    feasible.rules.round_bytes = feasible.paper_round_bytes * profile.limits.sm_count;
    prediction.rules = std::move(feasible.rules);
    prediction.plan = std::move(feasible.plan);
    out.prediction = std::move(prediction);
    return out;
}

} // namespace

Case predict(const Strategy &strategy, const ConvShape &shape, const GpuProfile &profile, const Work *given) {
    auto planned = counted_plan(strategy, shape, profile);
    if (auto *why = std::get_if<Infeasible>(&planned))
        return refused_case(strategy, shape, std::move(*why));
    return predict(std::move(std::get<PlannedStrategy>(planned)), shape, profile, given);
}

Case predict_baseline(const std::string &baseline, const ConvShape &shape, const GpuProfile &profile) {
    Case out;
    out.shape = shape.id();
    out.baseline = baseline;
    out.status = Status::ok;
    Prediction prediction;
    prediction.assumptions = {"speed of light only: a bound, no forecast of others' code"};
    // Of halves others may multiply on tensor cores, whose rate no probe measures.
    const std::optional<double> fmas =
        shape.dtype == DataType::f32 ? std::nullopt : std::optional<double>(0.0);
    if (const std::optional<Term> bound = speed_of_light(shape, profile, fmas))
        prediction.times.tier0_s = bound->value_s;
    prediction.reason = "others' code has a bound (tier0_s), no plan and no forecast";
    out.prediction = std::move(prediction);
    return out;
}

std::vector<Case> choose(const ConvShape &shape, const GpuProfile &profile,
                         const std::vector<std::string> &strategies, std::size_t top) {
    struct Candidate {
        std::size_t of = 0; ///< index of its strategy
        Strategy setting;
        std::optional<PlannedStrategy> planned;
        Infeasible why; ///< where nothing is planned
        std::optional<Seconds> time;
        std::string text;
    };
    const std::vector<std::string> names = strategies.empty() ? strategy_names() : strategies;
    std::vector<Candidate> all;
    for (std::size_t i = 0; i < names.size(); ++i)
        for (const Strategy &setting : candidates(names[i])) {
            Candidate &item = all.emplace_back();
            item.of = i;
            item.setting = setting;
        }
    in_parallel(all.size(), [&](std::size_t i) {
        Candidate &item = all[i];
        auto result = counted_plan(item.setting, shape, profile);
        if (auto *why = std::get_if<Infeasible>(&result)) {
            item.why = std::move(*why);
            return;
        }
        item.planned = std::move(std::get<PlannedStrategy>(result));
        item.time = predicted_time(item.planned->feasible.plan, shape, profile);
        item.text = to_text(item.planned->strategy);
    });

    std::vector<Candidate *> ranked;
    std::vector<Candidate *> refused(names.size()); // the first setting that was, where none was feasible
    std::vector<std::set<std::string>> seen(names.size());
    for (Candidate &item : all) {
        if (item.planned) {
            if (seen[item.of].insert(item.text).second)
                ranked.push_back(&item);
        } else if (!refused[item.of]) {
            refused[item.of] = &item;
        }
    }
    const auto place_of = [&](const Candidate *item) {
        return std::tuple(uses_tensor_cores(names[item->of]), item->time ? item->time->value : 0.0,
                          std::string_view(item->text));
    };
    std::sort(ranked.begin(), ranked.end(),
              [&](const Candidate *a, const Candidate *b) { return place_of(a) < place_of(b); });
    ranked.resize(std::min(ranked.size(), top));
    std::vector<Case> chosen(ranked.size());
    in_parallel(ranked.size(), [&](std::size_t i) {
        chosen[i] = predict(std::move(*ranked[i]->planned), shape, profile, nullptr);
    });
    for (std::size_t i = 0; i < names.size(); ++i)
        if (seen[i].empty() && refused[i])
            chosen.push_back(refused_case(refused[i]->setting, shape, std::move(refused[i]->why)));
    return chosen;
}

} // namespace convcast
