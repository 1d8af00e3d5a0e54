// The diagrams of partitions: their regions cover every output once, their words fit.
#include "model/base/errors.hpp"
#include "model/choose/setting.hpp"
#include "model/predict.hpp"
#include "model/strategies/list.hpp"
#include "model/work/walk.hpp"
#include "reports/partition_diagram.hpp"
#include "tests/unit/drawing.hpp"
#include "tests/unit/well_formed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace convcast {
namespace {

const std::vector<std::string> drawn = {
    "filter_split",       "map_split",    "channel_split",  "filter_stream", "map_stream",
    "stride_fixed_block", "row_register", "block_register", "naive_shared",  "naive_global"};

/// A case with the plan of a strategy, or none where it does not do the shape.
std::optional<Case> planned_case(const std::string &strategy, const std::string &shape,
                                 const std::string &gpu = "h200") {
    Case item = predict(parse_strategy(strategy), ConvShape::parse(shape), find_profile(gpu));
    return item.prediction ? std::optional<Case>(std::move(item)) : std::nullopt;
}

const Partition &first_launch(const Case &item) {
    return item.prediction->plan->launches.front();
}

Walk walk_of(const Case &item, const Partition &launch, const std::string &gpu = "h200") {
    const Strategy strategy = parse_strategy(*item.strategy);
    const GpuProfile profile = find_profile(gpu);
    return strategy.kind->walk(strategy, ConvShape::parse(item.shape), Gpu(profile), launch);
}

std::string diagram(const Case &item, const PaperWidth &width = PaperWidth::column()) {
    return partition_diagram(item, find_profile("h200"), width);
}

/// How often each multiply of an output and a channel is among the CTAs' boxes; "" if each is once.
std::string coverage_problem(const Case &item) {
    const ConvShape s = ConvShape::parse(item.shape);
    const std::int64_t channels = s.c / s.groups;
    std::vector<int> seen(static_cast<std::size_t>(s.output_elements() * channels), 0);
    for (const Partition &launch : item.prediction->plan->launches) {
        if (launch.kernel == "channel_split_sum")
            continue;
        const Walk walk = walk_of(item, launch);
        for (std::int64_t cta = 0; cta < launch.ctas; ++cta)
            for (const OutputBox &box : outputs_of(walk, cta))
                for (std::int64_t n = box.images.begin; n < box.images.end; ++n)
                    for (std::int64_t k = box.filters.begin; k < box.filters.end; ++k)
                        for (std::int64_t p = box.rows.begin; p < box.rows.end; ++p)
                            for (std::int64_t q = box.columns.begin; q < box.columns.end; ++q)
                                for (std::int64_t c = box.channels.begin; c < box.channels.end; ++c) {
                                    const std::int64_t place =
                                        (((n * s.k + k) * s.p() + p) * s.q() + q) * channels + c;
                                    if (place < 0 || place >= static_cast<std::int64_t>(seen.size()))
                                        return "CTA " + std::to_string(cta) + " is outside the output";
                                    ++seen[static_cast<std::size_t>(place)];
                                }
    }
    const auto wrong = std::find_if(seen.begin(), seen.end(), [](int times) { return times != 1; });
    return wrong == seen.end() ? ""
                               : "place " + std::to_string(wrong - seen.begin()) + " is computed " +
                                     std::to_string(*wrong) + " times";
}

TEST(Partition, CtasCoverTheOutputOnceOnRandomShapes) {
    std::mt19937 random(1);
    const auto between = [&](int low, int high) {
        return std::int64_t{low} +
               static_cast<std::int64_t>(random() % static_cast<unsigned>(high - low + 1));
    };
    std::vector<int> planned(drawn.size(), 0);
    for (int i = 0; i < 60; ++i) {
        ConvShape shape;
        shape.n = between(1, 2);
        shape.c = i % 2 == 0 ? 1 : between(2, 9);
        shape.r = shape.s = 2 * between(0, 2) + 1;
        shape.h = between(static_cast<int>(shape.r), 40), shape.w = between(static_cast<int>(shape.s), 40);
        shape.k = between(1, 150);
        shape.validate();
        for (std::size_t j = 0; j < drawn.size(); ++j)
            if (const std::optional<Case> plan = planned_case(drawn[j], shape.id())) {
                ++planned[j];
                EXPECT_EQ(coverage_problem(*plan), "") << shape.id() << " by " << drawn[j];
            }
    }
    for (std::size_t j = 0; j < drawn.size(); ++j)
        EXPECT_GE(planned[j], 5) << drawn[j] << " was hardly tried";
}

TEST(Partition, CtasCoverTheOutputOnceWithOtherKnobs) {
    for (const auto &[strategy, shape] :
         {std::pair{"filter_split:pieces=3", "n1c1h29w31k37r3s3"},
          {"map_split:pieces=5", "n1c1h29w31k37r3s3"},
          {"filter_split:pieces=3,buffers=1", "n2c1h29w31k37r3s3"},
          {"filter_split:buffers=1,map_shares=4", "n1c1h29w32k37r3s3"},
          {"map_split:pieces=5,buffers=1", "n1c1h29w31k37r5s5"},
          {"stride_fixed_block:tile_w=32,tile_k=16", "n2c4h9w7k40r3s3"},
          {"row_register:tile_h=4,tile_k=7", "n2c1h30w70k29r3s3"},
          {"map_stream:pieces=2", "n1c8h20w20k24r3s3"},
          {"filter_stream:channels=2", "n1c8h20w20k24r3s3"},
          {"naive_shared:tile_w=8,tile_h=4", "n2c3h19w18k5r3s3_str2x2_pad1x1"},
          {"naive_global:threads=128", "n2c4h19w18k6r3s3_str2x1_pad1x0_g2"}}) {
        const std::optional<Case> plan = planned_case(strategy, shape);
        ASSERT_TRUE(plan) << strategy;
        EXPECT_EQ(coverage_problem(*plan), "") << shape << " by " << strategy;
    }
}

TEST(Partition, ReadsOfTheMapByHand) {
    const ConvShape shape = ConvShape::parse("n1c1h10w12k1r3s3");
    EXPECT_EQ(map_rows(shape, {2, 5}), (IndexRange{2, 7})) << "three rows and two of halo";
    EXPECT_EQ(map_columns(shape, {0, 10}), (IndexRange{0, 12}));
    const ConvShape padded = ConvShape::parse("n1c1h10w12k1r3s3_str2x2_pad1x1");
    EXPECT_EQ(map_rows(padded, {0, 1}), (IndexRange{0, 2})) << "the row above is padding";
    EXPECT_EQ(map_rows(padded, {1, 3}), (IndexRange{1, 6}));
}

/// By hand: 1022 rows over 132 SMs are 8 a piece; 2 CTAs of an SM take 16 of 32 filters each.
TEST(Partition, MapSplitByHand) {
    const Case plan = planned_case("map_split:pieces=1", "n1c1h1024w1024k32r3s3").value();
    const std::vector<OutputBox> boxes = outputs_of(walk_of(plan, first_launch(plan)), 133);
    ASSERT_EQ(boxes.size(), 1u);
    EXPECT_EQ(boxes[0].rows, (IndexRange{8, 16}));
    EXPECT_EQ(boxes[0].filters, (IndexRange{16, 32}));
    const std::string svg = diagram(plan);
    EXPECT_NE(svg.find(">10 x 1,024 pixels<"), std::string::npos) << svg;
    EXPECT_NE(svg.find(">2 rows halo<"), std::string::npos) << svg;
}

/// By hand: 32 filters over 132 SMs are one each, so 32 SMs have work. Their 1022 rows come in P = 19 pieces
/// of 54, a round is a quarter of one, 13 rows. Columns are halved: 512 of 1022.
TEST(Partition, RingByHand) {
    const Case plan = planned_case("filter_split:buffers=1", "n1c1h1024w1024k32r3s3").value();
    const Partition &launch = first_launch(plan);
    const Walk walk = walk_of(plan, launch);
    ASSERT_EQ(launch.kernel, "split_walk");
    ASSERT_EQ(launch.pieces, 19);
    const std::vector<OutputBox> boxes = outputs_of(walk, 0);
    ASSERT_EQ(boxes.size(), 79u); // 1022 / 13, rounded up
    EXPECT_EQ(boxes[0].rows, (IndexRange{0, 13}));
    EXPECT_EQ(boxes[78].rows, (IndexRange{1014, 1022}));
    EXPECT_EQ(boxes[0].columns, (IndexRange{0, 512}));
    EXPECT_EQ(outputs_of(walk, launch.parts)[0].columns, (IndexRange{512, 1022}));
    EXPECT_TRUE(outputs_of(walk, launch.parts - 1).empty()) << "filters end at 32";
    const std::string svg = diagram(plan);
    EXPECT_NE(svg.find("ring that"), std::string::npos);
    EXPECT_NE(svg.find(">Pixels: 56 x 514, and a thread"), std::string::npos)
        << "54 rows of a piece and two more";
    EXPECT_LT(svg.size(), 100'000u) << "rows that come later are one patch";
}

/// Chen's n on banks of 8 bytes: two floats lie in one.
TEST(PartitionDiagram, BanksHaveTheGpusWidth) {
    const Case plan = planned_case("row_register:unit=2", "n1c1h512w512k8r3s3", "k40m").value();
    EXPECT_EQ(bank_bytes_of(find_profile("k40m")), 8);
    const auto strokes = [&](std::int64_t bytes) {
        GpuProfile profile = find_profile("k40m");
        profile.bank_width->value = Bytes(static_cast<double>(bytes));
        const std::string svg = partition_diagram(plan, profile, PaperWidth::column());
        EXPECT_NE(svg.find("banks of " + std::to_string(bytes) + " bytes"), std::string::npos);
        std::size_t n = 0;
        for (std::size_t at = 0; (at = svg.find("stroke-width=\"0.8\"", at)) != std::string::npos; ++at)
            ++n;
        return n;
    };
    EXPECT_EQ(strokes(4), 9u) << "8 floats of 4 bytes";
    EXPECT_EQ(strokes(8), 5u);
}

TEST(Partition, BuffersFitWhatThePlanAsksFor) {
    for (const std::string &strategy : drawn)
        for (const char *text : {"n1c1h56w56k64r3s3", "n1c64h28w28k96r3s3", "n1c32h14w14k64r5s5"}) {
            const std::optional<Case> plan = planned_case(strategy, text);
            if (!plan)
                continue;
            const Partition &launch = first_launch(*plan);
            std::int64_t bytes = 0;
            for (const SharedBuffer &buffer : walk_of(*plan, launch).buffers)
                bytes += buffer.bytes * buffer.buffers;
            EXPECT_LE(bytes, launch.shared_bytes) << text << " by " << strategy;
            EXPECT_GE(static_cast<double>(bytes), 0.5 * static_cast<double>(launch.shared_bytes))
                << text << " by " << strategy << ": half of it is not said";
        }
}

TEST(PartitionDiagram, WordsFitAtEveryWidth) {
    std::vector<std::string> with_one_buffer = drawn;
    with_one_buffer.insert(with_one_buffer.end(), {"filter_split:buffers=1", "map_split:buffers=1"});
    for (const std::string &strategy : with_one_buffer)
        for (const char *text : {"n1c1h1024w1024k512r3s3", "n1c1h28w28k512r5s5", "n1c64h56w56k64r3s3",
                                 "n2c512h7w7k512r1s1", "n1c3h224w224k64r7s7_str2x2_pad3x3"}) {
            const std::optional<Case> plan = planned_case(strategy, text);
            if (!plan)
                continue;
            for (const char *width : {"88mm", "column", "page"}) {
                const std::string svg = diagram(*plan, PaperWidth::parse(width));
                const std::string name = std::string(text) + " by " + strategy + ", " + width;
                EXPECT_EQ(xml_problem(svg), "") << name;
                EXPECT_EQ(text_size_of(svg), 8.0) << name;
                EXPECT_EQ(svg.find("…"), std::string::npos) << name << ": words are cut";
                expect_words_apart(svg, name);
            }
        }
}

TEST(PartitionDiagram, RefusesWhatItDoesNotKnow) {
    const Case plan = planned_case("winograd", "n1c64h28w28k64r3s3").value();
    EXPECT_NE(cannot_draw(*plan.strategy).find("block_register"), std::string::npos);
    EXPECT_THROW(diagram(plan), std::invalid_argument);
    EXPECT_EQ(cannot_draw("map_split"), "");
}

} // namespace
} // namespace convcast
