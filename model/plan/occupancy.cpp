#include "model/plan/occupancy.hpp"

#include "model/base/divide.hpp"
#include "model/paper/papers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace convcast {

int resident_ctas(const Gpu &gpu, std::int64_t threads, std::int64_t registers, std::int64_t shared_bytes) {
    // A warp gets its registers in whole units from the register file of its scheduler. A CTA gets shared
    // memory in whole units, with what the system reserves for itself in each CTA.
    const GpuLimits &limits = gpu.limits;
    const auto register_unit = static_cast<std::int64_t>(gpu.architecture.register_unit->value),
               shared_unit = static_cast<std::int64_t>(gpu.architecture.shared_unit->value);
    if (threads < 1 || registers < 1 || threads > limits.max_threads_per_cta ||
        shared_bytes > limits.shared_bytes_per_cta)
        return 0;
    const std::int64_t warps = ceil_div(threads, papers::warp_threads);
    const std::int64_t per_warp = round_up(registers * papers::warp_threads, register_unit);
    const std::int64_t schedulers = limits.schedulers_per_sm;
    const std::int64_t warps_by_registers = limits.registers_per_sm / schedulers / per_warp * schedulers;
    const std::int64_t shared = round_up(shared_bytes + limits.shared_bytes_reserved_per_cta, shared_unit);
    std::int64_t ctas = limits.max_ctas_per_sm;
    ctas = std::min(ctas, limits.max_threads_per_sm / (warps * papers::warp_threads));
    ctas = std::min(ctas, warps_by_registers / warps);
    if (shared > 0)
        ctas = std::min(ctas, limits.shared_bytes_per_sm / shared);
    return int(ctas);
}

std::int64_t most_threads(const GpuLimits &limits, std::int64_t registers) {
    constexpr std::int64_t four_warps = 128;
    return std::min<std::int64_t>(limits.max_threads_per_cta,
                                  limits.registers_per_sm / registers / four_warps * four_warps);
}

std::string does_not_fit(const Launch &launch, const GpuLimits &limits) {
    if (launch.ctas_per_sm >= 1)
        return "";
    if (launch.shared_bytes > limits.shared_bytes_per_cta)
        return fmt::format("a CTA needs {} bytes of shared memory, the GPU gives {}", launch.shared_bytes,
                           limits.shared_bytes_per_cta);
    return fmt::format("a CTA of {} threads with {} bytes of shared memory does not fit an SM",
                       launch.threads, launch.shared_bytes);
}

void fill_schedule(Partition &partition, const GpuLimits &limits) {
    partition.ctas = partition.grid[0] * partition.grid[1] * partition.grid[2];
    const std::int64_t slots = limits.sm_count * partition.ctas_per_sm;
    partition.waves = ceil_div(partition.ctas, slots);
    const std::int64_t last = partition.ctas - (partition.waves - 1) * slots;
    partition.tail = double(std::min<std::int64_t>(last, limits.sm_count)) / limits.sm_count;
}

} // namespace convcast
