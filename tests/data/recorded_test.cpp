// What a GPU alone can show was recorded; here it is replayed without one.
#include "gpu/metrics.hpp"
#include "microbench/analysis.hpp"
#include "microbench/probe.hpp"
#include "model/base/files.hpp"
#include "model/fit/adapted.hpp"
#include "model/fit/fit.hpp"
#include "model/machine/compare.hpp"
#include "model/machine/facts.hpp"
#include "model/paper/papers.hpp"
#include "model/predict.hpp"
#include "model/record/measured_calls.hpp"
#include "model/record/study.hpp"
#include "model/shape/conv_shape.hpp"
#include "model/shape/training_part.hpp"
#include "model/time/call.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace convcast;
using testing::IsSubsetOf;
using testing::IsSupersetOf;

namespace {

const std::string folder = CONVCAST_SOURCE_DIR "/data/recorded/h200/";

/// A recorded run with today's forecasts: it ships without.
convcast::Run read_recorded(const std::string &file) {
    convcast::Run run = read_run(read_file(folder + file), file);
    const GpuProfile profile = find_profile("h200");
    for (Case &item : run.cases)
        if (item.strategy && item.status == Status::ok)
            item.prediction = predict(parse_strategy(*item.strategy), ConvShape::parse(item.shape), profile,
                                      knowledge_for(profile))
                                  .prediction;
    return run;
}

const convcast::Run &recorded() {
    static const convcast::Run run = read_recorded("chang.json.gz");
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
    // Five sittings: probes of streams and GPUs that meet, of adds of floats, of early starts and of small
    // copies are younger than the first.
    const RawSamples raw =
        joined({read_samples(read_file(folder + "samples.json"), "samples.json"),
                read_samples(read_file(folder + "samples_streams.json"), "samples_streams.json"),
                read_samples(read_file(folder + "samples_two_gpus.json"), "samples_two_gpus.json"),
                read_samples(read_file(folder + "samples_early.json"), "samples_early.json"),
                read_samples(read_file(folder + "samples_copies.json"), "samples_copies.json")},
               {"samples.json", "samples_streams.json", "samples_two_gpus.json", "samples_early.json",
                "samples_copies.json"});
    GpuProfile profile = analyze(raw, "h200");
    if (is_open(raw, "tf32_mma_rate")) // a probe younger than the recording
        profile.missing.erase("tf32_mma_rate");
    EXPECT_EQ(write_profile(profile), write_profile(find_profile("h200")));
    // Nothing is missing for want of a probe: H200's TLBs reach over all of the largest region.
    for (const auto &[field, why] : find_profile("h200").missing)
        EXPECT_EQ(field, "dram_tlb_latency") << why;
}

TEST(Recorded, TheH100sProfileComesFromItsSamples) {
    const std::string file = CONVCAST_SOURCE_DIR "/data/recorded/h100/samples.json";
    EXPECT_EQ(write_profile(analyze(read_samples(read_file(file), file), "h100")),
              write_profile(find_profile("h100")));
}

TEST(Recorded, RowsOfProbesLaunchWhatWasRecorded) {
    const RawSamples raw = read_samples(read_file(folder + "samples.json"), "samples.json");
    using Configurations = std::set<std::pair<std::string, std::map<std::string, double>>>; // unit and knobs
    for (const Probe &probe : probes()) {
        Configurations recorded, launched;
        for (const ProbeSamples &samples : raw.samples)
            if (samples.probe == probe.name && probe.how.launch != nullptr)
                recorded.emplace(samples.unit, samples.knobs);
        for (const ClockedLaunch &launch : launches_of(probe))
            if (static_cast<int>(launch.threads * launch.ctas_per_sm) <= raw.limits.max_threads_per_sm)
                launched.emplace(probe.unit, launch.knobs);
        EXPECT_EQ(launched, recorded) << probe.name;
    }
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

/// F35 has no number that was fitted, neither to these calls nor to others.
TEST(Recorded, WarmCallsAreForecastWithoutAFit) {
    const GpuProfile h200 = find_profile("h200");
    const Gpu gpu(h200);
    const Knowledge knowledge = knowledge_for(h200);
    const std::map<std::string, double> most = {{"sweep.json.gz", 0.082},    {"sweep_unseen.json.gz", 0.085},
                                                {"layers.json.gz", 0.082},   {"networks.json.gz", 0.075},
                                                {"depthwise.json.gz", 0.09}, {"grouped.json.gz", 0.07}};
    for (const auto &[file, bound] : most) {
        const convcast::Run run = read_run(read_file(folder + file), file);
        double sum = 0.0, calls = 0.0;
        for (const MeasuredCall &call : measured_calls(run, h200, knowledge.facts, WhichCalls::all)) {
            const Measurement *warm = run.cases[call.index].measured(L2State::warm);
            const auto time = forecast_call_time(call.plan, call.shape, gpu, knowledge.calibration,
                                                 held_for_repeats(call.plan, call.shape, gpu));
            sum += std::abs(time->value / warm->time_s.value - 1.0), ++calls;
        }
        EXPECT_GE(calls, 200.0) << file;
        EXPECT_LE(sum / calls, bound) << file;
    }
}

/// Measured three times, one after another, on one GPU.
TEST(Recorded, ThreeRunsAgree) {
    std::vector<NamedProfile> runs = {{"h200", find_profile("h200")}};
    for (const char *file : {"repeat_2.json", "repeat_3.json"})
        runs.push_back({file, read_profile(read_file(folder + file), file)});
    std::vector<std::string> differing;
    const ComparedFiles comparison = compare_profiles(runs, {});
    for (const ComparedRow &row : comparison.rows)
        if (row.failed && row.name != "early_launch_period" && row.name != "smallest_copy_time")
            differing.push_back(row.name); // the repeats are older than the probes of these two
    // docs/results.md and docs/measuring.md say so.
    EXPECT_THAT(differing, IsSubsetOf({"host_to_device_bandwidth"}));
    EXPECT_TRUE(comparison.failed_checks.empty());
    EXPECT_EQ(runs[0].profile.conditions.at("gpu"), runs[2].profile.conditions.at("gpu"));
}

TEST(Recorded, TheRunIsOfTheShippedProfilesGpu) {
    EXPECT_EQ(recorded().profile_id, "h200");
    EXPECT_EQ(recorded().conditions.at("gpu"), find_profile("h200").name);
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
                        strategies.insert(item.kernel());
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
            // FMAs need instrumented kernels: only of short calls.
            const bool expected = field != &Work::fmas || ConvShape::parse(item.shape).fmas().value <= 2e9;
            EXPECT_TRUE(!expected || (*cold.work.*field).has_value()) << item.shape;
        }
        EXPECT_TRUE(cold.counters->contains(stall_metric(metrics::stall_reasons.front()))) << item.shape;
        const bool transforms = p.plan->transformed_fmas.has_value();
        EXPECT_LE(*cold.relative_l2_error, transforms ? 1e-4 : 1e-5) << item.shape;
        EXPECT_TRUE(transforms || *cold.max_error_ratio <= 1.0) << item.shape;
        EXPECT_GE(cold.samples_s.size(), 5u) << item.shape;
    });
}

