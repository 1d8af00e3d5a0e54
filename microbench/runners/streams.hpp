// Streams and events with owners, for times that the stop-watch cannot take: several streams or several GPUs.
#pragma once

#include "gpu/check.hpp"
#include "model/base/units.hpp"

#include <cuda_runtime_api.h>

#include <utility>

namespace convcast::probe {

/// Of the device that is the calling thread's when it is made; does not wait for the legacy default stream.
class Stream {
  public:
    Stream() { check(cudaStreamCreateWithFlags(&handle_, cudaStreamNonBlocking), "cudaStreamCreate"); }
    Stream(Stream &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;
    ~Stream() {
        if (!handle_)
            return;
        (void)cudaStreamSynchronize(handle_); // after an exception, work may still use what is freed next
        (void)cudaStreamDestroy(handle_);
    }

    cudaStream_t handle() const { return handle_; }

  private:
    cudaStream_t handle_ = nullptr;
};

/// Of the device that is the calling thread's when it is made.
class Event {
  public:
    Event() { check(cudaEventCreate(&handle_), "cudaEventCreate"); }
    Event(Event &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Event(const Event &) = delete;
    Event &operator=(const Event &) = delete;
    ~Event() {
        if (handle_)
            (void)cudaEventDestroy(handle_);
    }

    void record(cudaStream_t stream) { check(cudaEventRecord(handle_, stream), "cudaEventRecord"); }

    /// What is queued on `stream` from now on starts after this event.
    void hold_back(cudaStream_t stream) const {
        check(cudaStreamWaitEvent(stream, handle_, 0), "cudaStreamWaitEvent");
    }

    bool passed() const {
        const cudaError_t state = cudaEventQuery(handle_);
        if (state == cudaErrorNotReady) {
            (void)cudaGetLastError(); // no error, though it is kept as one
            return false;
        }
        check(state, "cudaEventQuery");
        return true;
    }

    /// Both events must have passed.
    Seconds since(const Event &begin) const {
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, begin.handle_, handle_), "cudaEventElapsedTime");
        return Seconds(1e-3 * static_cast<double>(milliseconds));
    }

  private:
    cudaEvent_t handle_ = nullptr;
};

} // namespace convcast::probe
