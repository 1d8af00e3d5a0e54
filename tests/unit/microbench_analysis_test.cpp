// Samples with planted answers: the analysis is to find them, and to say why where it cannot.
#include "microbench/analysis.hpp"
#include "model/described.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace convcast {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr double clock_hz = 2e9, latency_s = 300e-9, bandwidth = 4e12;

ProbeSamples planted(std::string probe, std::string unit, std::vector<double> values,
                     std::map<std::string, double> knobs = {}) {
    ProbeSamples samples{std::move(probe), std::move(unit), std::move(knobs), std::move(values), {},
                         "planted"};
    samples.sm_clock_hz.assign(samples.values.size(), clock_hz);
    return samples;
}

std::vector<double> around(double value) {
    std::vector<double> values;
    for (int i = -7; i <= 7; ++i)
        values.push_back(value * (1.0 + 1e-4 * i));
    return values;
}

double time_m1(double bytes, double p) {
    return std::pow(std::pow(latency_s, p) + std::pow(bytes / bandwidth, p), 1.0 / p);
}

void plant_curve(RawSamples &raw, double p, double noise = 0.0) {
    std::mt19937 random(1);
    std::normal_distribution<double> normal(0.0, 1.0);
    for (const double over_little : {0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 5.0, 8.0}) {
        const double bytes = over_little * latency_s * bandwidth;
        raw.samples.push_back(planted("dram_read_curve", "B/s",
                                      around(bytes / time_m1(bytes, p) * (1.0 + noise * normal(random))),
                                      {{"bytes_in_flight", bytes}}));
    }
}

void plant_banks(RawSamples &raw, int width, int count) {
    for (const int stride : {1, 2, 3, 4, 8, 16, 32, 64})
        raw.samples.push_back(planted("banks", "clk",
                                      around(0.1 + 1.0 * conflict_degree(stride, width, count)),
                                      {{"stride_words", stride}}));
}

/// A GPU of round numbers, all probes done.
RawSamples whole_gpu() {
    RawSamples raw;
    raw.name = "Planted GPU";
    raw.compute_capability = "9.0";
    raw.limits = {100, 128, 228 << 10, 227 << 10, 1024, 65536, 2048, 1024, 32, 50 << 20, 4};
    raw.max_sm_clock_hz = clock_hz;
    raw.memory_clock_hz = 3.2e9;
    raw.memory_bus_bits = 6144;
    raw.conditions["driver"] = "planted";
    raw.samples = {planted("sm_clock", "Hz", around(clock_hz)),
                   planted("ffma_rate", "fma/clk", around(126.0), {{"registers", 2}}),
                   planted("ffma_rate", "fma/clk", around(90.0), {{"registers", 3}}),
                   planted("dram_latency", "clk", around(latency_s * clock_hz)),
                   planted("l2_latency", "clk", around(260.0)),
                   planted("dram_read_bandwidth", "B/s", around(3.5e12), {{"loads", 1}}),
                   planted("dram_read_bandwidth", "B/s", around(bandwidth), {{"loads", 4}}),
                   planted("dram_write_bandwidth", "B/s", around(3.9e12)),
                   planted("l2_read_bandwidth", "B/s", around(9.5e12)),
                   planted("shared_bandwidth", "B/clk", around(127.0)),
                   planted("barrier_latency", "clk", around(30.0)),
                   planted("launch_floor", "s", around(1.2e-6)),
                   planted("launch_gap", "s", around(0.8e-6))};
    plant_curve(raw, 1.9);
    plant_banks(raw, 4, 32);
    return raw;
}

std::vector<ProbeSamples>::iterator find(RawSamples &raw, const std::string &probe) {
    return std::find_if(raw.samples.begin(), raw.samples.end(),
                        [&](const ProbeSamples &samples) { return samples.probe == probe; });
}

void remove(RawSamples &raw, const std::string &probe) {
    std::erase_if(raw.samples, [&](const ProbeSamples &samples) { return samples.probe == probe; });
}

