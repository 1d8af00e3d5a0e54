// What every strategy is made of: knobs with names and limits, and a plan.
#pragma once

#include "model/architecture.hpp"
#include "model/conv_shape.hpp"
#include "model/l2_sectors.hpp"
#include "model/profile.hpp"
#include "model/run.hpp"
#include "model/shared_access.hpp"

#include <string>
#include <variant>
#include <vector>

namespace convcast {

/// A knob of strategy S: an integer member, its candidates for `choose`, and what it means.
template <class S> struct Knob {
    const char *name;
    int S::*member;
    int low, high;               ///< accepted values
    std::vector<int> candidates; ///< what `choose` tries; empty: only the default
    const char *doc;             ///< with its unit
};

/// A plan that can run, and the paper's numbers behind it.
struct Feasible {
    Plan plan;
    Rules rules;
    /// One round as the paper counts it, per SM: what its rule compares with N_FMA, and (times N_sm) with
    /// V_s.
    double paper_round_fmas = 0.0, paper_round_bytes = 0.0;
    std::vector<std::string> assumptions;
};

/// A shape or knob setting that this strategy or GPU cannot do.
struct Infeasible {
    std::string why;
    bool unsupported = false; ///< the strategy never does such shapes, on any GPU
};

template <class S> struct Planned {
    S strategy; ///< with every automatic knob replaced by the value that runs
    Feasible feasible;
};

template <class S> using PlanResult = std::variant<Planned<S>, Infeasible>;

/// A product of FP32 numbers by tensor cores: each factor in two TF32 parts, three products of parts.
inline constexpr double products_of_parts = 3.0;

/// Whether a launch multiplies on tensor cores: never to be compared as if it were FFMAs.
bool uses_tensor_cores(const Plan &plan);

/// CTAs of one SM by threads, registers and shared memory (docs/model.md, "Occupancy"); 0 if one does not
/// fit.
int resident_ctas(const GpuLimits &limits, std::int64_t threads, std::int64_t registers,
                  std::int64_t shared_bytes);

/// Fills ctas, waves and tail from the grid and `ctas_per_sm`.
void fill_schedule(Partition &partition, const GpuLimits &limits);

/// Makes the step the average one of a launch whose CTAs all have the same steps, some with less work: the
/// last channels, or the last rows. By the instructions that the plan counts for both.
void average_step(Partition &partition);

/// The rules of Table 1, where the profile has the numbers for them.
Rules table1_rules(const GpuProfile &profile);

/// Bytes of the 32-byte sectors that `bytes` contiguous bytes touch, on average over starts at multiples of
/// `grain` bytes.
double spanned_bytes(double bytes, std::int64_t grain = 4);

/// Bytes that starts of runs in a map's rows are multiples of, up to a sector, where they are `step` pixels
/// apart and `pad` before the row.
std::int64_t row_grain(const ConvShape &shape, std::int64_t step, std::int64_t pad = 0);

/// Passes through shared memory of a 128-bit load at one address for the whole warp, as counted on sm_90; a
/// 32- or 64-bit one takes a single pass.
inline constexpr double uniform_wide_wavefronts = hopper::uniform_wide_wavefronts.value;

/// Passes of the shared memory pipe per 128 bytes copied asynchronously, by 16 and by 4 bytes a lane.
/// Assumed: what kernels that do little else took on an H200 (2.5 to 4.9 clocks a 4-byte copy of a warp).
inline constexpr double wide_copy_passes = hopper::wide_copy_passes.value,
                        narrow_copy_passes = hopper::narrow_copy_passes.value;

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

/// Of data that is read again after `bytes` of others have passed through L2, the share that DRAM delivers
/// again.
double lost_from_l2(double bytes, const GpuLimits &limits);

/// Bytes of the input that DRAM delivers, in units of 64: all rows, or those that taps read, where a stride
/// leaves others out.
double input_read_bytes(const ConvShape &shape);

/// DRAM traffic of a call that starts with a cold L2: inputs read once; of the output, what L2 cannot keep.
void fill_dram(Work &work, const ConvShape &shape, const GpuLimits &limits);

/// And of one that reads its input `passes` times, an image from end to end before it starts again.
void fill_dram(Work &work, const ConvShape &shape, const GpuLimits &limits, double passes);

/// The paper's condition for data that stays on the SMs (section 2.3): its bytes against N_sm * S_shared.
std::string cached_remark(const std::string &whose, std::int64_t bytes, const GpuLimits &limits);

/// Which elements a strategy's kernels are built for.
enum class Elements { floats, floats_and_short };

/// Why a shape is outside what the papers' kernels do (stride 1, no padding, dilation or groups, FP32 unless
/// the strategy has shorter elements); "" if it is inside.
std::string outside_papers(const ConvShape &shape, Elements elements = Elements::floats);

} // namespace convcast
