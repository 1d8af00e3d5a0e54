#include "model/errors.hpp"
#include "model/json.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace convcast;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

TEST(Json, ValuesKnowTheirLine) {
    const JsonValue root = parse_json("{\n  \"a\": 1,\n  \"b\": [\n    true,\n    2.5\n  ]\n}", "f");
    EXPECT_EQ(root.find("a")->line, 2);
    EXPECT_EQ((*root.find("b")->array())[0].line, 4);
    EXPECT_EQ((*root.find("b")->array())[1].line, 5);
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
        const JsonValue back = parse_json(to_text(JsonValue(value)), "f");
        const auto *number = std::get_if<double>(&back.data);
        ASSERT_NE(number, nullptr);
        EXPECT_EQ(*number, value);
    }
    EXPECT_EQ(to_text(JsonValue(std::nan(""))), "null\n");
    EXPECT_EQ(to_text(JsonValue(std::numeric_limits<double>::infinity())), "null\n");
}

TEST(Json, RefusesWhatWouldLoseData) {
    EXPECT_THAT([] { parse_json("{\"a\": 1,\n \"a\": 2}", "f"); },
                ThrowsMessage<InputError>(testing::AllOf(HasSubstr("f:2"), HasSubstr("duplicate key \"a\""))));
    EXPECT_THAT([] { parse_json(std::string(100, '[') + std::string(100, ']'), "f"); },
                ThrowsMessage<InputError>(HasSubstr("nested deeper")));
    EXPECT_THAT([] { parse_json("{\n\"a\": nan}", "f"); }, ThrowsMessage<InputError>(HasSubstr("f:2: not valid JSON")));
    EXPECT_THAT([] { parse_json("", "f"); }, ThrowsMessage<InputError>(HasSubstr("not valid JSON")));
    EXPECT_THAT([] { parse_json("{} x", "f"); }, ThrowsMessage<InputError>(HasSubstr("not valid JSON")));
    EXPECT_THAT([] { parse_json("\"\xff\"", "f"); }, ThrowsMessage<InputError>(HasSubstr("not valid JSON")));
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
                    parse_json(t, "f");
                } catch (const InputError &) {
                    ++refused;
                }
            }
        }
    EXPECT_GT(refused, 1000);
}

} // namespace
