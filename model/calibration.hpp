// The few numbers of the time model that no probe gives: assumed, or fitted on the training part of recorded
// convolutions, the same for every kernel. Both forecasts are always shown.
#pragma once

#include <boost/describe.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace convcast {

struct Calibration {
    std::string schema = "convcast/calibration/1";
    std::string gpu; ///< id of the profile it was fitted on; it holds for no other
    /// Of the instructions that are no FFMAs, those that wait for the one before (F6). Assumed: all.
    double dependent_share = 1.0;
    /// What a launch takes longer because its instructions are in no cache yet, seconds (F7). Assumed:
    /// nothing.
    double cold_start_s = 0.0;
    /// Of the issue slots, those that register banks and replays leave (F3). Assumed: all.
    double issue_efficiency = 1.0;
    /// Of its latency, what a load of a step that others share waits for DRAM in the first wave (F8).
    /// Assumed: all.
    double first_wave_miss = 1.0;
    std::int64_t cases = 0; ///< it was fitted on
    /// Measured over forecast time: the 5th and 95th percentile of the training part, which the interval is
    /// made of.
    double ratio_p05 = 1.0, ratio_p95 = 1.0;
    BOOST_DESCRIBE_CLASS(Calibration, (),
                         (schema, gpu, dependent_share, cold_start_s, issue_efficiency, first_wave_miss,
                          cases, ratio_p05, ratio_p95),
                         (), ())
};

/// Throws InputError with every problem at once.
Calibration read_calibration(const std::string &text, const std::string &file);
std::string write_calibration(const Calibration &calibration);

/// data/calibration/<gpu>.json; nullptr for a GPU on which nothing was fitted.
const Calibration *shipped_calibration(const std::string &gpu);

} // namespace convcast
