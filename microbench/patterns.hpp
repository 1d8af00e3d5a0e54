// What probes find in memory: words that the host can predict, and orders that no cache guesses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace convcast {

/// As in probes/common.cuh.
std::uint32_t word_at(std::uint32_t i);

/// The first `count` words.
std::vector<std::uint32_t> words(std::size_t count);

/// What a load of so many bytes at `byte` adds up to, of memory filled with word_at().
std::uint32_t loaded_at(std::uint32_t byte, unsigned bytes);

/// `lines` of the first `slots` lines of memory, evenly spread, each at a random place, in random order.
std::vector<std::uint32_t> scattered_lines(std::size_t lines, std::size_t slots);

/// A random single cycle: next[i] comes after i.
std::vector<std::uint32_t> random_cycle(std::size_t nodes);

/// The node `hops` behind `node`.
std::uint32_t after(const std::vector<std::uint32_t> &next, std::uint32_t node, std::size_t hops);

} // namespace convcast
