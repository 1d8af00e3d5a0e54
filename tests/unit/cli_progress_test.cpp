// What a line of progress says.
#include "cli/progress.hpp"

#include <gtest/gtest.h>

namespace convcast::cli {
namespace {

TEST(TimeLeft, IsAWholeNumberOfAUnitThatFits) {
    EXPECT_EQ(time_left(20.0, 100, 400), ", 80 s left");
    EXPECT_EQ(time_left(60.0, 100, 1000), ", 10 min left");
    EXPECT_EQ(time_left(3600.0, 100, 1000), ", 10 h left");
    EXPECT_EQ(time_left(17.6, 10, 1000000), ", 20 days left");
}

TEST(TimeLeft, IsNotSaidOfTheFirstPieces) {
    EXPECT_EQ(time_left(3.0, 1, 100000), "");
    EXPECT_EQ(time_left(3.0, 12, 100), ", 25 s left");
    EXPECT_EQ(time_left(12.0, 1, 9), ", 2 min left");
}

} // namespace
} // namespace convcast::cli
