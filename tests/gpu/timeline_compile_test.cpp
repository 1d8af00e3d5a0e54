// Kernels with a stamp compile for the H200 as those without: within their registers, without spills. Needs
// NVRTC, no GPU.
#include "executor/launch/kernel_cache.hpp"
#include "executor/launch/kernel_source.hpp"
#include "executor/timeline/stamp.hpp"
#include "executor/timeline/timeline.hpp"
#include "model/base/errors.hpp"
#include "model/choose/setting.hpp"
#include "tests/gpu/require_library.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace convcast {
namespace {

constexpr int hopper = 90;

TEST(TimelineCompile, StampsCostNoResidency) {
    CONVCAST_SKIP_IF(why_no_compiler());
    const GpuProfile profile = find_profile("h200");
    std::vector<CompileRequest> requests, plain;
    std::vector<Partition> parts;
    for (const std::string &name : strategy_names())
        for (const char *text : {"n1c1h56w56k64r3s3", "n1c64h28w28k64r3s3"}) {
            const ConvShape shape = ConvShape::parse(text);
            auto made = plan(parse_strategy(name), shape, profile);
            const auto *planned = std::get_if<PlannedStrategy>(&made);
            if (planned == nullptr)
                continue;
            const Plan &its = planned->feasible.plan;
            StampedPlan with = stamped(its, shape, hopper);
            requests.insert(requests.end(), with.requests.begin(), with.requests.end());
            parts.insert(parts.end(), its.prepare.begin(), its.prepare.end());
            parts.insert(parts.end(), its.launches.begin(), its.launches.end());
        }
    ASSERT_EQ(requests.size(), parts.size());
    ASSERT_GT(requests.size(), 20U);
    Compiler compiler;
    const std::vector<Compiler::Outcome> outcomes =
        compiler.compile_all(requests, std::max(1U, std::thread::hardware_concurrency()));
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        const std::string name = name_expression(parts[i]);
        SCOPED_TRACE(name);
        const auto *compiled = std::get_if<CompiledModule>(&outcomes[i]);
        ASSERT_TRUE(compiled) << std::get<std::string>(outcomes[i]);
        const KernelFacts &facts = compiled->facts(name);
        EXPECT_EQ(compiled->log.find("wgmma.mma_async instructions are serialized"), std::string::npos);
        EXPECT_LE(facts.registers, parts[i].register_cap);
        EXPECT_EQ(facts.spill_store_bytes, 0);
        EXPECT_EQ(facts.spill_load_bytes, 0);
        EXPECT_EQ(facts.static_shared_bytes, 0);
    }
}

/// The records of a launch lie behind those of the one before, all of them behind the output and a guard.
TEST(TimelineCompile, EveryLaunchHasItsRecords) {
    const ConvShape shape = ConvShape::parse("n1c64h28w28k64r3s3");
    const GpuProfile h200 = find_profile("h200");
    auto made = plan(parse_strategy("winograd"), shape, h200);
    const Plan &its = std::get<PlannedStrategy>(made).feasible.plan;
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
