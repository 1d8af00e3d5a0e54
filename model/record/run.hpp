// The document that flows through all verbs: what was asked, predicted and measured.
#pragma once

#include "model/base/checked.hpp"
#include "model/base/describe.hpp"
#include "model/base/errors.hpp"
#include "model/base/units.hpp"
#include "model/choose/why.hpp"
#include "model/paper/rules.hpp"
#include "model/plan/plan.hpp"
#include "model/record/own_kernel.hpp"
#include "model/regime/rates.hpp"
#include "model/regime/regimes.hpp"
#include "model/time/term.hpp"
#include "model/time/timeline.hpp"

#include <boost/describe.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace convcast {

struct TierTimes {
    std::optional<Seconds> tier0_s; ///< speed of light
    std::optional<Seconds> tier2_s; ///< from probes and counters, nothing fitted to times
    std::optional<Seconds>
        fitted_s; ///< with the numbers of data/calibration for this GPU, where there are any
    std::optional<Seconds> roofline_s; ///< wave-quantised roofline: the white-box model to beat
    std::optional<Seconds> mwp_cwp_s;  ///< Hong and Kim's model: likewise (model/time/other_models.hpp)
    std::optional<Seconds>
        warm_s; ///< the best tier, of a call that finds in L2 what the one before left (F35)
    CONVCAST_MEMBERS(TierTimes, tier0_s, tier2_s, fitted_s, roofline_s, mwp_cwp_s, warm_s)
};

struct Prediction {
    std::optional<Seconds>
        time_s; ///< the best tier there is; absent when the profile lacks numbers: see `reason`
    TierTimes times;
    std::optional<Seconds> time_low_s, time_high_s;
    std::optional<Seconds>
        tied_s; ///< N8: of the first that `choose` ranks, the mean of the times that tie with it
    /// I3: of time_s, where the profile has numbers that no probe measured, with the range each may lie in.
    std::optional<Seconds> assumed_low_s, assumed_high_s;
    std::optional<Regimes> regimes;
    std::optional<std::string> limiter; ///< the leaf that takes most of the time
    std::optional<Work> work;
    std::optional<Rates> rates; ///< of `work` in `time_s`
    std::optional<Plan> plan;
    std::optional<Term> term;
    std::optional<Rules> rules;
    std::optional<Margin> margin; ///< where `choose --why` asked for it
    std::vector<std::string> assumptions;
    std::optional<std::string> reason; ///< why `time_s` is absent
    std::optional<Timeline> timeline;  ///< only where it was asked for
    CONVCAST_MEMBERS(Prediction, time_s, times, time_low_s, time_high_s, tied_s, assumed_low_s,
                     assumed_high_s, regimes, limiter, work, rates, plan, term, rules, margin, assumptions,
                     reason, timeline)

    void check(const FieldProblem &problem) const; ///< refuses low above high, a wrong timeline
};

enum class L2State { cold, warm };
BOOST_DESCRIBE_ENUM(L2State, cold, warm)

struct Measurement {
    Seconds time_s; ///< median; end of the last minus start of the first device activity of one call
    std::optional<Seconds> prepared_time_s; ///< median without the once-per-filter-set part
    std::vector<Seconds> samples_s;
    std::optional<Seconds> event_time_s; ///< median by events: the cross-check
    L2State l2 = L2State::cold;
    std::optional<Frequency> sm_clock_hz; ///< median over the samples
    std::optional<std::int64_t> throttled_samples;
    std::optional<std::int64_t> host_time_samples; ///< that time of the host may be inside of; absent: none
    std::string method;                            ///< "activity" or "events"
    std::string stop_reason;                       ///< "precision", "time" or "count"
    std::optional<std::int64_t> kernels;           ///< device activities per call
    std::optional<Work> work;
    std::optional<Rates> rates; ///< of `work` in `time_s`, added where a document is forecast again
    std::optional<std::map<std::string, double>> counters; ///< further raw counters, by metric name
    std::optional<Regime> regime;
    std::optional<double> relative_l2_error;
    std::optional<double> max_error_ratio; ///< largest |error| / its bound 4 n 2^-24 sum|x w|; <= 1 passes
    std::optional<Timeline>
        timeline; ///< of a verified call beside the timed ones; only where it was asked for
    CONVCAST_MEMBERS(Measurement, time_s, prepared_time_s, samples_s, event_time_s, l2, sm_clock_hz,
                     throttled_samples, host_time_samples, method, stop_reason, kernels, work, rates,
                     counters, regime, relative_l2_error, max_error_ratio, timeline)

    static constexpr std::optional<Range> range_of(std::string_view field) {
        if (field == "relative_l2_error" || field == "max_error_ratio") // of a result that is not finite
            return Range{0.0, 1e300, true};
        return std::nullopt;
    }
    void check(const FieldProblem &problem) const; ///< refuses a time of 0, a wrong timeline
};

