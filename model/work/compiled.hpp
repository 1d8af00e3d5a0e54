// Counts as compiled: what the source asks for becomes what runs, by the facts of the kernels.
#pragma once

#include "model/machine/architecture.hpp"
#include "model/machine/facts.hpp"
#include "model/plan/plan.hpp"

#include <array>
#include <cstddef>

namespace convcast {

/// The plan as the strategies count it, with the instructions and loads that its kernels have by `facts`;
/// a variant without facts takes those of its kernel's commonest one, kernels without facts stay as they are.
Plan with_facts(Plan plan, const Facts &facts, const Architecture &architecture);

/// The launch with the numbers of its kernel, one of `facts`.
void apply(Partition &part, const CompiledWork &kernel, const Facts &facts, const Architecture &architecture);

/// What the four coefficients of CompiledWork multiply, of a launch: FFMAs, other counted instructions, warps
/// and warp steps (W1).
inline constexpr std::size_t instruction_features = 4;
using InstructionFeatures = std::array<double, instruction_features>;
InstructionFeatures features_of(const Partition &part);

/// Warps of a CTA, the last one perhaps in part.
double warps_of(const Partition &part);

} // namespace convcast
