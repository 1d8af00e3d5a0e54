// The cases of a document, forecast again by this code.
#pragma once

#include "model/predict.hpp"

#include <cstdint>

namespace convcast {

/// What becomes of the forecasts of measured cases when a document is forecast again.
enum class MeasuredCases {
    keep,             ///< as they were when measured: what will be run must be planned by one version
    renew,            ///< by this code, beside the measurements as they are: how good is today's model?
    renew_given_work, ///< likewise, from the work that was counted: how good is its time alone?
};

/// Whether `run` made the document, or went on with it: its statuses are findings then, not forecasts.
bool was_run(const Run &document);

/// The case with this code's forecast, and with its timeline where it had one. What was measured and what a
/// run found stays, the status and the reason for it too. `document` has the user's kernels.
Case forecast_again(Case item, const Run &document, const GpuProfile &profile, const Knowledge &knowledge,
                    MeasuredCases measured);

/// The CTAs of all launches of a case's plan; 0 without a plan.
std::int64_t planned_ctas(const Case &item);

/// Adds the timeline of a forecast whose plan has no more CTAs than most_timeline_ctas.
void add_timeline(Case &item, const GpuProfile &profile, const Knowledge &knowledge);

} // namespace convcast
