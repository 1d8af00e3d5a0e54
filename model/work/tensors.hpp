// Bytes that reads and writes of tensors touch, by sectors, rows and planes, and what DRAM delivers of them.
#pragma once

#include "model/machine/architecture.hpp"
#include "model/plan/work.hpp"
#include "model/shape/conv_shape.hpp"
#include "model/work/l2_sectors.hpp"

#include <cstdint>

namespace convcast {

/// W8: bytes of the 32-byte sectors that `bytes` contiguous bytes touch, on average over starts at multiples
/// of `grain` bytes.
double spanned_bytes(double bytes, std::int64_t grain = 4);

/// Bytes that starts of runs in a map's rows are multiples of, up to a sector, where they are `step` pixels
/// apart and `pad` before the row.
std::int64_t row_grain(const ConvShape &shape, std::int64_t step, std::int64_t pad = 0);

/// Sum over the tiles of a map of q by p outputs: of count(columns, rows of outputs that the tile has). All
/// but the last of a row and of a column are full.
template <class Count>
auto over_tiles(std::int64_t q, std::int64_t tile_w, std::int64_t p, std::int64_t tile_h,
                const Count &count) {
    const std::int64_t full_x = (q - 1) / tile_w, full_y = (p - 1) / tile_h;
    const std::int64_t last_x = q - full_x * tile_w, last_y = p - full_y * tile_h;
    const double x = static_cast<double>(full_x), y = static_cast<double>(full_y);
    auto sum = count(last_x, last_y);
    if (full_x > 0)
        sum += x * count(tile_w, last_y);
    if (full_y > 0)
        sum += y * count(last_x, tile_h);
    if (full_x > 0 && full_y > 0)
        sum += x * y * count(tile_w, tile_h);
    return sum;
}

/// Bytes of a channel's rows that a band of outputs needs, on average over `bands` of them, at stride 1.
double band_bytes(const ConvShape &shape, std::int64_t bands);

/// Elements inside a map of `size` that `tiles` windows of `window` elements, `step` apart and starting `pad`
/// before the map, have together. All but the first and the last are taken to lie inside.
double covered(std::int64_t tiles, std::int64_t window, std::int64_t step, std::int64_t pad,
               std::int64_t size);

/// Where a warp's 32 outputs follow each other: from the start of a row on, or of a plane.
enum class StoredAlong { rows, planes };

/// Bytes of the sectors written by such warps: whole sectors where rows, or planes, are aligned, otherwise
/// what spanned_bytes says of the grain that they are aligned to.
double written_bytes(const ConvShape &shape, StoredAlong along = StoredAlong::rows);

/// Bytes of the sectors written where a thread stores an output of each of `rows` rows below each other, and
/// neighbouring threads take neighbouring outputs of a row, then those of the next rows.
double written_bytes_of_columns(const ConvShape &shape, std::int64_t rows);

/// And where threads pass over the map's rows with their last s - 1 pixels, for which there are no outputs;
/// `rows` of them start together.
double written_bytes_of_flat_rows(const ConvShape &shape, std::int64_t rows);

/// Bytes of the sectors of one channel that `count` neighbouring outputs of a batch read, on average over
/// where they start in a plane. The filter's taps meet the same sectors again, in L1.
double footprint_bytes(const ConvShape &shape, std::int64_t count);

/// And those that `tap_rows` by `tap_columns` of the taps read.
double footprint_bytes(const ConvShape &shape, std::int64_t count, std::int64_t tap_rows,
                       std::int64_t tap_columns);

/// Rows of `length` that `count` neighbours lie in, on average over starts at multiples of `count`.
double row_runs(std::int64_t count, std::int64_t length);

/// Where the first tap of the batch's output `pixel` lies, in floats from that of the first; padding is
/// ignored.
std::int64_t first_tap_of(const ConvShape &shape, std::int64_t pixel);

/// Lines of 128 bytes in which `rows` runs of `run_bytes` lie, `pitch_bytes` from start to start, that begin
/// at any multiple of 4 bytes.
double lines_touched(double run_bytes, double rows, double pitch_bytes);

/// Passes of the pipe of shared memory of a warp's asynchronous copy, `lanes` lanes copying `width` words (1
/// or 4) from first_word(lane) on: through L1 as a load, and words of four bytes, which L1 keeps, are written
/// from there in another pass.
template <class FirstWord> double copy_passes_of(std::int64_t lanes, int width, const FirstWord &first_word) {
    return gather_passes(lanes, width, first_word) + (width == 1 ? 1.0 : 0.0);
}

/// Bytes of distinct lines that L2 holds.
std::int64_t l2_room(const Gpu &gpu);

/// F13: the share of data that DRAM delivers again when they are read again, after `bytes` of others have
/// passed through L2.
double lost_from_l2(double bytes, const Gpu &gpu);

/// Bytes of the input that DRAM delivers, in its units: all rows, or those that taps read, where a stride
/// leaves others out.
double input_read_bytes(const ConvShape &shape, const Architecture &architecture);

/// W7: DRAM traffic of a call that starts with a cold L2. Inputs are read once; of the output, what L2 cannot
/// keep is written.
void fill_dram(Work &work, const ConvShape &shape, const Gpu &gpu);

/// And of a call that reads its input `passes` times, each image from end to end before it starts again
/// (F13).
void fill_dram(Work &work, const ConvShape &shape, const Gpu &gpu, double passes);

} // namespace convcast
