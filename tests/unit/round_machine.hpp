// A machine of round numbers: a clock of 1 ns, so that a clock and a nanosecond are the same number.
#pragma once

#include "model/machine/machine.hpp"
#include "model/time/launch_terms.hpp"

namespace convcast::sample {

inline constexpr double ns = 1e-9;

/// 10 SMs of four schedulers. Without `fitted` changed, the four fitted numbers are 1, 1, 2 and 2.
inline Machine round_machine() {
    Machine m{};
    m.schedulers = 4, m.clock = 1e9, m.sm_count = 10, m.fills_issue = true;
    m.latency_s = 100 * ns, m.l2_latency_s = 40 * ns, m.l1_latency_s = 30 * ns, m.barrier_s = 20 * ns;
    m.launch_s = m.start_s = 2000 * ns, m.gap_s = 1000 * ns, m.cta_s = 30 * ns;
    m.integer_clocks = 2.0, m.tensor_clock_share = 0.889, m.turnover_clocks = 600.0, m.early_gap_s = 0.9e-6;
    m.second_round_elsewhere = 8;
    m.read_bw = 1000e9, m.write_bw = 500e9; // 1,000 and 500 bytes a clock
    m.l2_bw = 4000e9, m.l2_write_bw = 2000e9;
    m.ffma_rate = 128, m.outer_rate = 100, m.snaked_rate = 125, m.tensor_rate = 1000;
    m.shared_bw = 128, m.pass_bytes = 128; // a wavefront a clock
    m.knee = 2, m.ffma_latency = 4, m.shared_latency = 20;
    m.cluster_latency = 200, m.cluster_bw = 16, m.cluster_barrier_s = 300 * ns;
    m.partial_sector = 3, m.clusters_of_4_sms = 9, m.clusters_of_8_sms = 9;
    return m;
}

/// A launch of CTAs of four warps, one on each scheduler, one CTA an SM, that do nothing. FFMAs of a thread
/// never wait for each other.
inline Partition idle_launch() {
    Partition part;
    part.kernel = "by hand";
    part.threads = 128, part.busy_warps = 4, part.independent_sums = 4;
    part.ctas_per_sm = 1, part.ctas = 10, part.waves = 1;
    part.barriers = 0;
    part.once_clocks = 1.0;
    return part;
}

/// A warp instruction is a clock of a lone warp, and none is an integer or cold: the default of Pace.
inline constexpr Pace even_pace{};

/// Every read comes from L2, nothing written leaves it, sectors are whole.
inline launch_terms::Traffic from_l2() {
    return {.dram_share = 0.0,
            .store_factor = 1.0,
            .new_share = 1.0,
            .together = 0.0,
            .dram_write_share = 0.0,
            .sector_share = 1.0};
}

/// A round of `ctas` CTAs on each of the 10 SMs.
inline launch_terms::Round round_of(double ctas, bool first) {
    return {ctas, 10.0, first};
}

} // namespace convcast::sample
