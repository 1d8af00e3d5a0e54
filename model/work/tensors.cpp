#include "model/work/tensors.hpp"

#include "model/base/divide.hpp"
#include "model/paper/papers.hpp"
#include "model/work/activity.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace convcast {

double spanned_bytes(double bytes, std::int64_t grain) {
    const double whole = std::ceil(bytes / double(grain)) * double(grain);
    return (grain > 4 ? whole : bytes) + double(32 - grain);
}

std::int64_t row_grain(const ConvShape &shape, std::int64_t step, std::int64_t pad) {
    const std::int64_t element = shape.element_bytes();
    return std::gcd(std::int64_t{32}, element * std::gcd(std::gcd(shape.w, step), pad));
}

double band_bytes(const ConvShape &shape, std::int64_t bands) {
    const double rows = double(shape.p()) / double(bands);
    return (rows + double(shape.r - 1)) * double(shape.w) * 4.0;
}

double covered(std::int64_t tiles, std::int64_t window, std::int64_t step, std::int64_t pad,
               std::int64_t size) {
    const std::int64_t end = (tiles - 1) * step - pad + window; // of the last window
    const std::int64_t cut = std::min(pad, window) + std::clamp<std::int64_t>(end - size, 0, window);
    return double(std::max(tiles * window - cut, std::min(tiles * window, size)));
}

double written_bytes(const ConvShape &shape, StoredAlong along) {
    constexpr std::int64_t sector = 32, lanes = 32;
    const std::int64_t element = shape.result_bytes();
    const std::int64_t line = shape.q() * (along == StoredAlong::planes ? shape.p() : 1) * element;
    const double run = double(lanes * element); // bytes that a warp stores
    return double(shape.output_bytes()) * spanned_bytes(run, std::gcd(line, sector)) / run;
}

double written_bytes_of_columns(const ConvShape &shape, std::int64_t rows, std::int64_t columns) {
    // An element is `columns` outputs. A store has one row of each patch of a plane: every `rows`-th row.
    const std::int64_t q = shape.q() / columns, groups = ceil_div(shape.p(), rows);
    return double(shape.n * shape.k * shape.p()) / double(groups) *
           stored_bytes({.lanes = q, .columns = q, .rows = groups, .pitch = rows * q}, q,
                        columns * shape.result_bytes());
}

double rows_meet_in_a_warp(const ConvShape &shape, std::int64_t rows, std::int64_t columns) {
    constexpr double lanes = 32.0;
    return rows > 1 ? std::max(0.0, 1.0 - double(shape.q() / columns - 1) / lanes) : 0.0;
}

double written_bytes_of_patches(const ConvShape &shape, std::int64_t rows, std::int64_t columns) {
    const double all = written_bytes_of_columns(shape, rows, columns);
    return all - rows_meet_in_a_warp(shape, rows, columns) / 2.0 * (all - double(shape.output_bytes()));
}

double written_bytes_of_flat_rows(const ConvShape &shape, std::int64_t rows) {
    const std::int64_t q = shape.q();
    return double(shape.n * shape.k * shape.p()) / double(rows) *
           stored_bytes({.lanes = shape.w, .columns = q, .rows = rows, .pitch = q},
                        std::gcd(shape.p() * q, rows * q), shape.result_bytes());
}

double footprint_bytes(const ConvShape &s, std::int64_t outputs) {
    return footprint_bytes(s, outputs, s.r, s.s);
}

double footprint_bytes(const ConvShape &s, std::int64_t outputs, std::int64_t tap_rows,
                       std::int64_t tap_columns) {
    const double q = double(s.q()), w = double(s.w);
    if (const std::int64_t plane = s.p() * s.q(); outputs > plane)
        return double(outputs) / double(plane) * footprint_bytes(s, plane, tap_rows, tap_columns);
    const double count = double(outputs), taps_w = double(tap_columns);
    // Pixels from an output's first tap to its last.
    const double reach_h = double(s.dilation_h * (tap_rows - 1) + 1),
                 reach_w = double(s.dilation_w * (tap_columns - 1) + 1);
    const double stride_h = double(s.stride_h), stride_w = double(s.stride_w);
    constexpr double sector = 32.0;
    if (outputs < s.q()) { // part of a row, or the end of one and the start of the next
        const double runs = row_runs(outputs, s.q());
        const double columns = std::min(runs * w, (count - runs) * stride_w + runs * reach_w);
        return double(std::min(tap_rows, s.h)) *
               std::min(columns * 4.0 +
                            runs * spanned_bytes(
                                       0.0, row_grain(s, std::gcd(outputs, s.q()) * s.stride_w, s.pad_w)),
                        count * taps_w * sector);
    }
    const double rows =
        std::min({double(s.h), count / q * double(tap_rows), (count / q - 1.0) * stride_h + reach_h});
    const double span = (q - 1.0) * stride_w + reach_w;
    if (span >= w && rows >= reach_h) // whole rows lie one after another
        return spanned_bytes(rows * w * 4.0, row_grain(s, 0));
    return rows * std::min(spanned_bytes(std::min(span, w) * 4.0, row_grain(s, 0)), q * taps_w * sector);
}

double channel_of_run_bytes(const ConvShape &shape, std::int64_t channels) {
    const std::int64_t run = channels * shape.h * shape.w * shape.element_bytes();
    return spanned_bytes(double(run), std::gcd(std::int64_t{32}, run)) / double(channels);
}

