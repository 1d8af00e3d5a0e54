// What a report says, as tables for other programs and for texts.
#pragma once

#include "cli/sheet.hpp"
#include "reports/statistics.hpp"

#include <string>

namespace convcast::cli {

/// CSV: one row a case, forecast beside measurement. Markdown: the tables on accuracy and on speed-ups.
std::string report_sheets(const ReportStatistics &statistics, Format format);

} // namespace convcast::cli
