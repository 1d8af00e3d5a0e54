#include "reports/figure.hpp"

#include "model/base/files.hpp"
#include "reports/figure_layout.hpp"
#include "reports/profile_page.hpp"
#include "tests/unit/drawing.hpp"
#include "tests/unit/sample_profile.hpp"
#include "tests/unit/sample_report.hpp"
#include "tests/unit/well_formed.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convcast {
namespace {

std::string source(const std::string &path) {
    return std::string(CONVCAST_SOURCE_DIR) + "/" + path;
}

std::size_t occurrences(const std::string &text, const std::string &part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
        ++n;
    return n;
}

/// A figure that asks much of the writers: long labels, wide values, points beyond the axis, hostile text.
Figure hard_figure() {
    Figure figure{"hard", "Hard <case> & \"more\"", "", {}, {}};
    figure.x = {
        "measured time, cold L2, with a label that is long enough to want more than the figure's width has",
        Scale::logarithmic,
        1.0,
        1e6,
        {}};
    figure.y = {"error, %", Scale::linear, -100000.0, 100000.0, {}};
    figure.bands = {{Guide::horizontal, -10.0, 10.0, "±10 %"}};
    figure.references = {
        {Guide::horizontal, 0.0, "exact"},
        {Guide::vertical, 100.0, "a reference line with a long name (GTX 1080 Ti, cuDNN 7.1)"}};
    figure.series = {
        {"row_register", 0, Drawn::points, false, {{2.0, 5.0, "a < b & c", 1}, {3e7, 1.0, "right of it", 2}}},
        {"hostile \"name\", 50% #1 {x} \\y",
         1,
         Drawn::points,
         true,
         {{0.5, 0.0, "left", 3},
          {10.0, 2e5, "above", 4},
          {10.0, -2e5, "below", 5},
          {0.0, 0.0, "zero on a log axis", 6}}}};
    return figure;
}

TEST(Figure, LabelsDoNotCollide) {
    expect_no_overlap(hard_figure());
    for (const Figure &figure : sample::figures())
        expect_no_overlap(figure);
    for (const double high : {1.5, 3.0, 20.0, 1e3, 1e9, 1e12}) {
        Figure figure{"range",
                      "range",
                      "",
                      {"x", Scale::logarithmic, 1.0, high, {}},
                      {"y", Scale::linear, 0.0, high, {}}};
        figure.series = {{"s", 0, Drawn::points, false, {{1.2, 1.2, "", {}}}}};
        expect_no_overlap(figure);
    }
}

TEST(Figure, IsWellFormedXml) {
    EXPECT_EQ(xml_problem(to_svg(hard_figure(), SvgUse::standalone)), "");
    for (const Figure &figure : sample::figures())
        for (const SvgUse use : {SvgUse::standalone, SvgUse::in_page})
            EXPECT_EQ(xml_problem(to_svg(figure, use)), "") << figure.id;
}

TEST(Figure, PointsBeyondTheAxisAreDrawnAtTheEdgeAndCounted) {
    const std::string svg = to_svg(hard_figure(), SvgUse::standalone);
    EXPECT_EQ(occurrences(svg, "class=\"beyond\""), 6u) << "five points and the key";
    EXPECT_NE(svg.find("5 points beyond the axis"), std::string::npos);
    EXPECT_EQ(occurrences(svg, "data-case="), 6u);
    const std::string csv = to_csv(hard_figure());
    EXPECT_NE(csv.find("row_register,2,30000000,1,right of it"), std::string::npos) << csv;
    EXPECT_EQ(occurrences(csv, "\n"), 7u);
}

/// A band that ends beyond all points is seen whole.
TEST(Figure, AnAxisHasRoomForItsBands) {
    Figure figure{"band", "Band", "", {}, {}};
    figure.x = {"ratio", Scale::logarithmic};
    Series points{"points", 0};
    points.add(0.3, 0.0, "a"), points.add(3.2, 1.0, "b");
    figure.series = {std::move(points)};
    EXPECT_DOUBLE_EQ(ranges_of(figure).x.high, 5.0);
    figure.bands = {{Guide::vertical, 1.5, 5.6, "published range"}};
    EXPECT_GE(ranges_of(figure).x.high, 5.6);
}

TEST(Figure, TheCsvHasUnitsInItsHeadAndItsTextUndamaged) {
    const std::string csv = to_csv(hard_figure());
    EXPECT_EQ(
        csv.substr(0, csv.find('\n')),
        "series,case,\"x (measured time, cold L2, with a label that is long enough to want more than the "
        "figure's width has)\",\"y (error, %)\",label");
    EXPECT_NE(csv.find("\"hostile \"\"name\"\", 50% #1 {x} \\y\",3,0.5,0,left"), std::string::npos) << csv;
    const std::vector<CaseColumns> cases = {
        {}, {"chang_single", "n1c1h8w8k1r3s3", "map_split", "pieces=2,x=1", "exposed", "bulk_hidden"}};
    const std::string with = to_csv(hard_figure(), cases);
    EXPECT_EQ(with.substr(0, with.find(",case")), "series,study,shape,strategy,knobs,regime,measured_regime");
    EXPECT_NE(with.find("row_register,chang_single,n1c1h8w8k1r3s3,map_split,\"pieces=2,x=1\",exposed,"
                        "bulk_hidden,1,2,5,a < b & c\n"),
              std::string::npos)
        << with;
    EXPECT_NE(with.find("row_register,,,,,,,2,30000000,1,"), std::string::npos) << "a case that is not known";
}

TEST(Figure, AnEmptyFigureSaysWhy) {
    Figure figure{
        "none", "none", "", {"x", Scale::logarithmic, {}, {}, {}}, {"y", Scale::linear, {}, {}, {}}};
    figure.no_data = "no counter was read";
    EXPECT_NE(to_svg(figure, SvgUse::in_page).find("no counter was read"), std::string::npos);
    EXPECT_EQ(xml_problem(to_svg(figure, SvgUse::in_page)), "");
}

TEST(Figure, TexIncludesThePdfWhenThereAreTooManyPoints) {
    Figure figure = hard_figure();
    EXPECT_EQ(to_tex(figure).find("includegraphics"), std::string::npos);
    figure.series[0].points.resize(6000, Point{2.0, 2.0, "p", {}});
    EXPECT_NE(to_tex(figure).find("\\includegraphics[width=\\columnwidth]{hard.pdf}"), std::string::npos);
}

TEST(Escape, HostileText) {
    EXPECT_EQ(escape_xml("<>&\"'%_#"), "&lt;&gt;&amp;&quot;&#39;%_#");
    EXPECT_EQ(escape_xml(std::string("a\0b\x1b\xff", 5)), "a\uFFFD"
                                                          "b\uFFFD\uFFFD");
    EXPECT_EQ(escape_xml("µ × 漢"), "µ × 漢");
    EXPECT_EQ(escape_tex("<>&\"'%_#"), "\\ensuremath{<}\\ensuremath{>}\\&'''\\%\\_\\#");
    EXPECT_EQ(escape_tex("\\{}$~^µ"),
              "\\textbackslash{}\\{\\}\\$\\textasciitilde{}\\textasciicircum{}\\ensuremath{\\mu}");
}

TEST(TextWidth, IsThatOfDejaVuSans) {
    EXPECT_DOUBLE_EQ(text_width("100", 10.0), 19.08);
    EXPECT_DOUBLE_EQ(text_width("µ", 10.0), 8.4);
}

/// CONVCAST_UPDATE_GOLDEN=1 rewrites the files: look at the difference before you keep it.
void expect_golden(const std::string &name, const std::string &text) {
    const std::string path = source("tests/golden/report/" + name);
    if (const char *update = std::getenv("CONVCAST_UPDATE_GOLDEN");
        update != nullptr && std::string(update) == "1") {
        std::filesystem::create_directories(std::filesystem::path(path).parent_path());
        write_file_atomically(path, text);
    }
    EXPECT_EQ(read_file(path), text) << "golden file " << name;
}

void expect_golden(const Figure &figure) {
    expect_golden(figure.id + ".svg", to_svg(figure, SvgUse::standalone));
    expect_golden(figure.id + ".csv", to_csv(figure));
    expect_golden(figure.id + ".tex", to_tex(figure));
}

/// Two plots with one legend, of which both writers and the CSV are kept as files.
Figure small_multiples() {
    Figure figure{"small_multiples", "Two plots", "", {}, {}};
    figure.x = {"time, µs", Scale::logarithmic, 1.0, 100.0, {}};
    figure.y = {"error, %", Scale::linear, -20.0, 20.0, {}};
    figure.bands = {{Guide::horizontal, -10.0, 10.0, "±10 %"}};
    figure.panels = {
        {"map_split",
         {{"exposed", 2, Drawn::points, false, {{2.0, 5.0, "50 % of it", 0}, {20.0, -30.0, "low", 1}}}}},
        {"winograd", {{"compute hidden", 0, Drawn::points, false, {{50.0, 1.0, "a, b", 2}}}}}};
    figure.series = {{"trend", 1, Drawn::curve, false, {{1.0, 0.0, "", {}}, {100.0, 10.0, "", {}}}}};
    return figure;
}

TEST(Figure, Golden) {
    expect_golden(small_multiples());
    expect_no_overlap(small_multiples());
    expect_golden(hard_figure());
    const std::vector<Figure> of_run = sample::figures(), of_profile = profile_figures(sample::profile());
    for (const char *id : {"waterfall", "speedup_chang_single", "error_cdf"})
        expect_golden(sample::named(of_run, id));
    for (const char *id : {"dram_read_curve", "element_width"})
        expect_golden(sample::named(of_profile, id));
}

TEST(Styles, NoTwoStrategiesLookAlike) {
    std::set<std::pair<std::size_t, std::size_t>> seen;
    for (std::size_t style = 0; style < style_count * style_count; ++style)
        EXPECT_TRUE(seen.emplace(style % style_count, mark_of(style)).second) << style;
    for (std::size_t style = 0; style < style_count; ++style)
        EXPECT_EQ(mark_of(style), style);
}

} // namespace
} // namespace convcast
