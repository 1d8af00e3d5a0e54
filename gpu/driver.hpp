// The driver's own functions, found at run time so that the binary starts without libcuda.
#pragma once

#include "gpu/check.hpp"

#include <cuda.h>

#include <string>

namespace convcast {

/// The function as CUDA `version` (12040 for 12.4) has it. Throws GpuError, with `needed_for`, where the
/// driver lacks it.
template <class Function>
Function *driver_function(const char *name, unsigned version, const std::string &needed_for = "") {
    void *pointer = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    check(cudaGetDriverEntryPointByVersion(name, &pointer, version, cudaEnableDefault, &found),
          "cudaGetDriverEntryPointByVersion");
    if (found != cudaDriverEntryPointSuccess || !pointer)
        throw GpuError(std::string("the driver has no ") + name + needed_for);
    return reinterpret_cast<Function *>(pointer);
}

inline void driver_check(CUresult result, const char *call) {
    if (result != CUDA_SUCCESS)
        throw GpuError(std::string(call) + " failed: driver error " +
                       std::to_string(static_cast<int>(result)));
}

} // namespace convcast
