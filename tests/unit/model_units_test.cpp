#include "model/base/units.hpp"

#include <gtest/gtest.h>

using namespace convcast;

namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
    a + b;
};

static_assert(!Addable<Bytes, Seconds>, "bytes and seconds do not add");
static_assert(!Addable<Fmas, Instructions>, "an FMA is not an instruction");
static_assert(Addable<Bytes, Bytes>);

TEST(Units, DimensionsFollowArithmetic) {
    const Bandwidth bandwidth(484e9);
    const BytesPerCycle per_clock = bandwidth / Frequency(1480e6);
    EXPECT_DOUBLE_EQ(per_clock.value, 484e9 / 1480e6);
    const Seconds time = Bytes(1048576.0) / bandwidth;
    EXPECT_DOUBLE_EQ(time.value, 1048576.0 / 484e9);
    EXPECT_DOUBLE_EQ(Bytes(2048.0) / Bytes(1024.0), 2.0);
}

TEST(Units, OneFmaIsTwoFlopsByName) {
    EXPECT_DOUBLE_EQ(flops(Fmas(3.0)), 6.0);
}

} // namespace
