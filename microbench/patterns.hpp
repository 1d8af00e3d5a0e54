// What probes find in memory: words that the host can predict, and orders that no prefetcher can guess.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace convcast {

/// The word with index `i`: a hash of i, the same as in probes/common.cuh.
std::uint32_t word_at(std::uint32_t i);

/// word_at(0) .. word_at(count - 1).
std::vector<std::uint32_t> words(std::size_t count);

/// What a load of `bytes` (1, 2 or a multiple of 4) at the address `byte` gives, in memory filled with
/// word_at(): the value, or the sum of its words modulo 2^32.
std::uint32_t loaded_at(std::uint32_t byte, unsigned bytes);

/// Numbers of `lines` different lines among the first `slots` lines of memory, one at a random place of each
/// of `lines` equal parts, in random order.
std::vector<std::uint32_t> scattered_lines(std::size_t lines, std::size_t slots);

/// A random cycle through all nodes: next[i] comes after i.
std::vector<std::uint32_t> random_cycle(std::size_t nodes);

/// The node that `hops` steps from `node` lead to.
std::uint32_t after(const std::vector<std::uint32_t> &next, std::uint32_t node, std::size_t hops);

} // namespace convcast
