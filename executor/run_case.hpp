// A predicted case on the GPU: verify, then time, then count. Counted are a shape's cases together, as the
// profiler takes longer to be switched on than a case takes.
#pragma once

#include "executor/case_call.hpp"
#include "executor/count/collect.hpp"
#include "executor/kept_run.hpp"
#include "executor/verify/tensors.hpp"
#include "gpu/device.hpp"
#include "gpu/stopwatch.hpp"
#include "model/machine/profile.hpp"
#include "model/record/run.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace convcast {

struct RunOptions {
    std::uint64_t seed = 0; ///< of inputs; every shape makes its own of it
    std::vector<L2State> l2 = {L2State::cold, L2State::warm};
    int min_samples = 10, max_samples = 40; ///< per L2 state
    Seconds max_time = Seconds(0.1);        ///< per L2 state, warm-up not included
    bool count = true;                      ///< read performance counters if permitted
    bool count_exact_fmas = true; ///< those that need instrumented kernels too, of short calls of ours
    unsigned compile_threads = 1; ///< that compile kernels while the GPU measures
    std::function<void(const std::string &)> say; ///< what a user should know, once each; may be empty
    const std::atomic<bool> *interrupt = nullptr; ///< run_all stops before the next case when it is set
    /// run_all starts no case after it and ends `incomplete`; absent: it runs them all.
    std::optional<std::chrono::steady_clock::time_point> until;
    std::set<std::size_t> settled; ///< cases of run_all that are not run, though nothing was measured of them
};

class Executor {
  public:
    /// `device` must be the calling thread's. `profile` gives the ceilings behind measured regimes.
    Executor(Compiler &compiler, const Device &device, const GpuProfile &profile, RunOptions options);
    ~Executor();

    /// Runs what has no measurements and is neither infeasible nor unsupported, in order: cases that were
    /// predicted, and baselines. Their status, reason and measurements are replaced; a wrong result and an
    /// error that leaves the device usable are answers in the case. The rest stays as it is, so that a run
    /// can be resumed. `keep` is called with the number of cases settled, every two seconds at most and
    /// always at the end. Cases not reached are not_run with the reason. Records the conditions in the run.
    RunEnd run_all(Run &run, const std::function<void(const Run &, std::size_t settled)> &keep);

  private:
    struct Timed;

    ShapeData &data_for(const ConvShape &shape);
    MadeCall call_of(Case &item, const ConvShape &shape);
    Measurement time(const CaseCall &call, L2State l2, ShapeData &data);
    void start(Case &item);
    std::optional<CaseCall> measure(Case &item);
    void count_timed();
    std::vector<std::optional<CounterSession::Values>> counts_of(CounterSession &session,
                                                                 const std::vector<Timed> &cases,
                                                                 const std::vector<std::size_t> &which);
    void note_counters(Timed &timed, const CounterSession::Values &counters) const;
    bool must_count_before(const Case &next) const;
    void note_conditions(Run &run) const;
    void say_once(const std::string &what);

    DeviceFacts device_;
    GpuProfile profile_;
    RunOptions options_;
    KernelCache kernels_;
    Compiler &compiler_;
    const Run *run_ = nullptr; ///< that run_all is at
    ReferenceKernels reference_;
    StopWatch watch_;
    std::optional<CounterSession> counters_, instrumented_; ///< the second only with the first
    BaselineCalls baselines_;
    /// Of the last shape, by plan: one plan may stand for several baselines.
    std::map<std::string, Case> picked_;
    std::vector<std::string> said_;
    std::unique_ptr<ShapeData> data_;
    std::vector<Timed> timed_; ///< of the last shape, not counted yet
};

} // namespace convcast
