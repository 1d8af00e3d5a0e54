// Streams, events, graphs and the current device, each with an owner.
#pragma once

#include "gpu/check.hpp"
#include "model/base/units.hpp"

#include <functional>
#include <utility>

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
    Stream(Stream &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;
    ~Stream();

    cudaStream_t handle() const { return handle_; }
    void wait() const { check(cudaStreamSynchronize(handle_), "cudaStreamSynchronize"); }

  private:
    cudaStream_t handle_ = nullptr;
};

/// Of the device that is the calling thread's when it is made, as are the streams that it is recorded on.
class Event {
  public:
    enum class Kind { timed, order_only };

    explicit Event(Kind kind = Kind::timed);
    Event(Event &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Event(const Event &) = delete;
    Event &operator=(const Event &) = delete;
    ~Event();

    void record(cudaStream_t stream) const { check(cudaEventRecord(handle_, stream), "cudaEventRecord"); }
    /// What is queued on `stream` from now on, of whichever device, starts after this event.
    void hold_back(cudaStream_t stream) const {
        check(cudaStreamWaitEvent(stream, handle_), "cudaStreamWaitEvent");
    }
    /// Until what was in the stream before record() is done; at once where nothing was recorded.
    void wait() const { check(cudaEventSynchronize(handle_), "cudaEventSynchronize"); }
    bool passed() const;
    /// Both events are timed and must have passed.
    Seconds since(const Event &begin) const;

  private:
    cudaEvent_t handle_ = nullptr;
};

/// What a function queues on a stream, captured to be launched again and again.
class Graph {
  public:
    /// Throws what `queue` throws, and GpuError for what cannot be captured; the stream is then as before.
    Graph(cudaStream_t stream, const std::function<void()> &queue);
    Graph(const Graph &) = delete;
    Graph &operator=(const Graph &) = delete;
    ~Graph() { (void)cudaGraphExecDestroy(executable_); } // fails only with a lost context

    void launch(cudaStream_t stream) const { check(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch"); }

  private:
    cudaGraphExec_t executable_ = nullptr;
};

} // namespace convcast
