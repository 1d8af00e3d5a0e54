// What the verbs ask of a GPU. device.cpp answers where the CUDA toolkit was there at build time,
// no_device.cpp says that it was not.
#pragma once

#include "executor/check_kernels.hpp"
#include "executor/kept_run.hpp"
#include "microbench/samples.hpp"
#include "model/base/describe.hpp"
#include "model/machine/architecture.hpp"
#include "model/machine/profile.hpp"
#include "model/network/forecast.hpp"
#include "model/network/idx.hpp"
#include "model/network/ladder.hpp"
#include "model/network/ranks.hpp"
#include "model/network/scaling.hpp"
#include "model/network/training.hpp"
#include "model/record/run.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convcast::cli {

struct SamplesRequest {
    int device = 0;
    std::vector<std::string> only;                ///< probes; empty: all
    std::optional<RawSamples> resume;             ///< measured earlier: what it has is kept
    std::function<void(const RawSamples &)> keep; ///< sees the samples after each probe
};

/// Throws GpuError where there is no usable GPU, UsageError if `resume` is of another GPU or of other probes.
RawSamples take_samples(const SamplesRequest &request);

/// Of the probes in this binary; absent in one that was built without them.
std::optional<std::string> probes_hash();

/// Why `device` cannot run the kernels, with what works without it; absent where it can.
std::optional<std::string> why_not_run(int device);

/// The GPU at hand: its "name", and as the conditions of a profile say it "gpu" (its UUID), "driver" and
/// "probes". Throws GpuError where there is no usable GPU.
std::map<std::string, std::string> gpu_at_hand(int device);

/// The SMs that the driver gives to who asks for `asked` of the device's. Throws GpuError where it gives
/// none.
int sms_given(int device, int asked);

struct RunRequest {
    int device = 0;
    std::optional<int> sms; ///< run on that many only
    bool require_counters = false;
    bool no_counters = false; ///< verify and time only
    bool exact_fmas = true;   ///< count FMAs of threads too, by instrumented kernels
    bool timeline = false;    ///< then find out when each CTA runs, in a verified call of its own
    bool exact_work = false;  ///< then count by instrumented code what lacks such counts
    /// Of a convcast that calls own kernels for the first time (try_own_on_device).
    std::vector<std::string> trial_words;
    /// No case is started after it; absent: all are run.
    std::optional<std::chrono::steady_clock::time_point> until;
    bool measure = true;                   ///< false: every case is settled, what was measured stays as it is
    std::function<void(const Run &)> keep; ///< gets the document as cases finish
    /// Gets the document when an interrupt ends the run, and with it the program; perhaps on another thread,
    /// while this one is still inside run_on_device.
    std::function<void(Run)> last_words;
};

/// Fills in the run's cases. Ctrl-C ends it, and the program, within two seconds: after the case in hand
/// where that is short enough. Throws GpuError where there is no usable GPU.
RunEnd run_on_device(Run &run, const GpuProfile &profile, const RunRequest &request);

/// The rungs of a ladder, verified and timed. Throws GpuError where there is no usable GPU.
NetworkRun run_ladder_on_device(const Ladder &ladder, const Network &network, std::int64_t batch, int device);

/// A whole network, verified and timed. Throws GpuError where there is no usable GPU.
/// `save_tensors`: a folder for what another implementation needs, or "".
NetworkRun run_whole_on_device(const PlannedNetwork &plan, int device, const std::string &save_tensors);

/// What steps of training run on: one GPU, several of this process with a `split`, or as one of several
/// processes the GPU of its rank.
struct TrainedOn {
    std::vector<int>
        devices; ///< of a rank the one that is asked for, or none: by its place among those of its host
    std::optional<DeviceSplit> split;
    std::optional<RankPlace> rank;
    std::map<std::string, std::string> asked; ///< by name, what every rank must have been asked
};

/// Settles the cases of a forecast there; of ranks each settles the same ones. `keep`, of ranks that of rank
/// 0, sees the document after each case. Throws GpuError where there are fewer GPUs, UsageError for ranks
/// that do not fit together, RankLost (a GpuError) where one of them leaves.
void run_scaling_on(const TrainedOn &on, const Network &network, NetworkRun &run,
                    const std::function<void(const NetworkRun &)> &keep);

/// Trains a network and classifies the test images on the first GPU. Where another rank leaves, `keep` of
/// rank 0, or of those that are left without it, gets the weights after the last epoch that it knows of, and
/// the number of those epochs, before RankLost is thrown. Throws GpuError where there is no usable GPU.
TrainedNetwork train_on(const TrainedOn &on, const Ladder &ladder, const Network &network,
                        const LabelledImages &images, const LabelledImages &tests,
                        const TrainingOptions &options,
                        const std::function<void(const Weights &, std::int64_t epochs)> &keep);

struct CompileReport {
    std::string schema = "convcast/compile/1";
    std::string architecture; ///< "sm_90"
    std::string nvrtc;        ///< version
    std::string cache;        ///< folder of the compiled kernels; empty without one
    std::vector<CheckedKernel> kernels;
    CONVCAST_MEMBERS(CompileReport, schema, architecture, nvrtc, cache, kernels)
};

/// A kernel of the user's own and a shape that it is asked of.
struct OwnTask {
    const OwnKernel *kernel = nullptr;
    ConvShape shape;
};

/// Compiles for `compute_capability` (90 for 9.0) the kernels of plans with those that verify them, which are
/// left out where only own ones are asked, and behind them the user's own, one for each task. Needs no GPU;
/// throws GpuError where there is no NVRTC.
CompileReport compile_kernels(const std::vector<Plan> &plans, const std::vector<OwnTask> &own, const Gpu &gpu,
                              int compute_capability);

/// Calls each open case of the user's own kernels once, and says on standard output what came of it: what
/// run_on_device has a process of its own do first.
void try_own_on_device(const Run &run, const GpuProfile &profile, int device);

/// Kernels need this compute capability: they copy to shared memory asynchronously (cp.async).
inline constexpr int least_compute_major = 8;

enum class Health { works, absent, broken };
BOOST_DESCRIBE_ENUM(Health, works, absent, broken)

struct Finding {
    std::string what;
    Health health = Health::works;
    std::string detail; ///< version or path, or what is wrong and what to do
    CONVCAST_MEMBERS(Finding, what, health, detail)
};

/// Driver, GPU, NVRTC, CUPTI, counters, cuDNN, kernel cache: absent is a choice of the machine, broken is
/// not.
std::vector<Finding> examine_device();

} // namespace convcast::cli
