// report of documents about networks, and what it shares with the report of runs and profiles.
#pragma once

#include "cli/arguments.hpp"
#include "reports/write_report.hpp"

#include <string>

namespace convcast::cli {

/// A ladder's document, a whole network's run or its forecast: text and page, or one figure. Returns the exit
/// code.
int report_of_network(const std::string &document, const std::string &shown, const Arguments &arguments);

/// The same of --network, which is forecast first.
int report_of_forecast(const Arguments &arguments);

/// Writes what the options ask for: the figure of --figure, `json`, or `text` and the page. Returns the exit
/// code. report.cpp.
int answer_with_page(const PageReport &report, const std::string &text, const std::string &json,
                     const Arguments &arguments);

} // namespace convcast::cli
