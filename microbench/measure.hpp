// Runs the probes on a GPU.
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
    /// An earlier measurement that was cut short: its samples are kept, what it lacks is measured. It must be
    /// of the same GPU and of the same code of probes. Absent: all is measured.
    std::optional<RawSamples> resume;
    std::map<std::string, std::string> conditions; ///< added to RawSamples::conditions
    /// Called before each probe; may be empty.
    std::function<void(const Probe &probe, std::size_t done, std::size_t total)> progress;
    /// Called after each probe with all samples so far, so that they can be saved; may be empty.
    std::function<void(const RawSamples &)> keep;
};

/// What measure() compiles for `compute_capability` (90 for sm_90): every file of device code once.
std::vector<CompileRequest> probe_requests(int compute_capability);

/// The hash of the probes' device code and of the host code that runs it, as they are in this binary. It
/// stands in RawSamples::conditions["probes"] of what this binary measures.
std::string hash_of_probes();

/// Runs the probes one after another on `device`, which must be the calling thread's device with nothing else
/// running. A probe that fails is noted in `failed`, one that needs what this machine lacks in `skipped`, and
/// the others go on. Throws UsageError for an unknown name in `only` or a `resume` that does not fit;
/// DeviceLost if the context is gone, after `keep` has seen what there is.
RawSamples measure(Compiler &compiler, const Device &device, const MeasureOptions &options);

} // namespace convcast
