// Facts of kernels: planted counters are found again, and change a plan as the formulas say.
#include "model/base/errors.hpp"
#include "model/fit/facts_of_counters.hpp"
#include "model/machine/architecture.hpp"
#include "model/machine/facts.hpp"
#include "model/predict.hpp"
#include "model/strategies/list.hpp"
#include "model/work/compiled.hpp"
#include "model/work/l2_sectors.hpp"
#include "model/work/shared_access.hpp"
#include "model/work/tensors.hpp"

#include <gmock/gmock.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convcast {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

constexpr double idle_cta = 50.0; // instructions that a plan counts for a CTA without work

const Architecture &hopper() {
    return architecture_for(90).numbers;
}

Partition launch(double ffmas, double step_others, double copying, double once, std::int64_t ctas,
                 std::int64_t idle) {
    Partition part;
    part.kernel = "planted";
    part.threads = 128;
    part.ctas = ctas, part.idle_ctas = idle, part.steps = 4, part.busy_warps = 4;
    part.step.fmas = 32.0 * ffmas;
    part.step.instructions = ffmas + step_others + copying;
    part.step.copying = copying;
    part.step.turns = ffmas / 50.0;
    part.drain.instructions = once;
    part.idle_instructions = idle_cta;
    const double busy = static_cast<double>(ctas - idle);
    part.work.fmas = busy * 4.0 * part.step.fmas;
    part.work.instructions =
        busy * (4.0 * part.step.instructions + once) + static_cast<double>(idle) * idle_cta;
    part.work.l2_read_bytes = 1e6;
    part.mergeable_reads = MergeableReads{{{16.0, 1e6}}, 1.0, 1.0, 1.0};
    part.work.l2_write_bytes = 1e5;
    return part;
}

/// Counters of a launch whose kernel has the planted facts.
struct Planted {
    static constexpr double per_counted = 1.5, ffma = 1.25, other = 3.0, copy = 2.0, alu = 0.6, turn = 23.0,
                            cold = 500.0, constant = 130.0, drift = 0.3;

    std::vector<CountedCall> calls;

    void add(const Partition &part, double met) {
        const double busy = static_cast<double>(part.ctas - part.idle_ctas);
        const double ffmas = *part.work.fmas / 32.0, others = *part.work.instructions - ffmas;
        const double idle = per_counted * static_cast<double>(part.idle_ctas) * idle_cta;
        // Copies grow as all instructions of a step do.
        const double of_step = part.step.fmas / 32.0,
                     grown = per_counted * (part.step.instructions - of_step);
        const double copies = busy * 4.0 * part.step.copying * (of_step + grown) / part.step.instructions;
        Work work;
        work.instructions = ffmas + per_counted * others;
        work.l2_read_bytes =
            1e6 - merged_bytes(*part.mergeable_reads, *work.instructions, {met, drift}, hopper());
        const double left = *work.instructions - ffmas,
                     once = copies + busy * per_counted * part.drain.instructions + idle;
        const double turns = busy * 4.0 * part.step.turns, warps = static_cast<double>(part.ctas) * 4.0;
        const double waits = (ffmas * ffma + (left - once) * other + once * copy) / *work.instructions - 1.0;
        const std::string stalled = "smsp__average_warps_issue_stalled_", ratio = "_per_issue_active.ratio";
        const std::map<std::string, double> counters = {
            {stalled + "wait" + ratio, waits},
            {stalled + "branch_resolving" + ratio, 0.0},
            {stalled + "short_scoreboard" + ratio, turn * turns / *work.instructions},
            {stalled + "no_instruction" + ratio, cold * warps / *work.instructions},
            {stalled + "imc_miss" + ratio,
             constant * busy * 4.0 * part.step.constant_lines / *work.instructions},
            {"sm__inst_executed_pipe_fma.sum", ffmas},
            {"smsp__inst_executed_op_shared_ld.sum", (1.0 - alu) * left},
            {"smsp__inst_executed_op_shared_st.sum", 0.0}};
        Plan plan;
        plan.launches = {part};
        calls.push_back({plan, work, counters, turn});
    }
};

