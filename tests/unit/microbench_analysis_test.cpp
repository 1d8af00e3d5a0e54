// Samples with planted answers: the analysis is to find them, and to say why where it cannot.
#include "microbench/analysis.hpp"
#include "microbench/probe.hpp"
#include "model/base/described.hpp"
#include "model/machine/each_number.hpp"
#include "planted_gpu.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace convcast {
namespace {

using namespace planted;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

std::vector<std::string> fields_of(const Probe &probe) {
    std::vector<std::string> names;
    for (const ProbeField &field : probe.use.fields)
        names.emplace_back(field.name);
    return names;
}

/// Every field that a probe is to give: Params but those of published profiles, flight curves, peers.
std::vector<std::string> measured_fields() {
    std::vector<std::string> names;
    boost::mp11::mp_for_each<described::Members<GpuProfile>>([&](auto member) {
        using Field = std::decay_t<decltype(std::declval<GpuProfile>().*member.pointer)>;
        if constexpr (described::IsOptional<Field>::value || std::is_same_v<Field, std::vector<PeerLink>>)
            names.emplace_back(member.name);
    });
    std::erase_if(names, is_of_published_profiles);
    return names;
}

bool is_filled(const GpuProfile &profile, const std::string &name) {
    bool filled = false;
    boost::mp11::mp_for_each<described::Members<GpuProfile>>([&](auto member) {
        const auto &field = profile.*member.pointer;
        using Field = std::decay_t<decltype(field)>;
        if constexpr (described::IsOptional<Field>::value)
            filled = filled || (member.name == name && field.has_value());
        else if constexpr (std::is_same_v<Field, std::vector<PeerLink>>)
            filled = filled || (member.name == name && !field.empty());
    });
    return filled;
}

/// Each field is there or missing, never both, and the file gives the same profile again.
void expect_whole(const GpuProfile &profile) {
    for (const std::string &name : measured_fields())
        EXPECT_NE(is_filled(profile, name), profile.missing.contains(name)) << name;
    for (const auto &[name, why] : profile.missing)
        EXPECT_FALSE(why.empty()) << name;
    EXPECT_EQ(write_profile(read_profile(write_profile(profile), "planted.json")), write_profile(profile));
}

const ProfileCheck *find_check(const GpuProfile &profile, const std::string &name) {
    const auto at = std::find_if(profile.checks.begin(), profile.checks.end(),
                                 [&](const ProfileCheck &check) { return check.name == name; });
    return at == profile.checks.end() ? nullptr : &*at;
}

std::set<std::string> failed_checks(const GpuProfile &profile) {
    std::set<std::string> names;
    for (const ProfileCheck &check : profile.checks)
        if (!check.passed)
            names.insert(check.name);
    return names;
}

std::string failures(const GpuProfile &profile) {
    std::string text;
    for (const ProfileCheck &check : profile.checks)
        if (!check.passed)
            text += check.name + ": " + check.text + "\n";
    return text;
}

void set_values(RawSamples &raw, const std::string &probe, const std::vector<double> &values) {
    change(raw, probe, [&](ProbeSamples &one) {
        one.values = values;
        one.sm_clock_hz.assign(values.size(), clock_hz);
    });
}

void multiply(ProbeSamples &samples, double factor) {
    for (double &value : samples.values)
        value *= factor;
}

std::vector<std::string> split_words(const std::string &text) {
    std::istringstream words(text);
    return {std::istream_iterator<std::string>(words), {}};
}

std::vector<std::string> all_checks() {
    return split_words(
        "sm_clock_limit ffma_lanes peak_flops ffma_latency_rate dram_read_pins dram_write_pins "
        "dram_copy_pins dram_read_curve_pins dram_write_curve_pins dram_copy_curve_pins "
        "l2_read_above_dram l2_write_above_dram latency_order shared_latency_order "
        "constant_latency_order atomic_latency_order little_law l2_size l1_size shared_per_sm "
        "shared_per_cta banks_documented shared_bandwidth_banks bank_width_by_elements "
        "matched_elements_1_byte matched_elements_2_byte matched_elements_4_byte "
        "matched_elements_8_byte conflict_cost_banks sector_by_time launch_period_order");
}

TEST(Samples, WhatAFirstSittingSkippedComesFromALaterOne) {
    RawSamples first = whole_gpu();
    const RawSamples later = first;
    remove(first, "graph_meets");
    first.skipped["graph_meets"] = "needs two GPUs";
    const RawSamples both = joined({first, later}, {"first.json", "later.json"});
    EXPECT_EQ(both.samples.size(), later.samples.size());
    EXPECT_FALSE(both.skipped.contains("graph_meets"));
    // Of what none has, the reason stays, of whichever sitting.
    RawSamples tried = first;
    tried.skipped.clear();
    RawSamples broken = tried;
    broken.failed["graph_meets"] = "out of memory";
    EXPECT_EQ(joined({tried, broken}, {"first.json", "later.json"}).failed.at("graph_meets"),
              "out of memory");
}

TEST(Samples, LaterSittingsAddWhatTheFirstLacks) {
    RawSamples first = whole_gpu(), later = whole_gpu();
    remove(first, "graph_meets");
    later.conditions = {{"date", "2026-11-24"}, {"gpu", "GPU-2"}, {"probes", "abc"}};
    for (ProbeSamples &s : later.samples)
        multiply(s, 3.0);
    const RawSamples both = joined({first, later}, {"first.json", "later.json"});
    const GpuProfile profile = analyze(both, "both");
    EXPECT_NEAR(profile.curves.at("graph_meets").series.at(0).y.back(), 3.0 * 16e-6, 1e-9);
    EXPECT_NEAR(profile.curves.at("stream_meets").series.at(0).y.back(), 3e-6 * 16.0, 1e-9)
        << "the first's stay";
    EXPECT_EQ(both.conditions.at("added"), "graph_meets on 2026-11-24, GPU GPU-2, probes abc");
    later.name = "another GPU";
    EXPECT_THAT(
        [&] {
            (void)joined({first, later}, {"first.json", "later.json"});
        },
        ThrowsMessage<InputError>(AllOf(HasSubstr("later.json"), HasSubstr("another GPU"))));
}

TEST(Analysis, EveryPlantedNumberIsFound) {
    const GpuProfile profile = analyze(whole_gpu(), "planted");
    expect_whole(profile);
    EXPECT_THAT(profile.missing, IsEmpty());
    EXPECT_EQ(profile.id, "planted");
    EXPECT_EQ(profile.name, "Planted GPU");
    EXPECT_EQ(profile.limits.sm_count, 100);
    EXPECT_EQ(profile.conditions.at("driver"), "planted");
    struct Wanted {
        double value, tolerance = 0.0; // a part of the value
    };
    std::map<std::string, Wanted> wanted = {{"sm_clock", {clock_hz}},
                                            {"ffma_latency", {ffma_clk}},
                                            {"ffma_rate", {126.0}},
                                            {"ffma_outer_rate", {90.0}},
                                            {"half_rate", {250.0}},
                                            {"int8_rate", {500.0}},
                                            {"tf32_mma_rate", {1000.0}},
                                            {"ffma_shared_slowdown", {1.5}},
                                            {"shared_latency", {shared_clk}},
                                            {"l1_latency", {l1_clk}},
                                            {"l2_latency", {l2_near_clk}},
                                            {"l2_far_latency", {l2_far_clk, 0.01}},
                                            {"dram_latency", {dram_clk}},
                                            {"dram_tlb_latency", {tlb_clk}},
                                            {"constant_l1_latency", {constant_l1_clk, 0.01}},
                                            {"constant_l2_latency", {constant_l2_clk, 0.01}},
                                            {"dram_read_bandwidth", {dram_bandwidth}},
                                            {"dram_write_bandwidth", {3.9e12}},
                                            {"dram_copy_bandwidth", {3.7e12}},
                                            {"l2_read_bandwidth", {9.5e12}},
                                            {"l2_write_bandwidth", {6e12}},
                                            {"l1_bandwidth", {124.0}},
                                            {"shared_bandwidth", {128.0 * 0.99}},
                                            {"knee_exponent", {knee, 0.03}},
                                            {"bank_width", {4.0}},
                                            {"bank_count", {32.0}},
                                            {"conflict_cost", {1.0, 0.01}},
                                            {"matched_elements_1_byte", {4.0}},
                                            {"matched_elements_2_byte", {2.0}},
                                            {"matched_elements_4_byte", {1.0}},
                                            {"matched_elements_8_byte", {1.0}},
                                            {"sector_bytes", {32.0}},
                                            {"dram_granule_bytes", {64.0}},
                                            {"barrier_latency", {28.0, 0.01}},
                                            {"atomic_latency", {350.0}},
                                            {"atomic_same_address_time", {1e-9, 0.01}},
                                            {"grid_sync_time", {1.2e-6}},
                                            {"cluster_latency", {194.0}},
                                            {"cluster_bandwidth", {15.96}},
                                            {"cluster_barrier_latency", {388.0}},
                                            {"clusters_of_4_sms", {128.0}},
                                            {"clusters_of_8_sms", {124.0}},
                                            {"sector_store_time", {1.6}},
                                            {"partial_sector_store_time", {3.1}},
                                            {"launch_floor", {1.2e-6}},
                                            {"smallest_copy_time", {1.6e-6}},
                                            {"launch_gap", {0.8e-6}},
                                            {"stream_launch_period", {2.4e-6}},
                                            {"graph_launch_period", {1.3e-6}},
                                            {"early_launch_period", {0.6e-6}},
                                            {"cta_launch_time", {1e-9, 1e-4}},
                                            {"l1_seen_bytes", {192.0 * kib, 0.2}},
                                            {"l2_seen_bytes", {50.0 * mib, 0.2}},
                                            {"constant_l1_seen_bytes", {2048.0}},
                                            {"shared_per_sm_seen_bytes", {228.0 * kib}},
                                            {"shared_per_cta_seen_bytes", {227.0 * kib}},
                                            {"host_to_device_bandwidth", {52e9}},
                                            {"device_to_host_bandwidth", {54e9}},
                                            {"host_both_ways_bandwidth", {90e9}},
                                            {"peer_all_pairs_bandwidth", {760e9}}};
    for_each_param(profile, [&](const std::string &name, const auto &param) {
        if (is_of_published_profiles(name)) {
            EXPECT_FALSE(param) << name;
            return;
        }
        ASSERT_TRUE(wanted.contains(name)) << name;
        const auto [value, tolerance] = wanted.extract(name).mapped();
        ASSERT_TRUE(param) << name;
        EXPECT_NEAR(param->value.value, value, tolerance * value) << name;
        EXPECT_EQ(param->source, Source::measured) << name;
        ASSERT_TRUE(param->interval) << name;
        EXPECT_LE(param->interval->low, param->value.value) << name;
        EXPECT_GE(param->interval->high, param->value.value) << name;
        EXPECT_THAT(param->populations, IsEmpty()) << name;
    });
    EXPECT_TRUE(wanted.empty());

    EXPECT_EQ(profile.dram_read_bandwidth->by, "dram_read_bandwidth (loads=4)");
    EXPECT_EQ(profile.dram_read_bandwidth->spread->n, 15);
    EXPECT_DOUBLE_EQ(profile.dram_read_bandwidth->spread->p05, dram_bandwidth * (1.0 - 7e-4));
    EXPECT_DOUBLE_EQ(profile.dram_read_bandwidth->spread->p95, dram_bandwidth * (1.0 + 7e-4));
    EXPECT_DOUBLE_EQ(profile.dram_read_bandwidth->interval->low, dram_bandwidth * (1.0 - 4e-4));
    EXPECT_DOUBLE_EQ(profile.dram_read_bandwidth->interval->high, dram_bandwidth * (1.0 + 4e-4));
    EXPECT_EQ(profile.ffma_outer_rate->by, "ffma_rate (registers=3)");
    EXPECT_EQ(profile.barrier_latency->by, "barrier_latency (ctas_per_sm=1, warps=8)");
    EXPECT_EQ(profile.dram_tlb_latency->by, "tlb_latency (lines=1000000, region_bytes=17179869184)");
    EXPECT_EQ(profile.l2_latency->spread->n, 33) << "each SM once";
}

TEST(Analysis, TlbsThatReachOverEverythingAreNotMissed) {
    RawSamples raw = whole_gpu();
    change(raw, "tlb_latency", [](ProbeSamples &one) {
        one.values = around(dram_clk * (1.0 + 1e-12 * one.knobs.at("region_bytes")));
    });
    const GpuProfile profile = analyze(raw, "planted");
    EXPECT_FALSE(profile.dram_tlb_latency);
    EXPECT_THAT(profile.missing.at("dram_tlb_latency"),
                AllOf(HasSubstr("no TLB miss seen"), HasSubstr("16 GiB")));
}

TEST(Analysis, EveryCheckPassesOnAGpuThatIsInOrder) {
    const GpuProfile profile = analyze(whole_gpu(), "planted");
    EXPECT_EQ(failures(profile), "");
    std::vector<std::string> names;
    for (const ProfileCheck &check : profile.checks)
        names.push_back(check.name);
    EXPECT_THAT(names, testing::UnorderedElementsAreArray(all_checks()));
}

TEST(Analysis, EveryFieldOfTheListIsFilledOrMissing) {
    std::vector<std::string> named;
    for (const Probe &probe : probes())
        for (const std::string &field : fields_of(probe))
            named.push_back(field);
    EXPECT_THAT(named, testing::UnorderedElementsAreArray(measured_fields())) << "each field has one probe";

    RawSamples nothing = whole_gpu();
    nothing.samples.clear();
    const GpuProfile profile = analyze(nothing, "planted");
    expect_whole(profile);
    for (const std::string &field : named)
        EXPECT_TRUE(profile.missing.contains(field)) << field;
    EXPECT_EQ(profile.missing.size(), named.size());
    EXPECT_EQ(profile.missing.at("sm_clock"), "probe sm_clock was not run");
    EXPECT_THAT(profile.checks, IsEmpty());
    EXPECT_THAT(profile.curves, IsEmpty());
}

TEST(Analysis, EverySweepIsACurve) {
    const GpuProfile profile = analyze(whole_gpu(), "planted");
    std::vector<std::string> names;
    for (const auto &[name, curve] : profile.curves) {
        names.push_back(name);
        EXPECT_FALSE(curve.x_name.empty() || curve.y_name.empty() || curve.x_unit.empty() ||
                     curve.y_unit.empty())
            << name;
        std::set<std::string> lines;
        for (const CurveSeries &line : curve.series) {
            EXPECT_TRUE(lines.insert(line.name).second) << name << " has two lines " << line.name;
            EXPECT_TRUE(std::is_sorted(line.x.begin(), line.x.end())) << name;
            ASSERT_EQ(line.x.size(), line.y.size()) << name;
            for (std::size_t i = 0; i < line.x.size(); ++i) {
                EXPECT_LE(line.low[i], line.y[i]) << name;
                EXPECT_GE(line.high[i], line.y[i]) << name;
            }
        }
    }
    EXPECT_THAT(names,
                UnorderedElementsAre(
                    "ffma_by_ilp", "ffma_by_operands", "ffma_beside_shared", "l2_latency",
                    "latency_by_footprint", "tlb_latency", "constant_latency", "dram_read_curve",
                    "dram_write_curve", "dram_copy_curve", "l2_read_curve", "l2_write_curve", "l1_bandwidth",
                    "shared_bandwidth", "shared_broadcast", "banks", "conflicts", "element_width",
                    "stride_granularity", "segment_granularity", "barrier_latency", "atomic_rate",
                    "cluster_bandwidth", "cluster_barrier", "store_sectors", "launch_by_grid", "graph_meets",
                    "stream_meets", "peer_meets", "float_adds", "host_copy_sizes"));
    const Curve &copies = profile.curves.at("host_copy_sizes");
    ASSERT_EQ(copies.series.size(), 2u);
    EXPECT_EQ(copies.series[0].name, "direction 1"); // to the device
    EXPECT_THAT(copies.series[0].x,
                ElementsAre(1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864));
    EXPECT_NEAR(copies.series[0].y.front(), 1.5e-6 + 1024.0 / 52e9, 1e-12);
    EXPECT_THAT(profile.curves.at("graph_meets").series.at(0).x, ElementsAre(2, 4, 8, 16));
    EXPECT_NEAR(profile.curves.at("stream_meets").series.at(0).y.back(), 3e-6 * 16.0, 1e-9);
    const Curve &ilp = profile.curves.at("ffma_by_ilp");
    EXPECT_EQ(ilp.series.size(), 4u);
    EXPECT_EQ(ilp.series[3].name, "8 independent FFMAs");
    EXPECT_THAT(ilp.series[0].x, ElementsAre(1, 2, 4, 8, 16, 32));
    EXPECT_NEAR(ilp.series[0].y[0], 8.0, 0.1);
    EXPECT_THAT(profile.curves.at("ffma_by_operands").series.at(0).x, ElementsAre(4, 8, 16, 32, 64));
    EXPECT_EQ(profile.curves.at("l2_latency").series.at(0).x.front(), 0.0) << "SM 0 is an SM";
    const Curve &mix = profile.curves.at("ffma_beside_shared");
    EXPECT_EQ(mix.series[0].name, "together");
    EXPECT_THAT(mix.series[0].x, ElementsAre(2, 4, 8, 16));
    EXPECT_THAT(mix.series[0].y, ElementsAre(17, 18, 20, 24));
    EXPECT_THAT(mix.series[1].y, ElementsAre(16, 16, 16, 16));
    EXPECT_THAT(mix.series[2].y, ElementsAre(18, 20, 24, 32));
    const Curve &stride = profile.curves.at("stride_granularity");
    ASSERT_EQ(stride.series.size(), 3u);
    EXPECT_NEAR(stride.series[0].y.back(), 16.0, 0.3) << "time follows the granule of DRAM, 64 B for 4";
    EXPECT_NEAR(stride.series[1].y.back(), 16.0, 0.3);
    EXPECT_NEAR(stride.series[2].y.back(), 8.0, 0.2);
    EXPECT_EQ(profile.curves.at("segment_granularity").series.size(), 6u) << "three levels, aligned and not";
}

TEST(Analysis, FlightCurvesCarryTheirFits) {
    const GpuProfile profile = analyze(whole_gpu(), "planted");
    const auto expect = [](const std::optional<FlightCurve> &curve, double latency, double bandwidth,
                           double p) {
        ASSERT_TRUE(curve && curve->fit);
        EXPECT_EQ(curve->bandwidth.size(), 11u);
        EXPECT_NEAR(curve->fit->latency_s, latency, 0.02 * latency);
        EXPECT_NEAR(curve->fit->bandwidth, bandwidth, 0.02 * bandwidth);
        EXPECT_NEAR(curve->fit->exponent, p, 0.1 * p);
        EXPECT_LT(curve->fit->worst_error, 0.02);
        EXPECT_GT(curve->fit->bytes_for_90, curve->fit->paper_bytes * 0.9);
        EXPECT_GT(curve->fit->bytes_for_95, curve->fit->bytes_for_90);
    };
    expect(profile.dram_read_curve, dram_latency_s, dram_bandwidth, knee);
    expect(profile.dram_write_curve, 400e-9, 3.9e12, 2.5);
    expect(profile.dram_copy_curve, 450e-9, 3.7e12, 1.5);
    expect(profile.l2_read_curve, 150e-9, 9.5e12, 3.0);
    expect(profile.l2_write_curve, 170e-9, 6e12, 2.0);
    EXPECT_THAT(profile.notes, Contains(StartsWith("l2_write_curve: eq. M1 fitted with L0 = 1")));

    RawSamples raw = whole_gpu();
    int kept = 0;
    std::erase_if(raw.samples,
                  [&](const ProbeSamples &one) { return one.probe == "l2_write_curve" && ++kept > 4; });
    const GpuProfile short_curve = analyze(raw, "planted");
    ASSERT_TRUE(short_curve.l2_write_curve);
    EXPECT_FALSE(short_curve.l2_write_curve->fit);
    EXPECT_THAT(short_curve.notes,
                Contains("l2_write_curve: eq. M1 is not fitted: 4 points, at least 5 are needed"));
}

TEST(Analysis, ConfigurationsAreNotMixed) {
    const GpuProfile profile = analyze(whole_gpu(), "planted");
    EXPECT_DOUBLE_EQ(profile.ffma_rate->value.value, 126.0);
    EXPECT_EQ(profile.ffma_rate->by, "ffma_rate (registers=2)");
    EXPECT_THAT(
        profile.notes,
        Contains("ffma_rate: 1 other configuration, the best of them ffma_rate (registers=3) with 71.4 %"));
    EXPECT_THAT(profile.notes, Contains("dram_read_bandwidth: 1 other configuration, the best of them "
                                        "dram_read_bandwidth (loads=1) with 87.5 %"));
}

TEST(Analysis, TwoPopulationsAreNotAveraged) {
    RawSamples raw = whole_gpu();
    set_values(raw, "dram_latency",
               {605, 604, 870, 606, 872, 605, 871, 870, 606, 604, 871, 870}); // six of each
    const GpuProfile profile = analyze(raw, "planted");
    EXPECT_EQ(profile.dram_latency->value.value, 606.0);
    EXPECT_EQ(profile.dram_latency->spread->p95, 872.0);
    EXPECT_THAT(profile.dram_latency->populations, ElementsAre(605.0, 870.0));
    EXPECT_EQ(profile.dram_latency->interval->low, 605.0);
    EXPECT_EQ(profile.dram_latency->interval->high, 870.0) << "the median may well be of the other group";
    EXPECT_THAT(profile.notes, Contains(AllOf(StartsWith("dram_latency: two populations"), HasSubstr("605"),
                                              HasSubstr("870"))));
    expect_whole(profile);
}

TEST(Analysis, SmsOfTwoHalvesAreTwoPopulations) {
    RawSamples raw = whole_gpu();
    change(raw, "l2_latency",
           [](ProbeSamples &one) { one.values = around(one.knobs.at("sm") < 18.0 ? 220.0 : 320.0); });
    const GpuProfile profile = analyze(raw, "planted");
    EXPECT_EQ(profile.l2_latency->value.value, 220.0);
    EXPECT_THAT(profile.l2_latency->populations, ElementsAre(220.0, 320.0));
    EXPECT_THAT(profile.l2_latency->by, HasSubstr("33 SMs"));
}

TEST(Analysis, OneConfigurationOfL2LatencyIsEnough) {
    RawSamples raw = whole_gpu();
    remove(raw, "l2_latency");
    raw.samples.push_back(planted::samples("l2_latency", "clk", around(280.0), {{"footprint_bytes", 4e6}}));
    const GpuProfile profile = analyze(raw, "planted");
    EXPECT_EQ(profile.l2_latency->value.value, 280.0);
    EXPECT_EQ(profile.l2_latency->spread->n, 15);
    EXPECT_FALSE(profile.curves.contains("l2_latency"));
}

TEST(Analysis, ThrottledClockIsTheClockAndIsNoted) {
    RawSamples raw = whole_gpu();
    set_values(raw, "sm_clock", around(0.7 * clock_hz));
    const GpuProfile profile = analyze(raw, "planted");
    EXPECT_DOUBLE_EQ(profile.sm_clock->value.value, 0.7 * clock_hz);
    EXPECT_THAT(profile.notes, Contains("sm_clock: throttled to 1400 of at most 2000 MHz"));
}

TEST(Analysis, ThrottledSamplesAreKeptAndNoted) {
    RawSamples raw = whole_gpu();
    ProbeSamples &samples = *find(raw, "dram_write_bandwidth");
    samples.sm_clock_hz[3] = samples.sm_clock_hz[4] = 0.5 * clock_hz;
    find(raw, "host_copy")->sm_clock_hz.assign(15, 0.0); // not known
    const GpuProfile profile = analyze(raw, "planted");
    EXPECT_EQ(profile.dram_write_bandwidth->spread->n, 15);
    EXPECT_THAT(profile.notes,
                Contains("dram_write_bandwidth: 2 of 15 samples ran below 90 % of 2000 MHz, the SM clock"));
    EXPECT_THAT(profile.notes, Not(Contains(AllOf(StartsWith("host_copy"), HasSubstr("ran below")))));
}

TEST(Analysis, LatencyInSecondsUsesItsOwnClock) {
    // At half the SM clock DRAM takes half the cycles; neither the exponent nor Little's law must notice.
    RawSamples raw = whole_gpu();
    set_values(raw, "dram_latency", around(0.5 * dram_latency_s * clock_hz));
    find(raw, "dram_latency")->sm_clock_hz.assign(15, 0.5 * clock_hz);
    const GpuProfile profile = analyze(raw, "planted");
    EXPECT_NEAR(profile.knee_exponent->value.value, knee, 0.05);
    EXPECT_TRUE(find_check(profile, "little_law")->passed);
}

void plant_read_curve(RawSamples &raw, double p) {
    remove(raw, "dram_read_curve");
    for (const double over_little : {0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0, 8.0}) {
        const double bytes = over_little * dram_latency_s * dram_bandwidth;
        raw.samples.push_back(planted::samples(
            "dram_read_curve", "B/s", around(bandwidth_in_flight(bytes, dram_latency_s, dram_bandwidth, p)),
            {{"bytes_in_flight", bytes}}));
    }
}

TEST(Analysis, KneeExponentIsRecovered) {
    for (const double p : {1.0, 1.9, 3.0, 6.0}) {
        RawSamples raw = whole_gpu();
        plant_read_curve(raw, p);
        const GpuProfile exact = analyze(raw, "planted");
        ASSERT_TRUE(exact.knee_exponent) << p;
        EXPECT_NEAR(exact.knee_exponent->value.value, p, 1e-3 * p);
        EXPECT_EQ(exact.knee_exponent->spread->n, 10) << "each point left out once";
        EXPECT_LT(exact.knee_exponent->interval->low, exact.knee_exponent->interval->high);
        EXPECT_THAT(exact.knee_exponent->by,
                    AllOf(HasSubstr("leaving out one point"), HasSubstr("bootstrap")));
    }
}

TEST(Analysis, AHardKneeHasNoExponent) {
    RawSamples raw = whole_gpu();
    plant_read_curve(raw, 25.0);
    const GpuProfile profile = analyze(raw, "planted");
    EXPECT_FALSE(profile.knee_exponent);
    EXPECT_THAT(profile.missing.at("knee_exponent"), HasSubstr("10 points"));
    ASSERT_TRUE(profile.dram_read_curve);
    EXPECT_FALSE(profile.dram_read_curve->fit);
    EXPECT_THAT(profile.notes, Contains(StartsWith("dram_read_curve: eq. M1 is not fitted: no exponent")));
    EXPECT_EQ(find_check(profile, "little_law"), nullptr);
}

TEST(Analysis, KneeSaysWhatItNeeds) {
    RawSamples raw = whole_gpu();
    remove(raw, "dram_latency");
    raw.failed["dram_latency"] = "out of memory";
    const GpuProfile profile = analyze(raw, "planted");
    EXPECT_FALSE(profile.knee_exponent);
    EXPECT_EQ(profile.missing.at("knee_exponent"), "needs dram_latency");
    EXPECT_EQ(profile.missing.at("dram_latency"), "probe dram_latency failed: out of memory");
}

// ---- other GPUs ----

TEST(Analysis, KeplersWideBanks) {
    const GpuProfile profile = analyze(whole_gpu({.bank_width = 8}), "planted");
    EXPECT_EQ(profile.bank_width->value.value, 8.0);
    EXPECT_EQ(profile.bank_count->value.value, 32.0);
    EXPECT_EQ(profile.matched_elements_1_byte->value.value, 8.0);
    EXPECT_EQ(profile.matched_elements_2_byte->value.value, 4.0);
    EXPECT_EQ(profile.matched_elements_4_byte->value.value, 2.0);
    EXPECT_EQ(profile.matched_elements_8_byte->value.value, 1.0);
    EXPECT_NEAR(profile.shared_bandwidth->value.value, 256.0, 3.0);
    EXPECT_EQ(failures(profile), "") << "8-byte banks are documented for compute capability 3.5";
}

TEST(Analysis, BanksAreFoundWhateverTheyAre) {
    for (const int width : {4, 8})
        for (const int count : {16, 32, 64}) {
            RawSamples raw = whole_gpu({.bank_width = width, .bank_count = count});
            raw.compute_capability = "9.0";
            const GpuProfile profile = analyze(raw, "planted");
            ASSERT_TRUE(profile.bank_width)
                << width << " x " << count << ": " << profile.missing.at("bank_width");
            EXPECT_EQ(profile.bank_width->value.value, width);
            EXPECT_EQ(profile.bank_count->value.value, count);
            EXPECT_EQ(find_check(profile, "banks_documented")->passed, width == 4 && count == 32);
        }
}

TEST(Analysis, CyclesThatNoBanksExplain) {
    RawSamples raw = whole_gpu();
    change(raw, "banks", [](ProbeSamples &one) {
        one.values = around(5.0 + std::fmod(7.0 * one.knobs.at("stride_words"), 3.0));
    });
    const GpuProfile profile = analyze(raw, "planted");
    EXPECT_FALSE(profile.bank_width);
    EXPECT_THAT(profile.missing.at("bank_count"), HasSubstr("no bank layout explains"));
    EXPECT_EQ(find_check(profile, "bank_width_by_elements"), nullptr);
}

TEST(Analysis, WideSectors) {
    const GpuProfile profile = analyze(whole_gpu({.sector = 64.0, .granule = 128.0}), "planted");
    EXPECT_EQ(profile.sector_bytes->value.value, 64.0);
    EXPECT_EQ(profile.dram_granule_bytes->value.value, 128.0);
    EXPECT_TRUE(find_check(profile, "sector_by_time")->passed) << find_check(profile, "sector_by_time")->text;
    EXPECT_THAT(profile.notes, Contains(AllOf(StartsWith("segments of S bytes"), HasSubstr("25 % at 32 B"),
                                              HasSubstr("50 % at 64 B"), HasSubstr("at 128 B"))));
}

TEST(Analysis, WithoutCountersTimeTellsTheSector) {
    const GpuProfile profile = analyze(whole_gpu({.granule = 32.0, .counters = false}), "planted");
    EXPECT_EQ(profile.sector_bytes->value.value, 32.0);
    EXPECT_THAT(profile.sector_bytes->by, HasSubstr("by time"));
    EXPECT_FALSE(profile.dram_granule_bytes);
    EXPECT_EQ(profile.missing.at("dram_granule_bytes"),
              "probe segment_granularity has no samples with level=1, aligned=1; only the counter of DRAM "
              "bytes tells");
    EXPECT_EQ(find_check(profile, "sector_by_time"), nullptr) << "nothing to compare";
    EXPECT_EQ(profile.curves.at("stride_granularity").series.size(), 1u);
    expect_whole(profile);
}

TEST(Analysis, AGranuleThatIsNoPowerOfTwoStaysWhatItIs) {
    const GpuProfile profile = analyze(whole_gpu({.granule = 48.0}), "planted");
    EXPECT_NEAR(profile.dram_granule_bytes->value.value, 48.0, 1.0);
    EXPECT_THAT(profile.notes,
                Contains(AllOf(StartsWith("dram_granule_bytes: 4"), HasSubstr("no power of two"))));
}

TEST(Analysis, TimeThatAgreesWithNoCounterIsSeen) {
    RawSamples raw = whole_gpu();
    change(raw, "stride_granularity", [](ProbeSamples &one) {
        if (one.knobs.at("level") == 0.0)
            one.values = around(dram_bandwidth * 4.0 / std::min(one.knobs.at("stride_bytes"), 128.0));
    });
    EXPECT_THAT(failed_checks(analyze(raw, "planted")), ElementsAre("sector_by_time"));
}

TEST(Analysis, CapacitiesOfManyCaches) {
    for (const double l1 : {32.0 * kib, 96.0 * kib, 192.0 * kib, 250.0 * kib})
        for (const double l2 : {2.0 * mib, 6.0 * mib, 50.0 * mib, 126.0 * mib})
            for (const bool two_part : {false, true})
                for (const double noise : {0.0, 0.01, 0.02}) {
                    const RawSamples raw =
                        whole_gpu({.l1_bytes = l1, .l2_bytes = l2, .two_part_l2 = two_part, .noise = noise});
                    const GpuProfile profile = analyze(only(raw, "latency_by_footprint"), "planted");
                    const std::string which =
                        fmt::format("L1 {} L2 {} two parts {} noise {}", l1, l2, two_part, noise);
                    ASSERT_TRUE(profile.l1_seen_bytes)
                        << which << ": " << profile.missing.at("l1_seen_bytes");
                    ASSERT_TRUE(profile.l2_seen_bytes)
                        << which << ": " << profile.missing.at("l2_seen_bytes");
                    EXPECT_GE(profile.l1_seen_bytes->value.value, 0.8 * l1) << which;
                    EXPECT_LE(profile.l1_seen_bytes->value.value, 1.2 * l1) << which;
                    EXPECT_GE(profile.l2_seen_bytes->value.value, 0.8 * l2) << which;
                    EXPECT_LE(profile.l2_seen_bytes->value.value, 1.25 * l2) << which;
                    EXPECT_NEAR(profile.l2_far_latency->value.value, two_part ? l2_far_clk : l2_near_clk,
                                40.0)
                        << which;
                }
}

/// Latencies by footprint as on another GPU.
void set_footprints(RawSamples &raw, const Gpu &gpu) {
    change(raw, "latency_by_footprint",
           [&](ProbeSamples &one) { one.values = around(latency_at(gpu, one.knobs.at("footprint_bytes"))); });
}

TEST(Analysis, AnL2OfWhichOneSmUsesHalf) {
    RawSamples raw = whole_gpu(); // A part keeps a copy of what the other has: nothing beyond half fits.
    set_footprints(raw, {.l2_bytes = 25.0 * mib, .two_part_l2 = false});
    const GpuProfile profile = analyze(raw, "planted");
    EXPECT_NEAR(profile.l2_seen_bytes->value.value, 25.0 * mib, 5.0 * mib);
    EXPECT_TRUE(find_check(profile, "l2_size")->passed);
    EXPECT_THAT(find_check(profile, "l2_size")->text, HasSubstr("a half"));
}

TEST(Analysis, ASweepThatEndsTooEarlyShowsNoL2) {
    RawSamples raw = whole_gpu();
    std::erase_if(raw.samples, [](const ProbeSamples &one) {
        return one.probe == "latency_by_footprint" && one.knobs.at("footprint_bytes") > 24.0 * mib;
    });
    GpuProfile profile = analyze(raw, "planted");
    EXPECT_TRUE(profile.l1_seen_bytes);
    EXPECT_THAT(profile.missing.at("l2_seen_bytes"), HasSubstr("no level between"));
    EXPECT_THAT(profile.missing.at("l2_far_latency"), HasSubstr("between half and all of L2"));
    set_values(raw, "latency_by_footprint", around(300.0)); // the same everywhere
    profile = analyze(raw, "planted");
    EXPECT_THAT(profile.missing.at("l1_seen_bytes"), HasSubstr("no level at the small footprints"));
    set_values(raw, "constant_latency", around(30.0));
    EXPECT_THAT(analyze(raw, "planted").missing.at("constant_l2_latency"),
                HasSubstr("no level at the small"));
}

TEST(Analysis, PeersAreLinks) {
    const GpuProfile profile = analyze(whole_gpu({.gpus = 3}), "planted");
    ASSERT_EQ(profile.peers.size(), 6u);
    EXPECT_EQ(profile.peers[5].from, 2);
    EXPECT_EQ(profile.peers[5].to, 1);
    EXPECT_TRUE(profile.peers[5].direct);
    EXPECT_EQ(profile.peers[5].bandwidth_bytes_per_s->value, 380e9 + 2.0) << "not the detour's 30 GB/s";
    EXPECT_EQ(profile.peers[5].both_ways_bytes_per_s->value, 750e9);
    EXPECT_EQ(profile.peers[5].latency_s->value, 1.1e-6);
}

TEST(Analysis, OneGpuHasNoPeersAndSaysWhy) {
    const GpuProfile profile = analyze(whole_gpu({.gpus = 1}), "planted");
    EXPECT_EQ(profile.missing.at("peers"), "probe peer_copy was skipped: one GPU");
    EXPECT_EQ(profile.missing.at("peer_all_pairs_bandwidth"), "probe peer_all_pairs was skipped: one GPU");
    EXPECT_EQ(profile.missing.size(), 2u);
    expect_whole(profile);
}

TEST(Analysis, OlderSamplesWithFewerKnobs) {
    RawSamples raw = whole_gpu();
    remove(raw, "barrier_latency");
    raw.samples.push_back(planted::samples("barrier_latency", "clk", around(28.0), {{"threads", 256.0}}));
    const GpuProfile profile = analyze(raw, "planted");
    EXPECT_EQ(profile.barrier_latency->value.value, 28.0);
    EXPECT_FALSE(profile.curves.contains("barrier_latency"));
}

// ---- what goes wrong ----

TEST(Analysis, EachProbeMayFailOrBeSkipped) {
    const RawSamples whole = whole_gpu();
    const auto expect_reason = [](const GpuProfile &profile, const Probe &probe, const std::string &reason) {
        expect_whole(profile);
        for (const std::string &field : fields_of(probe))
            if (field != "knee_exponent") {
                EXPECT_THAT(profile.missing.at(field),
                            StartsWith(fmt::format("probe {} {}: cudaErrorPlanted", probe.name, reason)));
            }
        EXPECT_FALSE(profile.curves.contains(std::string(probe.name)));
    };
    RawSamples skipped = whole;
    skipped.samples.clear();
    for (const Probe &probe : probes()) {
        RawSamples raw = whole;
        remove(raw, std::string(probe.name));
        raw.failed[std::string(probe.name)] = "cudaErrorPlanted";
        const GpuProfile profile = analyze(raw, "planted");
        expect_reason(profile, probe, "failed");
        EXPECT_EQ(failures(profile), "") << probe.name;
        for (const auto &[field, why] : profile.missing)
            EXPECT_THAT(why, HasSubstr(std::string(probe.name))) << field << " has nothing to do with it";
        skipped.skipped[std::string(probe.name)] = "cudaErrorPlanted";
    }
    const GpuProfile nothing = analyze(skipped, "planted");
    for (const Probe &probe : probes())
        expect_reason(nothing, probe, "was skipped");
    EXPECT_EQ(nothing.missing.at("knee_exponent"),
              "needs dram_read_curve, dram_latency, dram_read_bandwidth");
}

TEST(Analysis, EachProbeMayGiveNonsense) {
    const RawSamples whole = whole_gpu();
    const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
    const std::vector<std::vector<double>> nonsense = {{},      {nan},    {infinity}, {-1.0, 2.0},    {0.0},
                                                       {1e300}, {1e-300}, {5e-324},   {1e308, 1e-308}};
    for (const Probe &probe : probes()) {
        for (const std::vector<double> &values : nonsense) {
            RawSamples raw = only(whole, std::string(probe.name));
            set_values(raw, std::string(probe.name), values);
            expect_whole(analyze(raw, "planted"));
        }
        RawSamples raw = only(whole, std::string(probe.name));
        for (ProbeSamples &one : raw.samples)
            one.unit = "furlong";
        const GpuProfile profile = analyze(raw, "planted");
        expect_whole(profile);
        for (const std::string &field : fields_of(probe))
            EXPECT_THAT(profile.missing.at(field),
                        AnyOf(HasSubstr("furlong"), HasSubstr("has no samples with"),
                              HasSubstr("needs dram_read_curve")));
    }
}

TEST(Analysis, EachKnobMayBeNonsense) {
    const RawSamples whole = whole_gpu();
    std::set<std::pair<std::string, std::string>> knobs;
    for (const ProbeSamples &one : whole.samples)
        for (const auto &[name, value] : one.knobs)
            knobs.emplace(one.probe, name);
    for (const auto &[probe, name] : knobs)
        for (const double value : {std::nan(""), -1.0, 0.0, 1e300, 0.5, 1e18}) {
            RawSamples raw = only(whole, probe);
            for (std::size_t i = 0; i < raw.samples.size(); i += 2)
                raw.samples[i].knobs[name] = value;
            expect_whole(analyze(raw, "planted"));
        }
    for (const auto &[probe, name] : knobs) {
        RawSamples raw = only(whole, probe);
        for (ProbeSamples &one : raw.samples)
            one.knobs.erase(name);
        expect_whole(analyze(raw, "planted"));
    }
}

TEST(Analysis, BadSamplesAreNoValue) {
    for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
        RawSamples raw = whole_gpu();
        find(raw, "atomic_latency")->values[2] = bad;
        const GpuProfile profile = analyze(raw, "planted");
        EXPECT_FALSE(profile.atomic_latency);
        EXPECT_EQ(profile.missing.at("atomic_latency"),
                  "probe atomic_latency: 1 of its 15 samples are not above zero");
    }
    RawSamples raw = whole_gpu();
    find(raw, "atomic_latency")->unit = "ns";
    EXPECT_EQ(analyze(raw, "planted").missing.at("atomic_latency"),
              "probe atomic_latency: its samples are in \"ns\", expected \"clk\"");
    raw = whole_gpu();
    find(raw, "atomic_latency")->values.clear();
    EXPECT_EQ(analyze(raw, "planted").missing.at("atomic_latency"),
              "probe atomic_latency: it gave no samples");
    raw = whole_gpu();
    find(raw, "dram_read_curve")->values[0] = -1.0;
    const GpuProfile profile = analyze(raw, "planted");
    EXPECT_EQ(profile.dram_read_curve->bandwidth.size(), 10u) << "the other points stand";
    EXPECT_THAT(profile.notes, Contains(StartsWith("dram_read_curve: 1 of 11 configurations left out")));
    raw = whole_gpu();
    set_values(raw, "launch_gap", {3.0});
    EXPECT_EQ(analyze(raw, "planted").missing.at("launch_gap"),
              "launch_gap: 3 s is not between 1e-12 and 1 s");
}

