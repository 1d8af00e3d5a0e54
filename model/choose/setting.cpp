#include "model/choose/setting.hpp"

#include "model/time/call.hpp"
#include "model/work/compiled.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

/// The profile with the vendor's rate of tensor cores, by which settings are compared if none was measured.
GpuProfile with_tensor_rate(const Gpu &gpu) {
    GpuProfile profile = gpu.profile;
    profile.tf32_mma_rate.emplace().value = FmasPerCycle(gpu.architecture.tf32_mma_rate->value);
    return profile;
}

/// The setting of a strategy, without open knobs, that has the shortest forecast; if no setting can run, the
/// first one. Infeasible if the strategy has no settings for the shape.
std::variant<Strategy, Infeasible> best_of(const Strategy &strategy, const ConvShape &shape, const Gpu &gpu,
                                           const Facts &facts) {
    auto found = strategy.kind->settings(strategy, shape, gpu);
    if (auto *why = std::get_if<Infeasible>(&found))
        return std::move(*why);
    const std::vector<Strategy> &settings = std::get<0>(found);
    std::vector<std::optional<double>> times(settings.size());
    if (settings.size() > 1)
        std::transform(settings.begin(), settings.end(), times.begin(),
                       [&](const Strategy &setting) { return compared_by(setting, shape, gpu, facts); });
    return settings[best_setting(times)];
}

} // namespace

Plan as_forecast(Plan plan, const ConvShape &shape, const Gpu &gpu, const Facts &facts) {
    return shape.dtype == DataType::f32 ? with_facts(std::move(plan), facts, gpu.architecture) : plan;
}

std::optional<double> compared_by(const Strategy &setting, const ConvShape &shape, const Gpu &gpu,
                                  const Facts &facts) {
    const auto planned = compiled_setting(setting, shape, gpu, facts);
    const auto *good = std::get_if<PlannedStrategy>(&planned);
    if (good == nullptr)
        return std::nullopt;
    const Plan &plan = good->feasible.plan;
    std::optional<Seconds> time;
    if (!gpu.profile.tf32_mma_rate && uses_tensor_cores(plan)) {
        const GpuProfile profile = with_tensor_rate(gpu);
        time = forecast_time(plan, shape, profile);
    } else {
        time = forecast_time(plan, shape, gpu);
    }
    return time.value_or(Seconds(0.0)).value;
}

std::size_t best_setting(const std::vector<std::optional<double>> &times) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < times.size(); ++i)
        if (times[i] && (!best || *times[i] < *times[*best]))
            best = i;
    return best.value_or(0);
}

PlanResult plan(const Strategy &strategy, const ConvShape &shape, const Gpu &gpu, const Facts &facts) {
    auto best = best_of(strategy, shape, gpu, facts);
    if (auto *why = std::get_if<Infeasible>(&best))
        return std::move(*why);
    const Strategy &setting = std::get<Strategy>(best);
    return setting.kind->plan(setting, shape, gpu);
}

PlanResult compiled_setting(const Strategy &setting, const ConvShape &shape, const Gpu &gpu,
                            const Facts &facts) {
    auto planned = setting.kind->plan(setting, shape, gpu);
    if (auto *good = std::get_if<PlannedStrategy>(&planned))
        good->feasible.plan = as_forecast(std::move(good->feasible.plan), shape, gpu, facts);
    return planned;
}

PlanResult compiled_plan(const Strategy &strategy, const ConvShape &shape, const Gpu &gpu,
                         const Facts &facts) {
    auto best = best_of(strategy, shape, gpu, facts);
    if (auto *why = std::get_if<Infeasible>(&best))
        return std::move(*why);
    return compiled_setting(std::get<Strategy>(best), shape, gpu, facts);
}

} // namespace convcast
