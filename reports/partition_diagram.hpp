// A diagram of a plan: which part of the map and of the filters a CTA reads and which outputs it computes,
// what lies in shared memory meanwhile, and what one of its threads does. It answers, for any shape, what the
// figures of Chang (1 to 3) and Chen (1, 3 to 6) show for theirs.
#pragma once

#include "model/machine/profile.hpp"
#include "model/record/run.hpp"
#include "reports/figure.hpp"

#include <cstdint>
#include <string>

namespace convcast {

/// "" if plans of a strategy, given with or without its knobs, can be drawn, else why not.
std::string cannot_draw(const std::string &strategy);

/// The width of a GPU's banks of shared memory, bytes; 4, as of most GPUs, where its profile does not say.
std::int64_t bank_bytes_of(const GpuProfile &profile);

/// An SVG, of that width on paper, of the first launch of a case's plan; the case was predicted for
/// `profile`. Its text is 8 points high. Throws std::invalid_argument for a strategy that cannot be drawn.
std::string partition_diagram(const Case &item, const GpuProfile &profile, const PaperWidth &width);

/// What the diagram shows, for a caption.
std::string partition_caption(const Case &item);

} // namespace convcast
