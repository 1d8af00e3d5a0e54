// NCCL, opened when it is asked for: sums over GPUs. Without it everything else works.
#pragma once

#include "executor/network/devices_group.hpp"
#include "gpu/library.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <vector>

namespace convcast {

class Nccl {
  public:
    /// Throws GpuError where the library is not there or too old, or a GPU stands in the group twice.
    explicit Nccl(const DeviceGroup &group);
    Nccl(const Nccl &) = delete;
    Nccl &operator=(const Nccl &) = delete;
    ~Nccl();

    /// Replaces `count` floats at each GPU's address by their sum, on each GPU's stream.
    void sum(const std::vector<float *> &values, std::size_t count,
             const std::vector<cudaStream_t> &streams) const;

    std::string version() const; ///< "2.28.3"

  private:
    // The few functions that are used, as NCCL 2 has them: handles are pointers, enumerations are ints.
    using Communicator = void *;
    using Init = int(Communicator *communicators, int count, const int *ordinals);
    using AllReduce = int(const void *from, void *to, std::size_t count, int type, int operation,
                          Communicator communicator, cudaStream_t stream);
    using Simple = int();
    using Destroy = int(Communicator communicator);
    using ErrorText = const char *(int result);
    using Version = int(int *version);

    void check(int result, const char *call) const;

    SharedLibrary library_;
    AllReduce *all_reduce_;
    Simple *group_start_, *group_end_;
    Destroy *destroy_;
    ErrorText *error_text_;
    Version *version_;
    std::vector<Communicator> communicators_;
};

} // namespace convcast
