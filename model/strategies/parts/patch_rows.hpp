// Patches of outputs whose pixels a thread loads row by row from global memory, as wide as rows are aligned:
// executor/kernels/patch_row.cuh.
#pragma once

#include "model/strategies/strategy.hpp"

namespace convcast {

/// The row of pixels of each product of `rows` outputs below each other with a column of the filter. `whole`:
/// the outputs are all there are, and products with rows above and below the map are left out.
std::vector<std::int64_t> column_reads(const ConvShape &s, std::int64_t rows, bool whole);

/// How many different ones there are.
std::int64_t distinct(std::vector<std::int64_t> rows);

/// The first warps of so many patches, whose passes stand for those of all, and their lanes.
struct LookedAt {
    std::int64_t warps = 1, lanes = 1;
};
LookedAt looked_at(std::int64_t patches);

/// A thread's patch of `rows` x `columns` outputs of a plane, and the patches that a plane is made of: along
/// its rows, then those below. `columns` divides the outputs of a row.
struct PatchRows {
    const ConvShape &s;
    std::int64_t rows = 1, columns = 1;
    std::int64_t bytes = s.element_bytes();
    std::int64_t reach_h = (s.r - 1) * s.dilation_h + 1, reach_w = (s.s - 1) * s.dilation_w + 1;
    /// Pixels under a patch, with the gaps that strides and dilations leave.
    std::int64_t window_h = (rows - 1) * s.stride_h + reach_h,
                 window_w = (columns - 1) * s.stride_w + reach_w;
    std::int64_t row_patches = s.q() / columns, row_groups = ceil_div(s.p(), rows),
                 plane_patches = row_patches * row_groups;
    std::int64_t vector = widest(); ///< elements that are loaded as one
    bool whole = row_groups == 1;   ///< rows above and below the map are left out

    /// A load of neighbouring pixels of a row: from where, counted from where the patch's first output would
    /// lie without padding, and how many.
    struct Load {
        std::int64_t at = 0, elements = 1;
    };
    std::vector<Load> row_loads() const;

    /// Pixels of a row that a thread loads, and the registers that they fill as they arrive.
    std::int64_t row_pixels() const;
    std::int64_t row_words() const;
    /// The rows of pixels that the taps of a patch read.
    std::int64_t loaded_rows() const { return distinct(column_reads(s, rows, whole)); }
    /// Multiply-adds of a patch with one column of a filter.
    std::int64_t column_fmas() const { return std::ssize(column_reads(s, rows, whole)); }

    /// Passes through L1 of a warp's loads of a row of pixels, on average over warps, where neighbouring
    /// threads take neighbouring patches. `planes`: how far apart in memory planes lie, in elements;
    /// `filters`: how many planes of outputs, one after another, read the same plane.
    double row_passes(std::int64_t patches, std::int64_t planes, std::int64_t filters = 1) const;

    /// Passes through L1 of a warp's stores of a row of outputs, on average over warps likewise. `planes`:
    /// how far apart planes of outputs lie. Stores take the way of loads.
    double store_passes(std::int64_t patches, std::int64_t planes) const;

    /// Instructions of a warp for the loads of a channel: the loads, each of which is one instruction at a
    /// constant offset, zeros of those that may leave the map, and the comparisons for them.
    double load_instructions() const;

    /// Bytes of a plane's pixels that `threads` neighbouring patches read.
    double bytes_under(double threads) const;

    /// What is unrolled at most: rows of pixels under a patch, with the gaps that strides and dilations
    /// leave, and the loads of all those rows. NVRTC needs two seconds for these.
    static constexpr std::int64_t most_window = 512, most_loads = 4096;
    /// Why the loads of a patch are too many to be unrolled; "" if they are not.
    std::string too_many_loads() const;

  private:
    std::int64_t widest() const;
    /// Where a patch begins in its plane, whose rows are so wide, with `stride_h` and `stride_w` from one
    /// output to the next.
    std::int64_t place(std::int64_t patch, std::int64_t width, std::int64_t stride_h,
                       std::int64_t stride_w) const;
};

/// Why no patch of this shape is built: sizes beyond 32 bits, or filters that reach too far; "" if one is.
std::string outside_patches(const ConvShape &s);

/// The largest power of two, `most` or less, that divides `total`. `most` is one.
int widest_divisor(std::int64_t total, int most);

/// Gives knobs of a patch and of a CTA that are 0 their values: about `usual_rows` rows, as many columns as
/// divide the outputs of a row, 4 at most, and `usual_threads` threads. Why a given one is wrong, or "".
std::string settle_patch(int &rows, int &columns, int &threads, const ConvShape &s, std::int64_t usual_rows,
                         int usual_threads);

/// A launch of kernels whose threads have a patch each, `patches` of them. `further` are the template
/// arguments behind those of the shape and the patch.
Partition patch_launch(const char *kernel, const PatchRows &patch, const std::array<std::int64_t, 3> &grid,
                       const CtaSize &cta, std::initializer_list<std::int64_t> further, std::int64_t patches,
                       const Gpu &gpu);

/// What L2 and DRAM see of the outputs of a launch, and of its reads, whose bytes of L2 are filled in.
void fill_patch_traffic(Partition &part, const PatchRows &patch, const Gpu &gpu);

/// Rows of a patch, `most` or down to half as many: those with the fewest surplus ones below the map.
std::int64_t rows_of_patch(const ConvShape &s, std::int64_t most);

} // namespace convcast
