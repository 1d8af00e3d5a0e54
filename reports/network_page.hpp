// Pages about networks: a ladder's rungs, a whole network's launches, steps on several GPUs, a training.
#pragma once

#include "model/network/ladder.hpp"
#include "model/network/network_run.hpp"
#include "model/network/scaling.hpp"
#include "model/network/training.hpp"
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

/// A ladder with what a report says besides.
struct LadderReport {
    LadderRun run;
    std::string gpu;                   ///< name
    std::vector<ScalingPoint> scaling; ///< of the rung that trains; empty: there is none
};

PageReport report_on(const LadderReport &report);
/// A launch a row, measured beside forecast where the network ran. Single launches can only be timed while
/// they are traced, which makes a call longer: their measured times are scaled so that they add up to the
/// call that nothing traces.
Table launches_table(const NetworkRun &run);

PageReport report_on(const NetworkRun &run, const std::optional<OtherTime> &other = std::nullopt);
/// Steps on several GPUs: the speed-up over one, forecast and measured.
PageReport report_on(const Scaling &scaling);
/// What a training came to; it has no figure.
PageReport report_on(const TrainingRun &run);

/// "13 of 15 implementations within 10 % ...": how good the forecast is; "" where nothing was measured.
std::string judgement_of(const LadderRun &run);
/// "540 µs measured, 515 µs forecast (-4.6 %) ...", why there is no time, or of a forecast what it consists
/// of.
std::string judgement_of(const NetworkRun &run, const std::optional<OtherTime> &other = std::nullopt);
std::string judgement_of(const Scaling &scaling);
std::string judgement_of(const TrainingRun &run);

} // namespace convcast
