// A CUDA stream and an event with owners.
#pragma once

#include "gpu/check.hpp"

namespace convcast {

/// Waits for copies on the default stream, as those wait for it.
class Stream {
  public:
    Stream() { check(cudaStreamCreate(&stream_), "cudaStreamCreate"); }
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;
    ~Stream() { (void)cudaStreamDestroy(stream_); }
    cudaStream_t get() const { return stream_; }
    void wait() const { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

  private:
    cudaStream_t stream_ = nullptr;
};

class Event {
  public:
    Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate"); }
    Event(const Event &) = delete;
    Event &operator=(const Event &) = delete;
    ~Event() { (void)cudaEventDestroy(event_); }
    cudaEvent_t get() const { return event_; }
    void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }
    /// Until what was before record() in the stream is done; at once where nothing was recorded.
    void wait() const { check(cudaEventSynchronize(event_), "cudaEventSynchronize"); }

  private:
    cudaEvent_t event_ = nullptr;
};

} // namespace convcast
