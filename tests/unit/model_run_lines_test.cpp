#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/machine/knowledge.hpp"
#include "model/predict.hpp"
#include "model/record/run_lines.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

using namespace convcast;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

convcast::Run sample(std::size_t cases) {
    convcast::Run run;
    run.producer = {"1", "device", "measuring"};
    run.profile_id = "h200";
    run.conditions["note"] = "a line\nbreak and a \"quote\"";
    const GpuProfile h200 = find_profile("h200");
    const Case forecast = predict(parse_strategy("naive_global"), ConvShape::parse("n1c3h9w9k4r3s3"), h200);
    for (std::size_t i = 0; i < cases; ++i) {
        Case item = forecast;
        item.shape = "n" + std::to_string(i + 1) + "c3h9w9k4r3s3";
        run.cases.push_back(item);
    }
    return run;
}

convcast::Run without_terms(convcast::Run run) {
    for (Case &item : run.cases)
        item.prediction->term.reset();
    return run;
}

TEST(RunLines, HoldADocumentButForItsTerms) {
    const convcast::Run run = sample(150); // more than a thread reads at once
    const std::string lines = write_run_lines(run);
    EXPECT_TRUE(are_run_lines(lines));
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 151);
    EXPECT_EQ(write_run(read_run(lines, "all.jsonl")), write_run(without_terms(run)));
    EXPECT_FALSE(are_run_lines(write_run(run)));
    EXPECT_FALSE(are_run_lines(""));
    EXPECT_EQ(read_run(write_run_lines(sample(0)), "none.jsonl").cases.size(), 0U);
}

TEST(RunLines, AreReadPieceByPieceFromAFile) {
    const TemporaryFolder folder;
    const std::string file = folder.path() + "/lines.jsonl";
    const convcast::Run run = sample(5000); // more than a piece
    write_run_file(file, run);
    std::vector<std::size_t> pieces;
    std::string last;
    read_run_pieces(file, {}, [&](convcast::Run piece) {
        EXPECT_EQ(piece.profile_id, "h200");
        pieces.push_back(piece.cases.size());
        last = piece.cases.back().shape;
    });
    EXPECT_THAT(pieces, testing::ElementsAre(4096, 904));
    EXPECT_EQ(last, run.cases.back().shape);
}

TEST(RunLines, ACaseThatCannotBeReadIsPutAsideWithItsLine) {
    std::string lines = write_run_lines(sample(3));
    const std::size_t second = lines.find("\"n2c3h9");
    lines.replace(second, 3, "\"m2");
    const convcast::Run run = read_run(lines, "bad.jsonl");
    EXPECT_EQ(run.cases.size(), 2U);
    ASSERT_EQ(run.unread.size(), 1U);
    EXPECT_EQ(run.unread[0].before, 1U);
    EXPECT_THAT(run.unread[0].problems.at(0).place, "bad.jsonl:3: /cases/1/shape");
    EXPECT_THAT(write_run_lines(run), HasSubstr("\"m2c3h9")); // written back in its place
    EXPECT_EQ(read_run(write_run_lines(run), "again.jsonl").unread[0].before, 1U);
}

TEST(RunLines, ALineThatIsNoJsonSpoilsNoOther) {
    std::string lines = write_run_lines(sample(3));
    lines.insert(lines.find('\n') + 1, "{\"shape\": \n");
    const convcast::Run run = read_run(lines, "bad.jsonl");
    EXPECT_EQ(run.cases.size(), 3U);
    ASSERT_EQ(run.unread.size(), 1U);
    EXPECT_THAT(run.unread[0].problems.at(0).place, HasSubstr("bad.jsonl:2"));
    EXPECT_THAT(write_run_lines(run), HasSubstr("\n{\"shape\":\n"));
    const std::string document = write_run(run); // JSON cannot hold it but as a string
    EXPECT_THAT(document, HasSubstr(R"("{\"shape\":")"));
    const convcast::Run again = read_run(document, "bad.json");
    EXPECT_EQ(again.cases.size(), 3U);
    ASSERT_EQ(again.unread.size(), 1U);
    EXPECT_EQ(write_run(again), document);
}

TEST(RunLines, ADocumentOfWhichNothingCanBeReadIsRefused) {
    const std::string head = write_run_lines(sample(0));
    EXPECT_THAT([&] { read_run(head + "{}\n{}\n", "bad.jsonl"); },
                ThrowsMessage<InputError>(HasSubstr("bad.jsonl:2: /cases/0")));
    EXPECT_THAT([&] { read_run("{\"schema\": \"convcast/run/9\"}\n", "bad.jsonl"); },
                ThrowsMessage<InputError>(HasSubstr("convcast/run/1")));
}

TEST(RunLines, ADocumentReadAndWrittenIsTheSame) {
    const std::string text = write_run(sample(200));
    EXPECT_EQ(write_run(read_run(text, "run.json")), text);
    std::string broken = text;
    broken.replace(broken.find("\"n2c3h9"), 3, "\"m2");
    const convcast::Run rest = read_run(broken, "run.json");
    ASSERT_EQ(rest.unread.size(), 1U);
    const std::string lines = broken.substr(0, broken.find("\"m2c3h9"));
    EXPECT_THAT(rest.unread[0].problems.at(0).place,
                HasSubstr("run.json:" + std::to_string(1 + std::count(lines.begin(), lines.end(), '\n')) +
                          ": /cases/1/shape"));
    EXPECT_EQ(write_run(rest), broken);
}

} // namespace
