// How accurate the forecast is, on the shapes whose times nothing was fitted to: the tables of
// docs/accuracy.md. The error of a forecast is |forecast / measured - 1|.
#pragma once

#include "model/base/describe.hpp"
#include "model/fit/fit.hpp"
#include "model/record/run.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace convcast {

/// Times of one model over one part of the cases, against what was measured cold, but for "warm L2".
struct TimeAccuracy {
    std::string part; ///< "test" or "training": model/record/sweep.hpp
    /// "speed of light", "wave-quantised roofline", "MWP-CWP"; of the forecast, by what it knew: "without
    /// counters", "probes and counters", "four numbers fitted"; of forecasts that were made without counters
    /// "probes alone", "four numbers fitted, no counters"; "new kernel": its own counters and times left out,
    /// with the median pace of the others; "warm L2": the best of these for calls that find their tensors in
    /// L2, against what was measured warm
    std::string model;
    std::int64_t n = 0;
    double mean = 0.0, median = 0.0, p90 = 0.0; ///< of |forecast / measured - 1|
    double symmetric = 0.0;                     ///< mean of max(forecast / measured, measured / forecast) - 1
    double bias = 0.0;                          ///< geometric mean of forecast / measured
    std::optional<double> coverage; ///< share of the measured times inside the forecast's 90 % interval
    CONVCAST_MEMBERS(TimeAccuracy, part, model, n, mean, median, p90, symmetric, bias, coverage)
};

/// One quantity of Work over the test part, against its counter.
struct WorkAccuracy {
    std::string quantity; ///< with the condition under which it can be compared
    std::int64_t n = 0;
    double mean = 0.0, median = 0.0, p90 = 0.0; ///< of |predicted / counted - 1|
    double within_1_percent = 0.0;              ///< share
    CONVCAST_MEMBERS(WorkAccuracy, quantity, n, mean, median, p90, within_1_percent)
};

/// How well a model ranks the measured settings of each shape of the test part, those on tensor cores among
/// them. Of settings that it forecasts alike it takes the first by text.
struct RankingAccuracy {
    std::string model;
    std::int64_t shapes = 0;  ///< with at least two measured settings
    double mean_regret = 0.0; ///< of the setting it ranks first, against the fastest measured
    double max_regret = 0.0;
    std::int64_t hits = 0;         ///< shapes whose first is the fastest
    double within_5_percent = 0.0; ///< share of shapes whose first is within 5 % of the fastest
    double kendall_tau = 0.0;      ///< mean over the shapes with at least three
    CONVCAST_MEMBERS(RankingAccuracy, model, shapes, mean_regret, max_regret, hits, within_5_percent,
                     kendall_tau)
};

struct Accuracy {
    std::vector<TimeAccuracy> times;
    std::vector<WorkAccuracy> work;
    std::vector<RankingAccuracy> rankings;
    CONVCAST_MEMBERS(Accuracy, times, work, rankings)

    /// The ranking by the run's own forecasts: those with four fitted numbers, else those of probes and
    /// counters. nullptr where there is neither.
    const RankingAccuracy *of_forecast() const;
};

/// Sets the forecasts of a run beside its measurements: every ok case of our own strategies that has a
/// forecast and a cold time counts. Tables are empty where nothing can be compared. `judged` holds forecasts
/// of calls of this run that knew less of their kernels (model/fit/fit.hpp); without it the rows "without
/// counters" and "new kernel" are left out.
Accuracy accuracy_of(const Run &run, std::span<const JudgedCall> judged = {});

} // namespace convcast
