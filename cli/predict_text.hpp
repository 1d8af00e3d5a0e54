// What `predict` says of its cases, as text and as a sheet.
#pragma once

#include "cli/arguments.hpp"
#include "cli/question.hpp"
#include "cli/sheet.hpp"
#include "model/record/run.hpp"

#include <string>
#include <vector>

namespace convcast::cli {

/// The cases of one of the questions.
struct ForecastCases {
    const Question *question = nullptr;
    std::vector<Case> cases;
};

std::string forecasts_text(const std::vector<ForecastCases> &answers, const Arguments &arguments);

/// As CSV or Markdown.
std::string forecasts_sheet(const std::vector<ForecastCases> &answers, const Arguments &arguments,
                            Format format);

/// The same of a document's cases, beside their measurements.
std::string forecasts_sheet(const Run &document, Format format);

} // namespace convcast::cli
