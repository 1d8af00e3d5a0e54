// What verifying, timing and counting have in common, whoever's convolution it is.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>

namespace convcast {

/// Enqueues one whole convolution: raw input and filters to raw output, in the shape's data type, everything
/// it needs beforehand included. Owns its kernels, descriptors and workspace.
using ConvCall =
    std::function<void(const void *input, const void *filters, void *output, cudaStream_t stream)>;

/// Another's convolution, ready to run.
struct BaselineCall {
    ConvCall call;
    std::string detail; ///< how it does it, for the case: "workspace 1024 bytes"
};

/// Device memory that a baseline may take beside the tensors.
inline constexpr std::size_t most_workspace_bytes = std::size_t{16} << 30;

} // namespace convcast
