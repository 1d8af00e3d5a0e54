// Exact counts: what plans say, to the last FFMA and wavefront, of several plans at a time.
#include "executor/count/case_counts.hpp"
#include "executor/count/exact_work.hpp"
#include "tests/gpu/predicted.hpp"
#include "tests/gpu/require_gpu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <variant>
#include <vector>

namespace convcast {
namespace {

using ExactWorkDevice = OnGpu;

std::vector<CountedCall> count(const std::vector<PlanTask> &tasks, const std::atomic<bool> *interrupt,
                               bool *finished) {
    const Device device(0);
    Compiler compiler;
    const ExactOptions options{.seed = 7, .compile_threads = all_threads(), .interrupt = interrupt};
    std::vector<CountedCall> counts;
    std::size_t settled = 0;
    const bool all = count_exactly(
        compiler, device, tasks, options,
        [&](std::size_t task, const CountedCall &its) {
            EXPECT_EQ(task, counts.size());
            counts.push_back(its);
        },
        [&](std::size_t so_far) {
            EXPECT_GT(so_far, settled);
            settled = so_far;
        });
    EXPECT_EQ(settled, counts.size());
    if (finished)
        *finished = all;
    return counts;
}

TEST_F(ExactWorkDevice, CountsAreThePlans) {
    CONVCAST_SKIP_IF(why_no_counters());
    // Two shapes; prepared filters, several launches, early ones, clusters, constant memory, tensor cores.
    const std::vector<Case> cases =
        predicted(std::vector<Asked>{{"implicit_gemm:split=2", "n1c128h28w28k128r3s3"},
                                     {"winograd", "n1c128h28w28k128r3s3"},
                                     {"implicit_gemm_3xtf32", "n1c128h28w28k128r3s3"},
                                     {"stride_fixed_block", "n1c128h28w28k128r3s3"},
                                     {"naive_shared", "n1c128h28w28k128r3s3"},
                                     {"block_register", "n1c128h28w28k128r3s3"},
                                     {"filter_split", "n1c1h128w128k64r3s3"},
                                     {"row_register", "n1c1h128w128k64r3s3"}});
    ASSERT_FALSE(HasFailure());
    bool finished = false;
    const std::vector<CountedCall> counts = count(tasks_of(cases), nullptr, &finished);
    EXPECT_TRUE(finished);
    ASSERT_EQ(counts.size(), cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
        SCOPED_TRACE(*cases[i].strategy + " " + cases[i].shape);
        const auto *values = std::get_if<CounterSession::Values>(&counts[i]);
        ASSERT_TRUE(values) << std::get<std::string>(counts[i]);
        Case counted = cases[i];
        counted.measurements.emplace_back();
        ASSERT_TRUE(lacks_exact_counts(counted));
        add_exact_counts(counted, *values);
        EXPECT_FALSE(lacks_exact_counts(counted));
        const Work &work = *counted.measurements.front().work, &forecast = *cases[i].prediction->work;
        EXPECT_EQ(work.fmas, forecast.fmas);
        const double expected = *forecast_of(forecast, &Work::shared_wavefronts_by_address);
        EXPECT_NEAR(*work.shared_wavefronts_by_address, expected, 0.001 * expected);
    }
}

/// A call that leaves out some of its output must not be counted, and does not spoil its neighbours.
TEST_F(ExactWorkDevice, AWrongResultHasNoCounts) {
    CONVCAST_SKIP_IF(why_no_counters());
    const ConvShape shape = ConvShape::parse("n1c64h28w28k64r3s3");
    const Case item = predicted("naive_global", shape.id());
    ASSERT_EQ(item.status, Status::ok);
    const Plan &right = *item.prediction->plan;
    Plan wrong = right;
    wrong.launches.back().grid[0] -= 1;
    const std::vector<CountedCall> counts =
        count({{&right, shape}, {&wrong, shape}, {&right, shape}}, nullptr, nullptr);
    ASSERT_EQ(counts.size(), 3U);
    ASSERT_TRUE(std::holds_alternative<std::string>(counts[1]));
    EXPECT_THAT(std::get<std::string>(counts[1]), testing::HasSubstr("its result is wrong"));
    ASSERT_TRUE(std::holds_alternative<CounterSession::Values>(counts[0]));
    EXPECT_EQ(counts[0], counts[2]);
}

TEST_F(ExactWorkDevice, AnInterruptEndsIt) {
    CONVCAST_SKIP_IF(why_no_counters());
    const std::vector<Case> cases = {predicted("naive_global", "n1c64h28w28k64r3s3")};
    const std::atomic<bool> interrupt = true;
    bool finished = true;
    EXPECT_TRUE(count(tasks_of(cases), &interrupt, &finished).empty());
    EXPECT_FALSE(finished);
}

} // namespace
} // namespace convcast
