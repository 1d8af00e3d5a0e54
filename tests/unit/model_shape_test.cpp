#include "model/base/errors.hpp"
#include "model/shape/conv_shape.hpp"

#include <gmock/gmock.h>

#include <random>

using namespace convcast;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

TEST(ConvShape, SizesOfTheOutput) {
    const ConvShape s = ConvShape::parse("n2c3h13w31k5r3s5_str2x3_pad1x2_dil1x2");
    EXPECT_EQ(s.p(), (13 + 2 - 2 - 1) / 2 + 1);
    EXPECT_EQ(s.q(), (31 + 4 - 8 - 1) / 3 + 1);
    EXPECT_EQ(s.output_elements(), 2 * 5 * s.p() * s.q());
    EXPECT_DOUBLE_EQ(s.fmas().value, static_cast<double>(s.output_elements() * 3 * 15));
    EXPECT_DOUBLE_EQ(s.bytes().value,
                     4.0 * static_cast<double>(2 * 3 * 13 * 31 + 5 * 3 * 15 + s.output_elements()));
}

TEST(ConvShape, CanonicalIdNamesOnlyWhatIsNotDefault) {
    EXPECT_EQ(ConvShape::parse("n1c64h56w56k64r3s3").id(), "n1c64h56w56k64r3s3");
    EXPECT_EQ(ConvShape::parse("n1c64h56w56k64r3s3_str2_pad1").id(), "n1c64h56w56k64r3s3_str2x2_pad1x1");
    EXPECT_EQ(ConvShape::parse("N1C64H56W56K64R3S3_PAD1x1_F16").id(), "n1c64h56w56k64r3s3_pad1x1_f16");
    EXPECT_EQ(ConvShape::parse("n1c64h56w56k64r3s3_str1x1_pad0x0_f32").id(), "n1c64h56w56k64r3s3");
    EXPECT_EQ(ConvShape::parse("n1c64h56w56k64r3s3_g8_pad1x1_str2x2_dil2x2_f16").id(),
              "n1c64h56w56k64r3s3_str2x2_pad1x1_dil2x2_g8_f16");
}

TEST(ConvShape, IdRoundTripsForRandomShapes) {
    std::mt19937 random(7);
    const auto pick = [&](int low, int high) { return std::uniform_int_distribution<>(low, high)(random); };
    for (int i = 0; i < 2000; ++i) {
        ConvShape s;
        s.groups = pick(1, 3);
        s.n = pick(1, 9), s.c = s.groups * pick(1, 9), s.k = s.groups * pick(1, 9);
        s.r = pick(1, 5), s.s = pick(1, 5), s.h = pick(20, 90), s.w = pick(20, 90);
        s.stride_h = pick(1, 3), s.stride_w = pick(1, 3), s.pad_h = pick(0, 2), s.pad_w = pick(0, 2);
        s.dilation_h = pick(1, 3), s.dilation_w = pick(1, 3);
        s.dtype = static_cast<DataType>(pick(0, 2));
        EXPECT_EQ(ConvShape::parse(s.id()), s) << s.id();
    }
}

struct BadShape {
    const char *text, *says;
};
class ConvShapeRejects : public testing::TestWithParam<BadShape> {};

TEST_P(ConvShapeRejects, WithTheReasonAndAnExample) {
    EXPECT_THAT(
        [] { ConvShape::parse(GetParam().text); },
        ThrowsMessage<UsageError>(testing::AllOf(HasSubstr(GetParam().says), HasSubstr("Example: n1c64"))));
}

INSTANTIATE_TEST_SUITE_P(Texts, ConvShapeRejects,
                         testing::Values(BadShape{"", "expected 'n'"},
                                         BadShape{"n1c64h56w56k64r3", "expected 's'"},
                                         BadShape{"n1c64w56h56k64r3s3", "expected 'h'"},
                                         BadShape{"n-1c1h1w1k1r1s1", "expected a number"},
                                         BadShape{"n0c1h1w1k1r1s1", "at least 1"},
                                         BadShape{"n1c1h2w2k1r3s3", "larger than the padded"},
                                         BadShape{"n1c3h8w8k4r1s1_g2", "groups must divide"},
                                         BadShape{"n1c1h8w8k1r1s1_padx1", "expected a number"},
                                         BadShape{"n1c1h8w8k1r1s1_foo", "unexpected"},
                                         BadShape{"n1c1h8w8k1r1s1_pad1x1_pad2x2", "stands twice"},
                                         BadShape{"n99999999999999999999c1h1w1k1r1s1", "too large"},
                                         BadShape{"n1000000000c1000000000h1w1k1r1s1", "2^62"},
                                         BadShape{"n1c1h8w8k1r1s1 ", "unexpected"}));

} // namespace
