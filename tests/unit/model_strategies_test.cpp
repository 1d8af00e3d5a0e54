#include "model/errors.hpp"
#include "model/forecast.hpp"

#include <gmock/gmock.h>

using namespace convcast;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

TEST(Strategies, TextRoundTripsWithEveryKnob) {
    for (const StrategyDoc &doc : strategy_docs()) {
        const Strategy plain = parse_strategy(doc.name);
        EXPECT_EQ(parse_strategy(to_text(plain)), plain);
        for (const KnobDoc &knob : doc.knobs)
            EXPECT_THAT(to_text(plain), HasSubstr(knob.name + "="));
    }
    EXPECT_EQ(to_text(parse_strategy("stride_fixed_block:tile_k=64,tile_w=128")),
              "stride_fixed_block:segment_bytes=0,tile_w=128,tile_k=64,stages=2,filters_per_thread=0");
}

TEST(Strategies, BadTextsSayWhatWasExpected) {
    const auto refuses = [](const char *text, const char *says) {
        EXPECT_THAT([=] { parse_strategy(text); }, ThrowsMessage<UsageError>(HasSubstr(says))) << text;
    };
    refuses("fitler_split", "did you mean 'filter_split'?");
    refuses("stride_fixed_block:tile_x=3", "did you mean 'tile_w'?");
    refuses("stride_fixed_block:tile_w=abc", "tile_w must be an integer from 0 to 256");
    refuses("stride_fixed_block:tile_w=1000", "got '1000'");
    refuses("map_split:pieces", "expected knob=value");
    refuses("map_split:pieces=1,pieces=2", "stands twice");
    refuses("", "unknown strategy");
}

TEST(Strategies, ResolvedTextHasNoAutomaticKnobLeft) {
    const GpuProfile h200 = find_profile("h200");
    for (const char *shape : {"n1c1h224w224k64r3s3", "n1c64h56w56k64r3s3"})
        for (const std::string &name : strategy_names()) {
            const Case item = predict(parse_strategy(name), ConvShape::parse(shape), h200);
            if (item.status != Status::ok)
                continue;
            EXPECT_THAT(*item.strategy, testing::Not(testing::ContainsRegex("=0(,|$)")));
            const Case again = predict(parse_strategy(*item.strategy), ConvShape::parse(shape), h200);
            EXPECT_EQ(*again.strategy, *item.strategy);
            EXPECT_EQ(again.prediction->time_s->value, item.prediction->time_s->value);
        }
}

TEST(Strategies, EachSaysWhatItCannotDo) {
    const GpuProfile h200 = find_profile("h200");
    const auto reason = [&](const char *strategy, const char *shape) {
        const Case item = predict(parse_strategy(strategy), ConvShape::parse(shape), h200);
        EXPECT_NE(item.status, Status::ok) << strategy << " " << shape;
        return item.reason.value_or("");
    };
    EXPECT_THAT(reason("filter_split", "n1c2h8w8k4r3s3"), HasSubstr("need c = 1"));
    EXPECT_THAT(reason("stride_fixed_block", "n1c1h8w8k4r3s3"), HasSubstr("c = 1 has filter_split"));
    EXPECT_THAT(reason("map_split", "n1c1h8w8k4r3s3_pad1x1"), HasSubstr("no padding"));
    EXPECT_THAT(reason("row_register", "n1c1h8w8k4r3s3_str2x2"), HasSubstr("stride 1"));
    EXPECT_THAT(reason("filter_split:pieces=7", "n1c1h8w8k4r3s3"), HasSubstr("exceeds the 6 output rows"));
    EXPECT_THAT(reason("filter_split", "n1c1h4w60000k4r3s3"), HasSubstr("do not fit"));
    EXPECT_THAT(reason("stride_fixed_block:tile_k=20,filters_per_thread=16", "n1c8h8w8k4r3s3"),
                HasSubstr("no multiple of filters_per_thread"));
    EXPECT_THAT(reason("row_register:tile_w=48", "n1c1h8w80k4r3s3"), HasSubstr("no multiple of"));
}

TEST(Strategies, HugeShapesAreAnsweredAtOnce) {
    const GpuProfile h200 = find_profile("h200");
    for (const char *shape : {"n1c1h1000000000w1k1000r1s1", "n60000c100h30000w30000k1000r1s1",
                              "n1c1h1w1000000000k7r1s1", "n1c1h30000w30000k60000r31s31"})
        for (const std::string &name : strategy_names()) {
            const Case item = predict(parse_strategy(name), ConvShape::parse(shape), h200);
            EXPECT_TRUE(item.status == Status::ok || item.reason.has_value()) << name << " " << shape;
        }
}

TEST(Occupancy, ByHand) {
    const GpuLimits limits = find_profile("h200").limits;
    EXPECT_EQ(resident_ctas(limits, 512, 64, 0), 2);     // 65,536 / (512 * 64)
    EXPECT_EQ(resident_ctas(limits, 256, 128, 0), 2);
    EXPECT_EQ(resident_ctas(limits, 128, 192, 0), 2);    // 10 warps of 6,144 registers in 65,536
    EXPECT_EQ(resident_ctas(limits, 32, 32, 0), 16);     // registers are given to four warps at least
    EXPECT_EQ(resident_ctas(limits, 32, 32, 100000), 2); // (100,000 + 1,024) up to 128, in 233,472
    EXPECT_EQ(resident_ctas(limits, 32, 32, 232449), 0); // over the limit of a CTA
    EXPECT_EQ(resident_ctas(limits, 2048, 32, 0), 0);
}

TEST(Forecast, PublishedProfilesGiveRulesButNoTime) {
    const Case item =
        predict(parse_strategy("map_split"), ConvShape::parse("n1c1h28w28k512r3s3"), find_profile("gtx1080ti"));
    ASSERT_TRUE(item.prediction.has_value());
    EXPECT_FALSE(item.prediction->time_s.has_value());
    EXPECT_THAT(*item.prediction->reason, HasSubstr("launch_floor"));
    EXPECT_EQ(item.prediction->rules->n_fma, 66048);
    EXPECT_EQ(item.prediction->rules->v_s_bytes, 86016);
    EXPECT_TRUE(item.prediction->regimes->paper.has_value());
}

TEST(Forecast, RegimeRule) {
    EXPECT_EQ(regime_by_rule(100.0, 100.0, 0.0, 1.0), Regime::compute_hidden);
    EXPECT_EQ(regime_by_rule(99.0, 100.0, 2.0, 1.0), Regime::bulk_hidden);
    EXPECT_EQ(regime_by_rule(99.0, 100.0, 0.5, 1.0), Regime::exposed);
    EXPECT_EQ(measured_regime(0.6, 0.0, 0.9, 0.9), Regime::compute_hidden);
    EXPECT_EQ(measured_regime(0.5, 0.5, 0.7, 0.1), Regime::bulk_hidden);
    EXPECT_EQ(measured_regime(0.5, 0.5, 0.6, 0.1), Regime::exposed);
}

} // namespace
