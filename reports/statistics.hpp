// What the report says in numbers: every figure, table and sentence of the page is drawn from these structs,
// and `report --json` prints them.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"
#include "model/base/statistics.hpp"
#include "model/record/run.hpp"
#include "model/record/study.hpp"
#include "reports/accuracy.hpp"
#include "reports/regimes.hpp"

#include <algorithm>
#include <span>

namespace convcast {

/// A leaf of the forecast's term and the time it adds (model/time/term.hpp, `waterfall`).
struct WaterfallBar {
    std::string name;
    Seconds added_s;
    CONVCAST_MEMBERS(WaterfallBar, name, added_s)
};

/// One case of the run. Times are present only where the status is ok: a wrong result has no time worth
/// showing.
struct CaseRow {
    std::int64_t id = 0; ///< place in Run::cases: "c<id>" on the page, column `case` of the CSV files
    std::optional<std::string> study;
    std::string shape;
    std::string name;  ///< the strategy with its knobs, or the baseline
    std::string group; ///< the strategy without its knobs, or the baseline
    bool baseline = false;
    Status status = Status::not_run;
    std::optional<std::string> reason; ///< why the status is not ok, else why there is no forecast
    std::optional<std::string> detail; ///< how a baseline did it
    std::optional<std::string> layer;  ///< its name in the list of shapes
    std::int64_t calls = 1;            ///< layers of the list or study that have the shape
    std::optional<Seconds> predicted_s, tier0_s;
    std::optional<Seconds> roofline_s, mwp_cwp_s;   ///< forecasts by others' models (TierTimes)
    std::optional<Seconds> cold_s, warm_s;          ///< measured medians
    std::optional<Seconds> cold_low_s, cold_high_s; ///< 5th and 95th percentile of the cold samples
    std::optional<double> error;                    ///< predicted / measured cold - 1
    std::optional<Regime> paper, physical, tier2, measured;
    /// One round as the paper counts it: its FMAs over N_FMA, its bytes over V_s. 1 is the boundary.
    std::optional<double> round_over_n_fma, round_over_v_s;
    std::optional<OverLatency> over_latency; ///< what is resident, likewise over what hides the latency
    std::optional<std::string> limiter;
    std::optional<double> speedup; ///< time of cuDNN's fastest in true FP32 on NCHW over this one's, cold
    std::optional<double> relative_l2_error;
    std::optional<Rates> rates, measured_rates; ///< by the forecast; by the cold measurement and its counters
    std::vector<WaterfallBar> waterfall;        ///< adds up to the forecast

