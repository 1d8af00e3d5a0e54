// Steps of training on one GPU with its share of every batch, by the implementation that a ladder declares
// for it: alone, or as one of several ranks whose gradients are added up.
#pragma once

#include "executor/network/bound_rung.hpp"
#include "executor/network/rank.hpp"
#include "gpu/compile.hpp"
#include "gpu/device.hpp"
#include "model/network/ladder.hpp"
#include "model/network/network_run.hpp"
#include "model/network/scaling.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// What steps leave on one GPU.
struct StepOutcome {
    std::vector<float> outputs;              ///< of its images, after the first step
    std::vector<float> gradient, parameters; ///< all: after the first step, and after the last
};

/// Settles cases that are split by images with NCCL. Every rank asks the same in the same order.
class RankCases {
  public:
    /// `seed`: of images, labels and parameters. `time`: false verifies only. The calling thread's device is
    /// the rank's.
    RankCases(Compiler &compiler, const DeviceFacts &gpu, const Ladder &ladder, const Network &network,
              std::uint64_t seed, bool time);

    /// Of the split batch_nccl over all ranks: held to what this GPU alone makes of the batch, then timed.
    /// Throws GpuError.
    void settle(Rank &rank, NetworkCase &item);
    /// Of one GPU: this one alone.
    void settle_alone(NetworkCase &item);

  private:
    class Steps;

    /// Of the implementation with this id.
    std::unique_ptr<Steps> steps_of(const std::string &id, const RankShare &share,
                                    const std::optional<SharedBatch> &shared) const;
    const StepOutcome &alone(std::int64_t batch);
    std::optional<std::string> compare(const StepOutcome &its, const RankShare &share, NetworkCase &item);
    Seconds time_of(Steps &steps, Rank *rank, std::string &how) const;
    /// The forward part, where there are kernels for it alone.
    void time_forward(const DeclaredSplit &split, const RankShare &share, NetworkTimes &times) const;

    Compiler &compiler_;
    DeviceFacts gpu_;
    const Ladder &ladder_;
    const Network &network_;
    std::uint64_t seed_;
    bool time_;
    std::map<std::int64_t, StepOutcome> alone_;
};

} // namespace convcast
