// Papers as documents, and what their computations make of them.
#include "executor/launch/kernel_source.hpp"
#include "executor/network/network_source.hpp"
#include "model/base/described.hpp"
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "model/base/json.hpp"
#include "model/record/images.hpp"
#include "model/record/paper.hpp"
#include "model/record/study.hpp"
#include "model/work/shared_access.hpp"
#include "reports/bank_diagram.hpp"
#include "reports/boxes.hpp"
#include "reports/papers/answer.hpp"
#include "reports/papers/context.hpp"
#include "reports/papers/paper_text.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace convcast;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

/// What ships, as the program takes it.
Recordings shipped() {
    return Recordings::shipped({device_code_hash(), network_code_hash(), network_code_hash(split_sources)});
}

const Reproduction &reproduced(const std::string &id, const std::string &gpu = "h200") {
    static std::map<std::string, Reproduction> all;
    return made_once(all, id + " " + gpu, [&] {
        const Paper paper = find_paper(id);
        return reproduce(paper, PaperContext(paper, find_profile(gpu), shipped()));
    });
}

const PaperItem &item_of(const Paper &paper, const std::string &id) {
    return *std::find_if(paper.items.begin(), paper.items.end(),
                         [&](const PaperItem &item) { return item.id == id; });
}

const ItemAnswer &answer_of(const std::string &paper, const std::string &id) {
    const Reproduction &r = reproduced(paper);
    return r.answers[static_cast<std::size_t>(&item_of(r.paper, id) - r.paper.items.data())];
}

const VerdictRule &rule_of(const std::string &name) {
    const std::vector<VerdictRule> &all = verdict_rules();
    return *std::find_if(all.begin(), all.end(), [&](const VerdictRule &rule) { return rule.name == name; });
}

