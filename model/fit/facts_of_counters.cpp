#include "model/fit/facts_of_counters.hpp"

#include "model/base/statistics.hpp"
#include "model/work/compiled.hpp"
#include "model/work/l2_sectors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

namespace {

/// What the four coefficients of a kernel are multiplied with (W1; model/work/compiled.hpp).
using Features = InstructionFeatures;
constexpr std::size_t features = instruction_features;

constexpr std::size_t kinds = 3; // FFMAs; other instructions of steps; copies and what a CTA does once

template <std::size_t N> double dot(const std::array<double, N> &a, const std::array<double, N> &b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < N; ++i)
        sum += a[i] * b[i];
    return sum;
}

/// The non-negative x that minimises the sum of (row . x - right)^2 over all rows, by coordinate descent,
/// which converges since the sum is convex. An x that no row depends on is 0.
template <std::size_t N>
std::array<double, N> least_squares(const std::vector<std::array<double, N>> &rows,
                                    const std::vector<double> &right) {
    constexpr int rounds = 20000;
    std::array<std::array<double, N>, N> products{};
    std::array<double, N> along{}, x{};
    for (std::size_t n = 0; n < rows.size(); ++n)
        for (std::size_t i = 0; i < N; ++i) {
            along[i] += rows[n][i] * right[n];
            for (std::size_t j = 0; j < N; ++j)
                products[i][j] += rows[n][i] * rows[n][j];
        }
    for (int round = 0; round < rounds; ++round)
        for (std::size_t i = 0; i < N; ++i)
            if (products[i][i] > 0.0)
                x[i] = std::max(0.0, x[i] + (along[i] - dot(products[i], x)) / products[i][i]);
    return x;
}

/// The quantile `p`, 0 to 1, of values in any order; 0 if there are none.
double quantile(std::vector<double> values, double p) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0.0 : quantile_below(values, p);
}

/// A call whose reads of L2, in bytes, were counted.
struct CountedReads {
    double planned;      ///< as the plan counts them, nothing merged
    double least;        ///< those that DRAM delivers: merging leaves no fewer
    double counted;      ///< by the counters
    double instructions; ///< warp instructions of a launch of the main kernel
    MergeableReads mergeable;
};

/// A coefficient `met` of W6 (CompiledWork::merging), and the sum of relative errors of L2 reads with it.
struct MergingFit {
    double met = 0.0, error = 0.0;
};

/// The `met` with the smallest sum of errors, of 0 and a logarithmic scale from 0.02, which merges next to
/// nothing, to 60, which merges next to everything. One call counts no more than 1, as with no reads at all.
MergingFit merging_of(const std::vector<CountedReads> &calls, double drift,
                      const Architecture &architecture) {
    constexpr double smallest = 0.02, largest = 60.0;
    constexpr int steps = 80;
    MergingFit best{0.0, std::numeric_limits<double>::infinity()};
    for (int i = -1; i <= steps; ++i) { // first nothing merged
        const double met =
            i < 0 ? 0.0 : smallest * std::pow(largest / smallest, static_cast<double>(i) / steps);
        double sum = 0.0;
        for (const CountedReads &call : calls)
            sum += std::min(
                1.0,
                std::abs(std::max(call.least, call.planned - merged_bytes(call.mergeable, call.instructions,
                                                                          {met, drift}, architecture)) /
                             call.counted -
                         1.0));
        if (sum < best.error)
            best = {met, sum};
    }
    return best;
}

/// The drift (W6) from 0.5, a random walk, down to 0, lockstep, with which the best `met` of each kernel
/// leave the smallest sum of errors.
double drift_of(const std::map<std::string, std::vector<CountedReads>> &reads_of_kernel,
                const Architecture &architecture) {
    double best = Merging{}.drift, least = std::numeric_limits<double>::infinity();
    for (const double drift : {0.5, 0.4, 0.3, 0.2, 0.1, 0.0}) {
        double sum = 0.0;
        for (const auto &[kernel, calls] : reads_of_kernel)
            sum += merging_of(calls, drift, architecture).error;
        if (sum < least)
            best = drift, least = sum;
    }
    return best;
}

/// CUPTI's metrics of what a warp waits for by itself, clocks an instruction: latencies that the compiler
/// knows, branches, and values of shared memory.
constexpr std::initializer_list<const char *> own_stalls = {
    "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_branch_resolving_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio",
};
/// What a warp waits for: operands and parameters in constant memory; its code.
constexpr const char *constant_stall = "smsp__average_warps_issue_stalled_imc_miss_per_issue_active.ratio";
constexpr const char *code_stall = "smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio";
constexpr const char *fma_pipe = "sm__inst_executed_pipe_fma.sum";
constexpr std::initializer_list<const char *> shared_access = {"smsp__inst_executed_op_shared_ld.sum",
                                                               "smsp__inst_executed_op_shared_st.sum"};

