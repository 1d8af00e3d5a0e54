// The numbers of a profile that the time model computes with.
#pragma once

#include "model/machine/architecture.hpp"
#include "model/machine/calibration.hpp"
#include "model/machine/profile.hpp"
#include "model/shape/conv_shape.hpp"

#include <vector>

namespace convcast {

/// The numbers of a profile that tier 2 uses, unwrapped: Hz, seconds (`_s`), bytes a second (`_bw`; of shared
/// memory a clock), FMAs and warp instructions a clock of an SM, clocks (`_latency`).
struct Machine {
    double schedulers, clock, latency_s, read_bw, write_bw, l2_write_bw, l2_bw, l2_latency_s, ffma_rate,
        outer_rate, snaked_rate, shared_bw, launch_s, gap_s, barrier_s, knee, cta_s, ffma_latency,
        shared_latency;
    FittedNumbers fitted;
    Omitted omitted;
    int sm_count;
    bool fills_issue;   ///< multiply-adds take every issue slot at their peak rate
    double tensor_rate; ///< 0: not known; plans that need it have no time then
    double cluster_latency, cluster_bw, cluster_barrier_s; ///< of the shared memory of a cluster's other CTAs
    double pass_bytes;     ///< of a wavefront of shared memory: 32 banks, each its width
    double partial_sector; ///< time of a sector written in part over that of a whole one
    std::int64_t clusters_of_4_sms, clusters_of_8_sms;
    // Of the architecture (docs/architecture.md).
    double integer_clocks;     ///< that an instruction keeps its scheduler's pipe of integers and logic busy
    double tensor_clock_share; ///< of the clock, what is left while tensor cores multiply (F29)
    double turnover_clocks;    ///< from a CTA's end until the next one runs in its slot (F25)
    double early_gap_s;        ///< from a launch's end until one that started early goes on (F30)
    std::int64_t
        second_round_elsewhere; ///< CTAs of a second round on other SMs than those of the first (F19)

    bool has(Equation equation) const { return !omitted.contains(equation); }
};

/// FFMAs per clock of an outer product of 8 by 4 that is walked in serpentine order, so that each FFMA has an
/// operand at hand from the one before; 0 where the profile has no sweep over outer products. Larger tiles
/// are made of such blocks.
double serpentine_rate_of(const GpuProfile &p);

/// Words of 4 bytes that a bank of shared memory is wide: W_SMB / 4 of Chen, 2 on Kepler, 1 on every other
/// GPU; 1 where the profile has no bank width.
std::int64_t bank_words(const GpuProfile &p);

/// Clocks from a load of shared memory to its use; assumed where the profile has none.
double shared_latency_of(const Gpu &gpu);

/// For elements of `type`; halves are widened and multiplied as floats. What the profile lacks is assumed, as
/// `predict` says of a case. Requires what missing_for_forecast asks for.
Machine machine_of(const Gpu &gpu, DataType type, const Calibration &calibration);

/// A number of the machine that was measured, and where nine of ten of its samples lie, over its value.
struct Measured {
    double Machine::*number;
    double low, high;
};
std::vector<Measured> measured_numbers(const GpuProfile &p);

} // namespace convcast