TEST(Recorded, CountedFmasAreTheForecasts) {
    int counted = 0;
    for_own_cases([&](const Case &item, const Prediction &p, const Measurement &cold) {
        if (!cold.work->fmas)
            return;
        ++counted;
        const double forecast = *p.work->fmas;
        // Where the compiler can move all of a sum under the condition of its store, it leaves pixels past
        // the edge out: in row_register, and where implicit_gemm has a single step.
        const bool may_leave_out =
            item.strategy->starts_with("row_register") ||
            (item.strategy->starts_with("implicit_gemm:") && main_launch(*p.plan).steps == 1);
        EXPECT_NEAR(forecast, *cold.work->fmas, may_leave_out ? 0.01 * forecast : 0.0)
            << item.shape << " " << *item.strategy;
    });
    EXPECT_GT(counted, 400);
}

/// Where no load waits for a copy or a store, what counters see follows from the source to the last pass.
TEST(Recorded, CountedPassesAreTheForecasts) {
    const struct {
        const char *shape, *strategy;
    } cases[] = {
        {"n1c1h68w68k96r7s7", "patch_register:rows=1,vector=4,threads=64,tile_k=4"},
        {"n1c1h75w75k16r3s3", "patch_register:rows=4,vector=1,threads=128,tile_k=16"},
        {"n1c1h75w75k16r3s3", "row_register:tile_w=96,tile_h=8,unit=1,units=1,tile_k=16"},
        {"n1c1h12w12k2r5s5", "row_register:tile_w=256,tile_h=2,unit=4,units=1,tile_k=2"},
        {"n2c46h9w9k14r3s3", "winograd:tile=2,tile_k=32,tile_pixels=32,thread_k=4,thread_pixels=4,slice_"
                             "channels=8,stages=4,chunks=1"},
        {"n6c6h12w12k109r5s5", "winograd:tile=4,tile_k=128,tile_pixels=32,thread_k=8,thread_pixels=4,slice_"
                               "channels=8,stages=4,chunks=1"},
        {"n1c96h21w295k48r1s1", "stride_fixed_block:segment_bytes=4,tile_w=64,tile_k=32,stages=4,filters_per_"
                                "thread=4"},
        {"n1c1h68w68k96r7s7", "block_register:tile_w=64,tile_h=4,tile_k=32,pixels_per_thread=8,filters_per_"
                              "thread=8,channels=1,unit=4"},
        {"n1c1h8w8k128r3s3", "implicit_gemm:tile_k=128,tile_pixels=128,thread_k=8,thread_pixels=4,slice_"
                             "channels=1,stages=3,warp_split=1,split=1,filters=1,staging=1,columns=1"},
        // The last tile is not full: what lies behind it reads the last pixels.
        {"n25c6h9w9k172r3s3", "implicit_gemm:tile_k=128,tile_pixels=64,thread_k=8,thread_pixels=8,slice_"
                              "channels=6,stages=2,warp_split=2,split=1,filters=1,staging=2,columns=1"},
        // Groups of filters end between two lanes that would be served in pairs.
        {"n2c876h19w19k605r7s7", "channel_split:tile_h=13,tile_k=84,stages=2"},
        {"n1c144h22w22k928r5s5", "channel_split:tile_h=18,tile_k=580,stages=2"},
    };
    const convcast::Run sweep = read_run(read_file(folder + "sweep.json.gz"), "sweep.json.gz");
    const GpuProfile profile = find_profile("h200");
    for (const auto &[shape, strategy] : cases) {
        const auto counted = std::find_if(sweep.cases.begin(), sweep.cases.end(), [&](const Case &item) {
            return item.shape == shape && item.strategy == strategy;
        });
        ASSERT_NE(counted, sweep.cases.end()) << shape << " " << strategy;
        const Case forecast =
            predict(parse_strategy(strategy), ConvShape::parse(shape), profile, knowledge_for(profile));
        EXPECT_EQ(forecast.prediction->work->shared_wavefronts,
                  counted->measured(L2State::cold)->work->shared_wavefronts)
            << shape << " " << strategy;
    }
}