/// The sum of these counters; absent if one of them was not read.
std::optional<double> sum_of(const std::map<std::string, double> &counters,
                             std::initializer_list<const char *> names) {
    double sum = 0.0;
    for (const char *name : names) {
        const auto found = counters.find(name);
        if (found == counters.end())
            return std::nullopt;
        sum += found->second;
    }
    return sum;
}

/// Clocks that a warp lives per instruction: the sum over all stalls, issuing included. 0 without stalls.
double life_of(const std::map<std::string, double> &counters) {
    double all = 0.0;
    for (const auto &[metric, value] : counters)
        if (metric.find("issue_stalled") != std::string::npos)
            all += value;
    return all;
}

/// Clocks per instruction that warps were resident without a counted reason. If warps wait for constants,
/// they are a quarter to a half of those counted for that, and are taken to be such waits.
double life_without_reason(const CountedCall &call) {
    const auto number = [&](const char *name) { return sum_of(call.counters, {name}).value_or(0.0); };
    const double resident = number("sm__warps_active.avg.pct_of_peak_sustained_active") / 100.0 * call.warps *
                            number("sm__cycles_active.avg"),
                 issued = number("smsp__inst_executed.sum");
    return issued > 0.0 ? std::max(0.0, resident / issued - life_of(call.counters)) : 0.0;
}

/// A call whose stalls were counted, and what its main kernel did. All but `instructions` is per instruction.
struct Paced {
    const CountedCall *call;
    std::array<double, kinds> mix{}; ///< shares of FFMAs, of other instructions of steps, of copies and ends
    double turns = 0.0;              ///< iterations of innermost loops
    double loads = 0.0;              ///< loads from global memory to registers
    double constant_lines = 0.0;     ///< lines of constant memory that warps load
    double instructions = 0.0;       ///< warp instructions of all launches of the kernel
    double first_warps = 0.0;        ///< warps of first waves, which find no code cached
};

/// What the main kernel of a call did, by the instructions that its facts make of those that the plan counts.
/// Warps that only copy run a loop like that of a step, so their instructions count as those of steps.
Paced paced_by(const CountedCall &call, const CompiledWork &facts, const Architecture &architecture) {
    const Partition &main = main_launch(call.plan);
    Paced paced{&call};
    each_launch(call.plan, [&](const Partition &planned) {
        if (planned.kernel != main.kernel)
            return;
        Partition part = planned;
        apply(part, facts, {}, architecture);
        const double ctas = static_cast<double>(part.ctas - part.idle_ctas);
        const double times = ctas * static_cast<double>(part.steps);
        const double others = std::max(0.0, part.step.instructions - part.step.fmas / 32.0),
                     copying = part.copy_warps > 0 ? 0.0 : std::min(others, part.step.copying);
        paced.mix[0] += (times * part.step.fmas + ctas * part.drain.fmas) / 32.0;
        paced.mix[1] += times * (others - copying);
        paced.mix[2] += times * copying +
                        ctas * std::max(0.0, part.drain.instructions - part.drain.fmas / 32.0) +
                        static_cast<double>(part.idle_ctas) * part.idle_instructions.value_or(0.0);
        paced.turns += times * part.step.turns;
        paced.loads += times * part.step.loads + ctas * part.drain.loads;
        paced.constant_lines += times * part.step.constant_lines;
        paced.first_warps += static_cast<double>(part.ctas) /
                             static_cast<double>(std::max<std::int64_t>(1, part.waves)) * warps_of(part);
    });
    double all = 0.0;
    for (const double share : paced.mix)
        all += share;
    for (double *value : {&paced.mix[0], &paced.mix[1], &paced.mix[2], &paced.turns, &paced.loads,
                          &paced.constant_lines, &paced.first_warps})
        *value = all > 0.0 ? *value / all : 0.0;
    paced.instructions = all;
    return paced;
}

/// What the stalls of a kernel tell: its pace, and its part of two numbers that are means over all kernels.
struct Stalls {
    Pace pace;                ///< without shares of integers and logic
    double once_clocks = 0.0; ///< clocks for an instruction of a copy, or of what a CTA does once
    double cold_clocks = 0.0; ///< clocks that a launch's first warps wait for code (F15)
    double cases = 0.0;       ///< calls whose stalls were counted
    bool cold = true;         ///< whether cold_clocks mean something: only if no FFMA reads constants
};

