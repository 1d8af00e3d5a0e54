// Architectures: what ships, what is borrowed, and what is refused.
#include "model/machine/architecture.hpp"

#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/machine/knowledge.hpp"
#include "model/machine/machine.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace convcast {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

std::string file_of(int capability) {
    return read_file(fmt::format(CONVCAST_SOURCE_DIR "/data/architectures/sm_{}.json", capability));
}

GpuProfile with_capability(const std::string &capability) {
    GpuProfile profile = find_profile("h200");
    profile.compute_capability = capability;
    return profile;
}

/// Names of the fields that are known, but limits.
std::vector<std::string> known_of(const Architecture &architecture) {
    std::vector<std::string> known;
    boost::mp11::mp_for_each<described::Members<Architecture>>([&](auto member) {
        const auto &field = architecture.*member.pointer;
        if constexpr (described::IsOptional<std::decay_t<decltype(field)>>::value)
            if (field)
                known.emplace_back(member.name);
    });
    return known;
}

TEST(Architecture, EveryShippedFileReadsAndRoundTrips) {
    EXPECT_THAT(shipped_architectures(), ElementsAre(30, 35, 37, 52, 61, 75, 80, 86, 89, 90, 100, 120));
    for (const int capability : shipped_architectures()) {
        const std::string text = file_of(capability);
        const Architecture read = described::read_document<Architecture>(text, "file");
        EXPECT_EQ(to_text(described::write(read)), text);
        EXPECT_EQ(architecture_for(capability).capability, capability);
        EXPECT_THAT(known_of(read), IsSupersetOf({"register_unit", "shared_unit"}));
        if (capability > 30) { // which has no cache that inputs go through
            EXPECT_THAT(known_of(read), IsSupersetOf({"never_shared", "shared_sizes"}));
        }
        EXPECT_EQ(read.limits.registers_per_sm->value, capability == 37 ? 131072 : 65536);
    }
}

TEST(Architecture, ThatOfHopperIsWhole) {
    const Architecture hopper = described::read_document<Architecture>(file_of(90), "sm_90.json");
    std::size_t fields = 0;
    boost::mp11::mp_for_each<described::Members<Architecture>>([&](auto member) {
        using Field = std::decay_t<decltype(hopper.*member.pointer)>;
        if constexpr (described::IsOptional<Field>::value) {
            ++fields;
            EXPECT_TRUE(hopper.*member.pointer) << member.name;
        }
    });
    boost::mp11::mp_for_each<described::Members<ArchitectureLimits>>([&](auto member) {
        ++fields;
        EXPECT_TRUE(hopper.limits.*member.pointer) << member.name;
    });
    EXPECT_THAT(architecture_fields(), SizeIs(fields));
    EXPECT_TRUE(architecture_for(90).borrowed.empty());
    EXPECT_EQ(borrowed_constants(find_profile("h200")), "");
    EXPECT_EQ(odd_limits(find_profile("h200")), "");
}

TEST(Architecture, HopperHasTheNumbersThatWereReadOffIt) {
    const Architecture &of = architecture_for(90).numbers;
    EXPECT_EQ(of.gpcs->value, 8);
    EXPECT_EQ(of.turnover->value, 600);
    EXPECT_EQ(of.early_gap->value, 0.9e-6);
    EXPECT_EQ(of.never_shared->value, 28 * 1024);
    EXPECT_EQ(of.tensor_clock_share->value, 0.889);
    EXPECT_EQ(of.register_unit->value, 256);
    EXPECT_EQ(of.shared_unit->value, 128);
    EXPECT_EQ(of.l2_losing->value, 0.85);
    EXPECT_THAT(of.shared_sizes->values,
                ElementsAre(0, 8192, 16384, 32768, 65536, 102400, 135168, 167936, 200704, 233472));
    EXPECT_EQ(of.gpcs->category, Category::read_off_times);
    EXPECT_EQ(of.l2_copies->category, Category::counted);
    const GpuProfile h200 = find_profile("h200");
    EXPECT_EQ(machine_of(h200, DataType::f32, {}).integer_clocks, 2.0); // 64 of 128 lanes
    EXPECT_EQ(machine_of(h200, DataType::i8, {}).outer_rate,
              machine_of(h200, DataType::f32, {}).outer_rate / 2.0);
}

