// The numbers of a GPU that the time model computes with, from its profile and its architecture.
#pragma once

#include "model/machine/architecture.hpp"
#include "model/machine/calibration.hpp"
#include "model/machine/profile.hpp"
#include "model/shape/conv_shape.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace convcast {

/// What the formulas of tier 2 compute with, as plain numbers. A name that ends in `_s` is in seconds, in
/// `_latency` or `_clocks` in clocks of an SM; `_bw` is bytes a second, except in shared memory, where it is
/// bytes a clock of one SM. Rates are thread-level multiply-adds a clock of one SM.
struct Machine {
    // What an SM's cores compute with (model/time/core_terms.hpp).
    double schedulers; ///< of an SM; each issues one warp instruction a clock
    double clock;      ///< of the SMs, Hz
    double l2_latency_s;
    double ffma_rate;   ///< the most that is reached, if operands are no limit
    double outer_rate;  ///< of FFMAs of an outer product: three registers each
    double snaked_rate; ///< of an outer product that is walked in serpentine order
    double shared_bw, ffma_latency, shared_latency;
    double constant_latency; ///< of a line that the first constant cache lacks; 0 where the profile lacks it
                             ///< (F24)
    FittedNumbers fitted;
    Omitted omitted;
    bool fills_issue;      ///< multiply-adds take every issue slot at their peak rate
    double tensor_rate;    ///< of TF32 products; 0: not known, and plans that need it have no time
    double pass_bytes;     ///< bytes of a wavefront of shared memory: 32 banks, each its width (W3)
    double integer_clocks; ///< clocks that an instruction keeps its scheduler's pipe of integers busy (F10)

    // What lies around the cores.
    int sm_count;
    double latency_s;         ///< of a load that DRAM delivers
    double l1_latency_s;      ///< of a load that L1 has
    double read_bw, write_bw; ///< of DRAM
    double line_turn;         ///< clocks in which a line of L2 serves one request that is not merged (F36)
    double copy_bw;           ///< of reads from DRAM and as many stores beside them, their sum; 0: not known
    double l2_bw, l2_write_bw;
    double l2_bytes;
    double launch_s, gap_s; ///< of an empty kernel; from a kernel's end to the start of the next
    double start_s;         ///< what a launch takes beside its first loads and last stores (F1)
    double barrier_s;       ///< of __syncthreads of a CTA
    double cta_s;           ///< time by which each further CTA of an empty kernel prolongs it
    double knee;            ///< exponent of M1
    double cluster_latency; ///< of a load from the shared memory of another CTA of the cluster
    double cluster_bw;      ///< of such loads, bytes a clock of one SM
    double cluster_barrier_s;
    double partial_sector; ///< time of a sector written in part over that of a whole one (F21)
    std::int64_t clusters_of_4_sms, clusters_of_8_sms; ///< SMs on which clusters so large run at once (F9)
    double tensor_clock_share; ///< share of the clock that is left while tensor cores multiply (F29)
    double turnover_clocks;    ///< from a CTA's end until the next one runs in its slot (F25)
    double scale = 1.0;        ///< of whole times, as the calibration has it (F34)
    double early_gap_s;        ///< from a launch's end until one that started early goes on (F30)
    /// How many CTAs of a second round start on other SMs than the CTAs of the first round did (F19).
    std::int64_t second_round_elsewhere;
    double input_in_l2, filters_in_l2; ///< share of these tensors that L2 has when a call begins (F35)
    double output_to_dram; ///< share of the output that DRAM takes at least, whatever L2 could keep (F35)
    /// How often another kernel ran just before, 0 to 1 (N12); absent: F15 holds.
    std::optional<double> new_code;

    /// Whether the forecast uses the equation: all of them, unless an ablation leaves it out.
    bool has(Equation equation) const { return !omitted.contains(equation); }
};

/// Assumed of an L2 that the profile has no number of: its read bandwidth over DRAM's, and its latency over
/// DRAM's.
inline constexpr double assumed_l2_bandwidth_ratio = 2.0, assumed_l2_latency_ratio = 0.5;

/// FFMAs a clock that an SM does in an outer product of 8 by 4 that is walked in serpentine order, so that
/// each FFMA has an operand at hand from the one before. Larger tiles are made of such blocks. 0 if the
/// profile has no sweep over outer products.
double serpentine_rate_of(const GpuProfile &p);

/// Words of 4 bytes that a bank of shared memory is wide: W_SMB / 4 of Chen, 2 on Kepler, 1 on every other
/// GPU; 1 where the profile has no bank width.
std::int64_t bank_words(const GpuProfile &p);

/// Clocks from a load of shared memory to its use: the profile's, or else the architecture's.
double shared_latency_of(const Gpu &gpu);

/// The numbers of a GPU for elements of `type`; halves are widened and multiplied as floats. What the profile
/// lacks is assumed, and assumed_numbers (model/time/call.hpp) says so. L2 has nothing of the call. Requires
/// a profile for which missing_for_forecast is empty.
Machine machine_of(const Gpu &gpu, DataType type, const Calibration &calibration);

/// A number of the machine that was measured, and how far its samples reach: their 5th and 95th percentile,
/// each over the number's value.
struct Measured {
    double Machine::*number;
    double low, high;
};
/// The numbers whose samples the profile has, for the interval (I1).
std::vector<Measured> measured_numbers(const GpuProfile &p);

} // namespace convcast
