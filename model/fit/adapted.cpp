#include "model/fit/adapted.hpp"

#include "model/base/errors.hpp"
#include "model/base/parallel.hpp"
#include "model/base/statistics.hpp"
#include "model/time/call.hpp"
#include "model/time/spread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

/// A measured call and what its forecast is made of.
struct Row {
    const MeasuredCall *call = nullptr;
    std::string layer; ///< the id of its shape
    Seconds time;      ///< of the plan, with the four numbers, before any scale
    Seconds bound;     ///< speed of light
};
using Rows = std::vector<const Row *>;

/// What is fitted to rows: forecasts are multiplied with `scale` (F34), and `spread` gives the width (I4).
struct ScaleAndSpread {
    double scale = 1.0;
    ResidualSpread spread;

    Seconds forecast(const Row &row) const { return std::max(row.time * scale, row.bound); }
    /// ln(measured / forecast)
    double miss(const Row &row) const { return std::log(row.call->time_s / forecast(row)); }
    SpreadOf properties_of(const Row &row) const {
        return {row.call->shape, main_launch(row.call->plan).kernel, forecast(row), row.bound};
    }
    double spread_at(const Row &row) const { return spread_of(spread, properties_of(row)); }
};

/// The coefficients of a ridge regression of `targets` on `columns`, one of each column, by coordinate
/// descent. Targets and columns have mean 0, columns also variance 1; all have equally many rows.
std::vector<double> ridge(const std::vector<std::vector<double>> &columns, std::vector<double> targets) {
    // As 20 calls on which a property has no effect: what few calls have hardly matters.
    constexpr double penalty = 20.0;
    constexpr int sweeps = 100;
    const auto count = static_cast<double>(targets.size());
    std::vector<double> coefficients(columns.size(), 0.0);
    for (int sweep = 0; sweep < sweeps; ++sweep)
        for (std::size_t i = 0; i < columns.size(); ++i) {
            double product = count * coefficients[i]; // with the targets as they are without this column
            for (std::size_t row = 0; row < targets.size(); ++row)
                product += columns[i][row] * targets[row];
            const double next = product / (count + penalty);
            for (std::size_t row = 0; row < targets.size(); ++row)
                targets[row] -= (next - coefficients[i]) * columns[i][row];
            coefficients[i] = next;
        }
    return coefficients;
}

/// The kernels with a coefficient of their own: the main launch of 20 calls or more (chosen).
std::vector<std::string> kernels_of(const Rows &rows) {
    constexpr int least_calls = 20;
    std::map<std::string, int> calls;
    for (const Row *row : rows)
        ++calls[main_launch(row->call->plan).kernel];
    std::vector<std::string> kernels;
    for (const auto &[kernel, count] : calls)
        if (count >= least_calls)
            kernels.push_back(kernel);
    return kernels;
}

/// Regresses ln |miss| of the forecasts with `scaled.scale` on the properties of the calls. ln |miss| less
/// its mean is what the spread is to say, so that the spread is 1 in the geometric mean of the rows.
ResidualSpread fitted_spread(const Rows &rows, const ScaleAndSpread &scaled) {
    // A miss of less than 1 % is luck, and its logarithm would weigh more than all others.
    constexpr double least_miss = 0.01;
    constexpr std::size_t n = spread_coefficients.size();
    const std::vector<std::string> kernels = kernels_of(rows);
    std::vector<std::vector<double>> columns(n + kernels.size());
    std::vector<double> targets;
    for (const Row *row : rows) {
        const SpreadOf call = scaled.properties_of(*row);
        const auto properties = spread_properties(call);
        for (std::size_t i = 0; i < columns.size(); ++i)
            columns[i].push_back(i < n ? properties[i] : (call.kernel == kernels[i - n] ? 1.0 : 0.0));
        targets.push_back(std::log(std::max(least_miss, std::abs(scaled.miss(*row)))));
    }
    const double middle = mean_of(targets);
    for (double &target : targets)
        target -= middle;
    std::vector<double> centres, widths; // mean and standard deviation of each column, taken out of it
    for (std::vector<double> &column : columns) {
        centres.push_back(mean_of(column));
        double squares = 0.0;
        for (double &value : column)
            squares += std::pow(value -= centres.back(), 2);
        widths.push_back(squares > 0.0 ? std::sqrt(squares / static_cast<double>(column.size())) : 1.0);
        for (double &value : column)
            value /= widths.back();
    }
    const std::vector<double> coefficients = ridge(columns, targets);
    ResidualSpread spread;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        const double coefficient = coefficients[i] / widths[i];
        (i < n ? spread.*spread_coefficients[i] : spread.kernels[kernels[i - n]]) = coefficient;
        spread.constant -= coefficient * centres[i];
    }
    return spread;
}

