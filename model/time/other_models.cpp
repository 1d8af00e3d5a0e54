#include "model/time/other_models.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace convcast {
namespace {

constexpr double request_bytes = 128.0; ///< a load of all lanes of a warp, coalesced

/// B2: clocks of one launch. The names are the paper's, in its order of equations: MWP and CWP are the warps
/// whose memory requests, and whose computation, fit one memory period.
double launch_cycles(const Partition &part, const GpuProfile &p) {
    const double clock = p.sm_clock->value.value, steps = static_cast<double>(part.steps);
    const double ctas = static_cast<double>(std::max<std::int64_t>(1, part.ctas - part.idle_ctas));
    const double active_sms = std::min<double>(ctas, p.limits.sm_count);
    const double active_ctas =
        std::min(static_cast<double>(part.ctas_per_sm), std::max(1.0, ctas / active_sms));
    const double warps_of_cta = std::max(1.0, static_cast<double>(part.threads) / 32.0);
    const double n = active_ctas * warps_of_cta; // warps of an SM

    const double instructions = (steps * part.step.instructions + part.drain.instructions) / warps_of_cta;
    const double load_bytes = (steps * part.step.load_bytes + part.drain.load_bytes) / warps_of_cta;
    const double memory_insts = std::max(1.0, load_bytes / request_bytes);
    const double l2_reads = part.work.l2_read_bytes.value_or(0.0);
    const double dram_share =
        l2_reads > 0.0 ? std::min(1.0, part.work.dram_read_bytes.value_or(l2_reads) / l2_reads) : 1.0;
    const double dram_latency = p.dram_latency->value.value;
    const double mem_l = dram_share * dram_latency +
                         (1.0 - dram_share) * (p.l2_latency ? p.l2_latency->value.value : dram_latency);

    // A warp instruction takes 32 lanes of an SM's cores: a scheduler's slot.
    const double comp_cycles = std::max(1.0, instructions / p.limits.schedulers_per_sm);
    const double mem_cycles = mem_l * memory_insts;
    // Clocks between two requests of an SM, at its share of L2's bandwidth.
    const double l2_bandwidth =
        (p.l2_read_bandwidth ? p.l2_read_bandwidth : p.dram_read_bandwidth)->value.value;
    const double departure_delay = request_bytes / (l2_bandwidth / p.limits.sm_count / clock);
    const double mwp_without_bw = std::min(mem_l / departure_delay, n); // (16), (17)
    // (7); 1e-6 only keeps what reads nothing from DRAM from dividing by 0.
    const double bw_per_warp = clock * request_bytes * std::max(dram_share, 1e-6) / mem_l;
    const double mwp_peak_bw = p.dram_read_bandwidth->value.value / (bw_per_warp * active_sms); // (6)
    const double mwp = std::max(1.0, std::min({mwp_without_bw, mwp_peak_bw, n}));               // (5)
    const double cwp = std::min((mem_cycles + comp_cycles) / comp_cycles, n);                   // (8), (9)
    const double rep = std::max(1.0, ctas / (active_ctas * active_sms));                        // (25)

    double cycles = 0.0;
    if (mwp >= n && cwp >= n) // (22)
        cycles = mem_cycles + comp_cycles + comp_cycles / memory_insts * (mwp - 1.0);
    else if (cwp >= mwp || comp_cycles > mem_cycles) // (23)
        cycles = mem_cycles * n / mwp + comp_cycles / memory_insts * (mwp - 1.0);
    else // (24)
        cycles = mem_l + comp_cycles * n;
    const double barriers = steps * static_cast<double>(part.barriers);
    return rep * (cycles + departure_delay * (mwp - 1.0) * barriers * active_ctas); // (26)
}

} // namespace

std::optional<Seconds> mwp_cwp_time(const Plan &plan, const GpuProfile &p) {
    if (!p.sm_clock || !p.dram_latency || !p.dram_read_bandwidth || !p.launch_floor)
        return std::nullopt;
    double total = 0.0;
    each_launch(plan, [&](const Partition &part) {
        total += p.launch_floor->value.value + launch_cycles(part, p) / p.sm_clock->value.value;
    });
    return Seconds(total);
}

Seconds wave_roofline_time(const Plan &plan, const Machine &m) {
    double total = 0.0;
    each_launch(plan, [&](const Partition &part) {
        const double steps = static_cast<double>(part.steps);
        const double chip = static_cast<double>(part.ctas_per_sm) * m.sm_count;
        const double fmas = steps * part.step.fmas + part.drain.fmas;
        const double bytes = steps * (part.step.load_bytes + part.step.store_bytes) + part.drain.load_bytes +
                             part.drain.store_bytes;
        const double compute = static_cast<double>(part.ctas_per_sm) * fmas / m.ffma_rate / m.clock;
        total += m.launch_s + static_cast<double>(part.waves) * std::max(compute, chip * bytes / m.l2_bw);
    });
    return Seconds(total);
}

} // namespace convcast