TEST(Architecture, WhatAFileLacksIsThatOfTheNearest) {
    const ResolvedArchitecture &ampere = architecture_for(80);
    EXPECT_EQ(ampere.numbers.compute_capability, "8.0");
    EXPECT_EQ(ampere.numbers.gpcs->value, architecture_for(90).numbers.gpcs->value);
    EXPECT_THAT(ampere.numbers.shared_sizes->values, Contains(164 * 1024.0));
    ASSERT_THAT(ampere.borrowed, SizeIs(1));
    EXPECT_THAT(ampere.borrowed.at(90), Contains("gpcs"));
    EXPECT_THAT(known_of(ampere.numbers), SizeIs(known_of(architecture_for(90).numbers).size()));
    // No file knows integers of 12.0: of those beside it 10.0 is nearest.
    EXPECT_THAT(architecture_for(120).borrowed.at(100), ElementsAre("integer_lanes"));
}

TEST(Architecture, ACapabilityWithoutAFileTakesTheNearest) {
    EXPECT_EQ(architecture_for(0).capability, 75); // 0.0 is no GPU
    EXPECT_EQ(architecture_for(32).capability, 30);
    EXPECT_EQ(architecture_for(50).capability, 52);
    EXPECT_EQ(architecture_for(61).capability, 61);
    EXPECT_EQ(architecture_for(70).capability, 75);
    EXPECT_EQ(architecture_for(87).capability, 86);
    EXPECT_EQ(architecture_for(103).capability, 100);
    EXPECT_EQ(architecture_for(110).capability, 100); // of two the older
    EXPECT_EQ(architecture_for(200).capability, 120);
}

TEST(Architecture, WhatIsBorrowedIsSaid) {
    const std::string ampere = borrowed_constants(with_capability("8.0")),
                      pascal = borrowed_constants(find_profile("gtx1080ti"));
    EXPECT_THAT(ampere, AllOf(HasSubstr("architecture numbers of compute capability 8.0 are not known"),
                              HasSubstr("taken from 9.0")));
    EXPECT_THAT(pascal, AllOf(HasSubstr("architecture numbers of compute capability 6.1 are not known"),
                              HasSubstr("taken from 9.0")));
    EXPECT_THAT(knowledge_for(with_capability("8.0")).assumptions, Contains(ampere));
    EXPECT_LT(ampere.size(), 250U);
    // Of a file that lacks integers, which 10.0 knows, and 35 that only 9.0 knows.
    EXPECT_EQ(borrowed_constants(with_capability("12.0")),
              "38 architecture numbers of compute capability 12.0 are not known: 37 are taken from 9.0, 1 is "
              "taken from "
              "10.0; kernels are assumed to have the registers and instructions that they have on 9.0");
}

/// A machine refers to its profile, which a temporary would not outlive.
TEST(Architecture, AGpuIsNotMadeOfATemporary) {
    static_assert(std::is_convertible_v<const GpuProfile &, Gpu>);
    static_assert(!std::is_constructible_v<Gpu, GpuProfile>);
    static_assert(!std::is_constructible_v<Gpu, const GpuProfile>);
    GpuProfile profile = find_profile("h200");
    const Gpu gpu(profile);
    profile.limits.sm_count = 7;
    EXPECT_EQ(gpu.limits.sm_count, 7);
}

TEST(Architecture, LimitsThatAreNotTheCapabilitysAreSaid) {
    const std::string said = odd_limits(with_capability("8.6"));
    EXPECT_THAT(said, AllOf(HasSubstr("8.6"), HasSubstr("shared_bytes_per_sm 233472 (102400)"),
                            HasSubstr("max_ctas_per_sm 32 (16)")));
    EXPECT_THAT(knowledge_for(with_capability("8.6")).assumptions, Contains(said));
    EXPECT_EQ(odd_limits(with_capability("8.7")), ""); // of which there is no file
}

struct Bad {
    const char *from, *to, *says;
};
class ArchitectureRejects : public testing::TestWithParam<Bad> {};

TEST_P(ArchitectureRejects, WithFilePlaceExpectationAndExample) {
    const auto &[from, to, says] = GetParam();
    std::string text = file_of(75);
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, std::string(from).size(), to);
    EXPECT_THAT([&] { described::read_document<Architecture>(text, "mine.json"); },
                ThrowsMessage<InputError>(AllOf(HasSubstr("mine.json:"), HasSubstr(says))));
}

