// Others' convolutions that ours are compared with, by name. Which of them run is for the machine to say.
#pragma once

#include "executor/verify/gates.hpp"
#include "executor/verify/inputs.hpp"

#include <string>
#include <vector>

namespace convcast {

/// "cudnn:implicit_gemm", ...: every algorithm of cuDNN's forward convolution, each a baseline of its own;
/// the fastest plans of cuDNN's graph interface ("cudnn:graph", ...); "im2col_cublas"; "cublas", the matrix
/// product alone, for shapes that are one.
std::vector<std::string> baselines();

/// Whether a text names a baseline family ("cudnn") or one of its members.
bool is_baseline(const std::string &text);

/// The members of the family that `text` names, or the baseline that it is.
std::vector<std::string> baselines_named(const std::string &text);

/// Throws UsageError unless `text` is a family or a member, or names a kernel of the user's own or a time
/// measured elsewhere.
void check_baseline(const std::string &text);

/// What cuDNN notes about the arithmetic of one of its plans.
struct PlanNotes {
    bool tensor_cores = false;
    bool inputs_rounded = false; ///< to fewer bits before they are multiplied
    bool sums_rounded = false;   ///< partial sums kept in fewer bits
    bool winograd = false, fft = false;
    bool nondeterministic = false;
    bool operator==(const PlanNotes &) const = default;
};

/// Whether `baseline` is picked from the plans of cuDNN's graph interface: cudnn:graph,
/// cudnn:graph_deterministic, cudnn:graph_direct, cudnn:graph_nhwc, cudnn:tf32 and cudnn:half.
bool is_picked_plan(const std::string &baseline);

/// How a baseline's tensors lie, and of what type they are. cudnn:graph_nhwc alone gets them in NHWC, and the
/// time to bring them there is nobody's; cudnn:half alone computes on halves.
Layout layout_of(const std::string &baseline);
DataType type_of(const std::string &baseline);

/// Whether a plan with these notes may stand for such a baseline. Only cudnn:tf32 and cudnn:half may use
/// tensor cores.
bool plan_allowed(const std::string &baseline, const PlanNotes &notes);

/// Which gate 2 a baseline's arithmetic must pass; gate 1 only goes with Gate::rounding. Of a plan see the
/// other.
Gate second_gate(const std::string &baseline);
Gate second_gate(const PlanNotes &notes);

/// Whether a baseline computes in true FP32, so that using tensor cores makes it a failure.
bool is_true_fp32(const std::string &baseline);

} // namespace convcast
