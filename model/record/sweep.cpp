#include "model/record/sweep.hpp"

#include "model/shape/training_part.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convcast {
namespace {

/// Standard distributions differ between libraries; these draw the same everywhere.
class Dice {
  public:
    explicit Dice(std::uint64_t seed) : random_(seed) {}

    double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
    bool chance(double share) { return uniform() < share; }
    std::size_t below(std::size_t count) {
        return std::min(count - 1, static_cast<std::size_t>(uniform() * static_cast<double>(count)));
    }
    /// Log-uniform, rounded to a multiple of `unit`.
    std::int64_t size(double low, double high, std::int64_t unit = 1) {
        const double value = low * std::pow(high / low, uniform());
        return std::max<std::int64_t>(unit, std::llround(value / static_cast<double>(unit)) * unit);
    }

  private:
    std::mt19937_64 random_;
};

ConvShape draw(Dice &dice) {
    constexpr std::int64_t filter_sizes[] = {1, 3, 5, 7};
    ConvShape shape;
    const bool single = dice.chance(0.25);
    shape.n = dice.chance(0.5) ? 1 : dice.size(1, 64);
    const std::int64_t unit = dice.chance(0.6) ? 16 : 1; // most networks' counts, and any
    shape.c = single ? 1 : dice.size(2, 1024, unit);
    shape.k = dice.size(1, 1024, unit);
    shape.h = dice.size(7, 1024);
    shape.w = dice.chance(0.7) ? shape.h : dice.size(7, 1024);
    shape.r = filter_sizes[dice.below(std::size(filter_sizes))];
    shape.s = dice.chance(0.9) ? shape.r : filter_sizes[dice.below(std::size(filter_sizes))];
    if (dice.chance(1.0 / 6.0)) {
        shape.pad_h = shape.r / 2;
        shape.pad_w = shape.s / 2;
    }
    if (dice.chance(1.0 / 12.0))
        shape.stride_h = shape.stride_w = 2;
    return shape;
}

bool affordable(const ConvShape &shape) {
    return shape.p() >= 1 && shape.q() >= 1 && shape.fmas().value <= sweep_most_fmas &&
           static_cast<double>(shape.input_bytes() + shape.filter_bytes() + shape.output_bytes()) <=
               sweep_most_bytes;
}

} // namespace

std::vector<std::string> sweep_shapes(std::uint64_t seed, std::size_t count) {
    Dice dice(seed);
    std::vector<std::string> shapes;
    while (shapes.size() < count) {
        const ConvShape shape = draw(dice);
        if (shape.r > shape.h + 2 * shape.pad_h || shape.s > shape.w + 2 * shape.pad_w || !affordable(shape))
            continue;
        if (std::string id = shape.id(); std::find(shapes.begin(), shapes.end(), id) == shapes.end())
            shapes.push_back(std::move(id));
    }
    return shapes;
}

std::vector<std::string> sweep_settings(const std::string &strategy_name, const ConvShape &shape,
                                        const GpuProfile &profile, const Facts &facts, std::size_t count) {
    std::vector<Strategy> pool = candidates(strategy_name);
    const auto planned_text = [&](const Strategy &strategy) -> std::string {
        const auto planned = plan(strategy, shape, profile, facts);
        const auto *good = std::get_if<PlannedStrategy>(&planned);
        return good ? to_text(good->strategy) : "";
    };
    std::set<std::string> seen = {planned_text(pool.front())}; // the default
    Dice dice(seed_of(shape.id() + " " + strategy_name));
    std::vector<std::string> drawn;
    while (drawn.size() < count && !pool.empty()) {
        const std::size_t at = dice.below(pool.size());
        std::string text = planned_text(pool[at]);
        pool[at] = pool.back();
        pool.pop_back();
        if (!text.empty() && seen.insert(text).second)
            drawn.push_back(std::move(text));
    }
    return drawn;
}

} // namespace convcast
