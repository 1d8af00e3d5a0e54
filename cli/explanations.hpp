// What names mean, gathered from the pages of docs and from the texts of strategies, studies and papers.
#pragma once

#include "model/base/describe.hpp"

#include <string>
#include <vector>

namespace convcast::cli {

struct ExplainedFact {
    std::string what, text; ///< "unit", "B/s"
    CONVCAST_MEMBERS(ExplainedFact, what, text)
};

struct Explanation {
    std::vector<std::string> names; ///< {"F3", "A step"}
    std::string from;               ///< "docs/profile.md, Arithmetic, of one SM"
    std::vector<ExplainedFact> facts;
    std::string text; ///< of an equation: its formula and what stands below it, line by line
    CONVCAST_MEMBERS(Explanation, names, from, facts, text)
};

/// Everything that is explained, in the order of the pages.
std::vector<Explanation> explanations();

/// The first name of each explanation, if it is one word: what a shell completes.
std::vector<std::string> words_to_explain();

/// The first paragraph, or row of a table, that has the name in code letters, as one explanation; none where
/// no page has it. For names that explanations() does not have.
std::vector<Explanation> mentions_of(const std::string &name);

} // namespace convcast::cli
