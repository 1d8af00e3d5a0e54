#include "model/base/errors.hpp"
#include "model/record/shards.hpp"
#include "tests/unit/recorded_cases.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace convcast;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using testing::UnorderedElementsAreArray;

namespace {

NamedRun document(const std::string &file, std::vector<Case> cases,
                  const std::string &date = "2026-01-01T00:00:00Z") {
    convcast::Run run = run_of(std::move(cases));
    run.producer = {"0.1.0", "device", "measuring"};
    run.profile_hash = "profile";
    run.conditions = {{"gpu", "NVIDIA H200"}, {"gpu_uuid", "GPU-" + file}, {"date", date}};
    return {file, std::move(run)};
}

std::vector<std::string> names(const std::vector<Case> &cases) {
    std::vector<std::string> out;
    out.reserve(cases.size());
    for (const Case &item : cases)
        out.push_back(item.shape + "/" + *item.strategy);
    return out;
}

TEST(Shards, Texts) {
    EXPECT_EQ(parse_shard("2/8").index, 2);
    EXPECT_EQ(parse_shard("2/8").count, 8);
    EXPECT_EQ(parse_shard("1/1").count, 1);
    for (const char *wrong :
         {"", "/", "1", "0/2", "3/2", "1/0", "-1/2", "1/2/3", "1 /2", "a/b", "1/9999999", "1/2x"})
        EXPECT_THAT([&] { parse_shard(wrong); }, ThrowsMessage<UsageError>(HasSubstr("2/8"))) << wrong;
}

TEST(Shards, KeepAShapeTogetherAndHoldEveryCaseOnce) {
    std::vector<Case> cases;
    // Each with four multiply-adds: they take as long.
    const std::string a = "n1c1h1w4k1r1s1", b = "n1c1h2w2k1r1s1", c = "n1c1h4w1k1r1s1", d = "n1c2h1w2k1r1s1",
                      e = "n1c2h2w1k1r1s1";
    for (const std::string &shape : {a, b, c, d, e})
        for (const char *strategy : {"x", "y", "z"})
            cases.push_back(case_of(shape, strategy));
    EXPECT_THAT(names(cases_of({2, 2}, cases)),
                ElementsAre(b + "/x", b + "/y", b + "/z", d + "/x", d + "/y", d + "/z"));
    std::vector<Case> turned(cases.rbegin(), cases.rend());
    EXPECT_THAT(names(cases_of({2, 2}, turned)), UnorderedElementsAreArray(names(cases_of({2, 2}, cases))))
        << "the order in which they were asked says nothing";
    for (int count : {1, 2, 3, 5, 7, 20}) {
        std::multiset<std::string> seen;
        for (int index = 1; index <= count; ++index)
            for (const std::string &name : names(cases_of({index, count}, cases)))
                seen.insert(name);
        EXPECT_EQ(seen.size(), cases.size()) << count;
        EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), cases.size()) << count;
    }
    // Fewer shapes than shards: by case, so that no shard idles while there is work.
    EXPECT_THAT(names(cases_of({2, 7}, cases)), ElementsAre(a + "/y", c + "/z"));
}

TEST(Shards, TakeAboutAsLong) {
    // 100 short parts and 4 that take as long as 25 of them together.
    std::map<std::string, double> parts;
    for (int i = 0; i < 100; ++i)
        parts["short" + std::to_string(i)] = 1.0;
    for (int i = 0; i < 4; ++i)
        parts["long" + std::to_string(i)] = 25.0;
    for (int index = 1; index <= 8; ++index) {
        double seconds = 0.0;
        for (const std::string &name : dealt({index, 8}, parts))
            seconds += parts.at(name);
        EXPECT_EQ(seconds, 25.0) << index;
    }
    const double small = seconds_to_run(ConvShape::parse("n1c8h8w8k8r3s3"));
    EXPECT_LT(small, 0.31);
    EXPECT_GT(seconds_to_run(ConvShape::parse("n32c256h56w56k256r3s3")), 2.0 * small);
}

