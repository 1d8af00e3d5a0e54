// The host side of each probe: sizes, launches, samples, and proof that the kernel did its work.
#pragma once

#include "gpu/device.hpp"
#include "gpu/kernel.hpp"
#include "gpu/stopwatch.hpp"
#include "microbench/samples.hpp"

#include <array>
#include <string_view>
#include <vector>

namespace convcast {

/// What all probes of one run share.
struct ProbeContext {
    const DeviceFacts &device;
    StopWatch &watch;
    const Module &fill; ///< probes/fill.cu
};

/// A file of device code and the templates of it that are used; unused places are empty.
struct ProbeSource {
    std::string_view file;
    std::array<std::string_view, 4> name_expressions;
};

inline constexpr std::array probe_files = {
    ProbeSource{"fill.cu", {}},
    ProbeSource{"ffma.cu", {"ffma<2>", "ffma<3>"}},
    ProbeSource{"chase.cu", {}},
    ProbeSource{"dram_read.cu", {"dram_read<1>", "dram_read<2>", "dram_read<4>", "dram_read<8>"}},
    ProbeSource{"dram_write.cu", {}},
    ProbeSource{"l2_read.cu", {}},
    ProbeSource{"shared.cu", {"shared_read<1>", "shared_read<4>"}},
    ProbeSource{"barrier.cu", {"barrier<1>", "barrier<2>"}},
    ProbeSource{"empty.cu", {}},
};

struct ProbeRunner {
    std::string_view probe;
    std::string_view file;
    std::vector<ProbeSamples> (*run)(ProbeContext &context, const Module &module);
};

/// One for each of `probes`, in the same order.
extern const std::array<ProbeRunner, probes.size()> probe_runners;

} // namespace convcast