enum class Status { ok, infeasible, unsupported, wrong_result, failed, not_run };
BOOST_DESCRIBE_ENUM(Status, ok, infeasible, unsupported, wrong_result, failed, not_run)

/// Tells `problem` of `field` if the status is ok and the L2 error above most_error_of_right_results.
void check_error_of_status(Status status, std::optional<double> error, const std::string &field,
                           const FieldProblem &problem);

struct Case {
    std::optional<std::string> gpu;     ///< in an answer for several: the profile's id
    std::optional<std::string> variant; ///< and what is asked of it: "h200, 64 SMs, dram_read_bandwidth=x2"
    std::optional<std::string> study;
    std::string shape;
    std::optional<std::string> name;     ///< of the layer, where a list of shapes gives one
    std::optional<std::int64_t> count;   ///< layers of the list that have the shape; absent: 1
    std::optional<std::string> strategy; ///< canonical text with every knob; either this or `baseline`
    std::optional<std::string> baseline; ///< "cudnn:implicit_gemm", ...
    Status status = Status::not_run;
    std::optional<std::string> reason; ///< present unless ok
    std::optional<std::string> detail; ///< how a baseline did it: engine, knobs, notes, workspace
    std::optional<Prediction> prediction;
    std::optional<Rules> rules; ///< the shape's own, where no prediction has them: the kernel does not do it
    std::vector<Measurement> measurements;
    CONVCAST_MEMBERS(Case, gpu, variant, study, shape, name, count, strategy, baseline, status, reason,
                     detail, rules, prediction, measurements)

    static constexpr std::optional<Range> range_of(std::string_view field) {
        return field == "count" ? std::optional(Range{1.0, 1e15}) : std::nullopt;
    }
    void check(const FieldProblem &problem) const; ///< refuses a strategy beside a baseline

    /// The strategy with its knobs, or the baseline.
    std::string called() const { return strategy ? *strategy : baseline.value_or(""); }
    /// The same without knobs.
    std::string kernel() const { return strategy ? strategy->substr(0, strategy->find(':')) : called(); }
    std::optional<Seconds> forecast_s() const { return prediction ? prediction->time_s : std::nullopt; }
    /// The measurement with L2 in this state; nullptr where there is none.
    const Measurement *measured(L2State l2) const {
        for (const Measurement &m : measurements)
            if (m.l2 == l2)
                return &m;
        return nullptr;
    }
};

struct Producer {
    std::string version;             ///< of convcast
    std::string device_code_hash;    ///< XXH3-128 of kernels and probes
    std::string measuring_code_hash; ///< XXH3-128 of the code that times and counts
    CONVCAST_MEMBERS(Producer, version, device_code_hash, measuring_code_hash)
};

/// A case of a document that this version cannot read, because of a strategy or a status that it does not
/// know, for example. It is kept as it stands and written back in its place.
struct UnreadCase {
    std::size_t before = 0;             ///< how many cases of Run::cases stand in front of it
    std::string json;                   ///< its text
    std::vector<InputProblem> problems; ///< with file, line and JSON path
};

struct Run {
    std::string schema = "convcast/run/1";
    Producer producer;
    std::string profile_id; ///< that the forecasts are of; "": of several, which the cases name
    std::string profile_hash;
    std::map<std::string, std::string>
        conditions;                     ///< GPU, driver, toolkit, cuDNN, date (UTC): where it was run
    std::vector<OwnKernel> own_kernels; ///< the user's, that cases "own:NAME" are of
    std::vector<Case> cases;
    std::vector<UnreadCase>
        unread; ///< in the order of the document; in no place of its JSON but among the cases
    CONVCAST_MEMBERS(Run, schema, producer, profile_id, profile_hash, conditions, own_kernels, cases)

    /// The kernel of a case "own:NAME"; nullptr if there is none.
    const OwnKernel *own_kernel(const std::string &baseline) const;
};

/// Throws UsageError for a name that is no baseline. Callers give it: only executor/ knows the baselines.
using BaselineCheck = std::function<void(const std::string &baseline)>;

/// Reads a document of either kind: JSON, or lines (run_lines.hpp). Cases that cannot be read are put aside
/// as Run::unread. Without `check_baseline` every baseline's name is taken. Throws InputError, with every
/// problem at once, where the text as a whole is no Run document, and where it has cases but none that can be
/// read. `file` only names the text in messages.
Run read_run(const std::string &text, const std::string &file, const BaselineCheck &check_baseline = {});
/// The document as JSON, with its unread cases in their places.
std::string write_run(const Run &run);

/// Reads a case that is one line of a document, the `line`-th of `file`; it is unread where it cannot be
/// read. `index` is its place among the document's cases, for messages.
std::variant<Case, UnreadCase> read_case(std::string_view text, const std::string &file, int line,
                                         std::size_t index, const BaselineCheck &check_baseline);

extern template const described::Type &described::type_of<Run>();
extern template const described::Type &described::type_of<Case>();

} // namespace convcast
