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

void *device_allocate(std::size_t bytes, std::source_location where) {
    void *pointer = nullptr;
    const cudaError_t error = cudaMalloc(&pointer, bytes);
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        std::size_t free_bytes = 0, total_bytes = 0;
        check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo", where);
        throw GpuError("the GPU is out of memory: " + mebibytes(bytes) + " asked for, " +
                       mebibytes(free_bytes) + " of " + mebibytes(total_bytes) + " free");
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
