// The reference and the gates on the device, for shapes that the CPU would take minutes for. Checked against
// the CPU.
#pragma once

#include "executor/gates.hpp"
#include "gpu/compile.hpp"
#include "gpu/kernel.hpp"
#include "gpu/memory.hpp"

namespace convcast {

/// executor/kernels/reference.cu; needs no GPU to be compiled.
CompileRequest reference_request(int compute_capability);

/// Outputs on the device: one element's sum x * w and sum |x * w|.
using DeviceReference = DeviceBuffer<ReferenceElement>;

class ReferenceKernels {
  public:
    ReferenceKernels(Compiler &compiler, int compute_capability);

    DeviceReference compute(const ConvShape &shape, const DeviceBuffer<float> &input,
                            const DeviceBuffer<float> &filters) const;

    /// As convcast::compare, for an output on the device.
    Comparison compare(const float *output, const DeviceReference &reference, double bound) const;

  private:
    Module module_;
    Kernel reference_, compare_;
};

/// Recomputes elements on the CPU, all of them if that is quick and otherwise a sample chosen by `seed`.
/// Throws GpuError if one differs by more than double rounding.
void check_reference(const ConvShape &shape, std::span<const float> input, std::span<const float> filters,
                     const DeviceReference &reference, std::uint64_t seed);

} // namespace convcast
