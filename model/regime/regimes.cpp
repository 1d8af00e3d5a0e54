#include "model/regime/regimes.hpp"

#include "model/base/divide.hpp"
#include "model/machine/machine.hpp"
#include "model/paper/papers.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace convcast {
namespace {

/// SMs that have work, on average over the waves of all launches, of all SMs.
double busy_sms(const Plan &plan, int sm_count) {
    double busy = 0.0, waves = 0.0;
    for (const std::vector<Partition> *launches : {&plan.prepare, &plan.launches})
        for (const Partition &part : *launches) {
            const std::int64_t ctas = part.ctas - part.idle_ctas, slots = part.ctas_per_sm * sm_count;
            const std::int64_t full = ctas / slots, rest = ctas % slots;
            busy += static_cast<double>(full) +
                    static_cast<double>(std::min<std::int64_t>(rest, sm_count)) / sm_count;
            waves += static_cast<double>(full + (rest > 0 ? 1 : 0));
        }
    return waves > 0.0 ? busy / waves : 1.0;
}

} // namespace

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

std::optional<Regime> paper_regime(const Rules &rules) {
    if (!rules.n_fma || !rules.v_s_bytes || !rules.round_fmas || !rules.round_bytes)
        return std::nullopt;
    return regime_by_rule(*rules.round_fmas, static_cast<double>(*rules.n_fma), *rules.round_bytes,
                          static_cast<double>(*rules.v_s_bytes));
}

Regime physical_regime(const Plan &plan, const ConvShape &shape, const Gpu &gpu) {
    const Machine m = machine_of(gpu, shape.dtype, {});
    const Partition &main = main_launch(plan);
    const double resident = static_cast<double>(std::min(main.ctas_per_sm, ceil_div(main.ctas, m.sm_count)));
    const double active = static_cast<double>(std::min<std::int64_t>(main.ctas, m.sm_count));
    return regime_by_rule(resident * main.step.tensor_fmas.value_or(main.step.fmas),
                          gpu.profile.dram_latency->value.value *
                              (main.step.tensor_fmas ? m.tensor_rate : m.ffma_rate),
                          resident * active * main.step.load_bytes *
                              static_cast<double>(std::max<std::int64_t>(1, main.stages - 1)),
                          m.read_bw * m.latency_s);
}

Utilisation utilisation_of(const Plan &plan, const Work &work, Seconds time, const GpuProfile &profile) {
    Utilisation out;
    double launches = 0.0; // that follow a gap; one that starts early has its CTAs on the SMs by then
    double idle_instructions = 0.0; // of CTAs without work: the SMs that run only those are not busy ones
    for (const std::vector<Partition> *all : {&plan.prepare, &plan.launches})
        for (const Partition &part : *all) {
            launches += (part.early.value_or(false) ? 0.0 : 1.0) + (part.constant_bytes > 0 ? 1.0 : 0.0);
            idle_instructions += static_cast<double>(part.idle_ctas) * part.idle_instructions.value_or(0.0);
        }
    const double floor_s = profile.launch_floor ? profile.launch_floor->value.value : 0.0;
    const double gap_s = profile.launch_gap ? profile.launch_gap->value.value : floor_s;
    // Launching takes no SM's time; of a forecast near the floor some is left all the same.
    const double running = std::max(time.value - floor_s - (launches - 1.0) * gap_s, time.value / 10.0);
    if (profile.sm_clock) {
        const double clocks = running * busy_sms(plan, profile.limits.sm_count) * profile.limits.sm_count *
                              profile.sm_clock->value.value; // of all SMs
        out.fma = work.fmas.value_or(0.0) / (clocks * profile.limits.cores_per_sm);
        out.issue = std::max(0.0, work.instructions.value_or(0.0) - idle_instructions) /
                    (clocks * profile.limits.schedulers_per_sm);
    }
    if (profile.dram_read_bandwidth) {
        const double read = profile.dram_read_bandwidth->value.value;
        const double write = profile.dram_write_bandwidth ? profile.dram_write_bandwidth->value.value : read;
        out.dram = (work.dram_read_bytes.value_or(0.0) / read + work.dram_write_bytes.value_or(0.0) / write) /
                   time.value;
    }
    if (profile.l2_read_bandwidth)
        out.l2 = (work.l2_read_bytes.value_or(0.0) + work.l2_write_bytes.value_or(0.0)) /
                 profile.l2_read_bandwidth->value.value / time.value;
    return out;
}

} // namespace convcast
