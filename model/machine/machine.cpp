#include "model/machine/machine.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace convcast {
namespace {

/// 8-bit elements are multiplied and added as 32-bit integers, a product an instruction. The peak that they
/// are held against is that of DP4A, which does a dot product of four at the same rate.
constexpr double products_of_a_dot = 4.0;
constexpr double lanes_of_warp = 32.0;

} // namespace

double serpentine_rate_of(const GpuProfile &p) {
    constexpr double products = 32.0; // the point of the sweep that is 8 by 4
    const auto found = p.curves.find("ffma_by_operands");
    if (found == p.curves.end())
        return 0.0;
    for (const CurveSeries &series : found->second.series)
        for (std::size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i)
            if (series.x[i] == products)
                return series.y[i];
    return 0.0;
}

std::int64_t bank_words(const GpuProfile &p) {
    const auto words =
        p.bank_width ? static_cast<std::int64_t>(p.bank_width->value.value / sizeof(float)) : std::int64_t{1};
    return words >= 4 ? 4 : words >= 2 ? 2 : 1;
}

double shared_latency_of(const Gpu &gpu) {
    const auto &measured = gpu.profile.shared_latency;
    return measured ? measured->value.value : gpu.architecture.shared_latency->value;
}

Machine machine_of(const Gpu &gpu, DataType type, const Calibration &calibration) {
    const GpuProfile &p = gpu.profile;
    const Architecture &arch = gpu.architecture;
    Machine m{};
    m.schedulers = p.limits.schedulers_per_sm;
    m.clock = p.sm_clock->value.value;
    m.latency_s = p.dram_latency->value.value / m.clock;
    m.read_bw = p.dram_read_bandwidth->value.value;
    m.write_bw = p.dram_write_bandwidth ? p.dram_write_bandwidth->value.value : m.read_bw;
    m.line_turn = gpu.architecture.line_turn->value;
    m.copy_bw = p.dram_copy_bandwidth ? p.dram_copy_bandwidth->value.value : 0.0;
    m.l2_write_bw = p.l2_write_bandwidth ? p.l2_write_bandwidth->value.value : m.write_bw;
    m.l2_bytes = static_cast<double>(p.limits.l2_bytes);
    m.l2_bw = p.l2_read_bandwidth ? p.l2_read_bandwidth->value.value : assumed_l2_bandwidth_ratio * m.read_bw;
    m.l2_latency_s =
        p.l2_latency ? p.l2_latency->value.value / m.clock : assumed_l2_latency_ratio * m.latency_s;
    // Share of the FP32 lanes that multiply elements of this type.
    const double share = type == DataType::i8 ? arch.integer_lanes->value / p.limits.cores_per_sm : 1.0;
    m.fills_issue = type != DataType::i8;
    m.ffma_rate = p.ffma_rate->value.value * (type == DataType::i8 ? share * products_of_a_dot : 1.0);
    m.outer_rate = (p.ffma_outer_rate ? *p.ffma_outer_rate : *p.ffma_rate).value.value * share;
    m.snaked_rate = std::max(m.outer_rate, serpentine_rate_of(p) * share);
    m.shared_bw = p.shared_bandwidth->value.value;
    m.pass_bytes =
        lanes_of_warp * sizeof(float) * static_cast<double>(bank_words(p)); // as many banks as lanes
    m.launch_s = p.launch_floor->value.value;
    m.start_s = p.smallest_copy_time ? std::max(0.0, p.smallest_copy_time->value.value - 2.0 * m.l2_latency_s)
                                     : m.launch_s;
    m.gap_s = p.launch_gap ? p.launch_gap->value.value : m.launch_s;
    m.barrier_s = p.barrier_latency ? p.barrier_latency->value.value / m.clock : 0.0;
    m.knee = p.knee_exponent ? p.knee_exponent->value.value : arch.knee_exponent->value;
    m.fitted = calibration.fitted;
    m.scale = calibration.scale.value_or(1.0);
    m.omitted = calibration.omitted;
    m.sm_count = p.limits.sm_count;
    m.ffma_latency = p.ffma_latency ? p.ffma_latency->value.value : arch.ffma_latency->value;
    m.shared_latency = shared_latency_of(gpu);
    m.constant_latency = p.constant_l2_latency ? p.constant_l2_latency->value.value : 0.0;
    m.l1_latency_s = (p.l1_latency ? p.l1_latency->value.value : m.shared_latency) / m.clock;
    m.cta_s = p.cta_launch_time ? p.cta_launch_time->value.value : 0.0;
    m.tensor_rate = p.tf32_mma_rate ? p.tf32_mma_rate->value.value : 0.0;
    m.cluster_latency = p.cluster_latency ? p.cluster_latency->value.value : arch.cluster_latency->value;
    m.cluster_bw = p.cluster_bandwidth ? p.cluster_bandwidth->value.value : arch.cluster_bandwidth->value;
    m.cluster_barrier_s = p.cluster_barrier_latency ? p.cluster_barrier_latency->value.value / m.clock
                                                    : m.l2_latency_s + m.cluster_latency / m.clock;
    const auto room = [&](const std::optional<Param<Plain>> &measured) {
        const auto sms = static_cast<double>(p.limits.sm_count);
        return static_cast<std::int64_t>(
            std::min(sms, measured ? measured->value.value : arch.cluster_room->value * sms));
    };
    m.clusters_of_4_sms = room(p.clusters_of_4_sms);
    m.clusters_of_8_sms = room(p.clusters_of_8_sms);
    m.partial_sector = p.sector_store_time && p.partial_sector_store_time
                           ? p.partial_sector_store_time->value.value / p.sector_store_time->value.value
                           : arch.partial_sector->value;
    m.integer_clocks = lanes_of_warp * m.schedulers / arch.integer_lanes->value;
    m.tensor_clock_share = arch.tensor_clock_share->value;
    m.turnover_clocks = arch.turnover->value;
    m.early_gap_s = arch.early_gap->value;
    m.second_round_elsewhere = static_cast<std::int64_t>(arch.second_round_elsewhere->value);
    return m;
}

std::vector<Measured> measured_numbers(const GpuProfile &p) {
    std::vector<Measured> numbers;
    const auto add = [&](double Machine::*number, const auto &param) {
        // A spread that reaches zero has no logarithm, which the interval takes.
        if (param && param->spread && param->value.value > 0.0 && param->spread->p05 > 0.0)
            numbers.push_back(
                {number, param->spread->p05 / param->value.value, param->spread->p95 / param->value.value});
    };
    add(&Machine::clock, p.sm_clock);
    add(&Machine::latency_s, p.dram_latency);
    add(&Machine::l1_latency_s, p.l1_latency);
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
    add(&Machine::start_s, p.smallest_copy_time ? p.smallest_copy_time : p.launch_floor);
    add(&Machine::gap_s, p.launch_gap);
    add(&Machine::barrier_s, p.barrier_latency);
    add(&Machine::knee, p.knee_exponent);
    add(&Machine::cluster_latency, p.cluster_latency);
    add(&Machine::cluster_bw, p.cluster_bandwidth);
    add(&Machine::cluster_barrier_s, p.cluster_barrier_latency);
    return numbers;
}

} // namespace convcast