std::string a_paper(const std::string &cell, const std::string &answer = R"("kind":"here","where":"docs")") {
    return R"({"schema":"convcast/paper/1","id":"p","title":"t","authors":"a","gpu":"k40m",
"citation":{"type":"misc","key":"k","fields":{"author":"a","title":"t","year":"2020"}},
"items":[{"id":"table_1","kind":"table","number":"1","title":"t","says":"s",
"published":[)" +
           cell + R"(],
"answer":{)" +
           answer + "}}]}";
}

const char *const good = R"({"of":"a","at":"b","value":1.5,"unit":"times","against":"c"})";

} // namespace

TEST(Papers, ShippedOnesAreReadAndTheirMethodsExist) {
    EXPECT_EQ(shipped_papers(), (std::vector<std::string>{"chang", "chen", "vadlamudi", "cibil"}));
    std::set<std::string> used, known;
    for (const std::string &id : shipped_papers()) {
        const Paper paper = find_paper(id);
        for (const auto &[name, method] : paper.methods) {
            EXPECT_TRUE(known.insert(name).second) << name << " is of two papers";
            used.insert(method.parts.begin(), method.parts.end());
        }
        for (const PaperItem &item : paper.items) {
            std::vector<std::string> asked = item.answer.also;
            if (item.answer.by)
                asked.push_back(*item.answer.by);
            if (item.answer.method)
                asked.insert(asked.end(), item.answer.method->parts.begin(), item.answer.method->parts.end());
            for (const std::string &name : asked) {
                used.insert(name);
                EXPECT_NE(find_method(paper, name), nullptr) << id << " " << item.id;
            }
        }
    }
    EXPECT_EQ(used, known) << "a method that no item asks for";
}

TEST(Papers, AreWrittenAsTheyAreRead) {
    for (const std::string &id : shipped_papers()) {
        const std::string text = to_text(described::write(find_paper(id)));
        EXPECT_EQ(to_text(described::write(read_paper(text, id))), text);
    }
    const std::string folder = std::string(CONVCAST_SOURCE_DIR) + "/tests/fuzz/corpus/paper/",
                      corpus = folder + "small.json";
    EXPECT_EQ(read_paper(read_file(corpus), corpus).items.size(), 2u); // which fuzzing begins with
    EXPECT_EQ(read_paper(read_file(folder + "method.json"), "method.json")
                  .items.front()
                  .answer.method->times.size(),
              6u);
}

TEST(Papers, PublishedNumbersAreThePrintedOnes) {
    const Paper chang = find_paper("chang"), chen = find_paper("chen"), cibil = find_paper("cibil"),
                vadlamudi = find_paper("vadlamudi");
    EXPECT_EQ(cell_of(item_of(chang, "table_1"), "data requirement")->value, 84366);
    EXPECT_EQ(cell_of(item_of(chang, "table_1"), "V_s")->value, 86016);
    EXPECT_EQ(cell_of(item_of(chen, "figure_7"), "performance", "3x3")->value, 6.43);
    EXPECT_EQ(cell_of(item_of(chen, "figure_8"), "performance", "5x5")->value, 45.3);
    EXPECT_EQ(cell_of(item_of(chen, "table_1"), "F_TB", "7x7")->value, 32);
    EXPECT_EQ(cell_of(item_of(vadlamudi, "table_6"), "all SM", "time")->value, 0.000613);
    EXPECT_EQ(cell_of(item_of(cibil, "table_3"), "total", "two GPUs")->value, 16.748);
    EXPECT_EQ(printed(*cell_of(item_of(chang, "table_1"), "data requirement")), "84,366\u00a0B");
    EXPECT_EQ(printed(*cell_of(item_of(cibil, "table_3"), "total", "two GPUs")), "16.748\u00a0ms");
}

TEST(Papers, StudiesHaveTheirPapersNumbers) {
    const Study single = find_study("chang_single");
    ASSERT_EQ(single.published.size(), 2u); // both GPUs
    EXPECT_EQ(single.published[0].gpu, "GTX 1080 Ti");
    EXPECT_EQ(single.published[0].low, 1.5);
    EXPECT_EQ(single.published[0].high, 5.6);
    EXPECT_EQ(single.published[1].high, 3.7);
    EXPECT_NEAR(*find_study("chen_general").published.front().average, 1.355, 1e-12);
    EXPECT_NEAR(*find_study("chen_bank_width").published.front().average, 1.0 / 0.81, 1e-12); // 19 % slower
    EXPECT_NEAR(*find_study("chen_sgemm").published.front().average, 1.0 / 0.64,
                1e-12); // 36 % of the time saved
    EXPECT_TRUE(find_study("vgg16_b1").published.empty());
}

TEST(Papers, BadDocumentsAreRefusedWithPlaceAndExample) {
    EXPECT_EQ(read_paper(a_paper(good), "p.json").items.size(), 1u);
    const auto refused = [](const std::string &text, const testing::Matcher<const std::string &> &message) {
        EXPECT_THAT([&] { read_paper(text, "p.json"); }, ThrowsMessage<InputError>(message)) << text;
    };
    refused(a_paper(R"({"of":"a","at":"b","value":1,"unit":"furlongs"})"),
            AllOf(HasSubstr("p.json:4: /items/0/published/0/unit"), HasSubstr("expected one of count, times"),
                  HasSubstr("furlongs")));
    refused(a_paper(R"({"of":"a","at":"b","value":1,"unit":"milisecond"})"),
            HasSubstr("did you mean 'millisecond'?"));
    refused(a_paper(R"({"of":"a","at":"b","value":1.5,"unit":"times"})"),
            AllOf(HasSubstr("/published/0"), HasSubstr("over, for example \"cuDNN 7.1\"")));
    refused(a_paper(R"({"of":"a","at":"b","value":100,"unit":"percent_saved","against":"c"})"),
            HasSubstr("expected less than 100, for example 19"));
    refused(a_paper(R"({"of":"","at":"b","value":1,"unit":"count"})"), HasSubstr("/published/0/of"));
    refused(a_paper(good, R"("kind":"computed")"), HasSubstr("for example \"gains\""));
    refused(a_paper(good, R"("kind":"not_computed")"), HasSubstr("expected \"why\": the reason"));
    refused(a_paper(good, R"("kind":"here","where":"x","study":"chang_singel")"),
            AllOf(HasSubstr("/items/0/answer/study"), HasSubstr("did you mean 'chang_single'?")));
    refused(a_paper(good, R"("kind":"here","where":"x","also":["gains"])"), HasSubstr("/answer/also"));
    refused(a_paper(good, R"("kind":"here","where":"x","drawn":["row_register"])"),
            AllOf(HasSubstr("/answer/drawn"), HasSubstr("\"drawn_shape\": \"n1c1h56w56k256r3s3\"")));
    refused(
        a_paper(good, R"("kind":"here","where":"x","drawn":["row_registr"],"drawn_shape":"n1c1h8w8k1r3s3")"),
        AllOf(HasSubstr("/answer/drawn/0"), HasSubstr("did you mean 'row_register'?")));
    refused(a_paper(good, R"("kind":"here","where":"x","drawn":["row_register"],"drawn_shape":"n1c1h8")"),
            HasSubstr("/answer/drawn_shape"));
    refused(
        a_paper(
            good,
            R"("kind":"here","where":"x","drawn":["row_register"],"drawn_shapes":["n1c1h8w8k1r3s3","n1c1h9w9k1r3s3"])"),
        HasSubstr("expected as many as there are in \"drawn\""));
    refused(a_paper(good, R"("kind":"here","where":"x","banks":[{"title":"t","element_bytes":4,"unit":3}])"),
            AllOf(HasSubstr("/answer/banks/0/unit"), HasSubstr("expected 1, 2 or 4, found 3")));
    refused(
        a_paper(good,
                R"("kind":"here","where":"x","banks":[{"title":"t","element_bytes":4,"unit":1,"halo":2}])"),
        HasSubstr("/answer/banks/0/halo"));
    refused(a_paper(good, R"("kind":"here","where":"x","paper_kernels":["row_registers"])"),
            HasSubstr("/answer/paper_kernels/0"));
    refused(a_paper(good, R"("kind":"here","where":"x","settings":["row_register:unit=3000"])"),
            HasSubstr("/answer/settings/0"));
    std::string other = a_paper(good);
    other.replace(other.find("k40m"), 4, "k40x");
    refused(other, AllOf(HasSubstr("/gpu"), HasSubstr("did you mean 'k40m'?")));
    EXPECT_THAT(
        [] { find_paper("chnag"); },
        ThrowsMessage<UsageError>(AllOf(HasSubstr("did you mean 'chang'?"), HasSubstr("cibil, all"))));
    const Paper unknown = read_paper(a_paper(good, R"("kind":"computed","by":"gainz")"), "p.json");
    const PaperContext context(unknown, find_profile("h200"), shipped());
    EXPECT_THAT([&] { reproduce(unknown, context); },
                ThrowsMessage<InputError>(
                    AllOf(HasSubstr("/items/0/answer/by"), HasSubstr("did you mean 'gains'?"))));
    const Paper nothing_to_draw = read_paper(
        a_paper(good, R"("kind":"here","where":"x","drawn":["row_register"],"drawn_shape":"n1c2h8w8k1r3s3")"),
        "p.json");
    EXPECT_THAT([&] { reproduce(nothing_to_draw, context); },
                ThrowsMessage<InputError>(AllOf(HasSubstr("/answer/drawn"), HasSubstr("needs c = 1"))));
}

TEST(Papers, MethodsNameOnlyWhatThereIs) {
    const auto paper_with = [](const std::string &method, const std::string &more = "") {
        return a_paper(good,
                       R"("kind":"computed","study":"chang_multi",)" + more + R"("method":{)" + method + "}");
    };
    const auto claim = [](const std::string &verdict, const std::string &says = "s") {
        return R"("times":{"chen":{"measured":["block_register"]}},"claims":[{"claim":"c","verdict":")" +
               verdict + R"(","found":"f","says":")" + says + R"("}])";
    };
    EXPECT_EQ(read_paper(paper_with(claim("gain(geomean(chen, h < 32))")), "p.json").items.size(), 1u);
    const auto unread = [](const std::string &text, const testing::Matcher<const std::string &> &message) {
        EXPECT_THAT([&] { read_paper(text, "p.json"); }, ThrowsMessage<InputError>(message)) << text;
    };
    unread(paper_with(claim("gain(chen")),
           AllOf(HasSubstr("p.json:"), HasSubstr("/items/0/answer/method/claims/0/verdict"),
                 HasSubstr("lacks a ')'"), HasSubstr("geomean(chen / chang, h < 32)")));
    unread(paper_with(claim("gain(chen)", "{chen:tims}")),
           AllOf(HasSubstr("/claims/0/says"), HasSubstr("did you mean 'times'?")));
    unread(paper_with(claim("gain(chen)", "{chen")), HasSubstr("lacks a '}'"));
    unread(paper_with(claim("gain(chen)", "[a|b")), HasSubstr("lacks a ']'"));
    unread(paper_with(R"("times":{"chen":{"measured":["block_registr"]}},"shown":["regime_maps"])"),
           HasSubstr("did you mean 'block_register'?"));
    unread(
        paper_with(
            R"("times":{"t":{"measured":["block_register"],"with":"bank_width=4"}},"shown":["regime_maps"])"),
        AllOf(HasSubstr("/times/t/with"), HasSubstr("beside \"forecast\" or \"chosen\" only")));
    unread(
        paper_with(
            R"("figures":[{"title":"t","caption":"","axis":"a","category":"{shape}","panels":["gpus"],"no_data":"n"}])"),
        HasSubstr("expected \"panels\": lists, and \"panel\""));
    unread(
        paper_with(
            R"("times":{"chen":{"measured":["block_register"],"in":["chang_mult"]}},"shown":["regime_maps"])"),
        AllOf(HasSubstr("/times/chen/in/0"), HasSubstr("did you mean 'chang_multi'?")));
    unread(paper_with(R"("times":{"chen":{"measured":["block_register"],"baseline":"cublas"}})"),
           HasSubstr("expected one of"));
    unread(paper_with(R"("claims":[{"claim":"c"}])"), HasSubstr("expected \"claim\", \"verdict\""));
    unread(paper_with(R"("lists":{"a":{"columns":["x"],"rows":[["1","2"]]}})"),
           HasSubstr("expected 1 cells"));
    const auto refused = [](const std::string &text, const testing::Matcher<const std::string &> &message) {
        const Paper paper = read_paper(text, "p.json");
        const PaperContext context(paper, find_profile("h200"), shipped());
        EXPECT_THAT([&] { reproduce(paper, context); }, ThrowsMessage<InputError>(message)) << text;
    };
    refused(paper_with(claim("gain(chan)")),
            AllOf(HasSubstr("/items/0/answer/method/claims/0/verdict"), HasSubstr("expected a value"),
                  HasSubstr("did you mean 'chen'")));
    refused(paper_with(R"("shown":["regime_map"])"), AllOf(HasSubstr("/items/0/answer/method/shown/0"),
                                                           HasSubstr("expected a figure that reports have"),
                                                           HasSubstr("did you mean 'regime_maps'?")));
    {
        // A curve that probes sweep and that the profile of this GPU lacks is no mistake of the paper.
        const Paper paper = read_paper(paper_with(R"("shown":["host_copy_sizes"])"), "p.json");
        const Reproduction without = reproduce(paper, PaperContext(paper, find_profile("toy"), shipped()));
        EXPECT_TRUE(without.answers.front().figures.empty());
    }
    refused(paper_with(claim("gainn(chen)")),
            AllOf(HasSubstr("expected a function"), HasSubstr("did you mean 'gain'")));
    refused(paper_with(claim("gain(cell('a', 'c'))")),
            AllOf(HasSubstr("a published number of this item"), HasSubstr("\"a, b\"")));
    refused(paper_with(R"("times":{"a":{"fastest":["b"]}},)" +
                       claim("gain(1)").substr(claim("gain(1)").find("\"claims"))),
            HasSubstr("/times/a/fastest/0"));
    refused(paper_with(claim("gain(a_value)") + R"(,"values":{"a_value":"a_value + 1"})"),
            HasSubstr("computed from itself"));
    refused(paper_with(claim("'maybe'")), HasSubstr("expected a verdict"));
    refused(paper_with(R"("parts":["rung_step"],)" + claim("gain(chen)")),
            AllOf(HasSubstr("/items/0/answer/method/parts/0"), HasSubstr("did you mean 'rung_steps'")));
    refused(a_paper(good, R"("kind":"computed","method":{)" + claim("gain(geomean(h))") + "}"),
            HasSubstr("expected \"study\""));
    refused(paper_with(claim("gain(1)"), R"("network":"mnist","rungs":["naiv"],)"),
            AllOf(HasSubstr("/answer/rungs/0"), HasSubstr("did you mean 'naive'")));
}

