// Streams, events, graphs and the current device, each with an owner.
#pragma once

#include "gpu/check.hpp"
#include "gpu/owned.hpp"
#include "model/base/units.hpp"

#include <functional>

namespace convcast {

/// The calling thread's device while it lives.
class OnDevice {
  public:
    explicit OnDevice(int ordinal);
    OnDevice(const OnDevice &) = delete;
    OnDevice &operator=(const OnDevice &) = delete;
    ~OnDevice() { (void)cudaSetDevice(before_); }

  private:
    int before_ = 0;
};

/// Whether `from` reaches the memory of `to` from now on.
bool enable_peer_access(int from, int to);

/// Of the device that is the calling thread's when it is made.
class Stream {
  public:
    /// ordered: it waits for work of the legacy default stream and that stream for its own, so that plain
    /// cudaMemcpy and cudaMemset need no synchronisation. independent: neither waits for the other.
    enum class Kind { ordered, independent };

    explicit Stream(Kind kind = Kind::independent);

    cudaStream_t handle() const { return handle_.get(); }
    void wait() const { check(cudaStreamSynchronize(handle()), "cudaStreamSynchronize"); }

  private:
    /// Waits: after an exception, work may still use what is freed next.
    static cudaError_t end(cudaStream_t stream);

    Owned<cudaStream_t, end> handle_;
};

/// Of the device that is the calling thread's when it is made, as are the streams that it is recorded on.
class Event {
  public:
    enum class Kind { timed, order_only };

    explicit Event(Kind kind = Kind::timed);

    void record(cudaStream_t stream) const {
        check(cudaEventRecord(handle_.get(), stream), "cudaEventRecord");
    }
    /// What is queued on `stream` from now on, of whichever device, starts after this event.
    void hold_back(cudaStream_t stream) const {
        check(cudaStreamWaitEvent(stream, handle_.get()), "cudaStreamWaitEvent");
    }
    /// Until what was in the stream before record() is done; at once where nothing was recorded.
    void wait() const { check(cudaEventSynchronize(handle_.get()), "cudaEventSynchronize"); }
    bool passed() const;
    /// Both events are timed and must have passed.
    Seconds since(const Event &begin) const;

  private:
    Owned<cudaEvent_t, cudaEventDestroy> handle_;
};

/// What a function queues on a stream, captured to be launched again and again.
class Graph {
  public:
    /// Throws what `queue` throws, and GpuError for what cannot be captured; the stream is then as before.
    Graph(cudaStream_t stream, const std::function<void()> &queue);

    void launch(cudaStream_t stream) const {
        check(cudaGraphLaunch(executable_.get(), stream), "cudaGraphLaunch");
    }

  private:
    Owned<cudaGraphExec_t, cudaGraphExecDestroy> executable_;
};

} // namespace convcast
