// Every number of Chang's Table 1 and every rule of sections 3.1 and 3.2, by examples worked by hand.
#include "model/base/errors.hpp"
#include "model/paper/papers.hpp"
#include "model/paper/rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

using namespace convcast;
using namespace convcast::papers;

namespace {

GpuProfile pascal() {
    return find_profile("gtx1080ti");
}

TEST(Table1, Gtx1080Ti) {
    const Rules t = table1(pascal());
    EXPECT_EQ(t.n_fma, 66048); // 258 * 128 * 2
    EXPECT_EQ(t.bytes_per_clock, 327);
    EXPECT_EQ(t.data_bytes, 84366);
    EXPECT_EQ(t.threads, 21120);
    EXPECT_EQ(t.threads_per_sm, 768);
    EXPECT_EQ(t.warps_per_sm, 24);
    EXPECT_EQ(t.bytes_per_sm, 3072);
    EXPECT_EQ(t.v_s_bytes, 86016);
}

TEST(Table1, WhatTheChipDoesInstead) {
    const Rules rules = table1_rules(pascal());
    EXPECT_EQ(rules.hardware_n_fma, 258.0 * 128.0);                   // one FMA a core and clock
    EXPECT_NEAR(*rules.hardware_bytes, 484e9 * 258.0 / 1.48e9, 10.0); // Little's law
    EXPECT_EQ(rules.bytes_per_sm, 3072);
    GpuProfile curve = pascal();
    curve.dram_read_curve.emplace().fit.emplace().bytes_for_90 = 123456.0;
    EXPECT_EQ(table1_rules(curve).hardware_bytes, 123456.0);
    EXPECT_EQ(shape_rules(ConvShape::parse("n1c1h1024w1024k32r3s3"), pascal()).pieces_p, 47);
    EXPECT_FALSE(shape_rules(ConvShape::parse("n1c2h1024w1024k32r3s3"), pascal()).pieces_p);
}

TEST(Table1, ToyByHand) {
    // 100 clk * 64 * 2; 100 B/clk; 10,000 B; 2500 threads -> 2528; 252.8 -> 256 per SM; 256 * 4 * 10
    const Rules t = table1(find_profile("toy"));
    EXPECT_EQ(t.n_fma, 12800);
    EXPECT_EQ(t.data_bytes, 10000);
    EXPECT_EQ(t.threads, 2528);
    EXPECT_EQ(t.threads_per_sm, 256);
    EXPECT_EQ(t.v_s_bytes, 10240);
}

TEST(Table1, NamesWhatIsMissing) {
    GpuProfile p = pascal();
    p.dram_latency.reset();
    EXPECT_EQ(missing_for_table1(p), "dram_latency");
    EXPECT_THROW(table1(p), InputError);
}

// K = 3, M = 64, map 100 x 100 on the 1080 Ti: ceil(64 / 28) = 3 filters, ceil(100 / 28) = 4 rows.
TEST(Division, EquationsByHand) {
    const ConvShape s = ConvShape::parse("n1c1h100w100k64r3s3");
    EXPECT_EQ(d1_bytes(s, 28, 1), (9 * 3 + 10000) * 4);          // (4)
    EXPECT_EQ(d1_bytes(s, 28, 7), (9 * 3 + (15 + 2) * 100) * 4); // (5): ceil(100 / 7) = 15
    EXPECT_EQ(th1_fmas(s, 28, 7), 9 * 3 * 15 * 100);             // (6)
    EXPECT_EQ(d2_bytes(s, 28, 1), (9 * 64 + (4 + 2) * 100) * 4); // (7)
    EXPECT_EQ(d2_bytes(s, 28, 5), (9 * 13 + (4 + 2) * 100) * 4); // (8): ceil(64 / 5) = 13
    EXPECT_EQ(th2_fmas(s, 28, 5), 9 * 13 * 4 * 100);             // (9)
}

TEST(Division, RuleOneAndTwoGiveARange) {
    const Division d = divide_single_channel(ConvShape::parse("n1c1h100w100k64r3s3"), pascal());
    // P <= 9 * 3 * 10000 / 66048 = 4.08; P >= 40000 / (98304 - 108 - 800) = 0.41
    EXPECT_EQ(d.p.upper, 4);
    EXPECT_EQ(d.p.lower, 1);
    EXPECT_EQ(d.p.chosen, 1);
    EXPECT_TRUE(d.p.in_range);
    // Q <= 9 * 64 * 4 * 100 / 66048 = 3.49; Q >= 4 * 64 * 9 / (98304 - 400 * 6) = 0.02
    EXPECT_EQ(d.q.upper, 3);
    EXPECT_EQ(d.q.chosen, 1);
    // D1 = 40108 > D2 = 4704: division 2, P reset to 1
    EXPECT_EQ(d.d1, 40108);
    EXPECT_EQ(d.d2, 4704);
    EXPECT_EQ(d.method, 2);
    EXPECT_EQ(d.pieces_p, 1);
    EXPECT_EQ(d.pieces_q, 1);
}

TEST(Division, NoFeasiblePieces) {
    // 28 x 28, M = 512, K = 1: 19 filters an SM; Th1(1) = 19 * 784 = 14,896 < 66,048, Th2(1) = 512 * 28 =
    // 14,336
    const Division d = divide_single_channel(ConvShape::parse("n1c1h28w28k512r1s1"), pascal());
    EXPECT_FALSE(d.p.in_range);
    EXPECT_FALSE(d.q.in_range);
    EXPECT_EQ(d.p.chosen, 1);
    EXPECT_EQ(d.q.chosen, 1);
    EXPECT_NE(d.p.why.find("N_FMA"), std::string::npos);
    EXPECT_EQ(d.th1, 14896);
    EXPECT_EQ(d.th2, 14336);
}

TEST(Division, SharedMemoryDecides) {
    // 512 x 512, M = 64, K = 3: P <= 9 * 3 * 262144 / 66048 = 107.2; P >= 1048576 / (98304 - 108 - 4096)
    // = 11.14
    const Division d = divide_single_channel(ConvShape::parse("n1c1h512w512k64r3s3"), pascal());
    EXPECT_EQ(d.p.lower, 12);
    EXPECT_EQ(d.p.upper, 107);
    EXPECT_EQ(d.p.chosen, 12);
    EXPECT_EQ(d.d1, (9 * 3 + (43 + 2) * 512) * 4);  // 92,268
    EXPECT_EQ(d.d2, (9 * 64 + (19 + 2) * 512) * 4); // 45,312: division 2
    EXPECT_EQ(d.method, 2);
}

TEST(Division, ThePapersPiecesCanOverrunSharedMemory) {
    const Division three = divide_single_channel(ConvShape::parse("n1c1h1024w1024k32r3s3"), pascal());
    EXPECT_EQ(three.d1, 98376);
    EXPECT_TRUE(three.overruns_shared);
    const Division five = divide_single_channel(ConvShape::parse("n1c1h1024w1024k32r5s5"), pascal());
    EXPECT_EQ(five.d1, 98504);
    EXPECT_TRUE(five.overruns_shared);
    const Division one = divide_single_channel(ConvShape::parse("n1c1h1024w1024k32r1s1"), pascal());
    EXPECT_FALSE(one.q.in_range); // no Q fits: 37 rows of 4096 bytes exceed 98,304
    EXPECT_FALSE(one.q.lower.has_value());
}

// 56 x 56, M = 256, K = 1: an SM of the 1080 Ti has 28,672 FMAs by division 2. Filters in 7 parts of 37 and
// rows in 4 of 14 move 28 * (37 + 14 * 56) * 4 bytes, in 4 parts of 64 and 7 of 8 rows 28 * (64 + 8 * 56)
// * 4.
TEST(Redivision, LeastBeyondVs) {
    const ConvShape s = ConvShape::parse("n1c1h56w56k256r1s1");
    EXPECT_EQ(28 * share_bytes(s, 4, 7), 57344); // below V_s = 86,016
    EXPECT_EQ(28 * share_bytes(s, 28, 1), 352352);
    EXPECT_EQ(share_bytes(s, 28, 1), d1_bytes(s, 28, 1));
    EXPECT_EQ(share_bytes(s, 1, 28), d2_bytes(s, 28, 1));
    EXPECT_EQ(share_fmas(s, 1, 28), th2_fmas(s, 28, 1));
    const std::optional<Redivision> again = redivide(s, pascal());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->filter_shares, 7);
    EXPECT_EQ(again->map_shares, 4);
    EXPECT_EQ(again->share_bytes, (37 + 14 * 56) * 4);
    EXPECT_EQ(again->share_fmas, 37 * 14 * 56);
    EXPECT_EQ(again->moved_bytes, 91952);
    EXPECT_TRUE(again->exceeds_v_s);
}

