// How a CTA goes through its work, as the kernels in executor/kernels have it: what lies in shared memory,
// how many channels or filter values a step brings, what a thread computes.
#pragma once

#include "model/plan/plan.hpp"
#include "model/shape/conv_shape.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace convcast {

enum class CopiedTensor { map, filters, offsets };

/// A kind of data in shared memory: `buffers` of `bytes` each.
struct SharedBuffer {
    std::string name;
    CopiedTensor of;
    std::int64_t bytes, buffers;
};

/// What the threads of a CTA share among them, and one thread's sums.
struct ThreadTile {
    std::int64_t along_pixels, along_filters; ///< threads
    std::int64_t rows, columns, filters;      ///< of a thread, at a time: its pixels are rows x columns
    std::int64_t apart = 1;                   ///< columns from one of its pixels to the next
    bool warp_along_pixels = true;            ///< else neighbouring threads take neighbouring filters
    std::int64_t unit = 1;                    ///< elements that a lane reads as one: Chen's n
};

/// The pixels in shared memory that threads compute from.
struct PixelTile {
    std::int64_t rows = 0, columns = 0;         ///< with the halo; 0: none are in shared memory
    std::int64_t own_rows = 0, own_columns = 0; ///< of them those whose outputs the CTA computes
};

struct Walk {
    std::int64_t step_channels = 0; ///< of a step; 0: those of its box of outputs
    std::int64_t step_values = 0;   ///< filter values of a step; 0: by channels
    std::int64_t rounds_resident =
        1; ///< boxes of outputs whose data lie in shared memory or are on their way
    std::vector<SharedBuffer> buffers;
    ThreadTile threads{};
    PixelTile pixels;
    std::string remark;
};

/// Of a launch that has regions (partition_regions.hpp).
Walk walk_of(const ConvShape &shape, const Partition &launch);

/// "1 row", "2 rows", with thousands separated.
std::string count_text(std::int64_t count, const char *what);
std::string grouped_digits(std::int64_t value);

} // namespace convcast
