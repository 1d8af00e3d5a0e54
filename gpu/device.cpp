#include "gpu/device.hpp"

#include "gpu/stream.hpp"

#include <cstdlib>
#include <optional>
#include <string>

namespace convcast {
namespace {

int attribute(cudaDeviceAttr which, int ordinal) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, ordinal), "cudaDeviceGetAttribute");
    return value;
}

std::size_t size_attribute(cudaDeviceAttr which, int ordinal) {
    return static_cast<std::size_t>(attribute(which, ordinal));
}

Frequency clock_attribute(cudaDeviceAttr which, int ordinal) {
    return Frequency(1e3 * attribute(which, ordinal)); // the driver counts kHz
}

std::string uuid_text(const cudaUUID_t &uuid) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text = "GPU-";
    for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
        const unsigned byte = static_cast<unsigned char>(uuid.bytes[i]);
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text += '-';
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

int driver_version() {
    int version = 0; // stays 0 without a driver
    (void)cudaDriverGetVersion(&version);
    return version;
}

} // namespace

std::string cuda_version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::optional<std::string> why_no_device() {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    (void)cudaGetLastError();
    if (error == cudaSuccess && count > 0)
        return std::nullopt;
    const int driver = driver_version();
    if (driver == 0)
        return "no NVIDIA driver is loaded (libcuda.so.1 was not found or does not work): install the "
               "driver, "
               "or start the container with --gpus all";
    if (error == cudaErrorInsufficientDriver)
        return "the NVIDIA driver is too old: it supports CUDA " + cuda_version_text(driver) +
               ", this program was built with CUDA " + cuda_version_text(CUDART_VERSION) +
               ": update the driver or build with an older toolkit";
    if (error == cudaErrorNoDevice || error == cudaSuccess) {
        const char *visible = std::getenv("CUDA_VISIBLE_DEVICES");
        return std::string("the NVIDIA driver is loaded but shows no GPU") +
               (visible ? " (CUDA_VISIBLE_DEVICES is '" + std::string(visible) + "')"
                        : std::string(": check nvidia-smi"));
    }
    return std::string("the GPU cannot be used: ") + cudaGetErrorName(error) + ": " +
           cudaGetErrorString(error);
}

std::string device_uuid(int ordinal) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
    return uuid_text(properties.uuid);
}

DeviceFacts query_device(int ordinal) {
    DeviceFacts facts;
    facts.ordinal = ordinal;
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
    facts.name = properties.name;
    facts.uuid = uuid_text(properties.uuid);
    facts.compute_major = properties.major;
    facts.compute_minor = properties.minor;
    facts.sm_count = attribute(cudaDevAttrMultiProcessorCount, ordinal);
    facts.max_clock = clock_attribute(cudaDevAttrClockRate, ordinal);
    facts.memory_clock = clock_attribute(cudaDevAttrMemoryClockRate, ordinal);
    facts.memory_bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, ordinal);
    facts.l2_bytes = size_attribute(cudaDevAttrL2CacheSize, ordinal);
    facts.shared_per_sm_bytes = size_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, ordinal);
    facts.shared_per_block_bytes = size_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal);
    facts.shared_reserved_bytes = size_attribute(cudaDevAttrReservedSharedMemoryPerBlock, ordinal);
    facts.registers_per_sm = attribute(cudaDevAttrMaxRegistersPerMultiprocessor, ordinal);
    facts.max_threads_per_sm = attribute(cudaDevAttrMaxThreadsPerMultiProcessor, ordinal);
    facts.max_threads_per_block = attribute(cudaDevAttrMaxThreadsPerBlock, ordinal);
    facts.max_ctas_per_sm = attribute(cudaDevAttrMaxBlocksPerMultiprocessor, ordinal);
    facts.driver_version = driver_version();
    facts.runtime_version = CUDART_VERSION;

    const OnDevice here(ordinal); // cudaMemGetInfo answers for the current device only
    check(cudaMemGetInfo(&facts.memory_free_bytes, &facts.memory_bytes), "cudaMemGetInfo");
    return facts;
}

Device::Device(int ordinal) {
    if (const std::optional<std::string> why = why_no_device())
        throw GpuError(*why);
    int count = 0;
    check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    if (ordinal < 0 || ordinal >= count)
        throw GpuError("there is no GPU " + std::to_string(ordinal) + ": this machine shows " +
                       std::to_string(count) + ", counted from 0");
    check(cudaSetDevice(ordinal), "cudaSetDevice");
    facts_ = query_device(ordinal);
}

} // namespace convcast
