// What launches do, counted: of a whole launch, of a step of one CTA, and of reads that SMs have in common.
#pragma once

#include "model/base/describe.hpp"

#include <optional>
#include <vector>

namespace convcast {

/// What a call does to the chip, predicted or counted: same fields, so a report subtracts them. A counter
/// that was not read, or a quantity the model does not forecast, is absent.
struct Work {
    std::optional<double> fmas;              ///< thread-level FFMAs executed, padding of tiles included
    std::optional<double> tensor_fmas;       ///< of tensor cores, every product of parts and padding included
    std::optional<double> instructions;      ///< warp instructions issued
    std::optional<double> shared_wavefronts; ///< passes through shared memory, loads and stores
    /// Of them those that the addresses ask for, without what is served again for the sake of timing. Absent
    /// in a forecast: all of them.
    std::optional<double> shared_wavefronts_by_address;
    std::optional<double> shared_conflicts;              ///< wavefronts beyond the fewest possible
    std::optional<double> l2_read_bytes, l2_write_bytes; ///< between the SMs and L2, in 32-byte sectors
    std::optional<double> dram_read_bytes, dram_write_bytes;
    CONVCAST_MEMBERS(Work, fmas, tensor_fmas, instructions, shared_wavefronts, shared_wavefronts_by_address,
                     shared_conflicts, l2_read_bytes, l2_write_bytes, dram_read_bytes, dram_write_bytes)
};

/// A quantity of a forecast, absent where the model does not forecast it. A forecast without wavefronts by
/// address has no wavefronts that are served again, so its shared_wavefronts stand for both.
inline std::optional<double> forecast_of(const Work &forecast, std::optional<double> Work::*quantity) {
    const bool no_repeats =
        quantity == &Work::shared_wavefronts_by_address && !forecast.shared_wavefronts_by_address;
    return no_repeats ? forecast.shared_wavefronts : forecast.*quantity;
}

/// Products on tensor cores for one product of FP32 numbers. Each factor is split into two TF32 parts; of the
/// four products of parts the one of both small parts is left out.
inline constexpr double products_of_parts = 3.0;

/// What one CTA does in a pipeline step, all threads together, or once at its start and end (Counts::drain).
struct StepWork {
    double fmas = 0;                   ///< thread-level
    std::optional<double> tensor_fmas; ///< of tensor cores, TF32; absent: the launch does not use them
    double instructions = 0;           ///< warp instructions, FFMAs included
    /// The part of `instructions` that copies. Partition::copy_warps execute them, or all warps of the CTA if
    /// none are set apart; the busy warps execute the rest.
    double copying = 0;
    double shared_wavefronts = 0; ///< of shared memory, of global loads that hit L1, and of stores of some
                                  ///< kernels: they share a data path
    /// Warp instructions that load from global memory to registers, and others that no counter tells from
    /// integers and logic. Only the facts read it (W2).
    double loads = 0;
    /// How often the slowest warp waits for lines new to L1: in a step (F17), or once per CTA, for loads that
    /// need the result of earlier ones or the registers that these leave (F26).
    double line_waits = 0;
    double turns =
        0; ///< iterations of the busy warps' innermost loops; each waits for shared memory first (F16)
    double constant_lines = 0; ///< lines of 64 B of constant memory that the busy warps load one by one (F24)
    double load_bytes = 0;     ///< global to shared memory or registers
    double store_bytes = 0;    ///< written to the output in this step
    bool operator==(const StepWork &) const = default;
    CONVCAST_MEMBERS(StepWork, fmas, tensor_fmas, instructions, copying, shared_wavefronts, loads, line_waits,
                     turns, constant_lines, load_bytes, store_bytes)
};

/// Adds `times` times every field of `a` to `sum`.
void add(StepWork &sum, const StepWork &a, double times);

/// Bytes requested from L2, each of them by `readers` SMs of the same GPC. `bytes` counts every request.
struct ReadersInGpc {
    double readers = 1.0, bytes = 0.0;
    CONVCAST_MEMBERS(ReadersInGpc, readers, bytes)
};

/// Reads that several SMs of a GPC have in common. Requests that are under way at the same time are coalesced
/// in front of L2 (W6): the closer the SMs are to lockstep, the more.
struct MergeableReads {
    std::vector<ReadersInGpc> reads;
    double sms = 1.0;   ///< SMs that have CTAs
    double warps = 1.0; ///< resident warps of all SMs
    double waves = 1.0; ///< waves of CTAs
    CONVCAST_MEMBERS(MergeableReads, reads, sms, warps, waves)
};

} // namespace convcast
