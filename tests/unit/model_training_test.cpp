// What training is made of on the CPU's side: orders, rates, generated images, rounded weights.
#include "model/base/errors.hpp"
#include "model/network/idx.hpp"
#include "model/network/ladder.hpp"
#include "model/network/training.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

using namespace convcast;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

TEST(Descent, TheRateFallsAlongHalfACosine) {
    const Descent descent{128, 4, 0.2, 0.9, 0.001};
    EXPECT_DOUBLE_EQ(rate_of_epoch(descent, 0), 0.2);
    EXPECT_NEAR(rate_of_epoch(descent, 1), 0.170711, 1e-6); // 0.1 (1 + cos 45 degrees)
    EXPECT_NEAR(rate_of_epoch(descent, 2), 0.1, 1e-15);
    EXPECT_NEAR(rate_of_epoch(descent, 3), 0.029289, 1e-6);
}

TEST(Descent, AnEpochTakesEveryImageOnceInItsOwnOrder) {
    const std::vector<std::int32_t> first = order_of_epoch(1000, 7, 0), second = order_of_epoch(1000, 7, 1);
    std::vector<std::int32_t> all(1000);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_THAT(first, testing::UnorderedElementsAreArray(all));
    EXPECT_THAT(second, testing::UnorderedElementsAreArray(all));
    EXPECT_NE(first, second);
    EXPECT_NE(first, order_of_epoch(1000, 8, 0));
    EXPECT_EQ(first, order_of_epoch(1000, 7, 0));
    std::size_t in_place = 0;
    for (std::size_t i = 0; i < first.size(); ++i)
        in_place += first[i] == static_cast<std::int32_t>(i);
    EXPECT_LT(in_place, 10U); // one on average
}

TEST(Generated, ImagesOfAClassAreAlikeAndOthersAreNot) {
    const ImageShape shape{1, 28, 28};
    const LabelledImages images = generated_images(shape, 500, 3);
    EXPECT_EQ(images.pixels, generated_images(shape, 500, 3).pixels);
    EXPECT_NE(images.pixels, generated_images(shape, 500, 4).pixels);
    EXPECT_EQ(images.shape, shape);
    ASSERT_EQ(images.pixels.size(), 500U * 784U);
    const auto [least, most] = std::minmax_element(images.pixels.begin(), images.pixels.end());
    EXPECT_GE(*least, 0.0F);
    EXPECT_LE(*most, 1.0F);
    std::array<int, 10> seen{};
    for (const std::uint8_t label : images.labels)
        ++seen.at(label);
    EXPECT_GT(*std::min_element(seen.begin(), seen.end()), 25); // 50 on average
    // Class 0 has upright waves of six pixels: columns six apart are alike, those three apart are opposite.
    double alike = 0.0, opposite = 0.0;
    for (std::size_t i = 0; i < images.labels.size(); ++i)
        for (std::size_t at = 0; images.labels[i] == 0 && at + 6 < 784; ++at) {
            const float *pixel = images.pixels.data() + 784 * i + at;
            alike += (pixel[0] - 0.5) * (pixel[6] - 0.5);
            opposite += (pixel[0] - 0.5) * (pixel[3] - 0.5);
        }
    EXPECT_GT(alike, 0.0);
    EXPECT_LT(opposite, 0.0);
}

TEST(TrainedWeights, HaveFourDecimals) {
    EXPECT_THAT(rounded({{0.12344, -0.12346}, {}, {2.0}}),
                ElementsAre(ElementsAre(0.1234, -0.1235), testing::IsEmpty(), ElementsAre(2.0)));
}

TEST(Streams, ShareTheImages) {
    Rung rung;
    rung.streams = 16;
    EXPECT_EQ(share_of(rung, 2048, 15).first, 1920);
    EXPECT_EQ(share_of(rung, 2048, 15).count, 128);
    EXPECT_EQ(share_of(rung, 2085, 0).count, 131);
    EXPECT_EQ(share_of(rung, 2085, 15).count, 120);
    EXPECT_EQ(share_of(rung, 13, 12).count, 1);
    EXPECT_EQ(share_of(rung, 13, 13).count, 0);
    std::int64_t all = 0;
    for (std::int64_t stream = 0; stream < 16; ++stream)
        all += share_of(rung, 2085, stream).count;
    EXPECT_EQ(all, 2085);
}

TEST(Streams, NeedARungThatHasSome) {
    const Network network = find_network("mnist");
    EXPECT_THAT(
        [&] {
            read_ladder(
                R"({"schema": "convcast/ladder/1", "network": "mnist", "title": "t", "citation": "c", "rungs": [
                {"id": "a", "title": "t", "source": "mnist", "launches": [{"kernel": "k", "operands": [],
                "operators": ["conv1", "bias1", "relu1", "pool1", "dense1", "bias_dense1", "logistic1"],
                "grid": [1, 1, 1], "block": [1, 1, 1], "each_stream": true}]}]})",
                "mine.json", network);
        },
        ThrowsMessage<InputError>(HasSubstr("/launches/0/each_stream: the implementation has no streams")));
}

TEST(StepOfTraining, IsForAsManyImagesAsItsMemoryHas) {
    const Network network = find_network("fashion_mnist");
    const Ladder ladder = find_ladder(network);
    const Rung &step = ladder.rungs.back();
    EXPECT_EQ(step.id, "step");
    EXPECT_EQ(refusal(step, network, 1024, 90), std::nullopt);
    EXPECT_EQ(refusal(step, network, 1025, 90), "has memory for 1024 images");
    // parts of 4 and of 16 images: 256 x 51,264 and 64 x 66,250 floats
    EXPECT_EQ(operand_floats(network, step, "parts2", 1), 256 * 51264);
    EXPECT_EQ(operand_floats(network, step, "dense_parts", 1), 64 * 66250);
    EXPECT_EQ(operand_floats(network, step, "velocity", 1), operand_floats(network, step, "parameters", 1));
    ASSERT_TRUE(step.descent);
    EXPECT_EQ(step.descent->batch, 128);
}

} // namespace
