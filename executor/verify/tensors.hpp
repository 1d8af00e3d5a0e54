// A shape's inputs on the device and what they give, and whether calls on them give it.
#pragma once

#include "executor/launch/conv_call.hpp"
#include "executor/verify/reference_kernel.hpp"

#include <cstddef>
#include <cstdint>
#include <map>

namespace convcast {

/// Inputs in the shape's data type.
struct Tensors {
    DeviceBuffer<std::byte> input, filters;
    DeviceReference reference; ///< of Layout::channels_first only
};

/// The inputs of both gates for one shape, made when first asked for, and an output. The reference is checked
/// against the CPU at elements chosen by the seed of the inputs.
class ShapeData {
  public:
    ShapeData(const ConvShape &shape, const ReferenceKernels &kernels, std::uint64_t seed);

    const ConvShape &shape() const { return shape_; }

    /// Of gate 1 for Gate::exact, of gate 2 for any other.
    const Tensors &tensors(Gate gate, Layout layout = Layout::channels_first);

    /// Enqueues the call on these inputs.
    void run(const ConvCall &call, Gate gate, Layout layout, cudaStream_t stream);

    /// Runs the call on a poisoned output and judges what it wrote.
    Verdict verify(const ConvCall &call, Gate gate, Layout layout, cudaStream_t stream);

    /// What is in the output, and whether anything was written outside of it.
    Verdict verdict(Gate gate, Layout layout);
    /// What is in another output.
    Verdict verdict(Gate gate, Layout layout, const void *output);

  private:
    ConvShape shape_;
    const ReferenceKernels &kernels_;
    std::uint64_t seed_;
    std::map<Layout, Tensors> integers_, reals_;
    GuardedBuffer<std::byte> output_;
};

} // namespace convcast
