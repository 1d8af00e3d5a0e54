#include "model/base/units.hpp"

#include <gtest/gtest.h>

using namespace convcast;
using namespace convcast::literals;

namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
    a + b;
};

static_assert(!Addable<Bytes, Seconds>, "bytes and seconds do not add");
static_assert(!Addable<Fmas, Instructions>, "an FMA is not an instruction");
static_assert(Addable<Bytes, Bytes>);

TEST(Units, DimensionsFollowArithmetic) {
    const Bandwidth bandwidth = 484.0_GBps;
    const BytesPerCycle per_clock = bandwidth / 1480.0_MHz;
    EXPECT_DOUBLE_EQ(per_clock.value, 484e9 / 1480e6);
    const Seconds time = 1_MiB / bandwidth;
    EXPECT_DOUBLE_EQ(time.value, 1048576.0 / 484e9);
    EXPECT_DOUBLE_EQ(2_KiB / 1_KiB, 2.0);
}

TEST(Units, OneFmaIsTwoFlopsByName) {
    EXPECT_DOUBLE_EQ(flops(Fmas(3.0)), 6.0);
}

} // namespace
