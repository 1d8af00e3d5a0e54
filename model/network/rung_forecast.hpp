// How long a rung of a ladder takes on a GPU: its launches one after another, each a sum of phases. Equations
// N5 to N7 of docs/equations.md.
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

// Three numbers that no probe gives, read off the recorded times of the ladders of fashion_mnist and mnist on
// an H200. They are the same for all rungs.
inline constexpr double code_clocks = 3.6; ///< of a launch's first CTAs, for each instruction of its code
/// Of an SM, for each address of constant memory, where the profile has no constant_address_time.
inline constexpr double constant_address_clocks = 2.0;
inline constexpr double dependent_gap_s =
    0.7e-6; ///< of a graph, where a launch reads what the last one wrote

/// Whether the profile has the rate of atomic adds whose result nobody waits for.
bool knows_atomic_adds(const GpuProfile &profile);

/// N10: of `adds` floats to so many lines of 128 bytes at the same time, by all SMs. The profile has the
/// rate.
Seconds atomic_adds_time(double adds, double lines, const GpuProfile &profile);

/// N5: one phase of `ctas` CTAs that share an SM, of `cta_warps` warps each.
Seconds phase_time(const LaunchPhase &phase, double ctas, std::int64_t cta_warps, const GpuProfile &profile);

/// N6: a launch from the start of its first CTA to the end of its last one.
KernelForecast launch_forecast(const LadderLaunch &launch, const LaunchWork &work, const GpuProfile &profile);

/// A call of an implementation, with L2 as it is after a call.
struct RungForecast : NetworkTimes {
    std::vector<KernelForecast> launches; ///< each once, however often it is launched
    std::vector<Seconds> in_stream_s;     ///< that all launches of each take of `stream_s`
};

/// N7: calls of a ladder's rungs on a GPU.
class RungForecaster {
  public:
    RungForecaster(const Ladder &ladder, const Network &network, const GpuProfile &profile);

    /// Absent times and a reason where the GPU refuses it, where a number of the profile is missing, or where
    /// the work of one of its kernels is not declared.
    RungForecast forecast(const Rung &rung, std::int64_t images);
    /// The same with the range of call_s() in `low_s` and `high_s` where the profile assumes numbers (I3).
    RungForecast ranged_forecast(const Rung &rung, std::int64_t images);

    /// What an expression of the ladder is for so many images and values of a launch.
    double number(const std::string &text, std::int64_t images, const std::map<std::string, double> &values) {
        return counter_.number(text, images, values);
    }

  private:
    const Ladder &ladder_;
    const Network &network_;
    Gpu gpu_;
    WorkCounter counter_;
};
/// With its range.
RungForecast forecast_rung(const Ladder &ladder, const Rung &rung, const Network &network,
                           std::int64_t images, const GpuProfile &profile);

/// The rungs of a ladder that train, and how many images a step of theirs takes unless told otherwise.
Ladder training_part(Ladder ladder);
std::int64_t training_batch(const Ladder &ladder);

/// A case of each rung, of which nothing is known yet.
NetworkRun ladder_run(const Ladder &ladder, const Network &network, std::int64_t images);

/// The same with forecasts; a rung that has none says why.
NetworkRun forecast_ladder(const Ladder &ladder, const Network &network, std::int64_t images,
                           const GpuProfile &profile);

} // namespace convcast
