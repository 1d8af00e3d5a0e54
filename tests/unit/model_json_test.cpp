#include "model/base/errors.hpp"
#include "model/base/json.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace convcast;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

/// What stands in a document, written anew.
std::string rewritten(const std::string &text) {
    JsonWriter writer;
    parse_json(text, "f", std::ref(writer));
    return writer.take() + "\n";
}

std::string written(const JsonEvent &event) {
    JsonWriter writer;
    writer(event);
    return writer.take() + "\n";
}

TEST(Json, ValuesKnowTheirLine) {
    const std::string text = "{\n  \"a\": 1,\n  \"b\": [\n    true,\n    2.5\n  ]\n}";
    EXPECT_EQ(parts_of_json(text, "f", {"/a", "/b/0", "/b/1", "/b/2", "/c"}).lines,
              (std::vector<int>{2, 4, 5, 3, 1}))
        << "of what is not there, the deepest part that is";
    EXPECT_EQ(parts_of_json(text, "f", {"/a", "/b/1"}, {}, 10).lines, (std::vector<int>{11, 14}));
}

TEST(Json, EveryDoubleSurvivesTheRoundTrip) {
    std::mt19937_64 random(3);
    for (int i = 0; i < 20000; ++i) {
        const std::uint64_t bits = random();
        double value;
        static_assert(sizeof value == sizeof bits);
        std::memcpy(&value, &bits, sizeof value);
        if (!std::isfinite(value))
            continue;
        int events = 0;
        parse_json(written({.kind = JsonEvent::Kind::number, .number = value}), "f",
                   [&](const JsonEvent &back) {
                       ++events;
                       ASSERT_EQ(back.kind, JsonEvent::Kind::number);
                       EXPECT_EQ(back.number, value);
                   });
        ASSERT_EQ(events, 1);
    }
    for (const double none : {std::nan(""), std::numeric_limits<double>::infinity()})
        EXPECT_EQ(written({.kind = JsonEvent::Kind::number, .number = none}), "null\n");
}

TEST(Json, RefusesWhatWouldLoseData) {
    EXPECT_THAT(
        [] { rewritten("{\"a\": 1,\n \"a\": 2}"); },
        ThrowsMessage<InputError>(testing::AllOf(HasSubstr("f:2"), HasSubstr("duplicate key \"a\""))));
    EXPECT_THAT([] { rewritten(std::string(100, '[') + std::string(100, ']')); },
                ThrowsMessage<InputError>(HasSubstr("nested deeper")));
    EXPECT_THAT([] { rewritten("{\n\"a\": nan}"); },
                ThrowsMessage<InputError>(HasSubstr("f:2: not valid JSON")));
    EXPECT_THAT([] { rewritten(""); }, ThrowsMessage<InputError>(HasSubstr("not valid JSON")));
    EXPECT_THAT([] { rewritten("{} x"); }, ThrowsMessage<InputError>(HasSubstr("not valid JSON")));
    EXPECT_THAT([] { rewritten("\"\xff\""); }, ThrowsMessage<InputError>(HasSubstr("not valid JSON")));
}

TEST(Json, DuplicateKeysOfLargeObjectsAreFoundAtTheirLine) {
    std::string text = "{\n";
    for (int i = 0; i < 1000; ++i)
        text += "\"key" + std::to_string(i) + "\": 1,\n";
    std::size_t members = 0;
    parse_json(text + "\"last\": 1}", "f",
               [&](const JsonEvent &event) { members += event.kind == JsonEvent::Kind::key ? 1U : 0U; });
    EXPECT_EQ(members, 1001u);
    EXPECT_THAT([&] { rewritten(text + "\"key7\": 1}"); },
                ThrowsMessage<InputError>(HasSubstr("f:1002: duplicate key \"key7\"")));
}

/// The parser takes a NUL for the end of its text.
TEST(Json, BytesBehindANulAreRefused) {
    using namespace std::string_literals;
    EXPECT_THAT([] { rewritten("{\n\"a\": 1}\n\0{\"b\""s); },
                ThrowsMessage<InputError>(HasSubstr("f:3: not valid JSON: a NUL byte")));
    EXPECT_THAT([] { rewritten("\0"s); }, ThrowsMessage<InputError>(HasSubstr("f:1: not valid JSON")));
}

