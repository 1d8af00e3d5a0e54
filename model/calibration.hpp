// The few numbers of the time model that no probe gives: assumed, or fitted on the training part of recorded
// convolutions, the same for every kernel. Both forecasts are always shown.
#pragma once

#include <boost/describe.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace convcast {

/// What is fitted; the values here are those assumed without a fit.
struct FittedNumbers {
    /// Of its latency, what a load of a step that others share waits for DRAM in the first wave (F8).
    /// Assumed: all.
    double first_wave_miss = 1.0;
    /// Of what a launch's first warps wait for instructions and constants, the part that hides nothing else
    /// (F15). Assumed: all.
    double cold_share = 1.0;
    /// How well the loads of a pipeline's steps overlap with their arithmetic, of one CTA: an exponent (F3).
    /// Assumed: 2, as of the knee of bytes in flight.
    double steps_overlap = 2.0;
    /// And how well units of an SM that the same instructions use in turn: issue slots and the pipe of
    /// integers (F10), arithmetic and stores (F32), copies of warps of their own and arithmetic (F3).
    /// Assumed: 2.
    double units_overlap = 2.0;
    BOOST_DESCRIBE_CLASS(FittedNumbers, (), (first_wave_miss, cold_share, steps_overlap, units_overlap), (),
                         ())
};

struct Calibration {
    std::string schema = "convcast/calibration/2";
    std::string gpu; ///< id of the profile it was fitted on; it holds for no other
    FittedNumbers fitted;
    /// Of fits to the training part's shapes, drawn again with replacement: how sure the numbers are.
    std::vector<FittedNumbers> resampled;
    std::int64_t cases = 0; ///< it was fitted on
    /// Measured over forecast time: the 5th and 95th percentile of the training part, which the interval is
    /// made of.
    double ratio_p05 = 1.0, ratio_p95 = 1.0;
    BOOST_DESCRIBE_CLASS(Calibration, (), (schema, gpu, fitted, resampled, cases, ratio_p05, ratio_p95), (),
                         ())
};

/// Throws InputError with every problem at once.
Calibration read_calibration(const std::string &text, const std::string &file);
std::string write_calibration(const Calibration &calibration);

/// data/calibration/<gpu>.json; nullptr for a GPU on which nothing was fitted.
const Calibration *shipped_calibration(const std::string &gpu);

} // namespace convcast
