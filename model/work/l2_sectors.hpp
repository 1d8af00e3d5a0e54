// What of a launch's reads and writes L2 sees: sectors of copies and stores, and what L1 keeps from one CTA
// to the next.
#pragma once

#include "model/machine/architecture.hpp"
#include "model/plan/plan.hpp"

#include <initializer_list>
#include <span>
#include <vector>

namespace convcast {

/// A loop around copies: its counter runs from 0 to `count` - 1 and moves a copy by `bytes` each time.
struct Stride {
    std::int64_t bytes = 0, count = 1;
};

/// Strides of destination minus source in a prefetch pipeline of `steps` steps. Step t fills buffer t mod
/// `stages`; buffers lie `buffer` bytes apart, and each step reads `step` bytes further on. next_buffer: the
/// change from one step to the next. next_turn: the change from one round through all buffers to the next.
constexpr Stride next_buffer(std::int64_t buffer, std::int64_t step, std::int64_t stages,
                             std::int64_t steps) {
    return {buffer - step, stages < steps ? stages : steps};
}
constexpr Stride next_turn(std::int64_t step, std::int64_t stages, std::int64_t steps) {
    return {-stages * step, (steps + stages - 1) / stages};
}

/// The share, 0 to 1, of a copy's runs that begin at an odd multiple of 16 bytes, in the second half of a
/// sector. A run begins at `offset` bytes plus what the strides add; each stride's counter takes all its
/// values independently of the others. Offset and strides are multiples of 16 bytes.
double share_at_odd_16_bytes(std::int64_t offset, std::span<const Stride> strides);
inline double share_at_odd_16_bytes(std::int64_t offset, std::initializer_list<Stride> strides) {
    return share_at_odd_16_bytes(offset, std::span<const Stride>(strides.begin(), strides.size()));
}

/// The share, 0 to 1, of a copy's runs whose source and destination have the same offset in a line of 128
/// bytes. `offset` and `strides` are those of destination minus source, multiples of 16 bytes. Requests of
/// the other runs are never coalesced with those of other SMs (W6).
double alike_in_lines(std::int64_t offset, std::span<const Stride> strides);
inline double alike_in_lines(std::int64_t offset, std::initializer_list<Stride> strides) {
    return alike_in_lines(offset, std::span<const Stride>(strides.begin(), strides.size()));
}

/// Whether runs of `run` bytes, whose sources and destinations lie multiples of each of `apart` bytes apart,
/// never cross the end of a line of 128 bytes. Their requests are coalesced wherever in a line they lie.
bool inside_lines(std::int64_t run, std::initializer_list<std::int64_t> apart);

/// Bytes of the sectors that asynchronous copies of 16 bytes a lane request from L2 for a run of `bytes`
/// (W4), on average. L1 does not keep them. `crossed`: the share of the runs whose source and destination
/// differ by 16 modulo 32 bytes. There each half of a sector is a request of its own: it comes twice. `odd`:
/// the share of the runs that begin inside a sector. Counters of sm_90 say exactly twice, or once.
double wide_copy_bytes(double bytes, double crossed, double odd);

/// Which lane stores which output. Each of `rows` rows has `lanes` lanes, of which the first `columns` store
/// an element each; the lanes of the next row follow. Rows lie `pitch` elements apart in memory. The first
/// row begins with lane `first_lane` of its warp.
struct StoredRows {
    std::int64_t lanes = 0, columns = 0, rows = 0, pitch = 0, first_lane = 0;
};

/// Bytes of the sectors that warps of such lanes write, on average over where the first element lies: at any
/// multiple of `grid` elements (W5). A sector of which two warps, or two stores, write a part each counts
/// twice: L1 does not gather it.
double stored_bytes(const StoredRows &stored, std::int64_t grid, std::int64_t element_bytes);

/// Bytes of the sectors that a store writes only a part of (F21). `stored`: bytes of the outputs. `written`:
/// bytes of the sectors that the stores touch. Runs are no shorter than a sector, and a sector that two runs
/// share is written in part by both.
double written_in_part(double written, double stored);

/// Bytes of an SM's L1 that the shared memory of the resident CTAs leaves (W9).
double l1_bytes(const Partition &part, const Gpu &gpu);

/// Share of data that a cache has lost when they are read again, after `fill` times what it holds has been
/// read in between (W10, F13). Lines are evicted at random, and only a line that misses evicts another, so
/// the share f solves f = 1 - exp(-f * fill). It is 0 where everything fits.
double lost_at_random(double fill);

/// The share of data that L1 has lost when an SM reads them again, after `between` bytes of others have
/// passed through L1 (W10). Lines are evicted at random (lost_at_random), or by others of the same set.
double lost_from_l1(double between, const Partition &part, const Gpu &gpu);

/// How CTAs read data that others of their SM have read: all of it in the same order, or anywhere in it.
enum class Again { in_turn, anywhere };

/// W4: bytes that the SMs request from L2 when each of `ctas` neighbouring CTAs of a launch reads `of_cta`
/// bytes out of a range of `all` through L1. If the range fits L1, each SM requests it once. If not, a
/// sequential re-read hits what has not been evicted yet, and a re-read anywhere hits only as many CTAs'
/// reads as fit together. Each CTA also passes `beside` bytes of its own through L1: other reads, and
/// stores, which take lines too. A cluster that ends leaves nothing in L1.
double read_through_l1(double of_cta, double all, double ctas, const Partition &part, const Gpu &gpu,
                       Again again, double beside = 0.0);

/// Bytes that an SM requests from L2 when a CTA reads `filters` neighbouring filters of `bytes` each through
/// L1, on average. If L1 has room for all, a sector that two filters share is requested once.
double filter_run_bytes(double filters, double bytes, const Partition &part, const Gpu &gpu);

/// CTAs of a grid that read the same data: how many they are, and how far apart their numbers in the grid
/// are. CTAs are counted along x, then y, then z.
struct Readers {
    double ctas = 1.0, apart = 1.0;
};

/// Reads of two tensors by the same launch.
MergeableReads operator+(MergeableReads a, const MergeableReads &b);

/// Splits `bytes` requested from L2, which `readers` have in common, by how many SMs of the same GPC (16 or
/// 18 SMs of an H200) request them: only these requests can be coalesced (W6).
MergeableReads mergeable_reads(double bytes, Readers readers, const Partition &part, const Gpu &gpu);

/// Bytes of one tensor that the SMs request from L2.
struct Reads {
    double bytes = 0.0;
    Readers readers = {}; ///< the CTAs that request the same
    double alike = bytes; ///< the part whose requests can be coalesced with those of other SMs (W6)
};

/// Fills in the bytes that a launch reads from L2, and the part of them that several SMs read.
void set_reads(Partition &part, const std::vector<Reads> &reads, const Gpu &gpu);

/// How requests of a kernel's SMs coalesce before L2 (W6): `met` is a fact of the kernel, `drift` of all.
struct Merging {
    double met = 0.0; ///< how likely two requests are under way at once, times the readers; 0: none coalesce
    /// Exponent of desynchronisation: SMs that start in lockstep drift apart as time^drift. 0.5 is a random
    /// walk, 0 is lockstep for ever.
    double drift = 0.5;
};

/// How many of the mergeable bytes never reach L2, because coalescing answers their requests (W6).
/// `instructions`: warp instructions of the whole launch, by which its SMs drift apart.
double merged_bytes(const MergeableReads &mergeable, double instructions, const Merging &merging,
                    const Architecture &architecture);

} // namespace convcast
