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

/// Runs start in a map's rows every `step` pixels, the first `pad` pixels before the row. Returns the largest
/// number of bytes, up to a sector, that all starts are multiples of.
std::int64_t row_grain(const ConvShape &shape, std::int64_t step, std::int64_t pad = 0);

/// Bytes of a channel's rows that a band of outputs needs, on average over `bands` of them, at stride 1.
double band_bytes(const ConvShape &shape, std::int64_t bands);

/// Elements of a row or column of `size` that `tiles` windows cover, counted once for each window. A window
/// has `window` elements; windows start `step` apart, the first `pad` before the map. All but the first and
/// the last are taken to lie inside.
double covered(std::int64_t tiles, std::int64_t window, std::int64_t step, std::int64_t pad,
               std::int64_t size);

/// Whether a warp's 32 outputs follow each other within a row, or on from row to row within a plane.
enum class StoredAlong { rows, planes };

/// W5: bytes of the sectors written by such warps. Whole sectors if rows, or planes, start at sectors; if
/// not, what W8 says of the grain that they start at.
double written_bytes(const ConvShape &shape, StoredAlong along = StoredAlong::rows);

/// W5: threads store patches of `rows` rows of `columns` outputs; `columns` divides the outputs of a row.
/// Returns the share, 0 to 1, of the ends of rows whose warp stores the start of the next row as well.
double rows_meet_in_a_warp(const ConvShape &shape, std::int64_t rows, std::int64_t columns);

/// W5: bytes of the sectors written if a thread stores `columns` neighbouring outputs at once, of each of
/// `rows` rows below each other, and neighbouring threads take neighbours of a row, then those of the next
/// rows. `columns` divides the outputs of a row.
double written_bytes_of_columns(const ConvShape &shape, std::int64_t rows, std::int64_t columns = 1);

/// W5: the same where a thread has the outputs of all its rows before it stores the first. Of the sectors in
/// which two rows of a warp meet every second one is stored once, as both rows reach L1's way out together.
double written_bytes_of_patches(const ConvShape &shape, std::int64_t rows, std::int64_t columns);

/// W5: bytes of the sectors written if threads walk along the map's rows over all pixels, of which the last
/// s - 1 of a row have no output; `rows` rows start together.
double written_bytes_of_flat_rows(const ConvShape &shape, std::int64_t rows);

/// Bytes of the sectors of one channel that `count` neighbouring outputs of a batch read, on average over
/// where they start in a plane. The filter's taps meet the same sectors again, in L1.
double footprint_bytes(const ConvShape &shape, std::int64_t count);

/// footprint_bytes of `tap_rows` by `tap_columns` of the taps.
double footprint_bytes(const ConvShape &shape, std::int64_t count, std::int64_t tap_rows,
                       std::int64_t tap_columns);

/// W8: bytes of the sectors of a channel, on average over `channels` that follow one another, whose runs
/// start at multiples of their length and are read whole: neighbours share the sectors at their ends.
double channel_of_run_bytes(const ConvShape &shape, std::int64_t channels);

/// F8: the share of a warp's steps that reach a sector which none of its steps before has loaded. With each
/// step its loads move on by `bytes`, in `runs` runs whose starts are multiples of `apart` bytes, and so
/// begin at so many places of a sector.
double new_sector_share(std::int64_t bytes, double runs, std::int64_t apart);

/// Number of rows of `length` elements in which `count` neighbouring elements lie, on average over starts at
/// multiples of `count`.
double row_runs(std::int64_t count, std::int64_t length);

/// Where the first tap of output `pixel` of the batch lies in the input, in elements from that of output 0.
/// Padding is ignored.
std::int64_t first_tap_of(const ConvShape &shape, std::int64_t pixel);

/// Lines of 128 bytes in which `rows` runs of `run_bytes` lie, `pitch_bytes` from start to start, that begin
/// at any multiple of 4 bytes.
double lines_touched(double run_bytes, double rows, double pitch_bytes);

/// F12: passes through the pipe of shared memory of a warp's asynchronous copy, in which `lanes` lanes copy
/// `width` words (1 or 4) each, from first_word(lane) on. The copy passes L1 as a load does. L1 keeps words
/// of four bytes, which are written from there in another pass.
template <class FirstWord> double copy_passes_of(std::int64_t lanes, int width, const FirstWord &first_word) {
    return gather_passes(lanes, width, first_word) + (width == 1 ? 1.0 : 0.0);
}

/// W4: bytes of the input that the SMs request from L2, where each of `ctas` CTAs of an image reads `of_cta`
/// bytes of it through L1.
double image_reads(const ConvShape &shape, double of_cta, double ctas, const Partition &part, const Gpu &gpu);

/// W4: bytes of filters that the SMs request from L2, where the CTAs of a row of the grid read the same
/// `of_row` bytes through L1, those of `rows` rows one after another, and the rows of an image `all` bytes.
double filter_reads(double of_row, double all, double rows, double row_ctas, const Partition &part,
                    const Gpu &gpu);

/// The readers of these filters: the other CTAs of the row or, where it has no others, those of other images.
Readers filter_readers(const ConvShape &shape, double row_ctas, double rows);

/// W5: bytes of the sectors written by CTAs of tile_w x tile_h outputs of a filter, whose neighbouring
/// threads take neighbouring outputs.
double written_bytes_of_tiles(const ConvShape &shape, std::int64_t tile_w, std::int64_t tile_h);

/// Bytes of distinct lines that L2 holds: its size over the copies that it keeps of a line (F13).
std::int64_t l2_room(const Gpu &gpu);

/// F13: the share of data that DRAM delivers again when they are read again, after `bytes` of others have
/// passed through L2.
double lost_from_l2(double bytes, const Gpu &gpu);

/// W7: bytes of the input that DRAM delivers, in its units: all rows, or only those that taps read if a
/// stride leaves others out.
double input_read_bytes(const ConvShape &shape, const Architecture &architecture);

/// W7 and F13: fills in the DRAM traffic of a call that starts with a cold L2. It reads its filters once and
/// its input `passes` times, each image from end to end before it starts again; of the output, what L2 cannot
/// keep is written.
void fill_dram(Work &work, const ConvShape &shape, const Gpu &gpu, double passes = 1.0);

} // namespace convcast
