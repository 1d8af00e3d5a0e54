// The sweep is drawn, not chosen: what ships is what the generator gives, everywhere.
#include "model/record/study.hpp"
#include "model/record/sweep.hpp"
#include "model/shape/training_part.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <variant>
#include <vector>

namespace convcast {
namespace {

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
