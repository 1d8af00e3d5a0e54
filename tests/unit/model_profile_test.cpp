#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/machine/assume.hpp"
#include "model/machine/each_number.hpp"
#include "model/machine/profile.hpp"

#include <gmock/gmock.h>

#include <cstddef>
#include <string>

using namespace convcast;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

std::string toy() {
    return write_profile(find_profile("toy"));
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(Profile, EveryShippedProfileLoadsAndRoundTrips) {
    EXPECT_THAT(shipped_profiles(), testing::IsSupersetOf({"gt750m", "gtx1080ti", "h100", "h100_print",
                                                           "k40m", "k80", "titanx_maxwell", "h200", "toy"}));
    for (const std::string &name : shipped_profiles()) {
        const std::string text = write_profile(find_profile(name));
        EXPECT_EQ(write_profile(read_profile(text, name)), text);
        EXPECT_EQ(find_profile(name).id, name);
    }
}

TEST(Profile, PublishedNumbersCiteTheirSource) {
    for (const char *name : {"gtx1080ti", "h100_print", "k40m", "titanx_maxwell"}) {
        const GpuProfile p = find_profile(name);
        EXPECT_GT(p.dram_latency->by.size(), 10u) << name;
        EXPECT_EQ(p.dram_latency->source, Source::published) << name;
        EXPECT_EQ(p.launch_floor->source, Source::assumed) << name;
    }
    EXPECT_DOUBLE_EQ(find_profile("k40m").bank_width->value.value, 8.0);
}

TEST(Profile, WhatIsAssumedOfGpusFromPrintHasAReasonAndARange) {
    for (const char *name : {"gtx1080ti", "titanx_maxwell", "k40m", "k80", "gt750m", "h100_print"}) {
        const GpuProfile p = find_profile(name);
        std::size_t assumed = 0;
        for_each_param(p, [&](const char *number, const auto &field) {
            if (!field || field->source != Source::assumed)
                return;
            ++assumed;
            EXPECT_GT(field->by.size(), 20U) << name << " " << number;
            ASSERT_TRUE(field->interval) << name << " " << number;
            EXPECT_GT(field->interval->low, 0.0) << name << " " << number;
            EXPECT_LT(field->interval->low, field->interval->high) << name << " " << number;
        });
        EXPECT_GE(assumed, 4U) << name;
        EXPECT_GE(ranged_numbers(p).size(), assumed) << name;
    }
}

TEST(Profile, NothingThatIsKnownFromPrintWasMeasuredHere) {
    for (const char *name : {"gtx1080ti", "titanx_maxwell", "k40m", "k80", "gt750m", "h100_print"}) {
        const GpuProfile p = find_profile(name);
        for_each_param(p, [&](const char *number, const auto &field) {
            if (!field)
                return;
            EXPECT_TRUE(field->source == Source::spec || field->source == Source::published ||
                        field->source == Source::assumed)
                << name << " " << number;
        });
        EXPECT_TRUE(p.curves.empty()) << name;
    }
    // The H100 is judged by our recordings of H100s and has the architecture of our H200s, so none of its
    // numbers may come from them.
    const GpuProfile h100 = find_profile("h100_print");
    for_each_param(h100, [](const char *number, const auto &field) {
        if (!field)
            return;
        EXPECT_THAT(field->by, testing::Not(HasSubstr(" H200"))) << number;
    });
}

TEST(Profile, AnH100HasTheNamesThatPeopleGiveIt) {
    for (const char *name : {"h100", "H100", "NVIDIA H100", "NVIDIA H100 80GB HBM3"})
        EXPECT_EQ(find_profile(name).id, "h100") << name;
}

TEST(Profile, NumbersTakenFromAnotherGpuAreAssumed) {
    for (const char *name : {"k80", "gt750m"}) {
        const GpuProfile p = find_profile(name);
        for (const auto *latency : {&p.dram_latency, &p.l2_latency, &p.shared_latency, &p.ffma_latency}) {
            EXPECT_EQ((*latency)->source, Source::assumed) << name;
            EXPECT_THAT((*latency)->by, HasSubstr("Tesla K40m")) << name;
        }
        EXPECT_DOUBLE_EQ(p.bank_width->value.value, 8.0) << name;
    }
}

struct BadProfile {
    const char *from, *to, *says;
};
class ProfileRejects : public testing::TestWithParam<BadProfile> {};

TEST_P(ProfileRejects, WithFilePlaceAndExpectation) {
    const auto &[from, to, says] = GetParam();
    EXPECT_THAT([&] { read_profile(replaced(toy(), from, to), "my.json"); },
                ThrowsMessage<InputError>(testing::AllOf(HasSubstr("my.json:"), HasSubstr(says))));
}

INSTANTIATE_TEST_SUITE_P(
    Edits, ProfileRejects,
    testing::Values(
        BadProfile{"\"unit\": \"clk\"", "\"unit\": \"ns\"", "expected unit \"clk\", got \"ns\""},
        BadProfile{"\"sm_count\": 10", "\"sm_count\": \"10\"", "/limits/sm_count: expected an integer"},
        BadProfile{"\"sm_count\": 10", "\"sm_count\": 0",
                   "/limits/sm_count: expected an integer from 1 to 4096, got 0"},
        BadProfile{"\"sm_count\": 10", "\"sm_count\": 99999999999", "from 1 to 4096, got 1e+11"},
        BadProfile{"\"dram_latency\"", "\"dram_latancy\"", "did you mean 'dram_latency'"},
        BadProfile{"\"source\": \"assumed\"", "\"source\": \"guess\"", "expected one of spec, driver"},
        BadProfile{"\"value\": 100,", "\"value\": -1,", "above zero"},
        BadProfile{"\"value\": 100,", "\"value\": null,", "above zero"},
        BadProfile{"\"value\": 100,", "", "missing required field \"value\""},
        BadProfile{"convcast/profile/1", "convcast/profile/9", "expected \"schema\": \"convcast/profile/1\""},
        BadProfile{"\"compute_capability\": \"0.0\"", "\"compute_capability\": \"sm_90\"",
                   "/compute_capability: expected a version such as \"9.0\", got \"sm_90\""},
        BadProfile{"\"id\": \"toy\"", "\"id\": \"toy\", \"id\": \"b\"", "duplicate key"},
        // Limits that leave no CTA any room.
        BadProfile{"\"schedulers_per_sm\": 4", "\"schedulers_per_sm\": 32",
                   ":17: /limits/schedulers_per_sm: expected an integer from 1 to 16, got 32"},
        BadProfile{"\"shared_bytes_per_sm\": 65536", "\"shared_bytes_per_sm\": 1000",
                   "/limits/shared_bytes_per_sm"},
        BadProfile{"\"shared_bytes_per_sm\": 65536", "\"shared_bytes_per_sm\": 32768",
                   "/limits/shared_bytes_per_cta: expected that one CTA finds room"},
        BadProfile{"\"max_threads_per_sm\": 2048", "\"max_threads_per_sm\": 32",
                   "/limits/max_threads_per_sm"},
        BadProfile{"\"max_threads_per_sm\": 2048", "\"max_threads_per_sm\": 512",
                   "/limits/max_threads_per_cta: expected at most max_threads_per_sm, 512, got 1024"},
        BadProfile{"\"max_threads_per_cta\": 1024", "\"max_threads_per_cta\": 1000", "whole warps"},
        BadProfile{"\"registers_per_sm\": 65536", "\"registers_per_sm\": 0", "/limits/registers_per_sm"},
        BadProfile{"\"sm_count\": 10", "\"sm_count\": 65536", "/limits/sm_count"},
        // What is known about a value.
        BadProfile{"\"value\": 100,", "\"value\": 100, \"interval\": {\"low\": 101, \"high\": 102},",
                   "/interval: expected an interval that holds the value"},
        BadProfile{"\"value\": 100,", "\"value\": 100, \"interval\": {\"low\": 102, \"high\": 99},",
                   "/interval: expected low <= high"},
        BadProfile{"\"value\": 100,",
                   "\"value\": 100, \"spread\": {\"p05\": 9, \"p50\": 8, \"p95\": 10, \"n\": 3},",
                   "/spread: expected p05 <= p50 <= p95"},
        BadProfile{"\"value\": 100,",
                   "\"value\": 100, \"spread\": {\"p05\": 9, \"p50\": 9, \"p95\": 10, \"n\": 0},",
                   "/spread/n: expected an integer from 1"},
        BadProfile{"\"value\": 100,", "\"value\": 100, \"populations\": [120, 90],",
                   "/populations: expected medians in asc"},
        BadProfile{"\"value\": 100,", "\"value\": 1e9,",
                   "/value: expected a number from 0.001 to 1e+06, got 1e+09 clk"}));

/// The toy profile with one more field.
std::string with_field(const std::string &field) {
    return replaced(toy(), "\"id\": \"toy\",", "\"id\": \"toy\",\n" + field + ",\n");
}

void expect_refused(const std::string &field, const std::string &says) {
    EXPECT_THAT([&] { read_profile(with_field(field), "my.json"); },
                ThrowsMessage<InputError>(HasSubstr(says)))
        << field;
}

TEST(Profile, CurvesArePositiveAndAscend) {
    const auto flight = [](const std::string &v, const std::string &b) {
        return "\"l2_read_curve\": {\"bytes_in_flight\": " + v + ", \"bandwidth\": " + b + "}";
    };
    EXPECT_NO_THROW(read_profile(with_field(flight("[1, 2]", "[5, 6]")), "f"));
    expect_refused(flight("[2, 2]", "[5, 6]"),
                   "my.json:4: /l2_read_curve/bytes_in_flight: expected numbers in ascending");
    expect_refused(flight("[1, 2]", "[5]"), "/l2_read_curve/bandwidth: expected as many bandwidths");
    expect_refused(flight("[1, 2]", "[5, -6]"), "/l2_read_curve/bandwidth/1: expected a number from 1e-18");
    expect_refused(flight("[1, 2]", "[5, null]"), "/l2_read_curve/bandwidth/1: expected a number");
    expect_refused(flight("[0, 2]", "[5, 6]"), "/l2_read_curve/bytes_in_flight/0");
    expect_refused(flight("[]", "[]"), "/l2_read_curve: expected at least one point");
    const auto curve = [](const std::string &series) {
        return "\"curves\": {\"c\": {\"x_name\": \"\", \"x_unit\": \"\", \"y_name\": \"\", \"y_unit\": \"\", "
               "\"x_logarithmic\": false, \"y_logarithmic\": false, \"series\": [{\"name\": \"\", " +
               series + "}]}}";
    };
    EXPECT_NO_THROW(read_profile(
        with_field(curve("\"x\": [0, 2], \"y\": [3, 4], \"low\": [3, 3], \"high\": [4, 4]")), "f"));
    expect_refused(curve("\"x\": [2, 1], \"y\": [3, 4], \"low\": [3, 3], \"high\": [4, 4]"),
                   "/curves/c/series/0/x: expected numbers in ascending");
    expect_refused(curve("\"x\": [1, 2], \"y\": [3, 4], \"low\": [3], \"high\": [4, 4]"),
                   "/curves/c/series/0/low: expected as many numbers as x has");
    expect_refused(curve("\"x\": [1, 2], \"y\": [3, 4], \"low\": [3, 5], \"high\": [4, 4]"),
                   "/curves/c/series/0/y/1: expected low <= y <= high");
    expect_refused(curve("\"x\": [1, 2], \"y\": [-3, 4], \"low\": [-4, 3], \"high\": [4, 4]"),
                   "/curves/c/series/0/y/0");
}

TEST(Profile, LinksAndChecksHaveToMakeSense) {
    expect_refused("\"peers\": [{\"from\": 1, \"to\": 1, \"direct\": true}]",
                   "/peers/0/to: expected another GPU");
    expect_refused("\"peers\": [{\"from\": -1, \"to\": 1, \"direct\": true}]",
                   "/peers/0/from: expected an integer from 0");
    expect_refused(
        "\"peers\": [{\"from\": 0, \"to\": 1, \"direct\": true}, {\"from\": 0, \"to\": 1, \"direct\": true}]",
        "/peers/1: the link from 0 to 1 is there twice");
    expect_refused("\"peers\": [{\"from\": 0, \"to\": 1, \"direct\": true, \"latency_s\": 0}]",
                   "/peers/0/latency_s");
    expect_refused("\"checks\": [{\"name\": \"\", \"passed\": true, \"text\": \"\"}]", "/checks/0/name");
}

TEST(Profile, ComputeCapabilities) {
    for (const char *text : {"9.0", "12.1", "3.5", "0.0"})
        EXPECT_TRUE(is_compute_capability(text)) << text;
    for (const char *text :
         {"", "9", "9.", ".0", "90", "9.00", "123.0", "9.0a", " 9.0", "9,0", "9.0.0", "-9.0"})
        EXPECT_FALSE(is_compute_capability(text)) << text;
}

TEST(Profile, AllProblemsAtOnce) {
    std::string text = replaced(toy(), "\"unit\": \"clk\"", "\"unit\": \"ns\"");
    text = replaced(text, "\"sm_count\": 10", "\"sm_count\": true");
    try {
        read_profile(text, "f");
        FAIL() << "accepted";
    } catch (const InputError &error) {
        EXPECT_EQ(error.problems.size(), 2u) << error.what();
    }
}

TEST(Profile, UnknownNamesSuggestTheClosest) {
    EXPECT_THAT([] { find_profile("gtx1080it"); },
                ThrowsMessage<UsageError>(HasSubstr("did you mean 'gtx1080ti'?")));
    EXPECT_THAT([] { find_profile("no/such/file.json"); },
                ThrowsMessage<InputError>(HasSubstr("cannot be opened")));
}

/// `name`s of T's members, and of what it is made of, that docs/profile.md does not have.
template <class T> void expect_documented(const std::string &page) {
    boost::mp11::mp_for_each<described::Members<T>>(
        [&](auto member) { EXPECT_THAT(page, HasSubstr("`" + std::string(member.name) + "`")); });
}

TEST(Profile, EveryFieldIsInItsPageWithItsUnit) {
    const std::string page = read_file(CONVCAST_SOURCE_DIR "/docs/profile.md");
    expect_documented<GpuProfile>(page);
    const GpuProfile none;
    for_each_param(none, [&](const char *name, const auto &field) {
        EXPECT_THAT(page, HasSubstr("\n| `" + std::string(name) + "` | " +
                                    UnitOf<decltype(field->value)>::text + " | "));
    });
    expect_documented<GpuLimits>(page);
    expect_documented<Spread>(page);
    expect_documented<Interval>(page);
    expect_documented<FlightCurve>(page);
    expect_documented<FlightFit>(page);
    expect_documented<Curve>(page);
    expect_documented<CurveSeries>(page);
    expect_documented<ProfileCheck>(page);
    expect_documented<PeerLink>(page);
}

} // namespace