TEST(Analysis, EveryFieldIsFilledAndSurvivesTheFile) {
    const GpuProfile profile = analyze(whole_gpu(), "planted");
    EXPECT_THAT(profile.missing, IsEmpty());
    EXPECT_EQ(profile.id, "planted");
    EXPECT_EQ(profile.name, "Planted GPU");
    EXPECT_EQ(profile.limits.sm_count, 100);
    EXPECT_EQ(profile.conditions.at("driver"), "planted");
    EXPECT_DOUBLE_EQ(profile.sm_clock->value.value, clock_hz);
    EXPECT_DOUBLE_EQ(profile.dram_latency->value.value, 600.0);
    EXPECT_DOUBLE_EQ(profile.dram_read_bandwidth->value.value, bandwidth);
    EXPECT_EQ(profile.dram_read_bandwidth->source, Source::measured);
    EXPECT_EQ(profile.dram_read_bandwidth->by, "dram_read_bandwidth (loads=4)");
    EXPECT_EQ(profile.dram_read_bandwidth->spread->n, 15);
    EXPECT_DOUBLE_EQ(profile.dram_read_bandwidth->spread->p05, bandwidth * (1.0 - 7e-4));
    EXPECT_DOUBLE_EQ(profile.dram_read_bandwidth->spread->p95, bandwidth * (1.0 + 7e-4));
    EXPECT_EQ(profile.bank_width->value.value, 4.0);
    EXPECT_EQ(profile.bank_count->value.value, 32.0);
    EXPECT_EQ(profile.dram_read_curve->bandwidth.size(), 10u);
    EXPECT_THAT(profile.notes, Each(Not(StartsWith("check failed"))));
    EXPECT_EQ(write_profile(read_profile(write_profile(profile), "planted.json")), write_profile(profile));
}

TEST(Analysis, EveryFieldOfTheListIsFilledOrMissing) {
    RawSamples nothing = whole_gpu();
    nothing.samples.clear();
    const GpuProfile profile = analyze(nothing, "planted");
    std::size_t fields = 0;
    for (const ProbeInfo &probe : probes)
        for (const std::string_view field : probe.fields)
            if (!field.empty()) {
                ++fields;
                EXPECT_TRUE(profile.missing.contains(std::string(field))) << field;
            }
    EXPECT_EQ(profile.missing.size(), fields);
    EXPECT_EQ(profile.missing.at("sm_clock"), "probe sm_clock was not run");
}

TEST(Analysis, ConfigurationsAreNotMixed) {
    const GpuProfile profile = analyze(whole_gpu(), "planted");
    EXPECT_DOUBLE_EQ(profile.ffma_rate->value.value, 126.0);
    EXPECT_EQ(profile.ffma_rate->by, "ffma_rate (registers=2)");
    EXPECT_DOUBLE_EQ(profile.ffma_outer_rate->value.value, 90.0);
    EXPECT_THAT(profile.notes,
                Contains(AllOf(HasSubstr("ffma_rate (registers=3)"), HasSubstr("71.4 % of the best"))));
}

TEST(Analysis, TwoPopulationsAreNotAveraged) {
    RawSamples raw = whole_gpu();
    ProbeSamples &latency = *find(raw, "l2_latency");
    latency.values = {265, 264, 470, 266, 472, 265, 471, 470, 266, 264, 471, 470}; // six of each
    latency.sm_clock_hz.assign(latency.values.size(), clock_hz);
    const GpuProfile profile = analyze(raw, "planted");
    EXPECT_EQ(profile.l2_latency->value.value, 266.0);
    EXPECT_EQ(profile.l2_latency->spread->p95, 472.0);
    EXPECT_THAT(profile.notes, Contains(AllOf(StartsWith("l2_latency: two populations"), HasSubstr("265"),
                                              HasSubstr("470"))));
}

