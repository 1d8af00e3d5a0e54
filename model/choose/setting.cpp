#include "model/choose/setting.hpp"

#include "model/time/call.hpp"
#include "model/work/compiled.hpp"

#include <cstddef>
#include <functional>
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

/// The time that a plan is compared by. Absent where the profile lacks a number for it.
std::optional<Seconds> compared_by(const Plan &plan, const ConvShape &shape, const Gpu &gpu) {
    if (!gpu.profile.tf32_mma_rate && uses_tensor_cores(plan)) {
        const GpuProfile profile = with_tensor_rate(gpu);
        return forecast_time(plan, shape, profile);
    }
    return forecast_time(plan, shape, gpu);
}

/// A strategy's settings, or why it has none, and the place of the best one.
struct ComparedSettings {
    Settings settings;
    std::vector<PlannedSetting> planned;
    std::size_t best = 0;
};

ComparedSettings compared_settings(const Strategy &strategy, const ConvShape &shape, const Gpu &gpu,
                                   const Facts &facts) {
    ComparedSettings out{strategy.kind->settings(strategy, shape, gpu), {}, 0};
    const auto *settings = std::get_if<0>(&out.settings);
    if (settings == nullptr)
        return out;
    for (const Strategy &setting : *settings)
        out.planned.push_back(planned_setting(setting, shape, gpu, facts, settings->size() > 1));
    out.best = best_setting(settings->size(),
                            [&](std::size_t i) -> const PlannedSetting & { return out.planned[i]; });
    return out;
}

} // namespace

Plan as_forecast(Plan plan, const ConvShape &shape, const Gpu &gpu, const Facts &facts) {
    return shape.dtype == DataType::f32 ? with_facts(std::move(plan), facts, gpu.architecture) : plan;
}

PlannedSetting planned_setting(const Strategy &setting, const ConvShape &shape, const Gpu &gpu,
                               const Facts &facts, bool compared) {
    PlannedSetting out{setting.kind->plan(setting, shape, gpu)};
    if (auto *good = std::get_if<PlannedStrategy>(&out.planned)) {
        good->feasible.plan = as_forecast(std::move(good->feasible.plan), shape, gpu, facts);
        if (compared)
            out.time_s = compared_by(good->feasible.plan, shape, gpu).value_or(Seconds(0.0)).value;
    }
    return out;
}

std::size_t best_setting(std::size_t count, const std::function<const PlannedSetting &(std::size_t)> &at) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < count; ++i)
        if (std::holds_alternative<PlannedStrategy>(at(i).planned) &&
            (!best || at(i).time_s < at(*best).time_s))
            best = i;
    return best.value_or(0);
}

PlanResult plan(const Strategy &strategy, const ConvShape &shape, const Gpu &gpu, const Facts &facts) {
    ComparedSettings found = compared_settings(strategy, shape, gpu, facts);
    if (auto *why = std::get_if<Infeasible>(&found.settings))
        return std::move(*why);
    const Strategy &best = std::get<0>(found.settings)[found.best];
    return best.kind->plan(best, shape, gpu);
}

PlanResult compiled_plan(const Strategy &strategy, const ConvShape &shape, const Gpu &gpu,
                         const Facts &facts) {
    ComparedSettings found = compared_settings(strategy, shape, gpu, facts);
    if (auto *why = std::get_if<Infeasible>(&found.settings))
        return std::move(*why);
    return std::move(found.planned[found.best].planned);
}

} // namespace convcast
