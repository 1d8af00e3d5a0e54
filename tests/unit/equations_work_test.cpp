// Counts of a launch, by hand: one suite for each equation of docs/equations.md.
#include "model/plan/occupancy.hpp"
#include "model/work/activity.hpp"
#include "model/work/compiled.hpp"
#include "model/work/instructions.hpp"
#include "model/work/l2_sectors.hpp"
#include "model/work/tensors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace convcast {
namespace {

TEST(EquationO2, WavesAndTail) {
    GpuLimits limits;
    limits.sm_count = 10;
    Partition part;
    part.ctas_per_sm = 2, part.grid = {5, 5, 1};
    fill_schedule(part, limits);
    EXPECT_EQ(part.ctas, 25);
    EXPECT_EQ(part.waves, 2);         // 20 and 5
    EXPECT_DOUBLE_EQ(part.tail, 0.5); // 5 of 10 SMs
    part.grid = {40, 1, 1};
    fill_schedule(part, limits);
    EXPECT_EQ(part.waves, 2);
    EXPECT_DOUBLE_EQ(part.tail, 1.0);
}

TEST(Occupancy, MostThreadsAndWhyNoneFits) {
    GpuLimits limits;
    limits.max_threads_per_cta = 1024, limits.registers_per_sm = 65536;
    EXPECT_EQ(most_threads(limits, 72), 896); // 910 in groups of 128
    EXPECT_EQ(most_threads(limits, 32), 1024);
    Launch launch;
    launch.threads = 256, launch.shared_bytes = 300000;
    limits.shared_bytes_per_cta = 200000;
    EXPECT_EQ(does_not_fit(launch, limits),
              "a CTA needs 300000 bytes of shared memory, the GPU gives 200000");
    limits.shared_bytes_per_cta = 300000;
    EXPECT_EQ(does_not_fit(launch, limits),
              "a CTA of 256 threads with 300000 bytes of shared memory does not fit an SM");
    launch.ctas_per_sm = 1;
    EXPECT_EQ(does_not_fit(launch, limits), "");
}

TEST(Activity, LoopsEndWithWhatIsLeft) {
    const Loop tens{10, 4}, whole{8, 4}, few{3, 4};
    EXPECT_EQ(tens.turns(), 3);
    EXPECT_EQ(tens.last(), 2);
    const auto square = [](std::int64_t things) { return static_cast<double>(things * things); };
    EXPECT_EQ(over(tens, square), 2 * 16 + 4);
    EXPECT_EQ(over(whole, square), 2 * 16);
    EXPECT_EQ(over(few, square), 9);
    const auto product = [](std::int64_t a, std::int64_t b) { return static_cast<double>(a * b); };
    EXPECT_EQ(over(tens, few, product), 10 * 3); // what is linear adds up to all
    EXPECT_EQ(over(tens, few, whole, [](auto a, auto b, auto c) { return static_cast<double>(a * b * c); }),
              10 * 3 * 8);
}

TEST(Activity, AListIsCountedAtItsPrices) {
    // Two warps, each 8 FFMAs a lane, 3 times a load of two wavefronts of which one is a conflict, 4
    // iterations with 2 inner ones each; a copy loop of 6 copies; a store.
    const Activity list = does::ffmas(40, 2, 8) + does::loads(3, {2.0, 1.0}, 2) + does::iterations(4, 2) +
                          does::copies(2, 6, 1) + does::priced(1, instructions::store) + does::fetched(10) +
                          does::stored(5);
    const StepWork &work = list.work;
    EXPECT_EQ(work.fmas, 40 * 8);
    EXPECT_EQ(work.copying, 2 * 20 + 1 * 5 + 6 * 14);
    EXPECT_EQ(work.instructions, 2 * 8 + 3 * 2 + (4 + 8) * 5 + work.copying + 7);
    EXPECT_EQ(work.turns, 8);
    EXPECT_EQ(work.shared_wavefronts, 6);
    EXPECT_EQ(list.least_wavefronts, 3);
    EXPECT_EQ(work.load_bytes, 40);
    EXPECT_EQ(work.store_bytes, 20);
    Partition part;
    set_core_work(part, 10.0 * list);
    EXPECT_EQ(part.work.fmas, 3200);
    EXPECT_EQ(part.work.shared_wavefronts, 60);
    EXPECT_EQ(part.work.shared_conflicts, 30);
    EXPECT_EQ(distinct_loads(6, [](std::int64_t i) { return i % 4; }), 4);
}

TEST(Activity, TheBusiestScheduler) {
    // Warps 0 to 4 of six have 3, 1, 1, 1, 1 shares: schedulers 0 to 3 have 4, 1, 1, 1, and two, one, one
    // and one busy warps. 4 shares on 2 warps, 7 on 5: 2 / 1.4.
    const GpuProfile profile = find_profile("h200");
    ASSERT_EQ(profile.limits.schedulers_per_sm, 4);
    Partition part;
    deal_out(part, profile, 6, [](std::int64_t warp) { return warp == 0 ? 3 : warp < 5 ? 1 : 0; });
    EXPECT_EQ(part.scheduler_warps, 2);
    EXPECT_DOUBLE_EQ(*part.busiest_scheduler, 2.0 / 1.4);
}

TEST(Activity, CopiesFromTheirPlaces) {
    // Two runs of 64 bytes, 32 apart in the map and 48 in shared memory: the second differs by 16 bytes, so
    // its two sectors come twice, and is not at the same place of a line.
    const Reads two = copied({true, 2.0, 64.0, 0, {{2, 32, 48}}});
    EXPECT_DOUBLE_EQ(two.bytes, 64.0 + 128.0);
    EXPECT_DOUBLE_EQ(two.alike, 96.0); // half of them
    // Four steps of 128 bytes in two buffers of 128: always the same place of a line.
    const Reads ring = copied({true, 4.0, 128.0, 0, {{4, 128, 128, 2}}});
    EXPECT_DOUBLE_EQ(ring.bytes, 4 * 128.0);
    EXPECT_DOUBLE_EQ(ring.alike, 4 * 128.0);
    // Copies of 4 bytes touch the sectors of their run, of which one more on average.
    EXPECT_DOUBLE_EQ(copied({false, 3.0, 100.0, 0, {}}).bytes, 3 * 128.0);
}

TEST(EquationW8, MeanOverAllStarts) {
    // 100 bytes that start at any word of a sector touch 4 sectors on average: 100 + 28 bytes.
    double sectors = 0.0;
    for (std::int64_t start = 0; start < 32; start += 4)
        sectors += static_cast<double>((start + 99) / 32 - start / 32 + 1) / 8.0;
    EXPECT_DOUBLE_EQ(sectors * 32.0, 128.0);
    EXPECT_DOUBLE_EQ(spanned_bytes(100.0), 128.0);
    EXPECT_DOUBLE_EQ(spanned_bytes(100.0, 16),
                     112.0 + 16.0);                    // starts at multiples of 16 touch 7 halves and more
    EXPECT_DOUBLE_EQ(spanned_bytes(128.0, 32), 128.0); // whole sectors
}

TEST(EquationW4, CtasThatLeaveLockstepReadAgain) {
    GpuProfile profile = find_profile("h200");
    profile.limits = {};
    profile.limits.sm_count = 1, profile.limits.shared_bytes_per_sm = 228 * 1024; // L1: 228 + 28 KiB
    Partition part;
    part.ctas_per_sm = 2, part.steps = 16, part.waves = 1;
    const double all = 256.0 * 1024.0 / 3.0, own = all / 2.0;
    // Two CTAs read the same third of L1 and half as much of their own. In common: all / (all + 2 * own) =
    // 1/2. In lockstep: 1 - (1 - 1/2) * (1 - 8 / 16) = 3/4. Between the first's read and the second's pass
    // all + own, half of L1, of which 0.1 * 1/2 is lost: random replacement loses nothing of a cache that is
    // just full.
    EXPECT_NEAR(read_through_l1(all, all, 2.0, part, profile, Again::in_turn, own), all * (1.0 + 0.25 * 0.05),
                1e-6);
}

const Architecture &hopper() {
    return architecture_for(90).numbers;
}

TEST(EquationW6, FourReadersOfOneGpc) {
    MergeableReads reads;
    reads.sms = 10.0, reads.warps = 32.0, reads.waves = 1.0; // 32^0.2 = 2
    reads.reads = {{16.0, 1600.0}};
    // m = 2 / (1 * 2 * 1) = 1: 1 / (1 + 15^(1/2)) = 0.205, but no more than four merge: ceil(16 / 4) / 16 =
    // 1/4 stays.
    EXPECT_NEAR(merged_bytes(reads, 0.0, {2.0, 0.5}, hopper()), 1200.0, 1e-9);
    // Issuing 360,000 / 4 / 10 = 9,000 clk: (1 + 9,000 / 3,000)^0.5 = 2, m = 1/2. Of 10 readers
    // 1 / (1 + 3/2) = 0.4 stay.
    reads.reads = {{10.0, 1000.0}};
    EXPECT_NEAR(merged_bytes(reads, 360e3, {2.0, 0.5}, hopper()), 600.0, 1e-9);
    // Four waves of a quarter of the issuing: m = 2 / (2 * 2 * (1 + 3/4)^0.5).
    reads.waves = 4.0;
    const double m = 0.5 / std::sqrt(1.75);
    EXPECT_NEAR(merged_bytes(reads, 360e3, {2.0, 0.5}, hopper()), 1000.0 * (1.0 - 1.0 / (1.0 + 3.0 * m)),
                1e-9);
}

TEST(EquationW7, ColdReadsAndWhatL2CannotKeep) {
    const ConvShape shape = ConvShape::parse("n1c1h16w16k1r1s1_str2x2");
    // Every second row of 64 bytes is read, which touch (64 + 60) bytes of 64-byte units: 1 * 124 / (2 * 64)
    // of 1,024.
    EXPECT_DOUBLE_EQ(input_read_bytes(shape, hopper()), 992.0);
    GpuProfile profile = find_profile("h200");
    profile.limits.l2_bytes = 400;
    Work work;
    fill_dram(work, shape, profile);
    EXPECT_DOUBLE_EQ(*work.dram_read_bytes, 996.0); // and a filter value
    // 8 * 8 outputs, which lie in both halves of L2. Pixels that one SM reads lie in one: 996 + 2 * 256 =
    // 1,508 B passed an L2 of 400.
    EXPECT_DOUBLE_EQ(*work.dram_write_bytes, 256.0 * (1.0 - 400.0 / 1508.0));
    work.l2_read_bytes = 2.0 * 996.0; // two SMs: 2 - 1 / 2 copies, 996 * 1.5 + 512 = 2,006
    fill_dram(work, shape, profile);
    EXPECT_DOUBLE_EQ(*work.dram_write_bytes, 256.0 * (1.0 - 400.0 / 2006.0));
    profile.limits.l2_bytes = 2006;
    fill_dram(work, shape, profile);
    EXPECT_EQ(*work.dram_write_bytes, 0.0);
}

TEST(EquationW1, FourCoefficientsByHand) {
    Partition part;
    part.threads = 64, part.ctas = 12, part.idle_ctas = 2, part.steps = 3; // 10 CTAs of two warps work
    part.work.fmas = 3200.0;                                               // 100 warp FFMAs
    part.work.instructions = 150.0;
    CompiledWork facts;
    facts.per_ffma = 0.1, facts.per_counted = 2.0, facts.per_warp = 5.0, facts.per_warp_step = 1.0;
    const InstructionFeatures features = features_of(part);
    EXPECT_EQ(features, (InstructionFeatures{100.0, 50.0, 20.0, 60.0}));
    apply(part, facts, {}, hopper());
    // 100 * 1.1 + 50 * 2 + 20 * 5 + 60 * 1
    EXPECT_NEAR(*part.work.instructions, 370.0, 1e-9);
}

} // namespace
} // namespace convcast
