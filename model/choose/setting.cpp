#include "model/choose/setting.hpp"

#include "model/time/call.hpp"
#include "model/work/compiled.hpp"

#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

/// What settings are compared by needs a rate of tensor cores: without a measured one, the vendor's.
GpuProfile with_tensor_rate(const Gpu &gpu) {
    GpuProfile profile = gpu.profile;
    profile.tf32_mma_rate.emplace().value = FmasPerCycle(gpu.architecture.tf32_mma_rate->value);
    return profile;
}

/// The time that a setting is compared by. Absent where the profile lacks a number for it.
std::optional<Seconds> compared_by(const PlannedStrategy &setting, const ConvShape &shape, const Gpu &gpu,
                                   const Facts &facts) {
    const Plan plan = as_forecast(setting.feasible.plan, shape, gpu, facts);
    if (!gpu.profile.tf32_mma_rate && uses_tensor_cores(plan)) {
        const GpuProfile profile = with_tensor_rate(gpu);
        return forecast_time(plan, shape, profile);
    }
    return forecast_time(plan, shape, gpu);
}

} // namespace

Plan as_forecast(Plan plan, const ConvShape &shape, const Gpu &gpu, const Facts &facts) {
    return shape.dtype == DataType::f32 ? with_facts(std::move(plan), facts, gpu.architecture) : plan;
}

PlanResult plan(const Strategy &strategy, const ConvShape &shape, const Gpu &gpu, const Facts &facts) {
    auto found = strategy.kind->settings(strategy, shape, gpu);
    if (auto *why = std::get_if<Infeasible>(&found))
        return std::move(*why);
    const std::vector<Strategy> &settings = std::get<0>(found);
    if (settings.size() == 1)
        return strategy.kind->plan(settings.front(), shape, gpu);
    std::optional<PlannedStrategy> best;
    std::optional<Infeasible> refused; // the first one
    double best_time = 0.0;
    for (const Strategy &setting : settings) {
        auto made = strategy.kind->plan(setting, shape, gpu);
        if (auto *why = std::get_if<Infeasible>(&made)) {
            if (!refused)
                refused = std::move(*why);
            continue;
        }
        auto &planned = std::get<PlannedStrategy>(made);
        const std::optional<Seconds> forecast = compared_by(planned, shape, gpu, facts);
        const double time = forecast ? forecast->value : 0.0;
        if (!best || time < best_time) {
            best = std::move(planned);
            best_time = time;
        }
    }
    if (best)
        return std::move(*best);
    return std::move(*refused);
}

PlanResult compiled_plan(const Strategy &strategy, const ConvShape &shape, const Gpu &gpu,
                         const Facts &facts) {
    auto planned = plan(strategy, shape, gpu, facts);
    if (auto *good = std::get_if<PlannedStrategy>(&planned))
        good->feasible.plan = as_forecast(std::move(good->feasible.plan), shape, gpu, facts);
    return planned;
}

} // namespace convcast
