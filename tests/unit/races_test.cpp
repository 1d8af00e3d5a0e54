// What the race checker is shown, and how its words are read. Needs no GPU.
#include "model/strategies.hpp"
#include "tests/gpu/race_cases.hpp"
#include "tests/gpu/race_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace convcast {
namespace {

using testing::Contains;
using testing::IsEmpty;

const std::vector<RaceCase> &cases() {
    static const std::vector<RaceCase> list = race_cases(find_profile("h200"));
    return list;
}

TEST(RaceCases, SixtyShapesInCanonicalText) {
    const std::vector<std::string> &shapes = race_shapes();
    EXPECT_EQ(std::set<std::string>(shapes.begin(), shapes.end()).size(), 60U);
    for (const std::string &shape : shapes)
        EXPECT_EQ(ConvShape::parse(shape).id(), shape);
}

TEST(RaceCases, EveryStrategyRunsEveryShapeThatItDoes) {
    const GpuProfile profile = find_profile("h200");
    std::set<std::string> seen;
    for (const RaceCase &item : cases())
        EXPECT_TRUE(seen.insert(item.shape.id() + " " + item.strategy).second)
            << item.shape.id() << " " << item.strategy << " twice";
    for (const std::string &name : strategy_names()) {
        std::size_t done = 0;
        for (const std::string &shape : race_shapes()) {
            const auto planned = plan(parse_strategy(name), ConvShape::parse(shape), profile);
            if (const auto *good = std::get_if<PlannedStrategy>(&planned)) {
                ++done;
                EXPECT_THAT(seen, Contains(shape + " " + to_text(good->strategy)));
            }
        }
        EXPECT_GE(done, 10U) << name;
    }
    EXPECT_THAT(seen, Contains("n3c33h9w14k65r5s5_pad2x2_dil2x2 "
                               "implicit_gemm_3xtf32:tile_k=32,tile_pixels=64,depth=4,stages=2,split=8"));
}

/// The values of a knob in the cases' texts.
std::set<int> values_of(const std::string &strategy, const std::string &knob) {
    std::set<int> values;
    for (const RaceCase &item : cases()) {
        const std::size_t at = item.strategy.find(knob + "=");
        if (item.strategy.starts_with(strategy + ":") && at != std::string::npos)
            values.insert(std::stoi(item.strategy.substr(at + knob.size() + 1)));
    }
    return values;
}

TEST(RaceCases, EveryKnobIsAtItsEnds) {
    // Ends that shapes of this size cannot reach are left out: pieces of a map, filters by the thousand.
    const std::map<std::string, std::pair<int, int>> ends = {{"implicit_gemm:tile_k", {16, 256}},
                                                             {"implicit_gemm:tile_pixels", {16, 256}},
                                                             {"implicit_gemm:stages", {2, 6}},
                                                             {"implicit_gemm:split", {1, 8}},
                                                             {"implicit_gemm:warp_split", {1, 8}},
                                                             {"implicit_gemm:filters", {1, 2}},
                                                             {"implicit_gemm:staging", {1, 2}},
                                                             {"implicit_gemm_3xtf32:tile_k", {32, 128}},
                                                             {"implicit_gemm_3xtf32:depth", {2, 8}},
                                                             {"implicit_gemm_3xtf32:tile_pixels", {64, 256}},
                                                             {"implicit_gemm_3xtf32:stages", {2, 8}},
                                                             {"implicit_gemm_3xtf32:split", {1, 8}},
                                                             {"winograd:tile", {2, 6}},
                                                             {"winograd:tile_k", {32, 128}},
                                                             {"winograd:stages", {2, 6}},
                                                             {"stride_fixed_block:stages", {2, 4}},
                                                             {"stride_fixed_block:tile_w", {32, 256}},
                                                             {"filter_stream:stages", {2, 4}},
                                                             {"map_stream:stages", {2, 4}},
                                                             {"map_stream:columns", {1, 4}},
                                                             {"channel_split:stages", {2, 4}},
                                                             {"naive_global:threads", {32, 1024}},
                                                             {"naive_shared:map", {1, 2}},
                                                             {"patch_register:vector", {1, 4}},
                                                             {"patch_register:threads", {32, 1024}},
                                                             {"row_register:unit", {1, 4}},
                                                             {"block_register:unit", {1, 4}},
                                                             {"block_register:tile_h", {1, 64}}};
    for (const auto &[name, both] : ends) {
        const std::size_t colon = name.find(':');
        const std::set<int> values = values_of(name.substr(0, colon), name.substr(colon + 1));
        ASSERT_FALSE(values.empty()) << name;
        EXPECT_EQ(*values.begin(), both.first) << name;
        EXPECT_EQ(*values.rbegin(), both.second) << name;
    }
    for (const StrategyDoc &strategy : strategy_docs())
        for (const KnobDoc &knob : strategy.knobs)
            EXPECT_GE(values_of(strategy.name, knob.name).size(), 2U) << strategy.name << ":" << knob.name;
}

TEST(RaceReport, KernelsAreNamedAsInPlans) {
    EXPECT_EQ(
        kernel_in("Error: Race reported between Write access at void ring<(int)3, (bool)1>(const float *, "
                  "int)+0x430 in ring.cu:46"),
        "ring<3, 1>");
    EXPECT_EQ(kernel_in("at void k<(int)-1>(T1)+0x10"), "k<-1>");
    EXPECT_EQ(kernel_in("and Read access at format_at+0x20 in a.cu:1 [4 hazards]"), "format_at");
    EXPECT_EQ(kernel_in("Barrier error detected. Divergent thread(s) in warp"), "");
}

TEST(RaceReport, FindingsAreAddedUpByKernel) {
    const ToolLog log = read_tool_log(R"(========= COMPUTE-SANITIZER
case n1c1h1w1k1r1s1 a (default)
========= Error: Race reported between Write access at void a<(int)3>(float *)+0x430 in a.cu:46
=========     and Read access at void a<(int)3>(float *)+0x770 in a.cu:55 [248 hazards]
=========     and Write access at void a<(int)3>(float *)+0x7a0 in a.cu:57 [2 hazards]
=========
right n1c1h1w1k1r1s1 a (default)
========= Error: Race reported between Write access at void a<(int)3>(float *)+0x430 in a.cu:46
=========     and Read access at void a<(int)3>(float *)+0x770 in a.cu:55 [248 hazards]
=========     and Write access at void a<(int)3>(float *)+0x7a0 in a.cu:57 [2 hazards]
=========
========= Barrier error detected. Divergent thread(s) in warp
=========     at b(int *, int)+0xf0 in b.cu:79
=========     by thread (37,0,0) in block (0,0,0)
=========
========= RACECHECK SUMMARY: 2 hazards displayed (2 errors, 0 warnings)
)");
    EXPECT_TRUE(log.ended);
    ASSERT_EQ(log.findings.size(), 2U);
    EXPECT_EQ(log.findings[0].kernel, "a<3>");
    EXPECT_EQ(log.findings[0].hazards, 500);
    EXPECT_EQ(log.findings[0].text,
              "Error: Race reported between Write access +0x430 in a.cu:46, and Read access "
              "+0x770 in a.cu:55, and Write access +0x7a0 in a.cu:57");
    EXPECT_EQ(log.findings[1].kernel, "b");
    EXPECT_EQ(log.findings[1].hazards, 1);
}

TEST(RaceReport, ALogThatBreaksOffIsKnown) {
    const ToolLog log = read_tool_log("========= COMPUTE-SANITIZER\ncase n1c1h1w1k1r1s1 a (default)\n");
    EXPECT_FALSE(log.ended);
    EXPECT_THAT(log.findings, IsEmpty());
}

} // namespace
} // namespace convcast
