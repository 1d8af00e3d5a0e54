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

/// The grain, in bytes, of runs that start in a map's rows every `step` pixels, the first `pad` pixels before
/// the row: the largest power of two, up to a sector, that all starts are multiples of.
std::int64_t row_grain(const ConvShape &shape, std::int64_t step, std::int64_t pad = 0);

/// Bytes of a channel's rows that one of `bands` bands of output rows needs, on average, at stride 1.
double band_bytes(const ConvShape &shape, std::int64_t bands);

/// Elements of a row or column of `size` that `tiles` windows cover, summed over the windows. A window has
/// `window` elements; windows start `step` apart, the first `pad` elements before the map. All but the first
/// and the last are taken to lie inside.
double covered(std::int64_t tiles, std::int64_t window, std::int64_t step, std::int64_t pad,
               std::int64_t size);

/// Whether a warp's 32 outputs follow each other within a row, or go on from row to row within a plane.
enum class StoredAlong { rows, planes };

/// W5: bytes of the sectors that all such warps write. They are whole sectors if rows, or planes, start at
/// sectors; if not, W8 gives the mean for the grain at which they start.
double written_bytes(const ConvShape &shape, StoredAlong along = StoredAlong::rows);

/// The share, 0 to 1, of the ends of output rows whose warp stores the start of the next row as well (W5),
/// where threads store patches of `rows` rows of `columns` outputs. `columns` divides a row.
double rows_meet_in_a_warp(const ConvShape &shape, std::int64_t rows, std::int64_t columns);

/// W5: bytes of the sectors written if a thread stores patches of `rows` rows, `columns` neighbouring outputs
/// of a row at once, and neighbouring threads have neighbouring patches of the same rows, then those of the
/// next rows. `columns` divides the outputs of a row.
double written_bytes_of_columns(const ConvShape &shape, std::int64_t rows, std::int64_t columns = 1);

/// W5: written_bytes_of_columns where a thread has the outputs of all its rows before it stores the first.
/// The stores of two rows of a warp then follow each other closely, and L1 gathers half of what both share.
double written_bytes_of_patches(const ConvShape &shape, std::int64_t rows, std::int64_t columns);

/// W5: bytes of the sectors written if lanes follow the pixels of the map, of which the last s - 1 of a row
/// have no output. Every `rows` rows begin with a new warp.
double written_bytes_of_flat_rows(const ConvShape &shape, std::int64_t rows);

/// Bytes of the sectors of one channel that `count` neighbouring outputs of a batch read, on average over
/// where they start in a plane. A sector counts once, as L1 keeps it from tap to tap.
double footprint_bytes(const ConvShape &shape, std::int64_t count);

/// footprint_bytes if only `tap_rows` by `tap_columns` of the filter's taps are computed.
double footprint_bytes(const ConvShape &shape, std::int64_t count, std::int64_t tap_rows,
                       std::int64_t tap_columns);

/// W8: bytes of the sectors that a channel takes, on average, if runs of `channels` channels that follow one
/// another in memory are read whole. A sector that two channels of a run share counts once.
double channel_of_run_bytes(const ConvShape &shape, std::int64_t channels);

/// F8: the share, 0 to 1, of a warp's steps that load from a sector which none of its earlier steps has
/// loaded. With each step its loads move on by `bytes`. A warp has `runs` runs, whose starts are multiples of
/// `apart` bytes: the more places of a sector they lie at, the more steps cross into a new one.
double new_sector_share(std::int64_t bytes, double runs, std::int64_t apart);

/// Rows of `length` elements that `count` neighbours touch, on average over starts at multiples of `count`.
double row_runs(std::int64_t count, std::int64_t length);

/// How far, in elements of the input, the first tap of output `pixel` of a batch lies from that of output 0,
/// both in the first channel. Padding is ignored.
std::int64_t first_tap_of(const ConvShape &shape, std::int64_t pixel);

/// Lines of 128 bytes that `rows` runs of `run_bytes` touch, `pitch_bytes` from start to start, on average
/// over starts at multiples of 4 bytes.
double lines_touched(double run_bytes, double rows, double pitch_bytes);

/// F12: wavefronts of the pipe of shared memory that a warp's asynchronous copy takes, in which `lanes` lanes
/// copy `width` words (1 or 4) each, from first_word(lane) on. Its read takes as many as a load's. A copy of
/// single words goes through L1, which takes another wavefront to write them to shared memory.
template <class FirstWord> double copy_passes_of(std::int64_t lanes, int width, const FirstWord &first_word) {
    return gather_passes(lanes, width, first_word) + (width == 1 ? 1.0 : 0.0);
}

/// W4: bytes of the input requested from L2 if each of `ctas` CTAs of an image reads `of_cta` through L1.
double image_reads(const ConvShape &shape, double of_cta, double ctas, const Partition &part, const Gpu &gpu);

/// W4: bytes of filters that the SMs request from L2 through L1. The grid has `rows` rows of `row_ctas`
/// CTAs, and rows follow one another. The CTAs of a row read the same `of_row` bytes, and the rows of an
/// image `all` bytes together.
double filter_reads(double of_row, double all, double rows, double row_ctas, const Partition &part,
                    const Gpu &gpu);

/// Which CTAs read the same filters: those of a row or, if it has only one, those of other images.
Readers filter_readers(const ConvShape &shape, double row_ctas, double rows);

/// W5: bytes of the sectors written by CTAs that store tiles of tile_w x tile_h outputs of each filter, one
/// output a thread, row by row.
double written_bytes_of_tiles(const ConvShape &shape, std::int64_t tile_w, std::int64_t tile_h);

/// Bytes of distinct lines that L2 holds: its size over the copies that it keeps of a line (F13).
std::int64_t l2_room(const Gpu &gpu);

/// F13: the share of data that DRAM delivers again when they are re-read after `bytes` have passed L2.
double lost_from_l2(double bytes, const Gpu &gpu);

/// W7: bytes of the input that DRAM delivers for one read of it, in units of DRAM: all rows, or only those
/// that taps read if a stride leaves others out.
double input_read_bytes(const ConvShape &shape, const Architecture &architecture);

/// W7 and F13: fills in the DRAM traffic of a launch that starts with a cold L2. It reads its filters once
/// and its input `passes` times, each image from end to end before the image is read again. The part of the
/// output that L2 cannot keep is written. `work` should have its L2 reads: DRAM delivers no more than these.
void fill_dram(Work &work, const ConvShape &shape, const Gpu &gpu, double passes = 1.0);

} // namespace convcast