double new_sector_share(std::int64_t bytes, double runs, std::int64_t apart) {
    constexpr std::int64_t sector = 32;
    const double places = std::min(runs, double(sector / std::gcd(sector, apart)));
    return std::min(1.0, places * double(bytes) / double(sector));
}

double row_runs(std::int64_t count, std::int64_t length) {
    return 1.0 + double(count - std::gcd(count, length)) / double(length);
}

double input_read_bytes(const ConvShape &s, const Architecture &architecture) {
    // Of stride_h rows, those that taps read: tap * dilation modulo stride repeats after stride / gcd taps.
    const std::int64_t read = std::min(s.r, s.stride_h / std::gcd(s.dilation_h, s.stride_h));
    const double unit = architecture.dram_unit->value;
    const double least = double(s.element_bytes());
    const double row = double(s.w) * least;
    return double(s.input_bytes()) *
           std::min(1.0, double(read) * (row + unit - least) / (double(s.stride_h) * row));
}

namespace {

/// Bytes of a launch's outputs that L2 cannot keep (W7). L2 keeps the bytes that passed it last: outputs take
/// the place of a copy in each half of L2, and data read of a copy in each half that has readers of them,
/// which the number of reads per byte tells.
double written_to_dram(double outputs, const Work &work, const Gpu &gpu) {
    const double reads = work.dram_read_bytes.value_or(0.0), copies = gpu.architecture.l2_copies->value,
                 readers = reads > 0.0 ? std::max(1.0, work.l2_read_bytes.value_or(reads) / reads) : 1.0;
    const double read_copies = copies - (copies - 1.0) * std::pow(copies, 1.0 - readers);
    return outputs *
           std::max(0.0, 1.0 - double(gpu.limits.l2_bytes) / (reads * read_copies + outputs * copies));
}

} // namespace

std::int64_t first_tap_of(const ConvShape &s, std::int64_t pixel) {
    return pixel / (s.p() * s.q()) * (s.c * s.h * s.w) + pixel / s.q() % s.p() * s.stride_h * s.w +
           pixel % s.q() * s.stride_w;
}

double lines_touched(double run_bytes, double rows, double pitch_bytes) {
    constexpr double line = 128.0, least = 4.0; // a run of `least` bytes touches one line
    const double all = (rows - 1.0) * pitch_bytes + run_bytes;
    return std::min(rows * ((run_bytes - least) / line + 1.0), (all - least) / line + 1.0);
}

double image_reads(const ConvShape &shape, double of_cta, double ctas, const Partition &part,
                   const Gpu &gpu) {
    const double images = double(shape.n), of_image = double(shape.input_bytes()) / images;
    return images * read_through_l1(of_cta, std::max(of_cta, of_image), ctas, part, gpu, Again::anywhere);
}

double filter_reads(double of_row, double all, double rows, double row_ctas, const Partition &part,
                    const Gpu &gpu) {
    return std::min(rows * read_through_l1(of_row, of_row, row_ctas, part, gpu, Again::in_turn),
                    read_through_l1(of_row, all, double(part.ctas), part, gpu, Again::in_turn));
}

Readers filter_readers(const ConvShape &shape, double row_ctas, double rows) {
    return row_ctas > 1.0 ? Readers{row_ctas, 1.0} : Readers{double(shape.n), rows};
}

double written_bytes_of_tiles(const ConvShape &shape, std::int64_t tile_w, std::int64_t tile_h) {
    const std::int64_t q = shape.q(), p = shape.p();
    const bool several = tile_w < q || tile_h < p;
    // Tiles begin at multiples of so many outputs.
    const std::int64_t grid = several ? std::gcd(p * q, std::gcd(tile_h * q, tile_w)) : p * q;
    return double(shape.n * shape.k) *
           over(Loop{q, tile_w}, Loop{p, tile_h}, [&](std::int64_t columns, std::int64_t rows) {
               return stored_bytes({.lanes = tile_w, .columns = columns, .rows = rows, .pitch = q}, grid,
                                   shape.result_bytes());
           });
}

std::int64_t l2_room(const Gpu &gpu) {
    // Since Ampere L2 has two halves that keep copies of each other's lines: half of it holds distinct data.
    return gpu.limits.l2_bytes / static_cast<std::int64_t>(gpu.architecture.l2_copies->value);
}

double lost_from_l2(double bytes, const Gpu &gpu) {
    // Counted on an H200 for data read from end to end over and over: if they are as large as the half of L2
    // that holds distinct lines, a quarter comes from DRAM again; if a quarter larger, all.
    const Architecture &of = gpu.architecture;
    const double fill = bytes / (double(gpu.limits.l2_bytes) / of.l2_copies->value);
    return std::clamp((fill - of.l2_losing->value) / of.l2_lost->value, 0.0, 1.0);
}

void fill_dram(Work &work, const ConvShape &shape, const Gpu &gpu, double passes) {
    const double read = input_read_bytes(shape, gpu.architecture), once = read + double(shape.filter_bytes());
    const double image = double(shape.input_bytes()) / double(shape.n);
    work.dram_read_bytes = once + std::max(0.0, passes - 1.0) * read * lost_from_l2(image, gpu);
    if (work.l2_read_bytes) // every byte from DRAM passes L2
        work.dram_read_bytes = std::min(*work.dram_read_bytes, std::max(*work.l2_read_bytes, once));
    work.dram_write_bytes = written_to_dram(double(shape.output_bytes()), work, gpu);
}

} // namespace convcast
