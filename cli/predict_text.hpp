// What `predict` says of its cases.
#pragma once

#include "cli/answers.hpp"
#include "cli/arguments.hpp"
#include "cli/question.hpp"

#include <string>
#include <vector>

namespace convcast::cli {

/// The cases of one of the questions.
struct ForecastCases {
    const Question *question = nullptr;
    std::vector<Case> cases;
};

std::string forecasts_text(const std::vector<ForecastCases> &answers, const Arguments &arguments);

std::vector<Row> rows_of(const std::vector<ForecastCases> &answers);

} // namespace convcast::cli