/// W2: regresses the clocks that warps wait for by themselves on what they did, by least squares. A call
/// weighs the more, the less its warps waited for anything else: (1 + own stalls) / life^2. `once_clocks` is
/// the mean over all kernels; absent while that is not known, when it is derived with the other numbers.
Stalls stalls_of(const std::vector<Paced> &cases, std::optional<double> once_clocks) {
    std::vector<std::array<double, kinds>> mixes;
    std::vector<std::array<double, 2>> cold_mixes; // first warps; all instructions
    std::vector<double> waits, cold_waits, constant_waits;
    for (const Paced &its : cases) {
        const std::map<std::string, double> &counters = its.call->counters;
        const std::optional<double> own = sum_of(counters, own_stalls), code = sum_of(counters, {code_stall}),
                                    constants = sum_of(counters, {constant_stall});
        if (!own || !code || !constants)
            continue;
        const double life = life_of(counters), weight = (1.0 + *own) / (life * life);
        std::array<double, kinds> mix = its.mix;
        for (double &share : mix)
            share *= weight;
        mixes.push_back(mix);
        waits.push_back(weight * (*own - its.call->shared_latency * its.turns));
        const bool reads_constants = its.constant_lines > 0.0; // its FFMAs do
        if (reads_constants)
            constant_waits.push_back((*constants + life_without_reason(*its.call)) / its.constant_lines);
        cold_mixes.push_back({its.first_warps / life, 1.0 / life});
        cold_waits.push_back((*code + (reads_constants ? 0.0 : *constants)) / life);
    }
    const std::array<double, 2> cold = least_squares(cold_mixes, cold_waits);
    const double every = 1.0 + cold[1]; // an issue slot, and code that is cached further away
    if (once_clocks)
        for (std::size_t i = 0; i < mixes.size(); ++i)
            waits[i] -= std::exchange(mixes[i][2], 0.0) * std::max(0.0, *once_clocks - every);
    const std::array<double, kinds> clocks = least_squares(mixes, waits);
    return {{.ffma_clocks = every + clocks[0],
             .other_clocks = every + clocks[1],
             .alu_share = 0.0,
             .copy_alu_share = std::nullopt,
             .constant_clocks = quantile(constant_waits, 0.5)},
            once_clocks.value_or(every + clocks[2]),
            cold[0],
            static_cast<double>(mixes.size()),
            constant_waits.empty()};
}

/// Of the instructions in copies, starts and ends of CTAs that run neither on the pipe of FFMAs nor on shared
/// memory, the share that are integers and logic. The others are copies, stores, branches, waits, conversions
/// and instructions for all lanes at once, which no counter tells apart. In the machine code (sm_90,
/// CUDA 13.0) of filter_stream, map_stream, channel_split and naive_shared the share is 0.58 to 0.70.
constexpr double logic_of_copies = 0.64;

/// F10: sets the shares of integers and logic among all instructions but FFMAs. A call's share is what no
/// other counter tells of. If the kernel's warps copy and then compute (F27), least squares tell the share of
/// steps from that of copies and of what a CTA does once; else the median over the calls stands for both.
/// `cases` are the calls of one kernel variant.
void alu_shares_of(Pace &pace, const std::vector<Paced> &cases) {
    std::vector<std::array<double, 2>> mixes;
    std::vector<double> shares;
    bool in_turn = !cases.empty();
    for (const Paced &its : cases) {
        const std::map<std::string, double> &counters = its.call->counters;
        const auto pipe = sum_of(counters, {fma_pipe}), shared = sum_of(counters, shared_access);
        const double all = *its.call->counted.instructions, others = all - its.mix[0] * its.instructions;
        if (!pipe || !shared || others <= 0.0 || its.mix[0] >= 1.0)
            continue;
        const Partition &main = main_launch(its.call->plan);
        const bool once = main.steps == 1 && main.copy_passes > 0.0; // all copies precede the only step
        // CTAs without work do neither, and are in the counters.
        in_turn = in_turn && main.idle_ctas == 0 && main.copy_warps == 0 && (main.step.copying > 0.0 || once);
        mixes.push_back({its.mix[1] / (1.0 - its.mix[0]), its.mix[2] / (1.0 - its.mix[0])});
        shares.push_back(
            std::clamp((all - *pipe - *shared - its.loads * its.instructions) / others, 0.0, 1.0));
    }
    pace.alu_share = quantile(shares, 0.5);
    if (!in_turn || shares.empty())
        return;
    const std::array<double, 2> share = least_squares(mixes, shares);
    pace.alu_share = std::min(1.0, share[0]);
    pace.copy_alu_share = logic_of_copies * std::min(1.0, share[1]);
}

} // namespace

