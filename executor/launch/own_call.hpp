// A kernel of the user's own: how it is compiled, and its call.
#pragma once

#include "executor/launch/conv_call.hpp"
#include "gpu/compile.hpp"
#include "model/record/own_kernel.hpp"

namespace convcast {

/// How the kernel is compiled for a launch of a shape. Needs no GPU. The compiler also checks that the
/// function has the parameters that the launch file names. Throws UsageError where one of them is none.
CompileRequest own_request(const OwnKernel &kernel, const OwnLaunch &launch, const ConvShape &shape,
                           const Gpu &gpu, int compute_capability);

/// Loads the compiled kernel on the current device. Throws GpuError if it cannot be launched so.
ConvCall own_call(const CompiledModule &compiled, const OwnKernel &kernel, const OwnLaunch &launch,
                  const ConvShape &shape, const Gpu &gpu);

} // namespace convcast