TEST(Recorded, NothingIsFasterThanLight) {
    // Inputs come from DRAM through a cold L2, so the bound holds; 3 % for the spread of the launch floor and
    // bandwidth.
    for_own_cases([](const Case &item, const Prediction &p, const Measurement &cold) {
        EXPECT_GE(cold.time_s.value, 0.97 * p.times.tier0_s->value) << item.shape << " " << *item.strategy;
    });
}

/// What `convcast adapt` gives: half of the layers recorded on an H100, by the hash of the shape, are fitted,
/// and the other half is judged. docs/evidence.md (I4) has these numbers.
TEST(Recorded, AnH100IsAdaptedToByHalfOfItsLayers) {
    const std::string h100 = CONVCAST_SOURCE_DIR "/data/recorded/h100/";
    const GpuProfile profile = find_profile(h100 + "profile.json");
    const convcast::Run run = read_run(read_file(h100 + "layers.json.gz"), "layers.json.gz");
    const Knowledge borrowed = knowledge_for(profile);
    double error = 0.0, error_borrowed = 0.0, inside = 0.0;
    std::vector<double> widths;
    for (const std::uint64_t half : {0, 1}) {
        std::vector<MeasuredCall> fitted, judged;
        for (MeasuredCall &call : measured_calls(run, profile, borrowed.facts, WhichCalls::all))
            (seed_of(call.shape.id()) % 2 == half ? fitted : judged).push_back(std::move(call));
        const Calibration calibration = adapted(*borrowed.calibration, fitted, profile);
        error_borrowed +=
            mean_error(judged, profile, *borrowed.calibration) * static_cast<double>(judged.size());
        error += mean_error(judged, profile, calibration) * static_cast<double>(judged.size());
        for (const MeasuredCall &call : judged) {
            const auto forecast = forecast_call(call.plan, call.shape, profile, calibration);
            inside += call.time_s >= forecast->low_s && call.time_s <= forecast->high_s ? 1.0 : 0.0;
            widths.push_back((forecast->high_s - forecast->low_s) / forecast->term.value_s);
        }
    }
    const auto calls = static_cast<double>(widths.size());
    std::nth_element(widths.begin(), widths.begin() + std::ssize(widths) / 2, widths.end());
    const std::string said =
        fmt::format("{} calls: borrowed {:.1f} %, adapted {:.1f} %, inside {:.0f} %, median width {:.2f}",
                    widths.size(), 100.0 * error_borrowed / calls, 100.0 * error / calls,
                    100.0 * inside / calls, widths[widths.size() / 2]);
    SCOPED_TRACE(said);
    EXPECT_NEAR(error / calls, 0.076, 0.006);
    EXPECT_LT(error, error_borrowed);
    EXPECT_NEAR(inside / calls, 0.90, 0.04);
    EXPECT_NEAR(widths[widths.size() / 2], 0.31, 0.06);
    RecordProperty("adapted", said);
}

