// The regime that a forecast time means, by the same shares and thresholds as the measured one.
#pragma once

#include "model/profile.hpp"
#include "model/run.hpp"

namespace convcast {

/// What a call keeps busy: shares of what the chip can do, as the counters give them (docs/model.md,
/// "Regimes").
struct Utilisation {
    double fma = 0.0, issue = 0.0; ///< of the FMA pipes and issue slots, while an SM has work
    double dram = 0.0, l2 = 0.0;   ///< of the measured bandwidth, over the whole time
};

/// Of `work` in `time`; without the bandwidths in the profile their shares are 0.
Utilisation utilisation_of(const Plan &plan, const Work &work, Seconds time, const GpuProfile &profile);

} // namespace convcast
