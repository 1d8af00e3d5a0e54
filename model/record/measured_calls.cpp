#include "model/record/measured_calls.hpp"

#include "model/choose/setting.hpp"
#include "model/machine/machine.hpp"
#include "model/shape/training_part.hpp"
#include "model/time/call.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {

std::vector<MeasuredCall> measured_calls(const Run &run, const GpuProfile &profile, const Facts &facts,
                                         WhichCalls which) {
    const Gpu gpu(profile);
    std::vector<MeasuredCall> calls;
    for (std::size_t i = 0; i < run.cases.size(); ++i) {
        const Case &item = run.cases[i];
        const Measurement *cold = item.measured(L2State::cold);
        if (item.status != Status::ok || !item.strategy || !cold || cold->time_s.value <= 0.0)
            continue;
        const bool training = in_training_part(item.shape);
        if (which == WhichCalls::training && !training)
            continue;
        const ConvShape shape = ConvShape::parse(item.shape);
        auto planned = plan(parse_strategy(*item.strategy), shape, gpu, facts);
        auto *good = std::get_if<PlannedStrategy>(&planned);
        if (!good || !missing_for_forecast(profile, good->feasible.plan).empty())
            continue;
        Plan counted = as_forecast(good->feasible.plan, shape, gpu, facts);
        calls.push_back({std::move(good->feasible.plan), std::move(counted), shape, cold->time_s,
                         item.kernel(), training, i});
    }
    return calls;
}

std::vector<CountedCall> counted_calls(const Run &run, const GpuProfile &profile, WhichCalls which) {
    constexpr int lanes = 32; // of a warp
    const double warps =
        static_cast<double>(profile.limits.sm_count) * (profile.limits.max_threads_per_sm / lanes);
    std::vector<CountedCall> calls;
    for (const Case &item : run.cases) {
        const Measurement *cold = item.measured(L2State::cold);
        if (item.status != Status::ok || !item.strategy || !cold || !cold->work ||
            (which == WhichCalls::training && !in_training_part(item.shape)))
            continue;
        const ConvShape shape = ConvShape::parse(item.shape);
        if (shape.dtype != DataType::f32)
            continue;
        // The text of a recorded case has every knob, so there is nothing to rank by the facts that are
        // sought here.
        auto planned = plan(parse_strategy(*item.strategy), shape, profile);
        if (auto *good = std::get_if<PlannedStrategy>(&planned))
            calls.push_back({std::move(good->feasible.plan), *cold->work,
                             cold->counters.value_or(std::map<std::string, double>{}),
                             shared_latency_of(profile), warps});
    }
    return calls;
}

} // namespace convcast
