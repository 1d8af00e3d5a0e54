// A whole network on a GPU: verified against double, then timed as one CUDA graph and launch by launch.
#pragma once

#include "gpu/compile.hpp"
#include "gpu/device.hpp"
#include "model/network/whole_run.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace convcast {

struct WholeOptions {
    std::uint64_t seed = 0; ///< of images and parameters
    bool integers =
        false; ///< small ones, for which the outputs must be exact; for small networks without Winograd
    bool time = true; ///< false: verify only
    unsigned compile_threads = 1;
    std::function<void(const std::string &)> say; ///< what a user should know; may be empty
};

/// A wrong result is an answer of the run. Throws UsageError for a network that no kernel runs, or a GPU with
/// too little memory; GpuError.
WholeRun run_whole(Compiler &compiler, const Device &device, const PlannedNetwork &plan,
                   const WholeOptions &options);

} // namespace convcast
