// Networks on GPUs: the rungs of a ladder and whole networks, verified against double, then timed as a CUDA
// graph and launch by launch; steps of training over several GPUs, held to one GPU's outputs, gradient and
// parameters, then timed; and training, all images in the memory of each GPU that takes them and an epoch one
// CUDA graph.
#pragma once

#include "executor/network/devices_group.hpp"
#include "executor/network/meeting.hpp"
#include "gpu/compile.hpp"
#include "gpu/device.hpp"
#include "model/network/forecast.hpp"
#include "model/network/idx.hpp"
#include "model/network/ladder.hpp"
#include "model/network/scaling.hpp"
#include "model/network/training.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace convcast {

class Rank;

struct CaseOptions {
    std::uint64_t seed = 0; ///< of images, labels and parameters
    bool time = true;       ///< false: verify only
    std::function<void(const NetworkRun &, const NetworkCase &)>
        done; ///< sees each case as it is settled; may be empty
};

/// A case of each rung. A wrong result and a kernel that does not compile are answers of their case; after
/// the GPU was lost the others are not run, with the reason.
NetworkRun run_ladder(Compiler &compiler, const Device &device, const Ladder &ladder, const Network &network,
                      std::int64_t batch, const CaseOptions &options);

struct WholeOptions {
    std::uint64_t seed = 0; ///< of images and parameters
    bool integers =
        false; ///< small ones, for which the outputs must be exact; for small networks without Winograd
    bool time = true; ///< false: verify only
    unsigned compile_threads = 1;
    std::string save_tensors; ///< a folder for images, parameters and outputs (network_data.hpp); "": nowhere
    std::function<void(const std::string &)> say; ///< what a user should know; may be empty
};

/// A wrong result is an answer of the run. Throws UsageError for a network that no kernel runs, or a GPU with
/// too little memory; GpuError.
NetworkRun run_whole(Compiler &compiler, const Device &device, const PlannedNetwork &plan,
                     const WholeOptions &options);

/// Settles the cases of a forecast. What a split gets wrong or cannot do is an answer of its case; after a
/// GPU was lost the others are not run, with the reason.
void run_scaling(Compiler &compiler, const DeviceGroup &group, const Network &network, NetworkRun &run,
                 const CaseOptions &options);

/// The same of the cases of ranks: the splits batch_nccl over all ranks, and one GPU, which each rank
/// measures for itself.
void run_ranks(Compiler &compiler, const Device &device, Rank &rank, const Network &network, NetworkRun &run,
               const CaseOptions &options);

/// Parameters after training by a split other than batch_nccl over all GPUs of the group, in the order of the
/// images, which are as the network takes them; `run` gets the times.
Parameters train_split(Compiler &compiler, const DeviceGroup &group, const Network &network,
                       DeviceSplit split, const LabelledImages &images, const TrainingOptions &options,
                       NetworkRun &run);

/// Another rank ended a training before its time.
struct TrainingCut : RankLost {
    TrainingCut(const std::string &why, std::int64_t finished, Parameters kept)
        : RankLost(why), epochs(finished), parameters(std::move(kept)) {}
    std::int64_t epochs;   ///< that were finished
    Parameters parameters; ///< after them
};

/// Trains by the rung of the ladder that does steps of training, in a new order every epoch, and classifies
/// the test images with the parameters at four decimals, by the last rung that takes batches. `rank`: of
/// several that all do this with the same images, each its share of every batch, or null; all then have the
/// same parameters, and rank 0 alone classifies. Throws UsageError where no rung trains or the images have
/// another shape; TrainingCut.
TrainedNetwork train(Compiler &compiler, const Device &device, const Ladder &ladder, const Network &network,
                     const LabelledImages &images, const LabelledImages &tests,
                     const TrainingOptions &options, Rank *rank = nullptr);

/// The same over all GPUs of the group: by ranks with NCCL, a thread a GPU, or by another split with plain
/// gradient descent and the images in their order. `first`, the group's first GPU and the calling thread's,
/// classifies.
TrainedNetwork train_over(Compiler &compiler, const Device &first, const DeviceGroup &group,
                          DeviceSplit split, const Ladder &ladder, const Network &network,
                          const LabelledImages &images, const LabelledImages &tests,
                          const TrainingOptions &options);

} // namespace convcast
