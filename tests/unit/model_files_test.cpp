#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/sha256.hpp"
#include "model/machine/knowledge.hpp"
#include "model/predict.hpp"
#include "model/record/run.hpp"
#include "model/record/study.hpp"
#include "model/shape/conv_shape.hpp"
#include "tests/unit/recorded_cases.hpp"

#include <gmock/gmock.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace convcast;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

TEST(Files, Sha256IsThatOfTheStandard) {
    EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), // of a block and a half
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(sha256(std::string(1000000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/// A folder of its own, empty before and removed after.
struct Folder {
    std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "convcast_temporaries";
    Folder() {
        std::filesystem::remove_all(path);
        std::filesystem::create_directories(path);
    }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string operator/(const char *name) const { return (path / name).string(); }
    std::ptrdiff_t files() const { return std::distance(std::filesystem::directory_iterator(path), {}); }
};

TEST(Files, NewFoldersTakeTheirPlaceWhole) {
    namespace fs = std::filesystem;
    const Folder in;
    const fs::path target = in.path / "new";
    {
        const NewFolder unfinished(target.string());
        write_file_atomically(unfinished.path() + "/a", "half");
        EXPECT_FALSE(fs::exists(target));
    }
    EXPECT_EQ(in.files(), 0);
    fs::create_directory(target); // an empty one may be there
    NewFolder finished(target.string() + "/");
    write_file_atomically(finished.path() + "/a", "whole");
    finished.take_place();
    EXPECT_EQ(read_file((target / "a").string()), "whole");
    EXPECT_EQ(in.files(), 1);
    EXPECT_THAT([&] { const NewFolder again(target.string()); },
                testing::ThrowsMessage<InputError>(testing::HasSubstr("not empty")));
    EXPECT_THAT([&] { const NewFolder again((target / "a").string()); },
                testing::ThrowsMessage<InputError>(testing::HasSubstr("is no folder")));
    EXPECT_EQ(in.files(), 1);
}

TEST(Files, WriteIsAllOrNothing) {
    const Folder folder;
    const std::string path = folder / "a.json";
    write_file_atomically(path, "one");
    write_file_atomically(path, "two");
    EXPECT_EQ(read_file(path), "two");
    EXPECT_EQ(folder.files(), 1) << "a temporary file was left";
    EXPECT_THAT([&] { write_file_atomically(folder / "no/b.json", "x"); },
                ThrowsMessage<InputError>(HasSubstr("No such file")));
    EXPECT_THAT([&] { write_file_atomically("/dev/full", "x"); },
                ThrowsMessage<InputError>(HasSubstr("No space left")));
    EXPECT_THAT([&] { read_file(folder.path.string()); },
                ThrowsMessage<InputError>(HasSubstr("is a folder")));
}

TEST(Files, TemporaryOnesAreNobodyElses) {
    const Folder folder;
    write_file_atomically(folder / "a.json", "old");
    {
        TemporaryFile one(folder / "a.json"), other(folder / "a.json");
        EXPECT_NE(one.path(), other.path());
        EXPECT_EQ(folder.files(), 3);
        ::close(one.take_descriptor());
        one.replace_target();
        EXPECT_EQ(folder.files(), 2);
    }
    EXPECT_EQ(folder.files(), 1);
    EXPECT_EQ(read_file(folder / "a.json"), "");
    check_writable(folder / "a.json");
    check_writable(folder / "b.json");
    EXPECT_EQ(folder.files(), 1);
}

TEST(Files, KeepModesAndLinks) {
    const Folder folder;
    write_file_atomically(folder / "a.json", "old");
    std::filesystem::permissions(folder / "a.json", std::filesystem::perms(0600));
    std::filesystem::create_symlink("a.json", folder / "link.json");
    write_file_atomically(folder / "link.json", "new");
    EXPECT_TRUE(std::filesystem::is_symlink(folder / "link.json"));
    EXPECT_EQ(read_file(folder / "a.json"), "new");
    EXPECT_EQ(std::filesystem::status(folder / "a.json").permissions(), std::filesystem::perms(0600));
    std::filesystem::create_symlink("round.json", folder / "round.json");
    EXPECT_THAT([&] { write_file_atomically(folder / "round.json", "x"); },
                ThrowsMessage<InputError>(HasSubstr("symbolic links")));
    EXPECT_THAT([&] { check_writable(folder / "round.json"); },
                ThrowsMessage<InputError>(HasSubstr("symbolic links")));
}

TEST(Files, AProgramThatEndsAtOnceLeavesNone) {
    const Folder folder;
    const auto end_with_two = [&] {
        const TemporaryFile one(folder / "a.json");
        const TemporaryFile other(folder / "b.json");
        exit_now(130);
    };
    EXPECT_EXIT(end_with_two(), testing::ExitedWithCode(130), "");
    EXPECT_EQ(folder.files(), 0);
}

TEST(Files, AProgramThatEndsAtOnceLeavesNoFolder) {
    const Folder folder;
    const std::string made = folder / "made", kept = folder / "kept", there = folder / "there";
    make_folder(there);
    const auto end_with_folders = [&] {
        TemporaryFolder unfinished(made), finished(kept);
        const TemporaryFolder of_somebody(there), of_the_system;
        write_file_atomically(made + "/half", "x");
        write_file_atomically(of_the_system.path() + "/half", "x");
        finished.keep();
        write_file_atomically(folder / "where", of_the_system.path());
        exit_now(130);
    };
    EXPECT_EXIT(end_with_folders(), testing::ExitedWithCode(130), "");
    EXPECT_FALSE(file_exists(made));
    EXPECT_TRUE(file_exists(kept));
    EXPECT_TRUE(file_exists(there)) << "it was there before";
    EXPECT_FALSE(file_exists(read_file(folder / "where")));
}

TEST(Files, APipeThatNobodyReadsIsNoFailedFile) {
    const Folder folder;
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    const int reader = ::open((folder / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
    const auto old = std::signal(SIGPIPE, SIG_IGN);
    std::thread leave([&] {
        pollfd filled{reader, POLLIN, 0};
        (void)::poll(&filled, 1, -1); // as head does, it leaves after the first bytes
        ::close(reader);
    });
    EXPECT_THROW(write_file_atomically(folder / "pipe", std::string(1 << 22, 'x')), ClosedPipe);
    leave.join();
    std::signal(SIGPIPE, old);
}

TEST(Files, GzipRoundTripsAndDamageIsSaid) {
    const Folder folder;
    const std::string path = folder / "packed.json.gz";
    std::string text;
    for (int i = 0; i < 30000; ++i)
        text += std::to_string(i * 7919);
    write_file_atomically(path, text);
    EXPECT_LT(std::filesystem::file_size(path), text.size() / 2);
    EXPECT_EQ(read_file(path), text);
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    EXPECT_THAT([&] { read_file(path); }, ThrowsMessage<InputError>(HasSubstr("damaged or cut gzip")));
}

TEST(Studies, ShippedOnesHoldThePapersCases) {
    EXPECT_EQ(find_study("chang_single").shapes.size(), 18u);
    EXPECT_EQ(find_study("chang_multi").shapes.size(), 33u);
    EXPECT_EQ(find_study("chang_single").published.front().average, 2.6);
    EXPECT_EQ(find_study("chang_multi").published.front().average, 1.39);
    EXPECT_EQ(find_study("chen_special").shapes.size(), 36u);
    EXPECT_EQ(find_study("chen_special").published.front().average, 5.16);
    EXPECT_EQ(find_study("chen_general").shapes.size(), 24u);
    EXPECT_EQ(find_study("chen_general").published.front().average, 1.355);
    for (const std::string &text : find_study("chen_special").shapes)
        EXPECT_EQ(ConvShape::parse(text).c, 1) << text;
    for (const char *name : {"chang_multi", "chen_general", "partition_2bcde"})
        for (const std::string &text : find_study(name).shapes)
            EXPECT_GT(ConvShape::parse(text).c, 1) << text;
    EXPECT_THAT([] { find_study("chang_singel"); },
                ThrowsMessage<UsageError>(HasSubstr("did you mean 'chang_single'?")));
}

TEST(Studies, AllShippedOnesAreSound) {
    for (const std::string &name : shipped_studies()) {
        const Study study = find_study(name);
        EXPECT_EQ(study.id, name);
        EXPECT_FALSE(study.title.empty() || study.citation.empty()) << name;
        const std::set<std::string> distinct(study.shapes.begin(), study.shapes.end());
        EXPECT_EQ(distinct.size(), study.shapes.size()) << name << " holds a shape twice";
    }
}

TEST(Studies, NetworksHaveTheirLayersAndMultiplyAdds) {
    struct Network {
        const char *name;
        std::int64_t layers;
        std::size_t distinct;
        double fmas; ///< of one image
    };
    // AlexNet: 70,276,800 + 223,948,800 + 112,140,288 + 149,520,384 + 99,680,256. The others are sums of the
    // same kind; the published 15.3 G, 1.8 G and 4.1 G are rounded.
    for (const Network &known :
         {Network{"alexnet", 5, 5, 655566528.0}, Network{"vgg16", 13, 9, 15346630656.0},
          Network{"resnet18", 20, 11, 1813561344.0}, Network{"resnet50", 53, 23, 4087136256.0}})
        for (const int batch : {1, 32}) {
            const Study study = find_study(known.name + ("_b" + std::to_string(batch)));
            EXPECT_EQ(study.shapes.size(), known.distinct) << study.id;
            ASSERT_EQ(study.counts.size(), study.shapes.size()) << study.id;
            std::int64_t layers = 0;
            double fmas = 0.0;
            for (std::size_t i = 0; i < study.shapes.size(); ++i) {
                const ConvShape shape = ConvShape::parse(study.shapes[i]);
                EXPECT_EQ(shape.n, batch) << study.shapes[i];
                layers += study.counts[i];
                fmas += static_cast<double>(study.counts[i]) * shape.fmas().value;
            }
            EXPECT_EQ(layers, known.layers) << study.id;
            EXPECT_EQ(fmas, batch * known.fmas) << study.id;
        }
}

TEST(Studies, EveryLayerOfANetworkFollowsFromAnother) {
    // Where a layer's output is not another's input, the network ends or pools: channels must go on all the
    // same.
    for (const char *name : {"alexnet_b1", "vgg16_b1", "resnet18_b1", "resnet50_b1"}) {
        std::set<std::int64_t> made = {3};
        for (const std::string &text : find_study(name).shapes)
            made.insert(ConvShape::parse(text).k);
        for (const std::string &text : find_study(name).shapes)
            EXPECT_TRUE(made.contains(ConvShape::parse(text).c)) << name << " " << text;
    }
}

TEST(Studies, CountsAreChecked) {
    const auto study = [](const std::string &counts) {
        return R"({"schema": "convcast/study/1", "id": "x", "title": "", "citation": "",
                   "shapes": ["n1c1h8w8k1r1s1", "n1c1h9w9k1r1s1"], "counts": )" +
               counts + "}";
    };
    EXPECT_EQ(read_study(study("[2, 3]"), "s").counts, (std::vector<std::int64_t>{2, 3}));
    EXPECT_THAT([&] { read_study(study("[2]"), "s"); },
                ThrowsMessage<InputError>(HasSubstr("one count for each of the 2 shapes, got 1")));
    EXPECT_THAT([&] { read_study(study("[2, 0]"), "s"); }, ThrowsMessage<InputError>(HasSubstr("/counts/1")));
}

std::string read_back(const std::string &bytes) {
    return unpacked(bytes, "packed.gz");
}

TEST(Files, GzipIsReadWholeOrNotAtAll) {
    EXPECT_EQ(read_back(gzip("one")), "one");
    EXPECT_EQ(read_back(gzip("one ") + gzip("") + gzip("two")), "one two") << "members follow each other";
    EXPECT_THAT([] { read_back(gzip("one") + "x"); },
                ThrowsMessage<InputError>(HasSubstr("has 1 bytes behind the end of its gzip data")));
    EXPECT_THAT([] { read_back(gzip("one") + gzip("two").substr(0, 12)); },
                ThrowsMessage<InputError>(HasSubstr("damaged or cut")));
}

TEST(Files, WhatNeverEndsIsRefused) {
    EXPECT_THAT([] { read_file("/dev/zero"); },
                ThrowsMessage<InputError>(HasSubstr("begins with a NUL byte")));
}

/// One measured case with a forecast, whose numbers are then made nonsense.
convcast::Run measured_run() {
    Case item = measured_case("n1c1h8w8k1r1s1", "map_split:pieces=1", 1e-5, {1e-5});
    Measurement &m = item.measurements[0];
    m.work.emplace().fmas = 64.0;
    m.counters = {{"sm__cycles_active", 100.0}};
    m.relative_l2_error = std::numeric_limits<double>::quiet_NaN(); // a result that is not finite
    Prediction &forecast = item.prediction.emplace();
    forecast.time_s = forecast.times.tier2_s = Seconds(1e-5);
    return run_of({item});
}

TEST(Runs, NumbersThatNothingCanCountOrMeasureAreRefused) {
    const std::string good = write_run(measured_run());
    EXPECT_EQ(write_run(read_run(good, "r")), good);
    const auto refuses = [&](const auto &change, const std::string &place) {
        for (const double bad : {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
            convcast::Run run = measured_run();
            change(run.cases[0], bad);
            EXPECT_THAT([&] { read_run(write_run(run), "r"); },
                        ThrowsMessage<InputError>(
                            AllOf(HasSubstr("r:"), HasSubstr(": /cases/0/" + place + ": expected"))))
                << bad;
        }
    };
    refuses([](Case &c, double v) { c.measurements[0].work->fmas = v; }, "measurements/0/work/fmas");
    refuses([](Case &c, double v) { c.measurements[0].counters->begin()->second = v; },
            "measurements/0/counters/sm__cycles_active");
    refuses([](Case &c, double v) { c.measurements[0].time_s = Seconds(v); }, "measurements/0/time_s");
    refuses([](Case &c, double v) { c.measurements[0].samples_s[0] = Seconds(v); },
            "measurements/0/samples_s/0");
    refuses([](Case &c, double v) { c.measurements[0].event_time_s = Seconds(v); },
            "measurements/0/event_time_s");
    refuses([](Case &c, double v) { c.measurements[0].sm_clock_hz = Frequency(v); },
            "measurements/0/sm_clock_hz");
    refuses([](Case &c, double v) { c.prediction->time_s = Seconds(v); }, "prediction/time_s");
    refuses([](Case &c, double v) { c.prediction->times.tier2_s = Seconds(v); }, "prediction/times/tier2_s");
}

/// A file that has the same wrong a million times is not read to its end, nor said to it.
TEST(Runs, ProblemsAreBounded) {
    std::string text = R"({"schema": "convcast/run/1", "cases": [1)";
    for (int i = 0; i < 100000; ++i)
        text += ",1";
    try {
        read_run(text + "]}", "r");
        FAIL() << "accepted";
    } catch (const InputError &error) {
        EXPECT_LE(error.problems.size(), 1000u);
        EXPECT_LT(std::string(error.what()).size(), 10000u);
    }
    EXPECT_THAT(
        [] { read_run("{\"schema\": \"convcast/run/1\", \"" + std::string(1 << 20, 'x') + "\": 1}", "r"); },
        ThrowsMessage<InputError>(
            AllOf(HasSubstr("xxx... (1048576 bytes): unknown field."),
                  testing::ResultOf([](const std::string &s) { return s.size(); }, testing::Lt(2000u)))));
}

TEST(Runs, RoundTripAndEveryProblem) {
    convcast::Run run = run_of({case_of("n1c1h8w8k1r1s1", "map_split:pieces=1", Status::not_run)});
    run.cases[0].reason = "a \"quoted\" reason\n";
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

/// Members of a plan that earlier versions wrote and that are gone.
TEST(Runs, PlansOfEarlierVersionsAreRead) {
    const convcast::Run run =
        run_of({predict(parse_strategy("map_stream"), ConvShape::parse("n1c64h28w28k64r3s3"),
                        find_profile("h200"), knowledge_for(find_profile("h200")))});
    std::string text = write_run(run);
    const auto before = [&](const std::string &field, const std::string &former) {
        const std::size_t at = text.find(field);
        ASSERT_NE(at, std::string::npos) << field;
        text.insert(at, former);
    };
    before("\"alu_share\"", "\"once_clocks\": 2, \"cold_clocks\": 500, ");
    before("\"snaked\"", "\"loads_first\": true, \"longest_warp\": 1.5, ");
    const convcast::Run read = read_run(text, "old.json");
    EXPECT_TRUE(read.unread.empty());
    EXPECT_EQ(read.cases.size(), 1U);
}

/// A plan is launched as it stands in its document. Those of earlier versions do not say that a kernel on
/// tensor cores needs instructions that only its architecture has.
TEST(Runs, PlansOfEarlierVersionsStillCompile) {
    const convcast::Run run = run_of({predict(parse_strategy("implicit_gemm_3xtf32"),
                                              ConvShape::parse("n1c64h28w28k64r3s3"), find_profile("h200"))});
    ASSERT_EQ(run.cases[0].status, Status::ok);
    std::string text = write_run(run);
    const std::string field = "\"architecture_features\": true,";
    const std::size_t at = text.find(field);
    ASSERT_NE(at, std::string::npos);
    text.erase(at, field.size());
    const convcast::Run read = read_run(text, "old.json");
    ASSERT_EQ(read.cases.size(), 1U);
    const Plan &plan = *read.cases[0].prediction->plan;
    EXPECT_EQ(plan.launches[0].architecture_features, true);
    EXPECT_EQ(plan.prepare[0].architecture_features, std::nullopt);
}

TEST(Runs, CasesThatCannotBeReadKeepTheirPlace) {
    convcast::Run run;
    for (const char *shape : {"n1c1h8w8k1r1s1", "n1c1h9w9k1r1s1", "n1c1h10w10k1r1s1", "n1c1h11w11k1r1s1"}) {
        run.cases.emplace_back().shape = shape;
        run.cases.back().baseline = "im2col_cublas";
    }
    std::string text = write_run(run);
    const auto change = [&](const std::string &from, const std::string &to) {
        text.replace(text.find(from), from.size(), to);
    };
    change("\"not_run\"", "\"from_the_future\"");                                  // of the first
    change("\"shape\": \"n1c1h10w10k1r1s1\"", "\"x_mine\": 7, \"shape\": \"n1\""); // of the third
    text.replace(text.rfind("\"im2col_cublas\""), 15, "\"im3col_cublas\"");        // of the last
    const auto check = [](const std::string &baseline) {
        if (baseline != "im2col_cublas")
            throw UsageError("no such baseline");
    };
    const convcast::Run read = read_run(text, "r.json: /cases/9", check); // a name like a place
    ASSERT_EQ(read.cases.size(), 1u);
    EXPECT_EQ(read.cases[0].shape, "n1c1h9w9k1r1s1");
    ASSERT_EQ(read.unread.size(), 3u);
    EXPECT_THAT(read.unread[0].problems.at(0).place, testing::ContainsRegex("9:[0-9]+: /cases/0/status$"));
    EXPECT_THAT(read.unread[1].problems.at(0).place, testing::ContainsRegex("9:[0-9]+: /cases/2/shape$"));
    EXPECT_THAT(read.unread[2].problems.at(0).place, testing::ContainsRegex("9:[0-9]+: /cases/3/baseline$"));
    std::string written = write_run(read);
    EXPECT_EQ(read_run(written, "again", check).unread.size(), 3u);
    change("\"x_mine\": 7, ", "\"x_mine\": 7,\n      "); // as it is written, a key a line
    EXPECT_EQ(written, text);
    EXPECT_EQ(read_run(text, "r").unread.size(), 2u) << "without names of baselines any is taken";
}

TEST(Runs, NoneOfWhoseCasesCanBeReadAreRefused) {
    convcast::Run run;
    run.cases.resize(2);
    run.cases[0].shape = run.cases[1].shape = "nonsense";
    run.cases[0].baseline = run.cases[1].baseline = "cublas";
    EXPECT_THAT([&] { read_run(write_run(run), "r"); },
                ThrowsMessage<InputError>(HasSubstr("/cases/1/shape")));
    EXPECT_THAT([] { read_run(R"({"schema": "convcast/run/1", "cases": []})", "r"); },
                ThrowsMessage<InputError>(HasSubstr("missing required field \"producer\"")));
}

} // namespace