INSTANTIATE_TEST_SUITE_P(
    Each, ArchitectureRejects,
    testing::Values(
        Bad{"convcast/architecture/1", "convcast/architecture/2",
            "/schema: expected \"schema\": \"convcast/architecture/1\", got \"convcast/architecture/2\""},
        Bad{"\"7.5\"", "\"Turing\"", "/compute_capability: expected a version, for example \"9.0\""},
        Bad{"\"integer_lanes\"", "\"integer_lane\"",
            "/integer_lane: unknown field; did you mean 'integer_lanes'?"},
        Bad{"\"cores_per_sm\"", "\"cores\"", "/limits/cores: unknown field"},
        Bad{"\"value\": 256,\n    \"unit\": \"B\"", "\"value\": 256,\n    \"unit\": \"KiB\"",
            "/shared_unit/unit: expected unit \"B\", got \"KiB\"; for example \"unit\": \"B\""},
        Bad{"\"value\": 256,\n    \"unit\": \"B\"", "\"value\": 256.5,\n    \"unit\": \"B\"",
            "/shared_unit/value: expected a whole number from 1 to 65536 B, got 256.5; for example 1"},
        Bad{"\"value\": 256,\n    \"unit\": \"B\"", "\"value\": 1e9,\n    \"unit\": \"B\"",
            "/shared_unit/value: expected a whole number from 1 to 65536 B, got 1e+09"},
        Bad{"\"value\": 256,\n    \"unit\": \"B\"", "\"unit\": \"B\"",
            "/shared_unit: missing required field \"value\""},
        Bad{"\"value\": 256,\n    \"unit\": \"B\"", "\"value\": \"256\",\n    \"unit\": \"B\"",
            "/shared_unit/value: expected a number, got"},
        Bad{"\"category\": \"vendor\"", "\"category\": \"vender\"", "did you mean 'vendor'?"},
        Bad{"[32768, 65536]", "[98304, 65536]",
            "/shared_sizes/values: expected ascending numbers, for example"},
        Bad{"cuda_occupancy.h of CUDA 13.0", "", "/register_unit/source: expected a text of one line"}));

/// The table of docs/architecture.md.
std::string table() {
    std::string rows =
        "| field | unit | 9.0 | category | known of | what it is |\n|---|---|---|---|---|---|\n";
    const auto row = [&](const std::string &name, const auto &value_of) {
        const ArchitectureField *is = nullptr;
        for (const ArchitectureField &field : architecture_fields())
            if (name == field.name)
                is = &field;
        ASSERT_NE(is, nullptr) << name;
        std::string hopper, category, others;
        for (const int capability : shipped_architectures()) {
            const auto [value, of] =
                value_of(described::read_document<Architecture>(file_of(capability), "file"));
            if (capability == 90)
                hopper = value, category = of;
            else if (!value.empty())
                others += fmt::format("{}{}.{}: {}", others.empty() ? "" : "; ", capability / 10,
                                      capability % 10, value);
        }
        rows += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", name, is->unit, hopper, category, others,
                            is->meaning);
    };
    using Text = std::pair<std::string, std::string>;
    const auto text_of = [](const auto &field) -> Text {
        if (!field)
            return {};
        std::string value;
        if constexpr (requires { field->values; })
            for (const double number : field->values)
                value += fmt::format("{}{}", value.empty() ? "" : ", ", number);
        else
            value = fmt::format("{}", field->value);
        return {value, boost::describe::enum_to_string(field->category, "?")};
    };
    boost::mp11::mp_for_each<described::Members<ArchitectureLimits>>([&](auto member) {
        row(std::string("limits/") + member.name,
            [&](const Architecture &of) { return text_of(of.limits.*member.pointer); });
    });
    boost::mp11::mp_for_each<described::Members<Architecture>>([&](auto member) {
        using Field = std::decay_t<decltype(std::declval<Architecture>().*member.pointer)>;
        if constexpr (described::IsOptional<Field>::value)
            row(member.name, [&](const Architecture &of) { return text_of(of.*member.pointer); });
    });
    return rows;
}

TEST(Architecture, EveryFieldIsInItsPageWithItsValues) {
    const std::string expected = table();
    EXPECT_TRUE(read_file(CONVCAST_SOURCE_DIR "/docs/architecture.md").find(expected) != std::string::npos)
        << "docs/architecture.md must have this table:\n"
        << expected;
}

} // namespace
} // namespace convcast
