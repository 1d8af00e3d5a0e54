// A CUDA stream and an event with owners.
#pragma once

#include "gpu/check.hpp"

namespace convcast {

/// Waits for copies on the default stream, as those wait for it.
class OwnedStream {
  public:
    OwnedStream() { check(cudaStreamCreate(&stream_), "cudaStreamCreate"); }
    OwnedStream(const OwnedStream &) = delete;
    OwnedStream &operator=(const OwnedStream &) = delete;
    ~OwnedStream() { (void)cudaStreamDestroy(stream_); }
    cudaStream_t get() const { return stream_; }
    void wait() const { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

  private:
    cudaStream_t stream_ = nullptr;
};

class OwnedEvent {
  public:
    OwnedEvent() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate"); }
    OwnedEvent(const OwnedEvent &) = delete;
    OwnedEvent &operator=(const OwnedEvent &) = delete;
    ~OwnedEvent() { (void)cudaEventDestroy(event_); }
    cudaEvent_t get() const { return event_; }
    void record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }
    /// Until what was before record() in the stream is done; at once where nothing was recorded.
    void wait() const { check(cudaEventSynchronize(event_), "cudaEventSynchronize"); }

  private:
    cudaEvent_t event_ = nullptr;
};

} // namespace convcast