TEST(Papers, ExactRoundsAsPrinted) {
    PaperItem item;
    PublishedCell cell{"speed-up", "all", {}, "one", {}, 4.29, PaperUnit::times, {}, {}};
    EXPECT_EQ(exact(item, cell, 137.09 / 31.99, "totals").verdict, ClaimVerdict::follows); // 4.2854
    cell.value = 4290; // rounded to tens, as the zero says
    EXPECT_EQ(exact(item, cell, 4291.2, "cores").verdict, ClaimVerdict::follows);
    EXPECT_EQ(exact(item, cell, 4296.0, "cores").verdict, ClaimVerdict::differs);
    cell.value = 14;
    const ClaimAnswer differs = exact(item, cell, 0.013744 / 0.000706, "times"); // 19.47
    EXPECT_EQ(differs.verdict, ClaimVerdict::differs);
    EXPECT_EQ(differs.found, "19×");
    EXPECT_THAT(differs.sentence, HasSubstr("39 % more than printed"));
}

TEST(Papers, VerdictsFollowOneRule) {
    using enum ClaimVerdict;
    for (const auto &[name, numbers, verdict] :
         std::initializer_list<std::tuple<const char *, std::vector<double>, std::optional<ClaimVerdict>>>{
             {"ratio", {1.13, 1.20}, holds},
             {"ratio", {1.13, 2.23}, in_part}, // the same way, another size
             {"ratio", {0.98, 0.83}, in_part}, // slower is slower
             {"ratio", {1.03, 0.99}, differs}, // no change
             {"ratio", {1.00, 1.01}, holds},
             {"ratio", {4.29, 0.75}, differs},
             {"gain", {1.03}, holds},
             {"gain", {1.01}, differs},
             {"number", {12, 393}, differs},
             {"number", {47, 66}, in_part},
             {"number", {700, 683}, holds},
             {"all", {30, 30}, holds},
             {"all", {16, 30}, in_part},
             {"all", {15, 30}, differs},
             {"all", {0, 0}, std::nullopt}, // of nothing
             {"best", {1.0}, holds},
             {"best", {1.01}, in_part},
             {"best", {1.34}, differs},
             {"best", {0.9, 24, 24}, holds},
             {"best", {0.9, 23, 24}, open}, // a faster one may be missing
             {"best", {1.01, 0, 24}, open},
             {"best", {1.01, 24, 24}, in_part},
             {"best", {1.34, 0, 24}, differs}, // one that was run refutes it
             {"beyond_chance", {0.75}, holds},
             {"beyond_chance", {0.4}, in_part},
             {"beyond_chance", {0.39}, differs}})
        EXPECT_EQ(rule_of(name).of(numbers), verdict) << name << " " << testing::PrintToString(numbers);
    for (const std::string &id : shipped_papers())
        EXPECT_THAT(paper_markdown(reproduced(id)), HasSubstr(verdicts_in_words()));
}

