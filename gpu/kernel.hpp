// A cubin on the device, the kernels in it, and launches of them.
#pragma once

#include "gpu/compile.hpp"
#include "gpu/owned.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

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

/// A kernel's argument. Its type must be exactly the one that the kernel declares.
class KernelArgument {
  public:
    template <class T> KernelArgument(const T &value) {
        static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= most_bytes);
        std::memcpy(bytes_.data(), &value, sizeof value);
    }
    const void *data() const { return bytes_.data(); }

  private:
    static constexpr std::size_t most_bytes = 48;
    alignas(16) std::array<std::byte, most_bytes> bytes_{};
};

/// A launch with its arguments in place.
struct KernelCall {
    Kernel kernel;
    dim3 grid, block;
    std::size_t shared_bytes = 0;
    std::vector<KernelArgument> arguments;
    unsigned cluster = 1;
    bool early = false; ///< may start while the kernel before it runs (Kernel::launch)

    void operator()(cudaStream_t stream) const { launch(arguments, stream); }
    /// With these instead of its own arguments.
    void launch(std::span<const KernelArgument> others, cudaStream_t stream) const {
        std::vector<void *> pointers;
        for (const KernelArgument &argument : others)
            pointers.push_back(const_cast<void *>(argument.data())); // the driver's interface knows no const
        pointers.push_back(nullptr);
        kernel.launch(grid, block, shared_bytes, stream, pointers.data(), cluster, early);
    }
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
