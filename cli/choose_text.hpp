// What `choose` says of its rankings.
#pragma once

#include "cli/answers.hpp"
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
};

/// How answers are shown.
struct ChoiceView {
    Extent extent;
    std::int64_t measured = 0;        ///< settings that were timed; 0: none
    bool blocks = false;              ///< a ranking for each shape, not a line
    std::optional<std::size_t> sweep; ///< values of the last --sweep
};

std::string choice_text(const std::vector<RankedShape> &answers, const ChoiceView &view);

/// Every case of the rankings, with its rank and the time of the first.
std::vector<Row> choice_rows(const std::vector<RankedShape> &answers);

} // namespace convcast::cli
