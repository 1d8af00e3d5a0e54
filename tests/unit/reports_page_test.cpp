#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "reports/page_data.hpp"
#include "reports/profile_page.hpp"
#include "reports/report_figures.hpp"
#include "reports/write_report.hpp"
#include "tests/unit/sample_report.hpp"

#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <regex>
#include <string>
#include <vector>

namespace convcast {
namespace {

using sample::has;
using sample::studies;

std::string page_of(const Run &run, const std::string &hash = "") {
    return report_on(run, studies(), summarize(run, studies()), {"", hash, ""}).html();
}

TEST(Page, IsSealedAndNeedsNoNetwork) {
    const std::string page = page_of(sample::run(studies()));
    const std::regex policy(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'sha256-[A-Za-z0-9+/]{43}='; script-src 'sha256-[A-Za-z0-9+/]{43}='; img-src data:; "
        "base-uri 'none'; form-action 'none'\">");
    EXPECT_TRUE(std::regex_search(page.substr(0, 1000), policy)) << page.substr(0, 600);
    EXPECT_FALSE(has(page, "unsafe"));
    EXPECT_FALSE(has(page, "https:"));
    std::string rest = page;
    for (std::size_t at; (at = rest.find("http://www.w3.org/2000/svg")) != std::string::npos;)
        rest.erase(at, 26); // the name space of SVG is a name, not an address
    EXPECT_FALSE(has(rest, "http:"));
    EXPECT_FALSE(std::regex_search(rest, std::regex("\\s(src|style|on[a-z]+)=\"")));
}

/// The text between the tags of a script element of `marker`, unpacked as the browser does: base64, then
/// gzip.
std::vector<std::string> unpacked(const std::string &page, const std::string &marker) {
    std::vector<std::string> out;
    for (std::size_t at = page.find(marker); at != std::string::npos; at = page.find(marker, at + 1)) {
        const std::size_t begin = page.find('>', at) + 1;
        std::string bytes;
        unsigned group = 0, bits = 0;
        for (const char c : page.substr(begin, page.find('<', begin) - begin)) {
            const std::size_t value =
                std::string("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/").find(c);
            if (value == std::string::npos)
                continue;
            group = group << 6 | static_cast<unsigned>(value);
            if ((bits += 6) >= 8)
                bytes += static_cast<char>(group >> (bits -= 8) & 255u);
        }
        const TemporaryFile file((std::filesystem::temp_directory_path() / "convcast_packed.gz").string());
        std::ofstream(file.path(), std::ios::binary) << bytes;
        out.push_back(read_file(file.path()));
    }
    return out;
}

TEST(Page, CarriesEveryCaseAndTheExplanationOfEveryForecast) {
    const convcast::Run run = sample::run(studies());
    const std::string page = page_of(run);
    const auto columns = nlohmann::json::parse(unpacked(page, "data-page=\"cases\"").at(0));
    for (const char *key :
         {"predicted", "low", "high", "cold", "warm", "error", "speedup", "l2_error", "regimes"})
        EXPECT_EQ(columns.at(key).size(), run.cases.size()) << key;
    for (const char *key : {"study", "shape", "name", "group", "status", "note", "limiter"})
        EXPECT_EQ(columns.at(key).at("index").size(), run.cases.size()) << key;
    std::size_t forecasts = 0, explained = 0, in_chunks = 0;
    for (const Case &c : run.cases)
        forecasts += c.strategy && c.prediction ? 1u : 0u;
    for (const nlohmann::json &ids : columns.at("chunks"))
        in_chunks += ids.size();
    std::string all;
    for (const std::string &chunk : unpacked(page, "class=\"explanations\"")) {
        explained += nlohmann::json::parse(chunk).size();
        all += chunk;
    }
    EXPECT_EQ(explained, forecasts);
    EXPECT_EQ(in_chunks, forecasts);
    EXPECT_TRUE(has(all, "N_FMA, FMAs per SM"));
    EXPECT_TRUE(has(page, "CUDNN_STATUS_NOT_SUPPORTED"));
}

TEST(Page, KeepsTheTreesOfTheMostInterestingCasesWhereNotAllFit) {
    const convcast::Run run = sample::run(studies());
    const ReportStatistics statistics = summarize(run, studies());
    std::vector<std::size_t> shown(run.cases.size());
    std::iota(shown.begin(), shown.end(), std::size_t(0));
    const Explanations all = explain(run, statistics, shown, {}),
                       few = explain(run, statistics, shown, {}, 1);
    EXPECT_EQ(all.without_tree, 0u);
    EXPECT_EQ(few.chunks.size(), all.chunks.size());
    std::size_t forecasts = 0;
    for (const auto &ids : all.cases)
        forecasts += ids.size();
    EXPECT_EQ(few.without_tree, forecasts - few.cases.at(0).size()) << "the first chunk has passed the limit";
    std::size_t bytes_all = 0, bytes_few = 0;
    for (std::size_t i = 1; i < all.chunks.size(); ++i) {
        bytes_all += all.chunks[i].size();
        bytes_few += few.chunks[i].size();
    }
    EXPECT_LT(bytes_few, bytes_all);
}

TEST(Page, PacksInBase64) {
    EXPECT_EQ(base64(""), "");
    EXPECT_EQ(base64("f"), "Zg==");
    EXPECT_EQ(base64("fo"), "Zm8=");
    EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(Page, HasEveryFigureThatHasAPoint) {
    const convcast::Run run = sample::run(studies());
    const std::string page = page_of(run);
    for (const Figure &figure : sample::figures())
        EXPECT_EQ(has(page, "id=\"f-" + figure.id + "\""),
                  figure.point_count() > 0 && figure.id != "waterfall")
            << figure.id;
}

TEST(Page, HasFewElementsHoweverManyCases) {
    convcast::Run run = sample::run(studies());
    const std::size_t once = run.cases.size();
    for (std::size_t copies = 0; copies < 20; ++copies)
        for (std::size_t i = 0; i < once; ++i)
            run.cases.push_back(run.cases[i]);
    const auto elements = [](const std::string &page) {
        return std::count(page.begin(), page.end(), '<') / 2;
    };
    const auto few = elements(page_of(sample::run(studies()))), many = elements(page_of(run));
    EXPECT_LT(many, few + 300) << "the page grows with the cases";
}

TEST(Page, HostileTextIsInert) {
    const std::string hostile = "</script><img src=x onerror=alert(1)>' \" & <b>";
    convcast::Run run = sample::run(studies());
    Case &c = run.cases[0];
    c.status = Status::failed;
    c.reason = c.shape = hostile;
    c.strategy = hostile + ":k=1";
    c.study = hostile;
    c.prediction->limiter = hostile;
    c.prediction->term->name = c.prediction->term->formula = hostile;
    c.prediction->term->children[0].name = hostile;
    c.prediction->assumptions = {hostile};
    c.prediction->rules->remarks = {hostile};
    run.cases[8].baseline = hostile;
    run.conditions[hostile] = hostile;
    run.producer.device_code_hash = run.producer.version = run.profile_id = hostile;
    const std::string page = page_of(run, "present");
    EXPECT_FALSE(has(page, "<img"));
    EXPECT_FALSE(has(page, "<b>"));
    std::size_t scripts = 0;
    for (std::size_t at = page.find("</script"); at != std::string::npos; at = page.find("</script", at + 1))
        ++scripts;
    EXPECT_EQ(scripts, 2u + unpacked(page, "class=\"explanations\"").size());
    EXPECT_TRUE(has(page, "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&#39; &quot; &amp; &lt;b&gt;"));
    EXPECT_TRUE(has(unpacked(page, "data-page=\"cases\"").at(0), "</script><img src=x"))
        << "packed, it cannot end a script";
}

TEST(Page, SaysWhenTheRunIsOlderThanTheCode) {
    const convcast::Run run = sample::run(studies());
    EXPECT_TRUE(has(page_of(run, "present"), "Recorded with other device code"));
    EXPECT_FALSE(has(page_of(run, run.producer.device_code_hash), "Recorded with other device code"));
    EXPECT_FALSE(has(page_of(run, ""), "Recorded with other"));
    EXPECT_TRUE(has(report_on(run, studies(), summarize(run, studies()), {"", "", "other"}).html(),
                    "Recorded with other measuring code"));
}

TEST(Page, PredictionsAloneMakeSense) {
    const convcast::Run run = sample::predictions(studies());
    const std::string page = page_of(run);
    EXPECT_TRUE(std::regex_search(
        page, std::regex("content=\"[0-9.]+ µs for [0-9]+ calls of [0-9]+ shapes, each by the fastest of the "
                         "[0-9]+ kernels that were forecast\\. Nothing was measured")))
        << answer(summarize(run, studies()));
    EXPECT_TRUE(has(page, "<title>convcast: forecast for "));
    EXPECT_FALSE(has(page, "How it was measured"));
    EXPECT_TRUE(has(page, "<h2>What the forecast would take</h2>"));
    EXPECT_FALSE(has(page, "<figure id=\"f-relative_error\"")) << "an empty figure says nothing";
    EXPECT_FALSE(has(page, "How far off is the forecast?"));
}

TEST(Page, ARunWhereAllFailedIsHonest) {
    convcast::Run run = sample::run(studies());
    for (Case &c : run.cases) {
        c.status = Status::failed;
        c.reason = "no such luck";
        c.measurements.clear();
    }
    const std::string page = page_of(run);
    EXPECT_TRUE(has(page, "Nothing was measured in this run"));
    EXPECT_TRUE(has(page, "<details open>"));
    EXPECT_TRUE(has(page, "no such luck"));
}

TEST(Page, AnEmptyRunSaysSo) {
    const std::string page = page_of(convcast::Run{});
    EXPECT_TRUE(has(page, "This run holds no case."));
    EXPECT_TRUE(has(page, "The run holds no case."));
}

TEST(Page, TheAnswerTellsMissesToo) {
    const std::string text = answer(summarize(sample::run(studies()), studies()));
    EXPECT_TRUE(has(text, "beats cuDNN's fastest algorithm on")) << text;
    EXPECT_TRUE(has(text, "loses on")) << text;
    EXPECT_TRUE(has(text, "at worst")) << text;
}

/// What a paper published is of its own kernel, and stands beside that kernel's speed-up here.
TEST(Page, APapersGainStandsBesideItsOwnKernel) {
    const convcast::Run run = sample::run(studies());
    const ReportStatistics statistics = summarize(run, studies());
    const auto own =
        std::find_if(statistics.speedups.begin(), statistics.speedups.end(),
                     [](const SpeedupStatistics &s) { return s.ours == "stride_fixed_block, as run"; });
    ASSERT_NE(own, statistics.speedups.end());
    EXPECT_EQ(own->study, "chang_multi");
    const std::string page = page_of(run), gains = page.substr(page.find("What the papers published"));
    const std::string row =
        gains.substr(gains.find("GTX 1080 Ti</td><td>cuDNN 7.1</td><td>the paper does not"));
    EXPECT_TRUE(
        has(row.substr(0, row.find("</tr>")),
            "<td>stride_fixed_block</td><td>1.39×</td><td>1.05× to 2.00×</td><td>" + times(*own->geomean)))
        << row.substr(0, row.find("</tr>"));
}

class Folder : public testing::Test {
  protected:
    const TemporaryFolder folder_;
    const std::filesystem::path path_ = folder_.path();
};

TEST_F(Folder, HoldsThePageAndThreeFilesPerFigure) {
    const convcast::Run run = sample::run(studies());
    const ReportFiles files =
        write_report(report_on(run, studies(), summarize(run, studies())), path_ / "new" / "report");
    EXPECT_TRUE(std::filesystem::exists(files.page));
    for (const std::filesystem::path &file : files.figures)
        EXPECT_GT(std::filesystem::file_size(file), 0u) << file;
    std::size_t figures = 0; // empty ones are not written
    for (const Figure &figure : sample::figures())
        figures += figure.point_count() > 0 ? 1u : 0u;
    EXPECT_EQ(files.figures.size(), figures * (files.pdf_note.empty() ? 4u : 3u));
    std::size_t count = 0;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(path_))
        count += entry.is_regular_file() ? 1u : 0u;
    EXPECT_EQ(count, files.figures.size() + 2) << "beside page and list a temporary file was left behind";
}

TEST_F(Folder, TheSameRunGivesTheSameBytes) {
    const convcast::Run run = sample::run(studies());
    const ReportStatistics statistics = summarize(run, studies());
    const ReportFiles a = write_report(report_on(run, studies(), statistics), path_ / "a"),
                      b = write_report(report_on(run, studies(), statistics), path_ / "b");
    EXPECT_EQ(read_file(a.page.string()), read_file(b.page.string()));
    for (std::size_t i = 0; i < a.figures.size(); ++i)
        EXPECT_EQ(read_file(a.figures[i].string()), read_file(b.figures[i].string())) << a.figures[i];
}

TEST_F(Folder, FiguresOfAnEarlierReportGoAndFilesOfOthersStay) {
    const convcast::Run run = sample::run(studies());
    const ReportFiles earlier = write_report(report_on(run, studies(), summarize(run, studies())), path_);
    write_file_atomically((path_ / "figures" / "mine.txt").string(), "kept");
    const ReportFiles now =
        write_report(report_on(find_profile("toy")), path_); // has no curves, hence no figures
    EXPECT_TRUE(now.figures.empty());
    for (const std::filesystem::path &file : earlier.figures)
        EXPECT_FALSE(std::filesystem::exists(file)) << file;
    EXPECT_TRUE(std::filesystem::exists(path_ / "figures" / "mine.txt"));
}

TEST_F(Folder, WhatCannotBeWrittenIsAnInputError) {
    write_file_atomically((path_ / "file").string(), "in the way");
    try {
        write_report(report_on(convcast::Run{}, {}, summarize(convcast::Run{}, {})), path_ / "file");
        FAIL() << "no error";
    } catch (const InputError &error) {
        EXPECT_TRUE(has(error.what(), "file")) << error.what();
    }
}

TEST(ReportTexts, EveryRuleOfThePapersHasItsNameThere) {
    boost::mp11::mp_for_each<boost::describe::describe_members<Rules, boost::describe::mod_public>>(
        [](auto member) {
            const std::string name = member.name;
            EXPECT_TRUE(rule_text(name) != name || name == "remarks") << name << " is not in docs/report.md";
        });
}

} // namespace
} // namespace convcast
