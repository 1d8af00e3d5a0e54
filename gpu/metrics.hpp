// The performance counters this product reads, by their CUPTI names. All exist on GH100; tests check that.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

namespace convcast {

struct Metric {
    const char *name;
    const char
        *unit; ///< of the value: "B", "sector" (32 B), "instruction", "wavefront", "%", "clk", "ns", "1"
};

namespace metrics {

inline constexpr Metric dram_bytes_read{"dram__bytes_read.sum", "B"};
inline constexpr Metric dram_bytes_write{"dram__bytes_write.sum", "B"};
/// What the SMs asked for. The plain lts__t_sectors_op_* also count what one half of L2 passes to the other.
inline constexpr Metric l2_sectors_read{"lts__t_sectors_srcunit_tex_op_read.sum", "sector"};
inline constexpr Metric l2_sectors_write{"lts__t_sectors_srcunit_tex_op_write.sum", "sector"};

inline constexpr Metric instructions{"smsp__inst_executed.sum", "instruction"}; ///< warp instructions
inline constexpr Metric instructions_fma_pipe{"sm__inst_executed_pipe_fma.sum", "instruction"};
/// HFMA2, with which compilers also load constants, is issued to the tensor pipe but is no matrix
/// instruction.
inline constexpr Metric instructions_tensor_pipe{"sm__inst_executed_pipe_tensor.sum", "instruction"};
inline constexpr Metric instructions_tensor_hfma2{"sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum",
                                                  "instruction"};
inline constexpr Metric instructions_local_load{"smsp__inst_executed_op_local_ld.sum", "instruction"};

/// Thread instructions, counted by instrumented code: exact, but in passes of their own that take some 0.1 to
/// 0.5 s a kernel, as the driver patches its code first.
inline constexpr Metric thread_ffma{"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "instruction"};
inline constexpr Metric thread_fadd{"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", "instruction"};
inline constexpr Metric thread_fmul{"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", "instruction"};

inline constexpr Metric shared_wavefronts_load{"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
                                               "wavefront"};
inline constexpr Metric shared_wavefronts_store{"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
                                                "wavefront"};
inline constexpr Metric shared_conflicts_load{"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
                                              "wavefront"};
inline constexpr Metric shared_conflicts_store{"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
                                               "wavefront"};

inline constexpr Metric fma_pipe_busy{"sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active", "%"};
inline constexpr Metric issue_busy{"smsp__issue_active.avg.pct_of_peak_sustained_active", "%"};
inline constexpr Metric dram_busy{"dram__throughput.avg.pct_of_peak_sustained_elapsed", "%"};

/// Hardware counters only.
inline constexpr std::array hardware = {
    dram_bytes_read, dram_bytes_write, l2_sectors_read, l2_sectors_write, instructions, instructions_fma_pipe,
    instructions_tensor_pipe, instructions_tensor_hfma2,
    Metric{"smsp__inst_executed_op_shared_ld.sum", "instruction"},
    Metric{"smsp__inst_executed_op_shared_st.sum", "instruction"}, instructions_local_load,
    shared_wavefronts_load, shared_wavefronts_store, shared_conflicts_load, shared_conflicts_store,
    fma_pipe_busy, issue_busy, dram_busy, Metric{"sm__warps_active.avg.pct_of_peak_sustained_active", "%"},
    Metric{"sm__cycles_active.avg", "clk"},
    // under the profiler: never a case's time
    Metric{"gpu__time_duration.sum", "ns"}};

inline constexpr std::array instrumented = {thread_ffma, thread_fadd, thread_fmul};

/// What the warps of a scheduler waited for: warps in that state on average, in the clocks that issued, over
/// the clocks that issued.
inline constexpr std::array stalls = {
    Metric{"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio", "1"},
    Metric{"smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio", "1"},
    Metric{"smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio", "1"},
    Metric{"smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio", "1"},
    Metric{"smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio", "1"},
    Metric{"smsp__average_warps_issue_stalled_dispatch_stall_per_issue_active.ratio", "1"},
    Metric{"smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", "1"},
    Metric{"smsp__average_warps_issue_stalled_membar_per_issue_active.ratio", "1"},
    Metric{"smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", "1"},
    Metric{"smsp__average_warps_issue_stalled_not_selected_per_issue_active.ratio", "1"},
    Metric{"smsp__average_warps_issue_stalled_selected_per_issue_active.ratio", "1"},
    Metric{"smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio", "1"},
    Metric{"smsp__average_warps_issue_stalled_branch_resolving_per_issue_active.ratio", "1"},
    Metric{"smsp__average_warps_issue_stalled_drain_per_issue_active.ratio", "1"},
    Metric{"smsp__average_warps_issue_stalled_sleeping_per_issue_active.ratio", "1"},
    Metric{"smsp__average_warps_issue_stalled_imc_miss_per_issue_active.ratio", "1"}};

} // namespace metrics

/// Behind other names.
inline std::vector<std::string> metric_names(std::span<const Metric> some,
                                             std::vector<std::string> names = {}) {
    for (const Metric &metric : some)
        names.emplace_back(metric.name);
    return names;
}

/// What the chip counts by itself: metrics::hardware, then metrics::stalls.
inline std::vector<std::string> hardware_metric_names() {
    return metric_names(metrics::stalls, metric_names(metrics::hardware));
}

} // namespace convcast
