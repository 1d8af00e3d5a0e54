// What counters say of a case: those of the chip, and those of instrumented code, which are the same in every
// call, whatever waits for what.
#pragma once

#include "gpu/metrics.hpp"
#include "model/machine/profile.hpp"
#include "model/record/run.hpp"
#include "model/shape/conv_shape.hpp"

#include <map>
#include <string>
#include <vector>

namespace convcast {

namespace metrics {

/// Wavefronts of shared memory that the addresses of the lanes ask for, by a rule of the instrumented code
/// that differs a little from the chip's (docs/evidence.md, W3). The chip's own counters, without sass_, see
/// those that are served again too: a load that meets a store or a wgmma.
inline constexpr const char *asked_wavefronts_load =
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum";
inline constexpr const char *asked_wavefronts_store =
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum";
/// Of asynchronous copies (cp.async), which are neither loads nor stores of shared memory.
inline constexpr const char *asked_wavefronts_copy =
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum";

} // namespace metrics

/// metrics::instrumented and the three above: one pass on GH100.
std::vector<std::string> exact_metric_names();

/// Of our own, ok, measured cold, and without some of those counters.
bool lacks_exact_counts(const Case &item);

/// Into the case's cold measurement, which must be there: the counters, and of its work the FMAs, which the
/// counter knows of floats only, and the wavefronts by address: no more than the chip made.
void add_exact_counts(Case &item, const std::map<std::string, double> &counters);

/// Of a case that was measured from a cold L2.
Measurement &cold_measurement(Case &item);

/// Into the measurement: the counters, the work that they say was done, and its regime by the profile's
/// ceilings.
void add_counts(Measurement &measurement, const std::map<std::string, double> &counters,
                const GpuProfile &profile);

/// Whether matrices of floats were multiplied on tensor cores. Counters of halves' arithmetic, which the pipe
/// does too, do not count.
bool used_tensor_cores(const std::map<std::string, double> &counters);

} // namespace convcast
