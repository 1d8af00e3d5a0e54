// Counts as compiled: what the source asks for becomes what runs, by the facts of the kernels.
#pragma once

#include "model/machine/architecture.hpp"
#include "model/machine/facts.hpp"
#include "model/plan/plan.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace convcast {

/// The plan with the instructions and loads that its kernels have by `facts`. A variant without facts takes
/// those of its kernel's variant with most counted calls. A kernel without facts stays as the strategy counts
/// it.
Plan with_facts(Plan plan, const Facts &facts, const Architecture &architecture);

/// What with_facts takes from another variant of a kernel, as assumptions in words: a sentence for each
/// variant of the plan that was not counted.
std::vector<std::string> borrowed_facts(const Plan &plan, const Facts &facts);

/// Gives the launch the numbers of its kernel, one of `facts` (W1, W2, W6).
void apply(Partition &part, const CompiledWork &kernel, const Facts &facts, const Architecture &architecture);

/// What the four coefficients of CompiledWork multiply, for a whole launch (W1): FFMAs and other counted
/// instructions, both as warp instructions, then warps, and warps times pipeline steps.
inline constexpr std::size_t instruction_features = 4;
using InstructionFeatures = std::array<double, instruction_features>;
InstructionFeatures features_of(const Partition &part);

/// Warps of a CTA, rounded up.
double warps_of(const Partition &part);

} // namespace convcast
