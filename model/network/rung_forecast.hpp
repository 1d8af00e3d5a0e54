// How long a rung of a ladder takes on a GPU: launches in a row, each a sum of phases (equations N5 to N7).
#pragma once

#include "model/machine/architecture.hpp"
#include "model/network/count_work.hpp"
#include "model/network/ladder.hpp"
#include "model/network/network_run.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace convcast {

// Three numbers that no probe gives, read off times of the ladders of an H200, the same for all rungs.
/// Clocks that a launch's first CTAs wait for each instruction of its code, which no SM has run yet.
inline constexpr double code_clocks = 3.6;
/// Clocks in which an SM serves one address of constant memory, if the profile has no constant_address_time.
inline constexpr double constant_address_clocks = 2.0;
/// Seconds of a graph from a launch's end to one that reads what it wrote, beyond the gap of empty kernels.
inline constexpr double dependent_gap_s = 0.7e-6;

/// Whether the profile has the rate of atomic adds whose result nobody waits for.
bool knows_atomic_adds(const GpuProfile &profile);

/// N10: how long all SMs together add `adds` floats in L2, to `lines` lines of 128 bytes at the same time.
/// The profile has the rate (knows_atomic_adds).
Seconds atomic_adds_time(double adds, double lines, const GpuProfile &profile);

/// N5: how long one phase takes on an SM that `ctas` CTAs of `cta_warps` warps share.
Seconds phase_time(const LaunchPhase &phase, double ctas, std::int64_t cta_warps, const GpuProfile &profile);

/// N6: a launch alone, from the start of its first CTA to the end of its last one. What it reads is taken to
/// be in L2 if all that it reads and writes fits there.
KernelForecast launch_forecast(const LadderLaunch &launch, const LaunchWork &work, const GpuProfile &profile);

/// The forecast of a call of a rung, with L2 as the call before left it.
struct RungForecast : NetworkTimes {
    std::vector<KernelForecast> launches; ///< by line of the rung, however often it is launched
    std::vector<Seconds> in_stream_s;     ///< by line, the part of `stream_s` that its launches take
};

/// N7: forecasts calls of a ladder's rungs on a GPU. Ladder and network outlive it.
class RungForecaster {
  public:
    RungForecaster(const Ladder &ladder, const Network &network, const GpuProfile &profile);

    /// Times are absent and `why_not` says why if the rung cannot run on the GPU for `images` images, if a
    /// number of the profile is missing, or if the work of one of its kernels is not declared.
    RungForecast forecast(const Rung &rung, std::int64_t images);
    /// The same with the range of call_s() in `low_s` and `high_s` where the profile assumes numbers (I3).
    RungForecast ranged_forecast(const Rung &rung, std::int64_t images);

    /// As WorkCounter::number.
    double number(const std::string &text, std::int64_t images, const std::map<std::string, double> &values) {
        return counter_.number(text, images, values);
    }

  private:
    const Ladder &ladder_;
    const Network &network_;
    Gpu gpu_;
    WorkCounter counter_;
};
/// ranged_forecast of a forecaster for this one question.
RungForecast forecast_rung(const Ladder &ladder, const Rung &rung, const Network &network,
                           std::int64_t images, const GpuProfile &profile);

/// The ladder with only the rungs that train.
Ladder training_part(Ladder ladder);
/// Images of a step of training, as the ladder's descent says; 1 if none does.
std::int64_t training_batch(const Ladder &ladder);

/// A document with a case for each rung, of which nothing is forecast or measured yet.
NetworkRun ladder_run(const Ladder &ladder, const Network &network, std::int64_t images);

/// ladder_run with forecasts. A rung that has none is infeasible, with the reason.
NetworkRun forecast_ladder(const Ladder &ladder, const Network &network, std::int64_t images,
                           const GpuProfile &profile);

} // namespace convcast
