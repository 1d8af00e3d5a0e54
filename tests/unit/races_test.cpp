// What the race checker is shown, and how its words are read. Needs no GPU.
#include "executor/launch/kernel_source.hpp"
#include "model/choose/setting.hpp"
#include "tests/gpu/false_alarm.hpp"
#include "tests/gpu/race_cases.hpp"
#include "tests/gpu/race_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
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

TEST(RaceCases, ShapesInCanonicalText) {
    const std::vector<std::string> &shapes = race_shapes();
    EXPECT_EQ(std::set<std::string>(shapes.begin(), shapes.end()).size(), 68U);
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

TEST(RaceReport, AccessesAreNamed) {
    // A function that the kernel calls comes first; the kernel is the one that the file is named after.
    const ToolLog log = read_tool_log(R"(========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at void convcast::copy_async_unless<(int)1>(float *, const float *, bool)+0x1ec0 in race_ring.cu:270
=========     and Read access at void race_ring<(int)1, (int)0>(const float *, float *, int)::[lambda(int) (instance 2)]::operator ()(int) const+0x910 in race_ring.cu:473 [1536 hazards]
=========
ring copied: race_ring<1, 0>, 1 launches, 0 wrong values
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
)");
    ASSERT_EQ(log.findings.size(), 1U);
    const Finding &finding = log.findings.front();
    EXPECT_EQ(finding.kernel, "race_ring<1, 0>");
    EXPECT_EQ(finding.hazards, 1536);
    ASSERT_EQ(finding.accesses.size(), 2U);
    EXPECT_EQ(finding.accesses[0].kind, "Write");
    EXPECT_EQ(finding.accesses[0].function, "convcast::copy_async_unless<1>");
    EXPECT_EQ(finding.accesses[0].file, "race_ring.cu");
    EXPECT_EQ(finding.accesses[0].line, 270);
    EXPECT_EQ(finding.accesses[1].kind, "Read");
    EXPECT_EQ(finding.accesses[1].function, "race_ring<1, 0>");
    EXPECT_EQ(finding.accesses[1].line, 473);
}

// ---- the false alarm ----

const std::string &alarm_source() {
    static const std::string source = kernel_source("implicit_gemm_3xtf32");
    return source;
}

/// The line of the kernel's source, from 1, of the one place where `text` stands.
int line_with(const std::string &text) {
    const std::size_t at = alarm_source().find(text);
    EXPECT_NE(at, std::string::npos) << text;
    EXPECT_EQ(alarm_source().find(text, at + 1), std::string::npos) << text << " twice";
    return 1 + static_cast<int>(std::count(alarm_source().begin(),
                                           alarm_source().begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

const char *const first_pixels = "low = *reinterpret_cast<const float2 *>(of_pixels ";
const char *const last_pixels = "high = *reinterpret_cast<const float2 *>(of_pixels ";
const char *const copy = "cp.async.ca.shared.global [%0], [%1], 4, outside;";
const char *const wide_copy = "cp.async.cg.shared.global [%0], [%1], 16, outside;";
const char *const bulk_copy = "cp.async.bulk.shared::cluster.global";

constexpr const char *caller =
    "void implicit_gemm_3xtf32<(int)2, (int)8, (int)8, (int)7, (int)33, (int)1, (int)3, (int)3, (int)1, "
    "(int)1, (int)1, (int)1, (int)1, (int)1, (int)128, (int)64, (int)4, (int)2, (int)1, (bool)1, (bool)0, "
    "(int)40, (int)184>(const float *, const float *, float *, convcast::ConvArgs)::[lambda(int) (instance "
    "4)]::operator ()(int) const";
constexpr const char *copier = "void convcast::copy_async_unless<(int)1>(float *, const float *, bool)";

std::string access(const char *kind, const char *function, const char *line) {
    return std::string(kind) + " access at " + function +
           "+0x4e0 in implicit_gemm_3xtf32.cu:" + std::to_string(line_with(line));
}

/// One finding as racecheck words it; compute-sanitizer 2025.3.1 on an H100.
Finding reported(const std::string &first, const std::vector<std::string> &others) {
    std::string log = "========= Error: Race reported between " + first + "\n";
    for (const std::string &other : others)
        log += "=========     and " + other + " [960 hazards]\n";
    const ToolLog read = read_tool_log(log + "=========\n");
    EXPECT_EQ(read.findings.size(), 1U) << log;
    return read.findings.front();
}

TEST(FalseAlarm, IsOfPixelsAndTheirCopies) {
    for (const char *pixels : {first_pixels, last_pixels})
        EXPECT_TRUE(is_pixels_alarm(reported(access("Read", caller, pixels),
                                             {access("Write", copier, copy), access("Write", copier, copy)}),
                                    alarm_source()));
    EXPECT_TRUE(
        is_pixels_alarm(reported(access("Write", copier, wide_copy), {access("Read", caller, first_pixels)}),
                        alarm_source()));
}

TEST(FalseAlarm, IsNothingElse) {
    const auto alarm = [](const std::string &first, const std::vector<std::string> &others) {
        return is_pixels_alarm(reported(first, others), alarm_source());
    };
    const std::string read = access("Read", caller, first_pixels), write = access("Write", copier, copy);
    EXPECT_TRUE(alarm(read, {write}));
    // One more access, another function or line, another kind.
    EXPECT_FALSE(
        alarm(read, {write, access("Write", caller, "*reinterpret_cast<float2 *>(shared + m * sum_pitch")}));
    EXPECT_FALSE(alarm(
        read,
        {access("Write", "convcast::copy_bulk(float *, const float *, int, unsigned int)", bulk_copy)}));
    EXPECT_FALSE(alarm(read, {access("Write", copier, bulk_copy)}));
    EXPECT_FALSE(alarm(read, {access("Write", caller, copy)}));
    EXPECT_FALSE(alarm(read, {access("Read", copier, copy)}));
    EXPECT_FALSE(alarm(access("Read", caller, "total += load_from_cta("), {write}));
    EXPECT_FALSE(alarm(access("Write", caller, first_pixels), {write}));
    EXPECT_FALSE(alarm(read, {}));
    EXPECT_FALSE(alarm(write, {}));
    // The same lines of another file, of another kernel, without lines, another complaint.
    const auto changed = [&](auto change) {
        Finding finding = reported(read, {write});
        change(finding);
        return is_pixels_alarm(finding, alarm_source());
    };
    EXPECT_FALSE(changed([](Finding &f) { f.accesses[0].file = "winograd.cu"; }));
    EXPECT_FALSE(changed([](Finding &f) { f.kernel = "implicit_gemm_3xtf32_filters<2, 8>"; }));
    EXPECT_FALSE(changed([](Finding &f) { f.accesses[0].line = 0; }));
    EXPECT_FALSE(changed([](Finding &f) { f.accesses[1].line = 1'000'000; }));
    EXPECT_FALSE(changed([](Finding &f) { f.accesses.clear(); }));
    EXPECT_FALSE(changed([](Finding &f) { f.text = "Barrier error detected. Divergent thread(s) in warp"; }));
}

std::int64_t alarm_hazards(const char *shape, const char *strategy) {
    const GpuProfile h200 = find_profile("h200");
    const auto planned = plan(parse_strategy(strategy), ConvShape::parse(shape), h200);
    std::int64_t hazards = 0;
    for (const Partition &part : std::get<PlannedStrategy>(planned).feasible.plan.launches)
        hazards += pixels_alarm_hazards(part);
    return hazards;
}

/// As many as racecheck counted (compute-sanitizer 2025.3.1 on an H100): 31 of 32 bytes of each buffer of
/// pixels that is filled again.
TEST(FalseAlarm, HasSoManyHazards) {
    EXPECT_EQ(alarm_hazards("n2c8h8w7k33r3s3_pad1x1",
                            "implicit_gemm_3xtf32:tile_k=128,tile_pixels=64,depth=4,stages=2,split=1"),
              8 * 1984);
    EXPECT_EQ(alarm_hazards("n1c33h6w10k5r1s3",
                            "implicit_gemm_3xtf32:tile_k=32,tile_pixels=64,depth=4,stages=3,split=1"),
              8 * 992);
    EXPECT_EQ(alarm_hazards("n1c96h5w5k3r3s3",
                            "implicit_gemm_3xtf32:tile_k=32,tile_pixels=64,depth=2,stages=2,split=1"),
              4 * 51584);
    // CTAs of a cluster have four steps or three; three groups of consumers.
    EXPECT_EQ(alarm_hazards("n1c96h5w5k3r3s3",
                            "implicit_gemm_3xtf32:tile_k=128,tile_pixels=192,depth=4,stages=3,split=8"),
              8 * 8928);
    EXPECT_EQ(alarm_hazards("n3c33h9w14k65r5s5_pad2x2_dil2x2",
                            "implicit_gemm_3xtf32:tile_k=32,tile_pixels=64,depth=4,stages=2,split=8"),
              8 * 89280);
    // No buffer is filled again, and another kernel.
    EXPECT_EQ(alarm_hazards("n1c8h1w1k1r1s1",
                            "implicit_gemm_3xtf32:tile_k=32,tile_pixels=64,depth=4,stages=8,split=1"),
              0);
    EXPECT_EQ(alarm_hazards("n1c20h16w15k64r5s5", "implicit_gemm"), 0);
}

ToolLog ring_log(std::int64_t hazards) {
    ToolLog log;
    log.ended = true;
    if (hazards > 0)
        log.findings.push_back({"race_ring<0, 0, 0>", "Error: Race reported between ", hazards, {}});
    return log;
}

std::map<std::string, ToolLog> ring_logs() {
    std::map<std::string, ToolLog> logs;
    for (const Ring &ring : rings)
        logs[ring.name] = ring_log(ring.shown == Shown::nothing ? 0 : 8);
    return logs;
}

TEST(Rings, SettleWhetherAnythingIsExcepted) {
    const RingsSeen seen = judge_rings(ring_logs());
    EXPECT_TRUE(seen.good);
    EXPECT_TRUE(seen.false_alarm);
    EXPECT_EQ(seen.lines.size(), rings.size());

    const RingsSeen none = judge_rings({});
    EXPECT_TRUE(none.good);
    EXPECT_FALSE(none.false_alarm);
}

TEST(Rings, ABlindToolIsNotBelieved) {
    for (const Ring &ring : rings) {
        std::map<std::string, ToolLog> logs = ring_logs();
        logs[ring.name] = ring_log(ring.shown == Shown::nothing ? 8 : 0);
        const RingsSeen seen = judge_rings(logs);
        EXPECT_FALSE(seen.false_alarm) << ring.name;
        EXPECT_EQ(seen.good, ring.shown == Shown::false_alarm) << ring.name;

        logs[ring.name].ended = false;
        EXPECT_FALSE(judge_rings(logs).good) << ring.name;
        logs.erase(ring.name);
        EXPECT_FALSE(judge_rings(logs).good) << ring.name;
    }
}

TEST(Rings, ABetterToolNeedsNoException) {
    std::map<std::string, ToolLog> logs = ring_logs();
    logs["copied"] = ring_log(0);
    EXPECT_THAT(judge_rings(logs).lines, Contains(testing::HasSubstr("can be deleted")));
}

} // namespace
} // namespace convcast
