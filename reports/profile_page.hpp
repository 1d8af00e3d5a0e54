// The page of a profile: every number, check and curve; and its figures.
#pragma once

#include "model/machine/profile.hpp"
#include "reports/figure.hpp"
#include "reports/write_report.hpp"

#include <string>
#include <vector>

namespace convcast {

/// The page and figures of a profile, which must outlive them.
PageReport report_on(const GpuProfile &profile);

/// The page's first paragraph: how many numbers, how many checks hold, what is absent.
std::string answer(const GpuProfile &profile);

/// Bandwidth over bytes in flight: the measured points, the fit of equation M1, and lines where that reaches
/// 90 and 95 %. `name` is the profile's field, "dram_read_curve".
Figure flight_figure(const std::string &name, const FlightCurve &curve);

/// One curve with the spread of each point, and lines at numbers of the profile that it should show.
Figure curve_figure(const std::string &name, const Curve &curve, const GpuProfile &profile);

/// All figures: curves of bytes in flight, those of docs/report.md in its order, the rest by name.
std::vector<Figure> profile_figures(const GpuProfile &profile);

} // namespace convcast
