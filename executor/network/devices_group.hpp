// The GPUs of a run, and copies between them. The same GPU may stand there several times.
#pragma once

#include "gpu/device.hpp"

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

} // namespace convcast
