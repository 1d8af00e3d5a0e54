// A step of training on several GPUs, each with a share of the batch and all parameters: a forecast, equation
// N8 of docs/equations.md.
#pragma once

#include "model/machine/profile.hpp"
#include "model/network/ladder.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace convcast {

struct ScalingPoint {
    std::int64_t gpus = 1;
    Seconds strong_s;   ///< of the batch, divided
    Seconds weak_s;     ///< of as many batches as GPUs
    Seconds exchange_s; ///< of both: what the exchange of gradients takes
    double strong_efficiency = 1.0, weak_efficiency = 1.0;
    BOOST_DESCRIBE_CLASS(ScalingPoint, (),
                         (gpus, strong_s, weak_s, exchange_s, strong_efficiency, weak_efficiency), (), ())
};

/// Every GPU reads the gradients of all others: one launch more, a latency between GPUs, and their bytes at
/// the bandwidth between two of them; 0 for one GPU. Absent where the profile has no other GPU.
std::optional<Seconds> exchange_time(const Network &network, std::int64_t gpus, const GpuProfile &profile);

/// Empty where the rung has no forecast on this GPU, or the profile no other GPU.
std::vector<ScalingPoint> forecast_scaling(const Rung &rung, const Network &network, std::int64_t batch,
                                           const GpuProfile &profile, std::span<const std::int64_t> gpus);

/// The smallest batch, a power of two up to `most`, that two GPUs divide with at least this efficiency; 0.5
/// is where they are as fast as one.
std::optional<std::int64_t> smallest_batch(const Rung &rung, const Network &network, double efficiency,
                                           std::int64_t most, const GpuProfile &profile);

} // namespace convcast
