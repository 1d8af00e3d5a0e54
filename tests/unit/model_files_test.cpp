#include "model/errors.hpp"
#include "model/files.hpp"
#include "model/run.hpp"
#include "model/study.hpp"

#include <gmock/gmock.h>

#include <filesystem>

using namespace convcast;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

TEST(Files, WriteIsAllOrNothing) {
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "convcast_files";
    std::filesystem::create_directories(folder);
    const std::string path = (folder / "a.json").string();
    write_file_atomically(path, "one");
    write_file_atomically(path, "two");
    EXPECT_EQ(read_file(path), "two");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "a temporary file was left";
    EXPECT_THAT([&] { write_file_atomically((folder / "no" / "b.json").string(), "x"); },
                ThrowsMessage<InputError>(HasSubstr("No such file")));
    EXPECT_THAT([&] { write_file_atomically("/dev/full", "x"); },
                ThrowsMessage<InputError>(HasSubstr("No space left")));
    EXPECT_THAT([&] { read_file(folder.string()); }, ThrowsMessage<InputError>(HasSubstr("is a folder")));
    std::filesystem::remove_all(folder);
}

TEST(Files, GzipRoundTripsAndDamageIsSaid) {
    const std::string path = testing::TempDir() + "convcast_packed.json.gz";
    std::string text;
    for (int i = 0; i < 30000; ++i)
        text += std::to_string(i * 7919);
    write_file_atomically(path, text);
    EXPECT_LT(std::filesystem::file_size(path), text.size() / 2);
    EXPECT_EQ(read_file(path), text);
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    EXPECT_THAT([&] { read_file(path); }, ThrowsMessage<InputError>(HasSubstr("damaged or cut gzip")));
    std::filesystem::remove(path);
}

TEST(Studies, ShippedOnesHoldThePapersCases) {
    EXPECT_EQ(find_study("chang_single").shapes.size(), 18u);
    EXPECT_EQ(find_study("chang_multi").shapes.size(), 33u);
    EXPECT_EQ(find_study("chang_single").published.front().average, 2.6);
    EXPECT_EQ(find_study("chang_multi").published.front().average, 1.39);
    EXPECT_THAT([] { find_study("chang_singel"); }, ThrowsMessage<UsageError>(HasSubstr("did you mean 'chang_single'?")));
}

TEST(Runs, RoundTripAndEveryProblem) {
    convcast::Run run;
    run.profile_id = "toy";
    Case item;
    item.shape = "n1c1h8w8k1r1s1";
    item.strategy = "map_split:pieces=1";
    item.reason = "a \"quoted\" reason\n";
    run.cases = {item};
    const std::string text = write_run(run);
    EXPECT_EQ(write_run(read_run(text, "r")), text);
    run.cases[0].shape = "nonsense";
    run.cases[0].baseline = "cudnn:gemm";
    try {
        read_run(write_run(run), "r");
        FAIL() << "accepted";
    } catch (const InputError &error) {
        EXPECT_EQ(error.problems.size(), 2u) << error.what();
    }
}

} // namespace
