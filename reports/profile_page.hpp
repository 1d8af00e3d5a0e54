// The page of a profile: every number, check and curve; and its figures.
#pragma once

#include "model/machine/profile.hpp"
#include "reports/figure.hpp"
#include "reports/write_report.hpp"

#include <string>
#include <vector>

namespace convcast {

/// As long as the profile is there.
PageReport report_on(const GpuProfile &profile);

/// The page's first paragraph: how many numbers, how many checks hold, what is absent.
std::string answer(const GpuProfile &profile);

/// Points, the fit of eq. M1 and its reference lines; `name` is the field, "dram_read_curve".
Figure flight_figure(const std::string &name, const FlightCurve &curve);

/// One curve with its spread, and lines where `profile` has numbers that it should show.
Figure curve_figure(const std::string &name, const Curve &curve, const GpuProfile &profile);

/// All of them, in the order of the groups, which are parts of the page, then the rest by name.
std::vector<Figure> profile_figures(const GpuProfile &profile);

} // namespace convcast
