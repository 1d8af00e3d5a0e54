// What `predict --diagram` and `choose --figure` draw.
#pragma once

#include "cli/arguments.hpp"
#include "model/machine/profile.hpp"
#include "model/record/run.hpp"
#include "reports/choice_figure.hpp"

#include <vector>

namespace convcast::cli {

/// Writes the diagram of the one case, forecast for `profile`, to the file of --diagram, as wide as --width
/// says, with its caption and the references beside it; names the files on standard error. Throws UsageError
/// where there is not one case with a plan that can be drawn.
void write_diagram(const std::vector<Case> &cases, const GpuProfile &profile, const Arguments &arguments);

/// Writes what --figure names and says on standard error which files these are. Throws UsageError where there
/// is only one answer.
void write_choice_figure(const std::vector<ChoiceAnswer> &answers, const Arguments &arguments);

} // namespace convcast::cli
