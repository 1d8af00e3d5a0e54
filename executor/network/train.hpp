// Training: all images lie in the memory of each GPU that takes them, an epoch is one CUDA graph.
#pragma once

#include "executor/network/devices_group.hpp"
#include "gpu/compile.hpp"
#include "gpu/device.hpp"
#include "model/network/idx.hpp"
#include "model/network/ladder.hpp"
#include "model/network/scaling.hpp"
#include "model/network/training.hpp"

namespace convcast {

/// Trains by the rung of the ladder that does steps of training, in a new order every epoch, and classifies
/// the test images with the parameters at four decimals, by the last rung that takes batches. Throws
/// UsageError where no rung trains or the images have another shape.
TrainingRun train(Compiler &compiler, const Device &device, const Ladder &ladder, const Network &network,
                  const LabelledImages &images, const LabelledImages &tests, const TrainingOptions &options);

/// The same by plain gradient descent over all GPUs of the group, the images in their order. `first`, the
/// group's first GPU and the calling thread's, classifies.
TrainingRun train_over(Compiler &compiler, const Device &first, const DeviceGroup &group, DeviceSplit split,
                       const Ladder &ladder, const Network &network, const LabelledImages &images,
                       const LabelledImages &tests, const TrainingOptions &options);

} // namespace convcast