    /// "buffers=1,map_shares=1"; "" of a baseline and of a strategy without knobs.
    std::string knobs() const { return baseline ? "" : name.substr(std::min(name.size(), group.size() + 1)); }
    CONVCAST_MEMBERS(CaseRow, id, study, shape, name, group, baseline, status, reason, detail, layer, calls,
                     predicted_s, tier0_s, roofline_s, mwp_cwp_s, cold_s, warm_s, cold_low_s, cold_high_s,
                     error, paper, physical, tier2, measured, round_over_n_fma, round_over_v_s, over_latency,
                     limiter, speedup, relative_l2_error, rates, measured_rates, waterfall)
};

/// How far the forecasts of one strategy are off, |predicted / measured cold - 1|, over its ok cases that
/// have both times. The numbers are absent where n is 0.
struct ErrorStatistics {
    std::string group; ///< a strategy, "all", or "all, speed of light": tier 0 alone, the bar to beat
    std::int64_t n = 0;
    std::int64_t no_forecast = 0; ///< ok, measured, but the profile lacks numbers for a time
    std::optional<double> bias;   ///< geometric mean of predicted / measured: above 1 is too slow a forecast
    std::optional<double> median, mean, p90, max;
    std::optional<double> symmetric;         ///< mean of max(predicted / measured, measured / predicted) - 1
    std::optional<double> within_10_percent; ///< share of the n, 0 to 1
    std::optional<std::int64_t> worst_case;  ///< CaseRow::id of `max`
    CONVCAST_MEMBERS(ErrorStatistics, group, n, no_forecast, bias, median, mean, symmetric, p90, max,
                     within_10_percent, worst_case)
};

/// One shape: the fastest of our cases beside the fastest of cuDNN's by their cold times, as CaseRow::id.
/// `ours` and all cuDNN's but `cudnn_any_layout` and `cudnn_tf32` compute in true FP32 on tensors in NCHW.
/// `cudnn` is the fastest of all of these plans, `cudnn_deterministic` of those that give the same bits every
/// time, and `cudnn_direct` of those without Winograd and FFT. `cudnn_any_layout` is the fastest of all of
/// these plans and of cuDNN's plans on NHWC, whose tensors lay in that layout before the call. `cudnn_tf32`
/// may use tensor cores in TF32, so nothing in FP32 is compared with it. `ours_tensor_cores` multiplies on
/// tensor cores and is compared only with `ours`, which does not.
struct ShapeRow {
    std::optional<std::string> study;
    std::string shape;
    std::optional<std::int64_t> ours, cudnn, cudnn_deterministic, cudnn_direct, cudnn_any_layout, cudnn_tf32;
    std::optional<std::int64_t> ours_tensor_cores;
    std::optional<std::int64_t> papers;         ///< fastest setting in the run of the study's paper's kernel
    std::optional<double> speedup_tensor_cores; ///< time of `ours` over that of `ours_tensor_cores`
    /// cuDNN's time over ours: above 1 we are faster.
    std::optional<double> speedup, speedup_deterministic, speedup_direct, speedup_any_layout;
    std::optional<double> speedup_papers; ///< time of `cudnn` over that of `papers`
    std::optional<std::int64_t> picked;   ///< of the measured settings, the one that was forecast fastest
    std::optional<double> regret;         ///< its time over that of `ours`, 1 or more
    CONVCAST_MEMBERS(ShapeRow, study, shape, ours, cudnn, cudnn_deterministic, cudnn_direct, cudnn_any_layout,
                     cudnn_tf32, ours_tensor_cores, papers, speedup_tensor_cores, speedup,
                     speedup_deterministic, speedup_direct, speedup_any_layout, speedup_papers, picked,
                     regret)
};

/// How much faster one choice of kernels is than another over the shapes of one study: the cold time of
/// `against` over that of `ours`. Above 1 `ours` is faster.
struct SpeedupStatistics {
    std::string study; ///< a study's id, "other shapes", or "all"
    /// "our fastest", "ours on tensor cores" or the paper's kernel in the run's settings,
    /// "stride_fixed_block, as run"
    std::string ours;
    /// "cudnn" on NCHW, "cudnn, NHWC too", "cudnn, deterministic" or "cudnn without Winograd and FFT", both
    /// on NCHW; or, of ours on tensor cores, "ours without tensor cores"
    std::string against;
    std::int64_t n = 0, wins = 0;
    std::int64_t without = 0; ///< shapes of the study with no such pair of measurements
    std::optional<double> geomean, min, max;
    CONVCAST_MEMBERS(SpeedupStatistics, study, ours, against, n, wins, without, geomean, min, max)
};

/// The convolutions of a network one after another, each with its fastest, cold: the sum over a study's
/// shapes, as often as the network has them. A sum is absent where a shape has no such time.
struct NetworkStatistics {
    std::string study;
    std::int64_t layers = 0, shapes = 0;
    std::int64_t without = 0; ///< shapes without a time of ours
    std::optional<Seconds> ours_s, cudnn_s, cudnn_deterministic_s, cudnn_direct_s, cudnn_any_layout_s,
        cudnn_tf32_s;
    std::optional<Seconds> ours_tensor_cores_s;
    std::optional<double> speedup; ///< cudnn_s over ours_s
    CONVCAST_MEMBERS(NetworkStatistics, study, layers, shapes, without, ours_s, cudnn_s,
                     cudnn_deterministic_s, cudnn_direct_s, cudnn_any_layout_s, cudnn_tf32_s,
                     ours_tensor_cores_s, speedup)
};

/// A case's predicted and counted quantity, of the cold measurement.
struct WorkRow {
    std::int64_t id = 0;
    std::string quantity; ///< member of Work
    double predicted = 0.0, counted = 0.0;
    CONVCAST_MEMBERS(WorkRow, id, quantity, predicted, counted)
};

/// How far forecasts of one quantity of work are from its counter, over the cases of one strategy.
struct WorkStatistics {
    std::string group, quantity;
    std::int64_t n = 0;
    std::int64_t zero = 0;               ///< pairs where one side is 0 and the other is not: no ratio
    std::optional<double> ratio_geomean; ///< predicted / counted
    std::optional<double> worst_ratio;   ///< farthest from 1, either way
    std::optional<std::int64_t> worst_case;
    CONVCAST_MEMBERS(WorkStatistics, group, quantity, n, zero, ratio_geomean, worst_ratio, worst_case)
};

/// How many cases of a strategy or baseline ended with a status, and why.
struct StatusCount {
    std::string group;
    Status status = Status::not_run;
    std::string reason;
    std::int64_t n = 0;
    CONVCAST_MEMBERS(StatusCount, group, status, reason, n)
};

/// A launch's timeline in numbers, or a whole call's.
struct TimelineRow {
    std::int64_t id = 0; ///< the case, CaseRow::id
    std::string launch;  ///< "1: winograd_filters", or "the call"
    std::optional<TimelineSummary> forecast, measured;
    CONVCAST_MEMBERS(TimelineRow, id, launch, forecast, measured)
};

/// The boundaries of the papers' rule on the run's GPU (model/paper/rules.hpp).
struct PaperBounds {
    std::int64_t n_fma = 0, v_s_bytes = 0, sms = 0;
    CONVCAST_MEMBERS(PaperBounds, n_fma, v_s_bytes, sms)
};

struct ReportStatistics {
    std::string schema = "convcast/report/1";
    std::string error;      ///< the definition used, in words
    std::string percentile; ///< likewise
    std::vector<CaseRow> cases;
    std::vector<ErrorStatistics> errors;
    std::vector<ShapeRow> shapes;
    std::vector<SpeedupStatistics> speedups;
    std::vector<NetworkStatistics> networks; ///< of the studies that are networks
    Accuracy accuracy;
    std::vector<WorkRow> work;
    std::vector<WorkStatistics> work_errors;
    RegimeTables regimes;
    std::vector<StatusCount> statuses; ///< adds up to the number of cases
    std::vector<TimelineRow> timelines;
    std::optional<PaperBounds> paper; ///< absent where no forecast has the rules

