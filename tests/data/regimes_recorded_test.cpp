// What docs/regimes.md says of the papers' hand rules and of regimes, held by the recorded runs.
#include "model/base/files.hpp"
#include "model/base/statistics.hpp"
#include "model/paper/papers.hpp"
#include "model/predict.hpp"
#include "model/record/study.hpp"
#include "model/record/sweep.hpp"
#include "model/shape/conv_shape.hpp"
#include "reports/regimes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace convcast;

namespace {

convcast::Run read_recorded(const std::string &file) {
    return read_run(read_file(CONVCAST_SOURCE_DIR "/data/recorded/h200/" + file), file);
}

/// A knob's value in a canonical text; -1 where the strategy has no such knob.
int knob_of(const Case &item, const std::string &knob) {
    for (const char before : {':', ','})
        if (const std::size_t at = item.strategy->find(before + knob + "="); at != std::string::npos)
            return std::stoi(item.strategy->substr(at + knob.size() + 2));
    return -1;
}

/// Own, ok and measured cold: the case and its time.
template <class Use> void for_measured(const convcast::Run &run, Use use) {
    for (const Case &item : run.cases)
        if (const Measurement *cold = item.measured(L2State::cold);
            item.strategy && item.status == Status::ok && cold)
            use(item, cold->time_s.value);
}

/// "Channel split is obviously slower": than the fastest of the paper's other three ways, by the map's
/// height.
TEST(HandRules, ChannelSplitIsSlowerOnLargeMapsOnly) {
    struct Best {
        double split = 1.0, others = 1.0;
    };
    std::map<std::string, Best> shapes;
    for_measured(read_recorded("partition_2bcde.json.gz"), [&](const Case &item, double time) {
        const std::string name = item.kernel();
        Best &best = shapes[item.shape];
        if (name == "channel_split")
            best.split = std::min(best.split, time);
        else if (name == "filter_stream" || name == "map_stream" || name == "stride_fixed_block")
            best.others = std::min(best.others, time);
    });
    ASSERT_EQ(shapes.size(), 30u);
    std::vector<double> small, large, all;
    for (const auto &[shape, best] : shapes) {
        const double ratio = best.split / best.others;
        all.push_back(ratio);
        const std::int64_t h = ConvShape::parse(shape).h;
        if (h <= 14)
            small.push_back(ratio);
        if (h >= 112)
            large.push_back(ratio);
    }
    const auto faster = [](const std::vector<double> &ratios) {
        return std::count_if(ratios.begin(), ratios.end(), [](double r) { return r < 1.0; });
    };
    EXPECT_NEAR(geometric_mean_of(all), 1.28, 0.01);
    EXPECT_EQ(faster(all), 14);
    EXPECT_EQ(small.size(), 9u);
    EXPECT_EQ(faster(small), 8);
    EXPECT_NEAR(geometric_mean_of(small), 0.37, 0.01);
    EXPECT_EQ(large.size(), 6u);
    EXPECT_EQ(faster(large), 0);
    EXPECT_NEAR(geometric_mean_of(large), 6.49, 0.01);
}

/// n = W_SMB / W_CD: time with single elements over that with n of them as one unit.
TEST(HandRules, UnitsOfTwoPayWhateverTheBanksSay) {
    std::map<std::pair<DataType, std::string>, std::map<std::string, std::map<int, double>>> times;
    for_measured(read_recorded("chen_bank_width.json.gz"), [&](const Case &item, double time) {
        if (const int unit = knob_of(item, "unit"); unit > 0)
            times[{ConvShape::parse(item.shape).dtype, item.kernel()}][item.shape][unit] = time;
    });
    const auto gain = [&](DataType type, const char *strategy, int unit) {
        std::vector<double> ratios;
        for (const auto &[shape, by_unit] : times.at({type, strategy}))
            ratios.push_back(by_unit.at(1) / by_unit.at(unit));
        return geometric_mean_of(ratios);
    };
    EXPECT_NEAR(gain(DataType::f32, "row_register", 2), 1.09, 0.005); // n = 1 says: no gain
    EXPECT_NEAR(gain(DataType::f32, "row_register", 4), 0.83, 0.005);
    EXPECT_NEAR(gain(DataType::f32, "block_register", 2), 1.02, 0.005);
    EXPECT_NEAR(gain(DataType::f16, "row_register", 2), 1.13, 0.005); // n = 2
    EXPECT_NEAR(gain(DataType::f16, "block_register", 2), 1.06, 0.005);
    EXPECT_NEAR(gain(DataType::i8, "row_register", 4), 1.03, 0.005); // n = 4
    EXPECT_NEAR(gain(DataType::i8, "row_register", 2), 1.07, 0.005);
    EXPECT_NEAR(gain(DataType::i8, "block_register", 4), 1.04, 0.005);
}

/// Chen's product against cuBLAS, without and with units.
TEST(HandRules, MatchingSavesASeventhOfChensProduct) {
    std::map<std::string, std::map<int, double>> times; // 0: cuBLAS
    for (const Case &item : read_recorded("chen_sgemm.json.gz").cases)
        if (const Measurement *cold = item.measured(L2State::cold); item.status == Status::ok && cold) {
            if (item.baseline && *item.baseline == "cublas")
                times[item.shape][0] = cold->time_s.value;
            else if (item.strategy && item.kernel() == "block_register")
                times[item.shape][knob_of(item, "unit")] = cold->time_s.value;
        }
    std::vector<double> unmatched, four, over_cublas;
    for (const auto &[shape, by_unit] : times) {
        unmatched.push_back(by_unit.at(1) / by_unit.at(2));
        four.push_back(by_unit.at(1) / by_unit.at(4));
        over_cublas.push_back(by_unit.at(4) / by_unit.at(0));
    }
    EXPECT_NEAR(geometric_mean_of(unmatched), 1.16, 0.005);
    EXPECT_NEAR(geometric_mean_of(four), 1.17, 0.005);
    EXPECT_NEAR(geometric_mean_of(over_cublas), 3.44, 0.01);
}

using Times = std::map<std::string, std::map<std::string, double>>; ///< shape, setting

Times setting_times(const std::string &file, const std::string &study) {
    Times times;
    for_measured(read_recorded(file), [&](const Case &item, double time) {
        if (item.study == study)
            times[item.shape][*item.strategy] = time;
    });
    return times;
}

/// The fastest of a shape's settings of a strategy that has a knob at this value.
double fastest_with(const std::map<std::string, double> &settings, const std::string &strategy,
                    const std::string &knob) {
    double best = 0.0;
    for (const auto &[text, time] : settings)
        if (text.starts_with(strategy + ":") && (text + ",").find(knob + ",") != std::string::npos)
            best = best == 0.0 ? time : std::min(best, time);
    EXPECT_GT(best, 0.0) << strategy << " " << knob;
    return best;
}

/// The paper's residency, its rule 4 and step 4 of its section 2.2, as they ran.
TEST(HandRules, DivisionsWithTheDataThatDCounts) {
    const GpuProfile profile = find_profile("h200");
    std::vector<double> one_over_two, lost, gained;
    int right = 0, faster = 0;
    for (const auto &[shape, settings] : setting_times("chang_settings.json.gz", "chang_single")) {
        const papers::Division d = papers::divide_single_channel(ConvShape::parse(shape), profile);
        const std::string rules = d.method == 1 ? "filter_split" : "map_split";
        const double filters = fastest_with(settings, "filter_split", "buffers=1,map_shares=1"),
                     map = fastest_with(settings, "map_split", "buffers=1"),
                     taken = d.method == 1 ? filters : map;
        one_over_two.push_back(
            taken / fastest_with(settings, rules, d.method == 1 ? "buffers=2,map_shares=1" : "buffers=2"));
        right += taken <= std::min(filters, map) ? 1 : 0;
        lost.push_back(taken / std::min(filters, map));
        const auto redivided = papers::redivide(ConvShape::parse(shape), profile);
        if (!redivided || (d.method == 1 && redivided->map_shares == 1))
            continue; // has N_FMA, or stays as it is
        gained.push_back(taken /
                         fastest_with(settings, "filter_split",
                                      "buffers=1,map_shares=" + std::to_string(redivided->map_shares)));
        faster += gained.back() > 1.0 ? 1 : 0;
    }
    ASSERT_EQ(one_over_two.size(), 18u);
    EXPECT_NEAR(geometric_mean_of(one_over_two), 1.57, 0.005);
    EXPECT_EQ(right, 13);
    EXPECT_NEAR(geometric_mean_of(lost), 1.22, 0.005);
    EXPECT_EQ(gained.size(), 9u);
    EXPECT_EQ(faster, 7);
    EXPECT_NEAR(geometric_mean_of(gained), 1.34, 0.005);
}

/// Chen's block of the special case, W/n threads of n elements.
TEST(HandRules, TwoFloatsAsOneInChensBlock) {
    std::map<DataType, std::vector<double>> ratios; // time of n as one over that of single elements
    double largest = 0.0;
    for (const auto &[shape, settings] : setting_times("chen_settings.json.gz", "chen_bank_width")) {
        const ConvShape s = ConvShape::parse(shape);
        if (s.c != 1)
            continue;
        const std::string unit = s.dtype == DataType::i8 ? "unit=4" : "unit=2";
        ratios[s.dtype].push_back(fastest_with(settings, "row_register", unit) /
                                  fastest_with(settings, "row_register", "unit=1"));
        if (shape == "n1c1h2048w2048k32r3s3")
            largest = ratios[s.dtype].back();
    }
    EXPECT_NEAR(geometric_mean_of(ratios[DataType::f32]), 0.80, 0.006);
    EXPECT_NEAR(largest, 0.19, 0.005);
    EXPECT_NEAR(geometric_mean_of(ratios[DataType::i8]), 1.11, 0.005);
}

/// Of one sweep of the study `boundaries`: microseconds and the counters' regime by the swept number.
struct Swept {
    double time_us = 0.0;
    Regime regime = Regime::exposed;
};
std::map<int, Swept> swept(const std::string &id) {
    static const convcast::Run run = read_recorded("boundaries.json.gz");
    static const Study study = find_study("boundaries");
    const auto sweep = std::find_if(study.sweeps.begin(), study.sweeps.end(),
                                    [&](const StudySweep &s) { return s.id == id; });
    std::map<int, Swept> out;
    for_measured(run, [&](const Case &item, double time) {
        if (std::find(sweep->shapes.begin(), sweep->shapes.end(), item.shape) == sweep->shapes.end())
            return;
        // With every knob that either leaves open as it runs.
        const auto resolved = [&](const std::string &text) {
            const GpuProfile h200 = find_profile("h200");
            return *predict(parse_strategy(text), ConvShape::parse(item.shape), h200, knowledge_for(h200))
                        .strategy;
        };
        const std::string measured = resolved(*item.strategy);
        for (const std::string &text : sweep->strategies)
            if (measured == resolved(text))
                out[sweep->swept == "h" ? static_cast<int>(ConvShape::parse(item.shape).h)
                                        : knob_of(item, sweep->swept)] = {
                    time * 1e6, *item.measured(L2State::cold)->regime};
    });
    return out;
}

TEST(HandRules, EverySweepIsThere) {
    for (const StudySweep &sweep : find_study("boundaries").sweeps)
        EXPECT_EQ(swept(sweep.id).size(), sweep.shapes.size() * sweep.strategies.size()) << sweep.id;
}

TEST(HandRules, TheLeastPAndQAreNotTheFastest) {
    const auto q = swept("map_split_q"), p = swept("filter_split_p");
    EXPECT_NEAR(q.at(1).time_us / q.at(8).time_us, 1.19, 0.01); // 8 is the last with N_FMA in a round
    EXPECT_NEAR(q.at(4).time_us / q.at(8).time_us, 1.03, 0.01);
    for (const auto &[pieces, it] : q)
        EXPECT_GE(it.time_us, q.at(8).time_us) << pieces;
    EXPECT_NEAR(p.at(4).time_us / p.at(64).time_us, 1.15, 0.01);
    EXPECT_NEAR(p.at(16).time_us / p.at(64).time_us, 1.02, 0.01); // the last with N_FMA
    for (const auto &[pieces, it] : p)
        EXPECT_GE(it.time_us, p.at(64).time_us) << pieces;
    // Where the round has most FMAs, the counters see least of them.
    EXPECT_EQ(q.at(1).regime, Regime::exposed);
    EXPECT_EQ(p.at(4).regime, Regime::exposed);
    EXPECT_EQ(q.at(64).regime, Regime::compute_hidden);
    EXPECT_EQ(p.at(112).regime, Regime::compute_hidden);
}

TEST(HandRules, TheBlocksOf64And128) {
    const auto s = swept("block_s"), m = swept("block_m"), w = swept("block_w");
    EXPECT_NEAR(s.at(32).time_us / s.at(64).time_us, 1.15, 0.01);
    EXPECT_NEAR(s.at(128).time_us / s.at(64).time_us, 0.961, 0.01);
    EXPECT_NEAR(m.at(32).time_us / m.at(64).time_us, 0.82, 0.01);
    EXPECT_NEAR(m.at(96).time_us / m.at(64).time_us, 1.54, 0.01);
    EXPECT_NEAR(m.at(128).time_us / m.at(64).time_us, 0.985, 0.01);
    EXPECT_NEAR(w.at(32).time_us / w.at(128).time_us, 1.44, 0.01);
    EXPECT_NEAR(w.at(64).time_us / w.at(128).time_us, 1.031, 0.01);
    EXPECT_NEAR(w.at(256).time_us / w.at(128).time_us, 1.005, 0.01);
    // Rounds from a fifth of N_FMA up are all hidden by arithmetic.
    for (const auto *sweep : {&s, &m, &w})
        for (const auto &[value, it] : *sweep)
            EXPECT_EQ(it.regime, Regime::compute_hidden) << value;
}

/// Forecast by this code, from the profile that ships or one beside the recordings, with as many SMs as there
/// were.
convcast::Run forecast_again(const std::string &file, const std::string &by = {}) {
    convcast::Run run = read_recorded(file);
    GpuProfile profile = find_profile(by.empty() ? "h200" : CONVCAST_SOURCE_DIR "/data/recorded/h200/" + by);
    if (const auto sms = run.conditions.find("sms"); sms != run.conditions.end())
        profile = with_sms(std::move(profile), std::stoi(sms->second));
    EXPECT_EQ(run.profile_id, profile.id) << file;
    for (Case &item : run.cases)
        if (item.strategy && item.status == Status::ok)
            item.prediction = predict(parse_strategy(*item.strategy), ConvShape::parse(item.shape), profile,
                                      knowledge_for(profile))
                                  .prediction;
    return run;
}

/// The sweep's table of docs/regimes.md, with a margin for what a change of the forecast may do.
TEST(RecordedRegimes, Tier2AgreesWithTheCountersThePapersRuleDoesNot) {
    const RegimeTables tables = regimes_of(forecast_again("sweep.json.gz"));
    const auto of_all = [&](const std::string &opinion) {
        for (const RegimeStatistics &r : tables.opinions)
            if (r.group == "all" && r.opinion == opinion)
                return r;
        ADD_FAILURE() << opinion;
        return RegimeStatistics{};
    };
    const auto agreement = [](const RegimeStatistics &r) {
        return static_cast<double>(r.agree) / static_cast<double>(r.n);
    };
    const RegimeStatistics paper = of_all("paper"), physical = of_all("physical"), tier2 = of_all("forecast");
    EXPECT_EQ(tier2.n, 3336);
    EXPECT_NEAR(agreement(paper), 0.453, 0.005);
    EXPECT_LE(*paper.kappa, 0.1);
    EXPECT_NEAR(agreement(physical), 0.531, 0.01);
    EXPECT_GE(agreement(tier2), 0.895);
    EXPECT_GE(*tier2.kappa, 0.75);
    EXPECT_GE(*tier2.balanced, 0.79); // a third of it are the 13 cases that are bulk_hidden
    for (const StallStatistics &stall : tables.stalls)
        if (stall.share >= 0.2) { // what stands out tells the regimes apart
            EXPECT_EQ(stall.reason == "not_selected", stall.measured == Regime::compute_hidden)
                << stall.reason;
        }
}

/// Shapes and divisions that an H200 ran after the last change of the model by then (commit 353af094),
/// forecast from the profile of that day. docs/regimes.md gives their kappa; this test bounds it from below.
TEST(RecordedRegimes, RunsBehindTheLastChangeAgreeAsWell) {
    const std::string folder = "after_353af094/";
    struct Expected {
        const char *run;
        int cases;
        double kappa;
    };
    for (const Expected &expected :
         {Expected{"sweep_unseen.json.gz", 507, 0.75}, {"regime_map.json.gz", 112, 0.6}}) {
        const RegimeTables tables =
            regimes_of(forecast_again(folder + expected.run, folder + "profile.json"));
        const auto of_all = std::ranges::find_if(tables.opinions, [](const RegimeStatistics &r) {
            return r.group == "all" && r.opinion == "forecast";
        });
        ASSERT_NE(of_all, tables.opinions.end());
        EXPECT_EQ(of_all->n, expected.cases) << expected.run;
        EXPECT_GE(*of_all->kappa, expected.kappa) << expected.run;
    }
}

/// The card's profile with another number of SMs.
TEST(RecordedRegimes, PartsOfTheGpuAreForecastAsWellAsAllOfIt) {
    const std::pair<const char *, double> parts[] = {{"green_64.json.gz", 1.013},
                                                     {"green_32.json.gz", 1.018}};
    for (const auto &[file, bias] : parts) {
        const convcast::Run run = forecast_again(file);
        std::vector<double> errors, ratios;
        for_measured(run, [&](const Case &item, double time) {
            ratios.push_back(item.prediction->times.tier2_s->value / time);
            errors.push_back(std::abs(ratios.back() - 1.0));
        });
        ASSERT_EQ(errors.size(), 66u) << file;
        EXPECT_LE(mean_of(errors), 0.08) << file;
        EXPECT_NEAR(geometric_mean_of(ratios), bias, 0.01) << file;
    }
}

} // namespace
