// What is run for a case: a strategy's plan, a kernel of the user's own, or others' convolution, ready to be
// called.
#pragma once

#include "executor/baselines/baseline_calls.hpp"
#include "executor/launch/kernel_cache.hpp"
#include "executor/verify/gates.hpp"
#include "executor/verify/inputs.hpp"
#include "model/machine/profile.hpp"
#include "model/record/run.hpp"

#include <string>
#include <variant>

namespace convcast {

struct CaseCall {
    std::string name;
    ConvCall call;
    ConvCall prepared_call; ///< without what is done once per filter set; empty if there is no such part
    Gate second_gate = Gate::rounding;
    Layout layout = Layout::channels_first;
    bool copies_filters_first = false; ///< one launch, behind a copy of the filters to constant memory
    bool prepares_nothing = true;      ///< no part of a call could be done once per filter set
    bool is_baseline = false;
    bool true_fp32 = true; ///< using tensor cores makes it a failure
    std::string plan;      ///< of a baseline that was picked among several
};

/// Or why this is not supported; each notes in the case what it runs. All throw GpuError if it cannot be
/// made.
using MadeCall = std::variant<CaseCall, std::string>;

/// Of the plan that the case was forecast with.
MadeCall strategy_call(Case &item, const ConvShape &shape, const GpuProfile &profile, KernelCache &kernels);

MadeCall own_kernel_call(Case &item, const OwnKernel &kernel, const ConvShape &shape,
                         const GpuProfile &profile, Compiler &compiler, int compute_capability);

/// `trial` runs the plans that one is picked from.
MadeCall baseline_call(Case &item, const ConvShape &shape, BaselineCalls &baselines, const PlanTrial &trial);

} // namespace convcast
