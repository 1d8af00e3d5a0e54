#include "model/again.hpp"

#include "model/time/simulation.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace convcast {
namespace {

bool has_timeline(const Case &item) {
    return (item.prediction && item.prediction->timeline) ||
           std::any_of(item.measurements.begin(), item.measurements.end(),
                       [](const Measurement &m) { return m.timeline.has_value(); });
}

/// A new case for what `item` is of. `given`: its time is forecast from the work counted with a cold L2.
Case forecast_of(const Case &item, const ConvShape &shape, const Run &document, const GpuProfile &profile,
                 const Knowledge &knowledge, bool given) {
    const Measurement *cold = item.measured(L2State::cold);
    const Work *counted = cold && cold->work ? &*cold->work : nullptr;
    if (item.strategy)
        return predict(parse_strategy(*item.strategy), shape, profile, knowledge, given ? counted : nullptr);
    // The counters also stand in for work that the launch file of a user's kernel does not declare.
    if (const OwnKernel *kernel = document.own_kernel(*item.baseline))
        return predict_own(*kernel, shape, profile, knowledge, given || !kernel->work ? counted : nullptr);
    return predict_baseline(*item.baseline, shape, profile);
}

} // namespace

bool was_run(const Run &document) { // the name of the device, which `run` alone writes
    return document.conditions.contains("gpu");
}

Case forecast_again(Case item, const Run &document, const GpuProfile &profile, const Knowledge &knowledge,
                    MeasuredCases measured) {
    if (!item.measurements.empty() && measured == MeasuredCases::keep)
        return item;
    const ConvShape shape = ConvShape::parse(item.shape);
    Case now =
        forecast_of(item, shape, document, profile, knowledge, measured == MeasuredCases::renew_given_work);
    if (has_timeline(item))
        add_timeline(now, profile, knowledge);
    // Only a run gives these statuses. That a strategy does not fit, a forecast says too, unless a run said
    // so or it is others' code, of which a forecast cannot tell.
    const bool found = item.status == Status::wrong_result || item.status == Status::failed ||
                       item.status == Status::not_run ||
                       (item.status != Status::ok && (item.baseline || was_run(document)));
    if (found || !item.measurements.empty()) {
        item.prediction = std::move(now.prediction); // absent where this code would not run it
        for (Measurement &m : item.measurements)
            m.rates = rates_of(shape, m.work, m.time_s, profile);
        return item;
    }
    now.study = std::move(item.study);
    now.name = std::move(item.name);
    now.count = item.count;
    return now;
}

std::int64_t planned_ctas(const Case &item) {
    std::int64_t ctas = 0;
    if (item.strategy && item.prediction && item.prediction->plan)
        for (const CallLaunch &launch : launches_of(*item.prediction->plan))
            ctas += launch.ctas;
    return ctas;
}

void add_timeline(Case &item, const GpuProfile &profile, const Knowledge &knowledge) {
    if (const std::int64_t ctas = planned_ctas(item); ctas > 0 && ctas <= most_timeline_ctas)
        item.prediction->timeline = forecast_timeline(*item.prediction->plan, ConvShape::parse(item.shape),
                                                      profile, knowledge.calibration.value_or(Calibration{}));
}

} // namespace convcast
