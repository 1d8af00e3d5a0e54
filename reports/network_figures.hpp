// Figures of networks: the rungs of a ladder, what their launches take, a network's layers and its timeline.
#pragma once

#include "model/network/network_run.hpp"
#include "model/network/scaling.hpp"
#include "reports/figure.hpp"

#include <span>
#include <vector>

namespace convcast {

/// Two figures of a ladder: the forecast, measured and published time of each rung, and the launches that
/// each forecast consists of, both in µs.
std::vector<Figure> ladder_figures(const NetworkRun &run);

/// Efficiency (0 to 1) on several GPUs, with the batch divided among them and with a batch for each: `points`
/// are forecast and drawn as lines, `measured` ones as marks.
Figure scaling_figure(std::span<const ScalingPoint> points, const std::string &id, const std::string &title,
                      const std::string &gpu, std::span<const ScalingPoint> measured = {});

/// Time of a training step on one GPU over that on several: a plot for each number of images, in it a line
/// for each way to divide the step.
Figure speed_up_figure(const NetworkRun &run);

/// The forecast time of each launch of a network, µs; short ones are added up.
Figure network_layers_figure(const NetworkRun &run);

/// Every launch from when it could have begun to its end, a row for each stream: as forecast, and as measured
/// below it where the network ran.
Figure network_timeline_figure(const NetworkRun &run);

/// The time of a call that nothing traces over that of a traced one; 1 where the run has only one of them.
/// Single launches can be timed only while they are traced, which makes the call longer: their times
/// multiplied by this share add up to the time that the page and the forecast are about.
double untraced_share(const NetworkRun &run);

/// When each launch ended after the beginning of the call, scaled by untraced_share: as recorded, else the
/// sum of the launches' times so far. Empty where no launch was timed.
std::vector<Seconds> ends_of(const NetworkRun &run);

} // namespace convcast
