// What of a launch's reads and writes L2 sees: sectors of copies and stores, and what L1 keeps from one CTA
// to the next.
#pragma once

#include "model/machine/architecture.hpp"
#include "model/plan/plan.hpp"

#include <initializer_list>

namespace convcast {

/// A counter from 0 to `count` - 1 that moves a place by `bytes`.
struct Stride {
    std::int64_t bytes = 0, count = 1;
};

/// A pipeline's step t fills buffer t mod `stages`: what destination less source moves by from one buffer to
/// the next, and from one turn of all buffers to the next, where buffers lie `buffer` bytes apart and steps
/// read `step` bytes further.
constexpr Stride next_buffer(std::int64_t buffer, std::int64_t step, std::int64_t stages,
                             std::int64_t steps) {
    return {buffer - step, stages < steps ? stages : steps};
}
constexpr Stride next_turn(std::int64_t step, std::int64_t stages, std::int64_t steps) {
    return {-stages * step, (steps + stages - 1) / stages};
}

/// The share of a copy's runs that begin at an odd multiple of 16 bytes: `offset` bytes and what the strides
/// add. Counters are taken to be independent.
double odd_halves(std::int64_t offset, std::initializer_list<Stride> strides);

/// The share of a copy's runs whose source and destination lie alike in a line of 128 bytes: requests of the
/// others are never merged with those of other SMs.
double alike_in_lines(std::int64_t offset, std::initializer_list<Stride> strides);

/// Whether all runs of `run` bytes lie in one line at either end, as they start at multiples of each of
/// `apart` bytes: their requests are merged wherever in a line they lie.
bool inside_lines(std::int64_t run, std::initializer_list<std::int64_t> apart);

/// Bytes of the sectors that copies of 16 bytes a lane ask L2 for, a run of `bytes` on average. L1 does not
/// keep them. Where source and destination lie differently in 32 bytes (a share `crossed` of the runs), a
/// sector is asked for twice, by each half; where they lie alike, a share `odd` of the runs begins inside a
/// sector. As counted on sm_90: exactly twice, or once.
double wide_copy_bytes(double bytes, double crossed, double odd);

/// Lanes that take outputs row by row: `lanes` to a row, of which the first `columns` have outputs, `rows` of
/// them, which lie `pitch` elements apart in memory. The first is lane `first_lane` of its warp.
struct StoredRows {
    std::int64_t lanes = 0, columns = 0, rows = 0, pitch = 0, first_lane = 0;
};

/// Bytes of the sectors that warps of such lanes write, on average over first elements at multiples of
/// `grid`. What two warps, or two stores, write of a sector is written twice: L1 does not gather it.
double stored_bytes(const StoredRows &stored, std::int64_t grid, std::int64_t element_bytes);

/// Of `written` bytes of sectors those that are written in part, where the stores write `stored` bytes in
/// runs that are as long as a sector or longer: of each that two runs share, both write a part.
double written_in_part(double written, double stored);

/// Bytes of L1 beside the shared memory of the CTAs that an SM holds.
double l1_bytes(const Partition &part, const Gpu &gpu);

/// Of data that come again after others have passed, `fill` times what a cache holds, the share that it no
/// longer has where it gives up lines at random: only those that are fetched anew drive others out,
/// f = 1 - exp(-f fill).
double lost_at_random(double fill);

/// And of L1 beside a launch's CTAs, where `between` bytes have passed.
double lost_from_l1(double between, const Partition &part, const Gpu &gpu);

/// How CTAs read what others of their SM have read: from its begin to its end, or somewhere in it.
enum class Again { in_turn, anywhere };

/// Bytes that the SMs ask L2 for where each of `ctas` neighbouring CTAs of a launch reads `of_cta` bytes out
/// of `all` through L1. What L1 has room for an SM asks for once; of more, reads that come again in turn find
/// what it has not given up, others the whole CTAs' reads that it has room for. Each CTA passes `beside`
/// bytes of its own through L1: other reads, and stores, which L1 keeps lines for. Clusters find nothing of
/// others that have ended.
double read_through_l1(double of_cta, double all, double ctas, const Partition &part, const Gpu &gpu,
                       Again again, double beside = 0.0);

/// Bytes that an SM asks L2 for where a CTA reads `filters` neighbouring ones of `bytes` each through L1: a
/// sector in which two of them meet is still there when the second is read, if L1 has room for all.
double filter_run_bytes(double filters, double bytes, const Partition &part, const Gpu &gpu);

/// CTAs of a grid that read the same: how many, and how far apart in the order of the grid.
struct Readers {
    double ctas = 1.0, apart = 1.0;
};

MergeableReads operator+(MergeableReads a, const MergeableReads &b);

/// Of `bytes` that the SMs ask L2 for, each what `readers` have in common.
MergeableReads mergeable_reads(double bytes, Readers readers, const Partition &part, const Gpu &gpu);

/// How requests of a kernel's SMs meet on the way to L2 (W6), facts of it.
struct Merging {
    double met = 0.0;   ///< 0: nothing is merged
    double drift = 0.5; ///< how SMs go apart with time: 0.5 by chance, 0 not at all
};

/// Bytes of them that L2 does not see (W6), of a launch of `instructions` warp instructions.
double merged_bytes(const MergeableReads &mergeable, double instructions, const Merging &merging,
                    const Architecture &architecture);

} // namespace convcast
