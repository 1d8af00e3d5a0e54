// Whole numbers: divided upwards, and as sizes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace convcast {

/// Of a >= 0 and b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}
/// The least multiple of b that is not below a.
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) {
    return ceil_div(a, b) * b;
}

/// Of a >= 0.
constexpr std::size_t as_size(std::int64_t a) {
    return static_cast<std::size_t>(a);
}

/// The tile, of `most` or down to half as many things, whose whole number covers `total` with the fewest
/// surplus ones: the largest of them.
constexpr std::int64_t least_surplus(std::int64_t total, std::int64_t most) {
    std::int64_t best = most;
    for (std::int64_t tile = most; tile >= std::max<std::int64_t>(1, most / 2); --tile)
        if (round_up(total, tile) < round_up(total, best))
            best = tile;
    return best;
}

} // namespace convcast
