#include "model/described.hpp"
#include "model/errors.hpp"
#include "model/files.hpp"
#include "model/profile.hpp"

#include <gmock/gmock.h>

#include <regex>

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
    EXPECT_THAT(shipped_profiles(), testing::IsSupersetOf({"gt750m", "gtx1080ti", "k40m", "k80",
                                                           "titanx_maxwell", "h200", "toy"}));
    for (const std::string &name : shipped_profiles()) {
        const std::string text = write_profile(find_profile(name));
        EXPECT_EQ(write_profile(read_profile(text, name)), text);
        EXPECT_EQ(find_profile(name).id, name);
    }
}

TEST(Profile, PublishedNumbersCiteTheirSource) {
    for (const char *name : {"gtx1080ti", "k40m", "titanx_maxwell"}) {
        const GpuProfile p = find_profile(name);
        EXPECT_GT(p.dram_latency->by.size(), 10u) << name;
        EXPECT_EQ(p.dram_latency->source, Source::published) << name;
        EXPECT_TRUE(p.missing.contains("launch_floor")) << name;
    }
    EXPECT_DOUBLE_EQ(find_profile("k40m").bank_width->value.value, 8.0);
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
        BadProfile{"\"sm_count\": 10", "\"sm_count\": 0", "/limits/sm_count: expected an integer above zero"},
        BadProfile{"\"sm_count\": 10", "\"sm_count\": 99999999999", "out of range"},
        BadProfile{"\"dram_latency\"", "\"dram_latancy\"", "did you mean 'dram_latency'"},
        BadProfile{"\"source\": \"assumed\"", "\"source\": \"guess\"", "expected one of spec, driver"},
        BadProfile{"\"value\": 100,", "\"value\": -1,", "above zero"},
        BadProfile{"\"value\": 100,", "\"value\": null,", "above zero"},
        BadProfile{"\"value\": 100,", "", "missing required field \"value\""},
        BadProfile{"convcast/profile/1", "convcast/profile/9", "expected \"schema\": \"convcast/profile/1\""},
        BadProfile{"\"compute_capability\": \"0.0\"", "\"compute_capability\": \"sm_90\"",
                   "/compute_capability: expected a version such as \"9.0\", got \"sm_90\""},
        BadProfile{"\"id\": \"toy\"", "\"id\": \"toy\", \"id\": \"b\"", "duplicate key"}));

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

TEST(Profile, SchemaFileIsTheOneGenerated) {
    EXPECT_TRUE(read_file(CONVCAST_SOURCE_DIR "/profiles/schema.json") ==
                profile_schema()) // no dump of both texts
        << "after a change of the structs: convcast list --schema > profiles/schema.json";
}

/// `name`s of T's members, and of what it is made of, that docs/profile.md does not have.
template <class T> void expect_documented(const std::string &page) {
    boost::mp11::mp_for_each<described::Members<T>>([&](auto member) {
        using Field = std::decay_t<decltype(std::declval<T>().*member.pointer)>;
        EXPECT_THAT(page, HasSubstr("`" + std::string(member.name) + "`"));
        if constexpr (described::IsOptional<Field>::value) {
            using Held = typename Field::value_type;
            if constexpr (described::IsParam<Held>::value) {
                EXPECT_THAT(page, HasSubstr("\n| `" + std::string(member.name) + "` | " +
                                            UnitOf<decltype(Held::value)>::text + " | "));
            }
        }
    });
}

TEST(Profile, EveryFieldIsInItsPageWithItsUnit) {
    const std::string page = read_file(CONVCAST_SOURCE_DIR "/docs/profile.md");
    expect_documented<GpuProfile>(page);
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
