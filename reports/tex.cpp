#include "reports/figure.hpp"

#include "reports/figure_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace convcast {
namespace {

constexpr std::size_t tex_point_limit = 5000;
constexpr double plot_height_pt = 160.0; ///< of pgfplots' own choice, without the labels below

/// Okabe and Ito's palette without its yellow, which vanishes on white.
constexpr std::array<const char *, style_count> colours = {"0072B2", "D55E00", "009E73",
                                                           "CC79A7", "E69F00", "56B4E9"};
constexpr std::array<const char *, style_count> tex_marks = {"*",        "square*",   "triangle*",
                                                             "diamond*", "pentagon*", "oplus*"};
constexpr std::array<const char *, style_count> tex_hollow = {"o",       "square",   "triangle",
                                                              "diamond", "pentagon", "oplus"};

std::string tex_axis(const char *letter, const Axis &axis, const AxisRange &range) {
    std::string out = fmt::format("  {}label={{{}}},\n", letter, escape_tex(axis.label));
    if (axis.scale == Scale::logarithmic) {
        out += fmt::format("  {}mode=log, log ticks with fixed point,\n", letter);
        // By itself pgfplots divides less than about two decades at powers like 10^0.2.
        if (std::string ticks; range.high / range.low < 200.0) {
            for (double tick = round_number(range.low, true); tick <= range.high;
                 tick = round_number(1.5 * tick, true))
                ticks += (ticks.empty() ? "" : ",") + number(tick);
            out += fmt::format("  {}tick={{{}}},\n", letter, ticks);
        }
    }
    if (axis.scale == Scale::binary) {
        const std::size_t most_labels = axis.bytes ? 6 : 9; // "128 KiB" is wider than "128"
        int stride = 1;
        while (powers_of_two(range, stride).size() > most_labels)
            ++stride;
        std::string places, names;
        for (const double power : powers_of_two(range, stride)) {
            places += (places.empty() ? "" : ",") + number(power);
            names += (names.empty() ? "{" : ",{") + escape_tex(power_label(power, axis)) + "}";
        }
        out += fmt::format("  {0}mode=log, log basis {0}=2, {0}tick={{{1}}}, {0}ticklabels={{{2}}},\n",
                           letter, places, names);
        if (axis.bytes)
            out += fmt::format("  {}ticklabel style={{font=\\scriptsize}},\n", letter);
    }
    if (axis.scale == Scale::linear)
        out += fmt::format("  scaled {} ticks=false,\n", letter); // no power of ten apart from the numbers
    if (axis.scale == Scale::category) {
        std::string places, names;
        for (std::size_t i = 0; i < axis.categories.size(); ++i) {
            places += fmt::format("{}{}", i == 0 ? "" : ",", i);
            names += fmt::format("{}{{{}}}", i == 0 ? "" : ",", escape_tex(axis.categories[i]));
        }
        out += fmt::format("  {0} dir=reverse, {0}tick={{{1}}}, {0}ticklabels={{{2}}}, {0}ticklabel "
                           "style={{font=\\tiny}},\n",
                           letter, places, names);
    }
    return out + fmt::format("  {0}min={1}, {0}max={2},\n", letter, number(range.low), number(range.high));
}

std::string tex_guide(Guide guide, double value, const Ranges &ranges) {
    const std::string at = number(value);
    if (guide == Guide::horizontal)
        return fmt::format("({},{}) ({},{})", number(ranges.x.low), at, number(ranges.x.high), at);
    if (guide == Guide::vertical)
        return fmt::format("({},{}) ({},{})", at, number(ranges.y.low), at, number(ranges.y.high));
    return fmt::format("({},{}) ({},{})", number(ranges.x.low), number(value * ranges.x.low),
                       number(ranges.x.high), number(value * ranges.x.high));
}

/// The addplot of one series, or of its points beyond the axis. Names go into the legend apart from the
/// plots: pgfplots skips a plot whose points are all filtered out, and the names after it would move up.
std::string tex_series(const Figure &figure, const Ranges &ranges, std::size_t index, bool beyond) {
    const Series &series = figure.series[index];
    const std::size_t style = series.style % style_count;
    std::string look = fmt::format("convcast{}", style);
    if ((series.drawn == Drawn::bars || series.drawn == Drawn::spans) && !beyond) {
        // Thick lines from one end to the other: pgfplots' own bars all begin at 0.
        const double width = series.drawn == Drawn::bars
                                 ? 6.0
                                 : plot_height_pt * series.thickness / (ranges.y.high - ranges.y.low);
        look += fmt::format(", quiver={{u=\\thisrow{{from}}-\\thisrow{{drawn_x}}, v=0}}, line width={}pt, -",
                            coordinate(width));
    } else if (series.drawn == Drawn::steps && !beyond) {
        look += ", const plot, no marks, thick";
    } else if (series.drawn == Drawn::curve && !beyond) {
        look += ", no marks, thick";
    } else if (series.drawn == Drawn::lines && !beyond) {
        look += fmt::format(", mark size=1.2pt, mark={}",
                            (series.hollow ? tex_hollow : tex_marks)[mark_of(series.style)]);
    } else {
        look += fmt::format(", only marks, mark size=1.6pt, mark={}",
                            beyond ? "triangle"
                                   : (series.hollow ? tex_hollow : tex_marks)[mark_of(series.style)]);
    }
    const bool spread = !beyond && std::any_of(series.points.begin(), series.points.end(),
                                               [](const Point &p) { return p.low && p.high; });
    std::string out;
    if (std::any_of(series.points.begin(), series.points.end(),
                    [&](const Point &p) { return place(p, ranges).clamped() == beyond; }))
        out = fmt::format(
            "\\addplot[{}{}, convcast only={}{}, forget plot] table[x=drawn_x, y=drawn_y,{} col sep=comma] "
            "{{{}.csv}};\n",
            look, spread ? ", error bars/y dir=both, error bars/y explicit, error bars/error mark=none" : "",
            index, beyond ? "c" : "",
            spread ? " y error plus expr=\\thisrow{high}-\\thisrow{drawn_y}, y error minus "
                     "expr=\\thisrow{drawn_y}-\\thisrow{low},"
                   : "",
            figure.id);
    if (!beyond && !series.name.empty())
        out += fmt::format("\\addlegendimage{{{}}}\n\\addlegendentry{{{}}}\n", look, escape_tex(series.name));
    return out;
}

} // namespace

