#include "executor/check_kernels.hpp"

#include "executor/baselines/im2col.hpp"
#include "executor/launch/kernel_cache.hpp"
#include "executor/launch/kernel_source.hpp"
#include "executor/launch/own_call.hpp"
#include "executor/verify/reference_kernel.hpp"
#include "model/plan/occupancy.hpp"
#include "model/strategies/list.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

/// Copies what the compiler says of a kernel; spilled registers are a problem.
void note_facts(CheckedKernel &kernel, const KernelFacts &facts) {
    kernel.registers = facts.registers;
    kernel.static_shared_bytes = facts.static_shared_bytes;
    kernel.stack_bytes = facts.stack_bytes;
    kernel.spill_store_bytes = facts.spill_store_bytes;
    kernel.spill_load_bytes = facts.spill_load_bytes;
    if (facts.spill_store_bytes > 0 || facts.spill_load_bytes > 0)
        kernel.problem = fmt::format("spills registers: {} bytes stored, {} loaded", facts.spill_store_bytes,
                                     facts.spill_load_bytes);
}

/// `kernel`, whose name, threads and shared memory are set, with the facts that `compile` gives or its error.
CheckedKernel checked(CheckedKernel kernel, const Gpu &gpu, const std::function<KernelFacts()> &compile) {
    try {
        const KernelFacts facts = compile();
        note_facts(kernel, facts);
        kernel.ctas_per_sm = resident_ctas(gpu, *kernel.threads, facts.registers,
                                           *kernel.dynamic_shared_bytes + facts.static_shared_bytes);
    } catch (const GpuError &error) {
        kernel.problem = error.what();
    }
    return kernel;
}

/// A kernel of a plan. More registers or fewer CTAs of an SM than planned are a problem.
CheckedKernel checked(KernelCache &kernels, const Partition &part, const Gpu &gpu) {
    CheckedKernel kernel;
    kernel.kernel = name_expression(part);
    kernel.register_cap = part.register_cap;
    kernel.threads = part.threads;
    kernel.dynamic_shared_bytes = part.shared_bytes;
    kernel.planned_ctas_per_sm = part.ctas_per_sm;
    kernel =
        checked(std::move(kernel), gpu, [&] { return kernels.compiled(part).facts(name_expression(part)); });
    if (kernel.problem)
        return kernel;
    if (*kernel.registers > part.register_cap)
        kernel.problem =
            fmt::format("takes {} registers, its cap is {}", *kernel.registers, part.register_cap);
    else if (*kernel.ctas_per_sm < part.ctas_per_sm)
        kernel.problem =
            fmt::format("{} CTAs fit an SM, its plan has {}", *kernel.ctas_per_sm, part.ctas_per_sm);
    return kernel;
}

} // namespace

std::vector<CheckedKernel> check_kernels(Compiler &compiler, std::span<const Plan> plans, const Gpu &gpu,
                                         int compute_capability, unsigned threads,
                                         const std::function<void(std::size_t, std::size_t)> &progress) {
    KernelCache kernels(compiler, compute_capability);
    kernels.compile_ahead(plans, threads);
    kernels.wait(progress);
    std::vector<CheckedKernel> list;
    std::set<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t>> seen;
    for (const Plan &plan : plans)
        for (const std::vector<Partition> *parts : {&plan.prepare, &plan.launches})
            for (const Partition &part : *parts)
                if (seen.emplace(name_expression(part), part.register_cap, part.threads, part.shared_bytes,
                                 part.ctas_per_sm)
                        .second)
                    list.push_back(checked(kernels, part, gpu));
    const std::vector<CompileRequest> without_plans = {reference_request(compute_capability),
                                                       im2col_request(compute_capability)};
    const std::vector<Compiler::Outcome> outcomes = compiler.compile_all(without_plans, threads);
    for (std::size_t i = 0; i < without_plans.size(); ++i) {
        if (const auto *why = std::get_if<std::string>(&outcomes[i])) {
            CheckedKernel &kernel = list.emplace_back();
            kernel.kernel = without_plans[i].name;
            kernel.problem = *why;
            continue;
        }
        for (const KernelFacts &facts : std::get<CompiledModule>(outcomes[i]).kernels) {
            CheckedKernel &kernel = list.emplace_back();
            kernel.kernel = facts.lowered_name;
            note_facts(kernel, facts);
        }
    }
    return list;
}

CheckedKernel check_own_kernel(Compiler &compiler, const OwnKernel &kernel, const ConvShape &shape,
                               const Gpu &gpu, int compute_capability) {
    CheckedKernel planned;
    planned.kernel = own_prefix + kernel.name + " for " + shape.id();
    const auto launched = own_launch(kernel, shape, gpu);
    if (const auto *why = std::get_if<std::string>(&launched)) {
        planned.problem = *why;
        return planned;
    }
    const OwnLaunch &launch = std::get<OwnLaunch>(launched);
    planned.kernel = own_prefix + launch.expression;
    planned.register_cap = launch.registers;
    planned.threads = launch.threads();
    planned.dynamic_shared_bytes = launch.shared_bytes;
    CheckedKernel compiled = checked(std::move(planned), gpu, [&] {
        return compiler.compile(own_request(kernel, launch, shape, gpu, compute_capability))
            .facts(launch.expression);
    });
    if (compiled.ctas_per_sm && *compiled.ctas_per_sm < 1)
        compiled.problem = "no CTA of it fits an SM";
    return compiled;
}

} // namespace convcast