TEST(Redivision, MostWhereNoneExceedsVs) {
    // V_s of the H200 is 1,622,016; division 1 moves 132 * 3,152 bytes of 28 x 28, M = 512, K = 1.
    const std::optional<Redivision> again =
        redivide(ConvShape::parse("n1c1h28w28k512r1s1"), find_profile("h200"));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->filter_shares, 132);
    EXPECT_EQ(again->map_shares, 1);
    EXPECT_EQ(again->moved_bytes, 416064);
    EXPECT_FALSE(again->exceeds_v_s);
}

TEST(Redivision, NotWhereAnSmHasNFma) {
    EXPECT_FALSE(redivide(ConvShape::parse("n1c1h512w512k32r3s3"), pascal()));
}

TEST(StrideFixed, RulesByHand) {
    EXPECT_EQ(lines_per_segment(32, 3), 3); // ceil(32 / 12)
    EXPECT_EQ(lines_touched(32, 3), 4);     // values 8 to 15 touch rows 2 to 5
    EXPECT_EQ(lines_touched(32, 1), 8);
    EXPECT_EQ(lines_touched(64, 5), 4);
    EXPECT_EQ(step_fmas(32, 128, 64), 65536);
    EXPECT_EQ(step_fmas(64, 128, 64), 131072);
    EXPECT_EQ(tile_k_min(66048, 32, 128), 65); // just above the paper's 64: "just under N_FMA"
    EXPECT_EQ(tile_k_min(66048, 64, 128), 33);
    EXPECT_EQ(step_bytes(64, 3, 128, 64), 64 * 64 + 6 * 128 * 4);
}

