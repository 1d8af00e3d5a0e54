// Launches and copies on several streams, of one GPU or several: how rungs of ladders, whole networks and
// steps over several GPUs are queued.
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

/// How executor/network/NAME is compiled. Throws UsageError if there is no such file.
CompileRequest network_request(const std::string &name, int compute_capability);

/// Blocks of `each` along x for `count` of something.
dim3 blocks_for(std::int64_t count, std::int64_t each);

/// Work in the order in which it is added. Stream 0 is the one that it is queued on; the others begin behind
/// what is there and end before what is queued there next.
class StreamedWork {
  public:
    using Call = std::function<void(cudaStream_t)>;

    /// `device`: of stream 0 where GPUs are several; absent, all streams are of the current device.
    explicit StreamedWork(std::optional<int> device = std::nullopt);

    /// Returns the number of a new stream.
    std::size_t add_stream(std::optional<int> device = std::nullopt);

    /// Returns the number of the call. An empty `call` queues nothing and is what others may wait for.
    std::size_t add(std::size_t stream, Call call);
    /// What is added to `stream` from now on starts after that call.
    void wait(std::size_t stream, std::size_t call);
    /// What is added to `stream` from now on starts after all that `other` has now.
    void follow(std::size_t stream, std::size_t other);

    void enqueue(cudaStream_t first) const;
    /// A call alone, on any stream of its device.
    void enqueue(std::size_t call, cudaStream_t stream) const {
        if (added_[call].call)
            added_[call].call(stream);
    }

  private:
    friend class ThreadedWork;

    struct Lane {
        std::optional<int> device;
        std::optional<Stream> stream;      ///< absent of stream 0
        std::optional<Event> joined;       ///< its end, for stream 0
        std::vector<std::size_t> waits{};  ///< of what is added next
        std::optional<std::size_t> last{}; ///< that was added
    };
    struct Added {
        std::size_t lane;
        Call call;
        std::vector<std::size_t> waits;
        bool begins = false;          ///< first of its stream, and waits for nothing else
        std::unique_ptr<Event> ended; ///< of a call that others wait for
    };

    std::optional<OnDevice> on(std::size_t lane) const; ///< its device, where it names one
    const Event &ended(std::size_t call);
    cudaStream_t stream_of(std::size_t lane, cudaStream_t first) const {
        return lane == 0 ? first : lanes_[lane].stream->handle();
    }
    void begin(cudaStream_t first) const;
    /// A call of a stream behind what it waits for.
    void queue(const Added &added, cudaStream_t stream) const;
    /// Whether stream 0 must wait for the end of this other stream, as no call waits for its last one.
    bool joins(std::size_t lane) const {
        return lane > 0 && lanes_[lane].last && !added_[*lanes_[lane].last].ended;
    }

    std::vector<Lane> lanes_;
    std::vector<Added> added_;
    std::unique_ptr<Event> begun_;
};

/// The same work, queued by a thread of the host for each stream but the first, whose calls the caller's
/// thread queues. The threads spin: for the next time that all is to be queued, since waking them would take
/// as long as queueing, and for the event of another stream's call until that is recorded.
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
    std::atomic<std::uint64_t> asked_ = 0; ///< how often all was to be queued; the threads wait for it
    std::atomic<std::uint64_t> done_ = 0;  ///< how often a thread has queued what is its own
    std::atomic<bool> ends_ = false, any_failed_ = false;
    std::vector<std::atomic<std::uint64_t>>
        recorded_;                           ///< of each call, the last round that recorded its event
    std::vector<std::exception_ptr> failed_; ///< of each lane
    std::vector<std::thread> threads_;       ///< last: they use the others
};

} // namespace convcast
