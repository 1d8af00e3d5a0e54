// Passes of shared memory and sectors of L2, from addresses.
#include "model/machine/architecture.hpp"
#include "model/machine/profile.hpp"
#include "model/shape/conv_shape.hpp"
#include "model/work/l2_sectors.hpp"
#include "model/work/shared_access.hpp"
#include "model/work/tensors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace convcast {
namespace {

TEST(WarpPasses, WideAccessesMeetInPairs) {
    const auto taken = [](int width, auto word) { return shared_passes(Banks{}, 32, width, word).taken; };
    // Pairs of lanes at one address: halves of the warp go together.
    EXPECT_EQ(taken(4, [](std::int64_t lane) { return lane / 2 * 4; }), 2);
    EXPECT_EQ(taken(2, [](std::int64_t lane) { return lane / 2 * 2; }), 1);
    // Lanes i and i + 2 of each four, likewise.
    EXPECT_EQ(taken(4, [](std::int64_t lane) { return lane % 2 * 4 + lane / 4 * 8; }), 2);
    // A single lane that differs: by quarters, of which each has one address or two.
    EXPECT_EQ(taken(4, [](std::int64_t lane) { return lane < 29 ? 0 : 4; }), 4);
    EXPECT_EQ(taken(2, [](std::int64_t lane) { return lane < 29 ? 0 : 2; }), 2);
    // Lanes that take no part equal any.
    EXPECT_EQ(taken(4, [](std::int64_t lane) { return lane < 19 ? 0 : -1; }), 2);
}

TEST(WarpPasses, OfBanksOfEightBytes) {
    const Banks kepler{2};
    const auto taken = [&](int width, auto word) { return shared_passes(kepler, 32, width, word).taken; };
    // 32 words are 128 of the 256 bytes of a pass; 64 are all; 128 take two.
    EXPECT_EQ(taken(1, [](std::int64_t lane) { return lane; }), 1);
    EXPECT_EQ(taken(2, [](std::int64_t lane) { return 2 * lane; }), 1);
    EXPECT_EQ(taken(4, [](std::int64_t lane) { return 4 * lane; }), 2);
    // Every other word: one in each bank. On banks of 4 bytes lanes t and t + 16 would meet.
    EXPECT_EQ(taken(1, [](std::int64_t lane) { return 2 * lane; }), 1);
    // Words 64 apart lie in one bank, 32 apart in two.
    EXPECT_EQ(taken(1, [](std::int64_t lane) { return 64 * lane; }), 32);
    EXPECT_EQ(taken(1, [](std::int64_t lane) { return 32 * lane; }), 16);
    // Both words of a bank are one access, as one word is to several lanes.
    EXPECT_EQ(taken(1, [](std::int64_t lane) { return 64 * (lane % 2) + lane / 2 % 2; }), 2);
    // Four words at one address for all lanes: two banks, which halves of the warp read together.
    EXPECT_EQ(taken(4, [](std::int64_t) { return 0; }), 1);
    EXPECT_EQ(shared_passes(kepler, 48, 2, [](std::int64_t t) { return 2 * t; }).taken, 2);
    EXPECT_EQ(shared_passes(kepler, 32, 1, [](std::int64_t t) { return 64 * t; }).least, 1);
}

TEST(WarpPasses, BanksAreAsWideAsTheProfileSays) {
    EXPECT_EQ(banks_of(find_profile("k40m")).words, 2);
    EXPECT_EQ(banks_of(find_profile("gtx1080ti")).words, 1);
    EXPECT_EQ(banks_of(find_profile("h200")).words, 1);
    GpuProfile unknown = find_profile("k40m");
    unknown.bank_width.reset();
    EXPECT_EQ(banks_of(unknown).words, 1);
}

TEST(PositionPasses, OfBanksOfEightBytes) {
    // 40 positions a row, rows 44 apart. Words 32-39 and 44-67 of the second warp: of those, 64-67 lie in the
    // banks of words 0-3, which no other lane reads.
    EXPECT_EQ(position_passes(Banks{2}, {1, 80, 40, 44}).taken, 3);
    // Rows 104 apart: words 32-39 and 104-127, which are the banks of 40-63.
    EXPECT_EQ(position_passes(Banks{2}, {1, 80, 40, 104}).taken, 3);
    // Rows 96 apart: words 32-39 and 96-119, which begin in the banks of 32-39.
    EXPECT_EQ(position_passes(Banks{2}, {1, 80, 40, 96}).taken, 3 + 1);
    EXPECT_EQ(group_passes(Banks{2}, {4, 64, 64, 64}, 36, 4), 8); // an address of 16 bytes in two banks
}

TEST(GatherPasses, AThirdOfTheLinesAndTwoOfTheBanks) {
    const auto taken = [](int width, auto word) { return gather_passes(32, width, word); };
    EXPECT_DOUBLE_EQ(taken(1, [](std::int64_t) { return 5; }), 1.0); // one address
    EXPECT_DOUBLE_EQ(taken(1, [](std::int64_t lane) { return lane; }), (1.0 + 31.0 / 32.0 + 2.0) / 3.0);
    EXPECT_DOUBLE_EQ(taken(1, [](std::int64_t lane) { return 32 * lane; }), 32.0); // 32 lines, one bank
    EXPECT_DOUBLE_EQ(taken(1, [](std::int64_t lane) { return 33 * lane; }),
                     34.0 / 3.0); // 32 lines, all banks
    // 16 filters of two quads each, far apart: 16 lines, and what the pairs of quads leave of another.
    EXPECT_DOUBLE_EQ(taken(4, [](std::int64_t lane) { return lane / 2 * 1000 + lane % 2 * 4; }),
                     (16.0 + 16.0 / 8.0 + 2.0 * 4.0) / 3.0);
    EXPECT_DOUBLE_EQ(gather_passes(0, 1, [](std::int64_t lane) { return lane; }), 0.0); // nobody takes part
}

TEST(PositionPasses, RowsThatEndInsideAWarp) {
    // 40 positions a row, rows 44 apart: the second warp meets the end of the first row.
    EXPECT_EQ(position_passes(Banks{}, {1, 80, 40, 44}).taken, 3 + 1);
    EXPECT_EQ(position_passes(Banks{}, {1, 80, 40, 44}).conflicts(), 1);
    EXPECT_EQ(position_passes(Banks{}, {1, 80, 40, 72}).taken, 3); // a gap of 32 words: the next banks
    EXPECT_EQ(position_passes(Banks{}, {1, 64, 32, 44}).taken, 2); // rows that end with a warp
    // Rows of 8, 12 apart: words 0-7, 12-19, 24-31, 36-43; the last fall on banks 4-7.
    EXPECT_EQ(position_passes(Banks{}, {1, 64, 8, 12}).taken, 4);
}

TEST(PositionPasses, ManyWarpsAreAsTheirPeriod) {
    const double few = position_passes(Banks{}, {1, 24 * 32, 24, 30}).taken,
                 many = position_passes(Banks{}, {1, 100 * 24 * 32, 24, 30}).taken;
    EXPECT_EQ(many, 100 * few);
}

TEST(PositionPasses, ManyGroupsAreCountedToTheLastWarp) {
    // Groups of 7 rows of 25, 124 apart, as channel_split has them on n3c575h31w31k401r7s7.
    const Units units{29, 175, 25, 124};
    const double one_by_one = shared_passes(Banks{}, units.count(), 1, [&](std::int64_t unit) {
                                  const std::int64_t position = unit % units.positions;
                                  return position / units.row * units.pitch + position % units.row;
                              }).taken;
    EXPECT_EQ(position_passes(Banks{}, units).taken, one_by_one);
}

TEST(GroupPasses, AWarpWithTwoGroups) {
    // 29 positions: the warp goes by quarters; the last of four warps has 20 lanes of one group.
    EXPECT_EQ(group_passes(Banks{}, {4, 29, 29, 29}, 4, 4), 4 + 2 + 4 + 2);
    EXPECT_EQ(group_passes(Banks{}, {4, 64, 64, 64}, 36, 4), 8 * 2);
    EXPECT_EQ(group_passes(Banks{}, {4, 64, 64, 64}, 36, 1), 8);
}

TEST(Sectors, WideCopiesThatCross) {
    EXPECT_EQ(share_at_odd_16_bytes(0, {{32, 7}, {64, 3}}), 0);
    EXPECT_EQ(share_at_odd_16_bytes(16, {{32, 7}}), 1);
    EXPECT_EQ(share_at_odd_16_bytes(0, {{16, 4}, {48, 3}}), 0.5);
    EXPECT_DOUBLE_EQ(share_at_odd_16_bytes(0, {{16, 3}}), 1.0 / 3);
    EXPECT_EQ(wide_copy_bytes(128, 1, 0), 256);
    EXPECT_EQ(wide_copy_bytes(128, 0, 1), 160); // half a sector more at both ends
    EXPECT_EQ(wide_copy_bytes(144, 0, 0), 160);
}

TEST(Sectors, StoresOfAWarp) {
    EXPECT_EQ(stored_bytes({32, 32, 1, 32}, 8, 4), 128);
    EXPECT_EQ(stored_bytes({32, 32, 1, 32}, 4, 4), (128 + 160) / 2.0);
    // Rows of 12 that follow one another: 24 floats of a warp are three sectors, not four.
    EXPECT_EQ(stored_bytes({12, 12, 2, 12}, 8, 4), 96);
    EXPECT_EQ(stored_bytes({16, 12, 2, 12}, 8, 4), 96); // four lanes of each row have none
    EXPECT_EQ(stored_bytes({12, 12, 2, 24}, 8, 4), 128);
    EXPECT_EQ(stored_bytes({32, 32, 1, 32}, 16, 2), 64);
}

TEST(Sectors, RowsOfAPatchMeet) {
    const ConvShape shape = ConvShape::parse("n1c8h7w7k8r1s1_g8"); // 8 planes of 7 rows of 28 bytes
    // A row of 28 bytes reaches into 1.75 sectors on average, twice as many bytes as it has.
    EXPECT_EQ(written_bytes_of_columns(shape, 7, 1), 2.0 * 8 * 196);
    // 7 patches make a row, so in 6 of 32 places a warp ends within it; where one warp has both rows, half of
    // what they share goes out once.
    EXPECT_EQ(rows_meet_in_a_warp(shape, 7, 1), 26.0 / 32);
    EXPECT_EQ(written_bytes_of_patches(shape, 7, 1), (2.0 - 26.0 / 64) * 8 * 196);
    EXPECT_EQ(written_bytes_of_patches(shape, 1, 1), written_bytes_of_columns(shape, 1, 1));
    const ConvShape wide = ConvShape::parse("n1c8h7w33k8r1s1_g8"); // no warp has a whole row
    EXPECT_EQ(rows_meet_in_a_warp(wide, 7, 1), 0.0);
    EXPECT_EQ(written_bytes_of_patches(wide, 7, 1), written_bytes_of_columns(wide, 7, 1));
}

TEST(Sectors, OfThoseThatTwoRunsShareBothWriteAPart) {
    EXPECT_EQ(written_in_part(128, 128), 0);  // whole ones
    EXPECT_EQ(written_in_part(160, 128), 64); // a run of 128 bytes that begins inside one: its two ends
    EXPECT_EQ(written_in_part(64, 16), 64);   // never more than are written
}

TEST(Sectors, WhatL1Keeps) {
    GpuProfile profile = find_profile("h200");
    profile.limits.sm_count = 4;
    const Gpu gpu(profile);
    Partition part;
    part.ctas_per_sm = 2, part.shared_bytes = 40 * 1024;
    EXPECT_EQ(l1_bytes(part, gpu), 156 * 1024); // 100 of 256 KiB for 82
    part.shared_bytes = 0;
    EXPECT_EQ(l1_bytes(part, gpu), 256 * 1024);
    const double room = l1_bytes(part, gpu);
    // Four CTAs an SM read all: once where there is room, each for itself where there is not.
    EXPECT_NEAR(read_through_l1(1000, 1000, 16, part, gpu, Again::in_turn), 4 * 1000, 4);
    // Pairs in step read once; the next pair finds what has not been lost while twice the room passed.
    const double lost = lost_at_random(4.0);
    EXPECT_DOUBLE_EQ(read_through_l1(2 * room, 2 * room, 16, part, gpu, Again::in_turn),
                     4 * 2 * room * (1 + lost));
    // Of a quarter of the room, as each of a pair passes a quarter of its own as well.
    const double lost_again = lost_at_random(1.5);
    EXPECT_DOUBLE_EQ(read_through_l1(room / 4, room / 4, 16, part, gpu, Again::in_turn, room / 4),
                     4 * room / 4 * (1 + lost_again));
    // Pairs that are not in step find what the other has read while both go on.
    Partition waves = part;
    waves.waves = 1000000;
    EXPECT_NEAR(read_through_l1(room / 2, room / 2, 16, waves, gpu, Again::in_turn, room / 2),
                4 * room / 2 * (1 + 2 * lost_at_random(2.0) + lost_at_random(3.0)), room / 1000);
    // What they have most of in common keeps them in step for longer than a few steps.
    Partition steps = part;
    steps.steps = 16;
    EXPECT_DOUBLE_EQ(read_through_l1(2 * room, 2 * room, 16, steps, gpu, Again::in_turn),
                     4 * 2 * room * (1 + lost));
    EXPECT_GT(read_through_l1(room / 2, room / 2, 8, steps, gpu, Again::in_turn, room / 2), 4 * room / 2);
    // A cluster's last barrier leaves nothing for the next pair.
    Partition cluster = part;
    cluster.cluster = 2;
    EXPECT_EQ(read_through_l1(1000, 1000, 16, cluster, gpu, Again::in_turn), 4 * 2 * 1000);
    // Two at a time: while in step, pairs read once; nothing is left for the next pair.
    EXPECT_EQ(read_through_l1(2 * room, 2 * room, 16, part, gpu, Again::anywhere), 4 * 2 * room * 2);
    part.waves = 1000000, part.steps = 2; // and not in step as far as L1 reaches, half of the way
    EXPECT_NEAR(read_through_l1(2 * room, 2 * room, 16, part, gpu, Again::anywhere),
                4 * 2 * room * (2 + 2 * 0.5), room / 1000);
    // A CTA each: what it reads.
    EXPECT_DOUBLE_EQ(read_through_l1(1000, 5000, 3, part, gpu, Again::anywhere), 3 * 1000);
}

TEST(Sectors, LinesOfL1ThatMeetInASet) {
    const GpuProfile profile = find_profile("h200");
    const Gpu gpu(profile);
    Partition part;
    const double room = l1_bytes(part, gpu);
    EXPECT_EQ(lost_from_l1(0, part, gpu), 0.0);
    EXPECT_DOUBLE_EQ(lost_from_l1(room / 4, part, gpu), 0.025); // a little where there is room for all
    EXPECT_DOUBLE_EQ(lost_from_l1(room, part, gpu), lost_at_random(2.0));
    EXPECT_EQ(lost_from_l1(100 * room, part, gpu), 1.0);
}

TEST(Sectors, WhatACacheGivesUpAtRandom) {
    EXPECT_EQ(lost_at_random(1.0), 0.0);
    const double lost = lost_at_random(1.5);
    EXPECT_NEAR(lost, 1.0 - std::exp(-1.5 * lost), 1e-6);
    EXPECT_NEAR(lost_at_random(100.0), 1.0, 1e-6);
}

TEST(Sectors, CopiesThatLieAlikeInLines) {
    EXPECT_EQ(alike_in_lines(0, {}), 1);
    EXPECT_EQ(alike_in_lines(64, {{128, 5}}), 0);
    EXPECT_EQ(alike_in_lines(-256, {{64, 2}}), 0.5);
    EXPECT_EQ(alike_in_lines(0, {{-16, 8}}), 0.125);
    // Two buffers 64 bytes apart that are filled with every second 64 bytes: always alike.
    EXPECT_EQ(alike_in_lines(0, {next_buffer(64, 64, 2, 10), next_turn(64, 2, 10)}), 1);
}

TEST(Sectors, RequestsThatMeetOnTheirWay) {
    const GpuProfile profile = find_profile("h200");
    const Gpu gpu(profile);
    const auto mergeable = [&](std::int64_t ctas, Readers readers, std::int64_t ctas_per_sm = 1) {
        Partition part;
        part.ctas = ctas, part.ctas_per_sm = ctas_per_sm;
        return mergeable_reads(static_cast<double>(ctas), readers, part, gpu);
    };
    constexpr double always = 1e9; // requests of a GPC that meet
    const auto seen = [&](std::int64_t ctas, Readers readers) {
        return static_cast<double>(ctas) -
               merged_bytes(mergeable(ctas, readers), 0.0, {always}, gpu.architecture);
    };
    // Of CTAs that read the same in step L2 sees four requests of a GPC as one. An H200 counts 9, 17, 25 to
    // 26 and 34: its GPCs have 16 or 18 SMs, here they have as many as each other.
    EXPECT_DOUBLE_EQ(seen(8, {8, 1}), 2);
    EXPECT_DOUBLE_EQ(seen(16, {16, 1}), 10);
    EXPECT_DOUBLE_EQ(seen(48, {48, 1}), 17);
    EXPECT_DOUBLE_EQ(seen(100, {100, 1}), 27);
    EXPECT_DOUBLE_EQ(seen(132, {132, 1}), 36);
    // Neighbours that read the same share a GPC, those that lie far apart have one each.
    EXPECT_DOUBLE_EQ(seen(132, {4, 1}), 40);
    EXPECT_DOUBLE_EQ(seen(132, {8, 16.5}), 132);
    EXPECT_DOUBLE_EQ(seen(132, {1, 1}), 132.0);

    // The less, the longer a launch is and the more CTAs an SM has; never less than nothing.
    const MergeableReads all = mergeable(132, {132, 1}), more = mergeable(528, {528, 1}, 4);
    double before = 132.0;
    for (const double instructions : {0.0, 1e6, 1e7, 1e8, 1e9}) {
        const double merged = merged_bytes(all, instructions, {1.0}, gpu.architecture);
        EXPECT_LE(merged, before);
        EXPECT_GT(merged, 0.0);
        EXPECT_LT(merged_bytes(more, instructions, {1.0}, gpu.architecture) / 528.0, merged / 132.0 + 1e-9);
        before = merged;
    }
    EXPECT_EQ(merged_bytes(all, 1e6, {0.0}, gpu.architecture), 0.0);
    EXPECT_EQ(merged_bytes(all, 1e9, {1.0, 0.0}, gpu.architecture),
              merged_bytes(all, 0.0, {1.0, 0.0}, gpu.architecture)); // none goes apart
    EXPECT_LT(merged_bytes(all, 1e9, {1.0, 0.5}, gpu.architecture),
              merged_bytes(all, 1e9, {1.0, 0.2}, gpu.architecture));
    // Neighbouring clusters lie in different GPCs, every eighth in the same.
    Partition clusters;
    clusters.ctas = 128, clusters.ctas_per_sm = 1, clusters.cluster = 4;
    EXPECT_TRUE(mergeable_reads(128.0, {8, 4}, clusters, gpu).reads.empty());
    const MergeableReads eighth = mergeable_reads(128.0, {4, 32}, clusters, gpu);
    ASSERT_EQ(eighth.reads.size(), 1U);
    EXPECT_EQ(eighth.reads[0].readers, 4.0);
    EXPECT_EQ(eighth.reads[0].bytes, 128.0);
    // Of one SM, or of none, there is nothing to merge.
    EXPECT_TRUE(mergeable(1, {5, 1}).reads.empty());
    EXPECT_TRUE(mergeable(0, {5, 1}).reads.empty());
}

} // namespace
} // namespace convcast
