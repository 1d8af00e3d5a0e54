// cuBLAS's SGEMM in true FP32.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

namespace convcast {

/// `batch` products c = a * b of row-major matrices: a is m x k, b is k x n, c is m x n, all dense, each
/// batch's matrices at the given distances in elements; a distance of 0 uses the same matrix every time.
struct Sgemm {
    std::int64_t m = 0, n = 0, k = 0;
    std::int64_t batch = 1;
    std::int64_t a_distance = 0, b_distance = 0, c_distance = 0;
};

/// Opened at run time; one handle for the current device, in CUBLAS_PEDANTIC_MATH: no tensor cores, no
/// emulation.
class Cublas {
  public:
    virtual ~Cublas() = default;

    virtual std::string version() const = 0; ///< "13.0.0"

    /// Enqueues on `stream`; c is overwritten, whatever it holds. Not for two streams at once: they would
    /// share the workspace.
    virtual void sgemm(const Sgemm &size, const float *a, const float *b, float *c,
                       cudaStream_t stream) const = 0;

    /// Of device memory that cuBLAS works in: what its documentation recommends for compute capability 9.0.
    static constexpr std::size_t workspace_bytes = std::size_t{32} << 20;
};

/// Throws GpuError without a usable cuBLAS, or if built without its headers.
std::shared_ptr<const Cublas> open_cublas();

} // namespace convcast
