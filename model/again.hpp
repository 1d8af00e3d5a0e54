// Forecasts the cases of a Run document again by this version of the code.
#pragma once

#include "model/predict.hpp"

#include <cstdint>

namespace convcast {

/// What becomes of the forecasts of measured cases when a document is forecast again.
enum class MeasuredCases {
    keep,             ///< stay as they were: a run that goes on must have one version's plans for all cases
    renew,            ///< are made by this code, beside the measurements: how good is today's model?
    renew_given_work, ///< likewise, but from the work that was counted: how good is its time model alone?
};

/// Whether the verb `run` made the document or added to it: then its statuses are findings, not forecasts.
bool was_run(const Run &document);

/// `item`, a case of `document`, with this code's forecast, and with a forecast timeline if it had a
/// timeline. Measurements stay, and so do a status that only a run can find and its reason. `document`
/// supplies the launch files of the user's kernels.
Case forecast_again(Case item, const Run &document, const GpuProfile &profile, const Knowledge &knowledge,
                    MeasuredCases measured);

/// How many CTAs all launches of a case's plan have; 0 if it has no plan.
std::int64_t planned_ctas(const Case &item);

/// Adds the forecast timeline of a case's plan, if it has one of at most most_timeline_ctas CTAs.
void add_timeline(Case &item, const GpuProfile &profile, const Knowledge &knowledge);

} // namespace convcast