std::string escape_tex(std::string_view text) {
    // What pdflatex with its default encodings does not set by itself.
    constexpr std::array<std::pair<std::string_view, std::string_view>, 11> beyond_ascii = {
        {{"µ", "\\ensuremath{\\mu}"},
         {"×", "\\ensuremath{\\times}"},
         {"±", "\\ensuremath{\\pm}"},
         {"−", "\\ensuremath{-}"},
         {"≤", "\\ensuremath{\\le}"},
         {"≥", "\\ensuremath{\\ge}"},
         {"·", "\\ensuremath{\\cdot}"},
         {"…", "\\ldots{}"},
         {"→", "\\ensuremath{\\rightarrow}"},
         {"–", "--"},
         {"\u00a0", "~"}}};
    std::string out;
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        const std::string_view character = text.substr(0, length);
        const char c = text.front();
        const auto known = std::find_if(beyond_ascii.begin(), beyond_ascii.end(),
                                        [&](const auto &entry) { return entry.first == character; });
        if (known != beyond_ascii.end())
            out += known->second;
        else if (c == '\\')
            out += "\\textbackslash{}";
        else if (c == '~')
            out += "\\textasciitilde{}";
        else if (c == '^')
            out += "\\textasciicircum{}";
        else if (c == '<' || c == '>' || c == '|' || c == '"')
            out += fmt::format("\\symbol{{{}}}", static_cast<int>(c)); // other glyphs in the OT1 encoding
        else if (std::string_view("&%$#_{}").find(c) != std::string_view::npos)
            out += fmt::format("\\{}", c);
        else if (length == 1 &&
                 (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F))
            out += ' ';
        else
            out += character;
        text.remove_prefix(length);
    }
    return out;
}

std::string to_tex(const Figure &figure) {
    std::string out = fmt::format("% {}\n% needs \\usepackage{{pgfplots}} \\pgfplotsset{{compat=1.17}}\n",
                                  escape_tex(figure.title));
    if (figure.point_count() > tex_point_limit)
        return fmt::format(
            "% {}: {} points are more than TeX bears, so this includes the PDF; the data are in "
            "{}.csv\n% needs \\usepackage{{graphicx}}\n\\includegraphics[width=\\linewidth]{{{}.pdf}}\n",
            escape_tex(figure.title), figure.point_count(), figure.id, figure.id);
    const Ranges ranges = ranges_of(figure);
    for (std::size_t i = 0; i < style_count; ++i)
        out += fmt::format("\\definecolor{{convcast{}}}{{HTML}}{{{}}}\n", i, colours[i]);
    out +=
        "\\pgfplotsset{convcast only/.style={x filter/.code={%\n"
        "  \\edef\\convcastgroup{\\thisrow{group}}\\edef\\convcastwanted{#1}%\n"
        "  \\ifx\\convcastgroup\\convcastwanted\\else\\def\\pgfmathresult{}\\fi}}}\n"
        "\\begin{tikzpicture}\n\\begin{axis}[\n  width=\\linewidth, legend cell align=left,\n"
        "  legend style={font=\\scriptsize, draw=none, at={(0.5,1.03)}, anchor=south, legend columns=2},\n";
    if (figure.y.scale == Scale::category)
        out += fmt::format("  height={}cm,\n",
                           coordinate(2.5 + 0.32 * static_cast<double>(figure.y.categories.size())));
    out += tex_axis("x", figure.x, ranges.x) + tex_axis("y", figure.y, ranges.y) + "]\n";
    for (const Band &band : figure.bands)
        for (const double edge : {band.low, band.high})
            out += fmt::format("\\addplot[gray, very thin, forget plot] coordinates {{{}}};\n",
                               tex_guide(band.guide, edge, ranges));
    for (std::size_t i = 0; i < figure.series.size(); ++i)
        out += tex_series(figure, ranges, i, false) + tex_series(figure, ranges, i, true);
    constexpr std::array<const char *, 4> dashes = {"solid", "dashed", "densely dotted", "dash dot"};
    for (std::size_t i = 0; i < figure.references.size(); ++i) {
        const Reference &reference = figure.references[i];
        out += fmt::format("\\addplot[black, {}{}] coordinates {{{}}};\n", dashes[i % dashes.size()],
                           reference.label.empty() ? ", forget plot" : "",
                           tex_guide(reference.guide, reference.value, ranges));
        if (!reference.label.empty())
            out += fmt::format("\\addlegendentry{{{}}}\n", escape_tex(reference.label));
    }
    out += "\\end{axis}\n\\end{tikzpicture}\n";
    if (const std::size_t count = beyond_count(figure, ranges); count > 0)
        out += "% open triangles: " + beyond_text(count) + "\n";
    return out;
}

} // namespace convcast
