// Which facts and which calibration a forecast gets, and what it says of them.
#include "model/machine/knowledge.hpp"

#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/machine/architecture.hpp"
#include "model/machine/assume.hpp"
#include "model/machine/each_number.hpp"
#include "model/machine/machine.hpp"
#include "model/predict.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

GpuProfile with_capability(const std::string &capability) {
    GpuProfile profile = find_profile("h200");
    profile.compute_capability = capability;
    return profile;
}

TEST(Knowledge, OfTheGpuThatItWasMadeOnNothingIsAssumed) {
    const GpuProfile profile = find_profile("h200");
    const Knowledge knowledge = knowledge_for(profile);
    EXPECT_EQ(knowledge.facts.architecture, "sm_90");
    EXPECT_TRUE(knowledge.calibration);
    EXPECT_THAT(knowledge.assumptions, IsEmpty());
    EXPECT_THAT(conditions_of(knowledge).at("facts"), StartsWith("sm_90, content "));
    EXPECT_THAT(conditions_of(knowledge).at("calibration"), StartsWith("NVIDIA H200, content "));
}

TEST(Knowledge, TheIdAloneChangesNothing) {
    GpuProfile profile = find_profile("h200");
    profile.id = "mine";
    const Knowledge knowledge = knowledge_for(profile);
    EXPECT_TRUE(knowledge.calibration);
    EXPECT_THAT(knowledge.assumptions, IsEmpty());

    GpuProfile other = find_profile("toy");
    other.id = "h200";
    EXPECT_FALSE(knowledge_for(other).calibration);
}

TEST(Knowledge, FactsMatchAComputeCapability) {
    EXPECT_EQ(architecture_of(find_profile("gtx1080ti")), "sm_61");
    const Knowledge pascal = knowledge_for(find_profile("gtx1080ti"));
    EXPECT_THAT(pascal.facts.kernels, IsEmpty());
    EXPECT_THAT(pascal.assumptions,
                Contains(AllOf(StartsWith("forecasts without counters: no facts of sm_61"),
                               HasSubstr("on an NVIDIA H200 their mean error is"))));
    EXPECT_EQ(conditions_of(pascal).at("facts"), "none: without counters");
    EXPECT_EQ(conditions_of(pascal).at("calibration"), "none");

    GpuProfile h100 = find_profile("h200");
    h100.name = "NVIDIA H100 80GB HBM3";
    EXPECT_EQ(knowledge_for(h100).facts.architecture, "sm_90");
}

TEST(Knowledge, TheErrorsThatAreStatedAreThoseOfTheCalibration) {
    const TestErrors errors = *knowledge_for(find_profile("h200")).calibration->test;
    EXPECT_GT(errors.without_counters, errors.assumed);
    EXPECT_GT(errors.assumed, errors.fitted);
    EXPECT_EQ(errors.cases, 3121);
    EXPECT_LT(errors.fitted, 0.085);
}

TEST(Knowledge, AnotherMeasurementOfTheGpuSaysWhichOneWasFitted) {
    GpuProfile profile = find_profile("h200");
    profile.conditions["date"] = "2027-01-02T03:04:05Z";
    profile.dram_latency->value.value *= 1.02;
    profile.launch_floor->value.value *= 0.99;
    const Knowledge knowledge = knowledge_for(profile);
    EXPECT_TRUE(knowledge.calibration);
    EXPECT_THAT(
        knowledge.assumptions,
        ElementsAre(AllOf(StartsWith("the calibration was fitted with the profile h200 measured 2026-"),
                          HasSubstr("this one, measured 2027-01-02T03:04:05Z, differs from it in "
                                    "dram_latency (+2 %), launch_floor (-1 %)"))));
}

