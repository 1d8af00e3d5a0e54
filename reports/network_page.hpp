// Pages about networks: a ladder's rungs, a whole network's launches, steps on several GPUs, a training.
#pragma once

#include "model/network/network_run.hpp"
#include "model/network/scaling.hpp"
#include "reports/table.hpp"
#include "reports/write_report.hpp"

#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// How long another program takes for the same network on the same GPU, timed in the same way.
struct OtherTime {
    std::string by; ///< "PyTorch 2.11.0, cuDNN 9.19, FP32"
    Seconds time_s;
};

/// What a page says besides the document.
struct BesideNetwork {
    std::optional<OtherTime> other{};
    std::vector<ScalingPoint> scaling{}; ///< of the ladder's implementation that trains
};

/// The page and the figures of what the document has: a whole network's launches, a ladder's implementations,
/// steps on several GPUs, or a training. They own what they need.
PageReport report_on(const NetworkRun &run, const BesideNetwork &beside = {});

/// A row for each implementation or step on GPUs; columns that are empty in every row are left out.
Table cases_table(const NetworkRun &run);

/// A row for each launch of a whole network, measured beside forecast where it ran. Launches are timed while
/// they are traced, which takes longer: their times are scaled by untraced_share.
Table launches_table(const NetworkRun &run);

/// "2 nodes are not known (MatMul, Einsum) and forecast by ..., 3.2 % of the time"; "" where all are known.
std::string unknown_words(const NetworkRun &run);

/// What a launch is, in a word or two: "convolution", "layer norm"; of a node that is not known what ONNX
/// calls it, "not known: MatMul".
std::string kind_text(const NetworkLaunch &launch);

/// "13 of 15 forecasts are within 10 % ...", "540 µs measured, 515 µs forecast (-4.6 %) ...": how good the
/// forecast is, why there is no time, what a forecast consists of, or what a training came to.
std::string judgement_of(const NetworkRun &run, const std::optional<OtherTime> &other = std::nullopt);

} // namespace convcast
