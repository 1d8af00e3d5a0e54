// A picture of how a warp reads shared memory: which bank delivers what to which lane, wavefront by
// wavefront. It answers for the banks of any GPU what Chen's figures 1, 4 and 5 show for his.
#pragma once

#include "model/machine/profile.hpp"
#include "model/record/paper.hpp"
#include "reports/figure.hpp"

#include <string>

namespace convcast {

/// An SVG of that width on paper. Wavefronts are those of model/work/shared_access.hpp.
std::string bank_diagram(const PaperBanks &read, const GpuProfile &profile, const PaperWidth &width);

/// What it shows, in numbers, for a caption.
std::string bank_caption(const PaperBanks &read, const GpuProfile &profile);

} // namespace convcast
