#include "model/predict.hpp"

#include "model/base/errors.hpp"
#include "model/base/parallel.hpp"
#include "model/regime/regimes.hpp"
#include "model/time/assumed_range.hpp"
#include "model/work/compiled.hpp"
#include "model/work/totals.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {

Case refused_case(const Strategy &strategy, const ConvShape &shape, const GpuProfile &profile,
                  Infeasible why) {
    Case out;
    out.shape = shape.id();
    out.strategy = to_text(strategy);
    out.status = why.unsupported ? Status::unsupported : Status::infeasible;
    out.reason = std::move(why.why);
    if (why.rules)
        out.rules = std::move(why.rules);
    else if (Rules rules = shape_rules(shape, profile); rules.n_fma)
        out.rules = std::move(rules);
    return out;
}

namespace {

/// Adds to a prediction the times of a call of `plan`, and the regime and rates that follow from them, or the
/// reason why there are none; returns whether there are. `prediction` has its work and its regimes already.
bool add_times(Prediction &prediction, const Plan &plan, const ConvShape &shape, const Gpu &gpu,
               const Knowledge &knowledge) {
    const GpuProfile &profile = gpu.profile;
    std::optional<CallForecast> call = forecast_call(plan, shape, gpu, knowledge.calibration);
    if (call) {
        prediction.time_s = call->term.value_s;
        prediction.times = {
            call->bound_s,
            call->unfitted_s,
            call->fitted_s,
            call->roofline_s,
            call->mwp_cwp_s,
            forecast_call_time(plan, shape, gpu, knowledge.calibration, held_for_repeats(plan, shape, gpu))};
        prediction.time_low_s = call->low_s;
        prediction.time_high_s = call->high_s;
        const Utilisation busy = utilisation_of(plan, *prediction.work, *prediction.time_s, profile);
        prediction.regimes->tier2 = measured_regime(busy.fma, busy.issue, busy.dram, busy.l2);
        prediction.limiter = limiter(call->term);
        prediction.term = std::move(call->term);
    } else {
        prediction.reason = no_time(profile, missing_for_forecast(profile, plan));
    }
    prediction.rates = rates_of(shape, prediction.work, prediction.time_s, profile);
    return prediction.time_s.has_value();
}

} // namespace

Case forecast_planned(PlannedStrategy good, const ConvShape &shape, const Gpu &gpu,
                      const Knowledge &knowledge, const Work *given) {
    const GpuProfile &profile = gpu.profile;
    Case out;
    out.shape = shape.id();
    out.strategy = to_text(good.strategy);
    out.status = Status::ok;
    Feasible &feasible = good.feasible;
    feasible.rules.round_fmas = feasible.paper_round_fmas;
    feasible.rules.round_bytes = feasible.paper_round_bytes * profile.limits.sm_count;

    Prediction prediction;
    prediction.assumptions = std::move(feasible.assumptions);
    if (shape.dtype == DataType::f16)
        prediction.assumptions.emplace_back(
            "halves are widened and multiplied as floats: no tensor core is used");
    prediction.work = total_work(feasible.plan);
    prediction.regimes.emplace().paper = paper_regime(feasible.rules);
    const Plan worked = given ? with_work(feasible.plan, *given) : feasible.plan;
    if (add_times(prediction, worked, shape, gpu, knowledge)) {
        const auto assume = [&](const std::vector<std::string> &sentences) {
            prediction.assumptions.insert(prediction.assumptions.end(), sentences.begin(), sentences.end());
        };
        assume(assumed_numbers(feasible.plan, gpu));
        if (shape.dtype == DataType::f32)
            assume(borrowed_facts(feasible.plan, knowledge.facts));
        if (given)
            assume({"the forecast uses the work that was counted in a call"});
        assume(knowledge.assumptions);
        if (const std::optional<TimeRange> range = assumed_range(worked, shape, gpu, knowledge.calibration)) {
            prediction.assumed_low_s = range->low;
            prediction.assumed_high_s = range->high;
        }
        prediction.regimes->over_latency = over_latency(feasible.plan, shape, gpu);
        prediction.regimes->physical = physical_regime(*prediction.regimes->over_latency);
    }
    prediction.rules = std::move(feasible.rules);
    prediction.plan = std::move(feasible.plan);
    out.prediction = std::move(prediction);
    return out;
}

