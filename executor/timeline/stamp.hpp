// Kernels that say when each of their CTAs ran and on which SM: the same text with a stamp put in. Needs no
// CUDA.
#pragma once

#include "model/base/embedded.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace convcast {

extern const std::vector<EmbeddedFile> stamp_sources; ///< executor/timeline/stamp.cuh

/// What a CTA leaves behind, as in executor/timeline/stamp.cuh.
struct CtaRecord {
    std::uint64_t start_ns = 0, end_ns = 0; ///< by the chip's global timer
    std::uint32_t sm = 0;
    std::uint32_t starts = 0; ///< how often it ran since the records were zeroed
};

/// The source of the kernel template `kernel` (executor/launch/kernel_source.hpp), which then takes the
/// output a second time, before its ConvArgs, and whose CTAs write CtaRecords by their linear index behind
/// it: from its start plus the macro CONVCAST_SPANS_OFFSET. Throws UsageError if the text has no such kernel.
std::string stamped_source(const std::string &source, const std::string &kernel);

} // namespace convcast
