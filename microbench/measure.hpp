// Asks the GPU every question of the list.
#pragma once

#include "gpu/compile.hpp"
#include "gpu/device.hpp"
#include "microbench/probe.hpp"
#include "model/base/embedded.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// microbench/probes/*, compiled into the binary.
extern const std::vector<EmbeddedFile> probe_sources;

struct MeasureOptions {
    std::vector<std::string> only; ///< names of probes; empty: all
    /// An earlier measurement that was cut short: what it has is kept, what it lacks is measured. It must be
    /// of the same GPU and of the same probes.
    std::optional<RawSamples> resume;
    std::map<std::string, std::string> conditions; ///< further ones to be kept with the samples
    /// Before each probe.
    std::function<void(const Probe &probe, std::size_t done, std::size_t total)> progress;
    /// After each probe, with all samples so far, so that they can be saved.
    std::function<void(const RawSamples &)> keep;
};

/// Every file of device code once, for `compute_capability` (90 for sm_90): what measure() compiles.
std::vector<CompileRequest> probe_requests(int compute_capability);

/// Of the device code and of the host code that runs it, in this binary: RawSamples::conditions["probes"] of
/// what it measures.
std::string hash_of_probes();

/// Runs the probes one after another on `device`, which must be the calling thread's device with nothing else
/// running. One that fails is noted in `failed`, one that this machine has nothing for in `skipped`, and the
/// rest go on. Throws UsageError for an unknown name in `only` or a `resume` that does not fit; DeviceLost if
/// the context is gone, after `keep` has seen what there is.
RawSamples measure(Compiler &compiler, const Device &device, const MeasureOptions &options);

} // namespace convcast
