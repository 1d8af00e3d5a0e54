// Runs networks on GPUs. The rungs of a ladder and whole networks are verified against a reference in double,
// then timed as a CUDA graph and launch by launch. Steps of training over several GPUs are compared with one
// GPU's outputs, gradient and parameters, then timed. Training keeps all images in the memory of each GPU
// that takes them, and an epoch is one CUDA graph. To settle a case is to verify it, time it, and store
// status, reason, errors and times in it.
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
    /// Called with each case once it is settled; may be empty
    std::function<void(const NetworkRun &, const NetworkCase &)> done;
};

/// Settles a case for each rung. A wrong result and a kernel that does not compile stand in their case. Once
/// the GPU was lost, the other cases are not run, and their reason says so.
NetworkRun run_ladder(Compiler &compiler, const Device &device, const Ladder &ladder, const Network &network,
                      std::int64_t batch, const CaseOptions &options);

struct WholeOptions {
    std::uint64_t seed = 0; ///< of images and parameters
    bool integers = false;  ///< inputs and parameters are small integers, for which outputs must be exact;
                            ///< only for small networks without Winograd
    bool time = true;       ///< false: verify only
    unsigned compile_threads = 1;
    std::string save_tensors; ///< folder for images, parameters and outputs (network_data.hpp); "": not saved
    std::function<void(const std::string &)> say; ///< called with sentences for the user; may be empty
};

/// Runs the network as planned, verifies it and times it. A wrong result is an answer, not an error. Throws
/// UsageError if no kernel runs the network or the GPU has too little memory, GpuError if the GPU fails.
NetworkRun run_whole(Compiler &compiler, const Device &device, const PlannedNetwork &plan,
                     const WholeOptions &options);

/// Settles the cases of `run`, which come from a forecast, on the GPUs of the group. A wrong result or an
/// error of a GPU stands in its case, and the next case is run. Once a GPU was lost, the other cases are not
/// run, and their reason says so.
void run_scaling(Compiler &compiler, const DeviceGroup &group, const Network &network, NetworkRun &run,
                 const CaseOptions &options);

/// Settles the cases of `run` as one of several ranks: the split batch_nccl, which all ranks do together, and
/// one GPU, which each rank measures for itself. All ranks must call this with the same cases in the same
/// order, since NCCL waits for every rank. A wrong result stands in its case, but every GpuError and RankLost
/// is thrown: a rank that went on alone would wait for ever.
void run_ranks(Compiler &compiler, const Device &device, Rank &rank, const Network &network, NetworkRun &run,
               const CaseOptions &options);

/// Trains by a split other than batch_nccl over all GPUs of the group, with the images in their order, and
/// returns the parameters. The pixels of `images` are as the network takes them. `run` gets one case more,
/// with the times. Throws UsageError if the network cannot be split so; GpuError.
Parameters train_split(Compiler &compiler, const DeviceGroup &group, const Network &network,
                       DeviceSplit split, const LabelledImages &images, const TrainingOptions &options,
                       NetworkRun &run);

/// Thrown by train() of a rank when another rank has ended early. Holds what this rank has trained so far.
struct TrainingCut : RankLost {
    TrainingCut(const std::string &why, std::int64_t finished, Parameters kept)
        : RankLost(why), epochs(finished), parameters(std::move(kept)) {}
    std::int64_t epochs;   ///< finished ones
    Parameters parameters; ///< after those epochs
};

/// Trains by the rung of the ladder that does steps of training, with the images in a new order every epoch.
/// Then the last rung that takes batches classifies the test images, with the parameters rounded to four
/// decimals. `rank` is null for one GPU alone. Otherwise all ranks call this with the same images, each takes
/// its share of every batch, all end with the same parameters, and rank 0 alone classifies. Throws UsageError
/// if no rung trains or the images have another shape than the network's input; TrainingCut; GpuError.
TrainedNetwork train(Compiler &compiler, const Device &device, const Ladder &ladder, const Network &network,
                     const LabelledImages &images, const LabelledImages &tests,
                     const TrainingOptions &options, Rank *rank = nullptr);

/// Trains over all GPUs of the group and classifies as train() does. The split batch_nccl takes a thread of
/// the host for each GPU, as ranks; any other split does plain gradient descent with the images in their
/// order. `first` is the group's first GPU and the calling thread's device, and classifies.
TrainedNetwork train_over(Compiler &compiler, const Device &first, const DeviceGroup &group,
                          DeviceSplit split, const Ladder &ladder, const Network &network,
                          const LabelledImages &images, const LabelledImages &tests,
                          const TrainingOptions &options);

} // namespace convcast
