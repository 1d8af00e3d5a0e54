// A shape's inputs on the device, and what they give: for calls beside the timed ones.
#pragma once

#include "executor/verify/reference_kernel.hpp"

namespace convcast {

/// Inputs in the shape's data type, Layout::channels_first.
struct Tensors {
    DeviceBuffer<std::byte> input, filters;
    DeviceReference reference;
};

/// The reference is checked against the CPU at elements chosen by `seed`.
Tensors on_device(const ConvShape &shape, const Inputs &inputs, const ReferenceKernels &kernels,
                  std::uint64_t seed);

} // namespace convcast