TEST(Analysis, LimitsOfNoGpuAreRefused) {
    RawSamples raw = whole_gpu();
    raw.limits.sm_count = 0;
    raw.limits.l2_bytes = -5;
    EXPECT_THAT(
        [&] { analyze(raw, "planted"); },
        ThrowsMessage<InputError>(AllOf(HasSubstr("/limits/sm_count"), HasSubstr("/limits/l2_bytes"))));
    EXPECT_THROW(analyze(whole_gpu(), ""), InputError);
}

/// Each way to be out of order fails its own check, and hardly any other.
TEST(Analysis, ChecksCatchWhatCannotBe) {
    const RawSamples whole = whole_gpu();
    struct Wrong {
        std::string probe;
        double factor;
        std::map<std::string, double> knobs; ///< of the configurations that it concerns
        std::set<std::string> fails;
    };
    const std::vector<Wrong> wrongs = {
        {"sm_clock", 1.1, {}, {"sm_clock_limit", "peak_flops"}},
        {"ffma_rate", 1.2, {}, {"ffma_lanes", "peak_flops"}},
        {"ffma_latency", 1.1, {}, {"ffma_latency_rate"}},
        {"dram_write_bandwidth", 1.4, {}, {"dram_write_pins"}},
        {"dram_copy_bandwidth", 1.4, {}, {"dram_copy_pins"}},
        {"dram_read_bandwidth", 1.4, {}, {"dram_read_pins", "little_law"}},
        {"dram_read_curve", 1.3, {}, {"dram_read_curve_pins", "little_law"}},
        {"dram_write_curve", 1.4, {}, {"dram_write_curve_pins"}},
        {"l2_read_bandwidth", 0.4, {}, {"l2_read_above_dram"}},
        {"l2_write_bandwidth", 0.6, {}, {"l2_write_above_dram"}},
        {"l2_latency", 2.0, {}, {"latency_order"}},
        {"l1_latency", 10.0, {}, {"latency_order"}},
        {"dram_latency", 1.3, {}, {"little_law"}},
        {"tlb_latency", 0.6, {}, {"latency_order"}},
        {"shared_latency", 10.0, {}, {"shared_latency_order"}},
        {"atomic_latency", 0.05, {}, {"atomic_latency_order"}},
        {"conflicts", 1.3, {}, {"conflict_cost_banks"}},
        {"shared_bandwidth", 1.1, {}, {"shared_bandwidth_banks"}},
        {"element_width", 2.0, {{"element_bytes", 8.0}}, {"bank_width_by_elements"}},
        {"element_width", 1.3, {{"element_bytes", 1.0}, {"elements", 16.0}}, {"matched_elements_1_byte"}},
        {"shared_capacity", 0.9, {{"kind", 1.0}}, {"shared_per_cta"}},
        {"shared_capacity", 1.1, {{"kind", 2.0}}, {"shared_per_sm"}},
        {"launch_period", 0.4, {{"graph", 0.0}}, {"launch_period_order"}},
    };
    for (const Wrong &wrong : wrongs) {
        RawSamples raw = whole;
        change(raw, wrong.probe, [&](ProbeSamples &one) {
            if (std::ranges::all_of(
                    wrong.knobs, [&](const auto &knob) { return one.knobs.at(knob.first) == knob.second; }))
                multiply(one, wrong.factor);
        });
        const GpuProfile profile = analyze(raw, "planted");
        EXPECT_EQ(failed_checks(profile), wrong.fails) << wrong.probe << " x " << wrong.factor << "\n"
                                                       << failures(profile);
    }
    // Sizes: of the caches by what the driver states.
    RawSamples raw = whole;
    raw.limits.l2_bytes *= 3;
    raw.limits.shared_bytes_per_sm = 64 << 10, raw.limits.shared_bytes_per_cta = 63 << 10;
    EXPECT_THAT(failed_checks(analyze(raw, "planted")), testing::IsSupersetOf({"l1_size"}));
    raw = whole; // one SM of a GPU with 50 MiB uses less than a third
    set_footprints(raw, {.l2_bytes = 15.0 * mib, .two_part_l2 = false});
    EXPECT_THAT(failed_checks(analyze(raw, "planted")), Contains("l2_size"));
    // Constant caches: faster behind than in front.
    raw = whole;
    change(raw, "constant_latency", [](ProbeSamples &one) {
        if (one.knobs.at("footprint_bytes") <= 2048.0)
            multiply(one, 10.0);
    });
    EXPECT_THAT(analyze(raw, "planted").missing.at("constant_l1_latency"), HasSubstr("no level"));
}

