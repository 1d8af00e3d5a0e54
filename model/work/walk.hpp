// How the CTAs of a launch walk through the outputs: which outputs each CTA computes, in which order, and
// what lies in shared memory meanwhile. A strategy declares it for diagrams; no forecast reads it.
#pragma once

#include "model/plan/plan.hpp"
#include "model/shape/conv_shape.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace convcast {

/// The integers from `begin` up to but without `end`; none if `end` is not above `begin`.
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

/// Divides what earlier cuts have left of an axis into shares of `share` indices, the last one perhaps
/// smaller. A CTA takes the share that its place in the grid says, or all, one after another.
struct Cut {
    static constexpr int loop = -1;
    OutputAxis axis;         ///< nullptr: the positions of Walk::flat
    std::int64_t share;      ///< its size
    int along = loop;        ///< 0, 1, 2: by the place along x, y, z of the grid; loop: every CTA takes all
    std::int64_t apart = 1;  ///< so many neighbouring CTAs along that axis take the same share
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

/// How the threads of a CTA share its tile, and the outputs that a thread computes at a time.
struct ThreadTile {
    std::int64_t along_pixels, along_filters; ///< threads
    std::int64_t rows, columns, filters;      ///< outputs of a thread: rows x columns pixels of each filter
    std::int64_t apart = 1;                   ///< columns from one of its pixels to the next
    bool warp_along_pixels = true;            ///< else neighbouring threads take neighbouring filters
    std::int64_t unit = 1;                    ///< elements that a lane reads as one: Chen's n
};

/// The pixels in shared memory that threads compute from.
struct PixelTile {
    std::int64_t rows = 0, columns = 0;         ///< with the halo; 0: none are in shared memory
    std::int64_t own_rows = 0, own_columns = 0; ///< without it
};

/// What the diagrams of a launch show.
struct Walk {
    OutputBox outputs;                ///< of the launch
    std::array<std::int64_t, 3> grid; ///< of the launch, or another one that numbers the same CTAs alike
    std::vector<Cut> cuts;            ///< applied one after another; loops among them nest in this order
    std::vector<FlatAxis> flat;       ///< the axes that positions run along, the innermost first
    std::int64_t positions = 0;       ///< how many there are; 0 where no cut is one of positions

    std::int64_t step_channels = 0; ///< channels of a step; 0: all channels of a box of outputs
    std::int64_t step_values = 0; ///< filter values of a step, where it does not bring whole channels; else 0
    /// Boxes of outputs whose data lie in shared memory or are on their way.
    std::int64_t rounds_resident = 1;
    bool filters_stay = false; ///< they stay in shared memory, while steps bring channels of the map
    std::vector<SharedBuffer> buffers;
    ThreadTile threads{};
    PixelTile pixels;
    std::string remark;                            ///< a sentence or two under the diagram
    bool draws_memory = true, draws_banks = false; ///< whether to draw the filters in memory, and the banks

    /// All outputs of a shape, and the grid of a launch.
    Walk(const ConvShape &shape, const Partition &launch);
};

/// The boxes of outputs that a CTA computes, in its order, none empty. CTAs are counted along x, y, then z.
std::vector<OutputBox> outputs_of(const Walk &walk, std::int64_t cta);

/// Whether different CTAs sum different channels of the same outputs.
bool has_partial_sums(const Walk &walk);

/// The rows (columns) of the map that a range of output rows (columns) needs, without padding.
IndexRange map_rows(const ConvShape &shape, IndexRange rows);
IndexRange map_columns(const ConvShape &shape, IndexRange columns);

} // namespace convcast
