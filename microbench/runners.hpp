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

/// A probe that this GPU or machine has nothing to measure for; the text says what is missing. No failure.
struct ProbeSkipped : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// What a running probe is given.
struct ProbeContext {
    const DeviceFacts &device;
    StopWatch &watch;
    const Module &fill; ///< probes/fill.cu
    const Probe *probe; ///< the one that runs
};

/// `module` is the probe's file of device code; a probe of the host's own work has none and is given some
/// module.
using ProbeRun = std::vector<ProbeSamples>(ProbeContext &context, const Module &module);
using ProbeRuns = std::map<std::string_view, ProbeRun *>; ///< by probe

namespace probe {
/// Runs every probe whose row says how it is launched.
ProbeRun clocked;

ProbeRuns latency_runs();
ProbeRuns dram_runs();
ProbeRuns l2_runs();
ProbeRuns granularity_runs();
ProbeRuns synchronisation_runs();
ProbeRuns launch_runs();
ProbeRuns transfer_runs();
} // namespace probe

/// The function of every probe.
ProbeRuns probe_runs();

} // namespace convcast
