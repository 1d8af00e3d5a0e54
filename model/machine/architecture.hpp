// What belongs to a compute capability: its name, and the numbers of the forecast that were read off GPUs of
// one.
#pragma once

#include "model/machine/profile.hpp"

#include <array>
#include <string>

namespace convcast {

/// 90 of a profile of compute capability "9.0".
int capability_of(const GpuProfile &profile);

/// "sm_90" of a profile of compute capability "9.0".
std::string architecture_of(const GpuProfile &profile);

/// `convcast measure` runs its probes from this compute capability on.
inline constexpr int least_measured_capability = 75;
/// Clusters of CTAs, which read each other's shared memory, exist from this compute capability on.
inline constexpr int least_cluster_capability = 90;

/// A number that no probe measures and that was read off one architecture. The forecast of another
/// architecture borrows it and says so.
struct ArchitectureConstant {
    const char *name;
    double value;
    const char *unit;     ///< empty for a plain number
    const char *read_off; ///< what it was read off
};

/// Read off GPUs of compute capability 9.0 (Hopper).
namespace hopper {

// Where CTAs run.
inline constexpr ArchitectureConstant gpcs{"GPCs", 8.0, "", "CTA stamps of an H200"};
inline constexpr ArchitectureConstant first_of_a_gpc{"CTAs that start on half of the first GPC", 8.0, "",
                                                     "CTA stamps of an H200"};
inline constexpr ArchitectureConstant sms_of_small_gpc{"SMs of a small GPC", 16.0, "",
                                                       "CTA stamps of an H200"};
inline constexpr ArchitectureConstant sms_of_large_gpc{"SMs of a large GPC", 18.0, "",
                                                       "CTA stamps of an H200"};
inline constexpr ArchitectureConstant second_round_elsewhere{"CTAs of a second round that start on other SMs",
                                                             8.0, "", "CTA stamps of an H200"};
inline constexpr ArchitectureConstant turnover{"from a CTA's end to the start of the next in its place",
                                               600.0, "clk", "calls of filter_split and map_split, H200"};
inline constexpr ArchitectureConstant early_gap{
    "from the end of a launch to the work of one that started early", 0.9e-6, "s", "CTA stamps of an H200"};
// Instructions.
inline constexpr ArchitectureConstant merging_schedulers{"schedulers behind coalesced requests", 4.0, "",
                                                         "counters of an H200"};
inline constexpr ArchitectureConstant lockstep{"issuing after which SMs leave lockstep", 3000.0, "clk",
                                               "counters of an H200"};
inline constexpr ArchitectureConstant integer_clocks{"integer instruction", 2.0, "clk",
                                                     "CUDA C++ Programming Guide, 8.6 to 9.0"};
inline constexpr ArchitectureConstant dependent_instruction{"dependent instruction", 4.0, "clk",
                                                            "counters of an H200"};
// L1 and shared memory.
inline constexpr ArchitectureConstant never_shared{"part of L1 that is never shared memory", 28.0 * 1024.0,
                                                   "B", "CUDA C++ Programming Guide, 9.0"};
inline constexpr ArchitectureConstant lockstep_steps{"steps in which CTAs read in lockstep", 8.0, "",
                                                     "counters of an H200"};
inline constexpr ArchitectureConstant set_conflicts{"share of lines that meet in a set of L1", 0.1, "",
                                                    "counters of map_stream, H200"};
inline constexpr ArchitectureConstant uniform_wide_wavefronts{"wavefronts of a uniform 128-bit load", 2.0, "",
                                                              "counters of an H200"};
inline constexpr ArchitectureConstant wide_copy_passes{"wavefronts of 128 bytes copied 16 bytes a lane", 1.0,
                                                       "", "times of kernels that copy, H200"};
inline constexpr ArchitectureConstant narrow_copy_passes{"wavefronts of 128 bytes copied 4 bytes a lane", 2.5,
                                                         "", "times of kernels that copy, H200"};
// L2.
inline constexpr ArchitectureConstant l2_copies{"copies of a line in L2", 2.0, "", "counters of an H200"};
inline constexpr ArchitectureConstant l2_losing{"fill of L2 from which lines are lost", 0.85, "",
                                                "counters of an H200"};
inline constexpr ArchitectureConstant l2_lost{"further fill of L2 by which all are lost", 0.4, "",
                                              "counters of an H200"};

inline constexpr std::array table = {gpcs,
                                     first_of_a_gpc,
                                     sms_of_small_gpc,
                                     sms_of_large_gpc,
                                     second_round_elsewhere,
                                     turnover,
                                     early_gap,
                                     merging_schedulers,
                                     lockstep,
                                     integer_clocks,
                                     dependent_instruction,
                                     never_shared,
                                     lockstep_steps,
                                     set_conflicts,
                                     uniform_wide_wavefronts,
                                     wide_copy_passes,
                                     narrow_copy_passes,
                                     l2_copies,
                                     l2_losing,
                                     l2_lost};

} // namespace hopper

/// One sentence that names them all, for a GPU of another compute capability than 9.0; empty for one of 9.0.
std::string borrowed_constants(const GpuProfile &profile);

} // namespace convcast
