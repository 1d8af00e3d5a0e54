// Two Run documents side by side: which cases became faster or slower, judged by the intervals of their
// samples.
#pragma once

#include "model/base/checked.hpp"
#include "model/record/run.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

enum class CaseVerdict {
    broken,  ///< ok before, not ok after
    slower,  ///< the whole 95 % interval of the ratio is above 1, and not all of it within the tolerance
    faster,  ///< likewise below 1
    unsure,  ///< the interval has 1 in it and is too wide for `same`, there are too few samples for one, or
             ///< time of the host may be inside of some
    same,    ///< the whole interval is within the tolerance
    mended,  ///< not ok before, ok after
    untimed, ///< one of the two has no time
    refused, ///< unsupported or infeasible in both: there is nothing to time
};
BOOST_DESCRIBE_ENUM(CaseVerdict, broken, slower, faster, unsure, same, mended, untimed, refused)

/// The median of samples with its 95 % interval by order statistics; of fewer than six samples there is none.
struct MedianTime {
    Seconds median_s;                     ///< of the samples
    std::optional<Seconds> low_s, high_s; ///< its interval; of a forecast, the forecast itself
    std::int64_t samples = 0;             ///< how many there are
    BOOST_DESCRIBE_CLASS(MedianTime, (), (median_s, low_s, high_s, samples), (), ())
};
MedianTime median_time(Seconds median, std::vector<Seconds> samples);

/// Which cases of two documents belong together.
enum class CompareBy {
    setting,  ///< those of the same shape and the same strategy with all its knobs
    strategy, ///< the fastest setting of each strategy and shape
    shape,    ///< the fastest FP32 setting of each shape; libraries are left out
};
BOOST_DESCRIBE_ENUM(CompareBy, setting, strategy, shape)

struct ComparedCase {
    std::optional<std::string> study;
    std::string shape;
    std::optional<std::string> name; ///< of the layer, where a list of shapes gave one
    std::optional<std::string> strategy, baseline;
    std::optional<std::string> strategy_before;  ///< where it is another one, by strategy or by shape
    CaseVerdict verdict = CaseVerdict::unsure;   ///< what became of it
    std::optional<double> ratio;                 ///< time after over time before
    std::optional<double> ratio_low, ratio_high; ///< its 95 % interval
    std::optional<MedianTime> before, after;     ///< the times of both documents
    std::optional<std::string> reason;           ///< of `broken`, `mended` and `untimed`, or why `unsure`
    BOOST_DESCRIBE_CLASS(ComparedCase, (),
                         (study, shape, name, strategy, baseline, strategy_before, verdict, ratio, ratio_low,
                          ratio_high, before, after, reason),
                         (), ())
};

/// What the documents were made by or on, where it differs; "" where one does not say.
struct RunDifference {
    std::string what;          ///< "gpu", "driver_cuda", ...
    std::string before, after; ///< of the first and the second document
    BOOST_DESCRIBE_CLASS(RunDifference, (), (what, before, after), (), ())
};

struct VerdictCount {
    CaseVerdict verdict = CaseVerdict::same; ///< the one that is counted
    std::int64_t cases = 0;                  ///< how many cases have it
    BOOST_DESCRIBE_CLASS(VerdictCount, (), (verdict, cases), (), ())
};

struct RunComparison {
    std::string schema = "convcast/run_comparison/1";
    std::string before, after;         ///< files
    std::string times;                 ///< what is compared: "measured, cold L2", "forecast"
    CompareBy by = CompareBy::setting; ///< what belongs together
    double tolerance = 0.0;            ///< a share that counts as the same
    std::optional<double> fail_over;   ///< the share that was allowed by --fail-over
    /// With fail_over: at least half of `comparable` have a time in both, none is surely slower by more than
    /// fail_over and none is broken. Baselines fail nothing.
    bool passed = true;
    std::int64_t timed = 0;                 ///< cases with a time in both, baselines among them
    std::int64_t comparable = 0;            ///< cases with a time in the document that has fewer of them
    std::vector<RunDifference> differences; ///< of GPU, versions and conditions
    std::vector<VerdictCount> counts;       ///< of every verdict that there is
    std::optional<double> mean_ratio;       ///< geometric mean over all cases with two times
    std::vector<ComparedCase> cases;        ///< by verdict, the largest ratio first
    std::vector<std::string> only_before, only_after; ///< shape and strategy of cases that one file lacks
    BOOST_DESCRIBE_CLASS(RunComparison, (),
                         (schema, before, after, times, by, tolerance, fail_over, passed, timed, comparable,
                          differences, counts, mean_ratio, cases, only_before, only_after),
                         (), ())
};

struct CompareRunsOptions {
    L2State l2 = L2State::cold;
    CompareBy by = CompareBy::setting;
    double tolerance = 0.03; ///< a share
    std::optional<double> fail_over;
};

/// Compares what was measured or, where neither document has a measurement, what was forecast.
RunComparison compare_runs(const Run &before, const std::string &before_file, const Run &after,
                           const std::string &after_file, const CompareRunsOptions &options);

extern template const described::Type &described::type_of<RunComparison>();

} // namespace convcast
