#include "model/record/sweep.hpp"

#include "model/shape/training_part.hpp"

#include <algorithm>
#include <cstddef>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {

std::vector<std::string> sweep_settings(const std::string &strategy_name, const ConvShape &shape,
                                        const GpuProfile &profile, const Facts &facts, std::size_t count) {
    std::vector<Strategy> pool = candidates(strategy_name);
    const auto planned_text = [&](const Strategy &strategy) -> std::string { // "": it is not feasible
        const auto planned = plan(strategy, shape, profile, facts);
        const auto *good = std::get_if<PlannedStrategy>(&planned);
        return good ? to_text(good->strategy) : "";
    };
    std::set<std::string> seen = {planned_text(pool.front())};         // the default
    std::mt19937_64 random(seed_of(shape.id() + " " + strategy_name)); // whose sequence is the standard's
    std::vector<std::string> drawn;
    while (drawn.size() < count && !pool.empty()) {
        const double share = static_cast<double>(random() >> 11) * 0x1p-53; // 53 bits: from 0 to below 1
        const std::size_t at =
            std::min(pool.size() - 1, static_cast<std::size_t>(share * static_cast<double>(pool.size())));
        std::string text = planned_text(pool[at]);
        pool[at] = pool.back();
        pool.pop_back();
        if (!text.empty() && seen.insert(text).second)
            drawn.push_back(std::move(text));
    }
    return drawn;
}

} // namespace convcast
