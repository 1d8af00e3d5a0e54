// What `choose` says of its rankings, as text and as a sheet.
#pragma once

#include "cli/answers.hpp"
#include "cli/question.hpp"
#include "cli/sheet.hpp"
#include "model/choice.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast::cli {

/// What to take for a shape on one GPU.
struct RankedShape {
    const Question *question = nullptr;
    const AskedShape *shape = nullptr;
    Choice choice;
    const KnownTimes *known = nullptr; ///< of the question's GPU
};

/// How answers are shown.
struct ChoiceView {
    Extent extent;
    std::int64_t measured = 0;        ///< settings that were timed; 0: none
    bool blocks = false;              ///< a ranking for each shape, not a line
    std::optional<std::size_t> sweep; ///< values of the last --sweep
};

std::string choice_text(const std::vector<RankedShape> &answers, const ChoiceView &view);

/// The rankings as CSV or Markdown. `total`: with the fastest of all shapes added up.
std::string choice_sheet(const std::vector<RankedShape> &answers, Format format, bool total);

} // namespace convcast::cli
