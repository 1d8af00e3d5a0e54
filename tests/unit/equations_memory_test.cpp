// How bytes meet DRAM and L2, by hand: one suite for each equation of docs/equations.md. The machine reads
// 1,000 and writes 500 bytes a ns from and to DRAM, whose latency is 100 ns; that of L2 is 40.
#include "model/time/memory_terms.hpp"
#include "model/work/tensors.hpp"
#include "tests/unit/round_machine.hpp"

#include <gtest/gtest.h>

namespace convcast {
namespace {

using namespace launch_terms;
using sample::from_l2;
using sample::idle_launch;
using sample::ns;
using sample::round_machine;
using sample::round_of;

TEST(EquationF3, ReadsAndWritesOfDramTogether) {
    Machine m = round_machine();
    const auto dram = [&](double read, double written) {
        return dram_term<Seconds>(read, written, m).value / ns;
    };
    EXPECT_NEAR(dram(6000.0, 1000.0), 6.0 + 2.0, 1e-9); // as if they did not disturb each other
    m.copy_bw = 800e9; // 1,000 B are read while as many are written, and 5,000 besides
    EXPECT_NEAR(dram(6000.0, 1000.0), 2.5 + 5.0, 1e-9);
    EXPECT_NEAR(dram(1000.0, 3000.0), 5.0, 1e-9); // few reads slow writes as many do
    EXPECT_NEAR(dram(1000.0, 0.0), 1.0, 1e-9);
}

// DRAM delivers 1,000 B a nanosecond, and L2 takes in 2,000, from DRAM and from the SMs.
TEST(EquationF3, StoresAndDramReadsShareTheWayIntoL2) {
    Traffic traffic = from_l2();
    traffic.dram_share = 0.5, traffic.dram_write_share = 0.0;
    const auto memory = [&](double loads, double stores) {
        return memory_term<Seconds>(loads, stores, traffic, round_machine()).value / ns;
    };
    EXPECT_NEAR(memory(12000.0, 4000.0), 6.0, 1e-9);  // DRAM's 6,000 B; L2 takes in 10,000
    EXPECT_NEAR(memory(12000.0, 10000.0), 8.0, 1e-9); // 6,000 from DRAM and 10,000 from the SMs
    traffic.dram_share = 0.0;
    EXPECT_NEAR(memory(12000.0, 10000.0), 5.0, 1e-9);
}

TEST(EquationF8, FirstWaveWaitsForDram) {
    Machine m = round_machine();
    Traffic traffic = from_l2();
    traffic.dram_share = 0.25, traffic.new_share = 0.5, traffic.together = 0.2;
    const auto latency = [&](bool first) { return step_latency(round_of(1.0, first), traffic, m) / ns; };
    EXPECT_NEAR(latency(true), 70.0, 1e-9);  // m = max(0.25, 1 * 0.5 * 1) = 0.5: 50 + 20
    EXPECT_NEAR(latency(false), 55.0, 1e-9); // m = max(0.25, 1 * 0.5 * 0.2) = 0.25: 25 + 30
    m.fitted.first_wave_miss = 0.8;
    EXPECT_NEAR(latency(true), 64.0, 1e-9); // m = 0.8 * 0.5 = 0.4: 40 + 24
    // Of 10 CTAs that run at once 4 in a row read the same pixels: later ones wait like 1 - 4 / 10 of a first
    // wave.
    Partition part = idle_launch();
    part.sharing_ctas = 4.0;
    EXPECT_NEAR(together(part, m), 0.6, 1e-12);
    part.sharing_ctas = 40.0;
    EXPECT_EQ(together(part, m), 0.0);
}

TEST(EquationF8, TheRestOfASectorIsInL1) {
    const Machine m = round_machine();
    Traffic traffic = from_l2(); // L2 answers after 40, L1 after 30
    EXPECT_NEAR(step_latency(round_of(1.0, false), traffic, m) / ns, 40.0, 1e-9);
    traffic.sector_share = 0.25; // of a sector's four steps the first waits for L2
    EXPECT_NEAR(step_latency(round_of(1.0, false), traffic, m) / ns, 32.5, 1e-9);
    traffic.dram_share = 1.0; // or for DRAM: 0.25 * 100 + 0.75 * 30
    EXPECT_NEAR(step_latency(round_of(1.0, false), traffic, m) / ns, 47.5, 1e-9);
    Partition part = idle_launch();
    part.sector_share = 0.5;
    EXPECT_EQ(traffic_of(part, ConvShape::parse("n1c1h1w1k1r1s1"), m).sector_share, 0.5);
}

TEST(EquationF8, SuccessiveStepsShareSectors) {
    EXPECT_EQ(new_sector_share(4, 1.0, 256), 0.125); // one of eight words of a sector
    EXPECT_EQ(new_sector_share(16, 1.0, 256), 0.5);
    EXPECT_EQ(new_sector_share(36, 1.0, 36), 1.0);
    // Runs that begin 4 words apart begin at two places of a sector: steps 0 and 4 of eight reach new ones.
    EXPECT_EQ(new_sector_share(4, 32.0, 16), 0.25);
    EXPECT_EQ(new_sector_share(4, 32.0, 4), 1.0);
    EXPECT_EQ(new_sector_share(4, 2.0, 4), 0.25); // there are but two runs
}

TEST(EquationF9, WholeClustersOnly) {
    const Machine m = round_machine(); // clusters of four and of eight were seen on 9 of 10 SMs
    Partition part = idle_launch();
    EXPECT_EQ(usable_sms(part, m), 10);
    part.cluster = 2;
    EXPECT_EQ(usable_sms(part, m), 10);
    part.cluster = 4;
    EXPECT_EQ(usable_sms(part, m), 8); // floor(9 / 4) * 4
    part.cluster = 8;
    EXPECT_EQ(usable_sms(part, m), 8); // floor(9 / 8) * 8
}

TEST(EquationF21, PartialSectorsTakeLonger) {
    const Machine m = round_machine(); // a partial sector takes 3 times a whole one
    const ConvShape shape = ConvShape::parse("n1c1h10w10k10r1s1"); // 10 * 100 * 4 = 4,000 B of output
    Partition part = idle_launch();
    part.filter_count = 10;
    part.work.l2_write_bytes = 4000.0, part.partial_write_bytes = 1000.0;
    EXPECT_NEAR(traffic_of(part, shape, m).store_factor, 1.5, 1e-12); // (4,000 + 1,000 * 2) / 4,000
    part.filter_count = 5;
    part.work.l2_write_bytes = 2000.0; // of half the filters: (2,000 + 2,000) / 2,000
    EXPECT_NEAR(traffic_of(part, shape, m).store_factor, 2.0, 1e-12);
    Traffic traffic = from_l2();
    EXPECT_NEAR(store_bandwidth(10.0, traffic, m), 320e9, 1.0);   // 10 SMs * 32 B/clk, below L2's 2,000e9
    EXPECT_NEAR(store_bandwidth(100.0, traffic, m), 2000e9, 1.0); // L2's
    traffic.dram_write_share = 0.5;
    EXPECT_NEAR(store_bandwidth(100.0, traffic, m), 1000e9, 1.0); // DRAM takes half: 500e9 / 0.5
}

/// The memory of F3: the slowest of L2's two directions and DRAM.
TEST(EquationF3, MemoryOfAStep) {
    Traffic traffic = from_l2();
    traffic.dram_share = 0.5;
    const auto memory = [&](double loads, double stores) {
        return memory_term<Seconds>(loads, stores, traffic, round_machine()).value / ns;
    };
    EXPECT_NEAR(memory(8000.0, 0.0), 4.0, 1e-9);  // L2 2, DRAM 4,000 / 1,000
    EXPECT_NEAR(memory(0.0, 12000.0), 6.0, 1e-9); // 12,000 / 2,000, all of which L2 keeps
    traffic.dram_share = 0.0;
    EXPECT_NEAR(memory(8000.0, 0.0), 2.0, 1e-9);
}

} // namespace
} // namespace convcast
