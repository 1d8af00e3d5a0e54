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

/// `device` is everywhere the number that CUDA gives a GPU (its ordinal).
struct SamplesRequest {
    int device = 0;
    std::vector<std::string> only;                ///< names of the probes to run; empty: all
    std::optional<RawSamples> resume;             ///< measured earlier; a probe that it has is not run again
    std::function<void(const RawSamples &)> keep; ///< sees the samples after each probe
};

/// Runs the probes. Throws GpuError without a usable GPU, UsageError if `resume` is of another GPU or probes.
RawSamples take_samples(const SamplesRequest &request);

/// The hash of the code of the probes in this binary; absent in one that was built without them.
std::optional<std::string> probes_hash();

/// Why `device` cannot run the kernels, with what works without it; absent where it can.
std::optional<std::string> why_not_run(int device);

/// The GPU at hand: its "name", and as the conditions of a profile say it "gpu" (its UUID), "driver" and
/// "probes". Throws GpuError where there is no usable GPU.
std::map<std::string, std::string> gpu_at_hand(int device);

/// How many of the device's SMs the driver gives for `asked`: it rounds up. Throws GpuError if it gives none.
int sms_given(int device, int asked);

struct RunRequest {
    int device = 0;
    std::optional<int> sms;        ///< run on that many SMs only; absent: on all
    bool require_counters = false; ///< throw CounterPermissionError where counters cannot be read
    bool no_counters = false;      ///< verify and time only
    bool exact_fmas = true;        ///< count FMAs of threads too, by instrumented kernels
    bool timeline = false;   ///< after the measuring: find out when each CTA runs, in a verified call more
    bool exact_work = false; ///< after that: count by instrumented code the work of cases without such counts
    /// The words of the convcast that calls own kernels for the first time (try_own_on_device).
    std::vector<std::string> trial_words;
    /// No case is started after it; absent: all are run.
    std::optional<std::chrono::steady_clock::time_point> until;
    bool measure = true;                   ///< false: every case is settled, what was measured stays as it is
    std::function<void(const Run &)> keep; ///< gets the document as cases finish; may be empty
    /// Gets the document when an interrupt ends the run, and with it the program; perhaps on another thread,
    /// while the one that called run_on_device is still inside it. May be empty.
    std::function<void(Run)> last_words;
};

/// Verifies, times and counts the run's cases that are not settled, and writes the results into them. Ctrl-C
/// ends it, and the program, within two seconds: after the case in hand where that is short enough. Throws
/// GpuError where there is no usable GPU, UsageError where the run has measurements of another GPU.
RunEnd run_on_device(Run &run, const GpuProfile &profile, const RunRequest &request);

/// The rungs of a ladder, verified and timed. Throws GpuError where there is no usable GPU.
NetworkRun run_ladder_on_device(const Ladder &ladder, const Network &network, std::int64_t batch, int device);

/// A whole network, verified and timed. Throws GpuError where there is no usable GPU.
/// `save_tensors`: a folder for what another implementation needs, or "".
NetworkRun run_whole_on_device(const PlannedNetwork &plan, int device, const std::string &save_tensors);

/// What steps of training run on: one GPU of this process; several of this process, which share a step by
/// `split`; or one GPU of this process as the rank `rank` among several processes.
struct TrainedOn {
    /// Ordinals. Of a rank the one that is asked for, or none: its place among its host's ranks says which.
    std::vector<int> devices;
    std::optional<DeviceSplit> split{};
    std::optional<RankPlace> rank{};
    std::map<std::string, std::string> asked{}; ///< option and value: all ranks must have been given the same
};

/// Verifies and times the cases of the forecast `run` on those GPUs, and writes the results into them, of
/// ranks each into its own copy. `keep` sees the document after each case, of ranks only in rank 0. Throws
/// GpuError for fewer GPUs, UsageError for ranks that do not fit together, RankLost where one leaves.
void run_scaling_on(const TrainedOn &on, const Network &network, NetworkRun &run,
                    const std::function<void(const NetworkRun &)> &keep);

/// Trains a network and classifies the test images on the first GPU. Where another rank leaves, `keep` gets
/// the weights after the last whole epoch and the number of epochs, then RankLost is thrown; it is called in
/// rank 0, and where that left in every other rank. Throws GpuError where there is no usable GPU.
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

/// Compiles for `compute_capability` (90 for 9.0) the kernels of `plans` and those that verify results, then
/// the user's own kernels, one for each task. Without plans and with tasks only the user's own are compiled.
/// Needs no GPU; throws GpuError where there is no NVRTC.
CompileReport compile_kernels(const std::vector<Plan> &plans, const std::vector<OwnTask> &own, const Gpu &gpu,
                              int compute_capability);

/// Calls each open case of the user's own kernels once, and prints what came of it. run_on_device has a
/// process of its own do this first: a kernel that fails may leave the GPU unusable for its process.
void try_own_on_device(const Run &run, const GpuProfile &profile, int device);

/// Kernels need a compute capability of this major version: they use cp.async, copies to shared memory.
inline constexpr int least_compute_major = 8;

enum class Health { works, absent, broken };
BOOST_DESCRIBE_ENUM(Health, works, absent, broken)

struct Finding {
    std::string what;
    Health health = Health::works;
    std::string detail; ///< version or path, or what is wrong and what to do
    CONVCAST_MEMBERS(Finding, what, health, detail)
};

/// Examines driver, GPU, NVRTC, CUPTI, counters, cuDNN, cuBLAS and kernel cache for `convcast doctor`. A
/// machine may well lack what is `absent`; what is `broken` is there and should work.
std::vector<Finding> examine_device();

} // namespace convcast::cli