/// Calls whose CTAs were stamped: all of each there, no SM with more of a launch than its plan says but in
/// two that docs/accuracy.md (E1) names, all within the call, and the stamps cost little but in two that
/// docs/measuring.md names.
TEST(Recorded, TimelinesFitTheirPlans) {
    const convcast::Run run = read_recorded("timelines.json.gz");
    std::size_t several_launches = 0;
    ASSERT_EQ(run.cases.size(), 31u);
    // Many short CTAs.
    const std::map<std::pair<std::string, std::string>, double> cost_more = {
        {{"n1c1h512w512k64r3s3", "naive_global"}, 1.117}, {{"n1c1h512w512k64r3s3", "naive_shared"}, 1.167}};
    // Fewer registers than the cap; CTAs that begin before the last warps of those before them have left.
    const std::map<std::pair<std::string, std::string>, std::int64_t> more_at_once = {
        {{"n1c1h512w512k64r3s3", "implicit_gemm"}, 7}, {{"n1c16h224w224k32r3s3", "channel_split_sum"}, 13}};
    for (const Case &item : run.cases) {
        SCOPED_TRACE(item.shape + " " + *item.strategy);
        ASSERT_EQ(item.status, Status::ok);
        const Measurement *cold = item.measured(L2State::cold);
        ASSERT_TRUE(cold && cold->timeline && cold->timeline->call_s && cold->timeline->step_ns);
        const Plan &plan = *item.prediction->plan;
        std::vector<Partition> parts = plan.prepare;
        parts.insert(parts.end(), plan.launches.begin(), plan.launches.end());
        several_launches += parts.size() > 1 ? 1 : 0;
        ASSERT_EQ(cold->timeline->launches.size(), parts.size());
        const std::vector<CtaSpan> spans = spans_of(*cold->timeline);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            std::vector<CtaSpan> its;
            std::copy_if(spans.begin(), spans.end(), std::back_inserter(its),
                         [&](const CtaSpan &span) { return span.launch == static_cast<std::int64_t>(i); });
            EXPECT_EQ(std::ssize(its), parts[i].ctas) << parts[i].kernel;
            const std::int64_t most = summary_of(its).most_at_once;
            if (const auto more = more_at_once.find({item.shape, parts[i].kernel});
                more != more_at_once.end())
                EXPECT_EQ(most, more->second) << parts[i].kernel;
            else
                EXPECT_LE(most, parts[i].ctas_per_sm) << parts[i].kernel;
        }
        const TimelineSummary whole = summary_of(spans);
        EXPECT_LE(whole.makespan_s.value,
                  cold->timeline->call_s->value + 2e-9 * static_cast<double>(*cold->timeline->step_ns));
        const double stamped = *cold->timeline->call_s / cold->time_s;
        if (const auto more = cost_more.find({item.shape, item.kernel()}); more != cost_more.end())
            EXPECT_NEAR(stamped, more->second, 0.001);
        else
            EXPECT_LE(stamped, 1.1);
    }
    EXPECT_GE(several_launches, 3u);
}

