// A network in double on the GPU, computed by the definitions of its operators (whole_reference.cu). For
// networks that would take too long by the reference on the CPU. Tests compare both.
#pragma once

#include "executor/network/network_data.hpp"
#include "gpu/compile.hpp"
#include "gpu/kernel.hpp"
#include "gpu/memory.hpp"
#include "model/network/network.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace convcast {

class WholeReference {
  public:
    /// For at most `images` images at once. `network` must outlive this. Throws GpuError.
    WholeReference(Compiler &compiler, int compute_capability, const Network &network, std::int64_t images);

    /// Computes the outputs of all operators for `count` images, at most as many as it was made for. `images`
    /// and the results of `parameters`, which is asked for each operator, are on the device.
    void forward(const float *images, std::int64_t count,
                 const std::function<const float *(std::size_t op)> &parameters, cudaStream_t stream);

    /// The error of an operator's output against that of the last forward(). `values` on the device have the
    /// images of a whole batch; those of forward() begin at image `first`. `columns` is 0 if images lie one
    /// behind the other, else the number of images that lie side by side.
    L2Error compare(std::size_t op, const float *values, std::int64_t first, std::int64_t columns,
                    cudaStream_t stream);

    std::vector<double> output(std::size_t op) const { return outputs_[op].to_host(); }

  private:
    void compute(std::size_t op, const float *parameters, cudaStream_t stream);

    const Network &network_;
    std::int64_t count_ = 0; ///< images of the last forward()
    Module module_;
    DeviceBuffer<double> images_;
    std::vector<DeviceBuffer<double>> outputs_; ///< by operator
    DeviceBuffer<double> sums_;                 ///< of each block of a comparison: L2Error::off and size
};

} // namespace convcast
