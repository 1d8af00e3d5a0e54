// Counts as compiled. A strategy counts what the source of a kernel says; the facts of the kernel, regressed
// on counters, say how many instructions and loads that is as compiled (docs/equations.md, W1, W2, W6).
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

/// The assumptions that with_facts makes, in words: a sentence for each variant of the plan that was not
/// counted and takes the facts of another, and one if the kernel of the main launch was never counted.
std::vector<std::string> borrowed_facts(const Plan &plan, const Facts &facts);

/// Scales the counts of a launch by the facts of its kernel, `kernel`, which is one of `facts` (W1, W2, W6).
void apply(Partition &part, const CompiledWork &kernel, const Facts &facts, const Architecture &architecture);

/// What the four coefficients of CompiledWork multiply, for a whole launch (W1): FFMAs and other
/// instructions as the strategy counts them, both as warp instructions, then warps, and warps times pipeline
/// steps, of CTAs that are not idle.
inline constexpr std::size_t instruction_features = 4;
using InstructionFeatures = std::array<double, instruction_features>;
InstructionFeatures features_of(const Partition &part);

/// Warps of a CTA, rounded up.
double warps_of(const Partition &part);

} // namespace convcast
