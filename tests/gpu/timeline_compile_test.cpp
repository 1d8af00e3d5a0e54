// Kernels with a stamp compile for the H200 as those without: within their registers, without spills. Needs
// NVRTC, no GPU.
#include "executor/timeline/stamp.hpp"
#include "executor/timeline/timeline.hpp"
#include "tests/gpu/predicted.hpp"
#include "tests/gpu/require_library.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

namespace convcast {
namespace {

constexpr int hopper = 90;

TEST(TimelineCompile, StampsCostNoResidency) {
    CONVCAST_SKIP_IF(why_no_compiler());
    std::vector<CompileRequest> requests;
    std::vector<Partition> parts;
    for (const std::string &name : strategy_names())
        for (const char *text : {"n1c1h56w56k64r3s3", "n1c64h28w28k64r3s3"}) {
            const Case item = predicted(name, text);
            if (item.status != Status::ok)
                continue;
            const Plan &its = *item.prediction->plan;
            const StampedPlan with = stamped(its, ConvShape::parse(text), hopper);
            requests.insert(requests.end(), with.requests.begin(), with.requests.end());
            parts.insert(parts.end(), its.prepare.begin(), its.prepare.end());
            parts.insert(parts.end(), its.launches.begin(), its.launches.end());
        }
    ASSERT_EQ(requests.size(), parts.size());
    ASSERT_GT(requests.size(), 20U);
    Compiler compiler;
    const std::vector<Compiler::Outcome> outcomes = compiler.compile_all(requests, all_threads());
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        const auto *compiled = std::get_if<CompiledModule>(&outcomes[i]);
        ASSERT_TRUE(compiled) << std::get<std::string>(outcomes[i]);
        expect_sound(*compiled, parts[i]);
    }
}

/// The records of a launch lie behind those of the one before, all of them behind the output and a guard.
TEST(TimelineCompile, EveryLaunchHasItsRecords) {
    const ConvShape shape = ConvShape::parse("n1c64h28w28k64r3s3");
    const Case item = predicted("winograd", shape.id());
    const Plan &its = *item.prediction->plan;
    const StampedPlan with = stamped(its, shape, hopper);
    EXPECT_GE(with.records_offset, static_cast<std::size_t>(shape.output_bytes()) + 64 * 1024);
    std::size_t records = 0;
    ASSERT_EQ(with.requests.size(), its.prepare.size() + its.launches.size());
    for (std::size_t i = 0; i < with.requests.size(); ++i) {
        EXPECT_EQ(with.requests[i].options.back(),
                  "-DCONVCAST_SPANS_OFFSET=" +
                      std::to_string(with.records_offset + records * sizeof(CtaRecord)) + "ULL");
        records += static_cast<std::size_t>(with.launches[i].ctas);
    }
    EXPECT_EQ(with.records, records);
    for (const std::vector<Partition> *launches : {&with.plan.prepare, &with.plan.launches})
        for (const Partition &part : *launches) {
            ASSERT_GE(part.operands.size(), 2U);
            EXPECT_EQ(part.operands.back().memory, Memory::output);
        }
}

} // namespace
} // namespace convcast