TEST(Analysis, OnePopulationWithAnOutlierIsOne) {
    std::vector<double> values = around(300.0);
    EXPECT_FALSE(two_populations(values));
    values.push_back(900.0);
    EXPECT_FALSE(two_populations(values));
    EXPECT_FALSE(two_populations({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
    EXPECT_FALSE(two_populations(std::vector<double>(10, 5.0)));
    EXPECT_EQ(two_populations({1, 1, 1, 2, 2, 2}), std::pair(1.0, 2.0));
    EXPECT_FALSE(two_populations({}));
}

TEST(Analysis, MedianIsASample) {
    EXPECT_EQ(spread_of({4.0, 1.0, 3.0, 2.0}).p50, 2.0);
    EXPECT_EQ(spread_of({4.0, 1.0, 3.0, 2.0}).p05, 1.0);
    EXPECT_EQ(spread_of({4.0, 1.0, 3.0, 2.0}).p95, 4.0);
    EXPECT_EQ(spread_of({7.0}).p50, 7.0);
}

TEST(Analysis, ThrottledClockIsTheClockAndIsNoted) {
    RawSamples raw = whole_gpu();
    find(raw, "sm_clock")->values = around(0.7 * clock_hz);
    const GpuProfile profile = analyze(raw, "planted");
    EXPECT_DOUBLE_EQ(profile.sm_clock->value.value, 0.7 * clock_hz);
    EXPECT_THAT(profile.notes, Contains("sm_clock: throttled to 1400 of at most 2000 MHz"));
}

TEST(Analysis, ThrottledSamplesAreKeptAndNoted) {
    RawSamples raw = whole_gpu();
    ProbeSamples &samples = *find(raw, "dram_write_bandwidth");
    samples.sm_clock_hz[3] = samples.sm_clock_hz[4] = 0.5 * clock_hz;
    const GpuProfile profile = analyze(raw, "planted");
    EXPECT_EQ(profile.dram_write_bandwidth->spread->n, 15);
    EXPECT_THAT(profile.notes,
                Contains("dram_write_bandwidth: 2 of 15 samples ran below 90 % of 2000 MHz, the SM clock"));
}

TEST(Analysis, LatencyInSecondsUsesItsOwnClock) {
    // At half the SM clock DRAM takes half the cycles; the exponent must not notice.
    RawSamples raw = whole_gpu();
    ProbeSamples &latency = *find(raw, "dram_latency");
    latency.values = around(0.5 * latency_s * clock_hz);
    latency.sm_clock_hz.assign(latency.values.size(), 0.5 * clock_hz);
    EXPECT_NEAR(analyze(raw, "planted").knee_exponent->value.value, 1.9, 0.01);
}

TEST(Analysis, KneeExponentIsRecovered) {
    for (const double p : {1.0, 1.9, 3.0, 6.0}) {
        RawSamples raw = whole_gpu();
        remove(raw, "dram_read_curve");
        plant_curve(raw, p);
        const GpuProfile exact = analyze(raw, "planted");
        ASSERT_TRUE(exact.knee_exponent) << p;
        EXPECT_NEAR(exact.knee_exponent->value.value, p, 1e-3 * p);
    }
    RawSamples raw = whole_gpu();
    remove(raw, "dram_read_curve");
    plant_curve(raw, 1.9, 0.005);
    const GpuProfile noisy = analyze(raw, "planted");
    ASSERT_TRUE(noisy.knee_exponent);
    EXPECT_NEAR(noisy.knee_exponent->value.value, 1.9, 0.02 * 1.9);
    EXPECT_EQ(noisy.knee_exponent->spread->n, 10);
    EXPECT_LT(noisy.knee_exponent->spread->p05, noisy.knee_exponent->spread->p95);
}

TEST(Analysis, AHardKneeHasNoExponent) {
    RawSamples raw = whole_gpu();
    remove(raw, "dram_read_curve");
    plant_curve(raw, 25.0);
    const GpuProfile profile = analyze(raw, "planted");
    EXPECT_FALSE(profile.knee_exponent);
    EXPECT_THAT(profile.missing.at("knee_exponent"), HasSubstr("10 points"));
    EXPECT_TRUE(profile.dram_read_curve);
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

TEST(Analysis, ConflictDegrees) {
    EXPECT_EQ(conflict_degree(1, 4, 32), 1);
    EXPECT_EQ(conflict_degree(2, 4, 32), 2);
    EXPECT_EQ(conflict_degree(3, 4, 32), 1);
    EXPECT_EQ(conflict_degree(32, 4, 32), 32);
    EXPECT_EQ(conflict_degree(2, 8, 32), 1);
    EXPECT_EQ(conflict_degree(4, 8, 32), 2);
    EXPECT_EQ(conflict_degree(64, 8, 32), 32);
}

TEST(Analysis, BanksAreFoundWhateverTheyAre) {
    for (const int width : {4, 8})
        for (const int count : {16, 32, 64}) {
            RawSamples raw = whole_gpu();
            remove(raw, "banks");
            plant_banks(raw, width, count);
            const GpuProfile profile = analyze(raw, "planted");
            ASSERT_TRUE(profile.bank_width)
                << width << " x " << count << ": " << profile.missing.at("bank_width");
            EXPECT_EQ(profile.bank_width->value.value, width);
            EXPECT_EQ(profile.bank_count->value.value, count);
            const auto failed = Contains(StartsWith("check failed: banks"));
            if (width == 4 && count == 32)
                EXPECT_THAT(profile.notes, Not(failed));
            else
                EXPECT_THAT(profile.notes, failed);
        }
}

TEST(Analysis, KeplersWideBanksPassTheCheck) {
    RawSamples raw = whole_gpu();
    remove(raw, "banks");
    plant_banks(raw, 8, 32);
    raw.compute_capability = "3.5";
    EXPECT_THAT(analyze(raw, "planted").notes, Contains(StartsWith("check passed: banks")));
}

TEST(Analysis, CyclesThatNoBanksExplain) {
    RawSamples raw = whole_gpu();
    for (ProbeSamples &samples : raw.samples)
        if (samples.probe == "banks")
            samples.values = around(5.0 + std::fmod(7.0 * samples.knobs.at("stride_words"), 3.0));
    const GpuProfile profile = analyze(raw, "planted");
    EXPECT_FALSE(profile.bank_width);
    EXPECT_THAT(profile.missing.at("bank_count"), HasSubstr("no bank layout explains"));
}

TEST(Analysis, FailedProbeIsMissingWithItsReason) {
    for (const ProbeInfo &probe : probes) {
        RawSamples raw = whole_gpu();
        remove(raw, std::string(probe.name));
        raw.failed[std::string(probe.name)] = "cudaErrorPlanted";
        const GpuProfile profile = analyze(raw, "planted");
        EXPECT_THAT(profile.missing.at(std::string(probe.fields[0])),
                    AllOf(HasSubstr(std::string(probe.name)), HasSubstr("cudaErrorPlanted")));
        EXPECT_EQ(write_profile(read_profile(write_profile(profile), "planted.json")),
                  write_profile(profile));
    }
}

TEST(Analysis, BadSamplesAreNoValue) {
    for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
        RawSamples raw = whole_gpu();
        find(raw, "barrier_latency")->values[2] = bad;
        const GpuProfile profile = analyze(raw, "planted");
        EXPECT_FALSE(profile.barrier_latency);
        EXPECT_EQ(profile.missing.at("barrier_latency"),
                  "probe barrier_latency: 1 of its 15 samples are not above zero");
    }
    RawSamples raw = whole_gpu();
    find(raw, "barrier_latency")->unit = "ns";
    EXPECT_EQ(analyze(raw, "planted").missing.at("barrier_latency"),
              "probe barrier_latency: its samples are in \"ns\", expected \"clk\"");
    raw = whole_gpu();
    find(raw, "barrier_latency")->values.clear();
    EXPECT_EQ(analyze(raw, "planted").missing.at("barrier_latency"),
              "probe barrier_latency: it gave no samples");
}

TEST(Analysis, ChecksCatchWhatCannotBe) {
    RawSamples raw = whole_gpu();
    find(raw, "dram_write_bandwidth")->values = around(6e12); // the pins carry 4.9e12: this was L2
    find(raw, "ffma_rate")->values = around(200.0);
    find(raw, "l2_latency")->values = around(700.0);
    find(raw, "shared_bandwidth")->values = around(256.0);
    find(raw, "sm_clock")->values = around(3e9);
    std::vector<std::string> failed;
    for (const std::string &note : analyze(raw, "planted").notes)
        if (note.starts_with("check failed"))
            failed.push_back(note);
    EXPECT_THAT(failed, testing::UnorderedElementsAre(HasSubstr("dram_write_bandwidth"),
                                                      HasSubstr("ffma_rate"), HasSubstr("l2_latency"),
                                                      HasSubstr("shared_bandwidth"), HasSubstr("sm_clock")));
}

TEST(Analysis, NothingIsCheckedAgainstAnUnknownMemoryClock) {
    RawSamples raw = whole_gpu();
    raw.memory_clock_hz = 0.0;
    for (const std::string &note : analyze(raw, "planted").notes)
        EXPECT_THAT(note, Not(HasSubstr("memory clock")));
}

TEST(Samples, FileRoundTrip) {
    RawSamples raw = whole_gpu();
    raw.failed["launch_gap"] = "planted";
    const std::string text = write_samples(raw);
    const RawSamples again = read_samples(text, "raw.json");
    EXPECT_EQ(write_samples(again), text);
    EXPECT_EQ(write_profile(analyze(again, "x")), write_profile(analyze(raw, "x")));
}

std::string problems_of(const std::string &text) {
    try {
        read_samples(text, "raw.json");
    } catch (const InputError &error) {
        return error.what();
    }
    return "";
}

TEST(Samples, WrongFilesAreRefused) {
    EXPECT_THAT(problems_of(R"({"schema": "convcast/profile/1"})"),
                AllOf(HasSubstr("convcast/samples/1"), HasSubstr("convcast/profile/1")));
    EXPECT_THAT(problems_of("{}"), HasSubstr("raw.json:1"));
    EXPECT_THAT(problems_of(R"({"schema": "convcast/samples/1"})"),
                AllOf(HasSubstr("\"name\""), HasSubstr("\"limits\"")));

    RawSamples raw = whole_gpu();
    raw.samples[0].sm_clock_hz.pop_back();
    raw.samples[1].probe = "ffma_rat";
    EXPECT_THAT(problems_of(write_samples(raw)),
                AllOf(HasSubstr("/samples/0/sm_clock_hz"),
                      HasSubstr("expected one clock per value: 15, got 14"), HasSubstr("/samples/1/probe"),
                      HasSubstr("did you mean 'ffma_rate'")));
}

TEST(Samples, CoresBySpecification) {
    EXPECT_EQ(cores_per_sm(3, 5), 192);
    EXPECT_EQ(cores_per_sm(6, 1), 128);
    EXPECT_EQ(cores_per_sm(8, 0), 64);
    EXPECT_EQ(cores_per_sm(9, 0), 128);
    EXPECT_EQ(cores_per_sm(99, 0), std::nullopt);
}

} // namespace
} // namespace convcast
