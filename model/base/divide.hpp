// Whole numbers: divided upwards, and as sizes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace convcast {

/// a / b rounded up, for a >= 0 and b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}
/// The least multiple of b that is not below a, for a >= 0 and b > 0.
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) {
    return ceil_div(a, b) * b;
}

/// a, which is not negative, as a size.
constexpr std::size_t as_size(std::int64_t a) {
    return static_cast<std::size_t>(a);
}

/// How large a tile should be, from most / 2 to `most` things, so that whole tiles that cover `total` things
/// have the fewest places to spare; of equally good sizes the largest.
constexpr std::int64_t least_surplus(std::int64_t total, std::int64_t most) {
    std::int64_t best = most;
    for (std::int64_t tile = most; tile >= std::max<std::int64_t>(1, most / 2); --tile)
        if (round_up(total, tile) < round_up(total, best))
            best = tile;
    return best;
}

} // namespace convcast
