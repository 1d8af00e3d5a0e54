#include "model/work/activity.hpp"

#include "model/work/instructions.hpp"
#include "model/work/tensors.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace convcast {

Activity &Activity::operator+=(const Activity &more) {
    add(work, more.work, 1.0);
    least_wavefronts += more.least_wavefronts;
    return *this;
}

Activity operator+(Activity a, const Activity &b) {
    return a += b;
}

Activity operator*(double times, const Activity &one) {
    Activity all;
    add(all.work, one.work, times);
    all.least_wavefronts = times * one.least_wavefronts;
    return all;
}

namespace does {
namespace {

/// So many instructions that count as StepWork::copying.
Activity copying(double instructions) {
    Activity all;
    all.work.instructions = all.work.copying = instructions;
    return all;
}

} // namespace

Activity priced(std::int64_t count, double instructions) {
    Activity all;
    all.work.instructions = double(count) * instructions;
    return all;
}

Activity ffmas(std::int64_t threads, std::int64_t warps, std::int64_t each) {
    Activity all = priced(warps * each, 1.0);
    all.work.fmas = double(threads * each);
    return all;
}

Activity loads(std::int64_t times, const Passes &passes, std::int64_t warps) {
    Activity all = priced(times * warps, 1.0);
    all.work.shared_wavefronts = double(times) * passes.taken;
    all.least_wavefronts = double(times) * passes.least;
    return all;
}

Activity iterations(std::int64_t outer, std::int64_t inner) {
    Activity all = priced(outer * (1 + inner), instructions::iteration);
    all.work.turns = double(outer * std::max<std::int64_t>(1, inner));
    return all;
}

Activity copies(std::int64_t loops, std::int64_t copies, std::int64_t entered) {
    return copying(double(loops) * instructions::loop + double(entered) * instructions::iteration +
                   double(copies) * instructions::copy);
}

Activity starts(std::int64_t warps) {
    return copying(double(warps) * instructions::warp);
}

Activity fetched(std::int64_t floats) {
    Activity all;
    all.work.load_bytes = double(floats) * 4.0;
    return all;
}

Activity stored(std::int64_t floats) {
    Activity all;
    all.work.store_bytes = double(floats) * 4.0;
    return all;
}

} // namespace does

void set_core_work(Partition &part, const Activity &launch) {
    part.work.fmas = launch.work.fmas;
    part.work.instructions = launch.work.instructions;
    part.work.shared_wavefronts = launch.work.shared_wavefronts;
    part.work.shared_conflicts = launch.work.shared_wavefronts - launch.least_wavefronts;
}

void deal_out(Partition &part, const Gpu &gpu, std::int64_t warps,
              const std::function<std::int64_t(std::int64_t warp)> &shares_of) {
    std::vector<std::int64_t> busy(
        static_cast<std::size_t>(std::min<std::int64_t>(gpu.limits.schedulers_per_sm, warps))),
        shares(busy);
    std::int64_t all_busy = 0, all_shares = 0;
    for (std::int64_t warp = 0; warp < warps; ++warp) {
        const std::int64_t warp_shares = shares_of(warp);
        const auto scheduler = static_cast<std::size_t>(warp % std::ssize(busy));
        busy[scheduler] += warp_shares > 0 ? 1 : 0, all_busy += warp_shares > 0 ? 1 : 0;
        shares[scheduler] += warp_shares, all_shares += warp_shares;
    }
    part.scheduler_warps = *std::max_element(busy.begin(), busy.end());
    part.busiest_scheduler = double(*std::max_element(shares.begin(), shares.end()) * all_busy) /
                             double(*part.scheduler_warps * all_shares);
}

Reads copied(const Copies &copies) {
    if (!copies.wide) {
        return {copies.runs * spanned_bytes(copies.run_bytes)};
    }
    std::vector<Stride> sources, differences; // destination less source
    for (const CopyLoop &loop : copies.loops) {
        sources.push_back({loop.from_bytes, loop.turns});
        if (loop.buffers == 0) {
            differences.push_back({loop.to_bytes - loop.from_bytes, loop.turns});
        } else {
            differences.push_back(next_buffer(loop.to_bytes, loop.from_bytes, loop.buffers, loop.turns));
            differences.push_back(next_turn(loop.from_bytes, loop.buffers, loop.turns));
        }
    }
    const double bytes =
        copies.runs * wide_copy_bytes(copies.run_bytes, share_at_odd_16_bytes(copies.to, differences),
                                      share_at_odd_16_bytes(0, sources));
    return {bytes, {}, bytes * alike_in_lines(copies.to, differences)};
}

double kept_by_l1(double once, double all, double between, const Partition &part, const Gpu &gpu) {
    return once + std::max(0.0, all - once) * lost_from_l1(between, part, gpu);
}

} // namespace convcast