TEST(Papers, ClaimsAreCountedOnce) {
    for (const std::string &id : shipped_papers()) {
        std::set<std::string> seen;
        for (const ClaimAnswer &f : of_all_items(reproduced(id), &ItemAnswer::findings))
            if (f.counted.empty() && f.verdict != ClaimVerdict::open) {
                EXPECT_TRUE(seen.insert(f.claim + f.published + f.sentence).second) << id << f.claim;
            }
    }
    const ItemAnswer &six = answer_of("vadlamudi", "table_6");
    const auto again = std::find_if(six.findings.begin(), six.findings.end(), [](const ClaimAnswer &f) {
        return f.claim == "conv2_shared to dense1_shared";
    });
    ASSERT_NE(again, six.findings.end());
    EXPECT_EQ(again->counted, "Section 4.4");
    EXPECT_EQ(again->verdict, ClaimVerdict::in_part); // 1.13 and 2.23
}

/// No claim disappears where nothing was measured, and the count of claims is that of the paper.
TEST(Papers, TheSameClaimsStandOnThePageOfEveryGpu) {
    const auto claims_of = [](const Reproduction &r, const GpuProfile &ours) {
        std::vector<std::string> claims;
        for (const ClaimAnswer &f : of_all_items(r, &ItemAnswer::findings)) {
            std::string text = f.item + ": " + f.claim + " " + f.counted;
            if (const std::size_t at = text.find(short_name(ours)); at != std::string::npos)
                text.replace(at, short_name(ours).size(), "our GPU");
            claims.push_back(text);
        }
        return claims;
    };
    for (const std::string &id : shipped_papers())
        for (const char *gpu : {"toy", "titanx_maxwell"}) {
            const Reproduction &recorded = reproduced(id), &other = reproduced(id, gpu);
            EXPECT_EQ(claims_of(other, find_profile(gpu)), claims_of(recorded, find_profile("h200"))) << gpu;
            EXPECT_EQ(other.counts.claims() + other.counts.follows,
                      recorded.counts.claims() + recorded.counts.follows)
                << id << " " << gpu;
            for (const ClaimAnswer &f : of_all_items(other, &ItemAnswer::findings))
                if (f.verdict == ClaimVerdict::open) {
                    EXPECT_THAT(f.sentence, testing::EndsWith(".")) << id << " " << f.claim;
                }
        }
}

TEST(Papers, ClaimsAreCountedInOnePlace) {
    for (const std::string &id : shipped_papers()) {
        const Reproduction &r = reproduced(id);
        ClaimCounts counts;
        for (const ClaimAnswer &f : of_all_items(r, &ItemAnswer::findings))
            if (f.counted.empty())
                ++counts.of(f.verdict);
        EXPECT_EQ(counts.claims(), r.counts.claims()) << id;
        EXPECT_EQ(counts.follows, r.counts.follows) << id;
        EXPECT_EQ(static_cast<std::int64_t>(findings_table(r).rows.size()), counts.claims() + counts.follows);
        EXPECT_THAT(summary_of(r),
                    testing::StartsWith(fmt::format("Of {} claims {} hold", counts.claims(), counts.holds)));
        EXPECT_EQ(counts.claims() - counts.judged(), counts.open);
    }
}

