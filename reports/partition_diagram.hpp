// A diagram of a plan: which part of the map and of the filters a CTA reads and which outputs it computes,
// what lies in shared memory meanwhile, and what one of its threads does. It answers, for any shape, what the
// figures of Chang (1 to 3) and Chen (1, 3 to 6) show for theirs.
#pragma once

#include "model/machine/profile.hpp"
#include "model/plan/plan.hpp"
#include "model/shape/conv_shape.hpp"
#include "reports/figure.hpp"

#include <cstdint>
#include <string>

namespace convcast {

/// "" if the plan can be drawn, else why not.
std::string cannot_draw(const Plan &plan);

/// The width of a GPU's banks of shared memory; 4 where its profile does not say.
std::int64_t bank_bytes_of(const GpuProfile &profile);

/// An SVG of that width on paper, its text 8 points high. `bank_bytes` is the width of the GPU's banks of
/// shared memory. Throws std::invalid_argument for a plan that cannot be drawn.
std::string partition_diagram(const ConvShape &shape, const Plan &plan, const PaperWidth &width,
                              std::int64_t bank_bytes = 4);

/// What the diagram shows, for a caption.
std::string partition_caption(const ConvShape &shape, const std::string &strategy, const Plan &plan);

} // namespace convcast
