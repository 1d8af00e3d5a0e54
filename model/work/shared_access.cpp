#include "model/work/shared_access.hpp"

#include "model/machine/machine.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace convcast {

namespace {

constexpr std::size_t lanes = static_cast<std::size_t>(warp_lanes);

/// Whether each lane i has the address of lane i ^ apart. Lanes that take no part count as equal.
bool in_pairs(const LaneWords &first, std::size_t apart) {
    for (std::size_t i = 0; i < lanes; ++i)
        if (const std::int64_t a = first[i], b = first[i ^ apart]; a != b && a >= 0 && b >= 0)
            return false;
    return true;
}

/// Neighbouring banks that one lane's access of `width` words takes.
std::int64_t banks_taken(const Banks &banks, int width) {
    return std::max<std::int64_t>(1, width / banks.words);
}

/// Wavefronts for lanes [begin, end), which are served together: the most distinct accesses of a bank.
Passes passes_together(const Banks &banks, const LaneWords &first, std::size_t begin, std::size_t end,
                       int width) {
    // A slot is a bank, or the neighbouring ones that an access takes. Accesses within a bank's width are
    // one.
    const std::int64_t slots = shared_banks / banks_taken(banks, width);
    const std::int64_t grain = std::max<std::int64_t>(width, banks.words);
    // Both are powers of two, and this is where rankings spend most of their time.
    const int shift = std::countr_zero(static_cast<std::uint64_t>(grain));
    // The distinct accesses of a slot are a chain: `last` is its newest one, `before` the one before each, -1
    // none. An access is known by its key, its address in units of its width.
    std::array<std::int8_t, shared_banks> last;
    std::array<std::int8_t, lanes> before;
    std::array<std::int64_t, lanes> keys;
    std::array<std::int8_t, shared_banks> load{};
    last.fill(-1);
    int distinct = 0, most = 0;
    for (std::size_t i = begin; i < end; ++i) {
        if (first[i] < 0)
            continue;
        const std::int64_t key = first[i] >> shift;
        const auto slot = static_cast<std::size_t>(key & (slots - 1));
        int at = last[slot];
        while (at >= 0 && keys[static_cast<std::size_t>(at)] != key)
            at = before[static_cast<std::size_t>(at)];
        if (at >= 0)
            continue;
        keys[static_cast<std::size_t>(distinct)] = key;
        before[static_cast<std::size_t>(distinct)] = last[slot];
        last[slot] = static_cast<std::int8_t>(distinct++);
        most = std::max<int>(most, ++load[slot]);
    }
    const int least = (distinct + int(slots) - 1) / int(slots);
    return {double(most), double(least)};
}

/// How many of step, 2 step, ..., count * step are no multiples of 32: ends in the middle of a warp.
std::int64_t inside_warps(std::int64_t count, std::int64_t step) {
    return count - count / (warp_lanes / std::gcd(step, warp_lanes));
}

/// Sum over the warps of `units` units of passes(first unit, units of the warp). What a warp gets repeats
/// after `period` units, so that only as many warps are computed as differ.
template <class OfWarp> double over_warps(std::int64_t units, std::int64_t period, const OfWarp &passes) {
    const std::int64_t whole = units / warp_lanes, repeat = period / std::gcd(period, warp_lanes); // warps
    const auto sum_of_first = [&](std::int64_t warps) {
        double sum = 0.0;
        for (std::int64_t warp = 0; warp < warps; ++warp)
            sum += passes(warp * warp_lanes, warp_lanes);
        return sum;
    };
    const double of_whole =
        whole < repeat ? sum_of_first(whole)
                       : double(whole / repeat) * sum_of_first(repeat) + sum_of_first(whole % repeat);
    const std::int64_t left = units % warp_lanes;
    return of_whole + (left > 0 ? passes(whole * warp_lanes, left) : 0.0);
}

} // namespace

Banks banks_of(const GpuProfile &profile) {
    return {bank_words(profile)};
}

Passes warp_passes(const Banks &banks, const LaneWords &first, int width) {
    const std::int64_t taken = banks_taken(banks, width);
    std::size_t together = lanes / static_cast<std::size_t>(taken);
    if (taken > 1 && (in_pairs(first, 1) || in_pairs(first, 2)))
        together *= 2;
    Passes all;
    for (std::size_t begin = 0; begin < lanes; begin += together)
        all += passes_together(banks, first, begin, begin + together, width);
    return all;
}

