// What verifying, timing and counting have in common, whoever's convolution it is.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

namespace convcast {

/// Enqueues one whole convolution: raw input and filters to raw output, in the shape's data type, everything
/// it needs beforehand included. Owns its kernels, descriptors and workspace.
using ConvCall =
    std::function<void(const void *input, const void *filters, void *output, cudaStream_t stream)>;

} // namespace convcast
