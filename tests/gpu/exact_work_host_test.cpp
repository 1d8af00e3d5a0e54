// The counters of exact work are GH100's. Needs libcupti, no GPU.
#include "executor/count/case_counts.hpp"
#include "gpu/counters.hpp"
#include "tests/gpu/require_library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace convcast {
namespace {

TEST(ExactWorkHost, ItsCountersShareAPass) {
    CONVCAST_SKIP_IF(why_no_cupti());
    EXPECT_THAT(unknown_metrics("GH100", exact_metric_names()), testing::IsEmpty());
    EXPECT_EQ(passes_for("GH100", exact_metric_names()), 1);
}

} // namespace
} // namespace convcast