/// A rule that agrees with the counters less often than always saying the commonest regime is no rule in
/// part.
TEST(Papers, ARuleMustHoldBeyondChance) {
    EXPECT_THAT(
        verdicts_in_words(),
        AllOf(HasSubstr("kappa of 0.75"), HasSubstr("its agreement is poor, even where it is above chance")));
    const ItemAnswer &answer = answer_of("chang", "section_2_2_regimes");
    ASSERT_EQ(answer.findings.size(), 1u);
    const ClaimAnswer &rule = answer.findings.front();
    EXPECT_EQ(rule.verdict, ClaimVerdict::differs);
    EXPECT_THAT(rule.rules, testing::ElementsAre(&rule_of("beyond_chance")));
    EXPECT_THAT(rule.sentence,
                AllOf(HasSubstr("less often than a constant guess"), HasSubstr("kappa 0.235; always")));
    // One number, written in one way.
    EXPECT_EQ(rule.found, "61 of 112 cases, kappa 0.235 (H200)");
    EXPECT_EQ(answer.tables.front().rows.front().back(), "0.235");
}

TEST(Papers, RecordingsOfOtherDeviceCodeAreNamed) {
    const RecordedOf ladder{RecordedPart::ladder, "mnist", 2048};
    Recordings all = shipped();
    const Recording &recorded = *all.find(ladder, "").front();
    Recordings same({"a", recorded.code, "c"}), other({"a", "b", "c"});
    EXPECT_EQ(same.of_other_code({&recorded}), "");
    EXPECT_EQ(other.of_other_code({&recorded}),
              fmt::format("Recorded with other device code than this program has: the ladder of mnist with "
                          "2048 images a call (version {}, device code {}).",
                          recorded.version, recorded.code.substr(0, 8)));
    EXPECT_EQ(other.of_other_code({}), "");
    // The same of files that ship and of files that are given, on the page of each item that uses them.
    Recordings given({device_code_hash(), "b", "c"});
    given.add(recorded);
    const Paper paper = find_paper("cibil");
    const Reproduction r = reproduce(paper, PaperContext(paper, find_profile("h200"), given));
    const std::string sentence = given.of_other_code({&recorded}), page = write_paper_page(r);
    EXPECT_EQ(r.of_other_code, sentence);
    EXPECT_EQ(r.answers[static_cast<std::size_t>(&item_of(r.paper, "figure_5_1") - r.paper.items.data())]
                  .of_other_code,
              sentence);
    EXPECT_THAT(page, HasSubstr(sentence));
    EXPECT_THAT(paper_tex(r), HasSubstr(sentence));
    EXPECT_EQ(answer_of("chang", "figure_5").of_other_code, "");
}

TEST(Papers, SeveralGpusAreComparedWithOne) {
    const ItemAnswer &answer = answer_of("cibil", "section_2_1_1_3");
    ASSERT_EQ(answer.tables.front().rows.size(), 4u);
    EXPECT_EQ(answer.tables.front().rows[0][0], "1");
    EXPECT_THAT(answer.findings.front().sentence,
                HasSubstr("take 30.6 µs for a step where one takes 27.7 µs"));
    EXPECT_THAT(answer_of("cibil", "future_parameters").findings.front().sentence,
                HasSubstr("take 46.4 µs for a step of 2,048 images where one takes 27.7 µs"));
    EXPECT_THAT(answer_of("cibil", "section_4_3").findings.back().found, HasSubstr("0.53×"));
}

TEST(Papers, WhatIsExactComesOutExactly) {
    const ItemAnswer &table = answer_of("chang", "table_1");
    ASSERT_EQ(table.findings.size(), 1u);
    EXPECT_EQ(table.findings[0].verdict, ClaimVerdict::follows) << table.findings[0].sentence;
    EXPECT_EQ(table.findings[0].found, "15 of 15 equal");
    for (const ClaimAnswer &finding : answer_of("vadlamudi", "figure_4").findings)
        EXPECT_EQ(finding.verdict, ClaimVerdict::follows) << finding.sentence;
    for (const ClaimAnswer &finding : answer_of("cibil", "table_2").findings)
        EXPECT_EQ(finding.verdict, ClaimVerdict::follows) << finding.sentence;
    EXPECT_EQ(answer_of("cibil", "equations_14_15").tables[0].rows[0][1], "16");
    EXPECT_EQ(answer_of("cibil", "equations_14_15").tables[0].rows[0][2], "12");
}

TEST(Papers, TheirOwnKernelIsNotOurFastest) {
    const ItemAnswer &figure = answer_of("chang", "figure_5");
    const ClaimAnswer &average =
        *std::find_if(figure.findings.begin(), figure.findings.end(), [](const ClaimAnswer &f) {
            return f.claim == "average speed-up over cuDNN 7.1, GTX 1080 Ti";
        });
    EXPECT_EQ(average.published, "1.39×");
    EXPECT_EQ(average.verdict, ClaimVerdict::differs);
    // The paper's own settings decide; what `report` says of the kernels as they were run stands beside it.
    EXPECT_EQ(average.found, "0.55× (H200), arithmetic mean 0.61×; 0.47× in predict's default");
    EXPECT_THAT(average.sentence, HasSubstr("in predict's default 0.47×"));
    const PaperTable &means = figure.tables.front();
    ASSERT_EQ(means.rows.size(), 12u); // three filters and all, three times
    EXPECT_EQ(means.rows[9][1], "the paper's own settings");
    EXPECT_EQ(means.rows[10][1], "its kernel, predict's default");
    EXPECT_EQ(means.rows[11][1], "our fastest");
    EXPECT_EQ(means.rows[9][8], "1.39×");
}

TEST(Papers, SettingsAreMatchedByTheirKnobs) {
    const std::string text = "filter_split:pieces=19,buffers=1,map_shares=1";
    EXPECT_TRUE(has_setting(text, "filter_split"));
    EXPECT_TRUE(has_setting(text, "filter_split:map_shares=1,buffers=1"));
    EXPECT_FALSE(has_setting(text, "filter_split:pieces=1"));
    EXPECT_FALSE(has_setting(text, "filter_split:buffers=2"));
    EXPECT_FALSE(has_setting(text, "map_split:buffers=1"));
    EXPECT_EQ(knob_value(text, "pieces"), 19);
    EXPECT_EQ(knob_value(text, "shares"), 0);
}

