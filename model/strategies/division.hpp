// What the two single-channel divisions share: the rules of section 3.1 and the inner loop's cost.
#pragma once

#include "model/paper/papers.hpp"
#include "model/strategies/strategy.hpp"
#include "model/work/instructions.hpp"

namespace convcast::division {

inline constexpr std::int64_t register_cap = 64; ///< two CTAs of 512 threads fill a file of 65,536 registers

inline constexpr std::int64_t most_pieces = 65536;

/// Rows and filters that a thread computes at a time (kernel convolve_band).
struct Tile {
    std::int64_t rows, group;
};
Tile choose_tile(std::int64_t rows, std::int64_t filters);

/// Registers of a thread as compiled for sm_90 (NVRTC 13.0): a third CTA fits an SM where a thread has few
/// sums and taps.
std::int64_t registers_of(const ConvShape &shape, Tile tile);

/// What one call of convolve_band costs for a band of `rows` rows and `filters` filters.
StepWork band_work(const ConvShape &shape, Tile tile, std::int64_t rows, std::int64_t filters);

/// Bytes of the sectors that such a call writes: warps begin anew in each band and go on from one group of
/// filters to the next.
double band_written_bytes(const ConvShape &shape, Tile tile, std::int64_t rows, std::int64_t filters);

/// Makes the step of the first half of a full share that of an average CTA with a share (F18): its FFMAs and
/// what goes with them by the launch's, its copies by `copying`, the warp instructions of those of all steps.
void average_step(Partition &part, double copying);

/// Warps of a CTA that have outputs in such a call.
std::int64_t busy_warps(const ConvShape &shape, Tile tile, std::int64_t rows, std::int64_t filters);

/// What copying `floats` floats of map, or `filters` filters, to shared memory costs in warp instructions.
double copy_instructions(std::int64_t floats, bool wide);
double filter_copy_instructions(std::int64_t filters, std::int64_t taps, std::int64_t group);

/// Warp instructions of a CTA's warps before the first piece, and of every piece, as compiled for sm_90.
inline constexpr double warps_per_cta = 512.0 / 32.0;
inline constexpr double cta_instructions = (instructions::warp + instructions::place) * warps_per_cta;
/// The last piece fetches none after it; a single one, copied at once, is simpler.
constexpr double piece_instructions(std::int64_t pieces) {
    return (pieces > 1 ? instructions::step - instructions::loop / static_cast<double>(pieces)
                       : instructions::loop) *
           warps_per_cta;
}
/// And of a CTA that finds no share for itself: two divisions.
inline constexpr double idle_cta_instructions = instructions::place * warps_per_cta;

/// The part of an image's `shares` whose two halves run on the same SM (F19). The halves lie N_SM apart in
/// the grid. The first shares have their halves on different SMs (halves_apart), and so has every share
/// behind those that follow (halves_together).
inline double halves_meet(std::int64_t shares, const Architecture &architecture) {
    const auto alone = static_cast<std::int64_t>(architecture.halves_apart->value),
               together = static_cast<std::int64_t>(architecture.halves_together->value);
    const std::int64_t meet = shares <= alone ? 0 : shares - alone < together ? shares - alone : together;
    return static_cast<double>(meet) / static_cast<double>(shares);
}

/// The rules of section 3.1, where the profile has the numbers.
Rules rules(const ConvShape &shape, const GpuProfile &profile);

/// Why the divisions cannot do a shape; "" if they can.
std::string unsupported(const ConvShape &shape);

/// The smallest integer in [first, last] for which `fits` holds, if more pieces never need more room.
template <class Fits>
std::optional<std::int64_t> smallest_fitting(std::int64_t first, std::int64_t last, const Fits &fits) {
    if (first > last || !fits(last))
        return std::nullopt;
    while (first < last) {
        const std::int64_t middle = first + (last - first) / 2;
        if (fits(middle))
            last = middle;
        else
            first = middle + 1;
    }
    return first;
}

/// Remark when the pieces that run differ from the paper's.
void remark_pieces(Rules &rules, const char *letter, std::int64_t paper, std::int64_t run);

} // namespace convcast::division