TEST(StrideFixed, LinesTouchedIsTheWorstStart) {
    for (std::int64_t width = 1; width <= 7; ++width)
        for (const std::int64_t segment : {32, 64, 128}) {
            std::int64_t worst = 0;
            for (std::int64_t start = 0; start < width * segment; start += segment / 4)
                worst = std::max(worst, (start + segment / 4 - 1) / width - start / width + 1);
            EXPECT_GE(lines_touched(segment, width), worst) << width << " " << segment;
            EXPECT_LE(lines_touched(segment, width), worst + 1) << width << " " << segment;
        }
}

TEST(Chen, BankRatio) {
    EXPECT_EQ(bank_ratio(Bytes(8.0), 4), 2); // Kepler, float
    EXPECT_EQ(bank_ratio(Bytes(4.0), 4), 1);
    EXPECT_EQ(bank_ratio(Bytes(4.0), 2), 2); // half elsewhere
    EXPECT_EQ(bank_ratio(Bytes(4.0), 1), 4); // int8
}

TEST(Chen, Reuse) {
    EXPECT_EQ(pixel_uses(5, 5, 32), 800);
    EXPECT_DOUBLE_EQ(shared_reads(8, 5), 12.0 / 40.0); // W_T and K of Table 1
    EXPECT_DOUBLE_EQ(shared_reads(16, 1), 1.0);        // of a single tap nothing is shared
    EXPECT_DOUBLE_EQ(global_reads(7), 1.0 / 7.0);
}

} // namespace
