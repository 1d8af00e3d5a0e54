// report of documents about networks, and what it shares with the report of runs and profiles.
#pragma once

#include "cli/arguments.hpp"
#include "reports/figure.hpp"
#include "reports/write_report.hpp"

#include <string>
#include <vector>

namespace convcast::cli {

/// A ladder's document, a whole network's run or its forecast: text and page, or one figure. Returns the exit
/// code.
int report_of_network(const std::string &document, const std::string &shown, const std::string &schema,
                      const Arguments &arguments);

/// Throws UsageError for an option of `report` that only a run has an answer to.
void refuse_options_of_runs(const Arguments &arguments);

/// Writes the figure that --figure names. Throws UsageError for one that there is not. report.cpp.
void write_figure(const std::vector<Figure> &figures, const std::vector<CaseColumns> &cases,
                  const std::string &gpu, const Arguments &arguments);
std::string files_text(const ReportFiles &files);

} // namespace convcast::cli