TEST(Analysis, NothingIsCheckedAgainstAnUnknownMemoryClock) {
    RawSamples raw = whole_gpu();
    raw.memory_clock_hz = 0.0;
    for (const ProfileCheck &check : analyze(raw, "planted").checks)
        EXPECT_THAT(check.text, Not(HasSubstr("memory clock")));
}

TEST(Analysis, AssumedLanesAreSaid) {
    RawSamples raw = whole_gpu();
    raw.conditions["cores_per_sm"] = "assumed; compute capability 99.0 is not known";
    EXPECT_THAT(analyze(raw, "planted").notes,
                Contains("limits.cores_per_sm: assumed; compute capability 99.0 is not known"));
}

TEST(Analysis, TheSameSamplesGiveTheSameProfile) {
    const RawSamples raw = whole_gpu();
    EXPECT_EQ(write_profile(analyze(raw, "x")), write_profile(analyze(raw, "x")));
    EXPECT_EQ(write_profile(analyze(read_samples(write_samples(raw), "raw.json"), "x")),
              write_profile(analyze(raw, "x")));
}

// ---- files of samples ----

TEST(Samples, FileRoundTrip) {
    RawSamples raw = whole_gpu();
    raw.failed["launch_gap"] = "planted";
    const std::string text = write_samples(raw);
    const RawSamples again = read_samples(text, "raw.json");
    EXPECT_EQ(write_samples(again), text);
}

