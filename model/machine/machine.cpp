#include "model/machine/machine.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace convcast {
namespace {

/// A hard knee overestimates what moderate bytes in flight reach; p = 2 is near what was fitted on Hopper
/// reads and is used where the profile has no fit of its own (M1).
constexpr double assumed_knee_exponent = 2.0;

/// Clocks from an FFMA to one that needs its result, where the profile has none of its own: published for
/// Hopper (arXiv 2507.10789).
constexpr double assumed_ffma_latency = 4.0;

/// Clocks from a load of shared memory to its use, where the profile has none of its own: about what every
/// GPU since Volta takes.
constexpr double assumed_shared_latency = 23.0;

/// Of clusters, where the profile has no numbers of its own: published for an H800 (Luo et al. 2024, arXiv
/// 2402.13499: 181 clocks to another CTA's shared memory, 3.27 TB/s for all SMs).
constexpr double assumed_cluster_latency = 181.0, assumed_cluster_bandwidth = 16.0;
/// SMs of a GPU on which clusters of more than two CTAs run: GPCs have SMs left over.
constexpr double assumed_cluster_room = 0.94;
/// A sector that is written in part must be merged with what is there.
constexpr double assumed_partial_sector = 2.0;

/// Multiply-adds of 32-bit integers against those of floats, per clock of an SM: 64 of 128 on compute
/// capability 8.6 to 9.0 (CUDA C++ Programming Guide, throughput of native arithmetic instructions). 8-bit
/// elements are summed by them.
constexpr double integer_share = 0.5;
constexpr double products_of_a_dot = 4.0; // at the same rate: what a kernel of dot products could reach

} // namespace

double serpentine_rate_of(const GpuProfile &p) {
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

double shared_latency_of(const GpuProfile &p) {
    return p.shared_latency ? p.shared_latency->value.value : assumed_shared_latency;
}

Machine machine_of(const GpuProfile &p, DataType type, const Calibration &calibration) {
    Machine m{};
    m.schedulers = p.limits.schedulers_per_sm;
    m.clock = p.sm_clock->value.value;
    m.latency_s = p.dram_latency->value.value / m.clock;
    m.read_bw = p.dram_read_bandwidth->value.value;
    m.write_bw = p.dram_write_bandwidth ? p.dram_write_bandwidth->value.value : m.read_bw;
    m.l2_write_bw = p.l2_write_bandwidth ? p.l2_write_bandwidth->value.value : m.write_bw;
    m.l2_bw = p.l2_read_bandwidth ? p.l2_read_bandwidth->value.value : 2.0 * m.read_bw;
    m.l2_latency_s = p.l2_latency ? p.l2_latency->value.value / m.clock : m.latency_s / 2.0;
    const double share = type == DataType::i8 ? integer_share : 1.0;
    m.fills_issue = type != DataType::i8;
    m.ffma_rate = p.ffma_rate->value.value * (type == DataType::i8 ? share * products_of_a_dot : 1.0);
    m.outer_rate = (p.ffma_outer_rate ? *p.ffma_outer_rate : *p.ffma_rate).value.value * share;
    m.snaked_rate = std::max(m.outer_rate, serpentine_rate_of(p) * share);
    m.shared_bw = p.shared_bandwidth->value.value;
    m.launch_s = p.launch_floor->value.value;
    m.gap_s = p.launch_gap ? p.launch_gap->value.value : m.launch_s;
    m.barrier_s = p.barrier_latency ? p.barrier_latency->value.value / m.clock : 0.0;
    m.knee = p.knee_exponent ? p.knee_exponent->value.value : assumed_knee_exponent;
    m.fitted = calibration.fitted;
    m.omitted = calibration.omitted;
    m.sm_count = p.limits.sm_count;
    m.ffma_latency = p.ffma_latency ? p.ffma_latency->value.value : assumed_ffma_latency;
    m.shared_latency = shared_latency_of(p);
    m.cta_s = p.cta_launch_time ? p.cta_launch_time->value.value : 0.0;
    m.tensor_rate = p.tf32_mma_rate ? p.tf32_mma_rate->value.value : 0.0;
    m.cluster_latency = p.cluster_latency ? p.cluster_latency->value.value : assumed_cluster_latency;
    m.cluster_bw = p.cluster_bandwidth ? p.cluster_bandwidth->value.value : assumed_cluster_bandwidth;
    m.cluster_barrier_s = p.cluster_barrier_latency ? p.cluster_barrier_latency->value.value / m.clock
                                                    : m.l2_latency_s + m.cluster_latency / m.clock;
    const auto room = [&](const std::optional<Param<Plain>> &measured) {
        const auto sms = static_cast<double>(p.limits.sm_count);
        return static_cast<std::int64_t>(
            std::min(sms, measured ? measured->value.value : assumed_cluster_room * sms));
    };
    m.clusters_of_4_sms = room(p.clusters_of_4_sms);
    m.clusters_of_8_sms = room(p.clusters_of_8_sms);
    m.partial_sector = p.sector_store_time && p.partial_sector_store_time
                           ? p.partial_sector_store_time->value.value / p.sector_store_time->value.value
                           : assumed_partial_sector;
    return m;
}

std::vector<Measured> measured_numbers(const GpuProfile &p) {
    std::vector<Measured> numbers;
    const auto add = [&](double Machine::*number, const auto &param) {
        if (param && param->spread && param->value.value > 0.0)
            numbers.push_back(
                {number, param->spread->p05 / param->value.value, param->spread->p95 / param->value.value});
    };
    add(&Machine::clock, p.sm_clock);
    add(&Machine::latency_s, p.dram_latency);
    add(&Machine::l2_latency_s, p.l2_latency);
    add(&Machine::read_bw, p.dram_read_bandwidth);
    add(&Machine::write_bw, p.dram_write_bandwidth);
    add(&Machine::l2_bw, p.l2_read_bandwidth);
    add(&Machine::l2_write_bw, p.l2_write_bandwidth);
    add(&Machine::shared_bw, p.shared_bandwidth);
    add(&Machine::outer_rate, p.ffma_outer_rate);
    add(&Machine::snaked_rate, p.ffma_outer_rate); // a point of a curve, without samples of its own
    add(&Machine::ffma_latency, p.ffma_latency);
    add(&Machine::shared_latency, p.shared_latency);
    add(&Machine::tensor_rate, p.tf32_mma_rate);
    add(&Machine::launch_s, p.launch_floor);
    add(&Machine::gap_s, p.launch_gap);
    add(&Machine::barrier_s, p.barrier_latency);
    add(&Machine::knee, p.knee_exponent);
    add(&Machine::cluster_latency, p.cluster_latency);
    add(&Machine::cluster_bw, p.cluster_bandwidth);
    add(&Machine::cluster_barrier_s, p.cluster_barrier_latency);
    return numbers;
}

} // namespace convcast
