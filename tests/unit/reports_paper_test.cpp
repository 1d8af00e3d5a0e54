// Figures for papers: widths, text sizes, and that SVG and TeX draw the same.
#include "model/base/errors.hpp"
#include "model/base/files.hpp"
#include "reports/figure_layout.hpp"
#include "reports/paper_figure.hpp"
#include "tests/unit/drawing.hpp"
#include "tests/unit/sample_report.hpp"
#include "tests/unit/well_formed.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

namespace convcast {
namespace {

std::size_t count(const std::string &text, const std::string &expression) {
    const std::regex pattern(expression);
    return static_cast<std::size_t>(
        std::distance(std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator()));
}

/// Coordinates of the plots of TeX whose options have `look`.
std::size_t coordinates_of(const std::string &tex, const std::string &look) {
    std::size_t found = 0, at = 0;
    while ((at = tex.find("\\addplot[", at)) != std::string::npos) {
        const std::size_t open = tex.find("coordinates {", at), end = tex.find("};", open);
        if (tex.substr(at, open - at).find(look) != std::string::npos)
            for (std::size_t i = open; (i = tex.find('(', i)) < end; ++i)
                ++found;
        at = open;
    }
    return found;
}

TEST(PaperWidth, ReadsLengths) {
    EXPECT_DOUBLE_EQ(PaperWidth::parse("127mm").bp, 360.0);
    EXPECT_DOUBLE_EQ(PaperWidth::parse("12.7cm").bp, 360.0);
    EXPECT_DOUBLE_EQ(PaperWidth::parse("5in").bp, 360.0);
    EXPECT_DOUBLE_EQ(PaperWidth::parse("361.35pt").bp, 360.0);
    EXPECT_DOUBLE_EQ(PaperWidth::parse("column").bp, PaperWidth::parse("252pt").bp);
    EXPECT_DOUBLE_EQ(PaperWidth::parse("page").bp, PaperWidth::parse("516pt").bp);
    EXPECT_EQ(PaperWidth::parse("column").tex_length, "\\columnwidth");
    EXPECT_EQ(PaperWidth::parse("252pt").tex_length, "");
}

TEST(PaperWidth, RefusesWhatIsNone) {
    for (const char *text : {"", "88", "mm", "88 mm", "88mmm", "-88mm", "nan", "nanmm", "inf", "infmm", "1mm",
                             "39.9mm", "401mm", "1e9in", "columns"})
        try {
            PaperWidth::parse(text);
            FAIL() << text;
        } catch (const UsageError &error) {
            EXPECT_NE(std::string(error.what()).find("88mm"), std::string::npos) << error.what();
        }
}

/// Text is 8 points where the drawing is as wide as it says, and no less than 7 where a class scales the
/// widest one down to its column: 221 points of a two-column article on A4 of the 252 that we draw.
TEST(PaperFigure, TextIsSevenToNinePoints) {
    for (const char *text : {"column", "page", "88mm", "252pt", "60mm"}) {
        const PaperWidth width = PaperWidth::parse(text);
        for (const Figure &figure : sample::figures()) {
            const std::string svg = to_svg(figure, SvgUse::standalone, width);
            EXPECT_EQ(text_size_of(svg), 8.0) << figure.id;
            EXPECT_NEAR(number_in(svg, " width=\"([0-9.]+)pt\""), width.bp, 0.01) << figure.id;
            EXPECT_NEAR(drawing_width(svg), width.bp, 0.01) << "a unit is a point";
            EXPECT_EQ(count(svg, "font"), 1u) << "no text has a size of its own";
        }
    }
    constexpr double narrowest_column = 221.0, drawn_for = 252.0;
    EXPECT_GE(paper_text_bp * narrowest_column / drawn_for, 7.0);
    EXPECT_LE(paper_text_bp, 9.0);
}

TEST(PaperFigure, SvgAndTexHaveTheSameMarksLegendAndTicks) {
    for (const Figure &figure : sample::figures()) {
        if (figure.point_count() == 0 || figure.point_count() > tex_point_limit)
            continue;
        const std::string svg = to_svg(figure, SvgUse::standalone), tex = to_tex(figure);
        const std::size_t legend = count(svg, "<g class=\"legend\">");
        EXPECT_EQ(count(tex, "\\\\addlegendentry"), legend) << figure.id;
        EXPECT_EQ(count(tex, "\\\\addlegendimage"), legend) << figure.id;
        // A mark of the SVG has a title of its own; so have bars, two coordinates and a gap between them in
        // TeX.
        const std::size_t titles = count(svg, "<title>") - 1;
        std::size_t bars = 0;
        for (const Series &series : figure.series)
            bars += series.drawn == Drawn::bars ? series.points.size() : 0;
        EXPECT_EQ(coordinates_of(tex, "only marks"), titles - bars) << figure.id;
        const FigureLayout layout = layout_of(figure, sizes_for(SvgUse::standalone, PaperWidth::column().bp));
        for (const Tick &tick : layout.x_ticks)
            if (!tick.label.empty()) {
                EXPECT_NE(tex.find("{" + escape_tex(tick.label) + "}"), std::string::npos) << figure.id;
                EXPECT_NE(svg.find(">" + escape_xml(tick.label) + "<"), std::string::npos) << figure.id;
            }
    }
}

TEST(PaperFigure, TheScatterIsSquareWithTheSameTicks) {
    const std::vector<Figure> figures = sample::figures();
    const FigureLayout layout =
        layout_of(figures.front(), sizes_for(SvgUse::standalone, PaperWidth::column().bp));
    ASSERT_EQ(figures.front().id, "predicted_vs_measured");
    ASSERT_EQ(layout.plots.size(), 1u);
    const PlotBox &plot = layout.plots.front();
    EXPECT_NEAR(plot.right - plot.left, plot.bottom - plot.top, 1e-9);
    ASSERT_EQ(layout.x_ticks.size(), layout.y_ticks.size());
    for (std::size_t i = 0; i < layout.x_ticks.size(); ++i)
        EXPECT_EQ(layout.x_ticks[i].label, layout.y_ticks[i].label);
    ASSERT_EQ(figures.front().bands.size(), 1u);
    EXPECT_EQ(figures.front().bands.front().low, 0.9);
}

TEST(PaperFigure, AScatterAsWideAsAPageFillsIt) {
    const Figure figure = sample::figures().front();
    const double width = PaperWidth::page().bp;
    const PlotBox plot = layout_of(figure, sizes_for(SvgUse::standalone, width)).plots.front();
    EXPECT_GT(plot.right - plot.left, 0.85 * width) << "the rest is white";
    EXPECT_EQ(to_tex(figure, PaperWidth::page()).find("height=\\convcastplot"), std::string::npos)
        << "no longer a square";
}

TEST(PaperFigure, TheEndsOfABandLieOnTheMarks) {
    const Figure figure = sample::figures().front();
    for (const SvgUse use : {SvgUse::standalone, SvgUse::in_page}) {
        const std::string svg = to_svg(figure, use);
        const std::size_t ends = svg.find("<path class=\"end\"");
        ASSERT_NE(ends, std::string::npos);
        EXPECT_EQ(svg.find("<g class=\"s", ends), std::string::npos) << "a series is drawn over them";
    }
}

TEST(PaperFigure, TheForecastIsFirstInItsLegend) {
    const Figure figure = sample::named(sample::figures(), "error_cdf");
    const FigureLayout layout = layout_of(figure, sizes_for(SvgUse::standalone, PaperWidth::column().bp));
    ASSERT_FALSE(layout.legend.empty());
    EXPECT_EQ(layout.legend.front().label, "this forecast");
}

TEST(PaperFigure, EverySeriesHasANameInTheCsv) {
    for (const Figure &figure : sample::figures())
        for (const Series &series : figure.series)
            EXPECT_NE(series.name, "") << figure.id;
}

/// Each mark with its label would be 46 MB of 200,000 cases.
TEST(PaperFigure, VeryManyMarksAreOnePath) {
    Figure figure = sample::figures().front();
    const Series some = figure.series.front();
    ASSERT_FALSE(some.points.empty());
    while (figure.point_count() <= 3 * most_labelled_marks)
        for (Point point : some.points) {
            point.x *= 1.0 + 0.4 * std::sin(static_cast<double>(figure.series.front().points.size()));
            figure.series.front().points.push_back(point);
        }
    const std::string svg = paper_svg(figure);
    EXPECT_LT(svg.size(), 2'000'000u);
    EXPECT_LT(count(svg, "<path"), 100u);
    EXPECT_EQ(svg.find("data-cases"), std::string::npos) << "what only a page's script reads";
}

TEST(PaperFigure, LinesDifferWithoutColour) {
    for (std::size_t a = 0; a < style_count; ++a)
        for (std::size_t b = 0; b < a; ++b)
            EXPECT_NE(dashes_of(a), dashes_of(b)) << a << " and " << b;
}

TEST(ErrorCdf, SetsThisForecastBesideTheOthers) {
    ReportStatistics statistics;
    CaseRow row;
    row.group = "naive_global";
    row.cold_s = Seconds(10e-6), row.predicted_s = Seconds(11e-6), row.mwp_cwp_s = Seconds(5e-6);
    row.tier0_s = Seconds(1e-6);
    statistics.cases = {row, row};
    statistics.cases[1].predicted_s = Seconds(8e-6);
    statistics.cases[1].mwp_cwp_s.reset();
    const Figure figure = error_cdf(statistics);
    ASSERT_EQ(figure.series.size(), 3u) << "no case has a roofline";
    EXPECT_EQ(figure.series[0].name, "this forecast");
    ASSERT_EQ(figure.series[0].points.size(), 2u);
    EXPECT_NEAR(figure.series[0].points[0].x, 10.0, 1e-9);
    EXPECT_EQ(figure.series[0].points[0].y, 50.0);
    EXPECT_NEAR(figure.series[0].points[1].x, 20.0, 1e-9);
    EXPECT_EQ(figure.series[0].points[1].y, 100.0);
    EXPECT_EQ(figure.series[1].name, "MWP-CWP");
    ASSERT_EQ(figure.series[1].points.size(), 1u);
    EXPECT_NEAR(figure.series[1].points[0].x, 50.0, 1e-9);
    EXPECT_NEAR(figure.series[2].points[0].x, 90.0, 1e-9);
}

TEST(SmallMultiples, HaveAPlotForEachStrategy) {
    const Figure figure = sample::named(sample::figures(), "relative_error");
    EXPECT_GT(figure.panels.size(), 1u);
    const std::string svg = to_svg(figure, SvgUse::standalone);
    EXPECT_EQ(count(svg, "class=\"frame\""), figure.panels.size());
    EXPECT_EQ(count(to_tex(figure), "begin\\{axis\\}"), figure.panels.size());
    EXPECT_EQ(to_csv(figure).substr(0, 13), "panel,series,");
}

TEST(Bibliography, IsOfTheCitationFile) {
    const std::string text = bibtex();
    EXPECT_NE(text.find("@misc{convcast,"), std::string::npos) << text;
    EXPECT_NE(text.find("author = {Chang, Qiong and Onishi, Masaki and Maruyama, Tsutomu}"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("@inproceedings{chen_optimizing,"), std::string::npos) << text;
    EXPECT_NE(text.find("year = {2017}"), std::string::npos) << text;
    for (const char *where :
         {"journal = {arXiv preprint arXiv:2212.00404}",
          "booktitle = {Proceedings of the 54th Annual Design Automation Conference (DAC)}",
          "howpublished = {Report, Stevens Institute of Technology}",
          "howpublished = {Master thesis in computer engineering, Yaşar University}"})
        EXPECT_NE(text.find(where), std::string::npos) << "where it appeared is missing: " << where << text;
    EXPECT_NE(text.find("@misc{vadlamudi_parallel,"), std::string::npos) << text;
    EXPECT_NE(text.find("author = {Cibil, Erinç}"), std::string::npos) << text;
    std::istringstream citation(read_file(std::string(CONVCAST_SOURCE_DIR) + "/CITATION.cff"));
    std::size_t said = 0;
    for (std::string line; std::getline(citation, line);) // the two files say the same
        for (const std::string field : {"title: ", "version: ", "abstract: ", "journal: ", "year: "})
            if (const std::size_t at = line.find(field);
                at != std::string::npos && !line.starts_with("cff-")) {
                const std::string value = line.substr(at + field.size());
                EXPECT_NE(text.find(value), std::string::npos) << line;
                ++said;
            }
    EXPECT_GT(said, 8u);
}

class PaperFolder : public ::testing::Test {
  protected:
    const TemporaryFolder folder_;
    const std::filesystem::path path_ = folder_.path();
};

TEST_F(PaperFolder, TheEndingSaysWhatIsWritten) {
    const Figure figure = sample::figures().front();
    const FigureFiles one =
        write_paper_figure(figure, {}, PaperWidth::column(), path_ / "fig1.tex", "On a GPU");
    ASSERT_EQ(one.files.size(), 3u);
    EXPECT_EQ(one.files[0].filename(), "fig1.tex");
    EXPECT_EQ(one.files[1].filename(), "fig1_caption.tex");
    EXPECT_EQ(one.files[2].filename(), "convcast.bib");
    const std::string caption = read_file(one.files[1].string());
    EXPECT_NE(caption.find("On a GPU.}"), std::string::npos) << caption;
    EXPECT_NE(caption.find("\\label{fig:predicted_vs_measured}"), std::string::npos) << caption;
    const FigureFiles all = write_paper_figure(figure, {}, PaperWidth::column(), path_ / "figures", "");
    for (const char *ending : {".svg", ".csv", ".tex"})
        EXPECT_TRUE(std::filesystem::exists(path_ / "figures" / (figure.id + ending))) << ending;
    EXPECT_EQ(std::filesystem::exists(path_ / "figures" / (figure.id + ".pdf")), all.note.empty());
    for (const auto &entry : std::filesystem::recursive_directory_iterator(path_))
        EXPECT_EQ(entry.path().string().find(".part"), std::string::npos) << entry.path();
}

} // namespace
} // namespace convcast