TEST(Knowledge, AnEditedProfileKeepsTheCalibrationAndSaysSo) {
    GpuProfile profile = find_profile("h200");
    profile.dram_read_bandwidth->value.value *= 2.0;
    profile.limits.sm_count = 64;
    profile.l2_latency.reset();
    EXPECT_TRUE(knowledge_for(profile).calibration);
    EXPECT_THAT(
        knowledge_for(profile).assumptions,
        ElementsAre(AllOf(
            StartsWith("the calibration was fitted with the profile h200, from which this one differs in "),
            HasSubstr("dram_read_bandwidth (+100 %)"), HasSubstr("limits/sm_count (-51.5 %)"),
            HasSubstr("l2_latency (not known now)"))));
}

/// A GPU of the H200's compute capability that is no H200: slower DRAM, fewer bytes of L2.
GpuProfile another_of_its_capability() {
    GpuProfile profile = find_profile("h200");
    profile.id = "h100", profile.name = "NVIDIA H100 80GB HBM3";
    profile.dram_read_bandwidth->value.value *= 0.7;
    profile.limits.l2_bytes = profile.limits.l2_bytes / 6 * 5;
    return profile;
}

TEST(Knowledge, AnotherModelOfTheCapabilityBorrowsTheCalibration) {
    const Knowledge knowledge = knowledge_for(another_of_its_capability());
    ASSERT_TRUE(knowledge.calibration);
    EXPECT_EQ(knowledge.calibration->profile.name, "NVIDIA H200");
    EXPECT_THAT(
        knowledge.assumptions,
        ElementsAre(StartsWith("calibration of NVIDIA H200, borrowed: fitted on h200 measured 2026-")));
}

TEST(Knowledge, ABorrowedCalibrationGivesIntervals) {
    std::vector<double> widths, without;
    const GpuProfile profile = another_of_its_capability();
    for (const char *strategy : {"naive_global", "block_register", "implicit_gemm"})
        for (const char *shape : {"n1c64h56w56k64r3s3", "n8c256h14w14k256r1s1", "n1c512h7w7k512r3s3"})
            for (const bool borrowed : {true, false}) {
                const Prediction forecast =
                    *predict(parse_strategy(strategy), ConvShape::parse(shape), profile,
                             knowledge_for(profile, "", borrowed ? "" : "none"))
                         .prediction;
                (borrowed ? widths : without)
                    .push_back((forecast.time_high_s->value - forecast.time_low_s->value) /
                               forecast.time_s->value);
            }
    std::sort(widths.begin(), widths.end());
    std::sort(without.begin(), without.end());
    EXPECT_LT(widths[widths.size() / 2], 0.45);
    EXPECT_GT(without[without.size() / 2], 1.0) << "or there is nothing to gain";
}

TEST(Knowledge, AnotherCapabilityHasNoCalibration) {
    const Knowledge knowledge = knowledge_for(with_capability("9.1")); // of the same name
    EXPECT_FALSE(knowledge.calibration);
    EXPECT_THAT(knowledge.assumptions,
                Contains("no calibration of this GPU: the interval is from the speed of light to nothing "
                         "overlapped"));
}

TEST(Knowledge, NoneIsSaid) {
    const GpuProfile profile = find_profile("h200");
    const Knowledge neither = knowledge_for(profile, "none", "none");
    EXPECT_THAT(neither.facts.kernels, IsEmpty());
    EXPECT_FALSE(neither.calibration);
    EXPECT_THAT(neither.assumptions, ElementsAre(StartsWith("forecasts without counters, as asked; on an"),
                                                 StartsWith("no calibration, as asked")));
    EXPECT_THAT(knowledge_for(profile, "none").assumptions,
                ElementsAre(StartsWith("forecasts without counters"),
                            "calibration fitted with facts that are left out here"));
}

