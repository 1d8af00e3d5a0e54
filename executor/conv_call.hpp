// What verifying, timing and counting have in common, whoever's convolution it is.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

namespace convcast {

/// Enqueues one whole convolution: raw NCHW input and KCRS filters to NKPQ output, everything it needs
/// beforehand included. Owns its kernels, descriptors and workspace.
using ConvCall =
    std::function<void(const float *input, const float *filters, float *output, cudaStream_t stream)>;

} // namespace convcast
