// The reference and the gates on the device, for shapes that the CPU would take minutes for. Checked against
// the CPU.
#pragma once

#include "executor/verify/gates.hpp"
#include "executor/verify/inputs.hpp"
#include "gpu/compile.hpp"
#include "gpu/kernel.hpp"
#include "gpu/memory.hpp"

namespace convcast {

/// executor/kernels/reference.cu; needs no GPU to be compiled.
CompileRequest reference_request(int compute_capability);

/// The byte that fills an output before it is computed: NaNs; of 32-bit integers a sum that only more than
/// 130,000 products of 8-bit integers could reach.
unsigned char poison_of(const ConvShape &shape);

/// Outputs on the device: one element's sum x * w and sum |x * w|.
using DeviceReference = DeviceBuffer<ReferenceElement>;

class ReferenceKernels {
  public:
    ReferenceKernels(Compiler &compiler, int compute_capability);

    DeviceReference compute(const ConvShape &shape, const DeviceBuffer<float> &input,
                            const DeviceBuffer<float> &filters) const;

    /// Of an output on the device, in the shape's data type, NKPQ or NPQK. What it never wrote is a NaN or,
    /// of integers, as poison_of says. `bound`: 0 for gate 1, rounding_bound() for gate 2.
    Comparison compare(const ConvShape &shape, const void *output, Layout layout,
                       const DeviceReference &reference, double bound) const;

  private:
    Module module_;
    Kernel reference_, compare_;
};

/// Recomputes elements on the CPU, all of them if that is quick and otherwise a sample chosen by `seed`.
/// Throws GpuError if one differs by more than double rounding.
void check_reference(const ConvShape &shape, std::span<const float> input, std::span<const float> filters,
                     const DeviceReference &reference, std::uint64_t seed);

} // namespace convcast
