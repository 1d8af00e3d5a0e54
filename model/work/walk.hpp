// How the CTAs of a launch go through the outputs: which of them each computes, in which order, and what lies
// in shared memory meanwhile. A strategy declares it beside its counts, and the diagrams are drawn from it.
#pragma once

#include "model/plan/plan.hpp"
#include "model/shape/conv_shape.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace convcast {

/// From `begin` up to but without `end`.
struct IndexRange {
    std::int64_t begin = 0, end = 0;
    std::int64_t size() const { return end > begin ? end - begin : 0; }
    bool operator==(const IndexRange &) const = default;
};

/// A block of outputs, and the channels that a CTA sums for them.
struct OutputBox {
    IndexRange images, filters, rows, columns, channels;
    std::int64_t size() const {
        return images.size() * filters.size() * rows.size() * columns.size() * channels.size();
    }
};

using OutputAxis = IndexRange OutputBox::*;

/// Divides what earlier cuts have left of an axis into shares of `share`. CTAs take a share each by their
/// place in the grid, or every CTA takes all shares, one after another.
struct Cut {
    static constexpr int loop = -1;
    OutputAxis axis; ///< nullptr: the positions of Walk::flat
    std::int64_t share;
    int along = loop;        ///< axis of the grid; loop: every CTA takes all shares
    std::int64_t apart = 1;  ///< CTAs along that axis from one share to the next
    std::int64_t shares = 0; ///< after so many shares the first comes again; 0: it never does
};

/// An axis along which neighbouring positions run: after `pitch` of them the next axis moves on by one.
struct FlatAxis {
    OutputAxis axis;
    std::int64_t pitch;
};

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
    OutputBox outputs;                ///< of the launch
    std::array<std::int64_t, 3> grid; ///< of the launch, or one whose CTAs have the same numbers
    std::vector<Cut> cuts;            ///< loops among them nest in this order
    std::vector<FlatAxis> flat;       ///< the axes of a cut of positions, the innermost first
    std::int64_t positions = 0;       ///< of them

    std::int64_t step_channels = 0; ///< of a step; 0: those of its box of outputs
    std::int64_t step_values = 0;   ///< filter values of a step; 0: by channels
    /// Boxes of outputs whose data lie in shared memory or are on their way.
    std::int64_t rounds_resident = 1;
    bool filters_stay = false; ///< in shared memory, while steps bring channels of the map
    std::vector<SharedBuffer> buffers;
    ThreadTile threads{};
    PixelTile pixels;
    std::string remark;
    bool draws_memory = true, draws_banks = false; ///< whether the order of filters, and of banks, matters

    /// All outputs of a shape, and the grid of a launch.
    Walk(const ConvShape &shape, const Partition &launch);
};

/// What a CTA computes, in the order in which it does, without empty boxes. CTAs are counted along x, then y,
/// then z.
std::vector<OutputBox> outputs_of(const Walk &walk, std::int64_t cta);

/// Whether CTAs sum different channels of the same outputs.
bool has_partial_sums(const Walk &walk);

/// Rows and columns of the map under a range of output rows and columns, inside the map.
IndexRange map_rows(const ConvShape &shape, IndexRange rows);
IndexRange map_columns(const ConvShape &shape, IndexRange columns);

} // namespace convcast
