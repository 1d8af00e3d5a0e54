// What the cores of an SM take, by hand: one suite for each equation of docs/equations.md. The machine has a
// clock of 1 ns, four schedulers, and a wavefront a clock; ns are clocks.
#include "model/time/core_terms.hpp"
#include "tests/unit/round_machine.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace convcast {
namespace {

using namespace launch_terms;
using sample::even_pace;
using sample::idle_launch;
using sample::ns;
using sample::round_machine;

constexpr double exact = 1e-12 * 1e-6; // of times around a microsecond

double chain(const Partition &part, const StepWork &work) {
    return chain_leaf<Seconds>(part, work, round_machine()).value / ns;
}
double mixed(const Partition &part, const StepWork &work, double ctas = 1.0,
             const Machine &m = round_machine()) {
    return mixed_term<Seconds>(part, work, ctas, m).value / ns;
}
double busy(const Partition &part, const StepWork &work, double ctas) {
    return busy_term<Seconds>(part, work, ctas, round_machine()).value / ns;
}

TEST(EquationF5, OneWarpAddsManyHide) {
    EXPECT_NEAR(overlap_exponent(1.0), 1.0, 1e-12); // ln 2 / ln 2: a sum
    EXPECT_NEAR(overlap_exponent(0.5), 1.0, 1e-12); // never fewer than one warp
    EXPECT_NEAR(overlap_exponent(3.0), std::log(2.0) / std::log(4.0 / 3.0), 1e-12);
    // Three warps on two stations of 9 each take 9 * (3 + 1) / 3.
    const std::array nine = {Seconds(9.0), Seconds(9.0)};
    EXPECT_NEAR(combine(TermKind::pnorm, overlap_exponent(3.0), nine), 12.0, 1e-12 * 12.0);
}

TEST(EquationF5, ClosedQueueByHand) {
    const auto round = [](double jobs, double service, double alone) {
        return combine(TermKind::queue, jobs, std::array{Seconds(service), Seconds(alone)});
    };
    // Three jobs, 150 of the shared resource, so D = 50 each; alone 150, so E = 100 elsewhere.
    // T1 = 100 + 50 = 150, Q1 = 1 * 50 / 150 = 1/3; T2 = 100 + 50 * 4/3 = 500/3, Q2 = 2 * (200/3) / (500/3) =
    // 0.8; T3 = 100 + 50 * 1.8 = 190.
    EXPECT_NEAR(round(3.0, 150.0, 150.0), 190.0, 1e-10);
    EXPECT_NEAR(round(1.0, 50.0, 150.0), 150.0, 1e-10); // one job: its time alone
    EXPECT_NEAR(round(2.0, 300.0, 10.0), 300.0, 1e-10); // never less than the resource needs
}

TEST(EquationF5, AJobThatComesFindsALikeOneHalfDone) {
    // As above, but half of the job that is served is left: Q1 = 1 * (50 - 25) / 150 = 1/6; T2 = 100 + 50 *
    // 7/6 = 475/3, Q2 = 2 * (175/3 - 25) / (475/3) = 8/19; T3 = 100 + 50 * 27/19.
    const auto round = [](double jobs, double alone) {
        return combine(TermKind::alike, jobs, std::array{Seconds(150.0), Seconds(alone)});
    };
    EXPECT_NEAR(round(3.0, 150.0), 100.0 + 50.0 * 27.0 / 19.0, 1e-10);
    EXPECT_NEAR(round(1.0, 150.0), 150.0, 1e-10);
    EXPECT_NEAR(round(3.0, 50.0), 150.0, 1e-10); // what the resource needs
}

TEST(EquationM1, ThreeFourFive) {
    // 30 ns of latency; 40,000 B at 1,000 B/ns are 40 ns; (30^2 + 40^2)^(1/2) = 50.
    const Seconds latency(30 * ns), transfer = Seconds(40e3 / 1000e9);
    EXPECT_NEAR((formula::pnorm<Seconds>("loads", round_machine().knee, {latency, transfer})).value, 50 * ns,
                exact);
}

TEST(EquationF6, ChainOfAWarp) {
    Partition part = idle_launch();
    part.threads = 256; // eight warps, four of them busy
    part.pace = Pace{.ffma_clocks = 1.5, .other_clocks = 3.0}, part.once_clocks = 2.0;
    StepWork work;
    work.fmas = 32.0 * 400.0, work.copying = 40.0, work.instructions = 400.0 + 80.0 + 40.0;
    // (400 * max(1.5, 4 / 4) + 80 * 3) / 4 + 40 * 2 / 8 = 210 + 10
    EXPECT_NEAR(chain(part, work), 220.0, 1e-9);
    part.independent_sums = 2; // (400 * max(1.5, 4 / 2) + 240) / 4 + 10
    EXPECT_NEAR(chain(part, work), 270.0, 1e-9);
    part.independent_sums = 4;
    part.longest_copier = 3.0; // 210 + 10 * 3
    EXPECT_NEAR(chain(part, work), 240.0, 1e-9);
    part.longest_copier.reset(), part.pace.reset(), part.once_clocks.reset();
    // Not counted: every other instruction waits for the one before, 4 clk. (400 * 1 + 80 * 4) / 4 + 40 * 4 /
    // 8
    EXPECT_NEAR(chain(part, work), 200.0, 1e-9);
}

TEST(EquationF6, TheLongerRole) {
    Partition part = idle_launch();
    part.copy_warps = 2;
    part.pace = Pace{.ffma_clocks = 1.5, .other_clocks = 3.0}, part.once_clocks = 2.0;
    StepWork work;
    work.fmas = 32.0 * 400.0, work.copying = 120.0, work.instructions = 400.0 + 120.0;
    EXPECT_NEAR(chain(part, work), 180.0, 1e-9); // computing 400 * 1.5 / 4 = 150, copying 120 * 3 / 2 = 180
    work.copying = 80.0, work.instructions = 480.0;
    EXPECT_NEAR(chain(part, work), 150.0, 1e-9); // copying 80 * 3 / 2 = 120 is hidden
    work.turns = 5.0;                            // the copying warps look addresses up: (240 + 5 * 20) / 2
    EXPECT_NEAR(chain(part, work), 170.0, 1e-9);
}

TEST(EquationF16, EachIterationWaits) {
    StepWork work;
    work.turns = 12.0; // of four warps; 12 * 20 / 4
    EXPECT_NEAR(chain(idle_launch(), work), 60.0, 1e-9);
}

TEST(EquationF17, ARowOfTapsWaitsForL2) {
    StepWork work;
    work.line_waits = 3.0; // of the slowest warp: 3 * 40, not shared with the others
    EXPECT_NEAR(chain(idle_launch(), work), 120.0, 1e-9);
}

TEST(EquationF24, ConstantLinesAreWaitedFor) {
    Partition part = idle_launch();
    part.pace = Pace{.constant_clocks = 130.0};
    StepWork work;
    work.constant_lines = 8.0; // of four warps: 8 * 130 / 4
    EXPECT_NEAR(chain(part, work), 260.0, 1e-9);
    Machine m = round_machine(); // a kernel that was not counted waits as long as the probe did: 8 * 98 / 4
    m.constant_latency = 98.0;
    part.pace->constant_clocks = 0.0;
    EXPECT_NEAR(chain_leaf<Seconds>(part, work, m).value / ns, 196.0, 1e-9);
    part.pace.reset();
    EXPECT_NEAR(chain_leaf<Seconds>(part, work, m).value / ns, 196.0, 1e-9);
}

TEST(EquationF10, IntegersBesideOtherIssue) {
    Partition part = idle_launch();
    part.pace = Pace{.alu_share = 0.375};
    StepWork work;
    work.instructions =
        400.0; // 400 / 4 = 100 of issue; 400 * 0.375 * 2 / 4 = 75 of the pipe; (100^2 + 75^2)^(1/2)
    EXPECT_NEAR(mixed(part, work), 125.0, 1e-9);
    part.pace = Pace{.alu_share = 0.5, .copy_alu_share = 0.0};
    work.copying = 100.0; // 300 * 0.5 + 100 * 0 = 150 integers: again 75
    EXPECT_NEAR(mixed(part, work), 125.0, 1e-9);
}

TEST(EquationF11, FiveWarpsOnFourSchedulers) {
    const Machine m = round_machine();
    Partition part = idle_launch();
    part.threads =
        17 * 32; // no whole number of warps for each scheduler: CTAs go on where the last one ended
    EXPECT_NEAR(imbalance(part, 17.0, 1.0, m), 5.0 * 4.0 / 17.0, 1e-12); // ceil(17 / 4) = 5
    EXPECT_NEAR(imbalance(part, 17.0, 2.0, m), 9.0 * 4.0 / 34.0, 1e-12); // ceil(34 / 4) = 9
    part.threads = 16 * 32, part.busy_warps = 5;
    EXPECT_NEAR(busy_imbalance(part, 2.0, m), 2.0 * 4.0 / 5.0, 1e-12); // the first five of either meet again
    EXPECT_NEAR(queued_warps(part, 2.0, m), 4.0, 1e-12);               // 2 CTAs * 5 * 1.6 / 4
    StepWork work;
    work.instructions = 500.0; // 500 / 4 * 1.6
    EXPECT_NEAR(mixed(part, work), 200.0, 1e-9);
    part.busy_warps = 4, part.scheduler_warps = 2; // counted: two of four meet
    EXPECT_NEAR(busy_imbalance(part, 1.0, m), 2.0, 1e-12);
}

TEST(EquationF14, TheLongestPipeDecides) {
    const Partition part = idle_launch();
    StepWork work;
    work.tensor_fmas = 50e3, work.instructions = 120.0, work.shared_wavefronts = 40.0;
    EXPECT_NEAR(mixed(part, work), 50.0, 1e-9); // 50,000 / 1,000; 120 / 4 = 30 and 40 beside it
    work.shared_wavefronts = 90.0;
    EXPECT_NEAR(mixed(part, work), 90.0, 1e-9);
    // F6: four warps split a product of 60,000 / 1,000 = 60 clk, so each of six waits for 60 * 4 / 6 = 40.
    // The busiest scheduler has two of them: D = 30, E = 10; T1 = 40, Q1 = 30 / 40; T2 = 10 + 30 * 1.75.
    Partition six = part;
    six.busy_warps = 6, six.threads = 192;
    StepWork products;
    products.tensor_fmas = 60e3;
    EXPECT_NEAR(core_term<Seconds>("", six, products, 1.0, round_machine()).value / ns, 62.5, 1e-9);
}

TEST(EquationF23, NoLongerThanWarpsInTurn) {
    Partition part = idle_launch();
    StepWork work;
    work.instructions = 240.0, work.shared_wavefronts = 80.0;
    EXPECT_NEAR(mixed(part, work), 140.0, 1e-9); // one warp a scheduler, not counted: 240 / 4 + 80
    part.pace = even_pace;
    EXPECT_NEAR(mixed(part, work), 80.0, 1e-9); // chain 240 / 4 = 60: the longest of 60, 80 and 60
    part.pace->other_clocks = 2.0;
    EXPECT_NEAR(mixed(part, work), 120.0, 1e-9); // chain 120
    part.pace->other_clocks = 4.0;
    EXPECT_NEAR(mixed(part, work), 140.0, 1e-9); // chain 240: the sum is less
}

TEST(EquationF27, CopiesThenArithmetic) {
    Partition part = idle_launch();
    part.barriers = 1, part.copy_passes = 1.0, part.pace = even_pace;
    StepWork work;
    work.copying = 160.0, work.instructions = 240.0; // issue 40 and 20
    work.load_bytes = 10.0 * 128.0;                  // 10 wavefronts of the copies
    work.shared_wavefronts = 50.0;                   // of the rest
    // One CTA: copies max(40, 10) = 40, then the rest max(20, 50) = 50.
    EXPECT_NEAR(busy(part, work, 1.0), 90.0, 1e-9);
    // Two: everything in any order is 2 * 60. D = 60, E = 90 - 60 = 30; T1 = 90, Q1 = 60 / 90;
    // T2 = 30 + 60 * (1 + 2/3) = 130.
    EXPECT_NEAR(busy(part, work, 2.0), 130.0, 1e-9);
    part.barriers = 0; // no warp waits for another: any order
    EXPECT_NEAR(busy(part, work, 1.0), 60.0, 1e-9);
}

TEST(EquationF31, TheSchedulerThatHasMost) {
    Partition part = idle_launch();
    part.busiest_scheduler = 1.5;
    StepWork work;
    work.instructions = 240.0; // 60 clk of issue where all schedulers have the same
    EXPECT_NEAR(mixed(part, work), 90.0, 1e-9);
}

/// The cores of F3: rates, and how issue and shared memory of several warps overlap.
TEST(EquationF3, CoresOfAStep) {
    Partition part = idle_launch();
    StepWork work;
    work.fmas = 12800.0, work.instructions = 400.0 + 240.0;
    EXPECT_NEAR(mixed(part, work), 188.0, 1e-9); // 12,800 / 100 + 240 / 4
    Machine integers = round_machine();
    integers.fills_issue = false; // 8-bit elements: max(128, 640 / 4)
    EXPECT_NEAR(mixed(part, work, 1.0, integers), 160.0, 1e-9);
    part.snaked = true, part.independent_sums = 32;
    work.fmas = 12500.0, work.instructions = 12500.0 / 32.0; // in serpentine order 12,500 / 125
    EXPECT_NEAR(mixed(part, work), 100.0, 1e-9);
    Partition three = idle_launch(); // warps a scheduler: two times 90 take 90 * 4 / 3
    three.busy_warps = 12, three.threads = 384;
    StepWork both;
    both.instructions = 360.0, both.shared_wavefronts = 90.0;
    EXPECT_NEAR(mixed(three, both), 120.0, 1e-9);
}

} // namespace
} // namespace convcast
