// How a launch's bytes meet DRAM and L2, and how long its loads wait. Formulas F3, F8, F9, F21 and F35 of
// docs/equations.md. Times and latencies are in seconds, bandwidths in bytes a second.
#pragma once

#include "model/time/core_terms.hpp"

namespace convcast::launch_terms {

/// F9: SMs that a launch's CTAs can use at once. The CTAs of a cluster share a GPC, and the number of SMs of
/// a GPC need not be a multiple of the cluster.
inline std::int64_t usable_sms(const Partition &part, const Machine &m) {
    const std::int64_t cluster = part.cluster.value_or(1);
    // Clusters of one and two fit everywhere, since SMs come in pairs. Larger ones were measured for 4 and 8
    // CTAs; a cluster of 3 has the room of 4, one of 5 to 8 that of 8.
    constexpr std::int64_t pair = 2, four = 4;
    if (cluster <= pair || !m.has(Equation::F9))
        return m.sm_count;
    const std::int64_t sms = cluster <= four ? m.clusters_of_4_sms : m.clusters_of_8_sms;
    return std::min<std::int64_t>(m.sm_count, std::max<std::int64_t>(1, sms / cluster) * cluster);
}

/// The time in which `bytes` of the whole chip move at `bandwidth` bytes a second.
template <Yield T> T bandwidth_leaf(const char *name, double bytes, double bandwidth) {
    return leaf<T>(name, s(bytes / bandwidth), "{:.0f} B / {:.1f} GB/s", bytes, bandwidth / 1e9);
}

/// The CTAs that run at once on the whole chip: `ctas` on each of `sms` SMs.
struct Round {
    double ctas; ///< resident on the busiest SM
    double sms;  ///< SMs that have work
    bool first;  ///< in the first wave of a launch, of which L2 has nothing yet
};

/// F35: share of the bytes of a call's input and filters that L2 has when the call begins, 0 to 1.
inline double held_by_l2(const ConvShape &shape, const Machine &m) {
    const double input = static_cast<double>(shape.input_bytes()),
                 filters = static_cast<double>(shape.filter_bytes());
    return (m.input_in_l2 * input + m.filters_in_l2 * filters) / (input + filters);
}

/// F35: how often the first loads of a CTA wait for DRAM, 0 to 1: 1 in a cold call. A CTA needs pixels and
/// filters, so that it waits for DRAM where L2 lacks either.
inline double cold_start(const Machine &m) {
    return 1.0 - std::min(m.input_in_l2, m.filters_in_l2);
}

/// Mean latency of loads, in seconds, if the share `from_dram` of them waits for DRAM and the rest for L2.
inline double mean_latency(double from_dram, const Machine &m) {
    return from_dram * m.latency_s + std::max(0.0, 1.0 - from_dram) * m.l2_latency_s;
}

/// How a launch's bytes meet the memory system. All but `store_factor` are shares from 0 to 1.
struct Traffic {
    double dram_share; ///< of the bytes that the launch reads, those that L2 does not have
    /// Time to write a byte of output over that of a byte of whole sectors: rows that are not aligned share
    /// sectors, and a sector written in part takes longer (F21).
    double store_factor;
    double new_share; ///< of a CTA's steps, those that read what it has not read before (F8)
    /// Of a later wave's CTAs, those that wait for new data at the same time; in a first wave all do (F8).
    double together;
    double dram_write_share; ///< of the bytes that the launch writes, those that L2 cannot keep
    double sector_share;     ///< of a CTA's steps, those that reach a sector which no earlier one loaded (F8)
};

/// The share of a later wave's CTAs that wait for DRAM together (F8). CTAs that read the same pixels are
/// neighbours in the grid. In later waves slots become free one by one, so n such CTAs out of N resident ones
/// start spread over n / N of a CTA's time, and a late one finds in L2 what the first have fetched.
inline double together(const Partition &part, const Machine &m) {
    const double slots = static_cast<double>(part.ctas_per_sm * usable_sms(part, m));
    return part.sharing_ctas ? std::max(0.0, 1.0 - *part.sharing_ctas / slots) : 0.0;
}

/// What the plan's counts, and what L2 has of the call's tensors (F35), make of a launch. Without a count of
/// DRAM's reads or writes, all that L2 is asked for, or given, counts as DRAM's.
inline Traffic traffic_of(const Partition &part, const ConvShape &shape, const Machine &m) {
    const double reads = part.work.l2_read_bytes.value_or(0.0);
    const double dram = part.work.dram_read_bytes.value_or(reads) * (1.0 - held_by_l2(shape, m));
    const double dram_share = reads > 0.0 ? std::min(1.0, dram / reads) : 0.0;
    // As bytes: the time by which sectors written in part take longer than whole ones.
    const double extra_bytes =
        m.has(Equation::F21) ? part.partial_write_bytes.value_or(0.0) * (m.partial_sector - 1.0) : 0.0;
    const double writes = part.work.l2_write_bytes.value_or(0.0);
    double to_dram = writes > 0.0 ? std::min(1.0, part.work.dram_write_bytes.value_or(writes) / writes) : 1.0;
    double store_factor = 1.0;
    if (part.filter_count == 0) { // prepares filters or writes partial sums: its steps count whole sectors
        store_factor +=
            extra_bytes > 0.0 ? extra_bytes / part.work.l2_write_bytes.value_or(extra_bytes) : 0.0;
    } else {
        const double output = static_cast<double>(shape.output_bytes()) *
                              static_cast<double>(part.filter_count) / static_cast<double>(shape.k);
        store_factor = std::max(1.0, (part.work.l2_write_bytes.value_or(output) + extra_bytes) / output);
        to_dram = std::max(to_dram, m.output_to_dram);
    }
    return {.dram_share = dram_share,
            .store_factor = store_factor,
            .new_share = part.new_share.value_or(1.0),
            .together = together(part, m),
            .dram_write_share = to_dram,
            .sector_share = part.sector_share.value_or(1.0)};
}

/// Bytes a second that DRAM takes in while it is read as well, if only a little (F3): as many as in the probe
/// that copies, else as in the one that writes.
inline double write_bandwidth_beside_reads(const Machine &m) {
    return m.copy_bw > 0.0 ? m.copy_bw : m.write_bw;
}

/// F3: the time in which DRAM delivers `read` bytes and takes in `written`. Writes, and as many reads beside
/// them, move at the bandwidth of the probe that copies; further reads at that of reads alone.
template <Yield T> T dram_term(double read, double written, const Machine &m) {
    const double both = m.copy_bw > 0.0 ? std::min(read, written) : 0.0;
    List<T> all = list_of<T>(bandwidth_leaf<T>("DRAM reads", read - both, m.read_bw));
    if (written > 0.0)
        all.push_back(bandwidth_leaf<T>(both > 0.0 ? "DRAM writes and reads beside them" : "DRAM writes",
                                        written + both, write_bandwidth_beside_reads(m)));
    return sum<T>("DRAM", std::move(all));
}

/// Bytes a second that L2 takes in (F3): what SMs store, and what DRAM delivers, which is written into L2 as
/// well.
inline double into_l2_bandwidth(const Machine &m) {
    return std::max(m.l2_write_bw, m.read_bw);
}

/// The memory's part of a step (F3), given the bytes that all SMs load and store: L2 moves all of them, DRAM
/// those that L2 does not have or cannot keep.
template <Yield T> T memory_term(double loads, double stores, const Traffic &traffic, const Machine &m) {
    const double read = loads * traffic.dram_share, written = stores * traffic.dram_write_share;
    List<T> all = list_of<T>(bandwidth_leaf<T>("L2 reads", loads, m.l2_bw),
                             bandwidth_leaf<T>("L2 writes", stores, m.l2_write_bw));
    if (std::min(read, stores) > 0.0)
        all.push_back(bandwidth_leaf<T>("stores and DRAM reads", stores + read, into_l2_bandwidth(m)));
    all.push_back(dram_term<T>(read, written, m));
    return max_of<T>("memory", std::move(all));
}

/// Bytes a second that `sms` SMs store (F21): each at most a sector a clock, all no more than L2 takes, and
/// DRAM what L2 cannot keep.
inline double store_bandwidth(double sms, const Traffic &traffic, const Machine &m) {
    constexpr double sector_bytes = 32.0;
    const double most = std::min(m.l2_write_bw, sms * sector_bytes * m.clock);
    return traffic.dram_write_share > 0.0
               ? std::min(most, write_bandwidth_beside_reads(m) / traffic.dram_write_share)
               : most;
}

/// The wait for loads of `latency` seconds that are under way during `depth` steps: each step bears a part.
template <Yield T> T latency_leaf(double latency, double depth) {
    if (depth == 1.0)
        return leaf<T>("load latency", s(latency / depth), "{:.0f} ns", latency * 1e9);
    return leaf<T>("load latency", s(latency / depth), "{:.0f} ns / {:.0f} steps under way", latency * 1e9,
                   depth);
}

template <Yield T> T barrier_leaf(const Machine &m) {
    return leaf<T>("barrier", s(m.barrier_s), "{:.0f} ns", m.barrier_s * 1e9);
}

/// F8: mean latency of a step's loads in seconds. In the first wave all CTAs read the same channels at the
/// same time, so one waits for DRAM and all others for the same data. In later waves only some do
/// (`together`). What a CTA read before it finds in L2, the rest of a loaded sector in L1.
inline double step_latency(const Round &round, const Traffic &traffic, const Machine &m) {
    const double together = round.first ? 1.0 : traffic.together;
    const double miss = m.has(Equation::F8)
                            ? std::max(traffic.dram_share, m.fitted.first_wave_miss * traffic.new_share *
                                                               together * cold_start(m))
                            : traffic.dram_share;
    return traffic.sector_share * mean_latency(miss, m) + (1.0 - traffic.sector_share) * m.l1_latency_s;
}

} // namespace convcast::launch_terms
