#include "model/fit/fit.hpp"

#include "model/base/errors.hpp"
#include "model/base/parallel.hpp"
#include "model/base/statistics.hpp"
#include "model/machine/architecture.hpp"
#include "model/time/call.hpp"
#include "model/work/compiled.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

struct FittedKnob {
    double FittedNumbers::*number;
    double first_step, least, most;
};

/// The bounds keep the search where a number still means something: a share is not far above 1, an exponent
/// of 1 adds, and one of 10 is as good as a maximum.
constexpr std::array<FittedKnob, 4> fitted_knobs = {{{&FittedNumbers::first_wave_miss, 0.25, 0.0, 1.5},
                                                     {&FittedNumbers::cold_share, 0.25, 0.0, 1.5},
                                                     {&FittedNumbers::steps_overlap, 0.5, 1.0, 10.0},
                                                     {&FittedNumbers::units_overlap, 0.5, 1.0, 10.0}}};

using Calls = std::vector<const MeasuredCall *>;

/// Pointers to those of `calls` for which condition(call) holds.
template <class Condition> Calls calls_where(const std::vector<MeasuredCall> &calls, Condition condition) {
    Calls which;
    for (const MeasuredCall &call : calls)
        if (condition(call))
            which.push_back(&call);
    return which;
}

/// ln(forecast / measured) of each call, in the order of `calls`; computed on all cores. plan_of(call) is the
/// plan that is forecast.
template <class PlanOf = Plan MeasuredCall::*>
std::vector<double> log_ratios_of(const Calls &calls, const GpuProfile &profile,
                                  const Calibration &calibration, PlanOf plan_of = &MeasuredCall::plan) {
    std::vector<double> ratios(calls.size());
    in_parallel(calls.size(), [&](std::size_t i) {
        const MeasuredCall &call = *calls[i];
        const Plan &plan = std::invoke(plan_of, call);
        // The bound is that of the algorithm's own multiply-adds. Tensor cores are faster than the FFMAs that
        // speed_of_light counts, so of their calls only memory bounds the time.
        const std::optional<double> fmas =
            uses_tensor_cores(plan) ? std::optional<double>(0.0) : plan.transformed_fmas;
        const double bound = speed_of_light(call.shape, profile, fmas)->value_s.value;
        const double time = forecast_time(plan, call.shape, profile, calibration)->value;
        ratios[i] = std::log(std::max(time, bound) / call.time_s.value);
    });
    return ratios;
}

/// ln(forecast / measured) of the training calls, for any four numbers. Keeps what it has computed: fits that
/// leave out one strategy each try mostly the same numbers.
class LogRatios {
  public:
    LogRatios(Calls calls, const GpuProfile &profile) : calls_(std::move(calls)), profile_(profile) {}

    /// The log ratios of all calls with the four numbers of a calibration. All calibrations must omit the
    /// same equations, since only the four numbers are looked at.
    const std::vector<double> &of(const Calibration &calibration) {
        std::array<double, fitted_knobs.size()> key{};
        for (std::size_t i = 0; i < fitted_knobs.size(); ++i)
            key[i] = calibration.fitted.*fitted_knobs[i].number;
        const auto [found, fresh] = known_.try_emplace(key);
        if (fresh)
            found->second = log_ratios_of(calls_, profile_, calibration);
        return found->second;
    }

    /// Indices of the calls of other strategies than `strategy`; of all calls if it is "".
    std::vector<std::size_t> without(const std::string &strategy) const {
        std::vector<std::size_t> which;
        for (std::size_t i = 0; i < calls_.size(); ++i)
            if (strategy.empty() || calls_[i]->strategy != strategy)
                which.push_back(i);
        return which;
    }

  private:
    Calls calls_;
    const GpuProfile &profile_;
    std::map<std::array<double, fitted_knobs.size()>, std::vector<double>> known_;
};

/// Mean absolute log ratio of the calls whose indices `which` has.
double mean_error(const std::vector<std::size_t> &which, const std::vector<double> &log_ratios) {
    double sum = 0.0;
    for (const std::size_t i : which)
        sum += std::abs(log_ratios[i]);
    return sum / static_cast<double>(which.size());
}

