// The papers' rules verbatim. Integers stay integers, rounded where the papers round; symbols and the ids D1,
// G1, ... are those of docs/equations.md. "Chang" is the Pascal paper, "Chen" the Kepler paper.
#pragma once

#include "model/base/describe.hpp"
#include "model/machine/profile.hpp"
#include "model/paper/rules.hpp"
#include "model/shape/conv_shape.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace convcast::papers {

/// Chang, section 2.2, counts two FMAs per core and clock where the hardware retires one. The paper's rules
/// keep its count; Rules::hardware_n_fma has one.
inline constexpr std::int64_t fmas_per_core_and_clock = 2;
inline constexpr std::int64_t warp_threads = 32;
inline constexpr std::int64_t ctas_per_sm = 2;       ///< Chang, section 4: 2 * N_sm blocks ...
inline constexpr std::int64_t threads_per_cta = 512; ///< ... of 512 threads

/// Fields of the profile that Table 1 needs and this profile lacks, comma-separated; "" if all are there.
std::string missing_for_table1(const GpuProfile &profile);

/// Chang's Table 1: how much work and how many bytes in flight hide a GPU's memory latency. Throws InputError
/// that names the fields which the profile lacks.
Rules table1(const GpuProfile &profile);

/// What P (or Q) may be by rules 1 and 2 of section 3.1 (D3), and the choice by rule 3 (D4).
struct PieceChoice {
    std::int64_t upper = 0;            ///< largest integer by rule 1
    std::optional<std::int64_t> lower; ///< smallest integer by rule 2; absent: no number of pieces fits
    std::int64_t chosen = 1;           ///< smallest in range, or 1 where the range is empty
    bool in_range = false;
    std::string why; ///< when the range is empty: which bound fails
    CONVCAST_MEMBERS(PieceChoice, upper, lower, chosen, in_range, why)
};

/// Section 3.1 for a single-channel shape, D3 and D4. M = k, Wx = w, Wy = h, K*K = r*s.
struct Division {
    PieceChoice p, q;                        ///< before rule 4
    std::int64_t d1 = 0, d2 = 0;             ///< bytes, with the chosen P and Q; eq. (4) or (5), (7) or (8)
    std::int64_t th1 = 0, th2 = 0;           ///< FMAs, eq. (6) and (9)
    int method = 1;                          ///< rule 4: division 1 if D1 < D2, else 2
    std::int64_t pieces_p = 1, pieces_q = 1; ///< after rule 4
    bool overruns_shared = false; ///< the chosen division's D exceeds S_shared although rule 2 allowed it
    CONVCAST_MEMBERS(Division, p, q, d1, d2, th1, th2, method, pieces_p, pieces_q, overruns_shared)
};

/// Division 1 gives each of n_sm SMs a share of the filters and the map in P pieces, division 2 a share of
/// the map and the filters in Q pieces. D1 and D2 are the bytes that an SM holds, Th1 and Th2 the FMAs that
/// it does with a piece.
std::int64_t d1_bytes(const ConvShape &s, std::int64_t n_sm, std::int64_t p);
std::int64_t th1_fmas(const ConvShape &s, std::int64_t n_sm, std::int64_t p);
std::int64_t d2_bytes(const ConvShape &s, std::int64_t n_sm, std::int64_t q);
std::int64_t th2_fmas(const ConvShape &s, std::int64_t n_sm, std::int64_t q);
/// Rules 1 to 4 for a shape of one channel. Throws InputError as table1 does.
Division divide_single_channel(const ConvShape &s, const GpuProfile &profile);

/// A division between 1 and 2 (the third of section 2.3): the filters in `filter_shares` parts, the map's
/// rows in `map_shares`, an SM for each pair.
struct Redivision {
    std::int64_t filter_shares = 1, map_shares = 1;
    std::int64_t share_bytes = 0; ///< of an SM, as D1 and D2 count them
    std::int64_t share_fmas = 0;
    std::int64_t moved_bytes = 0; ///< to all SMs
    bool exceeds_v_s = false;
};

/// Bytes that one of these shares holds and FMAs that it does, as equations (4) to (9) count them.
std::int64_t share_bytes(const ConvShape &s, std::int64_t filter_shares, std::int64_t map_shares);
std::int64_t share_fmas(const ConvShape &s, std::int64_t filter_shares, std::int64_t map_shares);

/// Step 4 of section 2.2 (D5), for shapes where the division of rule 4 gives an SM fewer FMAs than N_FMA. Of
/// the divisions whose shares fit shared memory (S_shared) it takes the one that moves the fewest bytes above
/// V_s; where none moves so many, the one that moves most. Absent where an SM has N_FMA or no division fits.
std::optional<Redivision> redivide(const ConvShape &s, const GpuProfile &profile);

/// Chang, section 3.2: a block loads in each step a segment of S bytes of each of M' filters (tile_k) and the
/// lines of W'x pixels (tile_w) that it needs. Lines by the paper (G1): W'y = ceil(S / (K * 4)).
std::int64_t lines_per_segment(std::int64_t segment_bytes, std::int64_t filter_width);
/// The most lines that a kernel must load: one more where a segment begins within a row of the filter.
std::int64_t lines_touched(std::int64_t segment_bytes, std::int64_t filter_width);
/// Rule 3 (G2): the fewest filters with which a step has n_fma FMAs.
std::int64_t tile_k_min(std::int64_t n_fma, std::int64_t segment_bytes, std::int64_t tile_w);
std::int64_t step_fmas(std::int64_t segment_bytes, std::int64_t tile_w, std::int64_t tile_k);
/// Rule 4 (G3) with bytes in both terms: S * M' + W'y * W'x * 4 <= S_shared / 2.
std::int64_t step_bytes(std::int64_t segment_bytes, std::int64_t filter_width, std::int64_t tile_w,
                        std::int64_t tile_k);

/// Chen (1), C1: elements that a bank holds, n = W_SMB / W_CD, at least 1.
std::int64_t bank_ratio(Bytes bank_width, std::int64_t element_bytes);

/// Chen 2.2, C2: the most products that one pixel of the input is a factor of, K * K * F.
std::int64_t pixel_uses(std::int64_t filter_height, std::int64_t filter_width, std::int64_t filters);
/// Chen 4.2, C3: reads of pixels from shared memory by a thread that computes `pixels` neighbouring outputs,
/// as a share of one read for each product: (W_T + K - 1) / (W_T * K).
double shared_reads(std::int64_t pixels, std::int64_t filter_width);
/// Chen 4.3, C4: reads of pixels from global memory over those of a product of matrices, about 1 / K.
double global_reads(std::int64_t filter_height);

} // namespace convcast::papers
