// Training on one GPU: all images lie in its memory, an epoch is one CUDA graph.
#pragma once

#include "gpu/compile.hpp"
#include "gpu/device.hpp"
#include "model/network/idx.hpp"
#include "model/network/ladder.hpp"
#include "model/network/training.hpp"

#include <functional>

namespace convcast {

/// Trains by the rung of the ladder that does steps of training, in the order of the images, and classifies
/// the test images by the rung before it. Throws UsageError where no rung trains or the images have another
/// shape.
TrainingRun train(Compiler &compiler, const Device &device, const Ladder &ladder, const Network &network,
                  const LabelledImages &images, const LabelledImages &tests, const TrainingOptions &options);

} // namespace convcast