TEST(Knowledge, FilesAreBorrowed) {
    const Knowledge shipped = knowledge_for(find_profile("h200"));
    const TemporaryFolder folder;
    const std::string facts = folder.path() + "/facts.json", others = folder.path() + "/others.json",
                      calibration = folder.path() + "/calibration.json";
    write_file_atomically(facts, write_facts(shipped.facts));
    write_file_atomically(calibration, write_calibration(*shipped.calibration));
    const Knowledge same = knowledge_for(find_profile("h200"), facts, calibration);
    EXPECT_THAT(same.assumptions, IsEmpty());
    const Knowledge borrowed = knowledge_for(find_profile("k40m"), facts, calibration);
    EXPECT_EQ(write_facts(borrowed.facts), write_facts(shipped.facts));
    EXPECT_THAT(borrowed.assumptions, Contains("facts of sm_90, borrowed: the GPU is of sm_35"));
    EXPECT_THAT(borrowed.assumptions,
                Contains(StartsWith("calibration of NVIDIA H200, borrowed: fitted on")));

    Facts fewer = shipped.facts;
    fewer.kernels.pop_back();
    write_file_atomically(others, write_facts(fewer));
    EXPECT_THAT(knowledge_for(find_profile("h200"), others).assumptions,
                ElementsAre("calibration fitted with other facts than these"));
    EXPECT_THROW(knowledge_for(find_profile("h200"), "no_such_file.json"), InputError);
}

TEST(Knowledge, AForecastUsesWhatItIsGivenAndNothingElse) {
    const GpuProfile profile = find_profile("h200");
    const ConvShape shape = ConvShape::parse("n1c64h56w56k64r3s3");
    const Strategy strategy = parse_strategy("block_register");
    const Prediction bare = *predict(strategy, shape, profile).prediction,
                     known = *predict(strategy, shape, profile, knowledge_for(profile)).prediction;
    EXPECT_FALSE(bare.plan->launches[0].pace);
    EXPECT_FALSE(bare.times.fitted_s);
    EXPECT_TRUE(known.plan->launches[0].pace);
    EXPECT_TRUE(known.times.fitted_s);
    EXPECT_NE(bare.times.tier2_s->value, known.times.tier2_s->value);
    const Knowledge none = knowledge_for(profile, "none", "none");
    const Prediction asked = *predict(strategy, shape, profile, none).prediction;
    EXPECT_EQ(asked.time_s, bare.time_s);
    EXPECT_THAT(asked.assumptions, Contains(none.assumptions.front()));
    EXPECT_EQ(choose(shape, profile, none, {"block_register"}, 1)[0].prediction->times.fitted_s,
              std::nullopt);
}

TEST(Knowledge, NumbersThatAreAssumedAreSaid) {
    GpuProfile profile = find_profile("k40m");
    profile.barrier_latency.reset();
    const std::size_t of_profile = assumed_of(profile).size();
    EXPECT_THAT(assumed_of(profile),
                Contains(HasSubstr("launch_floor 2.370 us, in 607.0 ns to 9.270 us: assumed")));
    EXPECT_THAT(ranged_numbers(profile), testing::SizeIs(of_profile));
    // One that the profile lacks, and one that the profile assumes itself: that has no range then.
    const std::string barrier = assume(profile, "barrier_latency=30"),
                      floor = assume(profile, "launch_floor=5e-6");
    EXPECT_THAT(assumed_of(profile), testing::SizeIs(of_profile + 1));
    EXPECT_THAT(assumed_of(profile), testing::IsSupersetOf({barrier, floor}));
    EXPECT_THAT(ranged_numbers(profile), testing::SizeIs(of_profile - 1));
    EXPECT_THAT(knowledge_for(profile).assumptions, testing::IsSupersetOf({barrier, floor}));
    EXPECT_THAT(assumed_of(find_profile("h200")), IsEmpty());
    EXPECT_THAT(ranged_numbers(find_profile("h200")), IsEmpty()) << "intervals of samples are no ranges";
}

