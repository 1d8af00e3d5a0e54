// The host side of the probes that a row alone does not describe: functions that size, launch, sample and
// prove that the kernels did their work (microbench/runners/).
#pragma once

#include "gpu/device.hpp"
#include "gpu/kernel.hpp"
#include "gpu/stopwatch.hpp"
#include "microbench/probe.hpp"

#include <map>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace convcast {

/// Thrown by a probe that needs what this GPU or machine lacks; the text says what. This is no failure.
struct ProbeSkipped : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct ProbeContext {
    const DeviceFacts &device;
    StopWatch &watch;
    const Module &fill; ///< compiled from probes/fill.cu
    const Probe *probe; ///< the probe that runs
};

/// Takes the samples of a probe. `module` is compiled from the probe's file of device code; a probe without
/// one is given any module and does not use it.
using ProbeRun = std::vector<ProbeSamples>(ProbeContext &context, const Module &module);
using ProbeRuns = std::map<std::string_view, ProbeRun *>; ///< by the probe's name

namespace probe {
/// Runs any probe whose row has a ProbeLaunch::launch.
ProbeRun clocked;

ProbeRuns latency_runs();
ProbeRuns dram_runs();
ProbeRuns l2_runs();
ProbeRuns granularity_runs();
ProbeRuns synchronisation_runs();
ProbeRuns launch_runs();
ProbeRuns transfer_runs();
} // namespace probe

/// The function that runs it, for every probe.
ProbeRuns probe_runs();

} // namespace convcast
