// What stands behind an answer: the time term by term, and the papers' rules with their numbers.
#pragma once

#include "model/machine/profile.hpp"
#include "model/paper/rules.hpp"
#include "model/record/run.hpp"

#include <string>

namespace convcast::cli {

/// Launch, work, opinions on the regime, and the tree of terms to `depth` levels; of a refused case nothing.
std::string explained(const Case &item, int depth);

/// Chang's Table 1 step by step with what the chip does instead, then the rules of the case: the division of
/// a single channel, the block of several, the banks. Says what the profile lacks where there is no Table 1.
std::string rules_text(const Rules &rules, const GpuProfile &profile);

} // namespace convcast::cli
