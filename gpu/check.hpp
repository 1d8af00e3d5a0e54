// Every CUDA call goes through check().
#pragma once

#include "model/base/errors.hpp"

#include <cuda_runtime_api.h>

#include <optional>
#include <source_location>
#include <string>

static_assert(CUDART_VERSION >= 12080, "cudaLibraryLoadData in the runtime needs CUDA 12.8 or newer");

namespace convcast {

/// The context is gone: every later call on this device in this process fails too.
struct DeviceLost : GpuError {
    using GpuError::GpuError;
};

/// True for errors that end the context (illegal address, failed launch, uncorrectable ECC ...).
bool is_sticky(cudaError_t error);

/// Throws GpuError, or DeviceLost if the error is sticky, saying call, place, device, name and text.
void check(cudaError_t error, const char *call, std::source_location where = std::source_location::current());

/// Absent if `part` was done, else what its GpuError says. Throws errors that end more than this part:
/// DeviceLost, and those of the types `Others`.
template <class... Others, class Part> std::optional<std::string> why_refused(const Part &part) {
    try {
        part();
        return std::nullopt;
    } catch (const GpuError &error) {
        if (dynamic_cast<const DeviceLost *>(&error) || (dynamic_cast<const Others *>(&error) || ...))
            throw;
        (void)cudaGetLastError(); // not sticky: cleared, so that the next call does not report it again
        return error.what();
    }
}

/// Absent if `part` can be done; otherwise what its GpuError says.
template <class Part> std::optional<std::string> why_not(const Part &part) {
    try {
        part();
        return std::nullopt;
    } catch (const GpuError &error) {
        return error.what();
    }
}

} // namespace convcast