TEST(Knowledge, TheRangeIsThatOfTheTwoCorners) {
    GpuProfile profile = find_profile("k40m");
    const ConvShape shape = ConvShape::parse("n1c64h56w56k64r3s3");
    const auto ask = [&](const GpuProfile &gpu) {
        return *predict(parse_strategy("block_register"), shape, gpu, knowledge_for(gpu)).prediction;
    };
    const Prediction middle = ask(profile);
    // Rates at their ends of low, latencies of high: the slowest; and the other way round.
    GpuProfile fast = profile, slow = profile;
    for (const RangedNumber &number : ranged_numbers(profile)) {
        const bool rate = number.name.find("bandwidth") != std::string::npos ||
                          number.name.find("rate") != std::string::npos || number.name == "knee_exponent";
        fast = with_number(fast, number.name, rate ? number.high : number.low);
        slow = with_number(slow, number.name, rate ? number.low : number.high);
    }
    EXPECT_EQ(middle.assumed_low_s->value, ask(fast).time_s->value);
    EXPECT_EQ(middle.assumed_high_s->value, ask(slow).time_s->value);
}

TEST(Knowledge, ASplitOverAClusterNeedsHopper) {
    const ConvShape shape = ConvShape::parse("n1c512h7w7k512r3s3_pad1x1");
    const auto ask = [&](const std::string &capability, const std::string &strategy) {
        const GpuProfile profile = with_capability(capability);
        return predict(parse_strategy(strategy), shape, profile, knowledge_for(profile));
    };
    EXPECT_EQ(ask("9.0", "implicit_gemm:split=2").status, Status::ok);
    EXPECT_EQ(ask("10.0", "implicit_gemm:split=2").status, Status::ok);
    const Case refused = ask("8.0", "implicit_gemm:split=2");
    EXPECT_EQ(refused.status, Status::infeasible);
    EXPECT_THAT(*refused.reason, AllOf(HasSubstr("compute capability 9.0 or newer"), HasSubstr("has 8.0")));
    EXPECT_THAT(*ask("9.0", "implicit_gemm").strategy, Not(HasSubstr(",split=1,")))
        << "or the shape shows nothing";
    EXPECT_THAT(*ask("8.0", "implicit_gemm").strategy, HasSubstr(",split=1,"));
    const GpuProfile ampere = with_capability("8.0");
    for (const Case &item : choose(shape, ampere, knowledge_for(ampere), {"implicit_gemm"}))
        for (const Partition &part : item.prediction->plan->launches)
            EXPECT_EQ(part.cluster.value_or(1), 1) << *item.strategy;
}

TEST(Knowledge, WhatFindsAMissingNumberIsTrueOfTheGpu) {
    const auto reason = [](const std::string &capability) {
        GpuProfile profile = find_profile("gtx1080ti");
        profile.compute_capability = capability;
        profile.launch_floor.reset();
        return no_time(profile, missing_for_forecast(profile));
    };
    EXPECT_THAT(reason("6.1"), AllOf(HasSubstr("--assume launch_floor=5e-6"), HasSubstr("6.1")));
    EXPECT_THAT(reason("7.0"), HasSubstr("--assume"));
    EXPECT_THAT(reason("7.5"), AllOf(HasSubstr("`convcast measure` finds it"), Not(HasSubstr("--assume"))));
}

TEST(Knowledge, AFolderBringsItsOwn) {
    const TemporaryFolder folder;
    const FolderOfGpu files{folder.path()};
    EXPECT_THAT([&] { find_profile(files.folder); },
                ThrowsMessage<InputError>(HasSubstr("convcast adapt -o " + files.folder)));
    GpuProfile gpu = find_profile("h200");
    gpu.name = "NVIDIA H300";
    write_file_atomically(files.profile(), write_profile(gpu));
    const GpuProfile profile = find_profile(files.folder);
    EXPECT_EQ(write_profile(profile), write_profile(gpu));
    EXPECT_EQ(knowledge_for(profile).calibration->profile.name, "NVIDIA H200") << "borrowed";
    Calibration own = *knowledge_for(profile).calibration;
    own.profile = fitted_on(profile);
    own.scale = 1.1, own.borrowed = "NVIDIA H200";
    write_file_atomically(files.calibration(), write_calibration(own));
    const Knowledge knowledge = knowledge_for(with_sms(profile, 64));
    EXPECT_EQ(knowledge.calibration->scale, 1.1);
    EXPECT_THAT(knowledge.assumptions, Contains(HasSubstr("scale 1.100")));
    EXPECT_FALSE(knowledge_for(profile, "", "none").calibration);
    EXPECT_EQ(knowledge_for(gpu).calibration->scale, std::nullopt) << "not of a folder";
    Facts facts = knowledge_for(profile).facts;
    ASSERT_FALSE(facts.kernels.empty());
    facts.kernels.resize(1);
    write_file_atomically(files.facts(), write_facts(facts));
    EXPECT_EQ(knowledge_for(profile).facts.kernels.size(), 1u);
}

