// The sweep is drawn, not chosen: what ships is what the generator gives, everywhere.
#include "model/record/study.hpp"
#include "model/record/sweep.hpp"
#include "model/shape/training_part.hpp"

#include <gtest/gtest.h>

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

/// What a drawn shape may cost at most: input, filters and output together, and its FMAs.
constexpr double sweep_most_bytes = 400e6, sweep_most_fmas = 5e10;

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

/// `count` distinct shapes, canonical texts: sizes log-uniform over n 1 to 64, c and k 1 to 1024, maps 7 to
/// 1024 (some not square), filters 1, 3, 5 or 7 (some not square), a quarter with one channel; a sixth
/// padded, a twelfth with stride 2. data/studies/sweep.json holds sweep_shapes(1, 200),
/// data/studies/sweep_unseen.json sweep_shapes(2, 60).
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

TEST(Sweep, TheShippedStudyIsWhatTheGeneratorDraws) {
    EXPECT_EQ(find_study("sweep").shapes, sweep_shapes(1, 200));
    EXPECT_EQ(find_study("sweep_unseen").shapes, sweep_shapes(2, 60));
}

TEST(Sweep, EveryShapeIsDistinctAndAffordable) {
    const std::vector<std::string> shapes = sweep_shapes(7, 300);
    EXPECT_EQ(std::set(shapes.begin(), shapes.end()).size(), shapes.size());
    for (const std::string &text : shapes) {
        const ConvShape shape = ConvShape::parse(text);
        EXPECT_LE(shape.fmas().value, sweep_most_fmas) << text;
        EXPECT_LE(static_cast<double>(shape.input_bytes() + shape.filter_bytes() + shape.output_bytes()),
                  sweep_most_bytes)
            << text;
    }
}

TEST(Sweep, AFifthIsForTraining) {
    const std::vector<std::string> shapes = sweep_shapes(2, 2000);
    const auto training = std::count_if(shapes.begin(), shapes.end(), in_training_part);
    EXPECT_NEAR(static_cast<double>(training) / 2000.0, 0.2, 0.03);
}

TEST(Sweep, DrawnSettingsAreFeasibleDistinctAndTheSameAgain) {
    const GpuProfile profile = find_profile("h200");
    const ConvShape shape = ConvShape::parse("n1c64h56w56k64r3s3");
    const std::vector<std::string> drawn = sweep_settings("stride_fixed_block", shape, profile, {}, 5);
    EXPECT_EQ(drawn.size(), 5U);
    EXPECT_EQ(std::set(drawn.begin(), drawn.end()).size(), drawn.size());
    EXPECT_EQ(drawn, sweep_settings("stride_fixed_block", shape, profile, {}, 5));
    for (const std::string &text : drawn) {
        const auto planned = plan(parse_strategy(text), shape, profile);
        ASSERT_TRUE(std::holds_alternative<PlannedStrategy>(planned)) << text;
        EXPECT_EQ(to_text(std::get<PlannedStrategy>(planned).strategy), text);
    }
    EXPECT_TRUE(sweep_settings("row_register", shape, profile, {}, 3).empty()); // one channel only
}

} // namespace
} // namespace convcast
