// What a GPU alone can show was recorded; here it is replayed without one.
#include "microbench/analysis.hpp"
#include "model/compare.hpp"
#include "model/conv_shape.hpp"
#include "model/files.hpp"
#include "model/forecast.hpp"
#include "model/study.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

using namespace convcast;
using testing::IsSubsetOf;
using testing::IsSupersetOf;

namespace {

const std::string folder = CONVCAST_SOURCE_DIR "/data/recorded/h200/";

const convcast::Run &recorded() {
    static const convcast::Run run = read_run(read_file(folder + "chang.json.gz"), "chang.json.gz");
    return run;
}

template <class Check> void for_own_cases(Check check) {
    int n = 0;
    for (const Case &item : recorded().cases)
        if (item.strategy && item.status == Status::ok) {
            const Measurement *cold = item.measured(L2State::cold);
            ASSERT_NE(cold, nullptr) << item.shape << " " << *item.strategy;
            check(item, *item.prediction, *cold);
            ++n;
        }
    EXPECT_GT(n, 200);
}

TEST(Recorded, TheProfileComesFromTheSamples) {
    const RawSamples raw = read_samples(read_file(folder + "samples.json"), "samples.json");
    GpuProfile profile = analyze(raw, "h200");
    if (is_open(raw, "tf32_mma_rate")) // a probe younger than the recording
        profile.missing.erase("tf32_mma_rate");
    EXPECT_EQ(write_profile(profile), write_profile(find_profile("h200")));
    // Nothing is missing for want of a probe: H200's TLBs reach over all of the largest region.
    for (const auto &[field, why] : find_profile("h200").missing)
        EXPECT_EQ(field, "dram_tlb_latency") << why;
}

TEST(Recorded, TheSamplesPassTheirChecks) {
    const GpuProfile profile =
        analyze(read_samples(read_file(folder + "samples.json"), "samples.json"), "h200");
    EXPECT_GE(profile.checks.size(), 30u);
    for (const ProfileCheck &check : profile.checks)
        EXPECT_TRUE(check.passed) << check.name << ": " << check.text;
    // All three numbers of eq. M1 fitted describe the curve far better than the exponent alone does.
    ASSERT_TRUE(profile.dram_read_curve->fit);
    EXPECT_LE(profile.dram_read_curve->fit->worst_error, 0.03);
    EXPECT_NEAR(profile.dram_read_curve->fit->latency_s, 400e-9, 10e-9);
    EXPECT_NEAR(profile.dram_read_curve->fit->exponent, 2.25, 0.1);
}

/// Measured three times, one after another, on one GPU.
TEST(Recorded, ThreeRunsAgree) {
    std::vector<NamedProfile> runs = {{"h200", find_profile("h200")}};
    for (const char *file : {"repeat_2.json", "repeat_3.json"})
        runs.push_back({file, read_profile(read_file(folder + file), file)});
    std::vector<std::string> differing;
    const ProfileComparison comparison = compare_profiles(runs, {});
    for (const ComparedParam &param : comparison.params)
        if (param.verdict == Verdict::differs)
            differing.push_back(param.name);
    // The README and docs/measuring.md say so.
    EXPECT_THAT(differing, IsSubsetOf({"stream_launch_period"}));
    EXPECT_TRUE(comparison.failed_checks.empty());
    EXPECT_EQ(runs[0].profile.conditions.at("gpu"), runs[2].profile.conditions.at("gpu"));
}

TEST(Recorded, TheRunWasForecastFromTheShippedProfile) {
    EXPECT_EQ(recorded().profile_id, "h200");
    EXPECT_EQ(recorded().profile_hash, profile_hash(find_profile("h200")));
    EXPECT_EQ(recorded().producer.device_code_hash.size(), 32u);
    EXPECT_EQ(recorded().producer.measuring_code_hash.size(), 32u);
    EXPECT_EQ(recorded().conditions.at("gpu"), "NVIDIA H200");
}

TEST(Recorded, EveryShapeOfBothStudiesIsThereAndNothingIsWrong) {
    for (const char *name : {"chang_single", "chang_multi"})
        for (const std::string &shape : find_study(name).shapes) {
            std::set<std::string> strategies, baselines;
            for (const Case &item : recorded().cases)
                if (item.shape == shape && item.status == Status::ok) {
                    if (item.strategy)
                        strategies.insert(item.strategy->substr(0, item.strategy->find(':')));
                    else
                        baselines.insert(*item.baseline);
                }
            if (ConvShape::parse(shape).c == 1)
                EXPECT_THAT(strategies,
                            IsSupersetOf({"filter_split", "map_split", "patch_register", "row_register"}));
            else
                EXPECT_THAT(strategies, IsSupersetOf({"implicit_gemm", "stride_fixed_block"}));
            EXPECT_THAT(baselines,
                        IsSupersetOf({"cudnn:implicit_gemm", "cudnn:implicit_precomp_gemm", "cudnn:graph"}));
        }
    for (const Case &item : recorded().cases) {
        EXPECT_NE(item.status, Status::wrong_result) << item.shape << ": " << item.reason.value_or("");
        EXPECT_NE(item.status, Status::failed) << item.shape << ": " << item.reason.value_or("");
        EXPECT_NE(item.status, Status::not_run) << item.shape;
        EXPECT_EQ(item.status == Status::ok, !item.reason.has_value()) << item.shape;
    }
}

TEST(Recorded, ForecastAndMeasurementCarryTheSameQuantities) {
    for_own_cases([](const Case &item, const Prediction &p, const Measurement &cold) {
        ASSERT_TRUE(p.time_s && p.work && cold.work) << item.shape;
        for (const auto field :
             {&Work::fmas, &Work::instructions, &Work::shared_wavefronts, &Work::l2_read_bytes,
              &Work::l2_write_bytes, &Work::dram_read_bytes, &Work::dram_write_bytes}) {
            EXPECT_TRUE((*p.work.*field).has_value()) << item.shape;
            EXPECT_TRUE((*cold.work.*field).has_value()) << item.shape;
        }
        EXPECT_LE(*cold.relative_l2_error, 1e-5) << item.shape;
        EXPECT_LE(*cold.max_error_ratio, 1.0) << item.shape;
        EXPECT_GE(cold.samples_s.size(), 5u) << item.shape;
    });
}

TEST(Recorded, CountedFmasAreTheForecasts) {
    for_own_cases([](const Case &item, const Prediction &, const Measurement &cold) {
        const Case today =
            predict(parse_strategy(*item.strategy), ConvShape::parse(item.shape), find_profile("h200"));
        const double forecast = *today.prediction->work->fmas;
        // The compiler leaves pixels past the edge out or in, by its own judgement, where it can move all of
        // a sum under the condition of its store: in row_register, and where implicit_gemm has a single step.
        const bool one_step = today.prediction->plan->launches.front().steps == 1;
        const double tolerance = item.strategy->starts_with("row_register")                ? 0.25
                                 : item.strategy->starts_with("implicit_gemm") && one_step ? 0.07
                                                                                           : 0.0;
        EXPECT_NEAR(forecast, *cold.work->fmas, tolerance * *cold.work->fmas)
            << item.shape << " " << *item.strategy;
    });
}

TEST(Recorded, NothingIsFasterThanLight) {
    // Inputs come from DRAM through a cold L2, so the bound holds; 3 % for the spread of the launch floor and
    // bandwidth.
    for_own_cases([](const Case &item, const Prediction &p, const Measurement &cold) {
        EXPECT_GE(cold.time_s.value, 0.97 * p.times.tier0_s->value) << item.shape << " " << *item.strategy;
    });
}

/// Today's forecast of the recorded cases: a change of the model that makes it worse must be seen. With this
/// recording it stands at the numbers of the README.
TEST(Recorded, TheForecastIsAsGoodAsStated) {
    std::vector<double> errors, of_blocks;
    double log_sum = 0.0;
    for_own_cases([&](const Case &item, const Prediction &, const Measurement &cold) {
        const Case today =
            predict(parse_strategy(*item.strategy), ConvShape::parse(item.shape), find_profile("h200"));
        const double ratio = *today.prediction->time_s / cold.time_s;
        errors.push_back(std::abs(ratio - 1.0));
        log_sum += std::log(ratio);
        if (item.strategy->starts_with("stride_fixed_block"))
            of_blocks.push_back(errors.back());
    });
    std::sort(errors.begin(), errors.end());
    EXPECT_LE(errors[errors.size() / 2], 0.20) << "median error";
    EXPECT_LE(errors[errors.size() * 9 / 10], 0.46) << "90th percentile";
    std::sort(of_blocks.begin(), of_blocks.end());
    ASSERT_EQ(of_blocks.size(), 33u);
    EXPECT_LE(of_blocks[of_blocks.size() / 2], 0.018) << "median error of stride_fixed_block";
    EXPECT_LE(of_blocks[of_blocks.size() * 9 / 10], 0.085) << "its 90th percentile";
    EXPECT_NEAR(std::exp(log_sum / static_cast<double>(errors.size())), 0.787, 0.01)
        << "bias: too fast, and said so";
}

} // namespace
