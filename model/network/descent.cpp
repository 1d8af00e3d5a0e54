#include "model/network/descent.hpp"

#include "model/base/split_mix.hpp"

#include <cmath>
#include <cstddef>
#include <numbers>
#include <numeric>
#include <utility>

namespace convcast {

double rate_of_epoch(const Descent &descent, std::int64_t epoch) {
    const double share = static_cast<double>(epoch) / static_cast<double>(descent.epochs);
    return 0.5 * descent.rate * (1.0 + std::cos(std::numbers::pi * share));
}

std::vector<std::int32_t> order_of_epoch(std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    SplitMix64 random(SplitMix64(seed)() + static_cast<std::uint64_t>(epoch));
    for (std::size_t left = order.size(); left > 1; --left)
        std::swap(order[left - 1], order[random() % left]);
    return order;
}

} // namespace convcast