TEST(Knowledge, CalibrationsAreChecked) {
    const Calibration good = *knowledge_for(find_profile("h200")).calibration;
    EXPECT_EQ(write_calibration(read_calibration(write_calibration(good), "c.json")),
              write_calibration(good));
    using Break = std::function<void(Calibration &)>;
    const std::vector<std::pair<std::string, Break>> wrong = {
        {"/fitted/first_wave_miss", [](Calibration &c) { c.fitted.first_wave_miss = -1.0; }},
        {"/fitted/steps_overlap", [](Calibration &c) { c.fitted.steps_overlap = 0.5; }},
        {"/resampled/0/units_overlap", [](Calibration &c) { c.resampled[0].units_overlap = 1e9; }},
        {"/ratio_p05", [](Calibration &c) { c.ratio_p05 = 2.0; }},
        {"/scale", [](Calibration &c) { c.scale = -1.0; }},
        {"/spread/log_time", [](Calibration &c) { c.spread.emplace().log_time = 1e3; }},
        {"/borrowed", [](Calibration &c) { c.borrowed = "two\nlines"; }},
        {"/cases", [](Calibration &c) { c.cases = -1; }},
        {"/test/without_counters", [](Calibration &c) { c.test->without_counters = -1.0; }},
        {"/profile/name", [](Calibration &c) { c.profile.name.clear(); }},
        {"/profile/compute_capability", [](Calibration &c) { c.profile.compute_capability = "nine"; }},
        {"/profile/numbers/sm_clock", [](Calibration &c) { c.profile.numbers["sm_clock"] = -1.0; }}};
    for (const auto &[place, break_it] : wrong) {
        Calibration broken = good;
        break_it(broken);
        EXPECT_THAT(
            [&] { read_calibration(write_calibration(broken), "c.json"); },
            ThrowsMessage<InputError>(AllOf(StartsWith("c.json:"), HasSubstr(place), HasSubstr("expected"))));
    }
    EXPECT_THAT([] { read_calibration(R"({"schema": "convcast/facts/2"})", "facts.json"); },
                ThrowsMessage<InputError>(HasSubstr("convcast/calibration/4")));
}

/// Documents of schema 3 have the same fields, so nothing but the schema tells that their numbers belong to
/// other equations.
TEST(Knowledge, CalibrationsOfEarlierSchemasAreRefusedByName) {
    std::string text = write_calibration(*knowledge_for(find_profile("h200")).calibration);
    const std::string now = "convcast/calibration/4";
    const std::size_t at = text.find(now);
    ASSERT_NE(at, std::string::npos);
    for (const std::string earlier :
         {"convcast/calibration/1", "convcast/calibration/2", "convcast/calibration/3"}) {
        text.replace(at, now.size(), earlier);
        EXPECT_THAT([&] { read_calibration(text, "old.json"); },
                    ThrowsMessage<InputError>(AllOf(HasSubstr("old.json:1: /schema"), HasSubstr(earlier),
                                                    HasSubstr("fitted to other equations"),
                                                    HasSubstr("convcast fit run.json.gz -o"))));
    }
}

