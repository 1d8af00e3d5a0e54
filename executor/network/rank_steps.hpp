// Steps of training on one GPU with its share of every batch, by the rung that a ladder declares for them:
// alone, or as one of several ranks whose gradients are added up.
#pragma once

#include "executor/network/bound_rung.hpp"
#include "executor/network/rank.hpp"
#include "executor/network/settle.hpp"
#include "model/network/ladder.hpp"
#include "model/network/network_run.hpp"
#include "model/network/scaling.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace convcast {

/// Learning rate, momentum and decay of the ladder's training; without one, a rate of 0.5, which changes
/// every parameter.
StepSettings settings_of(const Ladder &ladder);

/// Settles cases as a rank. All ranks must make the same calls in the same order, since NCCL waits for all.
class RankCases {
  public:
    /// `pool` is the same on all ranks; `settings` are those of the steps that are verified; `time` false
    /// verifies only. `kernels` are for the rank's GPU, the calling thread's device. `kernels` and `pool`
    /// must outlive this.
    RankCases(LadderKernels &kernels, const NetworkData &pool, const StepSettings &settings, bool time)
        : kernels_(kernels), pool_(pool), settings_(settings), time_(time) {}

    /// Settles a case of the split batch_nccl over all ranks: compares the steps with what this GPU alone
    /// makes of the batch, then times them. If one rank has a wrong result, all ranks give the case that
    /// reason. Throws GpuError.
    void settle(Rank &rank, NetworkCase &item);
    /// Settles a case of the split `one` on this GPU alone. It is not verified: others are compared with it.
    void settle_alone(NetworkCase &item);
    /// The steps of this GPU alone with the first `batch` images; computed once for each batch.
    const StepOutcome &alone(std::int64_t batch);

  private:
    /// The rung `id`, loaded with a share of the pool's images. `shared` is absent where GPUs exchange
    /// nothing.
    std::unique_ptr<LoadedRung> steps_of(const std::string &id, const ImageShare &share,
                                         const std::optional<SharedBatch> &shared) const;
    /// Sets item.measured: the time of a step; its computation, which for a rank (`rank` not null) is a step
    /// without sums; and its forward part if `split` declares a rung for it.
    void time(std::unique_ptr<LoadedRung> steps, const DeclaredSplit &split, const ImageShare &share,
              Rank *rank, NetworkCase &item) const;

    LadderKernels &kernels_;
    const NetworkData &pool_;
    StepSettings settings_;
    bool time_;
    std::map<std::int64_t, StepOutcome> alone_; ///< by batch
};

} // namespace convcast
