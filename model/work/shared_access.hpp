// Wavefronts of shared memory and L1 (W3, F12): what addresses cost, as counted on sm_90. A pass is a
// wavefront.
#pragma once

#include "model/machine/profile.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace convcast {

inline constexpr std::int64_t warp_lanes = 32, shared_banks = 32;

/// How wide a bank of shared memory is, in words of 4 bytes: 2 on Kepler, 1 on every other GPU. A wavefront
/// brings at most a bank's width from each of the 32 banks.
struct Banks {
    std::int64_t words = 1;
};

/// The banks of a GPU by its profile's bank width, Chen's W_SMB; 4 bytes if the profile has none.
Banks banks_of(const GpuProfile &profile);

/// The first 4-byte word that each lane touches; negative: the lane does not take part.
using LaneWords = std::array<std::int64_t, warp_lanes>;

/// Wavefronts of one kind of access to shared memory.
struct Passes {
    double taken = 0.0;
    double least = 0.0; ///< that the same number of words would take without bank conflicts
    double conflicts() const { return taken - least; }
    Passes &operator+=(const Passes &more) {
        taken += more.taken, least += more.least;
        return *this;
    }
    friend Passes operator*(double times, const Passes &one) {
        return {times * one.taken, times * one.least};
    }
};

/// W3: wavefronts of one access by a warp, each lane to `width` words (1, 2 or 4) that are aligned to their
/// width. In a wavefront each bank serves the words of one bank width to any number of lanes. An access no
/// wider than a bank is served for all lanes together, one twice as wide for half a warp at a time, one four
/// times as wide for a quarter. These groups of lanes are twice as large if every lane i has the address of
/// lane i ^ 1, or every lane that of lane i ^ 2; lanes that take no part count as equal. Counters of
/// channel_split and filter_stream confirm this for banks of 4 bytes, to the last wavefront. On banks of 8
/// bytes a warp's 32-bit, 64-bit and 128-bit loads of neighbouring words take 1, 1 and 2 wavefronts, as
/// nvprof counts on a Tesla K80 (ekondis/gpumembench, issue 1).
Passes warp_passes(const Banks &banks, const LaneWords &first, int width);

/// W3 summed over the warps of threads 0 to `threads` - 1. The access of thread t begins at word
/// first_word(t); if that is negative, the thread takes no part.
template <class FirstWord>
Passes shared_passes(const Banks &banks, std::int64_t threads, int width, const FirstWord &first_word) {
    Passes all;
    for (std::int64_t begin = 0; begin < threads; begin += warp_lanes) {
        LaneWords words;
        for (std::int64_t lane = 0; lane < warp_lanes; ++lane)
            words[static_cast<std::size_t>(lane)] = begin + lane < threads ? first_word(begin + lane) : -1;
        all += warp_passes(banks, words, width);
    }
    return all;
}

/// Lines of 128 bytes of global memory that a warp touches, on average over where in a line it begins.
double lines_met(const LaneWords &first);

/// F12: wavefronts through L1 of a warp's load that hits there. Each line that the load touches costs a
/// third of a wavefront, and each wavefront that the banks need for its words two thirds: a fit to the times
/// of naive kernels whose queue to L1 was full. L1's banks are taken to have 4 bytes.
constexpr double l1_passes(double lines, double bank_passes) {
    return (lines + 2.0 * bank_passes) / 3.0;
}

/// F12: wavefronts through L1 of an access to global memory by lanes 0 to `lanes` - 1 of a warp, each to
/// `width` words from first_word(lane) on.
template <class FirstWord> double gather_passes(std::int64_t lanes, int width, const FirstWord &first_word) {
    LaneWords words;
    for (std::int64_t lane = 0; lane < warp_lanes; ++lane)
        words[static_cast<std::size_t>(lane)] = lane < lanes ? first_word(lane) : -1;
    return l1_passes(lines_met(words), warp_passes(Banks{}, words, width).taken);
}

/// F12 summed over the warps of threads 0 to `threads` - 1 of a CTA.
template <class FirstWord> double gathered(std::int64_t threads, int width, const FirstWord &first_word) {
    double all = 0.0;
    for (std::int64_t begin = 0; begin < threads; begin += warp_lanes)
        all += gather_passes(std::min(threads - begin, warp_lanes), width,
                             [&](std::int64_t lane) { return first_word(begin + lane); });
    return all;
}

/// Units of work, one a thread: neighbouring threads have the `positions` of the first group of filters,
/// then those of the next group. Positions run along rows of `row`, whose pixels begin `pitch` words apart.
struct Units {
    std::int64_t groups = 1, positions = 0, row = 0, pitch = 0;
    std::int64_t count() const { return groups * positions; }
};

/// W3: wavefronts of all warps if each lane reads the word of its position.
Passes position_passes(const Banks &banks, const Units &units);

/// W3: wavefronts of all warps if each lane reads the first `width` words of its group, `distance` words
/// apart.
double group_passes(const Banks &banks, const Units &units, std::int64_t distance, int width);

} // namespace convcast