/// Whether the scale is fitted beside the spread, or kept at 1.
enum class Scale { kept, fitted };

/// The fit to `rows`. A fitted scale is the median of measured / forecast time.
ScaleAndSpread fit_to(const Rows &rows, Scale scale) {
    ScaleAndSpread fit;
    if (scale == Scale::fitted) {
        std::vector<double> ratios;
        for (const Row *row : rows)
            ratios.push_back(row->call->time_s / row->time);
        fit.scale = upper_median(std::move(ratios));
    }
    fit.spread = fitted_spread(rows, fit);
    return fit;
}

std::vector<Row> rows_of(const Calibration &numbers, const std::vector<MeasuredCall> &calls,
                         const GpuProfile &profile) {
    const Gpu gpu(profile);
    std::vector<Row> rows(calls.size());
    in_parallel(calls.size(), [&](std::size_t i) {
        const MeasuredCall &call = calls[i];
        rows[i] = {&call, call.shape.id(), *forecast_time(call.plan, call.shape, gpu, numbers),
                   forecast_call(call.plan, call.shape, gpu, std::nullopt)->bound_s};
    });
    return rows;
}

/// The ids of the shapes of `calls`. Throws UsageError if an interval cannot be fitted to them, or a time not
/// be forecast with the profile.
std::set<std::string> layers_of(const std::vector<MeasuredCall> &calls, const GpuProfile &profile) {
    if (const std::string missing = missing_for_forecast(profile); !missing.empty())
        throw UsageError("the profile " + profile.id + " lacks " + missing);
    std::set<std::string> layers;
    for (const MeasuredCall &call : calls)
        layers.insert(call.shape.id());
    if (calls.size() < least_adapted_calls || layers.size() < 2)
        throw UsageError(fmt::format("too little was measured, {} calls of {} layers; an interval needs {} "
                                     "calls of 2 layers at least. "
                                     "On a machine with the GPU `convcast adapt --minutes 10` measures more",
                                     calls.size(), layers.size(), least_adapted_calls));
    return layers;
}

/// Sets the calibration's scale (if it is fitted) and spread, by a fit to all calls, and the ends of its
/// interval, by fits that leave each layer out in turn. Returns |forecast / measured - 1| of each call,
/// forecast by the fit that left its layer out.
std::vector<double> fit_and_leave_out(Calibration &calibration, const std::vector<MeasuredCall> &calls,
                                      const GpuProfile &profile, Scale scale) {
    const std::set<std::string> layers = layers_of(calls, profile);
    const std::vector<Row> rows = rows_of(calibration, calls, profile);
    std::vector<double> scores, errors; // scores: ln(measured / forecast) in multiples of the spread
    for (const std::string &layer : layers) {
        Rows others;
        for (const Row &row : rows)
            if (row.layer != layer)
                others.push_back(&row);
        const ScaleAndSpread fit = fit_to(others, scale);
        for (const Row &row : rows)
            if (row.layer == layer) {
                scores.push_back(fit.miss(row) / fit.spread_at(row));
                errors.push_back(std::abs(std::exp(-fit.miss(row)) - 1.0));
            }
    }
    std::sort(scores.begin(), scores.end());
    Rows all;
    for (const Row &row : rows)
        all.push_back(&row);
    const ScaleAndSpread fit = fit_to(all, scale);
    if (scale == Scale::fitted)
        calibration.scale = fit.scale;
    calibration.spread = fit.spread;
    calibration.ratio_p05 = std::exp(quantile_of_next(scores, 0.05));
    calibration.ratio_p95 = std::exp(quantile_of_next(scores, 0.95));
    return errors;
}

} // namespace

void fit_interval(Calibration &calibration, const std::vector<MeasuredCall> &calls,
                  const GpuProfile &profile) {
    (void)fit_and_leave_out(calibration, calls, profile, Scale::kept);
}

Calibration adapted(const Calibration &base, const std::vector<MeasuredCall> &calls,
                    const GpuProfile &profile) {
    Calibration out;
    out.fitted = base.fitted;
    const std::vector<double> errors = fit_and_leave_out(out, calls, profile, Scale::fitted);
    out.cases = std::ssize(calls);
    if (!base.profile.name.empty())
        out.borrowed = base.profile.name;
    out.profile = fitted_on(profile);
    out.test = TestErrors{out.cases, mean_of(errors), mean_error(calls, profile, {}),
                          mean_error(calls, profile, {}, &MeasuredCall::uncounted)};
    return out;
}

} // namespace convcast