TEST(Facts, PlantedOnesAreFoundAgain) {
    Planted planted;
    for (const double scale : {1.0, 2.0, 3.0})
        for (const std::int64_t idle : {0, 50, 90}) {
            planted.add(launch(100.0 * scale, 40.0, 10.0 * scale, 30.0, 100, idle), 0.4);
            planted.add(launch(20.0, 60.0 * scale, 5.0, 90.0 * scale, 100, idle), 0.4);
        }
    const Facts document = derive_facts(planted.calls, hopper());
    const std::vector<CompiledWork> &facts = document.kernels;
    ASSERT_EQ(facts.size(), 1U);
    EXPECT_NEAR(facts[0].per_ffma, 0.0, 1e-6);
    EXPECT_NEAR(facts[0].per_counted, Planted::per_counted, 1e-6);
    EXPECT_NEAR(facts[0].pace.ffma_clocks, Planted::ffma, 1e-3);
    EXPECT_NEAR(facts[0].pace.other_clocks, Planted::other, 1e-3);
    EXPECT_NEAR(document.once_clocks, Planted::copy, 1e-3);
    EXPECT_NEAR(document.cold_clocks, Planted::cold, 1e-3);
    EXPECT_NEAR(facts[0].pace.alu_share, Planted::alu, 1e-9);
    EXPECT_NEAR(facts[0].merging, 0.4, 0.02);
    EXPECT_EQ(document.drift, Planted::drift);
    EXPECT_NEAR(facts[0].p90_error, 0.0, 1e-6);

    Plan plan;
    plan.launches = {launch(100.0, 40.0, 10.0, 30.0, 100, 50)};
    const Plan as_compiled = with_facts(plan, document, hopper());
    const Partition &counted = as_compiled.launches[0], &own = plan.launches[0];
    EXPECT_NEAR(counted.step.instructions, 100.0 + 1.5 * 50.0, 1e-4);
    EXPECT_NEAR(counted.step.copying, 10.0 * (100.0 + 75.0) / 150.0, 1e-3);
    EXPECT_NEAR(counted.drain.instructions, 45.0, 1e-4);
    EXPECT_NEAR(*counted.work.instructions,
                *own.work.fmas / 32.0 + 1.5 * (*own.work.instructions - *own.work.fmas / 32.0), 1.0);
    EXPECT_NEAR(*counted.idle_instructions, 1.5 * idle_cta, 1e-4);
    EXPECT_NEAR(counted.cold_clocks.value_or(0.0), Planted::cold, 1e-3);
    ASSERT_TRUE(counted.pace);
    EXPECT_EQ(counted.pace->alu_share, facts[0].pace.alu_share);
}

/// F24: what warps wait for constants is told by the line where a plan counts lines.
TEST(Facts, WaitsForConstantsAreOfTheirLines) {
    Planted planted;
    for (const double scale : {1.0, 2.0, 3.0})
        for (const double lines : {1.0, 2.5}) {
            Partition part = launch(100.0 * scale, 40.0, 10.0 * scale, 30.0, 100, 0);
            part.step.constant_lines = lines;
            planted.add(part, 0.5);
        }
    const Facts document = derive_facts(planted.calls, hopper());
    const std::vector<CompiledWork> &facts = document.kernels;
    ASSERT_EQ(facts.size(), 1U);
    EXPECT_NEAR(facts[0].pace.constant_clocks, Planted::constant, 1e-3);
}

TEST(Facts, TooFewCallsTellNothing) {
    Planted planted;
    for (std::size_t i = 0; i + 1 < least_cases; ++i)
        planted.add(launch(100.0, 40.0, 10.0, 30.0, 100, 0), 0.5);
    EXPECT_TRUE(derive_facts(planted.calls, hopper()).kernels.empty());
}