/// What was recorded of the papers' own settings decides what was a forecast before.
TEST(Papers, OwnSettingsAreMeasured) {
    const auto finding = [](const std::string &paper, const std::string &item, const std::string &claim) {
        for (const ClaimAnswer &f : answer_of(paper, item).findings)
            if (f.claim == claim)
                return f;
        ADD_FAILURE() << paper << " " << item << ": " << claim;
        return ClaimAnswer{};
    };
    EXPECT_EQ(finding("chang", "section_3_1_rules",
                      "the kernel's plan has the P and Q of rules 1 to 3, with one buffer, on H200")
                  .found,
              "P on 16 of 16 that fit, Q on 18 of 18");
    EXPECT_EQ(finding("chang", "section_3_1_rules", "rule 4 takes the faster division, on H200").found,
              "13 of 18 shapes");
    EXPECT_THAT(finding("chang", "section_4_block", "M' = 64 and W'x = 128 are best, measured on H200").found,
                HasSubstr("faster on 0 of 27"));
    EXPECT_EQ(finding("chang", "figure_4", "average speed-up over cuDNN 7.1, GTX 1080 Ti").found,
              "1.00× (H200), arithmetic mean 1.23×; 1.56× in predict's default");
    // Chen's baseline and his mean, which is that of his three filter sizes, beside cuDNN's fastest.
    EXPECT_EQ(finding("chen", "figure_7", "average speed-up over cuDNN 5.1, GEMM-based, Tesla K40m").found,
              "2.17× (H200), geometric mean 1.55×; 1.84× over cuDNN's fastest; 2.16× in predict's default");
    EXPECT_EQ(finding("chen", "figure_7", "performance, all").verdict, ClaimVerdict::follows);
    EXPECT_EQ(finding("chen", "figure_8", "faster than cuDNN's fastest algorithm too, H200").verdict,
              ClaimVerdict::differs);
    // The forecast for banks of 8 bytes is that for banks of 4: the effect of the banks is not in it.
    EXPECT_THAT(finding("chen", "figure_2",
                        "time saved by matching because of the bank width, forecast for Tesla K40m"),
                testing::AllOf(testing::Field(&ClaimAnswer::verdict, ClaimVerdict::differs),
                               testing::Field(&ClaimAnswer::found, testing::StartsWith("0 % (forecast"))));
    // By counters: the formula's share of reads of shared memory.
    EXPECT_EQ(
        finding("chen", "section_4_3", "reads of pixels from shared memory over one read for each use, 3x3")
            .found,
        "0.380 (H200)");
    for (const char *paper : {"chang", "chen"})
        for (const ClaimAnswer &f : of_all_items(reproduced(paper), &ItemAnswer::findings))
            EXPECT_TRUE(f.verdict != ClaimVerdict::open ||
                        f.sentence.find("cannot be decided without the card") != std::string::npos ||
                        f.sentence.find("No counter tells") == 0 ||
                        f.sentence.find("choose ranks first was run on") != std::string::npos)
                << paper << ": " << f.claim << " is open: " << f.sentence;
}

/// Which GPU, study and network a recording is of, it says itself; its file's name and folder say nothing.
TEST(Papers, RecordingsSayWhatTheyAreOf) {
    Recordings all = shipped();
    const auto file = [&](const RecordedOf &of, const std::string &gpu = "NVIDIA H200") {
        const auto found = all.find(of, gpu);
        return found.empty() ? "" : std::filesystem::path(found.front()->file).filename().string();
    };
    EXPECT_EQ(file({RecordedPart::study, "chang_multi"}), "chang.json.gz");
    EXPECT_EQ(file({RecordedPart::settings, "chang_multi"}), "chang_settings.json.gz");
    EXPECT_EQ(file({RecordedPart::study, "regime_map"}), "regime_map.json.gz"); // which has no baseline
    EXPECT_EQ(file({RecordedPart::ladder, "fashion_mnist", 1024}), "fashion_mnist_b1024.json");
    EXPECT_EQ(file({RecordedPart::ladder, "fashion_mnist", 3}), "");
    EXPECT_EQ(file({RecordedPart::steps, "mnist"}), "two_gpus.json");
    EXPECT_EQ(file({RecordedPart::training, "mnist"}),
              "mnist.json"); // not of images held out, not of every rung
    EXPECT_EQ(file({RecordedPart::study, "chang_multi"}, "NVIDIA H100"), "");
    EXPECT_EQ(all.take_used().size(), 7u);
    EXPECT_EQ(all.take_used().size(), 0u); // since then

    // The same documents under other names and of another GPU.
    Recording other = *all.find({RecordedPart::study, "chang_multi"}, "").front();
    std::get<convcast::Run>(other.document).conditions["gpu"] = "NVIDIA Mine";
    Recordings own({});
    own.add(recording_of(other.document, "x"));
    EXPECT_TRUE(own.find({RecordedPart::study, "chang_multi"}, "NVIDIA H200").empty());
    EXPECT_EQ(own.find({RecordedPart::settings, "chang_single"}, "NVIDIA Mine").size(), 1u); // has them too
    GpuProfile mine = find_profile("h200");
    mine.name = "NVIDIA Mine";
    EXPECT_THAT(reproduce(find_paper("chang"), PaperContext(find_paper("chang"), mine, own)).measured,
                HasSubstr("NVIDIA Mine"));
}