Facts derive_facts(const std::vector<CountedCall> &calls, const Architecture &architecture) {
    struct Seen {                               ///< the calls of one kernel variant
        std::vector<Features> rows;             ///< divided by all instructions of the call
        std::vector<double> other_shares;       ///< shares of the instructions that are no FFMAs: the targets
        std::vector<const CountedCall *> paced; ///< calls whose stalls were counted
    };
    std::map<std::string, std::map<std::string, Seen>> seen; // by kernel and variant
    std::map<std::string, std::vector<CountedReads>> reads_of_kernel;
    std::vector<CountedReads> all_reads;
    for (const CountedCall &call : calls) {
        if (call.plan.launches.empty() || !call.counted.instructions)
            continue;
        const Partition &main = main_launch(call.plan);
        // Counters are of the whole call. Its other kernels do little, so what the plan counts of them is
        // taken off, and the rest is the main kernel's.
        double of_others = 0.0, main_launches = 0.0, ffmas = 0.0, reads = 0.0, delivered = 0.0;
        MergeableReads mergeable;
        Features sum{};
        each_launch(call.plan, [&](const Partition &part) {
            reads += part.work.l2_read_bytes.value_or(0.0);
            delivered +=
                std::min(part.work.l2_read_bytes.value_or(0.0), part.work.dram_read_bytes.value_or(0.0));
            if (part.kernel == main.kernel)
                mergeable = mergeable + part.mergeable_reads.value_or(MergeableReads{});
            if (part.kernel != main.kernel) {
                of_others += part.work.instructions.value_or(0.0);
                return;
            }
            main_launches += 1.0;
            ffmas += part.work.fmas.value_or(0.0) / 32.0;
            const Features its = features_of(part);
            for (std::size_t i = 0; i < features; ++i)
                sum[i] += its[i];
        });
        const double left = *call.counted.instructions - of_others - ffmas;
        if (!(left > 0.0))
            continue;
        // Relative to all instructions: an error of the others counts as it does in the total.
        const double total = *call.counted.instructions - of_others;
        Seen &its = seen[main.kernel][main.variant];
        for (double &value : sum)
            value /= total;
        its.rows.push_back(sum);
        its.other_shares.push_back(left / total);
        if (life_of(call.counters) > 0.0)
            its.paced.push_back(&call);
        if (const double counted = call.counted.l2_read_bytes.value_or(0.0);
            !mergeable.reads.empty() && counted > 0.0)
            for (std::vector<CountedReads> *all : {&reads_of_kernel[main.kernel], &all_reads})
                all->push_back({reads, delivered, counted, total / main_launches, mergeable});
    }
    Facts facts;
    facts.drift = drift_of(reads_of_kernel, architecture);
    std::map<std::size_t, std::vector<Paced>> paced; // by place among the facts' kernels
    for (auto &[kernel, variants] : seen) {
        // Variants of a kernel share a merging. With few calls it is that of all kernels.
        double merging = 0.0;
        if (const std::vector<CountedReads> &of_kernel = reads_of_kernel[kernel]; !of_kernel.empty())
            merging =
                merging_of(of_kernel.size() >= least_cases ? of_kernel : all_reads, facts.drift, architecture)
                    .met;
        for (auto &[variant, its] : variants) {
            if (its.rows.size() < least_cases)
                continue;
            const Features x = least_squares(its.rows, its.other_shares);
            std::vector<double> errors;
            for (std::size_t n = 0; n < its.rows.size(); ++n)
                errors.push_back(std::abs(dot(its.rows[n], x) - its.other_shares[n]));
            CompiledWork &work = facts.kernels.emplace_back();
            work.kernel = kernel;
            work.variant = variant;
            work.per_ffma = x[0], work.per_counted = x[1], work.per_warp = x[2], work.per_warp_step = x[3];
            work.merging = merging;
            work.cases = static_cast<std::int64_t>(its.rows.size());
            work.median_error = quantile(errors, 0.5);
            work.p90_error = quantile(errors, 0.9);
            for (const CountedCall *call : its.paced)
                paced[facts.kernels.size() - 1].push_back(paced_by(*call, work, architecture));
        }
    }
    // First the numbers of all kernels: means over the kernels, each weighed by its calls. Then the pace of
    // each kernel again, with the mean of once_clocks.
    double cold = 0.0, cold_cases = 0.0, once = 0.0, cases_of_all = 0.0;
    for (const auto &[place, cases] : paced) {
        const Stalls its = stalls_of(cases, std::nullopt);
        once += its.once_clocks * its.cases, cases_of_all += its.cases;
        if (its.cold)
            cold += its.cold_clocks * its.cases, cold_cases += its.cases;
    }
    if (cases_of_all <= 0.0)
        return facts;
    facts.once_clocks = once / cases_of_all;
    facts.cold_clocks = cold_cases > 0.0 ? cold / cold_cases : 0.0;
    for (const auto &[place, cases] : paced) {
        Pace &pace = facts.kernels[place].pace;
        pace = stalls_of(cases, facts.once_clocks).pace;
        alu_shares_of(pace, cases);
    }
    return facts;
}

} // namespace convcast