TEST(Samples, WrongFilesAreRefused) {
    const auto reading = [](const std::string &text) {
        return [=] { (void)read_samples(text, "raw.json"); };
    };
    EXPECT_THAT(
        reading(R"({"schema": "convcast/profile/1"})"),
        ThrowsMessage<InputError>(AllOf(HasSubstr("convcast/samples/1"), HasSubstr("convcast/profile/1"))));
    EXPECT_THAT(reading("{}"), ThrowsMessage<InputError>(HasSubstr("raw.json:1")));
    EXPECT_THAT(reading(R"({"schema": "convcast/samples/1"})"),
                ThrowsMessage<InputError>(AllOf(HasSubstr("\"name\""), HasSubstr("\"limits\""))));

    RawSamples raw = whole_gpu();
    raw.samples[0].sm_clock_hz.pop_back();
    raw.samples[1].probe = "ffma_rat";
    EXPECT_THAT(reading(write_samples(raw)),
                ThrowsMessage<InputError>(AllOf(HasSubstr("/samples/0/sm_clock_hz"),
                                                HasSubstr("expected one clock per value: 15, got 14"),
                                                HasSubstr("/samples/1/probe"),
                                                HasSubstr("did you mean 'ffma_rate'"))));
}

TEST(Samples, CoresBySpecification) {
    EXPECT_EQ(cores_per_sm(3, 5), 192);
    EXPECT_EQ(cores_per_sm(6, 1), 128);
    EXPECT_EQ(cores_per_sm(8, 0), 64);
    EXPECT_EQ(cores_per_sm(9, 0), 128);
    EXPECT_EQ(cores_per_sm(99, 0), std::nullopt);
}