TEST(Facts, ADocumentReadsBackAndHostileOnesAreRefused) {
    const Facts shipped = knowledge_for(find_profile("h200")).facts;
    const std::string text = write_facts(shipped);
    EXPECT_EQ(write_facts(read_facts(text, "facts.json")), text);
    for (const CompiledWork &kernel : shipped.kernels) {
        EXPECT_GE(kernel.pace.ffma_clocks, 1.0) << kernel.kernel;
        EXPECT_GE(kernel.pace.other_clocks, 1.0) << kernel.kernel;
        EXPECT_GE(kernel.pace.alu_share, 0.0) << kernel.kernel;
        EXPECT_LE(kernel.pace.alu_share, 1.0) << kernel.kernel;
    }
    for (const auto &break_it : {+[](CompiledWork &kernel) { kernel.pace.alu_share = 1.5; },
                                 +[](CompiledWork &kernel) { kernel.pace.other_clocks = -1.0; },
                                 +[](CompiledWork &kernel) { kernel.pace.constant_clocks = -1.0; },
                                 +[](CompiledWork &kernel) { kernel.pace.copy_alu_share = 1.5; },
                                 +[](CompiledWork &kernel) { kernel.per_warp = 1e9; }}) {
        Facts broken = shipped;
        break_it(broken.kernels.front());
        EXPECT_THAT(
            [&] { read_facts(write_facts(broken), "broken.json"); },
            ThrowsMessage<InputError>(testing::AllOf(HasSubstr("broken.json:"), HasSubstr("/kernels/0"))));
    }
    for (const char *wrong : {"9.0", "sm_", "sm_9x", "sm_90\u001b[2J"}) {
        Facts broken = shipped;
        broken.architecture = wrong;
        EXPECT_THAT(
            [&] { read_facts(write_facts(broken), "broken.json"); },
            ThrowsMessage<InputError>(AllOf(HasSubstr("broken.json:3: /architecture"), HasSubstr("sm_90"))));
    }
    for (const auto &break_it :
         {+[](Facts &facts) { facts.cold_clocks = -1.0; }, +[](Facts &facts) { facts.once_clocks = 0.5; },
          +[](Facts &facts) { facts.drift = 2.0; }}) {
        Facts broken = shipped;
        break_it(broken);
        EXPECT_THAT([&] { read_facts(write_facts(broken), "broken.json"); },
                    ThrowsMessage<InputError>(AllOf(HasSubstr("broken.json:"), HasSubstr(": /"))));
    }
    Facts none = shipped;
    none.kernels.clear();
    EXPECT_THAT([&] { read_facts(write_facts(none), "broken.json"); },
                ThrowsMessage<InputError>(HasSubstr("--facts none")));
}

/// A slower pace, and more integers, never make a forecast faster.
TEST(Facts, ASlowerPaceIsNeverFaster) {
    const GpuProfile profile = find_profile("h200");
    const ConvShape shape = ConvShape::parse("n1c64h56w56k64r3s3");
    for (const char *strategy : {"block_register", "naive_global", "filter_stream", "implicit_gemm_3xtf32"}) {
        Plan plan =
            std::get<PlannedStrategy>(convcast::plan(parse_strategy(strategy), shape, profile)).feasible.plan;
        double before = 0.0;
        for (const double step : {1.0, 2.0, 4.0, 8.0}) {
            for (Partition &part : plan.launches)
                part.pace = Pace{1.0 + step / 8.0, step, step / 8.0, std::nullopt, 0.0},
                part.once_clocks = step;
            const double time = forecast_time(plan, shape, profile, {})->value;
            EXPECT_GE(time, before) << strategy << " " << step;
            before = time;
        }
    }
}

TEST(Passes, LinesAndBanksOfALoad) {
    // 32 neighbours that start anywhere: 1 + 31 / 32 lines; a column of four rows far apart: one line each.
    EXPECT_DOUBLE_EQ(lines_touched(128.0, 1.0, 0.0), 1.0 + 124.0 / 128.0);
    EXPECT_DOUBLE_EQ(lines_touched(4.0, 4.0, 4096.0), 4.0);
    EXPECT_DOUBLE_EQ(lines_touched(4.0, 32.0, 4.0),
                     1.0 + 124.0 / 128.0); // rows that lie side by side share lines
    EXPECT_DOUBLE_EQ(l1_passes(1.0, 1.0), 1.0);
    EXPECT_DOUBLE_EQ(l1_passes(4.0, 1.0), 2.0);
}

TEST(Facts, AVariantThatWasNotCountedBorrowsAndSaysSo) {
    Facts facts;
    facts.kernels.resize(3);
    facts.kernels[0].kernel = facts.kernels[1].kernel = "planted", facts.kernels[2].kernel = "other";
    facts.kernels[0].per_counted = 2.0, facts.kernels[0].cases = 5;
    facts.kernels[1].per_counted = 3.0, facts.kernels[1].cases = 9, facts.kernels[1].variant = "narrow";
    Plan plan;
    plan.launches.assign(2, launch(0.0, 40.0, 0.0, 0.0, 10, 0));
    EXPECT_TRUE(borrowed_facts(plan, facts).empty());
    EXPECT_EQ(with_facts(plan, facts, hopper()).launches[0].step.instructions, 2.0 * 40.0);
    plan.launches[0].variant = plan.launches[1].variant = "wide"; // not counted: takes the commonest
    EXPECT_EQ(with_facts(plan, facts, hopper()).launches[1].step.instructions, 3.0 * 40.0);
    EXPECT_THAT(
        borrowed_facts(plan, facts),
        ElementsAre("facts of planted: its variant 'wide' was not counted and takes those of its variant "
                    "'narrow'"));
    facts.kernels[0].cases = 20;
    EXPECT_THAT(
        borrowed_facts(plan, facts),
        ElementsAre("facts of planted: its variant 'wide' was not counted and takes those of its plain "
                    "variant"));
    plan.launches[1].kernel = "never counted"; // stays as it is
    EXPECT_THAT(borrowed_facts(plan, facts), SizeIs(1));
    EXPECT_EQ(with_facts(plan, facts, hopper()).launches[1].step.instructions, 40.0);
    EXPECT_TRUE(borrowed_facts(plan, {}).empty());
}

