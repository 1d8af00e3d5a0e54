#include "gpu/check.hpp"

#include <source_location>
#include <string>

namespace convcast {

bool is_sticky(cudaError_t error) {
    switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorExternalDevice:
    case cudaErrorDevicesUnavailable:
    case cudaErrorUnknown:
        return true;
    default:
        return false;
    }
}

void check(cudaError_t error, const char *call, std::source_location where) {
    if (error == cudaSuccess)
        return;
    (void)cudaGetLastError(); // a reported error must not be found again by the next check
    int device = -1;
    const bool known = cudaGetDevice(&device) == cudaSuccess;
    const std::string text = std::string(call) + " failed: " + cudaGetErrorName(error) + ": " +
                             cudaGetErrorString(error) + " (" + where.file_name() + ":" +
                             std::to_string(where.line()) + ", device " +
                             (known ? std::to_string(device) : "unknown") + ")";
    if (is_sticky(error))
        throw DeviceLost(text);
    throw GpuError(text);
}

} // namespace convcast
