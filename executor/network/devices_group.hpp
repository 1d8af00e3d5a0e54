// The GPUs of a run, and copies and sums between them. The same GPU may stand there several times.
#pragma once

#include "gpu/device.hpp"
#include "gpu/library.hpp"
#include "gpu/stream.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

class DeviceGroup {
  public:
    /// Throws GpuError for a number that the machine does not have, or GPUs of different compute capability.
    /// Lets each GPU reach the others' memory where it can.
    explicit DeviceGroup(const std::vector<int> &ordinals);

    std::size_t size() const { return facts_.size(); }
    int ordinal(std::size_t index) const { return facts_[index].ordinal; }
    const DeviceFacts &facts(std::size_t index) const { return facts_[index]; }
    bool distinct() const { return distinct_; }

    /// A sentence for each pair whose copies take the detour through the host.
    const std::vector<std::string> &notes() const { return notes_; }

    /// Enqueues a copy from a GPU to another, directly where the one reaches the other's memory. Only then
    /// can a graph have it.
    void copy(std::size_t from, const void *source, std::size_t to, void *target, std::size_t bytes,
              cudaStream_t stream) const;

    void wait() const; ///< for all of them

  private:
    std::vector<DeviceFacts> facts_;
    std::vector<std::string> notes_;
    std::set<std::pair<int, int>> detours_; ///< ordinals
    bool distinct_ = true;
};

/// NCCL, opened when it is asked for: sums over GPUs. Without it everything else works.
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