Case predict(const Strategy &strategy, const ConvShape &shape, const GpuProfile &profile,
             const Knowledge &knowledge, const Work *given) {
    const Gpu gpu(profile);
    auto planned = compiled_plan(strategy, shape, gpu, knowledge.facts);
    if (auto *why = std::get_if<Infeasible>(&planned))
        return refused_case(strategy, shape, profile, std::move(*why));
    return forecast_planned(std::move(std::get<PlannedStrategy>(planned)), shape, gpu, knowledge, given);
}

Case predict_baseline(const std::string &baseline, const ConvShape &shape, const GpuProfile &profile) {
    Case out;
    out.shape = shape.id();
    out.baseline = baseline;
    out.status = Status::ok;
    Prediction prediction;
    prediction.assumptions = {"speed of light only: a bound, no forecast of others' code"};
    // Others may multiply elements of 16 and 8 bits on tensor cores, whose rate for them no probe measures.
    // So these have the bound of their traffic alone.
    const std::optional<double> fmas =
        shape.dtype == DataType::f32 ? std::nullopt : std::optional<double>(0.0);
    if (const std::optional<Term> bound = speed_of_light(shape, profile, fmas))
        prediction.times.tier0_s = bound->value_s;
    prediction.reason = "others' code has a bound (tier0_s), no plan and no forecast";
    out.prediction = std::move(prediction);
    return out;
}

Case predict_own(const OwnKernel &kernel, const ConvShape &shape, const GpuProfile &profile,
                 const Knowledge &knowledge, const Work *counted) {
    Case out = predict_baseline(own_prefix + kernel.name, shape, profile);
    Prediction &prediction = *out.prediction;
    prediction.assumptions.clear();
    prediction.reason = "nobody said what work it does: declare it, or run it where counters can be read";
    const Gpu gpu(profile);
    try {
        const auto launched = own_launch(kernel, shape, gpu);
        if (const auto *why = std::get_if<std::string>(&launched)) {
            out.status = Status::unsupported;
            out.reason = *why;
            out.prediction.reset();
            return out;
        }
        const std::optional<Partition> part =
            own_partition(kernel, std::get<OwnLaunch>(launched), shape, gpu, counted, prediction.assumptions);
        if (!part)
            return out;
        const Plan plan =
            as_forecast({.launches = {*part}, .prepare = {}, .workspace_bytes = 0, .transformed_fmas = {}},
                        shape, gpu, as_never_counted(knowledge.facts, {part->kernel}));
        prediction.reason.reset();
        prediction.work = total_work(plan);
        prediction.regimes.emplace();
        if (!add_times(prediction, plan, shape, gpu, knowledge))
            return out;
        if (counted == nullptr)
            prediction.assumptions.emplace_back(declared_work_assumption);
        prediction.assumptions.emplace_back("a kernel that no counters were learnt from: it has the median "
                                            "pace of our kernels and the interval of our strategies");
    } catch (const UsageError &error) { // an expression of the launch file is wrong
        out.status = Status::failed;
        out.reason = error.what();
        out.prediction.reset();
    }
    return out;
}

std::vector<Case> choose(const ConvShape &shape, const GpuProfile &profile, const Knowledge &knowledge,
                         const std::vector<std::string> &strategies, std::size_t top, TensorCores order) {
    Ranking ranking = rank(shape, profile, knowledge, strategies, top, order);
    const Gpu gpu(profile);
    std::vector<Case> chosen(ranking.settings.size());
    in_parallel(chosen.size(), [&](std::size_t i) {
        chosen[i] = forecast_planned(std::move(ranking.settings[i].planned), shape, gpu, knowledge);
    });
    for (RefusedStrategy &refused : ranking.refused)
        chosen.push_back(refused_case(refused.setting, shape, profile, std::move(refused.why)));
    return chosen;
}

} // namespace convcast
