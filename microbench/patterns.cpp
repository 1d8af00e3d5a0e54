#include "microbench/patterns.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace convcast {

std::uint32_t word_at(std::uint32_t i) {
    std::uint32_t x = i + 0x9e3779b9u;
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

std::vector<std::uint32_t> words(std::size_t count) {
    std::vector<std::uint32_t> found(count);
    for (std::size_t i = 0; i < count; ++i)
        found[i] = word_at(static_cast<std::uint32_t>(i));
    return found;
}

std::uint32_t loaded_at(std::uint32_t byte, unsigned bytes) {
    if (bytes < 4)
        return word_at(byte / 4) >> (8 * (byte % 4)) & ((1u << (8 * bytes)) - 1);
    std::uint32_t sum = 0;
    for (unsigned word = 0; word < bytes / 4; ++word)
        sum += word_at(byte / 4 + word);
    return sum;
}

std::vector<std::uint32_t> scattered_lines(std::size_t lines, std::size_t slots) {
    std::mt19937_64 random(1);
    std::vector<std::uint32_t> order(lines);
    for (std::size_t i = 0; i < lines; ++i) { // one of each stratum, so none twice
        const std::size_t first = i * slots / lines, behind = (i + 1) * slots / lines;
        order[i] = static_cast<std::uint32_t>(first + random() % (behind - first));
    }
    std::shuffle(order.begin(), order.end(), random); // visiting them in a random order is a single cycle
    return order;
}

std::vector<std::uint32_t> random_cycle(std::size_t nodes) {
    const std::vector<std::uint32_t> order = scattered_lines(nodes, nodes);
    std::vector<std::uint32_t> next(nodes);
    for (std::size_t i = 0; i < nodes; ++i)
        next[order[i]] = order[(i + 1) % nodes];
    return next;
}

std::uint32_t after(const std::vector<std::uint32_t> &next, std::uint32_t node, std::size_t hops) {
    for (; hops > 0; --hops)
        node = next[node];
    return node;
}

} // namespace convcast
