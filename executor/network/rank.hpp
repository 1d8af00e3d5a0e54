// A rank is one of several GPUs that train together, each with a share of every batch. Ranks are threads of
// this process or processes on any hosts. NCCL adds up their gradients.
#pragma once

#include "executor/network/meeting.hpp"
#include "gpu/library.hpp"
#include "gpu/stream.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// NCCL, a library that is opened at run time, so that everything else works without it.
class Nccl {
  public:
    /// Throws GpuError if the library is missing or too old.
    Nccl();
    Nccl(const Nccl &) = delete;
    Nccl &operator=(const Nccl &) = delete;
    ~Nccl();

    std::string version() const; ///< "2.28.3"

    /// Joins `device` with those of all ranks of the meeting; returns when all have joined. Throws GpuError,
    /// for example if two ranks have one GPU, and RankLost.
    void join(Meeting &meeting, int device);

    /// Enqueues a sum over all ranks: each of `count` floats on the device is replaced by its sum.
    void sum(float *values, std::size_t count, cudaStream_t stream) const;

    /// A sentence if a sum has failed since join(), without waiting; absent if none did.
    std::optional<std::string> failure() const;

    /// Makes the GPU stop waiting for other ranks, now or soon. After this nothing can be summed. May be
    /// called before join() or again.
    void abort();

  private:
    // The types of the functions in use, as in NCCL 2: handles are pointers, enumerations are ints.
    using Communicator = void *;
    struct Id {
        char bytes[128];
    };
    using NewId = int(Id *id);
    using InitRank = int(Communicator *communicator, int ranks, Id id, int rank);
    using AllReduce = int(const void *from, void *to, std::size_t count, int type, int operation,
                          Communicator communicator, cudaStream_t stream);
    using End = int(Communicator communicator);
    using AsyncError = int(Communicator communicator, int *error);
    using ErrorText = const char *(int result);
    using Version = int(int *version);

    void check(int result, const char *call) const;

    SharedLibrary library_;
    AllReduce *all_reduce_;
    End *destroy_, *abort_;
    AsyncError *async_error_;
    ErrorText *error_text_;
    Version *version_;
    Communicator communicator_ = nullptr;
};

/// A rank on the calling thread, whose device stays that of the rank while this lives.
class Rank {
  public:
    /// Joins the other ranks of the meeting by NCCL. Throws UsageError, of rank 0, if two ranks have the same
    /// GPU; what Nccl throws; RankLost. `meeting` must outlive this.
    Rank(Meeting &meeting, int device);

    int index() const { return meeting_.rank(); }
    int count() const { return meeting_.size(); }
    Meeting &meeting() { return meeting_; }
    /// The images of a batch that this rank takes.
    ImageShare share(std::int64_t batch) const { return share_of_rank(batch, index(), count()); }
    std::string nccl_version() const { return nccl_.version(); }

    /// Nccl::sum, as SharedBatch takes it.
    std::function<void(float *, std::size_t, cudaStream_t)> sum() const {
        return [this](float *values, std::size_t count, cudaStream_t stream) {
            nccl_.sum(values, count, stream);
        };
    }

    /// Sums `count` numbers, whatever they are, and waits. Needed before a graph captures such a sum: what
    /// NCCL sets up at the first one cannot be captured.
    void try_sum(float *values, std::size_t count, cudaStream_t stream);

    /// Waits for the event. Throws RankLost if another rank has left, GpuError if NCCL failed; before that it
    /// aborts what waits on the GPU.
    void wait(const Event &event);
    void abort() { nccl_.abort(); }

  private:
    OnDevice here_;
    Meeting &meeting_;
    Nccl nccl_;
};

/// Runs `part` on this thread as the rank of the meeting, on `device`. If it throws, the other ranks are told
/// why and the error goes on. Returns when all ranks are done.
void as_rank(Meeting &meeting, int device, const std::function<void(Rank &)> &part);

/// Runs `part` as one rank for each device, each in a thread, and waits for all. Throws the error that made a
/// rank leave, not the RankLost that others throw because that rank had left.
void as_ranks(const std::vector<int> &devices, const std::function<void(Rank &)> &part);

} // namespace convcast