double lines_met(const LaneWords &first) {
    constexpr std::int64_t line_words = 32;
    LaneWords words = first;
    const auto end = std::remove_if(words.begin(), words.end(), [](std::int64_t word) { return word < 0; });
    if (end == words.begin())
        return 0.0;
    std::sort(words.begin(), end);
    // Of neighbouring addresses the second lies in another line with probability distance / line.
    double lines = 1.0;
    for (auto at = words.begin() + 1; at != end; ++at)
        lines += double(std::min(*at - at[-1], line_words)) / double(line_words);
    return lines;
}

Passes position_passes(const Banks &banks, const Units &units) {
    const std::int64_t count = units.count();
    const double least = double((count + warp_lanes - 1) / warp_lanes);
    // Short rows, and banks wider than a word, are counted from the addresses.
    if (units.row < warp_lanes || banks.words > 1) {
        // Warps repeat from group to group. In long groups they are taken to repeat from row to row.
        constexpr std::int64_t short_group = 1024;
        const std::int64_t period = units.positions <= short_group ? units.positions : units.row;
        const double taken = over_warps(count, period, [&](std::int64_t first, std::int64_t active) {
            LaneWords words;
            words.fill(-1);
            std::int64_t position = first % units.positions;
            std::int64_t x = position % units.row, y = position / units.row;
            for (std::int64_t lane = 0; lane < active; ++lane) {
                words[static_cast<std::size_t>(lane)] = y * units.pitch + x;
                if (++x == units.row)
                    x = 0, ++y;
                if (++position == units.positions)
                    position = x = y = 0;
            }
            return warp_passes(banks, words, 1).taken;
        });
        return {taken, least};
    }
    // Rows of 32 positions or more: a warp has the end of one row at most. What follows it goes on in the
    // next bank only if the gap is a multiple of 32 words. Otherwise it conflicts with what lies before,
    // which costs one wavefront more.
    const auto conflicts = [&](std::int64_t gap) { return gap % shared_banks != 0 ? 1 : 0; };
    const std::int64_t rows = units.positions / units.row;
    const std::int64_t row_ends = inside_warps((count - 1) / units.row, units.row),
                       group_ends = inside_warps((count - 1) / units.positions, units.positions);
    const std::int64_t extra = (row_ends - group_ends) * conflicts(units.pitch - units.row) +
                               group_ends * conflicts((rows - 1) * units.pitch + units.row);
    return {least + double(extra), least};
}

double group_passes(const Banks &banks, const Units &units, std::int64_t distance, int width) {
    const auto of_warp = [&](std::int64_t first, std::int64_t active) {
        LaneWords words;
        words.fill(-1);
        std::int64_t group = first / units.positions, position = first % units.positions;
        for (std::int64_t lane = 0; lane < active; ++lane) {
            words[static_cast<std::size_t>(lane)] = group * distance;
            if (++position == units.positions)
                position = 0, ++group;
        }
        return warp_passes(banks, words, width).taken;
    };
    const std::int64_t count = units.count();
    if (units.positions < warp_lanes || count <= warp_lanes)
        return over_warps(count, units.positions, of_warp);
    // All warps are first taken to have a single group, whose words all their lanes read: one wavefront, or
    // two if quarters of a warp are served apart, as pairs of lanes have the same address (W3). Then comes
    // what warps take more in which one group ends and the next begins, counted for as many ends as differ.
    const bool quarters = banks_taken(banks, width) == 4;
    const auto of_one_group = [&](std::int64_t active) {
        return quarters && active > warp_lanes / 2 ? 2.0 : 1.0;
    };
    const std::int64_t warps = (count + warp_lanes - 1) / warp_lanes, ends = units.groups - 1;
    const std::int64_t tail = count - (warps - 1) * warp_lanes; // lanes of the last warp
    double passes = double(warps - 1) * of_one_group(warp_lanes) + of_one_group(tail), extra = 0.0;
    const std::int64_t repeat = warp_lanes / std::gcd(units.positions, warp_lanes);
    const std::int64_t counted = std::min(ends, repeat);
    for (std::int64_t end = 1; end <= counted; ++end) {
        const std::int64_t first = end * units.positions / warp_lanes * warp_lanes;
        if (const std::int64_t active = std::min(count - first, warp_lanes); first < end * units.positions)
            extra += of_warp(first, active) - of_one_group(active);
    }
    if (counted > 0)
        passes += extra * double(ends) / double(counted);
    return passes;
}

} // namespace convcast
