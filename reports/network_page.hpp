// Pages about networks: a ladder's rungs, forecast and measured, the layers of a forecast network, and a
// whole network as it ran.
#pragma once

#include "model/network/forecast.hpp"
#include "model/network/ladder.hpp"
#include "model/network/scaling.hpp"
#include "model/network/training.hpp"
#include "model/network/whole_run.hpp"
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

/// A ladder with what a report says besides.
struct LadderReport {
    LadderRun run;
    std::string gpu;                   ///< name
    std::vector<ScalingPoint> scaling; ///< of the rung that trains; empty: there is none
};

PageReport report_on(const LadderReport &report);
PageReport report_on(const NetworkForecast &forecast);
PageReport report_on(const WholeRun &run, const std::optional<OtherTime> &other = std::nullopt);
/// Steps on several GPUs: the speed-up over one, forecast and measured.
PageReport report_on(const Scaling &scaling);
/// What a training came to; it has no figure.
PageReport report_on(const TrainingRun &run);

/// "13 of 15 implementations within 10 % ...": how good the forecast is; "" where nothing was measured.
std::string judgement_of(const LadderRun &run);
/// "540 µs measured, 515 µs forecast (-4.6 %) ...", or why there is no time.
std::string judgement_of(const WholeRun &run, const std::optional<OtherTime> &other = std::nullopt);
std::string judgement_of(const Scaling &scaling);
std::string judgement_of(const TrainingRun &run);

} // namespace convcast
