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
    /// `ordinals` are CUDA's numbers of the GPUs, at least one. Throws GpuError for a number that the machine
    /// does not have, or for GPUs of different compute capability. Enables access to each other's memory
    /// where possible.
    explicit DeviceGroup(const std::vector<int> &ordinals);

    std::size_t size() const { return facts_.size(); }
    int ordinal(std::size_t index) const { return facts_[index].ordinal; }
    const DeviceFacts &facts(std::size_t index) const { return facts_[index]; }
    bool distinct() const { return distinct_; } ///< no GPU is there twice

    /// A sentence for each pair of GPUs whose copies go through the host's memory.
    const std::vector<std::string> &notes() const { return notes_; }

    /// Enqueues a copy of `bytes` from the GPU with index `from` to that with index `to`, through the host if
    /// one cannot reach the other's memory; such a copy cannot be captured in a graph.
    void copy(std::size_t from, const void *source, std::size_t to, void *target, std::size_t bytes,
              cudaStream_t stream) const;

    void wait() const; ///< until all GPUs are idle

  private:
    std::vector<DeviceFacts> facts_;
    std::vector<std::string> notes_;
    std::set<std::pair<int, int>> detours_; ///< ordinals of GPUs whose copies go through the host
    bool distinct_ = true;
};

} // namespace convcast
