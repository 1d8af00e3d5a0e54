// `choose --figure`: who wins where, as a figure for a paper.
#pragma once

#include "cli/arguments.hpp"
#include "reports/choice_figure.hpp"

#include <vector>

namespace convcast::cli {

/// Writes what --figure names and says on standard error which files these are. Throws UsageError where there
/// is only one answer.
void write_choice_figure(const std::vector<ChoiceAnswer> &answers, const Arguments &arguments);

} // namespace convcast::cli
