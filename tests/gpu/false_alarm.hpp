// The one report of racecheck that is known to be wrong, and how it is told from a race.
//
// The consumers of implicit_gemm_3xtf32 read the pixels of a buffer, __syncwarp, and lane 0 of each warp
// arrives at the buffer's `empty` mbarrier; the producers wait there and copy the next pixels into the
// buffer. racecheck follows the mbarrier but not the __syncwarp before it: what lane 0 read counts as
// ordered, what the other 31 lanes read does not, and each of these bytes is reported (compute-sanitizer
// 2025.3.1). race_ring.cu says why there is no race, and is the proof: the same ring in a few lines, as it is
// and as the tool accepts it.
#pragma once

#include "model/record/run.hpp"
#include "tests/gpu/race_report.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace convcast {

enum class Shown {
    false_alarm, ///< the tool reports it, though there is no race
    nothing,     ///< there is no race, and the tool reports none
    race         ///< there is one, and the tool reports it
};

struct Ring {
    const char *name;
    Shown shown;
    int by_lane, barrier, racy; ///< template arguments of race_ring.cu
};

constexpr std::array rings = {
    Ring{"copied", Shown::false_alarm, 0, 0, 0},
    Ring{"copied-by-lane", Shown::nothing, 1, 0, 0},
    Ring{"copied-barrier", Shown::nothing, 0, 1, 0},
    Ring{"copied-barrier-race", Shown::race, 0, 1, 1},
};

struct RingsSeen {
    bool good = true;         ///< all rings were watched to their end, and the tool tells races from none
    bool false_alarm = false; ///< and `copied` is reported: what looks like it may be excepted
    std::vector<std::string> lines;
};

/// By the rings' names. Without any log: good, and nothing may be excepted.
RingsSeen judge_rings(const std::map<std::string, ToolLog> &logs);

/// Whether all that the finding speaks of is loads of pixels by the consumers and asynchronous copies by the
/// producers of implicit_gemm_3xtf32. `source`: kernel_source() of it, whose lines the tool names.
bool is_pixels_alarm(const Finding &finding, std::string_view source);

/// How many hazards the tool reports of one launch by mistake: of implicit_gemm_3xtf32 31 of 32 bytes of
/// pixels in each buffer that is filled again, 0 of others. If a CTA never fills a buffer again, 0 as well. A
/// race of the same accesses has more: lane 0's bytes, or those of the last buffers.
std::int64_t pixels_alarm_hazards(const Partition &launch);

} // namespace convcast