TEST(Json, PartsAreWrittenAnew) {
    const std::string text = R"({"a":[1,{"b":[ ]}, [2,3],4], "c": {}, "d": "x"})";
    const auto part = [&](const std::string &path) {
        return parts_of_json(text, "f", {}, {path}).texts.at(0);
    };
    EXPECT_EQ(part("/a/1"), "{\n  \"b\": []\n}\n");
    EXPECT_EQ(part("/a"), "[\n  1,\n  {\n    \"b\": []\n  },\n  [2, 3],\n  4\n]\n");
    EXPECT_EQ(part("/d"), "\"x\"\n");
    EXPECT_EQ(part("/e"), "");
    JsonWriter line(JsonWriter::Layout::one_line);
    parse_json(text, "f", std::ref(line));
    EXPECT_EQ(line.take(), R"({"a": [1,{"b": []},[2, 3],4],"c": {},"d": "x"})");
    JsonWriter scalars_first;
    parse_json("[1, \"a, b\", [], null]", "f", std::ref(scalars_first));
    EXPECT_EQ(scalars_first.take(), "[\n  1,\n  \"a, b\",\n  [],\n  null\n]");
}

TEST(Json, WhatIsWrittenIsWrittenAgainAlike) {
    const std::string once = rewritten(R"({"a": [1, "text", {"b": null}], "text": "text"})");
    EXPECT_EQ(rewritten(once), once);
    for (const char *part : {"\"a\"", "1", "\"text\"", "\"b\"", "null"})
        EXPECT_THAT(once, HasSubstr(part));
}

/// A terminal takes C1 control characters for commands, and JSON does not have to escape them.
TEST(Json, ControlCharactersAreEscaped) {
    EXPECT_EQ(written({.kind = JsonEvent::Kind::string, .text = "a\x1b\x7f\xC2\x9b\xC3\xA4"}),
              "\"a\\u001b\\u007f\\u009b\xC3\xA4\"\n");
    std::string read;
    parse_json("\"\\u009b\"", "f", [&](const JsonEvent &event) { read += event.text; });
    EXPECT_EQ(read, "\xC2\x9b");
}

TEST(Errors, WhatIsQuotedIsShortAndPrintable) {
    EXPECT_EQ(shortened("short"), "short");
    EXPECT_EQ(shortened(std::string(200, 'x'), 10), "xxxxxxxxxx... (200 bytes)");
    EXPECT_EQ(shortened("\xC3\xA4\xC3\xA4\xC3\xA4", 3), "\xC3\xA4... (6 bytes)") << "whole characters";
    EXPECT_EQ(printable("a\x1b]0;title\x07\r\n\tb\x7f\xC2\x9b\xC3\xA4"),
              "a\\x1b]0;title\\x07\\x0d\n\tb\\x7f\\x9b\xC3\xA4");
    EXPECT_EQ(printable("\x1b[1mbold\x1b[0m"), "\x1b[1mbold\x1b[0m") << "ours";
    EXPECT_EQ(did_you_mean("dram_latancy", {"dram_latency"}), "; did you mean 'dram_latency'?");
    EXPECT_EQ(did_you_mean(std::string(20 << 20, 'x'), {"dram_latency"}), ".");
}

TEST(DidYouMean, APartThatWasTypedRight) {
    const std::vector<std::string> studies = {"resnet50_b1", "resnet50_b32", "vgg16_b1"};
    EXPECT_EQ(did_you_mean("resnet50", studies), "; did you mean 'resnet50_b1' or 'resnet50_b32'?");
    EXPECT_EQ(did_you_mean("1080TI", {"gtx1080ti", "k40m"}), "; did you mean 'gtx1080ti'?");
    EXPECT_EQ(did_you_mean("dram_bandwidth", {"l1_bandwidth", "dram_read_bandwidth", "dram_write_bandwidth"}),
              "; did you mean 'dram_read_bandwidth' or 'dram_write_bandwidth'?");
    EXPECT_EQ(did_you_mean("pred", {"measure", "predict"}), "; did you mean 'predict'?");
    EXPECT_EQ(
        did_you_mean("resnet", {"resnet_1_b1", "resnet_2_b1", "resnet_3_b1", "resnet_4_b1", "resnet_5_b1"}),
        "; did you mean 'resnet_1_b1', 'resnet_2_b1', 'resnet_3_b1' or another of the 5 that have it in "
        "their "
        "names?");
    EXPECT_EQ(did_you_mean("h100", {"h200"}), ".") << "another GPU, no slip";
    EXPECT_EQ(did_you_mean("h20", {"h200"}), "; did you mean 'h200'?");
}

/// Any prefix or one-byte change of a document parses or throws InputError, and nothing else.
TEST(Json, DamagedTextNeverDoesMoreThanThrow) {
    const std::string text = "{\"a\": [1, -2.5e3, \"\\u00e4\\n\", {\"b\": null}], \"c\": true}";
    int refused = 0;
    for (std::size_t i = 0; i < text.size(); ++i)
        for (int byte = 0; byte < 256; byte += 5) {
            std::string damaged = text;
            damaged[i] = static_cast<char>(byte);
            for (const std::string &t : {damaged, text.substr(0, i)}) {
                try {
                    rewritten(t);
                } catch (const InputError &) {
                    ++refused;
                }
            }
        }
    EXPECT_GT(refused, 1000);
}

} // namespace
