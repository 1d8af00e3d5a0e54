#include "gpu/kernel.hpp"

#include "gpu/check.hpp"

#include <array>
#include <cstddef>
#include <string>

namespace convcast {

cudaFuncAttributes Kernel::attributes() const {
    cudaFuncAttributes found{};
    check(cudaFuncGetAttributes(&found, static_cast<const void *>(handle_)),
          ("cudaFuncGetAttributes of " + name_).c_str());
    return found;
}

void Kernel::allow_shared(std::size_t bytes) const {
    check(cudaFuncSetAttribute(static_cast<const void *>(handle_),
                               cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
          ("cudaFuncSetAttribute of " + name_ + " to " + std::to_string(bytes) + " B of shared memory")
              .c_str());
}

void Kernel::prefer_shared(int percent) const {
    check(cudaFuncSetAttribute(static_cast<const void *>(handle_),
                               cudaFuncAttributePreferredSharedMemoryCarveout, percent),
          ("cudaFuncSetAttribute of " + name_ + " to a shared-memory carve-out of " +
           std::to_string(percent) + " %")
              .c_str());
}

int Kernel::ctas_per_sm(int threads, std::size_t dynamic_shared_bytes) const {
    int ctas = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&ctas, static_cast<const void *>(handle_), threads,
                                                        dynamic_shared_bytes),
          ("cudaOccupancyMaxActiveBlocksPerMultiprocessor of " + name_).c_str());
    return ctas;
}

void Kernel::launch(dim3 grid, dim3 block, std::size_t dynamic_shared_bytes, cudaStream_t stream, void **args,
                    unsigned cluster, bool early, bool together) const {
    std::array<cudaLaunchAttribute, 3> attributes{};
    unsigned count = 0;
    if (cluster > 1) {
        cudaLaunchAttribute &attribute = attributes[count++];
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim.x = cluster;
        attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    }
    if (early) {
        cudaLaunchAttribute &attribute = attributes[count++];
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
    }
    if (together) {
        cudaLaunchAttribute &attribute = attributes[count++];
        attribute.id = cudaLaunchAttributeCooperative;
        attribute.val.cooperative = 1;
    }
    cudaLaunchConfig_t config{};
    config.gridDim = grid, config.blockDim = block;
    config.dynamicSmemBytes = dynamic_shared_bytes;
    config.stream = stream;
    config.attrs = attributes.data();
    config.numAttrs = count;
    const cudaError_t error = cudaLaunchKernelExC(&config, static_cast<const void *>(handle_), args);
    if (error == cudaSuccess)
        return;
    const auto shape = [](dim3 d) {
        return std::to_string(d.x) + "x" + std::to_string(d.y) + "x" + std::to_string(d.z);
    };
    check(error, ("cudaLaunchKernelExC of " + name_ + " (grid " + shape(grid) + ", block " + shape(block) +
                  ", " + std::to_string(dynamic_shared_bytes) + " B of dynamic shared memory)")
                     .c_str());
}

Module::Module(const CompiledModule &compiled) : lowered_names_(compiled.lowered_names) {
    cudaLibrary_t loaded = nullptr;
    check(cudaLibraryLoadData(&loaded, compiled.cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
          "cudaLibraryLoadData");
    library_.reset(loaded);
}

const std::string &Module::lowered(const std::string &name) const {
    const auto found = lowered_names_.find(name);
    return found == lowered_names_.end() ? name : found->second;
}

Kernel Module::kernel(const std::string &name) const {
    cudaKernel_t handle = nullptr;
    check(cudaLibraryGetKernel(&handle, library_.get(), lowered(name).c_str()),
          ("cudaLibraryGetKernel of " + name).c_str());
    return {handle, lowered(name)};
}

void *Module::global(const std::string &name, std::size_t &bytes) const {
    // A variable's name expression is its address: "&filters". The plain name is looked up the same way.
    const auto address = lowered_names_.find("&" + name);
    void *pointer = nullptr;
    check(cudaLibraryGetGlobal(&pointer, &bytes, library_.get(),
                               (address == lowered_names_.end() ? lowered(name) : address->second).c_str()),
          ("cudaLibraryGetGlobal of " + name).c_str());
    return pointer;
}

} // namespace convcast
