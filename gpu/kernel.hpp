// A cubin on the device and the kernels in it.
#pragma once

#include "gpu/compile.hpp"
#include "gpu/owned.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <utility>

namespace convcast {

/// A handle, valid while its Module lives.
class Kernel {
  public:
    Kernel(cudaKernel_t handle, std::string name) : handle_(handle), name_(std::move(name)) {}

    const std::string &name() const { return name_; } ///< lowered

    int registers() const { return attributes().numRegs; }                           ///< per thread
    std::size_t static_shared_bytes() const { return attributes().sharedSizeBytes; } ///< per CTA

    /// Permits launches with up to `bytes` of dynamic shared memory; above 48 KiB they fail without.
    void allow_shared(std::size_t bytes) const;

    /// How much of an SM's common memory is to be shared memory while this kernel runs: 0 leaves all that it
    /// can to L1, 100 none. Only a wish: what a CTA needs, it gets.
    void prefer_shared(int percent) const;

    /// By the driver's occupancy calculator.
    int ctas_per_sm(int threads, std::size_t dynamic_shared_bytes) const;

    /// `args` points at one pointer per parameter; `cluster` CTAs along x form a cluster. An `early` kernel
    /// may start while the one before it in the stream still runs, and waits for that one's end itself
    /// (griddepcontrol.wait). CTAs that wait for each other start `together`: the launch fails unless all of
    /// them fit on the GPU at once. Errors while the kernel runs appear at the next synchronisation.
    void launch(dim3 grid, dim3 block, std::size_t dynamic_shared_bytes, cudaStream_t stream, void **args,
                unsigned cluster = 1, bool early = false, bool together = false) const;

    /// launch() with the parameters themselves; each must have exactly the type that the kernel declares.
    template <class... Parameters>
    void launch_with(dim3 grid, dim3 block, std::size_t dynamic_shared_bytes, cudaStream_t stream,
                     Parameters... parameters) const {
        void *args[] = {static_cast<void *>(&parameters)..., nullptr};
        launch(grid, block, dynamic_shared_bytes, stream, args);
    }

    /// The same for kernels whose CTAs wait for each other.
    template <class... Parameters>
    void launch_together(dim3 grid, dim3 block, std::size_t dynamic_shared_bytes, cudaStream_t stream,
                         Parameters... parameters) const {
        void *args[] = {static_cast<void *>(&parameters)..., nullptr};
        launch(grid, block, dynamic_shared_bytes, stream, args, 1, false, true);
    }

  private:
    cudaFuncAttributes attributes() const;

    cudaKernel_t handle_;
    std::string name_;
};

class Module {
  public:
    explicit Module(const CompiledModule &compiled);

    /// By name expression or lowered name.
    Kernel kernel(const std::string &name) const;

    /// The device address of a __constant__ or __device__ variable, by name expression or lowered name.
    void *global(const std::string &name, std::size_t &bytes) const;

  private:
    const std::string &lowered(const std::string &name) const;

    Owned<cudaLibrary_t, cudaLibraryUnload> library_;
    std::map<std::string, std::string> lowered_names_;
};

} // namespace convcast
