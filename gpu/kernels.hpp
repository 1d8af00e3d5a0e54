// The device code of this room.
#pragma once

#include "gpu/compile.hpp"
#include "model/base/embedded.hpp"

#include <cstdint>
#include <vector>

namespace convcast {

/// gpu/kernels.cu, compiled into the binary.
extern const std::vector<EmbeddedFile> gpu_sources;

CompileRequest gpu_kernels_request(int compute_capability);

/// What the kernels of one sample write to pinned memory; the same struct is in kernels.cu.
struct SampleSlot {
    std::uint64_t probe_cycles;
    std::uint64_t probe_nanoseconds;
    std::uint32_t gate_timed_out;
    std::uint32_t padding;
};
static_assert(sizeof(SampleSlot) == 24);

} // namespace convcast