/// What plan and time of some calls read of the profile, as the text of their forecasts.
std::vector<std::string> forecasts_of(const std::vector<std::pair<std::string, std::string>> &calls,
                                      const GpuProfile &profile) {
    std::vector<std::string> texts;
    for (const auto &[strategy, shape] : calls) {
        const Case item = predict(parse_strategy(strategy), ConvShape::parse(shape), profile);
        texts.push_back(to_text(described::write(item)));
    }
    return texts;
}

/// A calibration lists the numbers of its profile that a forecast computes with: each that changes one, and
/// no other.
TEST(Knowledge, ACalibrationListsWhatForecastsRead) {
    const GpuProfile profile = find_profile("h200");
    std::vector<std::pair<std::string, std::string>> calls;
    for (const char *shape : {"n1c1h512w512k64r3s3", "n4c64h57w57k128r3s3"})
        for (const std::string &name : strategy_names()) {
            const Case item = predict(parse_strategy(name), ConvShape::parse(shape), profile);
            if (item.status == Status::ok)
                calls.emplace_back(*item.strategy, shape);
        }
    calls.emplace_back("filter_split:pieces=1", "n64c1h28w28k4r3s3");   // CTAs without work
    calls.emplace_back("naive_global:threads=256", "n1c64h1w1k64r1s1"); // steps that find their data in L1
    for (const char *split : {"4", "8"})                                // clusters in several waves
        calls.emplace_back("implicit_gemm:tile_k=64,tile_pixels=64,thread_k=8,thread_pixels=8,slice_channels="
                           "2,stages=3,warp_split=1,split=" +
                               std::string(split) + ",filters=1,staging=1,columns=1",
                           "n4c64h57w57k128r3s3");
    const std::vector<std::string> before = forecasts_of(calls, profile);
    std::vector<std::string> read;
    for_each_param(profile, [&](const char *name, const auto &param) {
        if (param && forecasts_of(calls, with_number(profile, name, param->value.value * 0.5)) != before)
            read.emplace_back(name);
    });
    std::vector<std::string> listed;
    for (const auto &[name, value] : fitted_on(profile).numbers)
        if (!name.starts_with("limits/") && !name.starts_with("curves/"))
            listed.push_back(name);
    EXPECT_THAT(listed, ::testing::UnorderedElementsAreArray(read));
}

/// Each assumption has the number that is computed with, and where it is from.
TEST(Knowledge, AssumptionsSayTheNumbersOfTheData) {
    GpuProfile profile = find_profile("h200");
    profile.knee_exponent.reset(), profile.l2_read_bandwidth.reset(), profile.l2_latency.reset();
    profile.cluster_latency.reset(), profile.cluster_bandwidth.reset();
    profile.partial_sector_store_time.reset();
    Plan plan;
    plan.launches.resize(1);
    EXPECT_THAT(assumed_numbers(plan, profile),
                ElementsAre("knee exponent 2: the profile has none",
                            "L2 bandwidth 2 times DRAM's: the profile has none",
                            "L2 latency 0.5 of DRAM's: the profile has none"));
    plan.launches[0].cluster = 2, plan.launches[0].partial_write_bytes = 32.0;
    EXPECT_THAT(
        assumed_numbers(plan, profile),
        AllOf(Contains("latency in a cluster 181 clk (of an H800: arXiv 2402.13499): the profile has none"),
              Contains("bandwidth in a cluster 16 B/clk (of an H800, 3.27 TB/s for all SMs: arXiv "
                       "2402.13499): the profile has none"),
              Contains("a sector written in part takes 2 times as long as a whole one: the profile has no "
                       "time of one")));
    const Machine m = machine_of(profile, DataType::f32, {});
    EXPECT_EQ(m.l2_bw, 2.0 * m.read_bw);
    EXPECT_EQ(m.l2_latency_s, 0.5 * m.latency_s);
    EXPECT_EQ(m.cluster_latency, 181.0);
    EXPECT_EQ(m.partial_sector, 2.0);
}

} // namespace
} // namespace convcast
