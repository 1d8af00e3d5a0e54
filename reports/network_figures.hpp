// Figures of networks: the rungs of a ladder, what their launches take, a network's layers and its timeline.
#pragma once

#include "model/network/network_run.hpp"
#include "model/network/scaling.hpp"
#include "reports/figure.hpp"

#include <span>
#include <vector>

namespace convcast {

/// Rungs with their forecast, measured and published times, and the launches that each forecast consists of.
std::vector<Figure> ladder_figures(const NetworkRun &run);

/// Efficiency on several GPUs, as forecast and, where there are such points, as measured.
Figure scaling_figure(std::span<const ScalingPoint> points, const std::string &id, const std::string &title,
                      const std::string &gpu, std::span<const ScalingPoint> measured = {});

/// Time of a step on one GPU over that on several, of each way to divide it and number of images.
Figure speed_up_figure(const NetworkRun &run);

/// What each launch of a network takes by the forecast; those of little time together.
Figure network_layers_figure(const NetworkRun &run);

/// Every launch from when it could have begun to its end, a row for each stream: as forecast, and as measured
/// below it where the network ran.
Figure network_timeline_figure(const NetworkRun &run);

/// Single launches are timed while they are traced, which makes the whole call longer. This is the time of a
/// call that nothing traces over that of the traced one: times of launches multiplied by it add up to the
/// time that the page and the forecast are about. 1 where the run has only one of the two.
double untraced_share(const NetworkRun &run);

/// When each launch of a run ended, times untraced_share: as recorded, or where that was not kept the sum of
/// the times up to it. Empty where no launch was timed.
std::vector<Seconds> ends_of(const NetworkRun &run);

} // namespace convcast
