// The rungs of a ladder on a GPU: verified against double, then timed as a CUDA graph and launch by launch.
#pragma once

#include "gpu/compile.hpp"
#include "gpu/device.hpp"
#include "model/network/ladder.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace convcast {

struct LadderOptions {
    std::int64_t batch = 1;
    std::uint64_t seed = 0;                       ///< of images, labels and parameters
    bool time = true;                             ///< false: verify only
    std::function<void(const RungResult &)> done; ///< sees each rung as it is settled; may be empty
};

/// A wrong result and a kernel that does not compile are answers of their rung. Throws DeviceLost, after
/// marking what was not reached as not run.
LadderRun run_ladder(Compiler &compiler, const Device &device, const Ladder &ladder, const Network &network,
                     const LadderOptions &options);

} // namespace convcast
