// Figures of networks: the rungs of a ladder, what their launches take, and a network's layers.
#pragma once

#include "model/network/forecast.hpp"
#include "model/network/ladder.hpp"
#include "model/network/scaling.hpp"
#include "reports/figure.hpp"

#include <span>
#include <vector>

namespace convcast {

/// Rungs with their forecast, measured and published times, and the launches that each forecast consists of.
std::vector<Figure> ladder_figures(const LadderRun &run);

/// Efficiency on several GPUs, as forecast.
Figure scaling_figure(std::span<const ScalingPoint> points, const std::string &id, const std::string &title,
                      const std::string &gpu);

/// What each launch of a network takes; those of little time together.
Figure network_layers_figure(const NetworkForecast &forecast);

} // namespace convcast
