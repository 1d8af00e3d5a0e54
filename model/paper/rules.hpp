// The papers' numbers of a case, as documents hold them, and what the papers' kernels are built for.
#pragma once

#include "model/base/describe.hpp"
#include "model/machine/profile.hpp"
#include "model/shape/conv_shape.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {

/// The papers' numbers that apply to a case; docs/equations.md.
struct Rules {
    std::optional<std::int64_t> n_fma;     ///< FMAs per SM that hide the latency
    std::optional<std::int64_t> v_s_bytes; ///< bytes in flight, whole GPU, that hide the latency
    std::optional<std::int64_t> threads_per_sm, warps_per_sm;
    /// Table 1's steps before and between (T2 to T5): of the whole GPU, and what an SM's threads load.
    std::optional<std::int64_t> bytes_per_clock, data_bytes, threads, bytes_per_sm;
    /// What the chip does instead: FMAs that an SM really retires in one latency, one a core and clock, and
    /// the bytes in flight that bring 90 % of DRAM's bandwidth (M1), or bandwidth times latency where no
    /// curve was measured.
    std::optional<double> hardware_n_fma, hardware_bytes;
    std::optional<std::int64_t> method;             ///< division 1 (filters over SMs) or 2 (map over SMs)
    std::optional<std::int64_t> pieces_p, pieces_q; ///< after rule 4
    std::optional<std::int64_t> candidate_p, candidate_q;     ///< before rule 4
    std::optional<std::int64_t> d1_bytes, d2_bytes, th1, th2; ///< as compared in rule 4
    std::optional<std::int64_t> run_pieces;                   ///< what really fits and runs
    /// Step 4 of section 2.2, where an SM has fewer FMAs than N_FMA: parts of the filters and of the map, and
    /// what moves to all SMs.
    std::optional<std::int64_t> redivided_filters, redivided_map, redivided_bytes;
    std::optional<std::int64_t> segment_bytes, tile_w, tile_k_min, step_fma;
    std::optional<std::int64_t> step_lines, step_bytes; ///< W'y (G1), and what rule 4 bounds (G3)
    std::optional<double> bank_ratio;                   ///< n = W_SMB / W_CD
    std::optional<std::int64_t> pixel_uses; ///< K * K * F: products that a pixel of the input is in at most
    /// Reads of pixels: from shared memory over one for each product, (W_T + K - 1) / (W_T * K), and from
    /// global memory over those of a product of matrices, about 1 / K.
    std::optional<double> shared_reads, global_reads;
    /// One round as the paper counts it: its FMAs on an SM, against n_fma, and its bytes of all SMs, against
    /// v_s_bytes.
    std::optional<double> round_fmas, round_bytes;
    std::vector<std::string> remarks; ///< e.g. "no P in range: lower bound 12 > upper bound 3"
    CONVCAST_MEMBERS(Rules, n_fma, v_s_bytes, threads_per_sm, warps_per_sm, bytes_per_clock, data_bytes,
                     threads, bytes_per_sm, hardware_n_fma, hardware_bytes, method, pieces_p, pieces_q,
                     candidate_p, candidate_q, d1_bytes, d2_bytes, th1, th2, run_pieces, redivided_filters,
                     redivided_map, redivided_bytes, segment_bytes, tile_w, tile_k_min, step_fma, step_lines,
                     step_bytes, bank_ratio, pixel_uses, shared_reads, global_reads, round_fmas, round_bytes,
                     remarks)
};

/// The rules of Chang's Table 1; all fields are absent where the profile lacks numbers for them.
Rules table1_rules(const GpuProfile &profile);

/// The rules that a shape has by itself, whatever kernel runs it: Table 1 and, where the shape has one
/// channel and the papers' kernels do it, the division of section 3.1.
Rules shape_rules(const ConvShape &shape, const GpuProfile &profile);

/// A sentence on whether the bytes of `whose`, as "the filters'", stay on the SMs by the paper's condition
/// (section 2.3): they are fewer than N_sm * S_shared.
std::string cached_remark(const std::string &whose, std::int64_t bytes, const GpuLimits &limits);

/// Which elements a strategy's kernels are built for.
enum class Elements { floats, floats_and_short };

/// Why a shape is outside what the papers' kernels do (stride 1, no padding, dilation or groups, and FP32
/// unless the strategy's kernels have shorter elements, too); "" if it is inside.
std::string outside_papers(const ConvShape &shape, Elements elements = Elements::floats);

} // namespace convcast