TEST(Merge, JoinsShardsAndConditions) {
    const convcast::Run all =
        merge({document("a", {measured_case("s", "x", 1.0)}, "2026-01-02T00:00:00Z"),
               document("b", {measured_case("t", "x", 2.0), case_of("t", "y", Status::infeasible)}),
               document("c", {measured_case("u", "x", 3.0)})},
              Conflict::refuse);
    EXPECT_THAT(names(all.cases), ElementsAre("s/x", "t/x", "t/y", "u/x"));
    EXPECT_EQ(all.conditions.at("gpu"), "NVIDIA H200");
    EXPECT_EQ(all.conditions.at("gpu_uuid"), "GPU-a, GPU-b, GPU-c");
    EXPECT_EQ(all.conditions.at("date"), "2026-01-01T00:00:00Z to 2026-01-02T00:00:00Z");
    EXPECT_EQ(all.producer.version, "0.1.0");
    EXPECT_EQ(all.profile_hash, "profile");
}

TEST(Merge, WhatRanGoesBeforeWhatDidNot) {
    const std::vector<Case> some = {case_of("s", "x", Status::not_run), measured_case("t", "x", 1.0),
                                    case_of("u", "x")};
    const std::vector<Case> others = {measured_case("s", "x", 2.0), case_of("t", "x", Status::not_run),
                                      case_of("u", "x", Status::not_run)};
    for (const bool swapped : {false, true}) {
        const convcast::Run all =
            merge({document("a", swapped ? others : some), document("b", swapped ? some : others)},
                  Conflict::refuse);
        ASSERT_EQ(all.cases.size(), 3u);
        EXPECT_EQ(all.cases[0].measurements.at(0).time_s.value, 2.0);
        EXPECT_EQ(all.cases[1].measurements.at(0).time_s.value, 1.0);
        EXPECT_EQ(all.cases[2].status, Status::ok);
    }
}

TEST(Merge, TheSameDocumentTwiceIsThatDocument) {
    const std::vector<Case> cases = {measured_case("s", "x", 1.0), measured_case("s", "x", 1.5),
                                     case_of("t", "x")};
    const convcast::Run all = merge({document("a", cases), document("a", cases)}, Conflict::refuse);
    EXPECT_EQ(names(all.cases), names(cases)) << "a case that stands twice in a document stays twice";
    EXPECT_EQ(all.cases[1].measurements.at(0).time_s.value, 1.5);
}

TEST(Merge, KeepsCasesThatCannotBeReadInTheirPlaces) {
    NamedRun one = document("a", {case_of("s", "x"), case_of("t", "x")}),
             other = document("b", {case_of("t", "x"), case_of("u", "x")});
    one.run.unread = {{0, "1", {}}, {1, "2", {}}, {1, "2", {}}, {2, "3", {}}};
    other.run.unread = {{0, "4", {}}, {1, "3", {}}, {2, "5", {}}};
    const convcast::Run all = merge({one, other}, Conflict::refuse);
    ASSERT_EQ(all.cases.size(), 3u); // s t u
    std::string places;
    for (const UnreadCase &unread : all.unread)
        places += unread.json + " before " + std::to_string(unread.before) + ", ";
    EXPECT_EQ(places, "1 before 0, 2 before 1, 2 before 1, 3 before 2, 4 before 2, 5 before 3, ");
}

