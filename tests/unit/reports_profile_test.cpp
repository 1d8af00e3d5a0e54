#include "reports/profile_page.hpp"

#include "model/base/files.hpp"
#include "model/regime/rates.hpp"
#include "reports/write_report.hpp"
#include "tests/unit/drawing.hpp"
#include "tests/unit/sample_profile.hpp"
#include "tests/unit/sample_report.hpp"
#include "tests/unit/well_formed.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <regex>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

namespace convcast {
namespace {

using sample::has;
using sample::named;

TEST(ProfileFigures, EveryCurveIsOneAndItsWordsDoNotCollide) {
    const GpuProfile profile = sample::profile();
    const std::vector<Figure> figures = profile_figures(profile);
    EXPECT_EQ(figures.size(), profile.curves.size()) << "bandwidths against bytes in flight are among them";
    for (const auto &[name, curve] : profile.curves)
        EXPECT_GT(named(figures, name).point_count(), 0u) << name;
    for (const Figure &figure : figures) {
        expect_no_overlap(figure);
        EXPECT_EQ(xml_problem(to_svg(figure, SvgUse::standalone)), "") << figure.id;
        EXPECT_EQ(xml_problem(to_svg(figure, SvgUse::in_page)), "") << figure.id;
    }
}

TEST(ProfileFigures, ABandwidthIsDrawnOnceWhetherTheSweepsHoldItOrNot) {
    GpuProfile profile = sample::profile();
    const std::size_t before = profile_figures(profile).size();
    ASSERT_EQ(profile.curves.erase("dram_read_curve"), 1u);
    EXPECT_EQ(profile_figures(profile).size(), before);
}

TEST(ProfileFigures, ABandwidthHasItsFitAndWhatItNeeds) {
    const std::vector<Figure> figures = profile_figures(sample::profile());
    const Figure &figure = named(figures, "dram_read_curve");
    ASSERT_EQ(figure.series.size(), 2u);
    EXPECT_EQ(figure.series[0].drawn, Drawn::curve);
    EXPECT_EQ(figure.references.size(), 3u);
    EXPECT_TRUE(has(figure.references[0].label, "V_s")) << figure.references[0].label;
    // The curve goes through the points: no point is off the line by more than the noise.
    const Figure &unfitted = named(figures, "dram_copy_curve");
    EXPECT_EQ(unfitted.series.size(), 1u);
    EXPECT_TRUE(has(unfitted.caption, "no fit"));
}

TEST(ProfileFigures, TheFitIsEquationM1) {
    FlightCurve curve;
    curve.bytes_in_flight = {1e3, 1e6};
    curve.bandwidth = {1e9, 1e12};
    curve.fit = FlightFit{1e-6, 1e12, 2.0, 0.0, 1e6, 2e6, 3e6};
    const Figure figure = flight_figure("l2_read_curve", curve);
    for (const Point &point : figure.series[0].points) {
        const double v = point.x, time = std::sqrt(1e-12 + v * v * 1e-24);
        EXPECT_NEAR(point.y, v / time / 1e12, 1e-12);
    }
    EXPECT_NEAR(figure.series[0].points.back().x, 3e6, 1.0);
}

TEST(ProfileFigures, AxesHaveWholePowersAndPrefixes) {
    const std::vector<Figure> figures = profile_figures(sample::profile());
    const std::string svg = to_svg(named(figures, "latency_by_footprint"), SvgUse::standalone);
    EXPECT_TRUE(has(svg, ">64 KiB<") || has(svg, ">256 KiB<")) << svg;
    EXPECT_TRUE(has(svg, "L2, by the driver: 60 MiB"));
    EXPECT_TRUE(has(named(figures, "launch_by_grid").y.label, "µs"));
    EXPECT_TRUE(has(named(figures, "dram_read_curve").y.label, "TB/s"));
    EXPECT_EQ(named(figures, "l2_latency").series[0].drawn, Drawn::points);
}

TEST(ProfileFigures, DirectionsOfCopiesHaveNames) {
    const GpuProfile profile = find_profile("h200");
    const Figure figure = curve_figure("host_copy_sizes", profile.curves.at("host_copy_sizes"), profile);
    ASSERT_EQ(figure.series.size(), 2u);
    EXPECT_EQ(figure.series[0].name, "host to device");
    EXPECT_EQ(figure.series[1].name, "device to host");
}

TEST(ProfileFigures, SpreadIsInAllWriters) {
    const std::vector<Figure> figures = profile_figures(sample::profile());
    const Figure &figure = named(figures, "conflicts");
    const std::string csv = to_csv(figure);
    EXPECT_TRUE(has(csv.substr(0, csv.find('\n')), ",low,high,label")) << csv;
    EXPECT_TRUE(has(to_svg(figure, SvgUse::in_page), "class=\"spread\""));
    EXPECT_TRUE(has(to_tex(figure), "unbounded coords=jump"));
    EXPECT_TRUE(has(to_tex(named(figures, "latency_by_footprint")), "xmode=log"));
    EXPECT_TRUE(has(to_tex(named(figures, "latency_by_footprint")), "KiB"));
    EXPECT_FALSE(has(to_csv(named(figures, "dram_read_curve")), "low,high"));
}

TEST(ProfileFigures, OddCurvesAreSurvived) {
    GpuProfile profile = sample::profile();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    profile.curves["empty"] = {"x", "B", "y", "s", true, true, {}};
    profile.curves["no points"] = {"x", "B", "y", "s", true, true, {CurveSeries{}}};
    profile.curves["no-points"] = profile.curves["no points"];
    profile.curves["zero"] = {
        "x", "B", "y", "s", true, true, {{"", {0.0, 0.0}, {0.0, nan}, {0.0, 0.0}, {0.0, 0.0}}}};
    profile.curves["one"] = {"x", "1", "y", "1", true, true, {{"", {3.0}, {7.0}, {7.0}, {7.0}}}};
    profile.curves["../../etc/x"] = profile.curves["one"];
    profile.dram_read_curve = FlightCurve{};
    profile.dram_write_curve->fit = FlightFit{};
    std::set<std::string> ids;
    for (const Figure &figure : profile_figures(profile)) {
        EXPECT_TRUE(ids.insert(figure.id).second) << figure.id;
        EXPECT_EQ(figure.id.find_first_of("./ "), std::string::npos) << figure.id;
        EXPECT_EQ(xml_problem(to_svg(figure, SvgUse::in_page)), "") << figure.id;
        const std::string between_lines = "(nan,nan)"; // ends one line of a plot and begins another
        std::string all = to_svg(figure, SvgUse::in_page) + to_tex(figure);
        for (std::size_t at; (at = all.find(between_lines)) != std::string::npos;)
            all.erase(at, between_lines.size());
        EXPECT_FALSE(std::regex_search(all, std::regex("[ ,{(]-?(nan|inf)"))) << figure.id;
    }
}

TEST(ProfilePage, HasEveryNumberCheckReasonAndFigure) {
    const GpuProfile profile = sample::profile();
    const std::string page = report_on(profile).html();
    boost::mp11::mp_for_each<described::Members<GpuProfile>>([&](auto member) {
        using Field = std::decay_t<decltype(profile.*member.pointer)>;
        if constexpr (described::IsOptional<Field>::value) {
            if constexpr (described::IsParam<typename Field::value_type>::value) {
                const std::string row = "<th scope=\"row\">" + std::string(member.name) + "</th><td>";
                EXPECT_EQ(has(page, row), (profile.*member.pointer).has_value()) << member.name;
                EXPECT_FALSE(has(page, row + "</td>")) << member.name << " has no meaning in docs/profile.md";
            }
        }
    });
    for (const Figure &figure : profile_figures(profile))
        EXPECT_TRUE(has(page, "<figure id=\"f-" + figure.id + "\">")) << figure.id;
    for (const auto &[field, why] : profile.missing)
        EXPECT_TRUE(has(page, field) && has(page, why)) << field;
    for (const ProfileCheck &check : profile.checks)
        EXPECT_TRUE(has(page, check.text)) << check.name;
    EXPECT_TRUE(has(page, "groups at 221.4 and 263.1"));
    EXPECT_TRUE(has(page, "<span>SMs</span>"));
    EXPECT_EQ(has(page, "<span>FP32 peak</span>"), peak_flop_per_s(profile).has_value());
    EXPECT_TRUE(std::regex_search(
        page, std::regex("<strong>([0-9]+) of [0-9]+</strong><span>numbers measured</span>")));
    EXPECT_FALSE(std::regex_search(
        page, std::regex("<strong>([0-9]+) of \\1</strong><span>numbers measured</span><small>[1-9]")))
        << "all of them are measured, and yet some are absent";
    EXPECT_TRUE(has(page, "1 of 2 checks fails: l2_capacity."));
    EXPECT_TRUE(has(page, "<a href=\"#f-l2_latency\">l2_latency</a>"));
    EXPECT_TRUE(has(page, "Content-Security-Policy"));
    EXPECT_FALSE(std::regex_search(page.substr(0, page.find("<script")), std::regex("[ >](nan|inf)[ <]")));
}

TEST(ProfilePage, HostileTextIsInert) {
    const std::string hostile = "</script><img src=x onerror=alert(1)>' \" & <b>";
    GpuProfile profile = sample::profile();
    profile.name = profile.id = profile.compute_capability = hostile;
    profile.sm_clock->by = hostile;
    profile.missing[hostile] = profile.conditions[hostile] = hostile;
    profile.notes = {hostile};
    profile.checks = {{hostile, false, hostile}};
    Curve &curve = profile.curves[hostile] = profile.curves["conflicts"];
    curve.x_name = curve.x_unit = curve.y_name = curve.y_unit = curve.series[0].name = hostile;
    const std::string page = report_on(profile).html();
    EXPECT_FALSE(has(page, "<img"));
    EXPECT_FALSE(has(page, "<b>"));
}

TEST(ProfilePage, ABareProfileMakesAPage) {
    GpuProfile profile;
    profile.id = "bare";
    const std::string page = report_on(profile).html();
    EXPECT_TRUE(has(page, "convcast: what bare can do"));
    EXPECT_TRUE(has(page, "0 numbers"));
}

TEST(ProfileReport, ThePageAndThreeFilesPerFigure) {
    const TemporaryFolder folder;
    // Kept where asked, for a look at the pictures.
    const char *keep = std::getenv("CONVCAST_KEEP_PROFILE_REPORT");
    const GpuProfile profile = sample::profile();
    const ReportFiles files =
        write_report(report_on(profile), keep != nullptr ? keep : folder.path() + "/report");
    EXPECT_EQ(files.figures.size(), profile_figures(profile).size() * (files.pdf_note.empty() ? 4u : 3u));
    for (const std::filesystem::path &file : files.figures)
        EXPECT_GT(std::filesystem::file_size(file), 0u) << file;
    EXPECT_EQ(read_file(files.page.string()), report_on(profile).html());
}

} // namespace
} // namespace convcast
