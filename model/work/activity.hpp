// One counter for what warps do: a strategy lists it with how often, and the sum is the work of a step, of a
// CTA and of the whole launch.
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
    double least_wavefronts = 0.0; ///< of its shared_wavefronts, had no words met in a bank
    Activity &operator+=(const Activity &more);
};
Activity operator+(Activity a, const Activity &b);
Activity operator*(double times, const Activity &one);

/// A loop over `total` things, `tile` of them at a time: all its turns but the last are whole.
struct Loop {
    std::int64_t total = 1, tile = 1;
    std::int64_t turns() const { return (total + tile - 1) / tile; }
    std::int64_t last() const { return total - (turns() - 1) * tile; }
};

/// Sum over the turns of a loop: of body(things of the turn).
template <class Body> auto over(const Loop &loop, const Body &body) {
    if (loop.last() == loop.tile)
        return double(loop.turns()) * body(loop.tile);
    auto sum = body(loop.last());
    if (loop.turns() > 1)
        sum += double(loop.turns() - 1) * body(loop.tile);
    return sum;
}
template <class Body> auto over(const Loop &outer, const Loop &inner, const Body &body) {
    return over(outer,
                [&](std::int64_t i) { return over(inner, [&](std::int64_t j) { return body(i, j); }); });
}
template <class Body> auto over(const Loop &first, const Loop &outer, const Loop &inner, const Body &body) {
    return over(first, [&](std::int64_t i) {
        return over(outer, inner, [&](std::int64_t j, std::int64_t k) { return body(i, j, k); });
    });
}

/// Loads of a lane that a kernel unrolls together: words word(0) to word(count - 1), each loaded once.
template <class Word> std::int64_t distinct_loads(std::int64_t count, const Word &word) {
    std::vector<std::int64_t> words;
    for (std::int64_t i = 0; i < count; ++i)
        words.push_back(word(i));
    std::sort(words.begin(), words.end());
    return std::unique(words.begin(), words.end()) - words.begin();
}

namespace does {

/// FFMAs of `threads` threads in `warps` warps, `each` a thread.
Activity ffmas(std::int64_t threads, std::int64_t warps, std::int64_t each);
/// Loads of shared memory by `warps` warps together, made `times`: wavefronts of all warps' addresses.
Activity loads(std::int64_t times, const Passes &passes, std::int64_t warps = 1);
/// Loops of `outer` iterations together, each of them with a loop of `inner` that is not unrolled: 0 none.
Activity iterations(std::int64_t outer, std::int64_t inner = 0);

/// `count` pieces of work, each of so many instructions as instructions.hpp says: computing a place, a store.
Activity priced(std::int64_t count, double instructions);

// To shared memory, and not left to the busy warps (StepWork::copying).
/// Copies in loops: `loops` are set up, of which `entered` make any, where a kernel pays for that.
Activity copies(std::int64_t loops, std::int64_t copies, std::int64_t entered = 0);
Activity starts(std::int64_t warps); ///< of a warp or of its step

Activity fetched(std::int64_t floats); ///< from global memory
Activity stored(std::int64_t floats);  ///< to the output

} // namespace does

/// Sets what cores and shared memory do in the whole launch.
void set_core_work(Partition &part, const Activity &launch);

/// Deals the work of a step out to the schedulers. Warp w belongs to scheduler w modulo their number and has
/// shares_of(w) shares of the work. Sets scheduler_warps and busiest_scheduler of `part`.
void deal_out(Partition &part, const Gpu &gpu, std::int64_t warps,
              const std::function<std::int64_t(std::int64_t warp)> &shares_of);

/// A loop around a copy: its iterations, and how far each moves the source and the destination. If the
/// destination has several buffers, it starts again at the first after the last.
struct CopyLoop {
    std::int64_t turns = 1, from_bytes = 0, to_bytes = 0, buffers = 0; ///< buffers 0: it always moves on
};

/// Asynchronous copies of contiguous runs, from global memory to shared memory.
struct Copies {
    bool wide = false; ///< 16 bytes a lane, past L1
    double runs = 0.0, run_bytes = 0.0;
    std::int64_t to = 0;         ///< where the first run begins in shared memory, in bytes
    std::vector<CopyLoop> loops; ///< the loops around the copy; with `to` they say where each run begins
};

/// What L2 sees of copies that miss L1, but for who reads the same (W4, W6).
Reads copied(const Copies &copies);

/// Bytes that one SM requests from L2 when it reads `all` bytes through L1, of which `once` are different
/// ones. Of the re-reads L1 has lost a part, since `between` bytes pass through it before the same byte is
/// read again (W10).
double kept_by_l1(double once, double all, double between, const Partition &part, const Gpu &gpu);

} // namespace convcast
