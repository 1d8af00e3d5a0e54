#include "executor/baselines/names.hpp"

#include "model/base/errors.hpp"
#include "model/record/elsewhere.hpp"
#include "model/record/own_kernel.hpp"

#include <string>
#include <vector>

namespace convcast {
namespace {

bool transforms(const std::string &baseline) {
    return baseline.find(":fft") != std::string::npos || baseline.find(":winograd") != std::string::npos;
}

} // namespace

std::vector<std::string> baselines() {
    return {"cudnn:implicit_gemm", "cudnn:implicit_precomp_gemm",
            "cudnn:gemm",          "cudnn:direct",
            "cudnn:fft",           "cudnn:fft_tiling",
            "cudnn:winograd",      "cudnn:winograd_nonfused",
            "cudnn:graph",         "cudnn:graph_deterministic",
            "cudnn:graph_direct",  "cudnn:tf32",
            "im2col_cublas",       "cudnn:graph_nhwc",
            "cudnn:half",          "cublas"};
}

bool is_baseline(const std::string &text) {
    return text == "cudnn" || text.starts_with("cudnn:") || text == "im2col_cublas" || text == "cublas";
}

std::vector<std::string> baselines_named(const std::string &text) {
    std::vector<std::string> named = baselines();
    std::erase_if(named,
                  [&](const std::string &name) { return name != text && !name.starts_with(text + ":"); });
    return named;
}

void check_baseline(const std::string &text) {
    if (is_own(text) || is_elsewhere(text))
        return;
    if (baselines_named(text).empty())
        throw UsageError("unknown baseline '" + text + "'" + did_you_mean(text, baselines()) +
                         " Known: cudnn (all of its), " + join(baselines()));
}

bool is_picked_plan(const std::string &baseline) {
    return baseline.starts_with("cudnn:graph") || baseline == "cudnn:tf32" || baseline == "cudnn:half";
}

Layout layout_of(const std::string &baseline) {
    return baseline == "cudnn:graph_nhwc" ? Layout::channels_last : Layout::channels_first;
}

DataType type_of(const std::string &baseline) {
    return baseline == "cudnn:half" ? DataType::f16 : DataType::f32;
}

bool plan_allowed(const std::string &baseline, const PlanNotes &notes) {
    if (notes.sums_rounded)
        return false;
    if (!is_true_fp32(baseline))
        return true;
    if (notes.tensor_cores || notes.inputs_rounded)
        return false;
    if (baseline == "cudnn:graph_deterministic")
        return !notes.nondeterministic;
    if (baseline == "cudnn:graph_direct")
        return !notes.winograd && !notes.fft;
    return true;
}

Gate second_gate(const std::string &baseline) {
    return transforms(baseline) ? Gate::transformed : Gate::rounding;
}

Gate second_gate(const PlanNotes &notes) {
    if (notes.tensor_cores || notes.inputs_rounded)
        return Gate::tf32;
    return notes.winograd || notes.fft ? Gate::transformed : Gate::rounding;
}

bool is_true_fp32(const std::string &baseline) {
    return baseline != "cudnn:tf32" && baseline != "cudnn:half";
}

} // namespace convcast