    /// The case with CaseRow::id `id`, which must be one of the run's.
    const CaseRow &row(std::int64_t id) const { return cases[static_cast<std::size_t>(id)]; }
    /// The errors of a strategy, of "all", or of "all, speed of light"; nullptr where no case of it has both
    /// a forecast and a measured time.
    const ErrorStatistics *errors_of(const std::string &group) const;
    /// The errors of each strategy that has such cases, the largest median error first.
    std::vector<const ErrorStatistics *> by_error() const;
    /// The speed-ups of our fastest over `against` (SpeedupStatistics::against) in all studies; nullptr where
    /// no shape was compared.
    const SpeedupStatistics *overall(const std::string &against) const;
    CONVCAST_MEMBERS(ReportStatistics, schema, error, percentile, cases, errors, shapes, speedups, networks,
                     accuracy, work, work_errors, regimes, statuses, timelines, paper)
};

/// What stands behind the colon of a strategy's text, "buffers=1,map_shares=1", or all of a text without one.
std::string knobs_text(const std::string &strategy);
/// The value of a knob in a strategy's text, "filter_split:buffers=1"; 0 where the text does not name it.
std::int64_t knob_value(const std::string &strategy, const std::string &knob);
/// Whether a case by `strategy`, a text that names all its knobs, is one of `setting`, which names the same
/// strategy and only the knobs that matter.
bool has_setting(const std::string &strategy, const std::string &setting);

/// All that a report says of a run in numbers. No case is dropped: those without a time are counted by status
/// and reason. `studies` says which shapes belong to which paper or network; `judged` is as for accuracy_of.
ReportStatistics summarize(const Run &run, std::span<const Study> studies,
                           std::span<const JudgedCall> judged = {});

extern template const described::Type &described::type_of<ReportStatistics>();

} // namespace convcast
