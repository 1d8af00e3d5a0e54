#include "gpu/memory.hpp"

#include <cstring>
#include <source_location>
#include <string>

namespace convcast {
namespace {

std::string mebibytes(std::size_t bytes) {
    return std::to_string((bytes + (1u << 20) - 1) >> 20) + " MiB";
}

} // namespace

DeviceMemory device_memory(std::source_location where) {
    DeviceMemory found;
    check(cudaMemGetInfo(&found.free, &found.total), "cudaMemGetInfo", where);
    return found;
}

bool half_is_taken() {
    const DeviceMemory memory = device_memory();
    return memory.free < memory.total / 2;
}

void *device_allocate(std::size_t bytes, std::source_location where) {
    void *pointer = nullptr;
    const cudaError_t error = cudaMalloc(&pointer, bytes);
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        const DeviceMemory memory = device_memory(where);
        throw GpuError("the GPU is out of memory: " + mebibytes(bytes) + " asked for, " +
                       mebibytes(memory.free) + " of " + mebibytes(memory.total) + " free");
    }
    check(error, "cudaMalloc", where);
    return pointer;
}

void *pinned_allocate(std::size_t bytes, std::source_location where) {
    void *pointer = nullptr;
    check(cudaHostAlloc(&pointer, bytes, cudaHostAllocMapped | cudaHostAllocPortable), "cudaHostAlloc",
          where);
    std::memset(pointer, 0, bytes);
    return pointer;
}

void check_copy_size(std::size_t given, std::size_t size) {
    if (given > size)
        throw GpuError("a copy of " + std::to_string(given) + " elements does not fit a device buffer of " +
                       std::to_string(size));
}

} // namespace convcast
