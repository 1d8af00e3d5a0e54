// What must hold for any shape and setting: seeded random shapes, all strategies, every candidate knob.
#include "model/predict.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

using namespace convcast;

namespace {

ConvShape random_shape(std::mt19937 &random) {
    const auto pick = [&](int low, int high) { return std::uniform_int_distribution<>(low, high)(random); };
    ConvShape s;
    s.c = pick(0, 1) == 0 ? 1 : pick(2, 300);
    s.r = pick(1, 5), s.s = pick(1, 5);
    s.h = s.r + pick(0, 300), s.w = s.s + pick(0, 300);
    s.k = pick(1, 600), s.n = pick(1, 3);
    return s;
}

/// With a round rate of tensor cores where the shipped profile has none, so that every plan has a time.
GpuProfile complete_h200() {
    GpuProfile profile = find_profile("h200");
    if (!profile.tf32_mma_rate)
        profile.tf32_mma_rate.emplace().value.value = 1000.0;
    return profile;
}

template <class Check> void for_random_cases(const GpuProfile &profile, int shapes, Check check) {
    std::mt19937 random(20261121);
    const Knowledge knowledge = knowledge_for(profile);
    for (int i = 0; i < shapes; ++i) {
        const ConvShape shape = random_shape(random);
        for (const std::string &name : strategy_names()) {
            std::vector<Strategy> settings = candidates(name);
            for (int j = 0; j < 6; ++j) {
                const Strategy &setting =
                    settings[std::uniform_int_distribution<std::size_t>(0, settings.size() - 1)(random)];
                Case item = predict(setting, shape, profile, knowledge);
                if (item.status == Status::ok)
                    check(setting, shape, item);
            }
        }
    }
}

TEST(ForecastProperty, NeverBelowTheSpeedOfLightAndTermsAddUp) {
    int cases = 0;
    const GpuProfile h200 = complete_h200();
    for_random_cases(h200, 60, [&](const Strategy &, const ConvShape &shape, const Case &item) {
        const Prediction &p = *item.prediction;
        ++cases;
        EXPECT_GE(p.time_s->value, p.times.tier0_s->value) << shape.id() << *item.strategy;
        EXPECT_GE(p.time_high_s->value, p.time_s->value * (1 - 1e-12)) << shape.id() << *item.strategy;
        double total = 0.0;
        for (const Bar &bar : waterfall(*p.term)) {
            EXPECT_GE(bar.added_s.value, -1e-15);
            total += bar.added_s.value;
        }
        EXPECT_NEAR(total, p.time_s->value, 1e-9 * p.time_s->value) << shape.id() << *item.strategy;
        EXPECT_GE(*p.work->fmas + p.work->tensor_fmas.value_or(0.0) / products_of_parts,
                  p.plan->transformed_fmas.value_or(shape.fmas().value))
            << shape.id() << *item.strategy;
        EXPECT_GE(*p.work->l2_write_bytes, static_cast<double>(shape.output_bytes()))
            << shape.id() << *item.strategy;
        for (const Partition &part : p.plan->launches) {
            EXPECT_GE(part.ctas_per_sm, 1);
            EXPECT_LE(part.shared_bytes, h200.limits.shared_bytes_per_cta);
            EXPECT_GT(part.tail, 0.0);
            EXPECT_LE(part.tail, 1.0);
        }
    });
    EXPECT_GT(cases, 200);
}

TEST(ForecastProperty, ABetterChipIsNeverSlower) {
    const GpuProfile base = complete_h200();
    std::vector<GpuProfile> better(12, base);
    better[0].dram_read_bandwidth->value = base.dram_read_bandwidth->value * 1.5;
    better[1].ffma_rate->value = base.ffma_rate->value * 1.5;
    better[2].dram_latency->value = base.dram_latency->value / 1.5;
    better[3].launch_floor->value = base.launch_floor->value / 1.5;
    better[4].tf32_mma_rate->value = base.tf32_mma_rate->value * 1.5;
    better[5].l2_read_bandwidth->value = base.l2_read_bandwidth->value * 1.5;
    better[6].shared_bandwidth->value = base.shared_bandwidth->value * 1.5;
    better[7].dram_write_bandwidth->value = base.dram_write_bandwidth->value * 1.5;
    better[8].cluster_latency->value = base.cluster_latency->value / 1.5;
    better[9].cluster_bandwidth->value = base.cluster_bandwidth->value * 1.5;
    better[10].cluster_barrier_latency->value = base.cluster_barrier_latency->value / 1.5;
    better[11].partial_sector_store_time->value = base.partial_sector_store_time->value / 1.5;
    std::vector<Knowledge> knowledge;
    for (const GpuProfile &chip : better)
        knowledge.push_back(knowledge_for(chip));
    for_random_cases(base, 25, [&](const Strategy &, const ConvShape &shape, const Case &item) {
        const Strategy same = parse_strategy(*item.strategy); // the same plan on the better chip
        for (std::size_t i = 0; i < better.size(); ++i)
            EXPECT_LE(predict(same, shape, better[i], knowledge[i]).prediction->time_s->value,
                      item.prediction->time_s->value * (1 + 1e-12))
                << shape.id() << *item.strategy;
    });
}

TEST(ForecastProperty, TheNumberAloneIsTheTreesValueToTheLastBit) {
    const GpuProfile h200 = complete_h200();
    Calibration fitted;
    fitted.fitted.first_wave_miss = 0.7, fitted.fitted.cold_share = 0.5, fitted.fitted.steps_overlap = 1.5,
    fitted.fitted.units_overlap = 3.0;
    int cases = 0;
    for_random_cases(h200, 40, [&](const Strategy &, const ConvShape &shape, const Case &item) {
        ++cases;
        for (const Calibration &calibration : {Calibration{}, fitted})
            EXPECT_EQ(forecast_time(*item.prediction->plan, shape, h200, calibration)->value,
                      forecast_term(*item.prediction->plan, shape, h200, calibration)->value_s.value)
                << shape.id() << *item.strategy;
    });
    EXPECT_GT(cases, 200);
}

/// An interval leaves these numbers out where no formula of a plan reads them (model/time/call.cpp).
TEST(ForecastProperty, NumbersOfClustersAndTensorCoresMatterOnlyToPlansThatUseThem) {
    const GpuProfile h200 = complete_h200();
    GpuProfile tensors = h200, clusters = h200;
    tensors.tf32_mma_rate->value = h200.tf32_mma_rate->value / 2.0;
    clusters.cluster_latency->value = h200.cluster_latency->value * 2.0;
    clusters.cluster_bandwidth->value = h200.cluster_bandwidth->value / 2.0;
    clusters.cluster_barrier_latency->value = h200.cluster_barrier_latency->value * 2.0;
    int same = 0;
    for_random_cases(h200, 40, [&](const Strategy &, const ConvShape &shape, const Case &item) {
        const Plan &plan = *item.prediction->plan;
        const auto time_on = [&](const GpuProfile &chip) { return forecast_time(plan, shape, chip)->value; };
        bool uses_clusters = false, uses_tensors = false;
        for (const std::vector<Partition> *launches : {&plan.prepare, &plan.launches})
            for (const Partition &part : *launches) {
                uses_clusters = uses_clusters || part.cluster.value_or(1) > 1;
                uses_tensors = uses_tensors || part.step.tensor_fmas || part.drain.tensor_fmas;
            }
        if (!uses_clusters) {
            EXPECT_EQ(time_on(clusters), time_on(h200)) << shape.id() << *item.strategy;
        }
        if (!uses_tensors) {
            EXPECT_EQ(time_on(tensors), time_on(h200)) << shape.id() << *item.strategy;
        }
        same += uses_clusters && uses_tensors ? 0 : 1;
    });
    EXPECT_GT(same, 200);
}

TEST(ForecastProperty, AFewSmsAndOlderGpusHaveForecastsToo) {
    std::vector<GpuProfile> chips;
    for (const int sms : {1, 2, 3, 7}) // fewer than a cluster has CTAs
        chips.push_back(with_sms(find_profile("h200"), sms));
    for (const char *old : {"gtx1080ti", "titanx_maxwell", "k40m", "gt750m"})
        chips.push_back(find_profile(old));
    int forecasts = 0;
    for (const GpuProfile &chip : chips)
        for (const char *text : {"n1c64h14w14k64r3s3", "n1c1h40w73k16r5s5", "n4c16h20w33k128r1s1"})
            for (const std::string &name : strategy_names())
                for (const Strategy &setting : candidates(name)) {
                    const Case item = predict(setting, ConvShape::parse(text), chip, knowledge_for(chip));
                    if (item.status != Status::ok || !item.prediction->time_s)
                        continue;
                    ++forecasts;
                    EXPECT_TRUE(std::isfinite(item.prediction->time_s->value) &&
                                item.prediction->time_s->value > 0.0)
                        << chip.id << " " << text << " " << *item.strategy;
                }
    EXPECT_GT(forecasts, 1000);
}

TEST(ForecastProperty, TheIntervalHoldsTheForecastAndWidensWithWhatIsLessSure) {
    const GpuProfile h200 = find_profile("h200"); // its calibration ships
    GpuProfile unsure = h200;
    unsure.sm_clock->spread->p05 *= 0.8, unsure.sm_clock->spread->p95 *= 1.2;
    for (const char *text : {"n1c64h56w56k64r3s3", "n1c1h224w224k32r5s5", "n8c128h28w28k128r1s1"}) {
        const ConvShape shape = ConvShape::parse(text);
        for (const char *strategy : {"naive_global", "block_register"}) {
            const Prediction
                sure = *predict(parse_strategy(strategy), shape, h200, knowledge_for(h200)).prediction,
                less = *predict(parse_strategy(strategy), shape, unsure, knowledge_for(unsure)).prediction;
            EXPECT_LT(sure.time_low_s->value, sure.time_s->value) << text << strategy;
            EXPECT_GT(sure.time_high_s->value, sure.time_s->value) << text << strategy;
            EXPECT_EQ(less.time_s->value, sure.time_s->value) << text << strategy;
            EXPECT_LT(less.time_low_s->value, sure.time_low_s->value) << text << strategy;
            EXPECT_GT(less.time_high_s->value, sure.time_high_s->value) << text << strategy;
        }
    }
}

TEST(ForecastProperty, ChoosesNothingSlowerThanAnyDefault) {
    const GpuProfile h200 = complete_h200();
    std::mt19937 random(20261122);
    for (int i = 0; i < 40; ++i) {
        const ConvShape shape = random_shape(random);
        const std::vector<Case> ranked = choose(shape, h200, knowledge_for(h200), {}, 3);
        ASSERT_TRUE(ranked.front().prediction) << shape.id();
        for (const std::string &name : strategy_names()) {
            const Case item = predict(parse_strategy(name), shape, h200, knowledge_for(h200));
            if (item.status != Status::ok || uses_tensor_cores(name))
                continue;
            EXPECT_LE(ranked.front().prediction->time_s->value, item.prediction->time_s->value)
                << shape.id() << " " << *ranked.front().strategy << " before " << *item.strategy;
        }
    }
}

TEST(ForecastProperty, TheFirstOfARankingAreThoseOfTheWhole) {
    const GpuProfile h200 = find_profile("h200");
    const ConvShape shape = ConvShape::parse("n1c64h56w56k64r3s3");
    const std::vector<Case> whole = choose(shape, h200, knowledge_for(h200)),
                            three = choose(shape, h200, knowledge_for(h200), {}, 3);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(whole[i].strategy, three[i].strategy);
        EXPECT_EQ(whole[i].prediction->time_s->value, three[i].prediction->time_s->value);
        // Ranked by the time alone, before the whole prediction was made.
        EXPECT_LE(whole[i].prediction->time_s->value, whole[i + 1].prediction->time_s->value);
    }
    EXPECT_NE(three[3].status, Status::ok) << "behind them, only strategies that cannot";
}

TEST(ForecastProperty, PredictAndChooseAreDeterministic) {
    const GpuProfile h200 = find_profile("h200");
    const ConvShape shape = ConvShape::parse("n1c64h56w56k64r3s3");
    const auto texts = [&] {
        convcast::Run run;
        run.cases = choose(shape, h200, knowledge_for(h200));
        return write_run(run);
    };
    EXPECT_EQ(texts(), texts());
}

} // namespace
