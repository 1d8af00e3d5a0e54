// The host side of the probes: which file of device code each uses, and the function that sizes, launches,
// samples and proves that the kernel did its work (microbench/runners/).
#pragma once

#include "gpu/device.hpp"
#include "gpu/kernel.hpp"
#include "gpu/stopwatch.hpp"
#include "microbench/samples.hpp"

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

/// A probe that this GPU or machine has nothing to measure for; the text says what is missing. No failure.
struct ProbeSkipped : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// What all probes of one run share.
struct ProbeContext {
    const DeviceFacts &device;
    StopWatch &watch;
    const Module &fill; ///< probes/fill.cu
};

/// A file of device code and the templates of it that are used.
struct ProbeSource {
    std::string_view file;
    std::vector<std::string> name_expressions;
    bool wgmma = false; ///< compiled for sm_90a where the GPU is one
};

extern const std::vector<ProbeSource> probe_files;

namespace probe {
using Run = std::vector<ProbeSamples>(ProbeContext &context, const Module &module);
Run sm_clock, ffma_latency, ffma_rate, ffma_by_ilp, ffma_by_operands, ffma_beside_shared, half_rate,
    int8_rate, tf32_mma_rate, shared_latency, l1_latency, l2_latency, latency_by_footprint, dram_latency,
    tlb_latency, constant_latency, dram_read_bandwidth, dram_write_bandwidth, dram_copy_bandwidth,
    dram_read_curve, dram_write_curve, dram_copy_curve, l2_read_bandwidth, l2_write_bandwidth, l2_read_curve,
    l2_write_curve, l1_bandwidth, shared_bandwidth, shared_broadcast, banks, conflicts, element_width,
    stride_granularity, segment_granularity, barrier_latency, atomic_latency, atomic_rate, float_adds,
    grid_sync, cluster_latency, cluster_bandwidth, cluster_barrier, cluster_room, store_sectors, launch_floor,
    launch_gap, launch_period, launch_by_grid, graph_meets, stream_meets, shared_capacity, host_copy,
    peer_copy, peer_meets, peer_all_pairs;
} // namespace probe

struct ProbeRunner {
    std::string_view probe;
    std::string_view file; ///< of device code; empty: none
    probe::Run *run;
};

/// One for each of `probes`, in the same order.
inline constexpr std::array<ProbeRunner, probes.size()> probe_runners = {{
    {"sm_clock", "ffma.cu", probe::sm_clock},
    {"ffma_latency", "ffma_latency.cu", probe::ffma_latency},
    {"ffma_rate", "ffma.cu", probe::ffma_rate},
    {"ffma_by_ilp", "ffma_ilp.cu", probe::ffma_by_ilp},
    {"ffma_by_operands", "ffma_outer.cu", probe::ffma_by_operands},
    {"ffma_beside_shared", "ffma_shared.cu", probe::ffma_beside_shared},
    {"half_rate", "half.cu", probe::half_rate},
    {"int8_rate", "int8.cu", probe::int8_rate},
    {"tf32_mma_rate", "tf32_mma.cu", probe::tf32_mma_rate},
    {"shared_latency", "chase_shared.cu", probe::shared_latency},
    {"l1_latency", "chase.cu", probe::l1_latency},
    {"l2_latency", "chase.cu", probe::l2_latency},
    {"latency_by_footprint", "chase.cu", probe::latency_by_footprint},
    {"dram_latency", "chase.cu", probe::dram_latency},
    {"tlb_latency", "chase.cu", probe::tlb_latency},
    {"constant_latency", "chase_constant.cu", probe::constant_latency},
    {"dram_read_bandwidth", "dram_read.cu", probe::dram_read_bandwidth},
    {"dram_write_bandwidth", "dram_write.cu", probe::dram_write_bandwidth},
    {"dram_copy_bandwidth", "dram_copy.cu", probe::dram_copy_bandwidth},
    {"dram_read_curve", "dram_read.cu", probe::dram_read_curve},
    {"dram_write_curve", "dram_write.cu", probe::dram_write_curve},
    {"dram_copy_curve", "dram_copy.cu", probe::dram_copy_curve},
    {"l2_read_bandwidth", "l2_read.cu", probe::l2_read_bandwidth},
    {"l2_write_bandwidth", "l2_write.cu", probe::l2_write_bandwidth},
    {"l2_read_curve", "l2_read.cu", probe::l2_read_curve},
    {"l2_write_curve", "l2_write.cu", probe::l2_write_curve},
    {"store_sectors", "store_sectors.cu", probe::store_sectors},
    {"l1_bandwidth", "l1.cu", probe::l1_bandwidth},
    {"shared_bandwidth", "shared.cu", probe::shared_bandwidth},
    {"shared_broadcast", "shared.cu", probe::shared_broadcast},
    {"banks", "shared.cu", probe::banks},
    {"conflicts", "shared.cu", probe::conflicts},
    {"element_width", "shared.cu", probe::element_width},
    {"stride_granularity", "stride.cu", probe::stride_granularity},
    {"segment_granularity", "segment.cu", probe::segment_granularity},
    {"barrier_latency", "barrier.cu", probe::barrier_latency},
    {"atomic_latency", "chase.cu", probe::atomic_latency},
    {"atomic_rate", "atomic_rate.cu", probe::atomic_rate},
    {"float_adds", "float_adds.cu", probe::float_adds},
    {"grid_sync", "grid_sync.cu", probe::grid_sync},
    {"cluster_latency", "cluster.cu", probe::cluster_latency},
    {"cluster_bandwidth", "cluster.cu", probe::cluster_bandwidth},
    {"cluster_barrier", "cluster.cu", probe::cluster_barrier},
    {"cluster_room", "cluster.cu", probe::cluster_room},
    {"launch_floor", "empty.cu", probe::launch_floor},
    {"launch_gap", "empty.cu", probe::launch_gap},
    {"launch_period", "empty.cu", probe::launch_period},
    {"launch_by_grid", "empty.cu", probe::launch_by_grid},
    {"graph_meets", "empty.cu", probe::graph_meets},
    {"stream_meets", "empty.cu", probe::stream_meets},
    {"shared_capacity", "shared_capacity.cu", probe::shared_capacity},
    {"host_copy", "", probe::host_copy},
    {"peer_copy", "chase.cu", probe::peer_copy},
    {"peer_meets", "empty.cu", probe::peer_meets},
    {"peer_all_pairs", "", probe::peer_all_pairs},
}};

constexpr bool same_order() {
    for (std::size_t i = 0; i < probes.size(); ++i)
        if (probe_runners[i].probe != probes[i].name)
            return false;
    return true;
}
static_assert(same_order(), "a probe of samples.hpp lacks its runner, or has it at another place");

} // namespace convcast
