// Steps of training on one GPU with its share of every batch, by the implementation that a ladder declares
// for it: alone, or as one of several ranks whose gradients are added up.
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

/// What the ladder's training is done with, or a step that moves every parameter.
StepSettings settings_of(const Ladder &ladder);

/// Settles cases that are split by images with NCCL. Every rank asks the same in the same order.
class RankCases {
  public:
    /// `pool`: the same for all ranks. `settings`: of the steps that are verified. `time`: false verifies
    /// only. The calling thread's device is the rank's, and `kernels` are for it.
    RankCases(LadderKernels &kernels, const NetworkData &pool, const StepSettings &settings, bool time)
        : kernels_(kernels), pool_(pool), settings_(settings), time_(time) {}

    /// Of the split batch_nccl over all ranks: held to what this GPU alone makes of the batch, then timed.
    /// Throws GpuError.
    void settle(Rank &rank, NetworkCase &item);
    /// Of one GPU: this one alone.
    void settle_alone(NetworkCase &item);
    /// What this GPU alone makes of a batch.
    const StepOutcome &alone(std::int64_t batch);

  private:
    /// An implementation with its share of the images.
    std::unique_ptr<LoadedRung> steps_of(const std::string &id, const ImageShare &share,
                                         const std::optional<SharedBatch> &shared) const;
    /// A whole step; what it computes, where it is of a rank; and the forward part, where there are kernels
    /// for it alone.
    void time(std::unique_ptr<LoadedRung> steps, const DeclaredSplit &split, const ImageShare &share,
              Rank *rank, NetworkCase &item) const;

    LadderKernels &kernels_;
    const NetworkData &pool_;
    StepSettings settings_;
    bool time_;
    std::map<std::int64_t, StepOutcome> alone_;
};

} // namespace convcast
