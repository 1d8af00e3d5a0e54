// Counting what warps do: a strategy lists the activities of its loops, each with how often it comes. Their
// sum is the work of a step, of a CTA or of the whole launch.
#pragma once

#include "model/machine/architecture.hpp"
#include "model/plan/plan.hpp"
#include "model/work/l2_sectors.hpp"
#include "model/work/shared_access.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace convcast {

/// What warps do, counted in the units of StepWork. Activities add up, and are repeated by a factor.
struct Activity {
    StepWork work;
    double least_wavefronts = 0.0; ///< what work.shared_wavefronts would be without bank conflicts
    Activity &operator+=(const Activity &more);
};
Activity operator+(Activity a, const Activity &b);
Activity operator*(double times, const Activity &one);

/// A loop over `total` things, `tile` of them in an iteration (a turn), the last one perhaps fewer.
struct Loop {
    std::int64_t total = 1, tile = 1;
    std::int64_t turns() const { return (total + tile - 1) / tile; }
    std::int64_t last() const { return total - (turns() - 1) * tile; }
};

/// Sum of body(things of the turn) over the turns of a loop. body is called once for all full turns.
template <class Body> auto over(const Loop &loop, const Body &body) {
    if (loop.last() == loop.tile)
        return double(loop.turns()) * body(loop.tile);
    auto sum = body(loop.last());
    if (loop.turns() > 1)
        sum += double(loop.turns() - 1) * body(loop.tile);
    return sum;
}
/// The same sum over nested loops, of body(things of the outer turn, of the inner turn).
template <class Body> auto over(const Loop &outer, const Loop &inner, const Body &body) {
    return over(outer,
                [&](std::int64_t i) { return over(inner, [&](std::int64_t j) { return body(i, j); }); });
}
template <class Body> auto over(const Loop &first, const Loop &outer, const Loop &inner, const Body &body) {
    return over(first, [&](std::int64_t i) {
        return over(outer, inner, [&](std::int64_t j, std::int64_t k) { return body(i, j, k); });
    });
}

/// How many different words are among word(0) to word(count - 1): the loads of a lane where a kernel unrolls
/// all of them, so that the compiler loads each word once.
template <class Word> std::int64_t distinct_loads(std::int64_t count, const Word &word) {
    std::vector<std::int64_t> words;
    for (std::int64_t i = 0; i < count; ++i)
        words.push_back(word(i));
    std::sort(words.begin(), words.end());
    return std::unique(words.begin(), words.end()) - words.begin();
}

namespace does {

/// `each` FFMAs by each of `threads` threads, which lie in `warps` warps.
Activity ffmas(std::int64_t threads, std::int64_t warps, std::int64_t each);
/// `times` loads from shared memory, each by `warps` warps. `passes`: wavefronts of one load by all.
Activity loads(std::int64_t times, const Passes &passes, std::int64_t warps = 1);
/// `outer` iterations of a loop, over all warps. Each of them has a loop of `inner` iterations, or none (0).
Activity iterations(std::int64_t outer, std::int64_t inner = 0);

/// `count` pieces of work of so many warp instructions each, a price of instructions.hpp.
Activity priced(std::int64_t count, double instructions);

/// `copies` warp instructions that copy to shared memory in loops. `loops`: how often a loop is set up.
/// `entered`: how many of these have iterations, if that costs instructions. Counts as StepWork::copying.
Activity copies(std::int64_t loops, std::int64_t copies, std::int64_t entered = 0);
/// The start of a warp, or of its step. Counts as StepWork::copying.
Activity starts(std::int64_t warps);

Activity fetched(std::int64_t floats); ///< their bytes, loaded from global memory
Activity stored(std::int64_t floats);  ///< their bytes, stored to the output

} // namespace does

/// Sets FMAs, instructions, wavefronts and conflicts of part.work to those of `launch`, all CTAs together.
void set_core_work(Partition &part, const Activity &launch);

/// Deals the work of a step out to an SM's schedulers. Warp w of `warps` belongs to scheduler w modulo their
/// number and has shares_of(w) equal shares of the work; 0: it is not busy. Sets scheduler_warps (F11) and
/// busiest_scheduler (F31) of `part`.
void deal_out(Partition &part, const Gpu &gpu, std::int64_t warps,
              const std::function<std::int64_t(std::int64_t warp)> &shares_of);

/// A loop around a copy: its iterations, and by how many bytes each moves the source and the destination. If
/// the destination is one of several buffers, the first comes again after the last.
struct CopyLoop {
    std::int64_t turns = 1, from_bytes = 0, to_bytes = 0, buffers = 0; ///< buffers 0: it never comes back
};

/// Asynchronous copies of contiguous runs, from global memory to shared memory.
struct Copies {
    bool wide = false;           ///< 16 bytes a lane, which bypass L1; else 4
    double runs = 0.0,           ///< of all CTAs
        run_bytes = 0.0;         ///< of one, on average
    std::int64_t to = 0;         ///< where the first run begins in shared memory, in bytes
    std::vector<CopyLoop> loops; ///< the loops around the copy; with `to` they say where each run begins
};

/// Bytes of sectors that copies request from L2 (W4), and the part that can be coalesced (W6). Narrow copies
/// are taken to miss L1. Which CTAs read the same is left out.
Reads copied(const Copies &copies);

/// Bytes requested from L2 by reads of `all` bytes through L1, of which `once` are different ones. The others
/// are re-reads, before each of which `between` bytes pass through L1 and evict a part (W10).
double kept_by_l1(double once, double all, double between, const Partition &part, const Gpu &gpu);

} // namespace convcast
