#include "reports/table.hpp"

#include "model/network/network_run.hpp"
#include "reports/explained.hpp"
#include "reports/html.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace convcast {
namespace {

using testing::HasSubstr;

struct Kernel {
    std::string name;
    std::optional<Seconds> time;
    double share = 0.0;
    std::int64_t calls = 1;
};

Table sample() {
    return table_of<Kernel>(
        std::vector<Kernel>{{"direct, \"fast\"", Seconds(2.5e-6), 0.125, 3},
                            {"a|b\nc", std::nullopt, 0.5, 1}},
        {{{"kernel"}, &Kernel::name},
         {{"time", As::time}, &Kernel::time},
         {{.title = "share", .as = As::share, .full = "share of all"}, &Kernel::share},
         {{"calls", As::number}, &Kernel::calls},
         {{.title = "rate", .as = As::number, .unit = "FLOP/s"}, [](const Kernel &) { return Cell(); }}});
}

TEST(Table, CsvHasBareValuesAndUnitsInItsNames) {
    EXPECT_EQ(to_csv(sample()), "kernel,time_s,share,calls,rate_flop_per_s\n"
                                "\"direct, \"\"fast\"\"\",2.5e-06,0.125,3,\n"
                                "a|b c,,0.5,1,\n");
}

TEST(Table, MarkdownHasUnitsInItsHeadAndNoEmptyColumn) {
    EXPECT_EQ(to_markdown(sample()), "| kernel | time (us) | share (%) | calls |\n|---|---:|---:|---:|\n"
                                     "| direct, \"fast\" | 2.50 | 12.50 | 3 |\n| a\\|b c |  | 50 | 1 |\n");
    EXPECT_EQ(to_markdown(Table{{{"kernel"}}, {}}), "");
}

TEST(Table, AColumnOfTheDocumentationShowsAMemberByItsPath) {
    NetworkCase item;
    item.nodes = 3;
    item.forecast.emplace().low_s = Seconds(2e-6);
    const auto cell = [&](const char *path) {
        return member_cell(described::type_of<NetworkCase>(), &item, path);
    };
    EXPECT_EQ(std::get<double>(cell("forecast.low_s").value), 2e-6);
    EXPECT_EQ(std::get<std::int64_t>(cell("nodes").value), 3);
    EXPECT_EQ(std::get<std::string>(cell("status").value), "not_run");
    EXPECT_TRUE(cell("forecast.high_s").is_empty());
    EXPECT_TRUE(cell("measured.low_s").is_empty());
    EXPECT_THROW(cell("forecast.lowest_s"), std::logic_error);
    const std::vector<ExplainedColumn> columns = explained_columns("times");
    EXPECT_EQ(columns.at(3).column.title, "error");
    EXPECT_EQ(columns.at(3).column.as, As::share);
    EXPECT_EQ(columns.at(3).column.keep, Keep::must);
    EXPECT_EQ(columns.at(3).column.full, "mean |error|");
    EXPECT_EQ(columns.at(3).value, "mean");
    EXPECT_THROW(explained_columns("no such table"), std::logic_error);
}

TEST(Table, PageHasMarksLinksAndADashForWhatIsAbsent) {
    Table table = sample();
    table.rows[0][0].mark = "*";
    table.rows[1][0].link = "#case=4";
    table.rows[1][0].under = "knobs";
    const std::string page = write_html({"tables", "", {}, {Listing{table}}});
    EXPECT_THAT(page, HasSubstr("<table class=\"words1\">"));
    EXPECT_THAT(page, HasSubstr("<th scope=\"col\">time, µs</th><th scope=\"col\">share of all</th>"));
    EXPECT_THAT(page,
                HasSubstr("direct, &quot;fast&quot; *</th><td>2.50</td><td>12.5\u00a0%</td><td>3</td>"));
    EXPECT_THAT(page, HasSubstr("<a href=\"#case=4\" data-case=\"4\">"));
    EXPECT_THAT(page, HasSubstr("<small class=\"what\">knobs</small></th><td>–</td><td>50.0\u00a0%</td>"));
}

} // namespace
} // namespace convcast
