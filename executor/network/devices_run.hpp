// Splits of a step of training over GPUs, measured: each held to one GPU's outputs, gradient and parameters,
// then timed. And training with them.
#pragma once

#include "executor/network/devices_group.hpp"
#include "gpu/compile.hpp"
#include "model/network/idx.hpp"
#include "model/network/scaling.hpp"
#include "model/network/training.hpp"

#include <cstdint>
#include <functional>

namespace convcast {

struct SplitRunOptions {
    std::uint64_t seed = 0; ///< of images, labels and parameters
    bool time = true;       ///< false: verify only
    std::function<void(const Scaling &, const ScalingCase &)>
        done; ///< sees each case as it is settled; may be empty
};

/// Settles the cases of a forecast. What a split gets wrong or cannot do is an answer of its case; after a
/// GPU was lost the others are not run, with the reason.
void run_scaling(Compiler &compiler, const DeviceGroup &group, const Network &network, Scaling &scaling,
                 const SplitRunOptions &options);

/// Parameters after training by a split over all GPUs of the group, in the order of the images; `run` gets
/// the times.
Parameters train_split(Compiler &compiler, const DeviceGroup &group, const Network &network,
                       DeviceSplit split, const LabelledImages &images, const TrainingOptions &options,
                       TrainingRun &run);

} // namespace convcast
