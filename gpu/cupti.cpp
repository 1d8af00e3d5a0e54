#include "gpu/cupti.hpp"

#include "model/base/errors.hpp"

#include <cuda_runtime_api.h>
#include <cupti_version.h>

#include <source_location>
#include <string>

namespace convcast {
namespace {

// The record structs grow from one major version to the next, so only the major version of the headers is
// opened.
SharedLibrary::Request cupti_request(const std::string &needed_for) {
    const std::string major = std::to_string(CUDART_VERSION / 1000);
    return {{"libcupti.so." + major}, needed_for, "the CUDA Toolkit " + major + " (package cuda-cupti)"};
}

std::string hint(CUptiResult result) {
    switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
        return "; the driver keeps performance counters to administrators: run as root or with "
               "CAP_SYS_ADMIN, or load "
               "the nvidia module with NVreg_RestrictProfilingToAdminUsers=0 "
               "(https://developer.nvidia.com/ERR_NVGPUCTRPERM)";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
        return "; the hypervisor keeps performance counters from this virtual machine";
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
        return "; another profiler is attached (ncu, nsys, cuda-gdb)";
    case CUPTI_ERROR_HARDWARE_BUSY:
        return "; another program holds the performance counters (DCGM, ncu)";
    default:
        return "";
    }
}

} // namespace

Cupti::Cupti(const std::string &needed_for) : library_(cupti_request(needed_for)) {}

void Cupti::check(CUptiResult result, const char *call, std::source_location where) const {
    if (result == CUPTI_SUCCESS)
        return;
    const char *name = nullptr;
    if (result_string_(result, &name) != CUPTI_SUCCESS || !name)
        name = "unknown CUPTI error";
    int device = -1;
    const bool known = cudaGetDevice(&device) == cudaSuccess;
    const std::string text = std::string(call) + " failed: " + name + " (" +
                             std::to_string(static_cast<int>(result)) + ")" + hint(result) + " (" +
                             where.file_name() + ":" + std::to_string(where.line()) + ", device " +
                             (known ? std::to_string(device) : "unknown") + ")";
    if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
        result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)
        throw CounterPermissionError(text);
    throw GpuError(text);
}

} // namespace convcast