/// Fits the four numbers to the calls whose indices `which` has: from the assumed values on, moves each
/// number by its step as long as that makes the error smaller, then halves the steps.
Calibration fit_to(const std::vector<std::size_t> &which, LogRatios &log_ratios, const GpuProfile &profile,
                   const Omitted &omitted = {}) {
    Calibration best;
    best.omitted = omitted;
    double error = mean_error(which, log_ratios.of(best));
    constexpr int halvings = 4; // down to a sixteenth of the first steps
    double scale = 1.0;
    for (int halving = 0; halving <= halvings; ++halving, scale /= 2.0) {
        for (bool better = true; better;) {
            better = false;
            for (const FittedKnob &knob : fitted_knobs)
                for (const double direction : {1.0, -1.0}) {
                    Calibration next = best;
                    next.fitted.*knob.number =
                        std::clamp(next.fitted.*knob.number + direction * scale * knob.first_step, knob.least,
                                   knob.most);
                    const double its_error = mean_error(which, log_ratios.of(next));
                    if (its_error < error - 1e-6) { // less is rounding, and might go on for ever
                        best = next;
                        error = its_error;
                        better = true;
                    }
                }
        }
    }
    std::vector<double> ratios; // measured over forecast
    for (const std::size_t i : which)
        ratios.push_back(std::exp(-log_ratios.of(best)[i]));
    std::sort(ratios.begin(), ratios.end());
    // These calls are those that the fit saw. So the time of a new call lies between their percentiles
    // somewhat less often than 90 % (docs/evidence.md, I1, says how often).
    best.cases = static_cast<std::int64_t>(which.size());
    best.ratio_p05 = quantile_of_next(ratios, 0.05);
    best.ratio_p95 = quantile_of_next(ratios, 0.95);
    best.profile = fitted_on(profile);
    return best;
}

/// Ten fits, each to as many shapes as `training` has, drawn with replacement and the same in every run.
/// Whole shapes are drawn, since the forecasts of a shape's calls are wrong together.
std::vector<FittedNumbers> resampled_fits(const Calls &training, LogRatios &log_ratios,
                                          const GpuProfile &profile) {
    constexpr int fits = 10; // so that the lowest and the highest are about the 5th and 95th percentile
    std::map<std::string, std::vector<std::size_t>> by_shape;
    for (std::size_t i = 0; i < training.size(); ++i)
        by_shape[training[i]->shape.id()].push_back(i);
    std::vector<const std::vector<std::size_t> *> shapes;
    for (const auto &[id, calls] : by_shape)
        shapes.push_back(&calls);
    std::mt19937 random(1); // its sequence is the standard's
    std::vector<FittedNumbers> out;
    for (int fit = 0; fit < fits; ++fit) {
        std::vector<std::size_t> drawn;
        for (std::size_t n = 0; n < shapes.size(); ++n) {
            const std::vector<std::size_t> &calls = *shapes[random() % shapes.size()];
            drawn.insert(drawn.end(), calls.begin(), calls.end());
        }
        out.push_back(fit_to(drawn, log_ratios, profile).fitted);
    }
    return out;
}

/// The training calls. Throws UsageError if there are none, or if a time cannot be forecast with the profile.
Calls training_of(const std::vector<MeasuredCall> &calls, const GpuProfile &profile) {
    Calls training = calls_where(calls, [](const MeasuredCall &call) { return call.training; });
    if (training.empty())
        throw UsageError("fit: no measured call of our own strategies in the training part");
    if (const std::string missing = missing_for_forecast(profile); !missing.empty())
        throw UsageError("fit: the profile " + profile.id + " lacks " + missing);
    return training;
}

/// The kernels that have most FMAs of these calls.
std::set<std::string> main_kernels(const Calls &calls) {
    std::set<std::string> kernels;
    for (const MeasuredCall *call : calls)
        kernels.insert(main_launch(call->uncounted).kernel);
    return kernels;
}

/// The row of a strategy, or of "all", from its judged calls. `training` is the number of its training calls.
LeftOut left_out_row(const std::string &strategy, std::int64_t training, const std::vector<JudgedCall> &calls,
                     const Calibration &calibration) {
    LeftOut row;
    row.strategy = strategy;
    row.training = training;
    row.test = std::ssize(calls);
    row.calibration = calibration;
    const auto error = [&](double JudgedCall::*ratio) {
        std::vector<double> errors;
        for (const JudgedCall &its : calls)
            errors.push_back(std::abs(its.*ratio - 1.0));
        return mean_of(errors);
    };
    const auto bias = [&](double JudgedCall::*ratio) {
        std::vector<double> ratios;
        for (const JudgedCall &its : calls)
            ratios.push_back(its.*ratio);
        return geometric_mean_of(std::move(ratios));
    };
    row.without_counters = error(&JudgedCall::without_counters);
    row.probes_and_counters = error(&JudgedCall::probes_and_counters);
    row.fitted = error(&JudgedCall::fitted);
    row.left_out = error(&JudgedCall::left_out);
    row.new_kernel = error(&JudgedCall::new_kernel);
    row.left_out_bias = bias(&JudgedCall::left_out);
    row.new_kernel_bias = bias(&JudgedCall::new_kernel);
    return row;
}

} // namespace

Calibration fit_calibration(const std::vector<MeasuredCall> &calls, const GpuProfile &profile) {
    const Calls training = training_of(calls, profile);
    LogRatios log_ratios(training, profile);
    Calibration calibration = fit_to(log_ratios.without(""), log_ratios, profile);
    calibration.resampled = resampled_fits(training, log_ratios, profile);
    return calibration;
}

