// Launches and copies on several streams, of one GPU or several. Rungs of ladders, whole networks and steps
// over several GPUs are queued so.
#pragma once

#include "gpu/kernel.hpp"
#include "gpu/stream.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace convcast {

/// The request that compiles executor/network/NAME for `compute_capability` (90 for 9.0). Throws UsageError
/// if there is no such file.
CompileRequest network_request(const std::string &name, int compute_capability);

/// A grid of as many blocks along x as `count` things need if a block takes `each`.
dim3 blocks_for(std::int64_t count, std::int64_t each);

/// A list of calls on several streams, which can be queued again and again in the order in which they were
/// added. Stream 0 is the one given to enqueue(). The other streams start after what is already queued on it,
/// and what is queued on it next starts after all of them.
class StreamedWork {
  public:
    using Call = std::function<void(cudaStream_t)>; ///< queues a launch or a copy on the stream

    /// `device` is that of stream 0 if there are several GPUs. Absent: all streams are of the current device.
    explicit StreamedWork(std::optional<int> device = std::nullopt);

    /// Returns the number of a new stream.
    std::size_t add_stream(std::optional<int> device = std::nullopt);

    /// Appends a call to a stream and returns the call's number. An empty `call` queues nothing; others can
    /// wait for it.
    std::size_t add(std::size_t stream, Call call);
    /// Makes what is added to `stream` from now on start after the end of the call number `call`.
    void wait(std::size_t stream, std::size_t call);
    /// Makes what is added to `stream` from now on start after all that the stream `other` has so far.
    void follow(std::size_t stream, std::size_t other);

    /// Queues all calls; `first` is stream 0.
    void enqueue(cudaStream_t first) const;
    /// Queues one call alone, on any stream of its device, without waiting for others.
    void enqueue(std::size_t call, cudaStream_t stream) const {
        if (added_[call].call)
            added_[call].call(stream);
    }

  private:
    friend class ThreadedWork;

    /// A stream with its state while work is added.
    struct Lane {
        std::optional<int> device;
        std::optional<Stream> stream;      ///< absent for stream 0, which the caller gives
        std::optional<Event> joined;       ///< recorded at the stream's end, for stream 0 to wait for
        std::vector<std::size_t> waits{};  ///< calls that the next added one has to wait for
        std::optional<std::size_t> last{}; ///< the last call added
    };
    struct Added {
        std::size_t lane;
        Call call;
        std::vector<std::size_t> waits; ///< calls of other streams
        bool begins = false;            ///< first of its stream, without waits: it waits for begun_
        std::unique_ptr<Event> ended;   ///< recorded after it; null if no call waits for it
    };

    std::optional<OnDevice> on(std::size_t lane) const; ///< switches to the lane's device, if it names one
    const Event &ended(std::size_t call);               ///< makes the event at the first use
    cudaStream_t stream_of(std::size_t lane, cudaStream_t first) const {
        return lane == 0 ? first : lanes_[lane].stream->handle();
    }
    void begin(cudaStream_t first) const; ///< records begun_
    /// Queues a call behind what it waits for, and records its end.
    void queue(const Added &added, cudaStream_t stream) const;
    /// Whether stream 0 has to wait for the end of this stream: it has calls, and none waits for the last of
    /// them.
    bool joins(std::size_t lane) const {
        return lane > 0 && lanes_[lane].last && !added_[*lanes_[lane].last].ended;
    }

    std::vector<Lane> lanes_;
    std::vector<Added> added_;
    std::unique_ptr<Event> begun_; ///< recorded on stream 0 before all calls; null if none waits for it
};

/// Queues a StreamedWork by several threads of the host: the caller's thread for stream 0, and one for each
/// other stream. The threads spin, since waking them would take as long as queueing: between rounds (a round
/// queues all calls once), and where a call waits for another stream's call, until the event of that is
/// recorded.
class ThreadedWork {
  public:
    /// The thread of a stream that names no device uses the calling thread's. `work` must outlive this and
    /// stay as it is.
    explicit ThreadedWork(const StreamedWork &work);
    ThreadedWork(const ThreadedWork &) = delete;
    ThreadedWork &operator=(const ThreadedWork &) = delete;
    ~ThreadedWork();

    /// Returns when all is queued. Throws what the first call that fails throws.
    void enqueue(cudaStream_t first);

  private:
    void queue(std::size_t lane, std::uint64_t round);
    void work_on(std::size_t lane, int device);

    const StreamedWork &work_;
    cudaStream_t first_ = nullptr;
    std::atomic<std::uint64_t> asked_ = 0; ///< the round that the threads have to queue
    std::atomic<std::uint64_t> done_ = 0;  ///< rounds finished, added up over the threads
    std::atomic<bool> ends_ = false, any_failed_ = false;
    /// For each call, the last round that recorded its event
    std::vector<std::atomic<std::uint64_t>> recorded_;
    std::vector<std::exception_ptr> failed_; ///< for each lane, what it threw in this round
    std::vector<std::thread> threads_;       ///< last: they use the others
};

} // namespace convcast
