// A profile as one HTML file, like the page of a run: every number, check and curve, readable offline and
// without scripts.
#pragma once

#include "model/machine/profile.hpp"

#include <string>

namespace convcast {

std::string write_profile_page(const GpuProfile &profile);

/// The page's first paragraph: how many numbers, how many checks hold, what is absent.
std::string answer(const GpuProfile &profile);

} // namespace convcast