/// Every figure of the papers that explains a partition is drawn.
TEST(Papers, PartitionsAreDrawn) {
    for (const auto &[paper, item, least] : {std::tuple{"chang", "figure_1", 2u},
                                             {"chang", "figure_2", 5u},
                                             {"chang", "figure_3", 1u},
                                             {"chang", "section_3_1_rules", 2u},
                                             {"chen", "figure_1", 2u},
                                             {"chen", "figure_3", 1u},
                                             {"chen", "figure_4", 1u},
                                             {"chen", "figure_5", 2u},
                                             {"chen", "figure_6", 1u}})
        EXPECT_GE(answer_of(paper, item).drawings.size(), least) << paper << " " << item;
}

std::size_t count_of(const std::string &text, const std::string &part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

/// Words that would be too small in a column are drawn for a page.
TEST(Boxes, WordsCanBeReadOnPaper) {
    const auto boxes_of = [](double width) {
        return std::vector<Box>{{0.0, 0.0, 100.0, 10.0, 0, ""}, {0.0, 0.0, width, 10.0, {}, "ten pixels"}};
    };
    EXPECT_DOUBLE_EQ(width_for(boxes_of(40.0)).bp, PaperWidth::column().bp);
    EXPECT_DOUBLE_EQ(width_for(boxes_of(10.0)).bp, PaperWidth::page().bp);
}

/// How filters lie in memory: each value once in its filter and once at its place, and no division of a
/// strategy.
TEST(Papers, FiltersAreDrawnAtTheirPlacesInMemory) {
    const std::vector<PaperDrawing> &drawings = answer_of("chang", "figure_1").drawings;
    ASSERT_EQ(drawings.size(), 2u);
    EXPECT_EQ(count_of(drawings[0].svg, "stroke-width"), 2u * 3u * 9u);      // three filters
    EXPECT_EQ(count_of(drawings[1].svg, "stroke-width"), 2u * 3u * 3u * 9u); // of three channels
    for (const std::string place : {"from 0: K K values", "from 9: K K values", "from 18: K K values"})
        EXPECT_THAT(drawings[0].svg, HasSubstr(place));
    EXPECT_THAT(drawings[1].svg, HasSubstr("from 27: C K K values"));
    for (const PaperDrawing &other : answer_of("chang", "figure_2").drawings)
        for (const PaperDrawing &drawing : drawings)
            EXPECT_NE(drawing.svg, other.svg);
}

TEST(Papers, ImagesOfADataSetAreDrawnByRunsOfEqualGrey) {
    const GreyImages two = read_images(
        R"({"schema":"convcast/images/1","title":"t","licence":"l","images":[
{"name":"a","number":0,"rows":["00f","0ff"]},{"name":"b","number":7,"rows":["330","000"]}]})",
        "two.json");
    const std::string svg = images_svg(two, "t", PaperWidth::column());
    EXPECT_THAT(svg, AllOf(HasSubstr("<path fill=\"#000\" d=\"M2 0h1v1H2zM1 1h2v1H1z\"/>"),
                           HasSubstr("<path fill=\"#ccc\" d=\"M0 0h2v1H0z\"/>"), HasSubstr(">a</text>"),
                           HasSubstr(">b</text>")));
    EXPECT_EQ(count_of(svg, "<path"), 2u); // what is 0 is not drawn
    for (const auto &[rows, why] : {std::pair{R"(["00","0"])", "as many pixels as in the first row"},
                                    {R"(["0g"])", "a digit from 0 to f"},
                                    {"[]", "expected rows of pixels"}})
        EXPECT_THAT(
            [rows = rows] {
                read_images(
                    std::string(R"({"schema":"convcast/images/1","title":"t","licence":"l","images":[)"
                                R"({"name":"a","number":0,"rows":)") +
                        rows + "}]}",
                    "bad.json");
            },
            ThrowsMessage<InputError>(HasSubstr(why)));
    EXPECT_EQ(shipped_images(), (std::vector<std::string>{"fashion_mnist"}));
    const GreyImages shipped = find_images("fashion_mnist");
    ASSERT_EQ(shipped.images.size(), 10u); // one of each class
    std::set<std::string> classes;
    for (const GreyImage &image : shipped.images) {
        classes.insert(image.name);
        EXPECT_EQ(image.rows.size(), 28u);
        EXPECT_EQ(image.rows.front().size(), 28u);
    }
    EXPECT_EQ(classes.size(), 10u);
    ASSERT_EQ(answer_of("vadlamudi", "figure_1").drawings.size(), 1u);
    const PaperDrawing &drawing = answer_of("vadlamudi", "figure_1").drawings.front();
    EXPECT_THAT(drawing.svg, HasSubstr("Ankle boot"));
    EXPECT_THAT(drawing.caption, HasSubstr("MIT licence"));
}

/// The second method of section 2.2 on calls of which the counters show many as memory bound.
TEST(Papers, RegimesOfFewFmasForEachByteAreCounted) {
    const ItemAnswer &answer = answer_of("chang", "section_2_2_volume");
    ASSERT_EQ(answer.figures.size(), 1u);
    EXPECT_THAT(answer.figures[0].title, HasSubstr("H200"));
    ASSERT_EQ(answer.tables.size(), 1u);
    const auto row = [&](const std::string &whose) {
        return *std::find_if(answer.tables[0].rows.begin(), answer.tables[0].rows.end(),
                             [&](const auto &its) { return its.front() == whose; });
    };
    const std::vector<std::string> all = row("all");
    EXPECT_EQ(all[1], "484");
    EXPECT_EQ((std::vector<std::string>(all.begin() + 2, all.begin() + 5)),
              (std::vector<std::string>{"193", "126", "165"}));
    // By the program's own statistics.
    ASSERT_EQ(answer.findings.size(), 2u);
    EXPECT_THAT(answer.findings[1].found, HasSubstr(all[5] + " of 484 cases, kappa " + all[6]));
    EXPECT_THAT(answer.findings[0].found, HasSubstr(row("own divisions of the paper")[5] + " of " +
                                                    row("own divisions of the paper")[1]));
}