TEST(Facts, AKernelNeverCountedHasTheMedianPaceOfTheOthers) {
    Facts facts;
    facts.once_clocks = 3.0;
    for (const auto &[kernel, clocks] : {std::pair{"a", 2.0}, {"b", 3.0}, {"c", 7.0}, {"new", 100.0}}) {
        CompiledWork &its = facts.kernels.emplace_back();
        its.kernel = kernel, its.per_counted = 2.0, its.per_warp = 50.0, its.merging = clocks;
        its.pace = {.ffma_clocks = 1.0 + clocks, .other_clocks = clocks, .alu_share = 1.0 / clocks};
    }
    const Facts judged = as_never_counted(facts, {"new"});
    ASSERT_THAT(judged.kernels, SizeIs(4));
    const CompiledWork &usual = judged.kernels.back();
    EXPECT_EQ(usual.kernel, "new");
    EXPECT_EQ(usual.pace.ffma_clocks, 4.0);
    EXPECT_EQ(usual.pace.other_clocks, 3.0);
    EXPECT_EQ(usual.pace.alu_share, 1.0 / 3.0);
    EXPECT_EQ(usual.merging, 3.0);
    EXPECT_EQ(usual.per_counted, 1.0) << "instructions are those that its plan counts";
    EXPECT_EQ(usual.per_warp, 0.0);
    EXPECT_EQ(judged.once_clocks, 3.0);
    EXPECT_EQ(as_never_counted(judged, {"new"}).kernels.back().pace.other_clocks, 3.0) << "not of itself";
    // Nothing else was counted: nothing is known of it.
    facts.kernels = {facts.kernels.back()};
    EXPECT_THAT(as_never_counted(facts, {"new"}).kernels, IsEmpty());
    EXPECT_THAT(as_never_counted({}, {"new"}).kernels, IsEmpty());
}

TEST(L2, LosesWhatIsReadAgainTooLate) {
    const GpuProfile profile = find_profile("h200");
    const Gpu gpu(profile);
    const double half = static_cast<double>(gpu.limits.l2_bytes) / 2.0;
    EXPECT_EQ(lost_from_l2(0.5 * half, gpu), 0.0);
    EXPECT_EQ(lost_from_l2(2.0 * half, gpu), 1.0);
    EXPECT_NEAR(lost_from_l2(1.05 * half, gpu), 0.5, 1e-9);
    // A map that fits is read from DRAM once, one that does not as often as the kernel passes over it.
    Work small, large;
    const ConvShape fits = ConvShape::parse("n1c4h256w256k8r3s3"),
                    not_at_all = ConvShape::parse("n1c4h4096w4096k8r3s3");
    fill_dram(small, fits, gpu, 8.0);
    fill_dram(large, not_at_all, gpu, 8.0);
    EXPECT_EQ(*small.dram_read_bytes, static_cast<double>(fits.input_bytes() + fits.filter_bytes()));
    EXPECT_EQ(*large.dram_read_bytes,
              static_cast<double>(8 * not_at_all.input_bytes() + not_at_all.filter_bytes()));
    // Rows that no tap reads stay in DRAM, but for what lies in 64 bytes with others.
    const ConvShape half_read = ConvShape::parse("n1c1h955w955k15r1s1_str2x2"),
                    all_read = ConvShape::parse("n1c1h955w955k15r2s2_str2x2");
    EXPECT_NEAR(input_read_bytes(half_read, gpu.architecture) / static_cast<double>(half_read.input_bytes()),
                0.5, 0.01);
    EXPECT_EQ(input_read_bytes(all_read, gpu.architecture), static_cast<double>(all_read.input_bytes()));
}

} // namespace
} // namespace convcast
