// The GPUs of a run, and copies between them. The same GPU may stand there several times.
#pragma once

#include "gpu/check.hpp"
#include "gpu/device.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {

/// The calling thread's device while it lives.
class OnDevice {
  public:
    explicit OnDevice(int ordinal) {
        check(cudaGetDevice(&before_), "cudaGetDevice");
        check(cudaSetDevice(ordinal), "cudaSetDevice");
    }
    OnDevice(const OnDevice &) = delete;
    OnDevice &operator=(const OnDevice &) = delete;
    ~OnDevice() { (void)cudaSetDevice(before_); }

  private:
    int before_ = 0;
};

/// Of the device that is the calling thread's when it is made.
class DeviceStream {
  public:
    DeviceStream() { check(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "cudaStreamCreate"); }
    DeviceStream(DeviceStream &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    DeviceStream &operator=(DeviceStream &&) = delete;
    ~DeviceStream() {
        if (!handle_)
            return;
        (void)cudaStreamSynchronize(handle_); // after an exception, work may still use what is freed next
        (void)cudaStreamDestroy(handle_);
    }
    cudaStream_t get() const { return handle_; }

  private:
    cudaStream_t handle_ = nullptr;
};

/// Of the device that is the calling thread's when it is made.
class DeviceEvent {
  public:
    explicit DeviceEvent(unsigned flags = cudaEventDisableTiming) {
        check(cudaEventCreateWithFlags(&handle_, flags), "cudaEventCreate");
    }
    DeviceEvent(DeviceEvent &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    DeviceEvent &operator=(DeviceEvent &&) = delete;
    ~DeviceEvent() {
        if (handle_)
            (void)cudaEventDestroy(handle_);
    }
    cudaEvent_t get() const { return handle_; }

    /// What is queued on `behind` from now on starts after what is queued on `stream` now.
    void order(cudaStream_t stream, cudaStream_t behind) const {
        check(cudaEventRecord(handle_, stream), "cudaEventRecord");
        check(cudaStreamWaitEvent(behind, handle_, 0), "cudaStreamWaitEvent");
    }

  private:
    cudaEvent_t handle_ = nullptr;
};

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
