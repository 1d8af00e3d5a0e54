#include "model/fit/adapted.hpp"

#include "model/base/errors.hpp"
#include "model/base/parallel.hpp"
#include "model/base/statistics.hpp"
#include "model/time/call.hpp"
#include "model/time/spread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace convcast {
namespace {

/// A measured call and what its forecast is made of.
struct Row {
    const MeasuredCall *call = nullptr;
    std::string layer;
    Seconds time;  ///< of the plan, with the four numbers, before any scale
    Seconds bound; ///< speed of light
};
using Rows = std::vector<const Row *>;

struct ScaleAndSpread {
    double scale = 1.0;
    ResidualSpread spread;

    Seconds forecast(const Row &row) const { return std::max(row.time * scale, row.bound); }
    /// ln(measured / forecast)
    double miss(const Row &row) const { return std::log(row.call->time_s / forecast(row)); }
    double spread_at(const Row &row) const {
        return spread_of(spread, row.call->shape, forecast(row), row.bound);
    }
};

/// Ridge regression of `targets` on the columns, with all of mean 0 and the columns of variance 1, by
/// coordinate descent: the coefficients. The penalty keeps properties that few calls differ in from
/// mattering.
template <std::size_t N>
std::array<double, N> ridge(const std::vector<std::array<double, N>> &rows, std::vector<double> targets) {
    constexpr double penalty = 20.0;
    constexpr int sweeps = 100;
    const auto count = static_cast<double>(rows.size());
    std::array<double, N> coefficients{};
    for (int sweep = 0; sweep < sweeps; ++sweep)
        for (std::size_t i = 0; i < N; ++i) {
            double product = count * coefficients[i];
            for (std::size_t row = 0; row < rows.size(); ++row)
                product += rows[row][i] * targets[row];
            const double next = product / (count + penalty);
            for (std::size_t row = 0; row < rows.size(); ++row)
                targets[row] -= (next - coefficients[i]) * rows[row][i];
            coefficients[i] = next;
        }
    return coefficients;
}

/// ln |miss| by the properties of the calls, so that the spread of these is 1 in the geometric mean.
ResidualSpread fitted_spread(const Rows &rows, const ScaleAndSpread &scaled) {
    constexpr double least_miss = 0.01; // that a call is forecast to the digit says nothing of the next one
    constexpr std::size_t n = spread_coefficients.size();
    std::vector<std::array<double, n>> columns;
    std::vector<double> targets;
    for (const Row *row : rows) {
        columns.push_back(spread_properties(row->call->shape, scaled.forecast(*row), row->bound));
        targets.push_back(std::log(std::max(least_miss, std::abs(scaled.miss(*row)))));
    }
    const double middle = mean_of(targets);
    for (double &target : targets)
        target -= middle;
    std::array<double, n> centres{}, widths{};
    for (std::size_t i = 0; i < n; ++i) {
        for (const auto &its : columns)
            centres[i] += its[i] / static_cast<double>(columns.size());
        for (auto &its : columns)
            widths[i] += std::pow(its[i] -= centres[i], 2) / static_cast<double>(columns.size());
        widths[i] = widths[i] > 0.0 ? std::sqrt(widths[i]) : 1.0;
        for (auto &its : columns)
            its[i] /= widths[i];
    }
    const std::array<double, n> coefficients = ridge(columns, targets);
    ResidualSpread spread;
    for (std::size_t i = 0; i < n; ++i) {
        spread.*spread_coefficients[i] = coefficients[i] / widths[i];
        spread.constant -= coefficients[i] / widths[i] * centres[i];
    }
    return spread;
}

ScaleAndSpread fit_to(const Rows &rows) {
    ScaleAndSpread fit;
    std::vector<double> ratios;
    for (const Row *row : rows)
        ratios.push_back(row->call->time_s / row->time);
    fit.scale = upper_median(std::move(ratios));
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

} // namespace

Calibration adapted(const Calibration &base, const std::vector<MeasuredCall> &calls,
                    const GpuProfile &profile) {
    if (const std::string missing = missing_for_forecast(profile); !missing.empty())
        throw UsageError("adapt: the profile " + profile.id + " lacks " + missing);
    std::set<std::string> layers;
    for (const MeasuredCall &call : calls)
        layers.insert(call.shape.id());
    if (calls.size() < least_adapted_calls || layers.size() < 2)
        throw UsageError(fmt::format(
            "adapt: too little was measured, {} calls of {} layers; an interval needs {} calls of 2 "
            "layers at least. On a machine with the GPU the same command measures more, for example "
            "with --minutes 10",
            calls.size(), layers.size(), least_adapted_calls));
    Calibration out;
    out.fitted = base.fitted;
    const std::vector<Row> rows = rows_of(out, calls, profile);
    std::vector<double> scores, errors;
    for (const std::string &layer : layers) {
        Rows others;
        for (const Row &row : rows)
            if (row.layer != layer)
                others.push_back(&row);
        const ScaleAndSpread fit = fit_to(others);
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
    const ScaleAndSpread fit = fit_to(all);
    out.scale = fit.scale;
    out.spread = fit.spread;
    out.ratio_p05 = std::exp(quantile_of_next(scores, 0.05));
    out.ratio_p95 = std::exp(quantile_of_next(scores, 0.95));
    out.cases = std::ssize(calls);
    if (!base.profile.name.empty())
        out.borrowed = base.profile.name;
    out.profile = fitted_on(profile);
    out.test = TestErrors{out.cases, mean_of(errors), mean_error(calls, profile, {}),
                          mean_error(calls, profile, {}, &MeasuredCall::uncounted)};
    return out;
}

} // namespace convcast
