// A network in double on the GPU, by the definitions of its operators (whole_reference.cu): for networks that
// the CPU reference takes too long for. Tests compare both.
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
    WholeReference(Compiler &compiler, int compute_capability, const Network &network, std::int64_t images);

    /// The outputs of all operators for `count` images, at most those that it was made for. `parameters`
    /// gives an operator's on the device.
    void forward(const float *images, std::int64_t count,
                 const std::function<const float *(std::size_t op)> &parameters, cudaStream_t stream);

    /// How far an operator's output in `values` is from that of the last forward(). Its images there begin at
    /// `first`; `columns` images lie side by side, or with 0 one behind the other.
    L2Error compare(std::size_t op, const float *values, std::int64_t first, std::int64_t columns,
                    cudaStream_t stream);

    std::vector<double> output(std::size_t op) const { return outputs_[op].to_host(); }

  private:
    void compute(std::size_t op, const float *its_parameters, cudaStream_t stream);

    const Network &network_;
    std::int64_t count_ = 0;
    Module module_;
    DeviceBuffer<double> images_;
    std::vector<DeviceBuffer<double>> outputs_;
    DeviceBuffer<double> sums_;
};

} // namespace convcast
