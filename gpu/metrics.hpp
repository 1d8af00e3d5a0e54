// The performance counters this product reads, by their CUPTI names. All exist on GH100; tests check that.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

namespace convcast {

namespace metrics {

// ---- bytes ----
inline constexpr const char *dram_bytes_read = "dram__bytes_read.sum";
inline constexpr const char *dram_bytes_write = "dram__bytes_write.sum";

// ---- sectors of 32 bytes ----
/// What the SMs asked for. The plain lts__t_sectors_op_* also count what one half of L2 passes to the other.
inline constexpr const char *l2_sectors_read = "lts__t_sectors_srcunit_tex_op_read.sum";
inline constexpr const char *l2_sectors_write = "lts__t_sectors_srcunit_tex_op_write.sum";

// ---- instructions of warps ----
inline constexpr const char *instructions = "smsp__inst_executed.sum";
inline constexpr const char *instructions_fma_pipe = "sm__inst_executed_pipe_fma.sum";
/// HFMA2, with which compilers also load constants, is issued to the tensor pipe but is no matrix
/// instruction.
inline constexpr const char *instructions_tensor_pipe = "sm__inst_executed_pipe_tensor.sum";
inline constexpr const char *instructions_tensor_hfma2 =
    "sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum";
inline constexpr const char *instructions_local_load = "smsp__inst_executed_op_local_ld.sum";

// ---- instructions of threads ----
/// Counted by instrumented code: exact, but in passes of their own that take some 0.1 to 0.5 s a kernel, as
/// the driver patches its code first.
inline constexpr const char *thread_ffma = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum";
inline constexpr const char *thread_fadd = "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum";
inline constexpr const char *thread_fmul = "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum";

// ---- wavefronts of shared memory ----
inline constexpr const char *shared_wavefronts_load = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum";
inline constexpr const char *shared_wavefronts_store = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum";
inline constexpr const char *shared_conflicts_load =
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum";
inline constexpr const char *shared_conflicts_store =
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum";

// ---- per cent ----
inline constexpr const char *fma_pipe_busy = "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active";
inline constexpr const char *issue_busy = "smsp__issue_active.avg.pct_of_peak_sustained_active";
inline constexpr const char *dram_busy = "dram__throughput.avg.pct_of_peak_sustained_elapsed";

/// Hardware counters only.
inline constexpr std::array hardware = {
    dram_bytes_read, dram_bytes_write, l2_sectors_read, l2_sectors_write, instructions, instructions_fma_pipe,
    instructions_tensor_pipe, instructions_tensor_hfma2,
    "smsp__inst_executed_op_shared_ld.sum", // instructions of warps
    "smsp__inst_executed_op_shared_st.sum", instructions_local_load, shared_wavefronts_load,
    shared_wavefronts_store, shared_conflicts_load, shared_conflicts_store, fma_pipe_busy, issue_busy,
    dram_busy,
    "sm__warps_active.avg.pct_of_peak_sustained_active", // per cent
    "sm__cycles_active.avg",                             // clocks
    // nanoseconds, under the profiler: never a case's time
    "gpu__time_duration.sum"};

inline constexpr std::array instrumented = {thread_ffma, thread_fadd, thread_fmul};

/// What the warps of a scheduler waited for.
inline constexpr std::array stall_reasons = {
    "long_scoreboard", "short_scoreboard", "mio_throttle",     "lg_throttle", "math_pipe_throttle",
    "dispatch_stall",  "barrier",          "membar",           "wait",        "not_selected",
    "selected",        "no_instruction",   "branch_resolving", "drain",       "sleeping",
    "imc_miss"};

} // namespace metrics

/// Warps that waited for it on average, in the clocks that issued, over the clocks that issued.
inline std::string stall_metric(const std::string &reason) {
    return "smsp__average_warps_issue_stalled_" + reason + "_per_issue_active.ratio";
}

/// Behind other names.
inline std::vector<std::string> metric_names(std::span<const char *const> some,
                                             std::vector<std::string> names = {}) {
    names.insert(names.end(), some.begin(), some.end());
    return names;
}

/// What the chip counts by itself: metrics::hardware, then the stalls.
inline std::vector<std::string> hardware_metric_names() {
    std::vector<std::string> names = metric_names(metrics::hardware);
    for (const char *reason : metrics::stall_reasons)
        names.push_back(stall_metric(reason));
    return names;
}

} // namespace convcast
