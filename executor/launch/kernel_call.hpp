// A launch of a kernel with its arguments, whatever their types.
#pragma once

#include "gpu/kernel.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace convcast {

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

} // namespace convcast
