// The counters of exact work are GH100's. Needs libcupti, no GPU.
#include "executor/count/exact_counts.hpp"
#include "gpu/check.hpp"
#include "gpu/counters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace convcast {
namespace {

TEST(ExactWorkHost, ItsCountersShareAPass) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "CUPTI opens libnvperf_host with RTLD_DEEPBIND, which AddressSanitizer does not allow";
#endif
    try {
        EXPECT_THAT(unknown_metrics("GH100", exact_metric_names()), testing::IsEmpty());
        EXPECT_EQ(passes_for("GH100", exact_metric_names()), 1);
    } catch (const GpuError &error) {
        GTEST_SKIP() << error.what();
    }
}

} // namespace
} // namespace convcast
