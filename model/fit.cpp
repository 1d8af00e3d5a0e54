#include "model/fit.hpp"

#include "model/errors.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace convcast {
namespace {

struct Number {
    double Calibration::*number;
    double first_step, least, most;
};

/// The bounds are what the numbers can physically be.
constexpr std::array<Number, 4> numbers = {{{&Calibration::dependent_share, 0.2, 0.25, 2.0},
                                          {&Calibration::cold_start_s, 0.4e-6, 0.0, 3e-6},
                                          {&Calibration::issue_efficiency, 0.05, 0.6, 1.0},
                                          {&Calibration::first_wave_miss, 0.25, 0.0, 1.5}}};

double log_ratio(const MeasuredCall &call, const GpuProfile &profile, const Calibration &calibration) {
    const double bound = speed_of_light(call.shape, profile)->value_s.value;
    const double time = forecast_time(call.plan, call.shape, profile, calibration)->value;
    return std::log(std::max(time, bound) / call.time_s.value);
}

double mean_error(const std::vector<MeasuredCall> &calls, const GpuProfile &profile,
                  const Calibration &calibration) {
    double sum = 0.0;
    for (const MeasuredCall &call : calls)
        sum += std::abs(log_ratio(call, profile, calibration));
    return sum / static_cast<double>(calls.size());
}

} // namespace

Calibration fit_calibration(const std::vector<MeasuredCall> &calls, const GpuProfile &profile) {
    if (calls.empty())
        throw UsageError("fit: no measured call of our own strategies in the training part");
    if (const std::string missing = missing_for_forecast(profile); !missing.empty())
        throw UsageError("fit: the profile " + profile.id + " lacks " + missing);
    Calibration best;
    best.gpu = profile.id;
    double error = mean_error(calls, profile, best);
    constexpr int halvings = 4;
    double scale = 1.0;
    for (int halving = 0; halving <= halvings; ++halving, scale /= 2.0) {
        for (bool better = true; better;) {
            better = false;
            for (const Number &knob : numbers)
                for (const double direction : {1.0, -1.0}) {
                    Calibration next = best;
                    next.*knob.number = std::clamp(next.*knob.number + direction * scale * knob.first_step,
                                                   knob.least, knob.most);
                    const double its_error = mean_error(calls, profile, next);
                    if (its_error < error - 1e-6) {
                        best = next;
                        error = its_error;
                        better = true;
                    }
                }
        }
    }
    std::vector<double> ratios; // measured over forecast
    for (const MeasuredCall &call : calls)
        ratios.push_back(std::exp(-log_ratio(call, profile, best)));
    std::sort(ratios.begin(), ratios.end());
    // Split conformal: with n ratios the p-th percentile of (n + 1) of them, so that a new one lies inside as
    // promised.
    const auto percentile = [&](double p) {
        const double at = p * static_cast<double>(ratios.size() + 1) - 1.0;
        return ratios[static_cast<std::size_t>(
            std::clamp(std::lround(at), 0L, static_cast<long>(ratios.size()) - 1))];
    };
    best.cases = static_cast<std::int64_t>(calls.size());
    best.ratio_p05 = percentile(0.05);
    best.ratio_p95 = percentile(0.95);
    return best;
}

} // namespace convcast
