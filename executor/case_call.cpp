#include "executor/case_call.hpp"

#include "executor/launch/own_call.hpp"
#include "executor/launch/prepare.hpp"
#include "model/base/errors.hpp"
#include "model/choose/setting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {

MadeCall strategy_call(Case &item, const ConvShape &shape, const GpuProfile &profile, KernelCache &kernels) {
    if (!item.prediction || !item.prediction->plan) { // a document of another version may have had one
        const auto planned = plan(parse_strategy(*item.strategy), shape, Gpu(profile));
        if (const auto *why = std::get_if<Infeasible>(&planned))
            return why->why;
        throw UsageError("the case has no plan: it must be forecast before it is run");
    }
    const Plan &its = *item.prediction->plan;
    PreparedPlan prepared = prepare(kernels, its, shape);
    CaseCall call;
    call.name = *item.strategy;
    call.call = std::move(prepared.call);
    call.prepared_call = std::move(prepared.prepared_call);
    call.second_gate = its.transformed_fmas ? Gate::transformed : Gate::rounding;
    call.true_fp32 = !uses_tensor_cores(its);
    call.prepares_nothing =
        !call.prepared_call && std::none_of(its.launches.begin(), its.launches.end(),
                                            [](const Partition &part) { return part.constant_bytes > 0; });
    call.copies_filters_first =
        its.launches.size() == 1 && its.launches[0].constant_bytes > 0 && !call.prepared_call;
    std::vector<std::string> &assumptions = item.prediction->assumptions;
    for (std::string &note : prepared.notes)
        if (std::find(assumptions.begin(), assumptions.end(), note) == assumptions.end())
            assumptions.push_back(std::move(note));
    return call;
}

MadeCall own_kernel_call(Case &item, const OwnKernel &kernel, const ConvShape &shape,
                         const GpuProfile &profile, Compiler &compiler, int compute_capability) {
    const Gpu gpu(profile);
    auto launch = own_launch(kernel, shape, gpu);
    if (auto *why = std::get_if<std::string>(&launch))
        return std::move(*why);
    const OwnLaunch &made = std::get<OwnLaunch>(launch);
    const CompiledModule compiled =
        compiler.compile(own_request(kernel, made, shape, gpu, compute_capability));
    const KernelFacts &facts = compiled.facts(made.expression);
    item.detail = fmt::format("{} of {}, {} registers, {} bytes of shared memory", made.expression,
                              kernel.file, facts.registers, made.shared_bytes + facts.static_shared_bytes);
    if (facts.spill_store_bytes + facts.spill_load_bytes > 0)
        *item.detail += fmt::format(", spills {} bytes stored, {} loaded", facts.spill_store_bytes,
                                    facts.spill_load_bytes);
    CaseCall call;
    call.name = *item.baseline;
    call.call = own_call(compiled, kernel, made, shape, gpu);
    const Arithmetic arithmetic = kernel.arithmetic.value_or(Arithmetic::direct);
    call.second_gate = arithmetic == Arithmetic::direct        ? Gate::rounding
                       : arithmetic == Arithmetic::transformed ? Gate::transformed
                                                               : Gate::tf32;
    call.true_fp32 = arithmetic != Arithmetic::tf32;
    return call;
}

MadeCall baseline_call(Case &item, const ConvShape &shape, BaselineCalls &baselines, const PlanTrial &trial) {
    auto made = baselines.make(*item.baseline, shape, trial);
    if (auto *why = std::get_if<std::string>(&made))
        return std::move(*why);
    BaselineCall &ready = std::get<BaselineCall>(made);
    item.detail = std::move(ready.detail);
    CaseCall call;
    call.name = *item.baseline;
    call.call = std::move(ready.call);
    call.second_gate = ready.second_gate;
    call.layout = layout_of(*item.baseline);
    call.is_baseline = true;
    call.true_fp32 = is_true_fp32(*item.baseline);
    call.plan = std::move(ready.plan);
    return call;
}

} // namespace convcast
