#include "executor/verify/tensors.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace convcast {

Tensors on_device(const ConvShape &shape, const Inputs &inputs, const ReferenceKernels &kernels,
                  std::uint64_t seed) {
    const std::vector<std::byte> input = stored(inputs.input, shape.dtype),
                                 filters = stored(inputs.filters, shape.dtype);
    Tensors tensors{DeviceBuffer<std::byte>(std::span(input)), DeviceBuffer<std::byte>(std::span(filters)),
                    kernels.compute(shape, DeviceBuffer<float>(std::span(inputs.input)),
                                    DeviceBuffer<float>(std::span(inputs.filters)))};
    check_reference(shape, inputs.input, inputs.filters, tensors.reference, seed);
    return tensors;
}

} // namespace convcast
