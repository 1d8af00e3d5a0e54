// What answers are made of besides forecasts: ranges of shapes, numbers that are set, rates, times that
// recordings have.
#include "model/base/errors.hpp"
#include "model/machine/assume.hpp"
#include "model/record/known_times.hpp"
#include "model/regime/rates.hpp"
#include "model/shape/shape_range.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace convcast {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(ShapeRange, Numbers) {
    EXPECT_THAT(number_list("28:112:28", "x"), ElementsAre(28, 56, 84, 112));
    EXPECT_THAT(number_list("28:100:28", "x"), ElementsAre(28, 56, 84));
    EXPECT_THAT(number_list("16:300:*4", "x"), ElementsAre(16, 64, 256));
    EXPECT_THAT(number_list("132,32", "x"), ElementsAre(132, 32));
    EXPECT_THAT(number_list("7", "x"), ElementsAre(7));
    for (const char *wrong : {"", "a", "1:", "1:2", "1:2:0", "2:1:1", "1:4:*1", "1:2:3:4", "-1", "1,,2",
                              "1:100000:1", "99999999999999999999"})
        EXPECT_THROW(number_list(wrong, "x"), UsageError) << wrong;
    EXPECT_EQ(number_list("1:1099511627776:*1099511627776", "x").size(), 2u) << "no product leaves 64 bits";
}

TEST(ShapeRange, SizesRunTogetherAndInTurn) {
    const std::vector<ConvShape> one = {ConvShape::parse("n1c64h56w56k64r3s3_pad1x1")};
    const std::vector<ConvShape> maps = swept(one, ShapeRange::parse("h=w=14,28"));
    ASSERT_EQ(maps.size(), 2u);
    EXPECT_EQ(maps[1].id(), "n1c64h28w28k64r3s3_pad1x1");
    const std::vector<ConvShape> both = swept(maps, ShapeRange::parse("str=1:2:1"));
    ASSERT_EQ(both.size(), 4u);
    EXPECT_EQ(both[1].id(), "n1c64h14w14k64r3s3_str2x2_pad1x1");
    EXPECT_EQ(swept(one, ShapeRange::parse("g=2"))[0].id(), "n1c64h56w56k64r3s3_pad1x1_g2");
    EXPECT_THROW(swept(one, ShapeRange::parse("g=3")), UsageError);
    EXPECT_THROW(ShapeRange::parse("q=3"), UsageError);
}

TEST(SetNumber, ScalesOrReplaces) {
    GpuProfile profile = find_profile("h200");
    const double before = profile.dram_read_bandwidth->value.value;
    set_number(profile, "dram_read_bandwidth=x2");
    EXPECT_DOUBLE_EQ(profile.dram_read_bandwidth->value.value, 2.0 * before);
    EXPECT_FALSE(profile.dram_read_bandwidth->spread);
    set_number(profile, "sm_clock=1.5e9");
    EXPECT_DOUBLE_EQ(profile.sm_clock->value.value, 1.5e9);
    set_number(profile, "l2_bytes=x0.5");
    EXPECT_EQ(profile.limits.l2_bytes, find_profile("h200").limits.l2_bytes / 2);
    const std::vector<std::string> said = assumed_of(profile);
    ASSERT_EQ(said.size(), 3u);
    EXPECT_THAT(said[0], HasSubstr("sm_clock 1.500 GHz: supposed, where the profile has"));
    EXPECT_THAT(said[1], HasSubstr("dram_read_bandwidth 9.323 TB/s: supposed, x2"));
    EXPECT_THAT(said[2], HasSubstr("l2_bytes"));
    for (const char *wrong : {"", "=", "sm_clock", "sm_clock=", "sm_clock=x", "sm_clock=1e99", "sm_clock=x-1",
                              "no=1", "sm_count=x0", "shared_bytes_per_cta=1e7"})
        EXPECT_THROW(set_number(profile, wrong), UsageError) << wrong;
    GpuProfile lacking = find_profile("h200");
    lacking.launch_floor.reset();
    EXPECT_THAT([&] { set_number(lacking, "launch_floor=x2"); },
                ThrowsMessage<UsageError>(HasSubstr("lacks it; --assume")));
}

TEST(SetNumber, OuterProductsFollow) {
    GpuProfile profile = find_profile("h200");
    const double before = profile.curves.at("ffma_by_operands").series.front().y.front();
    set_number(profile, "ffma_outer_rate=x2");
    EXPECT_DOUBLE_EQ(profile.curves.at("ffma_by_operands").series.front().y.front(), 2.0 * before);
}

TEST(Rates, ByHand) {
    // 64 * 64 * 9 * 8 * 8 multiply-adds on the toy: 10 SMs of 64 cores at 1 GHz
    const ConvShape shape = ConvShape::parse("n1c64h10w10k64r3s3");
    Work work;
    work.l2_read_bytes = 1000.0;
    work.l2_write_bytes = 179.648;
    const Rates rates = rates_of(shape, work, Seconds(1e-5), find_profile("toy"));
    EXPECT_DOUBLE_EQ(*rates.flop_per_s, 2.0 * 2359296.0 / 1e-5);
    EXPECT_DOUBLE_EQ(*rates.fmas_per_l2_byte, 2359296.0 / 1179.648);
    EXPECT_FALSE(rates.fmas_per_dram_byte);
    EXPECT_DOUBLE_EQ(*rates.peak_share * *peak_flop_per_s(find_profile("toy")), *rates.flop_per_s);
    const Rates none = rates_of(shape, std::nullopt, std::nullopt, find_profile("toy"));
    EXPECT_FALSE(none.flop_per_s || none.peak_share || none.fmas_per_l2_byte);
}

TEST(KnownTimes, WhatIsGivenCountsBeforeWhatShips) {
    const GpuProfile profile = find_profile("h200");
    const std::string shape = "n1c64h56w56k64r3s3", name = "naive_global:threads=256";
    KnownTimes known(profile);
    const std::optional<KnownTime> shipped = known.find(shape, name);
    ASSERT_TRUE(shipped);
    convcast::Run run;
    Case &item = run.cases.emplace_back();
    item.shape = shape;
    item.strategy = name;
    item.status = Status::ok;
    item.measurements.emplace_back().time_s = Seconds(1.0);
    known.add(run, "mine");
    EXPECT_EQ(known.find(shape, name)->time_s.value, 1.0);
    EXPECT_EQ(known.find(shape, name)->recording, "mine");
    EXPECT_FALSE(known.find("n1c64h56w57k64r3s3", name));
    EXPECT_FALSE(KnownTimes(with_sms(profile, 131)).find(shape, name)) << "other SMs, other times";
    EXPECT_FALSE(KnownTimes(find_profile("toy")).find(shape, name));
    const std::optional<KnownTime> other =
        known.fastest(KnownTimes::Of::baselines, shape, [](const std::string &) { return true; });
    ASSERT_TRUE(other);
    EXPECT_EQ(other->name, "cudnn:tf32");
    const std::optional<KnownTime> fp32 = known.fastest(
        KnownTimes::Of::baselines, shape, [](const std::string &text) { return text != "cudnn:tf32"; });
    ASSERT_TRUE(fp32);
    EXPECT_EQ(fp32->name, "im2col_cublas") << "the table has the fastest of each arithmetic, and no other";
    EXPECT_FALSE(known.fastest(KnownTimes::Of::baselines, shape, [&](const std::string &text) {
        return text != other->name && text != fp32->name;
    }));
}

} // namespace
} // namespace convcast
