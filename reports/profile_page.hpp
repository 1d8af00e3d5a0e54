// The page of a profile: every number, check and curve.
#pragma once

#include "model/machine/profile.hpp"
#include "reports/write_report.hpp"

#include <string>

namespace convcast {

PageReport report_on(const GpuProfile &profile);

/// The page's first paragraph: how many numbers, how many checks hold, what is absent.
std::string answer(const GpuProfile &profile);

} // namespace convcast