/// The papers' own settings, recorded by themselves after the rest: every shape of the study with every
/// setting that its strategies can run, all verified, with their counters.
TEST(Recorded, ThePapersSettingsAreThere) {
    const std::map<std::string, std::vector<std::string>> studies_of = {
        {"chang_settings.json.gz", {"chang_single", "chang_multi"}},
        {"chen_settings.json.gz", {"chen_special", "chen_general", "chen_bank_width", "chen_sgemm"}},
        {"regime_map.json.gz", {"regime_map"}}};
    for (const auto &[file, studies] : studies_of) {
        const convcast::Run run = read_run(read_file(folder + file), file);
        EXPECT_EQ(run.conditions.at("gpu"), "NVIDIA H200") << file;
        EXPECT_EQ(run.producer.device_code_hash, recorded().producer.device_code_hash) << file;
        EXPECT_EQ(run.conditions.contains("added_code_hash"), file != "chen_settings.json.gz")
            << file << ": whether it ran a kernel that has no place in the hash over the others";
        std::map<std::string, std::set<std::string>> shapes;
        for (const Case &item : run.cases) {
            if (item.status == Status::unsupported)
                continue;
            ASSERT_EQ(item.status, Status::ok) << item.shape << " " << *item.strategy;
            const Measurement *cold = item.measured(L2State::cold);
            ASSERT_TRUE(cold && cold->work && cold->regime) << item.shape << " " << *item.strategy;
            EXPECT_LE(*cold->relative_l2_error,
                      ConvShape::parse(item.shape).dtype == DataType::f16 ? 1e-3 : 1e-5);
            shapes[item.study.value_or("")].insert(item.shape);
        }
        for (const std::string &study : studies) {
            const std::vector<std::string> wanted = find_study(study).shapes;
            EXPECT_EQ(shapes[study], std::set<std::string>(wanted.begin(), wanted.end())) << study;
        }
    }
}

/// The kernel that keeps on an SM what D counts runs the paper's P and Q wherever D fits the shared memory:
/// 16 P and 18 Q of 18 shapes; with the two others D is larger.
TEST(Recorded, ThePapersPiecesRanAsTheyAre) {
    const convcast::Run run =
        read_run(read_file(folder + "chang_settings.json.gz"), "chang_settings.json.gz");
    const GpuProfile profile = find_profile("h200");
    std::size_t p = 0, q = 0, too_large = 0;
    for (const std::string &shape : find_study("chang_single").shapes) {
        const papers::Division d = papers::divide_single_channel(ConvShape::parse(shape), profile);
        const auto ran = [&](const std::string &strategy) {
            return std::any_of(run.cases.begin(), run.cases.end(), [&](const Case &item) {
                return item.shape == shape && item.strategy == strategy && item.status == Status::ok;
            });
        };
        p += ran(fmt::format("filter_split:pieces={},buffers=1,map_shares=1", d.p.chosen)) ? 1 : 0;
        q += ran(fmt::format("map_split:pieces={},buffers=1", d.q.chosen)) ? 1 : 0;
        too_large += d.d1 > profile.limits.shared_bytes_per_sm ? 1 : 0;
    }
    EXPECT_EQ(p, 16u);
    EXPECT_EQ(q, 18u);
    EXPECT_EQ(too_large, 2u);
}

/// Of the kernel that the model knows best, on the layers of the papers.
TEST(Recorded, StrideFixedBlocksAreForecastWithin13Percent) {
    std::vector<double> errors;
    for_own_cases([&](const Case &item, const Prediction &p, const Measurement &cold) {
        if (item.strategy->starts_with("stride_fixed_block"))
            errors.push_back(std::abs(*p.time_s / cold.time_s - 1.0));
    });
    ASSERT_EQ(errors.size(), 33u);
    std::sort(errors.begin(), errors.end());
    EXPECT_LE(errors[errors.size() / 2], 0.0735);
    EXPECT_LE(errors[errors.size() * 9 / 10], 0.1295);
}

} // namespace
