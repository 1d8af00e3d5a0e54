// What depthwise_register, grouped_register and depthwise share: a thread computes a patch of outputs, whose
// pixels it loads row by row from global memory, in vectors as wide as rows are aligned. The device code is
// executor/kernels/patch_row.cuh.
#pragma once

#include "model/strategies/strategy.hpp"

namespace convcast {

/// For each product of `rows` outputs below each other with a column of the filter, the row of the pixel,
/// counted from the first output's first tap. `whole`: the outputs are all that there are in a column, and
/// products with rows above and below the map are left out.
std::vector<std::int64_t> column_reads(const ConvShape &s, std::int64_t rows, bool whole);

/// How many different rows there are.
std::int64_t distinct(std::vector<std::int64_t> rows);

/// The first 16 warps of `patches` patches, one a lane, whose wavefronts stand for all; and all their lanes.
struct LookedAt {
    std::int64_t warps = 1, lanes = 1;
};
LookedAt looked_at(std::int64_t patches);

/// A thread's patch of `rows` x `columns` outputs of a plane, and the patches that a plane is made of: along
/// its rows, then those below. `columns` divides the outputs of a row.
struct PatchRows {
    const ConvShape &s;
    std::int64_t rows = 1, columns = 1;
    std::int64_t bytes = s.element_bytes(); ///< of a pixel
    /// Rows and columns of pixels from a filter's first tap to its last.
    std::int64_t reach_h = (s.r - 1) * s.dilation_h + 1, reach_w = (s.s - 1) * s.dilation_w + 1;
    /// Pixels under a patch, with the gaps that strides and dilations leave.
    std::int64_t window_h = (rows - 1) * s.stride_h + reach_h,
                 window_w = (columns - 1) * s.stride_w + reach_w;
    std::int64_t row_patches = s.q() / columns, row_groups = ceil_div(s.p(), rows),
                 plane_patches = row_patches * row_groups;
    std::int64_t vector = widest(); ///< pixels that are loaded as one
    bool whole = row_groups == 1;   ///< a patch has whole columns: rows above and below the map are left out

    /// A load of neighbouring pixels of a row: how many, and where it begins, counted from the column of the
    /// map that lies under the patch's first output, so that padding is below 0.
    struct Load {
        std::int64_t at = 0, elements = 1;
    };
    /// The loads of the pixels of a row. At an end a vector is narrowed if the rest is not needed.
    std::vector<Load> row_loads() const;

    /// Pixels of a row that a thread loads, and the registers that they fill as they arrive.
    std::int64_t row_pixels() const;
    std::int64_t row_words() const;
    /// The rows of pixels that the taps of a patch read.
    std::int64_t loaded_rows() const { return distinct(column_reads(s, rows, whole)); }
    /// Multiply-adds of a patch with one column of a filter.
    std::int64_t column_fmas() const { return std::ssize(column_reads(s, rows, whole)); }

    /// Wavefronts through L1 of a warp's loads of a row of pixels (F12), on average over warps, where
    /// neighbouring threads have neighbouring patches. `plane_pitch`: elements from one plane of pixels to
    /// the next in memory. `filters`: how many planes of outputs, one after another, read the same plane.
    double row_passes(std::int64_t patches, std::int64_t plane_pitch, std::int64_t filters = 1) const;

    /// Wavefronts through L1 of a warp's stores of a row of outputs, on average over warps as for row_passes.
    /// `plane_pitch`: elements from one plane of outputs to the next. Stores take the same path as loads.
    double store_passes(std::int64_t patches, std::int64_t plane_pitch) const;

    /// Warp instructions for the loads of a channel: the loads, one instruction each at a constant offset;
    /// for loads that may leave the map, zeros in their registers and comparisons.
    double load_instructions() const;

    /// Bytes of the sectors of pixels that `threads` neighbouring patches read.
    double bytes_under(double threads) const;

    /// What is unrolled at most, so that NVRTC needs two seconds at most: rows of pixels under a patch, with
    /// the gaps that strides and dilations leave, and the loads of all those rows.
    static constexpr std::int64_t most_window = 512, most_loads = 4096;
    /// Why the loads of a patch are too many to be unrolled; "" if they are not.
    std::string too_many_loads() const;

  private:
    /// The largest power of two of pixels, 16 bytes at most, to which rows and patches are aligned.
    std::int64_t widest() const;
    /// Where a patch begins in a plane, in elements. The plane's rows have `width` elements, and one output
    /// lies `stride_h` rows below, or `stride_w` elements beside, the next.
    std::int64_t place(std::int64_t patch, std::int64_t width, std::int64_t stride_h,
                       std::int64_t stride_w) const;
};

/// Why no patch of this shape is built: sizes beyond 32 bits, filters that reach too far; "" if one may be.
std::string outside_patches(const ConvShape &s);

/// The largest power of two, `most` or less, that divides `total`. `most` must be a power of two.
int widest_divisor(std::int64_t total, int most);

/// Gives knobs of a patch and of a CTA that are 0 their values: `usual_rows` rows or fewer (rows_of_patch),
/// 4, 2 or 1 columns that divide the outputs of a row, `usual_threads` threads. Returns why a given one is
/// wrong, or "".
std::string settle_patch(int &rows, int &columns, int &threads, const ConvShape &s, std::int64_t usual_rows,
                         int usual_threads);

/// The launch, without its work, of a kernel whose threads have a patch each; CTAs share `patches` of them.
/// `further` are the template arguments behind those of the shape and the patch.
Partition patch_launch(const char *kernel, const PatchRows &patch, const std::array<std::int64_t, 3> &grid,
                       const CtaSize &cta, std::initializer_list<std::int64_t> further, std::int64_t patches,
                       const Gpu &gpu);

/// Fills in the bytes written to L2, and the DRAM traffic. The launch must have its L2 reads already.
void fill_patch_traffic(Partition &part, const PatchRows &patch, const Gpu &gpu);

/// Rows of a patch: `most` or down to half as many, with the fewest surplus rows below the map.
std::int64_t rows_of_patch(const ConvShape &s, std::int64_t most);

} // namespace convcast
