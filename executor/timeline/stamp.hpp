// Changes the source of a kernel so that each of its CTAs records when it ran and on which SM. Needs no CUDA.
#pragma once

#include "model/base/embedded.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace convcast {

extern const std::vector<EmbeddedFile> stamp_sources; ///< executor/timeline/stamp.cuh

/// What each CTA writes, as in executor/timeline/stamp.cuh.
struct CtaRecord {
    std::uint64_t start_ns = 0, end_ns = 0; ///< by the chip's global timer
    std::uint32_t sm = 0;
    std::uint32_t starts = 0; ///< how often it ran since the records were zeroed
};

/// `source` (executor/launch/kernel_source.hpp) with a stamp put into the kernel template `kernel`. The
/// changed kernel takes the address of the output a second time, before its ConvArgs. CTA number i writes the
/// CtaRecord number i of an array that begins the macro CONVCAST_SPANS_OFFSET bytes behind that address.
/// Throws UsageError if the text has no such kernel.
std::string stamped_source(const std::string &source, const std::string &kernel);

} // namespace convcast