Calibration fit_without(const Omitted &omitted, const std::vector<MeasuredCall> &calls,
                        const GpuProfile &profile) {
    LogRatios log_ratios(training_of(calls, profile), profile);
    return fit_to(log_ratios.without(""), log_ratios, profile, omitted);
}

double mean_error(const std::vector<MeasuredCall> &calls, const GpuProfile &profile,
                  const Calibration &calibration, Plan MeasuredCall::*known) {
    if (calls.empty())
        throw UsageError("fit: no measured call to judge by");
    std::vector<double> errors;
    for (const double ratio : log_ratios_of(calls_where(calls, [](const MeasuredCall &) { return true; }),
                                            profile, calibration, known))
        errors.push_back(std::abs(std::exp(ratio) - 1.0));
    return mean_of(errors);
}

double mean_regret(const std::vector<MeasuredCall> &calls, const GpuProfile &profile,
                   const Calibration &calibration) {
    const std::vector<double> ratios =
        log_ratios_of(calls_where(calls, [](const MeasuredCall &) { return true; }), profile, calibration,
                      &MeasuredCall::plan);
    struct OfShape {
        double least_forecast; ///< seconds
        double its_time;       ///< measured time of the call that has it
        double least_time;     ///< shortest measured time of the shape
        std::int64_t settings;
    };
    std::map<std::string, OfShape> shapes;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const double time = calls[i].time_s.value, forecast = std::exp(ratios[i]) * time;
        const auto [found, first] = shapes.try_emplace(calls[i].shape.id(), OfShape{forecast, time, time, 0});
        OfShape &its = found->second;
        if (forecast < its.least_forecast)
            its.least_forecast = forecast, its.its_time = time;
        its.least_time = std::min(its.least_time, time);
        its.settings += 1;
    }
    std::vector<double> regrets;
    for (const auto &[shape, its] : shapes)
        if (its.settings >= 2)
            regrets.push_back(its.its_time / its.least_time - 1.0);
    if (regrets.empty())
        throw UsageError("fit: no shape has two measured calls to choose from");
    return mean_of(regrets);
}

LeaveOneOut leave_one_out(const std::vector<MeasuredCall> &calls, const GpuProfile &profile,
                          const Facts &facts) {
    const Gpu gpu(profile);
    LogRatios log_ratios(training_of(calls, profile), profile);
    const std::vector<std::size_t> all = log_ratios.without("");
    const Calibration full = fit_to(all, log_ratios, profile);
    std::vector<std::string> strategies;
    for (const MeasuredCall &call : calls)
        if (!call.training &&
            std::find(strategies.begin(), strategies.end(), call.strategy) == strategies.end())
            strategies.push_back(call.strategy);
    if (strategies.empty())
        throw UsageError("fit: no measured call outside the training part to judge by");
    LeaveOneOut out;
    for (const std::string &strategy : strategies) {
        const std::vector<std::size_t> others = log_ratios.without(strategy);
        if (others.empty())
            throw UsageError("fit: --leave-one-out needs training calls of two strategies at least");
        const Calibration without_it = fit_to(others, log_ratios, profile);
        const Calls test = calls_where(
            calls, [&](const MeasuredCall &call) { return !call.training && call.strategy == strategy; });
        std::vector<JudgedCall> judged(test.size());
        for (std::size_t i = 0; i < test.size(); ++i)
            judged[i].call = test[i];
        const auto judge = [&](double JudgedCall::*number, const Calibration &calibration, auto plan_of) {
            const std::vector<double> ratios = log_ratios_of(test, profile, calibration, plan_of);
            for (std::size_t i = 0; i < ratios.size(); ++i)
                judged[i].*number = std::exp(ratios[i]);
        };
        judge(&JudgedCall::without_counters, {}, &MeasuredCall::uncounted);
        judge(&JudgedCall::probes_and_counters, {}, &MeasuredCall::plan);
        judge(&JudgedCall::fitted, full, &MeasuredCall::plan);
        judge(&JudgedCall::left_out, without_it, &MeasuredCall::plan);
        const Facts facts_of_others = as_never_counted(facts, main_kernels(test));
        judge(&JudgedCall::new_kernel, without_it, [&](const MeasuredCall &call) {
            return call.shape.dtype == DataType::f32
                       ? with_facts(call.uncounted, facts_of_others, gpu.architecture)
                       : call.uncounted;
        });
        out.strategies.push_back(
            left_out_row(strategy, std::ssize(all) - std::ssize(others), judged, without_it));
        out.calls.insert(out.calls.end(), judged.begin(), judged.end());
    }
    out.strategies.push_back(left_out_row("all", std::ssize(all), out.calls, full));
    return out;
}

} // namespace convcast