/// Some probes of a planted GPU: small, so that many files can be tried.
RawSamples some_probes(const RawSamples &whole, SplitMix64 &random) {
    RawSamples raw = whole;
    std::set<std::string> kept;
    for (int i = 0; i < 3; ++i)
        kept.emplace(probes()[static_cast<std::size_t>(random() % probes().size())].name);
    std::erase_if(raw.samples, [&](const ProbeSamples &one) { return !kept.contains(one.probe); });
    for (ProbeSamples &one : raw.samples) {
        one.values.resize(std::min<std::size_t>(one.values.size(), 6));
        one.sm_clock_hz.resize(one.values.size());
    }
    return raw;
}

/// A number, a character or a stretch of the text becomes another one.
std::string mutated(std::string text, SplitMix64 &random) {
    static const std::vector<std::string> words =
        split_words("null -1 0 1e308 -1e-308 1e18 7 64 [] 1e999 0.5 4294967296 9223372036854775807 128");
    const auto place = [&](std::size_t size) { return static_cast<std::size_t>(random() % size); };
    const std::uint64_t kind = random() % 16;
    if (kind < 13) { // most of a file is numbers
        const std::size_t from = text.find_first_of("-0123456789", place(text.size()));
        if (from == std::string::npos)
            return text;
        const std::size_t end = text.find_first_not_of("-+.0123456789eE", from);
        return text.replace(from, end - from, words[place(words.size())]);
    }
    const std::size_t from = place(text.size()),
                      length = std::min<std::size_t>(place(200), text.size() - from);
    if (kind == 13)
        text.erase(from, length);
    else if (kind == 14)
        text.insert(from, text.substr(place(text.size()), length));
    else
        text[from] = static_cast<char>(random() % 256);
    return text;
}

TEST(Samples, MutatedFilesNeverBreakTheAnalysis) {
    SplitMix64 random(7);
    const RawSamples whole = whole_gpu();
    int refused = 0, analyzed = 0;
    std::string text;
    for (int i = 0; i < 200; ++i) {
        if (i % 8 == 0)
            text = write_samples(some_probes(whole, random));
        std::string changed = mutated(text, random);
        if (random() % 2 == 0)
            changed = mutated(std::move(changed), random);
        try {
            const GpuProfile profile = analyze(read_samples(changed, "mutated.json"), "mutated");
            EXPECT_EQ(write_profile(read_profile(write_profile(profile), "again")), write_profile(profile))
                << changed;
            ++analyzed;
        } catch (const InputError &) {
            ++refused;
        }
    }
    EXPECT_GT(refused, 10);
    EXPECT_GT(analyzed, 10);
    std::cout << refused << " files refused, " << analyzed << " analyzed\n";
}

} // namespace
} // namespace convcast
