// The time of a launch, by hand: one suite for each equation of docs/equations.md. The machine has 10 SMs of
// four schedulers and a clock of 1 ns. DRAM answers after 100 ns and L2 after 40; L2 delivers 4,000 bytes a
// ns, an SM stores 32. A CTA has four warps, one a scheduler, and starts 30 ns after the one before.
#include "model/time/launch_terms.hpp"
#include "model/work/totals.hpp"
#include "tests/unit/round_machine.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace convcast {
namespace {

using namespace launch_terms;
using sample::even_pace;
using sample::from_l2;
using sample::idle_launch;
using sample::ns;
using sample::round_machine;
using sample::round_of;

const ConvShape any_shape = ConvShape::parse("n1c1h10w10k10r1s1");

double launch_time(const Partition &part, const Machine &m = round_machine()) {
    return partition_term<Seconds>(part, any_shape, m).value / ns;
}
double fill(const Partition &part, bool first = true, const Machine &m = round_machine()) {
    return fill_term<Seconds>(part, m, round_of(1.0, first), from_l2()).value / ns;
}
double drain(const Partition &part, double ctas) {
    return drain_term<Seconds>(part, round_machine(), round_of(ctas, true), from_l2()).value / ns;
}
double last_steps(const Partition &part, double ctas) {
    return last_step_term<Seconds>(part, round_machine(), round_of(ctas, true), from_l2()).value / ns;
}
double step(const Partition &part, double ctas, const Traffic &traffic = from_l2()) {
    return step_term<Seconds>(part, round_machine(), round_of(ctas, true), traffic).value / ns;
}
double wave(const Partition &part, double ctas, bool first = true, const Machine &m = round_machine()) {
    return wave_term<Seconds>(part, m, round_of(ctas, first), from_l2()).value / ns;
}

/// F28: what warps in lockstep take for their own work and for the memory that they share.
double in_lockstep(double own, double memory) {
    return std::pow(std::pow(own, 5.0) + std::pow(memory, 5.0), 0.2);
}

/// CTAs of two steps, so that a wave is more than what comes as it comes (F28).
Partition two_steps() {
    Partition part = idle_launch();
    part.steps = part.stages = 2;
    return part;
}

TEST(EquationF1, WavesOfNothing) {
    Partition part = idle_launch();
    EXPECT_NEAR(launch_time(part), 140.0,
                1e-9);              // one wave: 100 until data could be there, 40 for the last store
    part.ctas = 35, part.waves = 4; // three full waves and a tail of five CTAs
    // First 140. A later one: 40 + 40, as L2 has everything, and 600 until the next CTA has the slot. Tail:
    // 40 + 40.
    EXPECT_NEAR(launch_time(part), 140.0 + 2.0 * 680.0 + 80.0, 1e-9);
    part.constant_bytes = 400; // its copy to constant memory is a launch: 2,000 and a gap of 1,000
    EXPECT_NEAR(launch_time(part), 1580.0 + 3000.0, 1e-9);
}

TEST(EquationF36, AllCtasWaitForOneLine) {
    Partition part = idle_launch();
    part.ctas = 35, part.waves = 4; // 1,580 by waves, as above
    Machine m = round_machine();
    m.line_turn = 4.0;
    part.line_turns = 300.0; // 1,200 clocks of 1 ns
    EXPECT_NEAR(launch_time(part, m), std::sqrt(1580.0 * 1580.0 + 1200.0 * 1200.0), 1e-9);
    part.line_turns.reset();
    EXPECT_NEAR(launch_time(part, m), 1580.0, 1e-9);
}

TEST(EquationF1, CtasStartOneAfterAnother) {
    Partition part = idle_launch();
    Machine m = round_machine();
    part.ctas = 35, part.waves = 4; // 1,580 by waves, as above
    m.cta_s = 40 * ns;              // the last one starts after 1,400 and takes 40 + 40
    EXPECT_NEAR(launch_time(part, m), 1580.0, 1e-9);
    m.cta_s = 100 * ns;
    EXPECT_NEAR(launch_time(part, m), 3500.0 + 80.0, 1e-9);
    part.ctas = 10, part.waves = 1; // all have a slot at once, and an empty kernel's launch has their start
    EXPECT_NEAR(launch_time(part, m), 140.0, 1e-9);
}

TEST(EquationF2, FillStepsDrain) {
    Partition part = idle_launch();
    part.steps = 5, part.stages = 2;
    EXPECT_NEAR(wave(part, 1.0), 100.0 + 4.0 * 100.0 + 40.0,
                1e-9); // fill, four steps of a latency each, drain
}

/// Each CTA 31,200 FMAs, 312 clk, and 24,000 bytes a step, half of them from DRAM.
Partition step_by_hand() {
    Partition part = idle_launch();
    part.steps = 10, part.barriers = 1;
    part.step.fmas = 31200.0, part.step.instructions = 31200.0 / 32.0;
    part.step.load_bytes = 24000.0;
    return part;
}
Traffic half_from_dram() {
    Traffic traffic = from_l2();
    traffic.dram_share = 0.5;
    return traffic;
}

TEST(EquationF3, PipelineOverlaps) {
    Partition part = step_by_hand();
    part.stages = 3;
    // Loads: latency 100 / (3 - 1) = 50, memory 10 * 24,000 * 0.5 / 1,000 = 120: (50^2 + 120^2)^(1/2) = 130.
    // Arithmetic 312: (312^2 + 130^2)^(1/2) = 338. A barrier: 20.
    EXPECT_NEAR(step(part, 1.0, half_from_dram()), 358.0, 1e-9);
    // Two CTAs: 624 and (50^2 + 240^2)^(1/2), exponent 2 * 2, half a barrier.
    EXPECT_NEAR(step(part, 2.0, half_from_dram()),
                std::pow(std::pow(624.0, 4.0) + std::pow(std::hypot(50.0, 240.0), 4.0), 0.25) + 10.0, 1e-9);
}

TEST(EquationF3, WithoutPipeline) {
    Partition part = step_by_hand(); // one buffer: load, wait, compute
    EXPECT_NEAR(step(part, 1.0, half_from_dram()), 100.0 + 312.0 + 40.0, 1e-9);
    // Two: they share 624 clk of the cores; D = 312, E = 452 - 312 = 140. T1 = 452, Q1 = 312 / 452,
    // T2 = 140 + 312 * (1 + Q1).
    EXPECT_NEAR(step(part, 2.0, half_from_dram()), 140.0 + 312.0 * (1.0 + 312.0 / 452.0), 1e-9);
    // No barriers: each warp by itself waits 100 and then for its chain, 975 FFMAs / 4 warps.
    part.barriers = 0;
    EXPECT_NEAR(step(part, 1.0, half_from_dram()), 100.0 + 975.0 / 4.0, 1e-9);
}

TEST(EquationF4, FirstLoads) {
    Partition part = two_steps();
    part.step.load_bytes = 20400.0, part.drain.load_bytes = 9600.0;
    // 10 * 30,000 / 4,000 = 75 through L2: (100^2 + 75^2)^(1/2).
    EXPECT_NEAR(fill(part), 125.0, 1e-9);
    part.copy_passes = 1.0; // what stays is written to shared memory: 9,600 / 128 = 75 wavefronts
    EXPECT_NEAR(fill(part), std::sqrt(100.0 * 100.0 + 2.0 * 75.0 * 75.0), 1e-9);
    // Where all warps copy and then compute, half of 300 clk of cold code lies beside the first loads, half
    // behind.
    part.copy_passes = 0.0, part.barriers = 1;
    part.step.copying = part.step.instructions = 400.0;
    part.cold_clocks = 300.0;
    EXPECT_NEAR(fill(part), 150.0 + 150.0, 1e-9);
    // Of a single step all copies belong to the fill: max(125, 100 + 400 / 4).
    part.steps = part.stages = 1, part.pace = even_pace, part.cold_clocks = 0.0;
    EXPECT_NEAR(fill(part), 200.0, 1e-9);
}

TEST(EquationF4, ClusterReduces) {
    Partition part = two_steps();
    EXPECT_NEAR(drain(part, 1.0), 40.0, 1e-9); // until L2 has the last store
    part.cluster = 2, part.cluster_waits = 3.0, part.cluster_bytes = 1600.0;
    // 40; two barriers of 300; 40 until the outputs are seen; three waits of 200 and 1,600 / 16.
    EXPECT_NEAR(drain(part, 1.0), 40.0 + 600.0 + 40.0 + 700.0, 1e-9);
    // Two CTAs: D = 100, E = 600; T1 = 700, Q1 = 1 / 7; T2 = 600 + 100 * 8 / 7.
    EXPECT_NEAR(drain(part, 2.0), 680.0 + 600.0 + 800.0 / 7.0, 1e-9);
}

TEST(EquationF15, FirstWaveOnly) {
    Partition part = two_steps();
    part.cold_clocks = 200.0;
    Machine m = round_machine();
    EXPECT_NEAR(fill(part), 100.0 + 200.0, 1e-9);
    m.fitted.cold_share = 0.5;
    EXPECT_NEAR(fill(part, true, m), 100.0 + 100.0, 1e-9);
    EXPECT_NEAR(fill(part, false, m), 40.0, 1e-9); // code is cached, and data lie in L2
}

TEST(EquationN12, NewCodeComesInstructionByInstruction) {
    Partition part = idle_launch();
    part.barriers = 0, part.steps = 1, part.threads = 64, part.busy_warps = 2, part.cold_clocks = 200.0;
    part.step.instructions = 100.0; // 50 of each warp
    Machine m = round_machine();
    m.new_code = 1.0;
    EXPECT_NEAR(fill(part, true, m), 100.0 + (40.0 + 4.0 * 50.0) - 2.0 * 40.0, 1e-9);
    m.new_code = 0.25; // three of four times the same kernel ran just before
    EXPECT_NEAR(fill(part, true, m), 100.0 + 0.25 * 240.0 - 80.0, 1e-9);
    m.new_code = 1.0;
    part.step.instructions = 2.0 * 1000.0; // no more than 350 are waited for
    EXPECT_NEAR(fill(part, true, m), 100.0 + (40.0 + 4.0 * 350.0) - 80.0, 1e-9);
    m.new_code.reset(); // a kernel with loops, or one that does not start early: F15
    EXPECT_NEAR(fill(part, true, m), 100.0 + 200.0, 1e-9);
}

TEST(EquationF18, AStepIsTheAverageOne) {
    Partition part = idle_launch();
    part.steps = 2;
    part.step.instructions = 100.0, part.step.fmas = 1600.0, part.step.load_bytes = 400.0;
    part.drain.instructions = 20.0;
    part.work.instructions = 10.0 * (2.0 * 75.0 + 20.0); // of 10 CTAs; a full step has 100 of 75
    average_step(part);                                  // (1,700 - 10 * 20) / (10 * 2 * 100) = 0.75
    EXPECT_NEAR(part.step.instructions, 75.0, 1e-12);
    EXPECT_NEAR(part.step.fmas, 1200.0, 1e-9);
    EXPECT_NEAR(part.step.load_bytes, 300.0, 1e-12);
    EXPECT_NEAR(part.drain.instructions, 20.0, 1e-12);
}

TEST(EquationF19, HalvesMeetBeyondTheFirstEight) {
    Machine m = round_machine();
    m.sm_count = 100, m.cta_s = 0.0;
    Partition part = idle_launch();
    part.grid = {200, 1, 1}, part.parts = 100, part.ctas = 200, part.ctas_per_sm = 2;
    part.step.load_bytes = 40000.0; // a CTA takes 10 ns of L2
    part.idle_ctas = 188;           // 12 work: 6 shares, all halves alone; 100 + 12 * 10 + 40
    EXPECT_NEAR(launch_time(part, m), 260.0, 1e-9);
    part.idle_ctas = 160; // 40 work: 20 shares, 28 SMs, two on the busiest; 100 + 2 * 28 * 10 + 40
    EXPECT_NEAR(launch_time(part, m), 700.0, 1e-9);
    part.parts = 0; // no halves: 40 SMs with one CTA
    EXPECT_NEAR(launch_time(part, m), 540.0, 1e-9);
}

TEST(EquationF22, FirstCopiesBelongToTheFill) {
    Partition part = two_steps();
    part.stages = 3, part.copy_warps = 2;
    part.pace = Pace{.other_clocks = 3.0};
    part.step.copying = part.step.instructions = 120.0; // of two warps: 120 * 3 / 2 = 180
    EXPECT_NEAR(fill(part), 100.0 + 180.0, 1e-9);
    EXPECT_EQ(last_step_of(part, round_machine()).instructions, 0.0); // nothing is left to copy
    // A buffer is full a latency after the last of its copies: (100 + 180) / (3 - 1) = 140, beside 180 of
    // copying.
    EXPECT_NEAR(step(part, 1.0), std::hypot(180.0, 140.0), 1e-9);
}

TEST(EquationF25, TurnoverOfASlot) {
    Partition part = idle_launch();
    part.idle_instructions = 80.0, part.pace = even_pace;
    const auto rounds = [&](double count, const Machine &m) {
        return idle_term<Seconds>(part, 10.0, count, m).value / ns;
    };
    // 80 instructions on four schedulers, 20 clk; the slot is empty for 600. Ten CTAs start in 300.
    EXPECT_NEAR(rounds(3.0, round_machine()), 3.0 * 620.0, 1e-9);
    Machine slow = round_machine();
    slow.cta_s = 100 * ns; // ten CTAs start in 1,000
    EXPECT_NEAR(rounds(3.0, slow), 3.0 * 1000.0, 1e-9);
}

TEST(EquationF26, OneLatencyEach) {
    Partition part = two_steps();
    part.drain.line_waits = 3.0; // 100 for the first data and 100 for each further load
    EXPECT_NEAR(fill(part), 400.0, 1e-9);
}

TEST(EquationF28, OneStoresWhileAnotherComputes) {
    Partition part = two_steps();
    part.pace = even_pace;
    part.step.instructions = 400.0;  // 100 clk a CTA
    part.drain.store_bytes = 3200.0; // 100 clk a CTA at 32 B/clk
    EXPECT_NEAR(last_steps(part, 1.0), 200.0, 1e-9);
    // Two CTAs in lockstep: 200 + 200. In turn: 200 of one + (2 - 1) / 2 * max(200, 200) = 300.
    EXPECT_NEAR(last_steps(part, 2.0), 300.0, 1e-9);
    // A single step without barriers: first loads are a third station, 2 * 10 * 100,000 / 4,000 = 500.
    part.steps = part.stages = 1;
    part.step.load_bytes = 100e3;
    EXPECT_NEAR(last_steps(part, 2.0), in_lockstep(300.0, 500.0), 1e-9);
    EXPECT_NEAR(fill(part), 100.0, 1e-9); // and the fill is a latency
    // Loads that wait for registers: 3 * 100 before the 300, while other warps keep the memory busy (F26).
    part.drain.line_waits = 3.0;
    EXPECT_NEAR(last_steps(part, 2.0), in_lockstep(600.0, 500.0), 1e-9);
    EXPECT_NEAR(fill(part), 100.0, 1e-9);
    // All warps wait together: 3 / 4 of 5,000 of loads lie beside no stores, of which there are 4,000. In
    // turn: 100 + 2,000 of one CTA and (2 - 1) / 2 * 4,000, and the waits.
    Machine slow = round_machine();
    slow.l2_write_bw = 320e9;
    part.step.load_bytes = 1e6;
    part.drain.store_bytes = 64e3;
    const auto last = [&] {
        return last_step_term<Seconds>(part, slow, round_of(2.0, true), from_l2()).value / ns;
    };
    EXPECT_NEAR(last(), in_lockstep(300.0 + 4100.0, 3750.0 + 4000.0), 1e-9);
    part.drain.line_waits = 0.0;
    EXPECT_NEAR(last(), in_lockstep(4100.0, 5000.0), 1e-9);
}

TEST(EquationF29, SlowerClock) {
    Partition part = idle_launch();
    EXPECT_EQ(running(part, round_machine()).clock, 1e9);
    part.step.tensor_fmas = 1.0;
    EXPECT_NEAR(running(part, round_machine()).clock, 0.889e9, 1e-3);
}

TEST(EquationF30, BehindTheLaunchBefore) {
    Partition part = two_steps();
    part.early = true;
    part.operands = {{Memory::workspace, 0}};
    part.cold_clocks = 300.0;
    EXPECT_NEAR(fill(part), 900.0 + 40.0, 1e-9); // its data lie in L2, its code was fetched meanwhile
    part.operands = {{Memory::input, 0}};
    EXPECT_NEAR(fill(part), 900.0 + 100.0, 1e-9);
    part.copy_warps = 2; // only they wait: max(900, 100 + 300)
    EXPECT_NEAR(fill(part), 900.0, 1e-9);
    part.cold_clocks = 1000.0; // max(900, 100 + 1,000)
    EXPECT_NEAR(fill(part), 1100.0, 1e-9);
    part.beside = true, part.copy_warps = 0; // it needs nothing of the launch before: F20
    EXPECT_NEAR(fill(part), 100.0 + 1000.0, 1e-9);
}

TEST(EquationF32, SoftMaximum) {
    Partition part = two_steps();
    part.pace = even_pace;
    part.step.instructions = 400.0; // 100 clk
    part.step.store_bytes = 2400.0; // 2,400 / 32 = 75 clk; (100^2 + 75^2)^(1/2)
    EXPECT_NEAR(last_steps(part, 1.0), 125.0, 1e-9);
}

TEST(EquationF32, FewRoundsOverlapLess) {
    Partition part = two_steps();
    part.pace = even_pace;
    part.step.instructions = 400.0; // 100 clk
    part.step.store_bytes = 2400.0; // 75 clk
    part.store_rounds = 1.0;
    EXPECT_NEAR(last_steps(part, 1.0), 125.0 + 75.0, 1e-9);
    part.store_rounds = 3.0;
    EXPECT_NEAR(last_steps(part, 1.0), 125.0 + 25.0, 1e-9);
}

TEST(EquationF33, TwoResources) {
    Partition part = idle_launch();
    part.ctas_per_sm = 2, part.pace = even_pace;
    part.step.instructions = 400.0; // cores: 100 a CTA
    part.step.load_bytes = 40000.0; // memory: 10 * 40,000 / 4,000 = 100 a CTA
    const auto further = [&] {
        return further_wave_term<Seconds>(part, round_machine(), round_of(2.0, true), from_l2()).value / ns;
    };
    // Alone: 40, 100 of both in lockstep (F28) and 40, and 600 of turnover. D = 100 each, E = T1 - 200; of
    // the CTA before half is left, so Q1 = 50 / T1 each; T2 = E + 2 * 100 * (1 + 50 / T1).
    const double alone = 680.0 + in_lockstep(100.0, 100.0);
    EXPECT_NEAR(further(), alone - 200.0 + 200.0 * (1.0 + 50.0 / alone), 1e-9);
    // F1: of several steps only the slower resource is shared, and so it is with one step that stores as it
    // computes: E = T1 - 100, T2 = E + 100 * (1 + 50 / T1).
    part.step.store_bytes = 1e-6;
    EXPECT_NEAR(further(), alone - 100.0 + 100.0 * (1.0 + 50.0 / alone), 1e-6);
}

} // namespace
} // namespace convcast
