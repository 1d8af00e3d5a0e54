// One of several GPUs that train together, each with a share of every batch: threads of this process or
// processes of any hosts, with NCCL between them.
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

/// NCCL, opened when ranks need it. Everything else works without it.
class Nccl {
  public:
    /// Throws GpuError where the library is not there or too old.
    Nccl();
    Nccl(const Nccl &) = delete;
    Nccl &operator=(const Nccl &) = delete;
    ~Nccl();

    std::string version() const; ///< "2.28.3"

    /// Joins the calling thread's device to those of all ranks of the meeting. Throws GpuError, as of two
    /// ranks with one GPU, and RankLost.
    void join(Meeting &meeting, int device);

    /// Enqueues that `count` floats are replaced by their sums over all ranks.
    void sum(float *values, std::size_t count, cudaStream_t stream) const;

    /// What went wrong between the GPUs since; absent if nothing did.
    std::optional<std::string> failure() const;

    /// Ends what waits on the GPU for other ranks, now or later. Nothing can be summed any more.
    void abort();

  private:
    // The few functions that are used, as NCCL 2 has them: handles are pointers, enumerations are ints.
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
    /// Joins NCCL where there are several. Throws what Nccl throws.
    Rank(Meeting &meeting, int device);

    int index() const { return meeting_.rank(); }
    int count() const { return meeting_.size(); }
    Meeting &meeting() { return meeting_; }
    ImageShare share(std::int64_t batch) const { return share_of_rank(batch, index(), count()); }
    std::string nccl_version() const { return nccl_.version(); }

    std::function<void(float *, std::size_t, cudaStream_t)> sum() const {
        return
            [this](float *values, std::size_t many, cudaStream_t stream) { nccl_.sum(values, many, stream); };
    }

    /// A first sum of so many numbers, whatever they are, and waits for it: what NCCL sets up for it cannot
    /// be captured in a graph.
    void try_sum(float *values, std::size_t many, cudaStream_t stream);

    /// Until the event has passed. Throws RankLost when another rank has left, and GpuError where NCCL
    /// failed: what waits on the GPU is ended first.
    void wait(const Event &event);
    /// Ends what waits on the GPU for other ranks.
    void abort() { nccl_.abort(); }

  private:
    OnDevice here_;
    Meeting &meeting_;
    Nccl nccl_;
};

/// Does `part` as that rank. What it throws is told to the other ranks.
void as_rank(Meeting &meeting, int device, const std::function<void(Rank &)> &part);

/// Does `part` as one rank a device, each in a thread. Throws what the first of them threw, not what the
/// others threw because that one had left.
void as_ranks(const std::vector<int> &devices, const std::function<void(Rank &)> &part);

} // namespace convcast