/// The wavefronts that are drawn are those that the model counts.
TEST(Papers, BanksAreDrawnAsTheyAreCounted) {
    for (const char *gpu : {"k40m", "h200"})
        for (const std::int64_t unit : {1, 2, 4}) {
            const GpuProfile profile = find_profile(gpu);
            LaneWords words;
            for (std::int64_t lane = 0; lane < warp_lanes; ++lane)
                words[static_cast<std::size_t>(lane)] = lane * unit;
            const double passes = warp_passes(banks_of(profile), words, int(unit)).taken;
            PaperBanks read;
            read.unit = unit;
            EXPECT_THAT(bank_caption(read, profile), HasSubstr(fmt::format(" {:.0f} wavefront", passes)));
            const std::string svg = bank_diagram(read, profile, PaperWidth::column());
            EXPECT_EQ(double(count_of(svg, " bytes</text>")), passes) << gpu << " " << unit;
        }
    const PaperBanks floats{"", {}, 4, 1, {}, {}, {}}, pairs{"", {}, 4, 2, {}, {}, {}};
    EXPECT_THAT(bank_caption(floats, find_profile("k40m")), HasSubstr("brings 128 bytes, 50 %"));
    EXPECT_THAT(bank_caption(pairs, find_profile("k40m")), HasSubstr("brings 256 bytes, 100 %"));
    EXPECT_THAT(bank_caption(floats, find_profile("h200")), HasSubstr("brings 128 bytes, 100 %"));
}

/// One plot for each filter size, on the same axes.
TEST(Papers, PanelsShareTheirAxes) {
    const std::vector<Figure> &figures = answer_of("chang", "figure_2").figures;
    ASSERT_EQ(figures.size(), 1u);
    ASSERT_EQ(figures[0].panels.size(), 3u);
    EXPECT_EQ(figures[0].panels[1].title, "3x3");
    const std::vector<std::string> &rows = figures[0].y.categories;
    EXPECT_EQ(std::set<std::string>(rows.begin(), rows.end()).size(), rows.size());
}

TEST(Papers, FiguresHavePointsAndUniqueNames) {
    for (const std::string &id : shipped_papers()) {
        std::set<std::string> names;
        for (const Figure &figure : of_all_items(reproduced(id), &ItemAnswer::figures)) {
            EXPECT_TRUE(names.insert(figure.id).second) << figure.id;
            EXPECT_GT(figure.point_count(), 0u) << figure.id;
        }
        for (const PaperTable &table : of_all_items(reproduced(id), &ItemAnswer::tables))
            for (const std::vector<std::string> &row : table.rows)
                EXPECT_EQ(row.size(), table.head.size()) << table.id;
    }
}

TEST(Papers, TexHasEveryTable) {
    for (const std::string &id : shipped_papers()) {
        const std::string tex = paper_tex(reproduced(id));
        std::size_t tables = 0, captions = 0;
        for (const PaperTable &table : of_all_items(reproduced(id), &ItemAnswer::tables))
            tables += table.rows.empty() ? 0 : 1;
        for (std::size_t at = tex.find("\\endfirsthead"); at != std::string::npos;
             at = tex.find("\\endfirsthead", at + 1))
            ++captions;
        EXPECT_GE(captions, tables) << id; // wide ones come in parts
        EXPECT_THAT(tex, AllOf(HasSubstr("{lmodern}"), testing::Not(HasSubstr("resizebox")),
                               testing::Not(HasSubstr("V\\_s"))));
    }
}

TEST(Papers, DocsAreWhatTheCommandSays) {
    for (const std::string &id : shipped_papers()) {
        const std::string file = std::string(CONVCAST_SOURCE_DIR) + "/docs/papers/" + id + ".md";
        const std::string now = paper_markdown(reproduced(id));
        EXPECT_EQ(now.find("missing"), std::string::npos);
        if (std::getenv("CONVCAST_UPDATE_GOLDEN") != nullptr)
            write_file_atomically(file, now);
        EXPECT_EQ(read_file(file), now) << "convcast reproduce all --docs docs/papers";
    }
}

TEST(Papers, FolderAndClaimsAreTheGolden) {
    const std::filesystem::path golden = std::string(CONVCAST_SOURCE_DIR) + "/tests/golden/papers";
    std::string name = (std::filesystem::temp_directory_path() / "convcast_papers_XXXXXX").string();
    const std::filesystem::path folder = mkdtemp(name.data());
    std::string listing;
    for (const std::string &id : shipped_papers()) {
        write_reproduction(reproduced(id), folder / id);
        if (std::getenv("CONVCAST_UPDATE_GOLDEN") != nullptr)
            write_file_atomically((golden / (id + "_claims.csv")).string(),
                                  read_file((folder / id / "claims.csv").string()));
        EXPECT_EQ(read_file((folder / id / "claims.csv").string()),
                  read_file((golden / (id + "_claims.csv")).string()));
        const std::string page = read_file((folder / id / "page.html").string());
        EXPECT_EQ(page.find("<script"), std::string::npos);
        EXPECT_EQ(page.find("http://"), page.find("http://www.w3.org/2000/svg")); // nothing from elsewhere
        EXPECT_EQ(page.find("Nothing to draw"), std::string::npos);
    }
    std::vector<std::string> files;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
        if (entry.is_regular_file() && entry.path().extension() != ".pdf")
            files.push_back(std::filesystem::relative(entry.path(), folder).string());
    std::sort(files.begin(), files.end());
    for (const std::string &file : files)
        listing += file + "\n";
    if (std::getenv("CONVCAST_UPDATE_GOLDEN") != nullptr)
        write_file_atomically((golden / "files.txt").string(), listing);
    EXPECT_EQ(listing, read_file((golden / "files.txt").string()));
    std::filesystem::remove_all(folder);
}