TEST(Merge, ACaseMeasuredTwiceIsRefusedOrTheNewer) {
    const auto documents = [](const std::string &first, const std::string &second) {
        return std::vector<NamedRun>{
            document("a", {measured_case("s", "x", 1.0), measured_case("t", "x", 1.0)}, first),
            document("b", {measured_case("s", "x", 2.0), measured_case("t", "x", 2.0)}, second)};
    };
    try {
        merge(documents("2026-01-01", "2026-01-02"), Conflict::refuse);
        FAIL() << "accepted";
    } catch (const InputError &error) {
        EXPECT_EQ(error.problems.size(), 2u) << "not every conflict is said";
        EXPECT_THAT(error.what(), HasSubstr("s x was run for a too"));
        EXPECT_THAT(error.what(), HasSubstr("--newest"));
    }
    const auto time = [](const convcast::Run &run) {
        return run.cases.at(0).measurements.at(0).time_s.value;
    };
    EXPECT_EQ(time(merge(documents("2026-01-01", "2026-01-02"), Conflict::newest)), 2.0);
    EXPECT_EQ(time(merge(documents("2026-01-02", "2026-01-01"), Conflict::newest)), 1.0);
    EXPECT_THAT([&] { merge(documents("2026-01-01", "2026-01-01"), Conflict::newest); },
                ThrowsMessage<InputError>(HasSubstr("do not tell which is newer")));
    std::vector<NamedRun> failed = documents("2026-01-01", "2026-01-02");
    for (Case &item : failed[1].run.cases) {
        item.measurements.clear();
        item.status = Status::wrong_result;
    }
    EXPECT_THROW(merge(failed, Conflict::refuse), InputError) << "a wrong result is a result";
}

TEST(Conditions, EveryValueOnceAndTheWholeTime) {
    EXPECT_EQ(joined_condition("gpu_uuid", {"GPU-a, GPU-b", "GPU-b", "GPU-c, GPU-a"}), "GPU-a, GPU-b, GPU-c");
    EXPECT_EQ(joined_condition("date", {"2026-01-02T00:00:00Z to 2026-01-03T00:00:00Z",
                                        "2026-01-01T00:00:00Z", "2026-01-02T12:00:00Z"}),
              "2026-01-01T00:00:00Z to 2026-01-03T00:00:00Z");
    EXPECT_EQ(joined_condition("date", {"2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z"}),
              "2026-01-02T00:00:00Z");
    EXPECT_EQ(joined_condition("toolkit", {"CUDA 13.0, NVRTC 13.0", "CUDA 13.0, NVRTC 13.0"}),
              "CUDA 13.0, NVRTC 13.0");
    EXPECT_EQ(joined_condition("toolkit",
                               {"CUDA 12.9, NVRTC 12.9; CUDA 13.0, NVRTC 13.0", "CUDA 13.0, NVRTC 13.0"}),
              "CUDA 12.9, NVRTC 12.9; CUDA 13.0, NVRTC 13.0");
}

TEST(Merge, NumbersOfOtherOriginAreNotMixed) {
    const auto against = [](const std::function<void(convcast::Run &)> &change) {
        std::vector<NamedRun> documents = {document("a", {measured_case("s", "x", 1.0)}),
                                           document("b", {measured_case("t", "x", 1.0)})};
        change(documents[1].run);
        return [documents] { merge(documents, Conflict::newest); };
    };
    EXPECT_THAT(against([](convcast::Run &run) { run.producer.device_code_hash = "other"; }),
                ThrowsMessage<InputError>(HasSubstr("b: was made by other code")));
    EXPECT_THAT(against([](convcast::Run &run) { run.producer.measuring_code_hash = "other"; }),
                ThrowsMessage<InputError>(HasSubstr("other code")));
    EXPECT_THAT(against([](convcast::Run &run) { run.profile_hash = "other"; }),
                ThrowsMessage<InputError>(HasSubstr("another profile")));
    EXPECT_THAT(against([](convcast::Run &run) { run.conditions["gpu"] = "NVIDIA L4"; }),
                ThrowsMessage<InputError>(HasSubstr("measured on NVIDIA L4 and not on NVIDIA H200")));
    EXPECT_NO_THROW(against([](convcast::Run &run) { run.conditions.erase("gpu"); })());
    for (const char *name : {"cudnn", "cublas", "driver_cuda"}) {
        NamedRun one = document("a", {}), other = document("b", {});
        one.run.conditions[name] = other.run.conditions[name] = "13.0";
        EXPECT_NO_THROW(merge({one, other}, Conflict::refuse)) << name;
        other.run.conditions[name] = "13.1";
        EXPECT_THAT(
            [&] {
                merge({one, other}, Conflict::refuse);
            },
            ThrowsMessage<InputError>(HasSubstr("13.1 and not 13.0")))
            << name;
    }
}

} // namespace
